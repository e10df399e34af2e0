/* Stage 3: find the frame: the ground that both views show, and the direction along which their rays
 * separate. */
// SPDX-License-Identifier: Apache-2.0
#include "geometry/epipolar_frame.h"
#include "core/math.h"
#include "geo/geodesy.h"

#include <math.h>
#include <stdio.h>

#define PI 3.14159265358979323846
enum { EDGE = 16 /* points a side of an image's outline */ };
static const double LEAST_RANGE_M = 10.0; /* of heights to search */
static const double LEAST_BASE_HEIGHT = 0.005;
/* Sides of pixels that count as square: oblique views stretch those of a square detector, too. */
static const double MOST_SQUARE = 1.25;
static const double MARGIN_PX = 64.0;      /* of the frame across the epipolar lines, and along them */
static const double PARALLAX_MARGIN = 1.1; /* of the parallax by which the right view may lie off */

typedef struct Local { /* east, north, up at the centre */
    double origin[3], east[3], north[3], up[3];
} Local;

static void local_at(double lon_deg, double lat_deg, Local *l)
{
    const double lon = lon_deg * PI / 180.0, lat = lat_deg * PI / 180.0;
    *l = (Local){.east = {-sin(lon), cos(lon), 0.0},
                 .north = {-sin(lat) * cos(lon), -sin(lat) * sin(lon), cos(lat)},
                 .up = {cos(lat) * cos(lon), cos(lat) * sin(lon), sin(lat)}};
    sdm_geodetic_to_ecef(lon_deg, lat_deg, 0.0, l->origin);
}

static void to_local(const Local *l, const double ground[3], double *x, double *y)
{
    double p[3];
    sdm_geodetic_to_ecef(ground[0], ground[1], ground[2], p);
    for (int i = 0; i < 3; i++)
        p[i] -= l->origin[i];
    *x = sdm_dot3(p, l->east);
    *y = sdm_dot3(p, l->north);
}

/* The point of geodetic height h above (x, y) of the plane.  A step leaves 1 - cos of the angle between the
 * verticals there and at the origin of what it corrects: 1e-5 of it 30 km away, so that two or three reach
 * the rounding of coordinates (1e-9 m). */
static void from_local(const Local *l, double x, double y, double h, double ground[3])
{
    double z = h - (x * x + y * y) / (2.0 * 6371000.0), p[3];
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < 3; k++)
            p[k] = l->origin[k] + x * l->east[k] + y * l->north[k] + z * l->up[k];
        const double step = h - sdm_ecef_height(p);
        z += step;
        if (fabs(step) < 1e-8)
            break;
    }
    sdm_ecef_to_geodetic(p, &ground[0], &ground[1], &ground[2]);
}

void sdm_frame_ground(const SdmFrame *f, double u, double v, double *lon_deg, double *lat_deg)
{
    Local l;
    local_at(f->lon_deg, f->lat_deg, &l);
    const double c = cos(f->angle_rad), s = sin(f->angle_rad);
    double g[3];
    from_local(&l, f->x0_m + f->gsd_m * (u * c - v * s), f->y0_m + f->gsd_m * (u * s + v * c), f->h0_m, g);
    *lon_deg = g[0];
    *lat_deg = g[1];
}

/* Ground of image pixel (col, row) at h; SDM_ERR_DATA where the ray misses. */
static SdmStatus locate(SdmContext *ctx, const SdmScene *sc, const SdmView *v, double col, double row,
                        double h, double ground[3])
{
    const SdmOptions *const o = sc->options;
    const double at[3] = {col, row, h};
    sdm_camera_locate(v->camera, 1, at, ground);
    if (isfinite(ground[0]) && isfinite(ground[1]))
        return SDM_OK;
    return sdm_fail(
        ctx, SDM_ERR_DATA, "%s: its camera sees no ground at pixel %.0f, %.0f and height %.0f m; %s", v->name,
        col, row, h,
        isnan(o->hmin_m) && isnan(o->hmax_m)
            ? "the camera data are wrong or belong to another image, fetch them again"
            : "heights between --hmin and --hmax are far from what the camera is made for, leave these out");
}

