/* ASTER telescope: satellite positions, velocities and sight vectors on a lattice -> camera.
 *
 * Orbit and attitude are smooth functions of the row.  The sight vector is the same in every
 * lattice row, so one curve per band: the tangents sx/sz and sy/sz as polynomials of the column, least
 * squares over the averaged rows (sight vectors of text deliveries are rounded to 1e-6, which this smooths).
 */
// SPDX-License-Identifier: Apache-2.0
#include "core/core.h"
#include "input/camera.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { SDM_ORBIT_DEGREE = 5 };

/* Polynomials in t = (row - row_mid) / row_half; |t| = 1 at the ends of the lattice, good to
 * |t| = SDM_ORBIT_T.
 * Axes of the telescope on Earth-fixed axes: z = -P / |P|, y = -(P x V) / |P x V|, x = y x z (V inertial). */
#define SDM_ORBIT_T 3.0
typedef struct SdmOrbit {
    double row_mid, row_half;
    double line_time_s;
    double position[3][SDM_ORBIT_DEGREE + 1]; /* metres, Earth-fixed */
    double y[3][SDM_ORBIT_DEGREE + 1], z[3][SDM_ORBIT_DEGREE + 1];
    double position_rms_m, velocity_rms_mps; /* noise of the given values, per axis; 0 without velocity */
} SdmOrbit;

/* q: orthonormal columns of the powers of x; r: upper triangle with powers = q r
 * (Gram-Schmidt, done twice) */
static void orthogonalise(int n, const double *x, int columns, double q[][SDM_POLYFIT_MAX],
                          double r[][SDM_POLYFIT_DEGREE + 1])
{
    for (int j = 0; j < columns; ++j) {
        for (int i = 0; i < n; ++i)
            q[j][i] = pow(x[i], j);
        for (int pass = 0; pass < 2; ++pass)
            for (int k = 0; k < j; ++k) {
                double dot = 0.0;
                for (int i = 0; i < n; ++i)
                    dot += q[k][i] * q[j][i];
                r[k][j] += dot;
                for (int i = 0; i < n; ++i)
                    q[j][i] -= dot * q[k][i];
            }
        double norm = 0.0;
        for (int i = 0; i < n; ++i)
            norm += q[j][i] * q[j][i];
        r[j][j] = sqrt(norm);
        for (int i = 0; i < n; ++i)
            q[j][i] /= r[j][j];
    }
}

double sdm_polyfit(int n, const double *x, const double *y, int degree, double *coef)
{
    double q[SDM_POLYFIT_DEGREE + 1][SDM_POLYFIT_MAX], r[SDM_POLYFIT_DEGREE + 1][SDM_POLYFIT_DEGREE + 1];
    double left[SDM_POLYFIT_MAX];
    assert(n <= SDM_POLYFIT_MAX && degree < n && degree <= SDM_POLYFIT_DEGREE);
    memset(r, 0, sizeof r);
    orthogonalise(n, x, degree + 1, q, r);
    memcpy(left, y, (size_t)n * sizeof *y);
    for (int j = 0; j <= degree; ++j) {
        coef[j] = 0.0;
        for (int i = 0; i < n; ++i)
            coef[j] += q[j][i] * left[i];
        for (int i = 0; i < n; ++i)
            left[i] -= coef[j] * q[j][i];
    }
    for (int j = degree; j >= 0; --j) {
        for (int k = j + 1; k <= degree; ++k)
            coef[j] -= r[j][k] * coef[k];
        coef[j] /= r[j][j];
    }
    double sum = 0.0;
    for (int i = 0; i < n; ++i)
        sum += left[i] * left[i];
    return sqrt(sum / n);
}

/* ---- orbit ----
 *
 * It is a solution of the equations of motion (Earth's point mass and J2) whose state at the middle row fits
 * positions (0.5 m) and velocities (0.05 m/s) best: six unknowns, so noise of single rows is averaged away.
 * Inertial axes are the Earth-fixed ones of the middle row. */

