/* DEM and reference -> coverage and error statistics by class and slope, before and after co-registration:
 * of two rasters at the cells of one grid, of a DEM and points at the points. */
// SPDX-License-Identifier: Apache-2.0
#include "core/math.h"
#include "core/path.h"
#include "core/stats.h"
#include "core/system.h"
#include "coreg/comparison.h"
#include "geo/gdal_scope.h"
#include "product/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_SAMPLES = 2000000, /* residuals that a model is fitted to */
    MODEL_ROUNDS = 5,
    MAP_PX = 480,
    MAP_PX_OF_POINTS = 160,
    MIN_POINTS = 10 /* few determine no move */
};
static const double SAME_EDGE = 1e-6;     /* of a cell: bounds that lie on an edge */
static const double SAME_SHIFT_M = 0.005; /* a shift that moved less by the model is final */

/* ---- the grid, and which of its cells count ---- */

static SdmStatus check_memory(SdmContext *ctx, const SdmRasterGrid *grid, int64_t limit)
{
    const double need = (double)(grid->cols * grid->rows) * SDM_COREG_CELL_BYTES;
    if (limit == 0 || need <= (double)limit)
        return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_MEMORY,
                    "DEM and reference have %lld x %lld cells in common, which take %.1f GiB of memory; "
                    "raise --memory, or compare a part (gdal_translate -projwin)",
                    (long long)grid->cols, (long long)grid->rows, need / 1073741824.0);
}

/* Cut the grid to the part that --bounds and --area ask for. */
static SdmStatus cut_grid(SdmContext *ctx, SdmRasterGrid *grid)
{
    double *const t = grid->transform, b[4];
    const double whole[4] = {t[0], t[3] + (double)grid->rows * t[5], t[0] + (double)grid->cols * t[1], t[3]};
    const SdmOptions *const o = sdm_options(ctx);
    if (!o->bounds && !o->area)
        return SDM_OK;
    PASS(sdm_part_bounds(ctx, o, grid->dem->wkt, whole, true, b));
    const double col = floor((b[0] - t[0]) / t[1] + SAME_EDGE), row = floor((b[3] - t[3]) / t[5] + SAME_EDGE),
                 cols = ceil((b[2] - t[0]) / t[1] - SAME_EDGE) - col,
                 rows = ceil((b[1] - t[3]) / t[5] - SAME_EDGE) - row;
    t[0] += col * t[1];
    t[3] += row * t[5];
    grid->cols = (int64_t)fmax(cols, 1.0);
    grid->rows = (int64_t)fmax(rows, 1.0);
    return SDM_OK;
}

/* Allocate the arrays of g for w->grid within --memory and the page's maps, and load the DEM. */
static SdmStatus open_grid(SdmComparison *w)
{
    SdmCoregGrid *const g = &w->g;
    const SdmRasterGrid *const grid = &w->grid;
    PASS(cut_grid(w->ctx, &w->grid));
    PASS(check_memory(w->ctx, grid, w->opt->memory_bytes));
    *g = (SdmCoregGrid){.cols = grid->cols,
                        .rows = grid->rows,
                        .dx_m = grid->dx_m,
                        .dy_m = grid->dy_m,
                        .threads = sdm_threads(w->ctx)};
    PASS(sdm_coreg_open(w->ctx, g));
    w->at = (SdmPlaces){
        .count = g->cols * g->rows, .residual_m = g->residual_m, .value = g->scratch, .spare = g->spline};
    for (int k = 0; w->opt->output && k < 2; k++)
        PASS(sdm_mean_map_open(w->ctx, grid->cols, grid->rows, w->out->points ? MAP_PX_OF_POINTS : MAP_PX,
                               &w->page.view[k].map));
    return sdm_input_raster_load(w->ctx, &w->in[SDM_IN_DEM], grid, SDM_KERNEL_NEAREST, g->dem_m);
}

/* Mark a cell by the value of an input there: its class; land outside of --within or --area has none, and
 * outside of --area there is no DEM; stable is what is not 0 in --mask, nor in --exclude. */
