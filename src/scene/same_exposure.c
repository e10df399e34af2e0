/* Matches of the coarse surface, pixels of both images -> do they show one
 * exposure? */
// SPDX-License-Identifier: Apache-2.0
#include "scene/same_exposure.h"
#include "core/stats.h"
#include "scene/window_input.h"

#include <math.h>

enum {
    MATCHES = 1024,
    LEAST = 50,
    SIDE = 64, /* px of a window */
    REACH = 3, /* px about the median offset that windows are compared at */
    WIDE = SIDE + 2 * REACH,
    WINDOWS = 9,
    LEAST_WINDOWS = 3
};
/* Matches of two exposures do not lie as far apart everywhere: heights, and the
 * cameras' scales and turns.  px */
static const double SPREAD_PX = 2.0;
/* Windows of one exposure, also once compressed, correlate so at a whole number
 * of pixels; noise, light and sampling keep those of two below. */
static const double ALIKE = 0.995;

typedef struct Offsets {
    double left[MATCHES][2], offset[2][MATCHES];
    int64_t count;
} Offsets;

static SdmStatus collect(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p, Offsets *out)
{
    SdmStatus st = SDM_OK;
    SdmLattice lat = {0};
    const SdmSurface *const s = &p->coarse;
    SdmLatticeRequest q = sdm_coarse_request(scene, p, 16);
    const int64_t n = (int64_t)s->win.w * s->win.h, step = n / MATCHES + 1;
    const double size = (double)(1 << s->win.level);
    q.grid = NULL; /* not chosen yet, nor needed */
    TRY(sdm_lattice_build(ctx, &q, &lat));
    for (int64_t i = step / 2; i < n; i += step) {
        const double u = ((double)(i % s->win.w) + 0.5) * size - 0.5,
                     v = ((double)(i / s->win.w) + 0.5) * size - 0.5;
        double right[2];
        if (!(s->flags[i] & SDM_QA_VALID))
            continue;
        sdm_lattice_left(&lat, u, v, out->left[out->count]);
        sdm_lattice_right(&lat, u, v, (double)s->h_m[i], right);
        for (int k = 0; k < 2; k++)
            out->offset[k][out->count] = right[k] - out->left[out->count][k];
        out->count += isfinite(out->offset[0][out->count] + out->offset[1][out->count]);
    }
done:
    sdm_lattice_free(&lat);
    return st;
}

/* Correlation of a window of the left image and the part of a wider one that
 * begins at (x, y); NaN where a pixel has no value or there is no texture. */
static double correlate(const int16_t *left, const int16_t *right, int x, int y)
{
    double a = 0.0, b = 0.0, aa = 0.0, bb = 0.0, ab = 0.0;
    const double n = SIDE * SIDE;
    for (int i = 0; i < SIDE * SIDE; i++) {
        const int16_t l = left[i], r = right[(y + i / SIDE) * WIDE + x + i % SIDE];
        if (l == SDM_Q_NODATA || r == SDM_Q_NODATA)
            return NAN;
        a += l, b += r, aa += (double)l * l, bb += (double)r * r, ab += (double)l * r;
    }
    return (ab - a * b / n) / sqrt((aa - a * a / n) * (bb - b * b / n));
}

/* The best correlation of a window about a match, at whole pixels. */
static SdmStatus compare(SdmContext *ctx, const SdmScene *scene, const double left[2], const double offset[2],
                         double *best)
{
    SdmStatus st = SDM_OK;
    int16_t *pixel = NULL;
    const int64_t x = llround(left[0]) - SIDE / 2, y = llround(left[1]) - SIDE / 2;
    const SdmImageWindow one = {x, y, SIDE, SIDE},
                         wide = {x + llround(offset[0]) - REACH, y + llround(offset[1]) - REACH, WIDE, WIDE};
    *best = NAN;
    TRY(sdm_alloc(ctx, &pixel, SIDE * SIDE + WIDE * WIDE, sizeof *pixel, "windows of both views"));
    TRY(sdm_image_read(ctx, scene->view[0].image, one, pixel, NULL, NULL));
    TRY(sdm_image_read(ctx, scene->view[1].image, wide, pixel + SIDE * SIDE, NULL, NULL));
    for (int i = 0; i < (2 * REACH + 1) * (2 * REACH + 1); i++)
        *best = fmax(*best, correlate(pixel, pixel + SIDE * SIDE, i % (2 * REACH + 1), i / (2 * REACH + 1)));
done:
    sdm_free(&pixel);
    return st;
}

static SdmStatus judge(SdmContext *ctx, const SdmScene *scene, Offsets *o)
{
    SdmStatus st = SDM_OK;
    double offset[2], spread[2], all[WINDOWS];
    int n = 0;
    for (int k = 0; k < 2; k++)
        spread[k] = o->count < LEAST ? INFINITY : sdm_nmad_f64(o->offset[k], o->count, &offset[k]);
    if (!(fmax(spread[0], spread[1]) < SPREAD_PX))
        return SDM_OK;
    for (int i = 0; i < WINDOWS; i++) {
        TRY(compare(ctx, scene, o->left[(2 * i + 1) * o->count / (2 * WINDOWS)], offset, &all[n]));
        n += !isnan(all[n]);
    }
    const double alike = sdm_median_f64(all, n);
    sdm_log(ctx, SDM_LOG_VERBOSE, 2,
            "matches lie %.1f, %.1f px apart everywhere; %d windows correlate by %.4f", offset[0], offset[1],
            n, alike);
    if (n >= LEAST_WINDOWS && alike > ALIKE)
        st = sdm_fail(
            ctx, SDM_ERR_DATA,
            "%s and %s: their pixels are those of one exposure (%.0f, %.0f px apart everywhere, correlation "
            "%.4f) under two cameras, which makes no heights; give the other view with its own camera",
            scene->view[0].name, scene->view[1].name, offset[0], offset[1], alike);
done:
    return st;
}

SdmStatus sdm_check_exposures(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p)
{
    SdmStatus st = SDM_OK;
    Offsets *o = NULL;
    if (scene->sensor != SDM_SENSOR_RPC)
        return SDM_OK;
    TRY(sdm_alloc(ctx, &o, 1, sizeof *o, "matches"));
    TRY(collect(ctx, scene, p, o));
    TRY(judge(ctx, scene, o));
done:
    sdm_free(&o);
    return st;
}