static const double GM = 3.986004418e14; /* m^3/s^2 */
static const double J2 = 1.08262668e-3;
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
    const double c = cos(SDM_OMEGA * t_s), s = sign * sin(SDM_OMEGA * t_s), x = in[0], y = in[1];
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
    const double spin[3] = {-SDM_OMEGA * p[1], SDM_OMEGA * p[0], 0.0};
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

static SdmStatus check_samples(SdmContext *ctx, const char *name, int n, const double *p)
{
    for (int k = 0; k < n; ++k) {
        const double r = length3(p + 3 * k);
        if (!(r > 6.9e6 && r < 7.3e6))
            return sdm_fail(ctx, SDM_ERR_INPUT,
                            "%s: satellite position %d lies %.4g km from the Earth's centre, "
                            "expected about 7080; the file is damaged, fetch it again",
                            name, k + 1, r / 1e3);
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
            const double spin = i == 0 ? -SDM_OMEGA * q[1] : i == 1 ? SDM_OMEGA * q[0] : 0.0;
            s->v[k][i] = velocity_mps[3 * k + i] + (kind ? spin : 0.0);
            v[i] += s->v[k][i] / n;
        }
    out->line_time_s = line_time(p, move, velocity_mps ? v : NULL);
    for (int k = 0; k < n; ++k) {
        s->t_s[k] = (row[k] - out->row_mid) * out->line_time_s;
        turn(position_m + 3 * k, s->t_s[k], 1.0, s->p[k]);
        turn(s->v[k], s->t_s[k], 1.0, s->v[k]);
    }
}

/* row: n lattice rows, increasing; position_m: n x 3 Earth-fixed; velocity_mps: n x 3 or NULL, inertial or
 * Earth-fixed (its length distinguishes them).  name: file for messages.  SDM_ERR_INPUT when this is no such
 * orbit. */
static SdmStatus fit_orbit(SdmContext *ctx, const char *name, int n, const double *row,
                           const double *position_m, const double *velocity_mps, SdmOrbit *out)
{
    SDM_OWNED Samples *s = NULL;
    memset(out, 0, sizeof *out);
    PASS(check_samples(ctx, name, n, position_m));
    const int kind = velocity_mps ? velocity_kind(n, position_m, velocity_mps) : 0;
    if (kind < 0)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: satellite velocity is %.0f m/s, expected about 7500 (inertial) or 7590 "
                        "(Earth-fixed); the file is damaged, fetch it again",
                        name, length3(velocity_mps));
    PASS(sdm_alloc(ctx, &s, 1, sizeof *s, "orbit"));
    out->row_mid = (row[0] + row[n - 1]) / 2;
    out->row_half = (row[n - 1] - row[0]) / 2;
    take_samples(n, row, position_m, velocity_mps, kind, s, out);
    const State mid = fit_state(s, &out->position_rms_m, &out->velocity_rms_mps);
    if (!(out->line_time_s > 1e-3 && out->line_time_s < 4e-3) || !(out->position_rms_m < 50.0) ||
        !(out->velocity_rms_mps < 5.0))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: satellite positions and velocities are not those of one orbit (%.4g ms a line, "
                        "rms %.3g m and %.3g m/s off it); the file is damaged or its rows are out of order, "
                        "fetch it again",
                        name, 1e3 * out->line_time_s, out->position_rms_m, out->velocity_rms_mps);
    make_polynomials(&mid, out);
    return SDM_OK;
}

enum { SIGHT_DEGREE = 7 };               /* at most */
static const double SIGHT_EXACT = 1e-10; /* residuals below tell nothing: 0.1 mm on the ground */
static const double SIGHT_T = 3.0;       /* columns are believed to three half-widths from the middle */
static const double HMIN_M = -500.0, HMAX_M = 9000.0;