static void mark_cell(SdmComparison *w, int input, int64_t cell, float value)
{
    uint8_t *const mask = &w->g.mask[cell];
    if (input == SDM_IN_CLASS) {
        const unsigned class = value == 1.0f || value == 2.0f || value == 3.0f ? (unsigned)value : 0;
        w->class[cell] = value >= 0.0f && value < 256.0f ? (uint8_t)value : 0;
        *mask = (uint8_t)(class << SDM_CELL_CLASS_SHIFT | (class == 1 ? SDM_COREG_STABLE : 0));
    } else if (input >= SDM_IN_MASK) {
        if ((fabsf(value) > 0.0f) != (input == SDM_IN_MASK))
            *mask &= (uint8_t)~SDM_COREG_STABLE;
    } else if (isnan(value)) {
        if ((*mask & SDM_CELL_CLASS) == SDM_CELL_LAND)
            *mask = 0;
        if (input == SDM_IN_AREA)
            w->g.dem_m[cell] = NAN;
    }
}

/* Mask of the cells from --class, --within, --area, --mask and --exclude: class bits, and SDM_COREG_STABLE
 * for those that count. */
static SdmStatus load_cells(SdmComparison *w)
{
    static const char *const without[SDM_INPUTS] = {
        [SDM_IN_CLASS] = "no cell where DEM and reference lie is of class 1 (land)",
        [SDM_IN_MASK] = "no cell where DEM and reference lie is stable ground (not 0)",
        [SDM_IN_EXCLUDE] = "leaves no cell where DEM and reference lie"};
    SdmCoregGrid *const g = &w->g;
    const int64_t n = g->cols * g->rows;
    memset(g->mask, SDM_CELL_LAND | SDM_COREG_STABLE, (size_t)n);
    for (int k = SDM_IN_CLASS; k < SDM_INPUTS; k++) {
        int64_t stable = 0;
        if (!w->in[k].file)
            continue;
        PASS(sdm_input_raster_load(w->ctx, &w->in[k], &w->grid, SDM_KERNEL_NEAREST, g->scratch));
        if (k == SDM_IN_CLASS)
            PASS(sdm_alloc(w->ctx, &w->class, (size_t)n, 1, "classes"));
        for (int64_t i = 0; i < n; i++) {
            mark_cell(w, k, i, g->scratch[i]);
            stable += g->mask[i] & SDM_COREG_STABLE;
        }
        if (stable == 0 && without[k])
            return sdm_fail(w->ctx, SDM_ERR_DATA, "%s %s: %s, so nothing can be compared", w->in[k].role,
                            w->in[k].path, without[k]);
    }
    w->at.class = w->class;
    return SDM_OK;
}

/* ---- residuals by what lies there ---- */

static int slope_bin(const SdmComparison *w, int64_t place)
{
    double slope[2];
    sdm_compare_ground(w, place, slope);
    const double slope_deg = atan(hypot(slope[0], slope[1])) * 57.295779513082321;
    return !isfinite(slope_deg) ? -1 : slope_deg >= 50.0 ? 5 : (int)(slope_deg / 10.0);
}

static int height_bin(const SdmComparison *w, int64_t place)
{
    const double height_m = sdm_compare_ground(w, place, NULL);
    int k = 0;
    while (k + 1 < SDM_COMPARE_BANDS && height_m >= w->out->band[k].hi)
        k++;
    return k;
}

/* Heights of one ground in two units share such a part of their variance. */
static const double LEAST_COMMON = 0.9, ROUNDING = 1e-9; /* of sums of squares */

/* Slope of the line of the DEM's heights over those of the reference; stays where they do not go together. */
static void find_height_ratio(SdmComparison *w)
{
    double n = 0.0, x = 0.0, y = 0.0, xx = 0.0, yy = 0.0, xy = 0.0;
    for (int64_t i = 0; i < w->at.count; i++) {
        const double r = (double)w->at.residual_m[i];
        if (isnan(r))
            continue;
        const double a = (double)(float)sdm_compare_ground(w, i, NULL), b = a + r;
        n += 1.0, x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
    }
    const double vx = xx - x * x / n, vy = yy - y * y / n, both = xy - x * y / n;
    if (vy > ROUNDING * yy && both * both > LEAST_COMMON * vx * vy)
        w->out->height_ratio = both / vx;
}

/* Figures of all residuals, and for the page histogram and medians by aspect. */
static void overall_stats(SdmComparison *w, int view, SdmErrorStats *out)
{
    const SdmPlaces *const p = &w->at;
    memcpy(p->value, p->residual_m, (size_t)p->count * sizeof *p->value);
    sdm_error_stats(p->value, sdm_drop_nan_f32(p->value, p->count), p->spare, out);
    sdm_compare_page_add(w, view, out);
}

