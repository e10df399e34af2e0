/* Matches of the coarse surface, pixels of both images -> do they show one exposure?  Has each the camera of
 * the other? */
// SPDX-License-Identifier: Apache-2.0
#include "scene/prepare.h"
#include "core/dense.h"
#include "core/stats.h"
#include "scene/window_input.h"

#include <math.h>
#include <string.h>

enum {
    MATCHES = 1024,
    LEAST = 50,
    MARGIN = 2, /* px that a mean of 5 x 5 takes, which hides compression,
                   sharpening and blur of a copy */
    SIDE = 64,  /* px of a window */
    REACH = 3,  /* px about the fitted offset that windows are compared at */
    WIDE = SIDE + 2 * REACH,
    WINDOWS = 25,
    LEAST_WINDOWS = 9,
    ROUNDS = 2,
    RAY_M = 100 /* of height, along a ray */
};
/* Offsets of the coarse matches of one exposure are affine in the pixels of the left image but for their
 * noise.  px */
static const double SPREAD_PX = 2.0;
/* The same of windows at full resolution; relief and the bends of cameras keep two exposures above.  px */
static const double BENT_PX = 0.1;
/* Windows of one exposure correlate so, also where it was compressed, blurred or resampled; where both
 * views may show level ground, only those of the very same samples are told from two exposures. */
static const double ALIKE = 0.95, IDENTICAL = 0.9999;
/* A copy is moved, turned and resampled alike in all directions; the cameras of two views and sloping
 * ground stretch theirs.  Ratio of the axes and shear less 1; so heights of less parallax per pixel of the
 * image, and SPREAD_PX, are level ground, whatever the offsets. */
static const double STRETCH = 0.002;

/* Least miss of the rays with the cameras of a pair, px, and least ratio to the miss with the cameras
 * exchanged: beyond both, the cameras of the two images are taken for exchanged. */
static const double MISS_PX = 0.1, MISS_RATIO = 4.0;

typedef struct Offsets {
    double left[MATCHES][2], offset[2][MATCHES], h_m[MATCHES], score[MATCHES];
    double affine[2][3]; /* offset = affine . (1, x, y) */
    int64_t count;
} Offsets;

static SdmStatus collect(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p, Offsets *out)
{
    SDM_CLOSED_BY(sdm_lattice_free) SdmLattice lat = {0};
    const SdmSurface *const s = &p->coarse;
    SdmLatticeRequest q = sdm_coarse_request(scene, p, 16);
    const int64_t n = (int64_t)s->win.w * s->win.h, step = n / MATCHES + 1;
    const double size = (double)(1 << s->win.level);
    q.grid = NULL; /* not chosen yet, nor needed */
    PASS(sdm_lattice_build(ctx, &q, &lat));
    for (int64_t i = step / 2; i < n; i += step) {
        const double u = ((double)(i % s->win.w) + 0.5) * size - 0.5,
                     v = ((double)(i / s->win.w) + 0.5) * size - 0.5;
        double right[2];
        if (!(s->flags[i] & SDM_QA_VALID))
            continue;
        sdm_lattice_left(&lat, u, v, out->left[out->count]);
        out->h_m[out->count] = (double)s->h_m[i];
        sdm_lattice_right(&lat, u, v, (double)s->h_m[i], right);
        for (int k = 0; k < 2; k++)
            out->offset[k][out->count] = right[k] - out->left[out->count][k];
        out->count += isfinite(out->offset[0][out->count] + out->offset[1][out->count]);
    }
    return SDM_OK;
}

static double at(const double affine[3], const double left[2])
{
    return affine[0] + affine[1] * left[0] + affine[2] * left[1];
}

/* Fits the offsets with cuts at three NMAD.  @return NMAD of what is left in x or y, the larger one */
static double fit(Offsets *o)
{
    double worst = 0.0, rest[MATCHES];
    for (int k = 0; k < 2; k++) {
        double cut = INFINITY;
        for (int round = 0; round < 5; round++) {
            double a[9] = {0}, b[3] = {0};
            for (int64_t i = 0; i < o->count; i++) {
                const double term[3] = {1.0, o->left[i][0], o->left[i][1]};
                if (round && fabs(o->offset[k][i] - at(o->affine[k], o->left[i])) > cut)
                    continue;
                sdm_add_equation(3, term, 1.0, o->offset[k][i], a, b);
            }
            if (!sdm_solve_cholesky(3, a, b))
                return INFINITY;
            memcpy(o->affine[k], b, sizeof b);
            for (int64_t i = 0; i < o->count; i++)
                rest[i] = o->offset[k][i] - at(o->affine[k], o->left[i]);
            cut = 3.0 * sdm_nmad_f64(rest, o->count, NULL);
        }
        worst = fmax(worst, cut / 3.0);
    }
    return worst;
}