typedef struct Aster {
    SdmCamera base;
    SdmOrbit orbit;
    double col_mid, col_half;
    double along[SDM_POLYFIT_DEGREE + 1],
        across[SDM_POLYFIT_DEGREE + 1]; /* sx/sz, sy/sz of (col - mid) / half */
    int degree;
    double t_per_tangent; /* dt / d(along tangent) of a fixed ground point: start slope of the secant */
} Aster;

/* Position and axes x, y, z at orbit parameter t. */
static void platform(const Aster *cam, double t, double p[3], double axes[3][3])
{
    for (int i = 0; i < 3; ++i) {
        p[i] = sdm_poly(SDM_ORBIT_DEGREE, cam->orbit.position[i], t);
        axes[1][i] = sdm_poly(SDM_ORBIT_DEGREE, cam->orbit.y[i], t);
        axes[2][i] = sdm_poly(SDM_ORBIT_DEGREE, cam->orbit.z[i], t);
    }
    sdm_cross3(axes[1], axes[2], axes[0]);
}

static void locate(const SdmCamera *base, size_t n, const double *image, double *ground)
{
    const Aster *const cam = (const Aster *)(const void *)base;
    for (size_t k = 0; k < n; ++k, image += 3, ground += 3) {
        const double t = (image[1] - cam->orbit.row_mid) / cam->orbit.row_half;
        const double c = (image[0] - cam->col_mid) / cam->col_half;
        double p[3], axes[3][3], dir[3];
        bool hit = fabs(t) <= SDM_ORBIT_T && fabs(c) <= SIGHT_T;
        if (hit) {
            const double a = sdm_poly(cam->degree, cam->along, c), b = sdm_poly(cam->degree, cam->across, c);
            platform(cam, t, p, axes);
            for (int i = 0; i < 3; ++i)
                dir[i] = a * axes[0][i] + b * axes[1][i] + axes[2][i];
            const double scale = 1.0 / sqrt(sdm_dot3(dir, dir));
            for (int i = 0; i < 3; ++i)
                dir[i] *= scale;
            hit = sdm_intersect_height(p, dir, image[2], ground);
        }
        if (!hit)
            ground[0] = ground[1] = ground[2] = NAN;
    }
}

/* Distance of the ground point from the plane of sight of orbit parameter t, as an along-track tangent; NaN:
 * none.  *c: start of Newton's search; becomes the column whose across-track tangent fits. */
static double off_plane(const Aster *cam, const double x[3], double t, double *c)
{
    double p[3], axes[3][3];
    platform(cam, t, p, axes);
    const double d[3] = {x[0] - p[0], x[1] - p[1], x[2] - p[2]};
    const double depth = sdm_dot3(axes[2], d);
    if (!(depth > 0.0))
        return NAN;
    const double b = sdm_dot3(axes[1], d) / depth;
    for (int i = 0; i < 8; ++i) {
        const double step =
            (b - sdm_poly(cam->degree, cam->across, *c)) / sdm_poly_slope(cam->degree, cam->across, *c);
        *c += step;
        if (fabs(step) < 1e-6) /* quadratic: the next would be 1e-12 */
            break;
        if (!(fabs(*c) < 2 * SIGHT_T))
            return NAN;
    }
    return sdm_dot3(axes[0], d) / depth - sdm_poly(cam->degree, cam->along, *c);
}

static void project_point(const Aster *cam, const double ground[3], double image[2])
{
    double x[3], t0 = 0.0, t1, c = 0.0;
    image[0] = image[1] = NAN;
    sdm_geodetic_to_ecef(ground[0], ground[1], ground[2], x);
    const double p0[3] = {cam->orbit.position[0][0], cam->orbit.position[1][0], cam->orbit.position[2][0]};
    if (!(sdm_dot3(x, p0) > 0.9 * 6.3e6 * 7.0e6)) /* more than some 25 degrees from below the satellite */
        return;
    double f0 = off_plane(cam, x, t0, &c);
    t1 = t0 - f0 * cam->t_per_tangent;
    for (int i = 0; i < 12 && fabs(t1) < 2 * SDM_ORBIT_T; ++i) { /* secant; false when t1 is NaN */
        const double f1 = off_plane(cam, x, t1, &c);
        const double step = f1 == f0 ? 0.0 : -f1 * (t1 - t0) / (f1 - f0);
        t0 = t1, f0 = f1;
        t1 += step;
        if (fabs(step) < 1e-8) { /* the remaining error is the square of the step or less */
            if (fabs(t1) <= SDM_ORBIT_T && fabs(c) <= SIGHT_T) {
                image[0] = cam->col_mid + cam->col_half * c;
                image[1] = cam->orbit.row_mid + cam->orbit.row_half * t1;
            }
            return;
        }
    }
}

