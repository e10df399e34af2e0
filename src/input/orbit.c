/* Noisy satellite positions (and velocities) by image row -> smooth position and attitude by image row.
 *
 * The orbit is a solution of the equations of motion (Earth's point mass and J2) whose state at the middle
 * row fits positions (0.5 m) and velocities (0.05 m/s) best: six unknowns, so noise of single rows is
 * averaged away.
 * Inertial axes are the Earth-fixed ones of the middle row. */
// SPDX-License-Identifier: Apache-2.0
#include "input/orbit.h"
#include "input/camera_kinds.h"

#include <math.h>
#include <string.h>

static const double GM = 3.986004418e14; /* m^3/s^2 */
static const double J2 = 1.08262668e-3;
static const double OMEGA = SDM_OMEGA;
static const double LINE_TIME_S = 2.199e-3; /* nominal */
static const double SIGMA_POSITION_M = 0.5, SIGMA_VELOCITY_MPS = 0.05;

typedef struct State {
    double p[3], v[3]; /* inertial, metres and metres a second */
} State;

typedef struct Samples {
    int n;
    double t_s[SDM_POLYFIT_MAX];                         /* from the middle row */
    double p[SDM_POLYFIT_MAX][3], v[SDM_POLYFIT_MAX][3]; /* inertial axes */
    bool has_velocity;
} Samples;

static void acceleration(const double p[3], double a[3])
{
    const double r2 = sdm_dot3(p, p), r = sqrt(r2);
    const double k = 1.5 * J2 * GM * SDM_WGS84_A * SDM_WGS84_A / (r2 * r2 * r), z2 = 5.0 * p[2] * p[2] / r2;
    for (int i = 0; i < 3; ++i)
        a[i] = -GM / (r2 * r) * p[i] + k * p[i] * (z2 - (i < 2 ? 1.0 : 3.0));
}

/* Fourth-order Nystroem steps of half a second. */
static State propagate(State s, double t_s)
{
    const int steps = (int)ceil(fabs(t_s) / 0.5);
    const double h = steps ? t_s / steps : 0.0;
    for (int k = 0; k < steps; ++k) {
        double k1[3], k2[3], k3[3], mid[3], end[3];
        acceleration(s.p, k1);
        for (int i = 0; i < 3; ++i)
            mid[i] = s.p[i] + h / 2 * s.v[i] + h * h / 8 * k1[i];
        acceleration(mid, k2);
        for (int i = 0; i < 3; ++i)
            end[i] = s.p[i] + h * s.v[i] + h * h / 2 * k2[i];
        acceleration(end, k3);
        for (int i = 0; i < 3; ++i) {
            s.p[i] += h * s.v[i] + h * h / 6 * (k1[i] + 2 * k2[i]);
            s.v[i] += h / 6 * (k1[i] + 4 * k2[i] + k3[i]);
        }
    }
    return s;
}

/* Turn about the Earth's axis by +-OMEGA t: Earth-fixed axes of time t to inertial ones (sign +1) or back. */
static void turn(const double in[3], double t_s, double sign, double out[3])
{
    const double c = cos(OMEGA * t_s), s = sign * sin(OMEGA * t_s), x = in[0], y = in[1];
    out[0] = c * x - s * y;
    out[1] = s * x + c * y;
    out[2] = in[2];
}

/* Best state at t = 0, by Gauss-Newton: a small change (dp, dv) of it moves the orbit by dp + dv t. */
static State fit_state(const Samples *in, double *rms_p, double *rms_v)
{
    const double wp = 1.0 / (SIGMA_POSITION_M * SIGMA_POSITION_M);
    const double wv = in->has_velocity ? 1.0 / (SIGMA_VELOCITY_MPS * SIGMA_VELOCITY_MPS) : 0.0;
    State s;
    for (int i = 0; i < 3; ++i) {
        double y[SDM_POLYFIT_MAX], coef[3];
        for (int k = 0; k < in->n; ++k)
            y[k] = in->p[k][i];
        sdm_polyfit(in->n, in->t_s, y, 2, coef);
        s.p[i] = coef[0];
        s.v[i] = coef[1];
    }
    for (int pass = 0; pass < 4; ++pass) {
        double a = 0, b = 0, c = 0, f[3] = {0}, g[3] = {0}, sum_p = 0, sum_v = 0;
        for (int k = 0; k < in->n; ++k) {
            const double t = in->t_s[k];
            const State at = propagate(s, t);
            a += wp, b += wp * t, c += wp * t * t + wv;
            for (int i = 0; i < 3; ++i) {
                const double dp = in->p[k][i] - at.p[i], dv = in->v[k][i] - at.v[i];
                f[i] += wp * dp;
                g[i] += wp * dp * t + wv * dv;
                sum_p += dp * dp, sum_v += dv * dv;
            }
        }
        for (int i = 0; i < 3; ++i) {
            s.p[i] += (c * f[i] - b * g[i]) / (a * c - b * b);
            s.v[i] += (a * g[i] - b * f[i]) / (a * c - b * b);
        }
        *rms_p = sqrt(sum_p / (3 * in->n));
        *rms_v = in->has_velocity ? sqrt(sum_v / (3 * in->n)) : 0.0;
    }
    return s;
}