/* Statistics by slope and by height of the ground. */
static void stats_by_ground(SdmComparison *w)
{
    const SdmPlaces *const p = &w->at;
    SdmCompareResult *const out = w->out;
    int64_t n = 0;
    for (int64_t i = 0; i < p->count; i++)
        if (w->out->points ? !isnan(p->residual_m[i]) : w->g.mask[i] & SDM_COREG_COMMON)
            p->value[n++] = (float)sdm_compare_ground(w, i, NULL);
    const double low = sdm_quantile_f32(p->value, n, 0.01), high = sdm_quantile_f32(p->value, n, 0.99),
                 step = sdm_round_up(fmax((high - low) / (SDM_COMPARE_BANDS - 2), 1.0)),
                 first = floor(low / step) * step;
    for (int k = 0; k < SDM_COMPARE_SLOPES; k++) {
        out->slope[k].lo = 10.0 * k;
        out->slope[k].hi = k + 1 < SDM_COMPARE_SLOPES ? 10.0 * (k + 1) : 90.0;
    }
    for (int k = 0; k < SDM_COMPARE_BANDS; k++) {
        out->band[k].lo = k ? first + k * step : -INFINITY;
        out->band[k].hi = k + 1 < SDM_COMPARE_BANDS ? first + (k + 1) * step : INFINITY;
    }
    sdm_compare_stats_by(w, slope_bin, SDM_COMPARE_SLOPES, NULL, out->slope);
    sdm_compare_stats_by(w, height_bin, SDM_COMPARE_BANDS, NULL, out->band);
}

/* ---- points ---- */

static SdmStatus places_open(SdmContext *ctx, size_t n, SdmPlaces *p)
{
    *p = (SdmPlaces){.count = 0};
    return SDM_ALLOC(ctx, "points", SDM_ARRAY(p->x_m, n), SDM_ARRAY(p->y_m, n), SDM_ARRAY(p->height_m, n),
                     SDM_ARRAY(p->residual_m, n), SDM_ARRAY(p->east, n), SDM_ARRAY(p->north, n),
                     SDM_ARRAY(p->value, n), SDM_ARRAY(p->spare, n), SDM_ARRAY(p->class, n),
                     SDM_ARRAY(p->work, SDM_SHIFT_FLOATS(n)));
}