/* Where a view's corners lie at a height: "at lon a to b, lat c to d deg". */
static void describe_footprint(const SdmView *v, double height_m, char *out, size_t size)
{
    const double w = (double)v->image->width - 1.0, h = (double)v->image->height - 1.0;
    double b[4] = SDM_NO_BOUNDS;
    for (int i = 0; i < 4; i++) {
        const double at[3] = {i & 1 ? w : 0.0, i & 2 ? h : 0.0, height_m};
        double g[3];
        sdm_camera_locate(v->camera, 1, at, g);
        g[0] = isfinite(b[0]) ? sdm_longitude_near(g[0], b[0]) : g[0];
        sdm_bounds_add(b, g[0], g[1]);
    }
    if (b[0] <= b[2] && b[1] <= b[3])
        snprintf(out, size, "at lon %.4f to %.4f, lat %.4f to %.4f deg", b[0], b[2], b[1], b[3]);
    else
        snprintf(out, size, "nowhere on the ground");
}

static SdmStatus fail_overlap(SdmContext *ctx, const SdmScene *sc, const SdmFrame *f)
{
    const SdmOptions *const o = sc->options;
    char text[2][128], heights[160] = "";
    for (int k = 0; k < 2; k++)
        describe_footprint(&sc->view[k], f->h0_m, text[k], sizeof text[k]);
    if (!isnan(o->hmin_m) || !isnan(o->hmax_m))
        snprintf(heights, sizeof heights,
                 " at heights of %.0f to %.0f m, as --hmin or --hmax have it (leave these out)", f->hmin_m,
                 f->hmax_m);
    else if (*sc->view[0].note.source)
        snprintf(heights, sizeof heights,
                 " at %.0f m, the middle of the RPCs' heights (where the ground is not there, give --hmin, "
                 "--hmax)",
                 f->h0_m);
    return sdm_fail(
        ctx, SDM_ERR_DATA,
        "the footprints of the images do not overlap%s: %s lies %s, %s %s; give two images of the same place",
        heights, sc->view[0].name, text[0], sc->view[1].name, text[1]);
}

/* A view's pixel on the ground, m: width and height, and the side of the square of its area. */
static SdmStatus measure_pixel(SdmContext *ctx, const SdmScene *sc, const SdmView *v, const SdmFrame *f,
                               const Local *l, const double at[2], double side_m[3])
{
    double g[3], x[3], y[3];
    for (int i = 0; i < 3; i++) {
        PASS(locate(ctx, sc, v, at[0] + (i == 1), at[1] + (i == 2), f->h0_m, g));
        to_local(l, g, &x[i], &y[i]);
    }
    for (int k = 0; k < 2; k++)
        side_m[k] = hypot(x[1 + k] - x[0], y[1 + k] - y[0]);
    const double area = fabs((x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0]));
    side_m[2] = sqrt(area);
    return SDM_OK;
}

/* Direction and size of the separation of the rays at the left image's centre: metres of ground per metre of
 * height. */
static SdmStatus find_epipolar(SdmContext *ctx, const SdmScene *sc, SdmFrame *f, const Local *l)
{
    const SdmView *const left = &sc->view[0], *const right = &sc->view[1];
    const double col = 0.5 * (double)(left->image->width - 1), row = 0.5 * (double)(left->image->height - 1);
    const double dh = 0.05 * (f->hmax_m - f->hmin_m) + 10.0;
    double ground[4][3], at[4], x[4], y[4];
    PASS(locate(ctx, sc, left, col, row, f->h0_m, ground[0]));
    PASS(locate(ctx, sc, left, col, row, f->h0_m + dh, ground[1]));
    sdm_camera_project(right->camera, 1, ground[0], at);
    sdm_camera_project(right->camera, 1, ground[1], at + 2);
    if (!isfinite(at[0] + at[1] + at[2] + at[3]))
        return fail_overlap(ctx, sc, f);
    /* where the right rays of the two heights meet the plane h0 */
    PASS(locate(ctx, sc, right, at[0], at[1], f->h0_m, ground[2]));
    PASS(locate(ctx, sc, right, at[2], at[3], f->h0_m, ground[3]));
    for (int i = 0; i < 4; i++)
        to_local(l, ground[i], &x[i], &y[i]);
    const double sx = (x[3] - x[2]) / dh, sy = (y[3] - y[2]) / dh;
    f->base_height = hypot(sx, sy);
    const double lx = (x[1] - x[0]) / dh, ly = (y[1] - y[0]) / dh, rx = lx - sx,
                 ry = ly - sy; /* ray slopes */
    const double cosine =
        (lx * rx + ly * ry + 1.0) / sqrt((lx * lx + ly * ly + 1.0) * (rx * rx + ry * ry + 1.0));
    f->convergence_deg = acos(fmin(cosine, 1.0)) * 180.0 / PI;
    if (f->base_height < LEAST_BASE_HEIGHT)
        return sdm_fail(ctx, SDM_ERR_DATA,
                        "%s and %s see the ground from the same direction (convergence %.2f deg); "
                        "a stereo pair needs at least 0.3 deg: is it the same image twice?",
                        left->name, right->name, f->convergence_deg);
    f->angle_rad = atan2(sy, sx);
    f->du_dh = f->base_height / f->gsd_m;
    f->slant_px[0] = (lx * sx + ly * sy) / (f->base_height * f->gsd_m);
    f->slant_px[1] = (ly * sx - lx * sy) / (f->base_height * f->gsd_m);
    double side[3];
    PASS(measure_pixel(ctx, sc, right, f, l, at, side));
    f->right_gsd_m = side[2];
    const bool square = fmax(side[0], side[1]) < MOST_SQUARE * fmin(side[0], side[1]);
    const double ratio = square ? 1.0 : side[1] / side[0]; /* of pixels: height to width */
    const double ec = at[2] - at[0], er = ratio * ratio * (at[3] - at[1]), len = hypot(ec, er);
    f->across[0] = -er / len;
    f->across[1] = ec / len;
    if (f->across[0] < 0.0 || (f->across[0] == 0.0 && f->across[1] < 0.0)) {
        f->across[0] = -f->across[0];
        f->across[1] = -f->across[1];
    }
    return SDM_OK;
}