static void project(const SdmCamera *base, size_t n, const double *ground, double *image)
{
    const Aster *const cam = (const Aster *)(const void *)base;
    for (size_t k = 0; k < n; ++k)
        project_point(cam, ground + 3 * k, image + 2 * k);
}

/* The polynomial of the degree that Akaike's criterion chooses, corrected for few points (Hurvich and Tsai
 * 1989): of sight vectors that are rounded to 1e-6 higher ones fit the rounding.  Coefficients of higher
 * powers are 0.  Returns the residuals' root mean square. */
static double fit_tangent(int n, const double *col, const double *tangent,
                          double coef[SDM_POLYFIT_DEGREE + 1])
{
    double least = INFINITY, best_rms = INFINITY;
    for (int degree = 1; degree <= SIGHT_DEGREE && degree + 3 < n; ++degree) {
        double fitted[SDM_POLYFIT_DEGREE + 1] = {0.0};
        const double rms = sdm_polyfit(n, col, tangent, degree, fitted), terms = degree + 1.0;
        const double criterion =
            n * log(rms * rms + SIGHT_EXACT * SIGHT_EXACT) + 2.0 * terms * n / (n - terms - 1.0);
        if (!(criterion < least))
            continue;
        least = criterion;
        best_rms = rms;
        memcpy(coef, fitted, sizeof fitted);
    }
    return best_rms;
}

/* Average the lattice rows into one curve and put polynomials through it. */
static SdmStatus fit_sight(SdmContext *ctx, const char *name, const SdmAsterArrays *in, Aster *cam)
{
    double col[SDM_POLYFIT_MAX], a[SDM_POLYFIT_MAX], b[SDM_POLYFIT_MAX];
    const double first = in->lattice_px[0], last = in->lattice_px[2 * (in->ncol - 1)];
    cam->col_mid = (first + last) / 2;
    cam->col_half = (last - first) / 2;
    for (int j = 0; j < in->ncol; ++j) {
        a[j] = b[j] = col[j] = 0.0;
        for (int k = 0; k < in->nrow; ++k) {
            const double *const s = in->sight + 3 * (k * in->ncol + j), length = sqrt(sdm_dot3(s, s));
            if (!(fabs(length - 1.0) < 1e-3) || !(s[2] > 0.3))
                return sdm_fail(ctx, SDM_ERR_INPUT,
                                "%s: sight vector %d of lattice row %d is (%g, %g, %g), expected a "
                                "unit vector that looks down; the file is damaged, fetch it again",
                                name, j + 1, k + 1, s[0], s[1], s[2]);
            col[j] += (in->lattice_px[2 * (k * in->ncol + j)] - cam->col_mid) / cam->col_half / in->nrow;
            a[j] += s[0] / s[2] / in->nrow;
            b[j] += s[1] / s[2] / in->nrow;
        }
    }
    cam->degree = SIGHT_DEGREE;
    double rms = fmax(fit_tangent(in->ncol, col, a, cam->along), fit_tangent(in->ncol, col, b, cam->across));
    for (int j = 0; j <= 200; ++j) /* the search for the column needs a curve that never turns back */
        if (!(sdm_poly_slope(cam->degree, cam->across, j / 100.0 - 1) * (b[in->ncol - 1] - b[0]) > 0.0))
            rms = 1.0;
    if (!(rms < 1e-5))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: sight vectors do not make a smooth curve along the line; "
                        "the file is damaged, fetch it again",
                        name);
    return SDM_OK;
}

