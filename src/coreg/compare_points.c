/* DEM and points with heights -> error statistics at the points, the move by the slopes of the DEM there. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/compare_steps.h"
#include "core/math.h"
#include "core/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_POINTS = 10 };
static const double LAST_STEP_M = 0.005;

/* The points that count, and what is measured at them; arrays of `count`. */
typedef struct Sites {
    SdmComparison *w;
    int64_t count, filled; /* filled: on a cell with a height */
    double *x_m, *y_m,
        *height_m;        /* place, metres from the corner of the grid east and north; of the reference */
    float *residual_m;    /* moved DEM minus reference; NaN: the DEM has no height */
    float *east, *north;  /* slope of the DEM */
    float *value, *spare; /* scratch */
    float *work;          /* SDM_SHIFT_FLOATS */
    uint8_t *class;       /* of --class; 0 without it */
} Sites;

static SdmStatus sites_open(SdmComparison *w, Sites *s)
{
    const size_t n = (size_t)w->points.count;
    *s = (Sites){.w = w};
    return SDM_ALLOC(w->ctx, "points", SDM_ARRAY(s->x_m, n), SDM_ARRAY(s->y_m, n), SDM_ARRAY(s->height_m, n),
                     SDM_ARRAY(s->residual_m, n), SDM_ARRAY(s->east, n), SDM_ARRAY(s->north, n),
                     SDM_ARRAY(s->value, n), SDM_ARRAY(s->spare, n), SDM_ARRAY(s->class, n),
                     SDM_ARRAY(s->work, SDM_SHIFT_FLOATS(n)));
}

static void sites_close(Sites *s)
{
    SDM_FREE(&s->x_m, &s->y_m, &s->height_m, &s->residual_m, &s->east, &s->north, &s->value, &s->spare,
             &s->class, &s->work);
}

/* A point's y, by which it is sorted, and its number. */
typedef struct Order {
    double y;
    int64_t number;
} Order;

static int from_the_north(const void *a, const void *b)
{
    const Order *const p = a, *const q = b;
    const int order = (p->y < q->y) - (p->y > q->y);
    return order ? order : (p->number > q->number) - (p->number < q->number);
}

/* Keep the points on the DEM's cells that count, from north to south: the first half of them is one half of
 * the area. */
static SdmStatus choose_sites(Sites *s)
{
    const SdmComparison *const w = s->w;
    SDM_OWNED Order *order = NULL;
    PASS(sdm_alloc_raw(w->ctx, &order, (size_t)w->points.count, sizeof *order, "points"));
    for (int64_t i = 0; i < w->points.count; i++)
        order[i] = (Order){w->points.y[i], i};
    qsort(order, (size_t)w->points.count, sizeof *order, from_the_north);
    const SdmCoregGrid *const g = &w->g;
    const double *const t = w->grid.transform;
    for (int64_t k = 0; k < w->points.count; k++) {
        const int64_t i = order[k].number;
        const double col = (w->points.x[i] - t[0]) / t[1], row = (w->points.y[i] - t[3]) / t[5];
        if (!(col >= 0.0) || !(row >= 0.0) || !(col < (double)g->cols) || !(row < (double)g->rows))
            continue;
        const int64_t at = (int64_t)row * g->cols + (int64_t)col;
        if (!(g->mask[at] & SDM_COREG_STABLE))
            continue;
        s->x_m[s->count] = col * g->dx_m;
        s->y_m[s->count] = -row * g->dy_m;
        s->class[s->count] = w->class ? w->class[at] : 0;
        s->height_m[s->count++] = w->points.height_m[i];
        s->filled += !isnan(g->dem_m[at]);
    }
    return SDM_OK;
}

/* SdmShiftTask.measure of a DEM and points. */
static void measure_points(const void *surfaces, const double move_m[2], size_t first, int n,
                           float *difference_m, float *const slope[2])
{
    const Sites *const s = surfaces;
    const SdmCoregGrid *const g = &s->w->g;
    for (int k = 0; k < n; k++) {
        const size_t i = first + (size_t)k;
        double per_cell[2] = {0.0, 0.0};
        const double col = (s->x_m[i] - move_m[0]) / g->dx_m - 0.5,
                     row = -(s->y_m[i] - move_m[1]) / g->dy_m - 0.5;
        difference_m[k] = (float)(sdm_coreg_height(g, col, row, per_cell) - s->height_m[i]);
        if (slope) {
            slope[0][k] = (float)(per_cell[0] / g->dx_m);
            slope[1][k] = (float)(-per_cell[1] / g->dy_m);
        }
    }
}