static SdmStatus find_gsd(SdmContext *ctx, const SdmScene *sc, SdmFrame *f, const Local *l)
{
    const SdmView *const left = &sc->view[0];
    const double middle[2] = {0.5 * (double)(left->image->width - 1),
                              0.5 * (double)(left->image->height - 1)};
    double side[3];
    PASS(measure_pixel(ctx, sc, left, f, l, middle, side));
    f->gsd_m = side[2];
    if (!(f->gsd_m > 1e-3 && f->gsd_m < 1e4))
        return sdm_fail(ctx, SDM_ERR_DATA,
                        "%s: its camera gives a ground sample distance of %g m, expected 0.001 to "
                        "10000 m; the camera data are wrong or belong to another image, fetch them again",
                        left->name, f->gsd_m);
    return SDM_OK;
}

/* Bounds of the outline of a view at a height, in (u, v) from the centre of the projection. */
static SdmStatus outline(SdmContext *ctx, const SdmScene *sc, const SdmView *v, const SdmFrame *f,
                         const Local *l, double h, double b[4])
{
    const double w = (double)v->image->width - 1.0, hh = (double)v->image->height - 1.0;
    const double c = cos(f->angle_rad), s = sin(f->angle_rad);
    for (int side = 0; side < 4; side++)
        for (int i = 0; i <= EDGE; i++) {
            const double t = (double)i / EDGE;
            const double col = side == 0 ? t * w : side == 1 ? w : side == 2 ? t * w : 0.0;
            const double row = side == 0 ? 0.0 : side == 2 ? hh : t * hh;
            double g[3], x, y;
            PASS(locate(ctx, sc, v, col, row, h, g));
            to_local(l, g, &x, &y);
            const double u = (x * c + y * s) / f->gsd_m, w2 = (-x * s + y * c) / f->gsd_m;
            sdm_bounds_add(b, u, w2);
        }
    return SDM_OK;
}

/* Where the pixels of the left view lie between integer (u, v), 0..1, if they form a grid parallel to the
 * frame's with its spacing: a frame that meets them needs no values between them.  Else 0, 0. */