static void places_close(SdmPlaces *p)
{
    SDM_FREE(&p->x_m, &p->y_m, &p->height_m, &p->residual_m, &p->east, &p->north, &p->value, &p->spare,
             &p->class, &p->work);
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
 * the area.  *filled: how many lie on a cell with a height. */
static SdmStatus choose_points(SdmComparison *w, int64_t *filled)
{
    SDM_OWNED Order *order = NULL;
    SdmPlaces *const p = &w->at;
    const SdmCoregGrid *const g = &w->g;
    const double *const t = w->grid.transform;
    const size_t given = (size_t)w->points.count;
    PASS(places_open(w->ctx, given, p));
    PASS(sdm_alloc_raw(w->ctx, &order, given, sizeof *order, "points"));
    for (size_t i = 0; i < given; i++)
        order[i] = (Order){w->points.y[i], (int64_t)i};
    qsort(order, given, sizeof *order, from_the_north);
    for (size_t k = 0; k < given; k++) {
        const int64_t i = order[k].number;
        const double col = (w->points.x[i] - t[0]) / t[1], row = (w->points.y[i] - t[3]) / t[5];
        if (!(col >= 0.0) || !(row >= 0.0) || !(col < (double)g->cols) || !(row < (double)g->rows))
            continue;
        const int64_t at = (int64_t)row * g->cols + (int64_t)col;
        if (!(g->mask[at] & SDM_COREG_STABLE))
            continue;
        p->x_m[p->count] = col * g->dx_m;
        p->y_m[p->count] = -row * g->dy_m;
        p->class[p->count] = w->class ? w->class[at] : 0;
        p->height_m[p->count++] = w->points.height_m[i];
        *filled += !isnan(g->dem_m[at]);
    }
    return SDM_OK;
}

/* SdmShiftTask.measure of a DEM and points. */
static void measure_points(const void *surfaces, const double move_m[2], size_t first, int n,
                           float *difference_m, float *const slope[2])
{
    const SdmComparison *const w = surfaces;
    const SdmCoregGrid *const g = &w->g;
    for (int k = 0; k < n; k++) {
        const size_t i = first + (size_t)k;
        double per_cell[2] = {0.0, 0.0};
        const double col = (w->at.x_m[i] - move_m[0]) / g->dx_m - 0.5,
                     row = -(w->at.y_m[i] - move_m[1]) / g->dy_m - 0.5;
        difference_m[k] = (float)(sdm_coreg_height(g, col, row, per_cell) - w->at.height_m[i]);
        if (slope) {
            slope[0][k] = (float)(per_cell[0] / g->dx_m);
            slope[1][k] = (float)(-per_cell[1] / g->dy_m);
        }
    }
}

/* Residuals and slopes at the points, with the DEM moved. */
static void find_point_residuals(SdmComparison *w)
{
    SdmPlaces *const p = &w->at;
    const double *const move_m = w->out->move.move_m;
    float *const slope[2] = {p->east, p->north};
    measure_points(w, move_m, 0, (int)p->count, p->residual_m, slope);
    for (int64_t i = 0; i < p->count; i++)
        p->residual_m[i] = (float)((double)p->residual_m[i] + move_m[2]);
}

static void add_points_to_map(const SdmComparison *w, SdmMeanMap *map)
{
    const SdmPlaces *const p = &w->at;
    for (int64_t i = 0; w->opt->output && i < p->count; i++)
        sdm_mean_map_add(map, (int64_t)(p->x_m[i] / w->g.dx_m), (int64_t)(-p->y_m[i] / w->g.dy_m),
                         (double)p->residual_m[i]);
}

/* ---- shift and model ---- */

static SdmStatus find_shift_of_points(SdmComparison *w)
{
    SdmShift *const move = &w->out->move;
    const double cell_m = fmin(w->g.dx_m, w->g.dy_m);
    const SdmShiftTask task = {.measure = measure_points,
                               .surfaces = w,
                               .count = (size_t)w->at.count,
                               .cell_m = cell_m,
                               .correlated = w->at.count < MIN_POINTS ? INFINITY : 1.0,
                               .steepest = INFINITY,
                               .last_step_m = SAME_SHIFT_M,
                               .walls = cell_m < SDM_SHIFT_WALL_CELL_M,
                               .threads = w->g.threads,
                               .work = w->at.work};
    if (w->out->tilt.fitted) /* it was taken out of the heights */
        PASS(sdm_coreg_fit(w->ctx, &w->g, w->g.dem_m, 0, 0));
    PASS(sdm_shift_fit(w->ctx, &task, move));
    if (!w->tilts)
        PASS(sdm_shift_judge(w->ctx, &task, move));
    find_point_residuals(w);
    return SDM_OK;
}

static SdmStatus find_shift(SdmComparison *w)
{
    const SdmInputRaster *const reference = &w->in[SDM_IN_REFERENCE];
    float *const own_m = w->g.residual_m;
    if (w->out->points)
        return find_shift_of_points(w);
    if (w->g.own_cells) {
        PASS(sdm_input_raster_load(w->ctx, reference, &w->own, SDM_KERNEL_NEAREST, own_m));
        PASS(sdm_input_raster_match_datum(w->ctx, &w->own, reference, NULL, own_m, w->out->note));
    }
    return sdm_coreg_shift(w->ctx, &w->g, !w->tilts, &w->out->move, &w->out->aligned);
}

/* Metres from the middle of the grid to a place of the DEM, east and north; cells of a large grid serve in
 * every `step`-th row and column alone. */
static bool find_place(const SdmComparison *w, int64_t step, int64_t place, double at_m[2])
{
    const SdmCoregGrid *const g = &w->g;
    const double *const move_m = w->out->move.move_m;
    const int64_t i = place % g->cols, j = place / g->cols;
    if (w->out->points) {
        at_m[0] = w->at.x_m[place] - move_m[0] - 0.5 * (double)g->cols * g->dx_m;
        at_m[1] = w->at.y_m[place] - move_m[1] + 0.5 * (double)g->rows * g->dy_m;
    } else {
        at_m[0] = ((double)i - 0.5 * (double)(g->cols - 1)) * g->dx_m;
        at_m[1] = (0.5 * (double)(g->rows - 1) - (double)j) * g->dy_m;
    }
    return !isnan(w->at.residual_m[place]) && (w->out->points || (i % step == 0 && j % step == 0));
}

/* Fit the model to the residuals, the plane that was taken out before left in. */
static SdmStatus fit_tilt(SdmComparison *w)
{
    SDM_OWNED float *room = NULL;
    const SdmCoregGrid *const g = &w->g;
    const SdmTilt before = w->out->tilt;
    const int64_t step = (int64_t)fmax(ceil(sqrt((double)(g->cols * g->rows) / MAX_SAMPLES)), 1.0);
    const size_t most = (size_t)(w->out->points ? w->at.count : (g->cols / step + 1) * (g->rows / step + 1));
    double at_m[2];
    PASS(sdm_alloc_raw(w->ctx, &room, most, 3 * sizeof *room, "residuals"));
    SdmTiltSamples s = {0, room, room + most, room + 2 * most};
    for (int64_t i = 0; i < w->at.count; i++) {
        if (!find_place(w, step, i, at_m))
            continue;
        s.east_m[s.count] = (float)at_m[0];
        s.north_m[s.count] = (float)at_m[1];
        s.error_m[s.count++] = (float)((double)w->at.residual_m[i] + sdm_tilt_at(&before, at_m[0], at_m[1]));
    }
    return sdm_tilt_fit(w->ctx, &s, &w->out->tilt);
}

/* Replace a plane that was taken out of the DEM's heights by another. */
static void take_out(SdmComparison *w, const SdmTilt *before, const SdmTilt *now)
{
    SdmCoregGrid *const g = &w->g;
#pragma omp parallel for num_threads(g->threads) schedule(static)
    for (int64_t j = 0; j < g->rows; j++) {
        const double north_m = (0.5 * (double)(g->rows - 1) - (double)j) * g->dy_m;
        for (int64_t i = 0; i < g->cols; i++) {
            float *const h = &g->dem_m[j * g->cols + i];
            const double east_m = ((double)i - 0.5 * (double)(g->cols - 1)) * g->dx_m;
            if (!isnan(*h))
                *h = (float)((double)*h + sdm_tilt_at(before, east_m, north_m) -
                             sdm_tilt_at(now, east_m, north_m));
        }
    }
}

/* The shift and, with --model tilt, the plane of the residuals, in turn until the shift stays. */
static SdmStatus align(SdmComparison *w)
{
    const double *const move_m = w->out->move.move_m, *const t = w->grid.transform;
    w->out->centre_m[0] = t[0] + 0.5 * (double)w->grid.cols * t[1];
    w->out->centre_m[1] = t[3] + 0.5 * (double)w->grid.rows * t[5];
    w->tilts = w->opt->model && strcmp(w->opt->model, "tilt") == 0;
    PASS(find_shift(w));
    for (int round = 0; round < MODEL_ROUNDS && w->tilts; round++) {
        const double before_m[3] = {move_m[0], move_m[1], move_m[2]};
        const SdmTilt before = w->out->tilt;
        PASS(fit_tilt(w));
        take_out(w, &before, &w->out->tilt);
        PASS(find_shift(w));
        if (hypot(move_m[0] - before_m[0], move_m[1] - before_m[1]) < SAME_SHIFT_M &&
            fabs(move_m[2] - before_m[2]) < SAME_SHIFT_M)
            break;
    }
    return SDM_OK;
}

/* ---- two rasters ---- */

static double share(int64_t part, int64_t all)
{
    return all > 0 ? (double)part / (double)all : 0.0;
}

static SdmCompareClass class_share(const SdmCoregGrid *g, int class)
{
    int64_t cells = 0, filled = 0, over10 = 0, over30 = 0;
    for (int64_t i = 0; i < g->rows * g->cols; i++) {
        if ((g->mask[i] & SDM_CELL_CLASS) != class << SDM_CELL_CLASS_SHIFT)
            continue;
        cells++;
        filled += !isnan(g->dem_m[i]);
        const double error_m =
            fabs((double)g->dem_m[i] - (double)g->reference_m[i]); /* NaN exceeds nothing */
        over10 += error_m > 10.0;
        over30 += error_m > 30.0;
    }
    return (SdmCompareClass){.cells = cells,
                             .filled = share(filled, cells),
                             .over10 = share(over10, filled),
                             .over30 = share(over30, filled)};
}

/* Statistics before co-registration: land, water, cloud. */
static void raw_stats(SdmComparison *w)
{
    SdmCoregGrid *const g = &w->g;
    for (int64_t i = 0; i < w->at.count; i++) {
        const float residual_m = g->dem_m[i] - g->reference_m[i];
        if (w->opt->output) /* the map has all cells */
            sdm_mean_map_add(&w->page.view[0].map, i % g->cols, i / g->cols, (double)residual_m);
        g->residual_m[i] = g->mask[i] & SDM_COREG_COMMON ? residual_m : NAN;
    }
    find_height_ratio(w);
    overall_stats(w, 0, &w->out->raw);
    w->out->water = class_share(g, 2);
    w->out->cloud = class_share(g, 3);
}

/* Extend a row or a column, from its first height to one after its last. */
static void extend(int64_t ends[2], int64_t at)
{
    ends[0] = ends[1] ? ends[0] : at;
    ends[1] = at + 1;
}

/* The share of the reference's cells that have a height of the DEM, within the DEM's footprint: the cells
 * that have heights on both sides in their row, and in their column. */
static SdmStatus measure_footprint(SdmComparison *w, int64_t common)
{
    const SdmCoregGrid *const g = &w->g;
    SDM_OWNED int64_t *row = NULL, *col = NULL;
    int64_t count = 0;
    PASS(SDM_ALLOC(w->ctx, "the footprint", SDM_ARRAY(row, 2 * (size_t)g->rows),
                   SDM_ARRAY(col, 2 * (size_t)g->cols)));
    for (int64_t j = 0; j < g->rows; j++)
        for (int64_t i = 0; i < g->cols; i++)
            if (!isnan(g->dem_m[j * g->cols + i])) {
                extend(row + 2 * j, i);
                extend(col + 2 * i, j);
            }
    for (int64_t j = 0; j < g->rows; j++)
        for (int64_t i = row[2 * j]; i < row[2 * j + 1]; i++)
            count +=
                (g->mask[j * g->cols + i] & SDM_COREG_REFERENCE) && j >= col[2 * i] && j < col[2 * i + 1];
    w->out->footprint_coverage = share(common, count);
    return SDM_OK;
}

static SdmStatus compare_rasters(SdmComparison *w)
{
    SdmCoregGrid *const g = &w->g;
    const SdmInputRaster *const dem = &w->in[SDM_IN_DEM], *const reference = &w->in[SDM_IN_REFERENCE];
    const bool whole = w->opt->aligned || w->opt->difference;
    PASS(sdm_raster_grid_common(w->ctx, dem, reference, whole, &w->grid));
    PASS(open_grid(w));
    const bool same_size = sdm_raster_grid_of_reference(reference, &w->grid, &w->own, g->phase),
               same_cells = same_size && !(hypot(g->phase[0], g->phase[1]) > 0.0);
    PASS(sdm_input_raster_load(w->ctx, reference, &w->grid, same_cells ? SDM_KERNEL_NEAREST : SDM_KERNEL_MEAN,
                               g->reference_m));
    g->own_cells = same_size && !same_cells;
    PASS(sdm_check_stop(w->ctx));
    PASS(sdm_input_raster_match_datum(w->ctx, &w->grid, reference, NULL, g->reference_m, w->out->note));
    PASS(load_cells(w));
    const int64_t common = sdm_coreg_mark(g, &w->out->cells);
    w->out->coverage = share(common, w->out->cells);
    if (common == 0) {
        const double far_m = dem->reader ? dem->reader->absurd_m : 0.0;
        char why[80] = "";
        if (far_m != 0.0)
            snprintf(why, sizeof why, "; values such as %g m are no heights: give metres", far_m);
        return sdm_fail(w->ctx, SDM_ERR_DATA,
                        "no cell in common: DEM %s has no height where reference %s %s%s", dem->path,
                        reference->path, w->out->cells ? "has one that counts" : "counts", why);
    }
    PASS(measure_footprint(w, common));
    raw_stats(w);
    PASS(align(w));
    find_height_ratio(w);
    stats_by_ground(w);
    sdm_compare_page_add(w, 1, &w->out->aligned);
    const double longest_m = fmax((double)g->cols * g->dx_m, (double)g->rows * g->dy_m);
    for (int k = 0; k < SDM_LAGS; k++)
        w->out->lag[k] = sdm_error_lag_grid(g, sdm_lags_m[k]);
    for (int k = 0; w->opt->output && k < SDM_PLOTTED_LAGS && 2.0 * sdm_plotted_lag_m(k) <= longest_m; k++)
        w->page.lag[k] = sdm_error_lag_grid(g, sdm_plotted_lag_m(k));
    return SDM_OK;
}

/* ---- a DEM and points ---- */

/* One sentence for points that are not where the DEM is. */
static SdmStatus fail_outside(const SdmComparison *w)
{
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

static SdmStatus find_point_lags(SdmComparison *w)
{
    SdmPlaces *const p = &w->at;
    int64_t n = 0;
    for (int64_t i = 0; i < p->count; i++) /* the points that have a residual, in front */
        if (!isnan(p->residual_m[i])) {
            p->x_m[n] = p->x_m[i];
            p->y_m[n] = p->y_m[i];
            p->residual_m[n++] = p->residual_m[i];
        }
    for (int k = 0; k < SDM_LAGS; k++)
        PASS(sdm_error_lag_points(w->ctx, p->residual_m, p->x_m, p->y_m, n, sdm_lags_m[k], &w->out->lag[k]));
    for (int k = 0; w->opt->output && k < SDM_PLOTTED_LAGS; k++)
        PASS(sdm_error_lag_points(w->ctx, p->residual_m, p->x_m, p->y_m, n, sdm_plotted_lag_m(k),
                                  &w->page.lag[k]));
    return SDM_OK;
}

static SdmStatus compare_points(SdmComparison *w)
{
    const SdmInputRaster *const dem = &w->in[SDM_IN_DEM], *const reference = &w->in[SDM_IN_REFERENCE];
    int64_t filled = 0;
    if (w->opt->difference)
        return sdm_fail(w->ctx, SDM_ERR_USAGE,
                        "--difference: needs a raster as reference, and %s holds points", reference->path);
    snprintf(w->out->source, sizeof w->out->source, "%s", w->points.source);
    PASS(sdm_raster_grid_own(w->ctx, dem, &w->grid));
    PASS(sdm_input_raster_match_datum(w->ctx, &w->grid, reference, &w->points, NULL, w->out->note));
    PASS(open_grid(w));
    PASS(load_cells(w));
    PASS(choose_points(w, &filled));
    if (w->at.count == 0)
        return fail_outside(w);
    PASS(sdm_coreg_fit(w->ctx, &w->g, w->g.dem_m, 0, 0));
    find_point_residuals(w);
    add_points_to_map(w, &w->page.view[0].map);
    find_height_ratio(w);
    overall_stats(w, 0, &w->out->raw);
    w->out->cells = w->at.count;
    w->out->coverage = share(filled, w->at.count);
    if (w->out->raw.count == 0)
        return sdm_fail(w->ctx, SDM_ERR_DATA,
                        "DEM %s has no heights around any of the %lld points of reference %s", dem->path,
                        (long long)w->at.count, reference->path);
    PASS(align(w));
    add_points_to_map(w, &w->page.view[1].map);
    find_height_ratio(w);
    overall_stats(w, 1, &w->out->aligned);
    stats_by_ground(w);
    if (w->class)
        sdm_compare_stats_by(w, sdm_compare_class_bin, SDM_COMPARE_CLASSES, NULL, w->out->class);
    return find_point_lags(w);
}

/* ---- files ---- */

static bool same_file(const char *a, const char *b)
{
    return a && b && (strcmp(a, b) == 0 || sdm_system_is_same(a, b));
}

/* Do two names denote one file, though it may not exist yet? */
static bool same_output(const char *a, const char *b)
{
    char folder_a[SDM_PATH_SIZE], folder_b[SDM_PATH_SIZE];
    if (!a || !b || same_file(a, b))
        return a && b;
    sdm_file_folder(a, folder_a);
    sdm_file_folder(b, folder_b);
    return strcmp(sdm_path_base(a), sdm_path_base(b)) == 0 && same_file(folder_a, folder_b);
}

/* Can a file be made, before any work?  It is none of the inputs, its folder can be written to, and it is not
 * there, or to be overwritten. */
static SdmStatus check_output(SdmContext *ctx, const char *option, const char *path, bool overwrite,
                              const char *const input[SDM_INPUTS])
{
    for (int k = 0; k < SDM_INPUTS; k++)
        if (same_file(path, input[k]))
            return sdm_fail(ctx, SDM_ERR_USAGE, "%s %s would overwrite the input %s; give another name",
                            option, path, input[k]);
    PASS(sdm_file_check_output(ctx, option, path));
    if (overwrite || access(path, F_OK) != 0)
        return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_USAGE, "%s %s is there already; give another name, or --overwrite", option,
                    path);
}

static SdmStatus check_outputs(SdmContext *ctx, const SdmCompareOptions *opt,
                               const char *const input[SDM_INPUTS])
{
    static const char *const option[2] = {"--aligned", "--difference"};
    const char *const raster[2] = {opt->aligned, opt->difference};
    char name[SDM_PATH_SIZE];
    if (opt->output) {
        PASS(sdm_compare_page_name(ctx, opt->output, name));
        PASS(check_output(ctx, "-o", name, opt->overwrite, input));
    }
    for (int k = 0; k < 2; k++) {
        if (!raster[k])
            continue;
        if (!sdm_path_ends_in(raster[k], ".tif"))
            return sdm_fail(ctx, SDM_ERR_USAGE, "%s %s: expected a name that ends in .tif", option[k],
                            raster[k]);
        PASS(check_output(ctx, option[k], raster[k], opt->overwrite, input));
        PASS(sdm_compare_style_name(ctx, raster[k], name));
        PASS(check_output(ctx, option[k], name, opt->overwrite, input));
    }
    if (same_output(opt->aligned, opt->difference))
        return sdm_fail(ctx, SDM_ERR_USAGE, "--aligned and --difference both name %s; give two names",
                        opt->aligned);
    return SDM_OK;
}

static SdmStatus open_inputs(SdmComparison *w, const char *const path[SDM_INPUTS])
{
    SdmContext *const ctx = w->ctx;
    const SdmCompareOptions *const opt = w->opt;
    static const char *const role[SDM_INPUTS] = {"DEM",    "reference", "--class",  "--within",
                                                 "--area", "--mask",    "--exclude"};
    bool outlines = false;
    w->out->points = sdm_input_is_points(path[SDM_IN_REFERENCE]);
    for (int k = 0; k < SDM_INPUTS; k++) {
        if (k == SDM_IN_REFERENCE && w->out->points)
            PASS(sdm_input_points_open(ctx, path[k], &w->in[SDM_IN_DEM], &w->in[k], &w->points));
        else if (path[k] && k < SDM_IN_CLASS)
            PASS(sdm_input_raster_open(ctx, path[k], role[k], &w->in[k]));
        else if (path[k])
            PASS(sdm_input_areas_open(ctx,
                                      &(SdmOutlineSource){.option = role[k],
                                                          .path = path[k],
                                                          .layer = k == SDM_IN_AREA ? NULL : opt->layer,
                                                          .where = k == SDM_IN_AREA ? NULL : opt->where,
                                                          .is_single = k == SDM_IN_AREA,
                                                          .field = k == SDM_IN_CLASS ? "class" : NULL,
                                                          .may_miss = k == SDM_IN_EXCLUDE},
                                      &w->in[k]));
        if (k == SDM_IN_DEM)
            PASS(sdm_input_raster_check_dem(ctx, &w->in[k]));
        outlines = outlines || (k != SDM_IN_AREA && w->in[k].outlines.file);
    }
    if ((opt->where || opt->layer) && !outlines)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "%s: needs polygons given by --mask, --exclude, --class or --within, found none",
                        opt->where ? "--where" : "--layer");
    PASS(sdm_input_raster_set_datum(ctx, &w->in[SDM_IN_DEM], "--dem-vertical", opt->dem_vertical));
    return sdm_input_raster_set_datum(ctx, &w->in[SDM_IN_REFERENCE], "--reference-vertical",
                                      opt->reference_vertical);
}