/* Earth-centred place of a lattice point's geocentric latitude and longitude at height 0. */
static void lattice_ecef(const double geocentric_deg[2], double xyz[3])
{
    const double squash = (1.0 - SDM_WGS84_F) * (1.0 - SDM_WGS84_F);
    sdm_geodetic_to_ecef(geocentric_deg[1], atan(tan(geocentric_deg[0] * SDM_DEG) / squash) / SDM_DEG, 0.0,
                         xyz);
}

/* Deliveries without velocity: latitude and longitude were made with it, so they tell each row's yaw.
 * velocity_mps: nrow x 3, inertial: that of the orbit fitted so far, turned by the yaw of its row. */
static void velocity_from_yaw(const Aster *cam, const SdmAsterArrays *in, const double *row,
                              double *velocity_mps)
{
    const SdmOrbit *const o = &cam->orbit;
    for (int k = 0; k < in->nrow; ++k) {
        const double t = (row[k] - o->row_mid) / o->row_half, *const sat = in->position_m + 3 * k;
        double p[3], axes[3][3], turned = 0.0, along = 0.0, *const v = velocity_mps + 3 * k;
        platform(cam, t, p, axes);
        for (int j = 0; j < in->ncol; ++j) {
            const double c = (in->lattice_px[2 * j] - cam->col_mid) / cam->col_half;
            const double a = sdm_poly(cam->degree, cam->along, c), b = sdm_poly(cam->degree, cam->across, c);
            double g[3];
            lattice_ecef(in->geocentric_deg + 2 * (k * in->ncol + j), g);
            const double d[3] = {g[0] - sat[0], g[1] - sat[1], g[2] - sat[2]};
            const double dx = sdm_dot3(axes[0], d), dy = sdm_dot3(axes[1], d);
            turned += a * dy - b * dx;
            along += a * dx + b * dy;
        }
        for (int i = 0; i < 3; ++i) /* Earth-fixed, then inertial */
            v[i] = sdm_poly_slope(SDM_ORBIT_DEGREE, o->position[i], t) / (o->row_half * o->line_time_s);
        v[0] -= SDM_OMEGA * p[1];
        v[1] += SDM_OMEGA * p[0];
        const double speed = sqrt(sdm_dot3(v, v));
        for (int i = 0; i < 3; ++i)
            v[i] += turned / along * speed * axes[1][i];
    }
}

/* Given coordinates at height 0 against those of the camera: the largest distance in metres. */
static double lattice_misfit_m(const Aster *cam, const SdmAsterArrays *in)
{
    double worst = 0.0;
    for (int k = 0; k < in->nrow * in->ncol; ++k) {
        const double image[3] = {in->lattice_px[2 * k], in->lattice_px[2 * k + 1], 0.0};
        double ground[3], a[3], b[3], d2 = 0.0;
        locate(&cam->base, 1, image, ground);
        sdm_geodetic_to_ecef(ground[0], ground[1], 0.0, a);
        lattice_ecef(in->geocentric_deg + 2 * k, b);
        for (int i = 0; i < 3; ++i)
            d2 += (a[i] - b[i]) * (a[i] - b[i]);
        if (!(d2 <= worst)) /* NaN too */
            worst = d2;
    }
    return sqrt(worst);
}