static double length3(const double a[3])
{
    return sqrt(sdm_dot3(a, a));
}

/* Mean of the velocities as inertial ones.  The product's are inertial, resolved on Earth-fixed axes: their
 * length is that of a round orbit, about 7.50 km/s.  Earth-fixed ones, about 7.59 km/s, get omega x P added.
 * @return 0 inertial, 1 Earth-fixed, -1 neither */
static int velocity_kind(int n, const double *position_m, const double *velocity_mps)
{
    double excess = 0.0; /* mean length over that of a round orbit */
    for (int k = 0; k < n; ++k)
        excess += (length3(velocity_mps + 3 * k) - sqrt(GM / length3(position_m + 3 * k))) / n;
    return fabs(excess) < 40.0 ? 0 : excess >= 40.0 && excess < 200.0 ? 1 : -1;
}

/* Seconds a line: from the given velocity, or the nominal one if the orbit is then a round one to 0.3 %, or
 * the one that makes it so.  move: Earth-fixed metres a line at the middle row, position there p. */
static double line_time(const double p[3], const double move[3], const double *inertial_mps)
{
    const double spin[3] = {-OMEGA * p[1], OMEGA * p[0], 0.0};
    const double step = length3(move);
    if (inertial_mps) {
        double v[3] = {inertial_mps[0] - spin[0], inertial_mps[1] - spin[1], inertial_mps[2] - spin[2]};
        return step * step / sdm_dot3(move, v);
    }
    const double round = sqrt(GM / length3(p)); /* |move / dt + spin| = round, a quadratic in 1 / dt */
    const double half_b = sdm_dot3(move, spin) / (step * step),
                 c = (sdm_dot3(spin, spin) - round * round) / (step * step);
    const double dt = 1.0 / (-half_b + sqrt(half_b * half_b - c));
    return fabs(dt / LINE_TIME_S - 1.0) < 3e-3 ? LINE_TIME_S : dt;
}

/* Sample the orbit beyond the lattice on both sides and put polynomials through the samples. */
static void make_polynomials(const State *mid, SdmOrbit *out)
{
    enum { N = 15 };
    double t[N], value[9][N];
    for (int k = 0; k < N; ++k) {
        t[k] = cos(3.14159265358979323846 * (k + 0.5) / N); /* x SDM_ORBIT_T */
        const double t_s = t[k] * SDM_ORBIT_T * out->row_half * out->line_time_s;
        const State at = propagate(*mid, t_s);
        double p[3], v[3], n[3];
        turn(at.p, t_s, -1.0, p);
        turn(at.v, t_s, -1.0, v);
        sdm_cross3(p, v, n);
        for (int i = 0; i < 3; ++i) {
            value[i][k] = p[i];
            value[3 + i][k] = -n[i] / length3(n);
            value[6 + i][k] = -p[i] / length3(p);
        }
    }
    for (int i = 0; i < 9; ++i) {
        double *const coef = i < 3 ? out->position[i] : i < 6 ? out->y[i - 3] : out->z[i - 6];
        sdm_polyfit(N, t, value[i], SDM_ORBIT_DEGREE, coef);
        double scale = 1.0;
        for (int d = 0; d <= SDM_ORBIT_DEGREE; ++d, scale /= SDM_ORBIT_T)
            coef[d] *= scale;
    }
}