SdmStatus sdm_compare_dems(SdmContext *ctx, const char *dem, const char *reference,
                           const SdmCompareOptions *opt, SdmCompareResult *out)
{
    SdmStatus st = SDM_OK;
    SdmComparison w = {.ctx = ctx, .opt = opt, .out = out};
    const char *const path[SDM_INPUTS] = {
        dem, reference, opt->class_raster, opt->within, sdm_options(ctx)->area, opt->mask, opt->exclude};
    *out = (SdmCompareResult){0};
    for (int k = 0; k < SDM_COMPARE_CLASSES; k++)
        out->class[k].lo = out->class[k].hi = k;
    sdm_gdal_register();
    SDM_QUIET;
    TRY(check_outputs(ctx, opt, path));
    TRY(open_inputs(&w, path));
    TRY(out->points ? compare_points(&w) : compare_rasters(&w));
    TRY(sdm_compare_write(&w));
    if (opt->output)
        TRY(sdm_compare_page_write(&w));
done:
    for (int k = 0; k < 2; k++)
        sdm_mean_map_close(&w.page.view[k].map);
    if (w.at.residual_m != w.g.residual_m)
        places_close(&w.at);
    sdm_free(&w.class);
    sdm_coreg_close(&w.g);
    sdm_input_points_close(&w.points);
    for (int k = 0; k < SDM_INPUTS; k++)
        sdm_input_raster_close(&w.in[k]);
    return st;
}