/* Means of 5 x 5 pixels of an image about the match of a place of the left image, NaN without a value.
 * affine: of the offsets, NULL for the left image.  out: side x side */
static SdmStatus sample(SdmContext *ctx, SdmImage *image, double (*affine)[3], const double centre[2],
                        int side, float *out)
{
    SDM_OWNED int16_t *pixel = NULL;
    SDM_OWNED float *fine = NULL;
    const int wide = side + 2 * MARGIN;
    const double reach = (affine ? 1.5 + fmax(fabs(affine[0][1]), fabs(affine[1][2])) : 1.0) * wide / 2;
    double middle[2];
    for (int k = 0; k < 2; k++)
        middle[k] = centre[k] + (affine ? at(affine[k], centre) : 0.0);
    const int64_t n = (int64_t)(2.0 * reach) + 3;
    const SdmImageWindow all = {(int64_t)floor(middle[0] - reach), (int64_t)floor(middle[1] - reach), n, n};
    PASS(sdm_alloc(ctx, &pixel, (size_t)(n * n), sizeof *pixel, "a window of a view"));
    PASS(sdm_alloc(ctx, &fine, (size_t)wide * (size_t)wide, sizeof *fine, "a window of a view"));
    PASS(sdm_image_read(ctx, image, all, false, pixel, NULL, NULL));
    for (int i = 0; i < wide * wide; i++) {
        const double p[2] = {centre[0] + i % wide - wide / 2, centre[1] + i / wide - wide / 2};
        const double x = p[0] + (affine ? at(affine[0], p) : 0.0) - (double)all.x,
                     y = p[1] + (affine ? at(affine[1], p) : 0.0) - (double)all.y;
        fine[i] = NAN;
        if (!(x >= 0.0 && y >= 0.0 && x < (double)(n - 1) && y < (double)(n - 1)))
            continue;
        const int16_t *const q = pixel + (int64_t)y * n + (int64_t)x;
        const double a = x - floor(x), b = y - floor(y);
        if (q[0] != SDM_Q_NODATA && q[1] != SDM_Q_NODATA && q[n] != SDM_Q_NODATA && q[n + 1] != SDM_Q_NODATA)
            fine[i] =
                (float)((1.0 - b) * ((1.0 - a) * q[0] + a * q[1]) + b * ((1.0 - a) * q[n] + a * q[n + 1]));
    }
    for (int i = 0; i < side * side; i++) {
        out[i] = 0.0f;
        for (int j = 0; j < 25; j++)
            out[i] += fine[(i / side + j / 5) * wide + i % side + j % 5] / 25.0f;
    }
    return SDM_OK;
}

/* Correlation of a window of the left image and the part of a wider one that begins at (x, y); NaN where a
 * pixel has no value or there is no texture. */
static double correlate(const float *left, const float *right, int x, int y)
{
    double a = 0.0, b = 0.0, aa = 0.0, bb = 0.0, ab = 0.0;
    const double n = SIDE * SIDE;
    for (int i = 0; i < SIDE * SIDE; i++) {
        const double l = (double)left[i], r = (double)right[(y + i / SIDE) * WIDE + x + i % SIDE];
        a += l, b += r, aa += l * l, bb += r * r, ab += l * r;
    }
    return (ab - a * b / n) / sqrt((aa - a * a / n) * (bb - b * b / n));
}

/* Adds the best correlation of a window about a place, and the offset there to a part of a pixel. */
static SdmStatus compare(SdmContext *ctx, const SdmScene *scene, const double place[2], double (*affine)[3],
                         Offsets *out)
{
    enum { SPAN = 2 * REACH + 1 };
    SDM_OWNED float *left = NULL;
    double c[SPAN * SPAN];
    int best = 0;
    const double centre[2] = {floor(place[0]), floor(place[1])};
    PASS(sdm_alloc(ctx, &left, SIDE * SIDE + WIDE * WIDE, sizeof *left, "windows of both views"));
    float *const right = left + SIDE * SIDE;
    PASS(sample(ctx, scene->view[0].image, NULL, centre, SIDE, left));
    PASS(sample(ctx, scene->view[1].image, affine, centre, WIDE, right));
    for (int i = 0; i < SPAN * SPAN; i++) {
        c[i] = correlate(left, right, i % SPAN, i / SPAN);
        if (isnan(c[i]))
            return SDM_OK;
        best = c[i] > c[best] ? i : best;
    }
    const int x = best % SPAN, y = best / SPAN, step[2] = {1, SPAN};
    if (x == 0 || y == 0 || x == SPAN - 1 || y == SPAN - 1)
        return SDM_OK;
    const double move[2] = {x - REACH, y - REACH};
    for (int k = 0; k < 2; k++) {
        const double low = c[best - step[k]], high = c[best + step[k]];
        out->left[out->count][k] = centre[k];
        out->offset[k][out->count] =
            at(affine[k], centre) + move[k] + 0.5 * (high - low) / (2.0 * c[best] - low - high);
    }
    out->score[out->count++] = c[best];
    return SDM_OK;
}