static SdmStatus check_lattice(SdmContext *ctx, const char *name, const SdmAsterArrays *in, double *row)
{
    for (int k = 0; k < in->nrow; ++k) {
        row[k] = 0.0;
        for (int j = 0; j < in->ncol; ++j)
            row[k] += in->lattice_px[2 * (k * in->ncol + j) + 1] / in->ncol;
        for (int j = 0; j < in->ncol; ++j) {
            const double *const at = in->lattice_px + 2 * (k * in->ncol + j);
            if (!(fabs(at[1] - row[k]) < 0.5) || !(fabs(at[0] - in->lattice_px[2 * j]) < 0.5) ||
                (j && !(in->lattice_px[2 * j] > in->lattice_px[2 * j - 2])) || (k && !(row[k] > row[k - 1])))
                return sdm_fail(ctx, SDM_ERR_INPUT,
                                "%s: lattice point %d of row %d is at column %g, row %g, out of line "
                                "with its neighbours or behind one; the file is damaged, fetch it again",
                                name, j + 1, k + 1, at[0], at[1]);
        }
    }
    return SDM_OK;
}

static SdmStatus build(SdmContext *ctx, const char *name, const SdmAsterArrays *in, Aster *cam)
{
    double row[SDM_POLYFIT_MAX];
    if (in->nrow < 4 || in->nrow > SDM_POLYFIT_MAX || in->ncol < 8 || in->ncol > SDM_POLYFIT_MAX)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: %d lattice rows and %d lattice columns, expected 4 to %d and 11; the file is "
                        "damaged, fetch it again",
                        name, in->nrow, in->ncol, (int)SDM_POLYFIT_MAX);
    if (!in->velocity_mps && !in->geocentric_deg)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: neither satellite velocity nor latitude and longitude is there; one of "
                        "them is needed, fetch the scene again",
                        name);
    PASS(check_lattice(ctx, name, in, row));
    PASS(fit_orbit(ctx, name, in->nrow, row, in->position_m, in->velocity_mps, &cam->orbit));
    PASS(fit_sight(ctx, name, in, cam));
    if (!in->velocity_mps) {
        double velocity_mps[3 * SDM_POLYFIT_MAX];
        velocity_from_yaw(cam, in, row, velocity_mps);
        PASS(fit_orbit(ctx, name, in->nrow, row, in->position_m, velocity_mps, &cam->orbit));
    }
    cam->base.kind = "aster";
    cam->base.hmin_m = HMIN_M;
    cam->base.hmax_m = HMAX_M;
    cam->base.project = project;
    cam->base.locate = locate;
    const double image[3] = {cam->col_mid, cam->orbit.row_mid, 0.0};
    double ground[3], x[3], c = 0.0;
    locate(&cam->base, 1, image, ground);
    sdm_geodetic_to_ecef(ground[0], ground[1], ground[2], x);
    cam->t_per_tangent = 0.02 / (off_plane(cam, x, 0.01, &c) - off_plane(cam, x, -0.01, &c));
    if (!isfinite(cam->t_per_tangent))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: the line of sight misses the Earth; the file is damaged, fetch it again", name);
    if (!in->silent)
        sdm_log(ctx, SDM_LOG_VERBOSE, 1,
                "%s: orbit of %.4f ms a line, rms of positions %.2f m, of velocities %.3f m/s", name,
                1e3 * cam->orbit.line_time_s, cam->orbit.position_rms_m, cam->orbit.velocity_rms_mps);
    if (in->geocentric_deg) {
        const double misfit = lattice_misfit_m(cam, in);
        if (!(misfit < 500.0))
            return sdm_fail(
                ctx, SDM_ERR_INPUT,
                "%s: latitude and longitude lie up to %.0f m from where positions and sight "
                "vectors put them; the files are damaged or of different scenes, fetch the scene again",
                name, misfit);
        sdm_log(ctx, SDM_LOG_VERBOSE, 1, "%s: latitude and longitude agree to %.1f m", name, misfit);
    }
    return SDM_OK;
}

SdmStatus sdm_camera_open_aster(SdmContext *ctx, const char *name, const SdmAsterArrays *in, SdmCamera **out)
{
    SDM_OWNED Aster *cam = NULL;
    *out = NULL;
    PASS(sdm_alloc(ctx, &cam, 1, sizeof *cam, "camera"));
    PASS(build(ctx, name, in, cam));
    *out = &cam->base;
    cam = NULL;
    return SDM_OK;
}
