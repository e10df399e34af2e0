/* ASTER telescope: satellite positions, velocities and sight vectors on a lattice -> camera.
 *
 * Orbit and attitude are smooth functions of the row (orbit.c).  The sight vector is the same in every
 * lattice row, so one curve per band: the tangents sx/sz and sy/sz as polynomials of the column, least
 * squares over the averaged rows (sight vectors of text deliveries are rounded to 1e-6, which this smooths).
 */
// SPDX-License-Identifier: Apache-2.0
#include "input/camera_kinds.h"
#include "input/orbit.h"

#include <math.h>
#include <string.h>

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
    if (in->ncol < 8 || in->ncol > SDM_POLYFIT_MAX)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: %d lattice columns, expected 11; the file is damaged, fetch it again", name,
                        in->ncol);
    const double first = in->lattice_px[0], last = in->lattice_px[2 * (in->ncol - 1)];
    if (!(last > first))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: lattice columns do not increase (%g .. %g); the file is damaged, fetch it again",
                        name, first, last);
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
        if (j && !(col[j] > col[j - 1]))
            return sdm_fail(ctx, SDM_ERR_INPUT,
                            "%s: lattice columns do not increase; the file is damaged, fetch it again", name);
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
            if (!(fabs(at[1] - row[k]) < 0.5) || !(fabs(at[0] - in->lattice_px[2 * j]) < 0.5))
                return sdm_fail(ctx, SDM_ERR_INPUT,
                                "%s: lattice point %d of row %d is at column %g, row %g, out of line "
                                "with its neighbours; the file is damaged, fetch it again",
                                name, j + 1, k + 1, at[0], at[1]);
        }
    }
    return SDM_OK;
}

static SdmStatus build(SdmContext *ctx, const char *name, const SdmAsterArrays *in, Aster *cam)
{
    double row[SDM_POLYFIT_MAX];
    if (in->nrow < 4 || in->nrow > SDM_POLYFIT_MAX)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: %d lattice rows, expected 4 to %d; the file is damaged, fetch it again", name,
                        in->nrow, (int)SDM_POLYFIT_MAX);
    if (!in->velocity_mps && !in->geocentric_deg)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: neither satellite velocity nor latitude and longitude is there; one of "
                        "them is needed, fetch the scene again",
                        name);
    PASS(check_lattice(ctx, name, in, row));
    PASS(sdm_orbit_fit(ctx, name, in->nrow, row, in->position_m, in->velocity_mps, &cam->orbit));
    PASS(fit_sight(ctx, name, in, cam));
    if (!in->velocity_mps) {
        double velocity_mps[3 * SDM_POLYFIT_MAX];
        velocity_from_yaw(cam, in, row, velocity_mps);
        PASS(sdm_orbit_fit(ctx, name, in->nrow, row, in->position_m, velocity_mps, &cam->orbit));
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
    Aster *cam = NULL;
    *out = NULL;
    SdmStatus st = sdm_alloc(ctx, &cam, 1, sizeof *cam, "camera");
    if (st == SDM_OK)
        st = build(ctx, name, in, cam);
    if (st != SDM_OK)
        sdm_free(&cam);
    else
        *out = &cam->base;
    return st;
}