static SdmStatus judge(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p, Offsets *o, Offsets *w)
{
    const double spread = o->count < LEAST ? INFINITY : fit(o);
    double bent = INFINITY, alike = 0.0, stretch = INFINITY;
    const bool level = sdm_nmad_f64(o->h_m, o->count, NULL) * fabs(p->frame.du_dh) <
                       SPREAD_PX + STRETCH * (double)p->frame.width;
    if (!(spread < SPREAD_PX))
        return SDM_OK;
    memcpy(w->affine, o->affine, sizeof w->affine);
    for (int round = 0; round < ROUNDS; round++) {
        w->count = 0;
        for (int i = 0; i < WINDOWS; i++)
            PASS(compare(ctx, scene, o->left[(2 * i + 1) * o->count / (2 * WINDOWS)], w->affine, w));
        if (w->count < LEAST_WINDOWS)
            return SDM_OK;
        bent = fit(w);
        stretch = fmax(fabs(w->affine[0][1] - w->affine[1][2]), fabs(w->affine[0][2] + w->affine[1][1]));
        alike = sdm_median_f64(w->score, w->count);
    }
    sdm_log(ctx, SDM_LOG_VERBOSE, 2,
            "offsets of matches are affine but for %.2f px; %d windows for %.3f "
            "px, stretched by %.4f, correlate by %.4f",
            spread, (int)w->count, bent, stretch, alike);
    if (bent < BENT_PX && stretch < STRETCH && alike > (level ? IDENTICAL : ALIKE))
        return sdm_fail(ctx, SDM_ERR_DATA,
                        "%s and %s: their pixels are those of one exposure (offsets "
                        "without any parallax, within %.3f "
                        "px, correlation %.4f) under two cameras, which makes no "
                        "heights; give the other view with its "
                        "own camera",
                        scene->view[0].name, scene->view[1].name, bent, alike);
    return SDM_OK;
}

/* By how much the rays of the matches miss each other, px across the epipolar lines, but for a constant, with
 * camera a for the left image and b for the right one.  NMAD */
static double measure_miss_px(const Offsets *o, const SdmCamera *a, const SdmCamera *b)
{
    double miss[MATCHES];
    int64_t n = 0;
    for (int64_t i = 0; i < o->count; i++) {
        double at[2][3], ground[2][3], is[2][2];
        for (int k = 0; k < 2; k++) {
            memcpy(at[k], o->left[i], sizeof o->left[i]);
            at[k][2] = o->h_m[i] + k * RAY_M;
        }
        sdm_camera_locate(a, 2, at[0], ground[0]);
        sdm_camera_project(b, 2, ground[0], is[0]);
        const double du = is[1][0] - is[0][0], dv = is[1][1] - is[0][1],
                     x = o->left[i][0] + o->offset[0][i] - is[0][0],
                     y = o->left[i][1] + o->offset[1][i] - is[0][1];
        miss[n] = (du * y - dv * x) / hypot(du, dv);
        n += isfinite(miss[n]);
    }
    return n < LEAST ? NAN : sdm_nmad_f64(miss, n, NULL);
}

SdmStatus sdm_check_exposures(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p)
{
    SDM_OWNED Offsets *o = NULL;
    if (scene->sensor != SDM_SENSOR_RPC)
        return SDM_OK;
    PASS(sdm_alloc(ctx, &o, 2, sizeof *o, "matches"));
    PASS(collect(ctx, scene, p, o));
    return judge(ctx, scene, p, o, o + 1);
}

SdmStatus sdm_check_exchanged(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p)
{
    SDM_OWNED Offsets *o = NULL;
    const SdmView *const view = scene->view;
    if (scene->sensor != SDM_SENSOR_RPC)
        return SDM_OK;
    PASS(sdm_alloc(ctx, &o, 1, sizeof *o, "matches"));
    PASS(collect(ctx, scene, p, o));
    const double miss = measure_miss_px(o, view[0].camera, view[1].camera),
                 exchanged = measure_miss_px(o, view[1].camera, view[0].camera);
    sdm_log(ctx, SDM_LOG_VERBOSE, 2, "rays miss each other by %.3f px, with the cameras exchanged by %.3f px",
            miss, exchanged);
    if (miss > MISS_PX && miss > MISS_RATIO * exchanged)
        return sdm_fail(
            ctx, SDM_ERR_DATA,
            "%s and %s: each seems to have the camera of the other (their rays miss each other by "
            "%.2f px, with the cameras exchanged by %.2f px); give each image its own RPC",
            view[0].name, view[1].name, miss, exchanged);
    return SDM_OK;
}