/* Residuals and slopes at the points, with the DEM moved. */
static void measure(Sites *s, const double move_m[3])
{
    float *const slope[2] = {s->east, s->north};
    measure_points(s, move_m, 0, (int)s->count, s->residual_m, slope);
    for (int64_t i = 0; i < s->count; i++)
        s->residual_m[i] = (float)((double)s->residual_m[i] + move_m[2]);
}

static SdmStatus find_shift(void *of)
{
    Sites *const s = of;
    SdmComparison *const w = s->w;
    SdmShift *const move = &w->out->move;
    const double cell_m = fmin(w->g.dx_m, w->g.dy_m);
    const SdmShiftTask task = {.measure = measure_points,
                               .surfaces = s,
                               .count = (size_t)s->count,
                               .cell_m = cell_m,
                               .correlated =
                                   s->count < MIN_POINTS ? INFINITY : 1.0, /* few determine nothing */
                               .steepest = INFINITY,
                               .last_step_m = LAST_STEP_M,
                               .walls = cell_m < SDM_SHIFT_WALL_CELL_M,
                               .threads = w->g.threads,
                               .work = s->work};
    PASS(sdm_shift_fit(w->ctx, &task, move));
    if (!w->tilts)
        PASS(sdm_shift_judge(w->ctx, &task, move));
    measure(s, move->move_m);
    return SDM_OK;
}

/* At the places of the DEM. */
static void take_samples(void *of, const SdmTilt *taken_out, SdmTiltSamples *out)
{
    const Sites *const s = of;
    const SdmCoregGrid *const g = &s->w->g;
    const double *const move_m = s->w->out->move.move_m;
    out->count = 0;
    for (int64_t i = 0; i < s->count; i++) {
        const double east_m = s->x_m[i] - move_m[0] - 0.5 * (double)g->cols * g->dx_m,
                     north_m = s->y_m[i] - move_m[1] + 0.5 * (double)g->rows * g->dy_m;
        if (isnan(s->residual_m[i]))
            continue;
        out->east_m[out->count] = (float)east_m;
        out->north_m[out->count] = (float)north_m;
        out->error_m[out->count++] =
            (float)((double)s->residual_m[i] + sdm_tilt_at(taken_out, east_m, north_m));
    }
}

static SdmStatus fit_spline(void *of)
{
    Sites *const s = of;
    return sdm_coreg_fit(s->w->ctx, &s->w->g, s->w->g.dem_m, 0, 0);
}

/* ---- figures ---- */

/* SdmResiduals.ground at points: slopes of the DEM. */
static double ground_at_point(const void *of, int64_t i, double slope[2])
{
    const Sites *const s = of;
    if (slope) {
        slope[0] = (double)s->east[i];
        slope[1] = (double)s->north[i];
    }
    return s->height_m[i];
}

static SdmResiduals residuals_of(const Sites *s)
{
    return (SdmResiduals){.w = s->w,
                          .count = s->count,
                          .residual_m = s->residual_m,
                          .value = s->value,
                          .spare = s->spare,
                          .class = s->class,
                          .ground = ground_at_point,
                          .of = s};
}

/* Figures of all, and for the page map, histogram and medians by aspect. */
static void overall_stats(const Sites *s, int view, SdmErrorStats *out)
{
    const SdmResiduals r = residuals_of(s);
    const SdmCoregGrid *const g = &s->w->g;
    memcpy(s->value, s->residual_m, (size_t)s->count * sizeof *s->value);
    sdm_error_stats(s->value, sdm_drop_nan_f32(s->value, s->count), s->spare, out);
    sdm_compare_height_ratio(&r, &s->w->out->height_ratio);
    for (int64_t i = 0; s->w->opt->output && i < s->count; i++)
        sdm_mean_map_add(&s->w->page.view[view].map, (int64_t)(s->x_m[i] / g->dx_m),
                         (int64_t)(-s->y_m[i] / g->dy_m), (double)s->residual_m[i]);
    sdm_compare_page_add(&r, view, out);
}