static SdmStatus check_samples(SdmContext *ctx, const char *name, int n, const double *row, const double *p)
{
    if (n < 4 || n > SDM_POLYFIT_MAX)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: %d satellite positions, expected 4 to %d; the file is damaged, fetch it again",
                        name, n, (int)SDM_POLYFIT_MAX);
    for (int k = 0; k < n; ++k) {
        const double r = length3(p + 3 * k);
        if (!(r > 6.9e6 && r < 7.3e6))
            return sdm_fail(ctx, SDM_ERR_INPUT,
                            "%s: satellite position %d lies %.4g km from the Earth's centre, "
                            "expected about 7080; the file is damaged, fetch it again",
                            name, k + 1, r / 1e3);
        if (k && !(row[k] > row[k - 1]))
            return sdm_fail(ctx, SDM_ERR_INPUT,
                            "%s: lattice rows %d and %d do not increase (%g, %g); "
                            "the file is damaged, fetch it again",
                            name, k, k + 1, row[k - 1], row[k]);
    }
    return SDM_OK;
}

/* Positions and velocities on inertial axes, times into t_s of the samples; sets line time.  kind: see
 * velocity_kind. */
static void take_samples(int n, const double *row, const double *position_m, const double *velocity_mps,
                         int kind, Samples *s, SdmOrbit *out)
{
    double p[3], move[3], v[3] = {0}, x[SDM_POLYFIT_MAX], y[SDM_POLYFIT_MAX];
    for (int k = 0; k < n; ++k)
        x[k] = (row[k] - out->row_mid) / out->row_half;
    for (int i = 0; i < 3; ++i) {
        double coef[3];
        for (int k = 0; k < n; ++k)
            y[k] = position_m[3 * k + i];
        sdm_polyfit(n, x, y, 2, coef);
        p[i] = coef[0];
        move[i] = coef[1] / out->row_half;
    }
    s->n = n;
    s->has_velocity = velocity_mps != NULL;
    for (int k = 0; velocity_mps && k < n; ++k)
        for (int i = 0; i < 3; ++i) {
            const double *const q = position_m + 3 * k;
            const double spin = i == 0 ? -OMEGA * q[1] : i == 1 ? OMEGA * q[0] : 0.0;
            s->v[k][i] = velocity_mps[3 * k + i] + (kind ? spin : 0.0);
            v[i] += s->v[k][i] / n;
        }
    out->line_time_s = line_time(p, move, velocity_mps ? v : NULL);
    for (int k = 0; k < n; ++k) {
        s->t_s[k] = (row[k] - out->row_mid) * out->line_time_s;
        turn(position_m + 3 * k, s->t_s[k], 1.0, s->p[k]);
        const double fixed[3] = {s->v[k][0], s->v[k][1], s->v[k][2]};
        turn(fixed, s->t_s[k], 1.0, s->v[k]);
    }
}

SdmStatus sdm_orbit_fit(SdmContext *ctx, const char *name, int n, const double *row, const double *position_m,
                        const double *velocity_mps, SdmOrbit *out)
{
    SdmStatus st = SDM_OK;
    Samples *s = NULL;
    memset(out, 0, sizeof *out);
    TRY(check_samples(ctx, name, n, row, position_m));
    const int kind = velocity_mps ? velocity_kind(n, position_m, velocity_mps) : 0;
    if (kind < 0)
        TRY(sdm_fail(ctx, SDM_ERR_INPUT,
                     "%s: satellite velocity is %.0f m/s, expected about 7500 (inertial) or 7590 "
                     "(Earth-fixed); the file is damaged, fetch it again",
                     name, length3(velocity_mps)));
    TRY(sdm_alloc(ctx, &s, 1, sizeof *s, "orbit"));
    out->row_mid = (row[0] + row[n - 1]) / 2;
    out->row_half = (row[n - 1] - row[0]) / 2;
    take_samples(n, row, position_m, velocity_mps, kind, s, out);
    const State mid = fit_state(s, &out->position_rms_m, &out->velocity_rms_mps);
    if (!(out->line_time_s > 1e-3 && out->line_time_s < 4e-3) || !(out->position_rms_m < 50.0) ||
        !(out->velocity_rms_mps < 5.0))
        TRY(sdm_fail(ctx, SDM_ERR_INPUT,
                     "%s: satellite positions and velocities are not those of one orbit (%.4g ms a line, "
                     "rms %.3g m and %.3g m/s off it); the file is damaged or its rows are out of order, "
                     "fetch it again",
                     name, 1e3 * out->line_time_s, out->position_rms_m, out->velocity_rms_mps));
    make_polynomials(&mid, out);
done:
    sdm_free(&s);
    return st;
}