static SdmStatus pixel_phase(SdmContext *ctx, const SdmScene *sc, const SdmFrame *f, const Local *l,
                             double phase[2])
{
    const SdmView *const v = &sc->view[0];
    const double c = cos(f->angle_rad), s = sin(f->angle_rad), quarter = 0.25;
    const double w = floor(quarter * (double)v->image->width), h = floor(quarter * (double)v->image->height);
    const double at[3][2] = {{2.0 * w, 2.0 * h}, {3.0 * w, 2.0 * h}, {2.0 * w, 3.0 * h}};
    double uv[3][2];
    phase[0] = phase[1] = 0.0;
    for (int i = 0; i < 3; i++) {
        double g[3], x, y;
        PASS(locate(ctx, sc, v, at[i][0], at[i][1], f->h0_m, g));
        to_local(l, g, &x, &y);
        uv[i][0] = (x * c + y * s) / f->gsd_m;
        uv[i][1] = (-x * s + y * c) / f->gsd_m;
    }
    for (int k = 0; k < 2; k++) /* an axis of the image is an axis of the frame, within 1/8 px at the image's
                                 * ends */
        for (int i = 1; i < 3; i++) {
            const double way = fabs(uv[i][k] - uv[0][k]), pixels = i == 1 ? w : h;
            if (fmin(fabs(way - pixels), way) > 1.0 / 16.0)
                return SDM_OK;
        }
    for (int k = 0; k < 2; k++)
        phase[k] = uv[0][k] - floor(uv[0][k]);
    return SDM_OK;
}

/* The bounds of the left view at h0, as far as the right view can show them at any height. */
static SdmStatus find_extent(SdmContext *ctx, const SdmScene *sc, SdmFrame *f, const Local *l)
{
    double a[4] = SDM_NO_BOUNDS, b[4] = SDM_NO_BOUNDS;
    PASS(outline(ctx, sc, &sc->view[0], f, l, f->h0_m, a));
    PASS(outline(ctx, sc, &sc->view[1], f, l, f->h0_m, b));
    const double farthest_m = fmax(f->hmax_m - f->h0_m, f->h0_m - f->hmin_m),
                 reach = farthest_m * f->du_dh * PARALLAX_MARGIN + MARGIN_PX;
    a[0] = fmax(a[0], b[0] - reach);
    a[2] = fmin(a[2], b[2] + reach);
    a[1] = fmax(a[1], b[1] - MARGIN_PX);
    a[3] = fmin(a[3], b[3] + MARGIN_PX);
    if (!(a[2] - a[0] > 16.0) || !(a[3] - a[1] > 16.0))
        return fail_overlap(ctx, sc, f);
    double phase[2];
    PASS(pixel_phase(ctx, sc, f, l, phase));
    const double c = cos(f->angle_rad), s = sin(f->angle_rad), u0 = floor(a[0] - phase[0]) + phase[0],
                 v0 = floor(a[1] - phase[1]) + phase[1];
    f->x0_m = f->gsd_m * (u0 * c - v0 * s);
    f->y0_m = f->gsd_m * (u0 * s + v0 * c);
    f->width = ((int64_t)ceil(a[2] - u0) + 16) / 16 * 16;
    f->height = ((int64_t)ceil(a[3] - v0) + 16) / 16 * 16;
    return SDM_OK;
}

/* Can both cameras project the frame's outline, with a margin, at height h? */
static bool can_project(const SdmScene *sc, const SdmFrame *f, double h)
{
    const double side = (double)(f->width < f->height ? f->width : f->height),
                 margin = side < 1024.0 ? 64.0 : 300.0;
    for (int i = 0; i < 9; i++) {
        const double u = (i % 3) * 0.5 * ((double)f->width + 2.0 * margin) - margin;
        const double v = (double)(i / 3) * 0.5 * ((double)f->height + 2.0 * margin) - margin;
        double g[3] = {0.0, 0.0, f->h0_m}, ray[3] = {0.0, 0.0, h}, at[2];
        sdm_frame_ground(f, u, v, &g[0], &g[1]);
        sdm_camera_project(sc->view[0].camera, 1, g, ray);
        sdm_camera_locate(sc->view[0].camera, 1, ray, g);
        sdm_camera_project(sc->view[1].camera, 1, g, at);
        if (!isfinite(ray[0] + ray[1] + g[0] + at[0] + at[1]))
            return false;
    }
    return true;
}

/* Heights whose parallax leads far out of small images cannot be matched: shorten the range. */
static void cut_range(SdmContext *ctx, const SdmScene *sc, SdmFrame *f)
{
    const double hmin = f->hmin_m, hmax = f->hmax_m;
    for (int i = 0; i < 38 && !can_project(sc, f, f->hmin_m); i++)
        f->hmin_m += 0.025 * (f->h0_m - hmin);
    for (int i = 0; i < 38 && !can_project(sc, f, f->hmax_m); i++)
        f->hmax_m -= 0.025 * (hmax - f->h0_m);
    if (f->hmin_m > hmin || f->hmax_m < hmax)
        sdm_log(ctx, SDM_LOG_VERBOSE, 3, "heights searched: %.0f..%.0f m, as far as both images reach",
                f->hmin_m, f->hmax_m);
}