static SdmStatus residual_stats(Sites *s)
{
    SdmCompareResult *const out = s->w->out;
    const SdmResiduals r = residuals_of(s);
    int64_t n = 0;
    overall_stats(s, 1, &out->aligned);
    for (int64_t i = 0; i < s->count; i++)
        if (!isnan(s->residual_m[i]))
            s->value[n++] = (float)s->height_m[i];
    sdm_compare_stats_by_ground(&r, n, out);
    if (s->w->class)
        sdm_compare_stats_by(&r, sdm_compare_class_bin, SDM_COMPARE_CLASSES, NULL, out->class);
    n = 0;
    for (int64_t i = 0; i < s->count; i++) /* the points that have a residual, in front */
        if (!isnan(s->residual_m[i])) {
            s->x_m[n] = s->x_m[i];
            s->y_m[n] = s->y_m[i];
            s->residual_m[n++] = s->residual_m[i];
        }
    for (int k = 0; k < SDM_LAGS; k++)
        PASS(sdm_error_lag_points(s->w->ctx, s->residual_m, s->x_m, s->y_m, n, sdm_lags_m[k], &out->lag[k]));
    for (int k = 0; s->w->opt->output && k < SDM_PLOTTED_LAGS; k++)
        PASS(sdm_error_lag_points(s->w->ctx, s->residual_m, s->x_m, s->y_m, n, sdm_plotted_lag_m(k),
                                  &s->w->page.lag[k]));
    return SDM_OK;
}

/* One sentence for points that are not where the DEM is. */
static SdmStatus fail_outside(const Sites *s)
{
    const SdmComparison *const w = s->w;
    const double *const t = w->grid.transform;
    double b[4] = SDM_NO_BOUNDS;
    for (int64_t i = 0; i < w->points.count; i++)
        sdm_bounds_add(b, w->points.x[i], w->points.y[i]);
    return sdm_fail(
        w->ctx, SDM_ERR_DATA,
        "reference %s: none of its %lld points lies on a cell of DEM %s that counts (points: x %.6g..%.6g, y "
        "%.6g..%.6g, DEM: x %.6g..%.6g, y %.6g..%.6g, in the CRS of the DEM; %s)",
        w->in[SDM_IN_REFERENCE].path, (long long)w->points.count, w->in[SDM_IN_DEM].path, b[0], b[2], b[1],
        b[3], t[0], t[0] + (double)w->grid.cols * t[1], t[3] + (double)w->grid.rows * t[5], t[3],
        w->points.source);
}

SdmStatus sdm_compare_points(SdmComparison *w)
{
    SDM_CLOSED_BY(sites_close) Sites s = {0};
    static const double none_m[3] = {0.0, 0.0, 0.0};
    if (w->opt->difference)
        return sdm_fail(w->ctx, SDM_ERR_USAGE,
                        "--difference: needs a raster as reference, and %s holds points",
                        w->in[SDM_IN_REFERENCE].path);
    snprintf(w->out->source, sizeof w->out->source, "%s", w->points.source);
    PASS(sdm_raster_grid_own(w->ctx, &w->in[SDM_IN_DEM], &w->grid));
    PASS(sdm_input_points_match_datum(w->ctx, &w->in[SDM_IN_DEM], &w->in[SDM_IN_REFERENCE], &w->points,
                                      w->out->note));
    PASS(sdm_compare_open_grid(w));
    PASS(sdm_compare_load_cells(w));
    PASS(sites_open(w, &s));
    PASS(choose_sites(&s));
    if (s.count == 0)
        return fail_outside(&s);
    PASS(fit_spline(&s));
    measure(&s, none_m);
    overall_stats(&s, 0, &w->out->raw);
    w->out->cells = s.count;
    w->out->coverage = (double)s.filled / (double)s.count;
    if (w->out->raw.count == 0)
        return sdm_fail(w->ctx, SDM_ERR_DATA,
                        "DEM %s has no heights around any of the %lld points of reference %s",
                        w->in[SDM_IN_DEM].path, (long long)s.count, w->in[SDM_IN_REFERENCE].path);
    PASS(sdm_compare_align(w, &(SdmCompareSteps){.of = &s,
                                                 .find_shift = find_shift,
                                                 .take_samples = take_samples,
                                                 .dem_changed = fit_spline,
                                                 .samples = (size_t)s.count}));
    PASS(residual_stats(&s));
    return sdm_compare_write(w);
}