/* The heights of the cameras, lo[k] to hi[k], and those of the options have too little in common. */
static SdmStatus fail_range(SdmContext *ctx, const SdmScene *sc, const double lo[2], const double hi[2])
{
    const SdmOptions *const o = sc->options;
    const bool low = !isnan(o->hmin_m), high = !isnan(o->hmax_m);
    if (low && high)
        return sdm_fail(
            ctx, SDM_ERR_USAGE,
            "--hmin %g and --hmax %g: a range of %g m, expected %g m at least; give a wider one or "
            "leave both out",
            o->hmin_m, o->hmax_m, o->hmax_m - o->hmin_m, LEAST_RANGE_M);
    if (low || high)
        return sdm_fail(
            ctx, SDM_ERR_USAGE,
            "%s %g: the cameras of %s and %s are for heights %s %g m, expected one %g m %s that at "
            "least; leave it out, or give both --hmin and --hmax",
            low ? "--hmin" : "--hmax", low ? o->hmin_m : o->hmax_m, sc->view[0].name, sc->view[1].name,
            low ? "up to" : "from", low ? fmin(hi[0], hi[1]) : fmax(lo[0], lo[1]), LEAST_RANGE_M,
            low ? "below" : "above");
    return sdm_fail(
        ctx, SDM_ERR_DATA,
        "the camera of %s is for heights of %.0f to %.0f m, that of %s for %.0f to %.0f m, expected "
        "%g m in common; give images of the same place, or the terrain's --hmin and --hmax",
        sc->view[0].name, lo[0], hi[0], sc->view[1].name, lo[1], hi[1], LEAST_RANGE_M);
}

/* Heights to search: those of both cameras, within those of the Earth, or those of the options. */
static SdmStatus height_range(SdmContext *ctx, const SdmScene *sc, SdmFrame *f)
{
    const SdmOptions *const o = sc->options;
    double lo[2], hi[2];
    for (int i = 0; i < 2; i++) {
        lo[i] = fmax(sc->view[i].camera->hmin_m, -500.0);
        hi[i] = fmin(sc->view[i].camera->hmax_m, 9000.0);
    }
    f->hmin_m = isnan(o->hmin_m) ? fmax(lo[0], lo[1]) : o->hmin_m;
    f->hmax_m = isnan(o->hmax_m) ? fmin(hi[0], hi[1]) : o->hmax_m;
    f->h0_m = 0.5 * (f->hmin_m + f->hmax_m);
    return f->hmax_m - f->hmin_m >= LEAST_RANGE_M ? SDM_OK : fail_range(ctx, sc, lo, hi);
}

SdmStatus sdm_frame_find(SdmContext *ctx, const SdmScene *scene, SdmFrame *f)
{
    const SdmView *const left = &scene->view[0];
    double g[3];
    Local l;
    *f = (SdmFrame){.base_height = NAN};
    PASS(height_range(ctx, scene, f));
    PASS(locate(ctx, scene, left, 0.5 * (double)(left->image->width - 1),
                0.5 * (double)(left->image->height - 1), f->h0_m, g));
    f->lon_deg = g[0];
    f->lat_deg = g[1];
    local_at(f->lon_deg, f->lat_deg, &l);
    PASS(find_gsd(ctx, scene, f, &l));
    PASS(find_epipolar(ctx, scene, f, &l));
    PASS(find_extent(ctx, scene, f, &l));
    cut_range(ctx, scene, f);
    return SDM_OK;
}

SdmWindow sdm_frame_level(const SdmFrame *f, int level)
{
    const int64_t up = ((int64_t)1 << level) - 1;
    return (SdmWindow){
        .level = level, .w = (int)((f->width + up) >> level), .h = (int)((f->height + up) >> level)};
}

int sdm_frame_lattice_step(const SdmFrame *f, int level)
{
    enum { STEP = 64 /* at level 2 */, LEAST_STEP = 16, LEAST_NODES = 16 };
    const int64_t side = f->width < f->height ? f->width : f->height;
    int step = STEP << (level > 2 ? level - 2 : 0);
    while (step > LEAST_STEP && side / step < LEAST_NODES)
        step /= 2;
    return step;
}
