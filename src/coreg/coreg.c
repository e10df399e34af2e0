/* Co-registration of two grids: the reference becomes a spline, and the move is found at cells chosen evenly.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/coreg.h"
#include "core/stats.h"
#include "coreg/void_fill.h"

#include <math.h>
#include <string.h>

enum {
    MAX_PLACES = 250000,  /* cells that find the move */
    WIDE = 2,             /* cells on each side of a SURE one, at most */
    FEW_SURE = 1000,      /* cells */
    LOOSE_SAMPLES = 50000 /* cells */
};
static const double LAST_STEP_CELLS = 0.002, LAST_STEP_M = 0.005; /* a shorter step ends the rounds */
static const double LEAST_SURE = 0.02; /* of the cells, before less support serves, too */
static const double LITTLE = 0.25;     /* of the NMAD of the residuals */
static const double WHOLE_CELL = 1e-3; /* a position so near to a cell needs that one alone */

SdmStatus sdm_coreg_open(SdmContext *ctx, SdmCoregGrid *g)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)(g->cols * g->rows);
    if (n > UINT32_MAX)
        return sdm_fail(ctx, SDM_ERR_MEMORY,
                        "DEM and reference have %zu cells in common, at most %u are compared at once", n,
                        UINT32_MAX);
    TRY(sdm_alloc(ctx, &g->dem_m, n, sizeof *g->dem_m, "DEM heights"));
    TRY(sdm_alloc(ctx, &g->reference_m, n, sizeof *g->reference_m, "reference heights"));
    TRY(sdm_alloc(ctx, &g->residual_m, n, sizeof *g->residual_m, "residuals"));
    TRY(sdm_alloc(ctx, &g->scratch, n, sizeof *g->scratch, "residuals"));
    TRY(sdm_alloc(ctx, &g->mask, n, sizeof *g->mask, "mask"));
    TRY(sdm_spline_open(ctx, g->cols, g->rows, g->threads, &g->spline));
done:
    return st;
}

void sdm_coreg_close(SdmCoregGrid *g)
{
    sdm_spline_close(&g->spline);
    sdm_free(&g->mask);
    sdm_free(&g->scratch);
    sdm_free(&g->residual_m);
    sdm_free(&g->reference_m);
    sdm_free(&g->dem_m);
}

int64_t sdm_coreg_mark(SdmCoregGrid *g, int64_t *reference)
{
    int64_t with_reference = 0, common = 0;
    for (int64_t i = 0; i < g->cols * g->rows; i++) {
        const bool r = (g->mask[i] & SDM_COREG_STABLE) && !isnan(g->reference_m[i]);
        const bool c = r && !isnan(g->dem_m[i]);
        g->mask[i] = (uint8_t)((g->mask[i] & ~(unsigned)(SDM_COREG_REFERENCE | SDM_COREG_COMMON)) |
                               (r ? SDM_COREG_REFERENCE : 0U) | (c ? SDM_COREG_COMMON : 0U));
        with_reference += r;
        common += c;
    }
    if (reference)
        *reference = with_reference;
    return common;
}

void sdm_coreg_stats(SdmCoregGrid *g, const float *values, unsigned bits, unsigned wanted, SdmErrorStats *out)
{
    int64_t n = 0;
    for (int64_t i = 0; i < g->rows * g->cols; i++)
        if ((g->mask[i] & bits) == wanted && !isnan(values[i]))
            g->scratch[n++] = values[i];
    sdm_error_stats(g->scratch, n, g->spline.coefficient, out);
}

/* ---- the surface ---- */

/* Number of cells to the nearest void of its row, for each cell of a row; WIDE + 1 at most. */
static void find_row_reach(const SdmCoregGrid *g, int64_t j, const float *height_m, unsigned bits,
                           uint8_t *reach)
{
    const int64_t w = g->cols;
    int far = 0;
    for (int64_t i = 0; i < w; i++) {
        const bool known = (g->mask[j * w + i] & bits) == bits && !isnan(height_m[j * w + i]);
        far = !known ? 0 : far <= WIDE ? far + 1 : far;
        reach[i] = (uint8_t)far;
    }
    far = 0;
    for (int64_t i = w - 1; i >= 0; i--) {
        far = reach[i] == 0 ? 0 : far <= WIDE ? far + 1 : far;
        reach[i] = (uint8_t)(reach[i] < far ? reach[i] : far);
    }
}

/* The same to the nearest void in any direction, rows and columns alike; voids lie all around the grid. */
static int reach_of(const SdmCoregGrid *g, const uint8_t *row_reach, int64_t col, int64_t row)
{
    int far = row_reach[row * g->cols + col];
    for (int k = 1; k < far; k++)
        for (int side = -k; side <= k; side += 2 * k) {
            const int64_t j = row + side;
            const int there = j < 0 || j >= g->rows ? 0 : row_reach[j * g->cols + col];
            const int by_it = there > k ? there : k;
            far = by_it < far ? by_it : far;
        }
    return far;
}

/* Set the bit SURE; see sdm_coreg_fit(). */
static void mark_sure(SdmCoregGrid *g, const float *height_m, unsigned bits, unsigned counted)
{
    int64_t with[WIDE + 2] = {0};
    uint8_t *const row_reach = (uint8_t *)(void *)g->scratch, *const reach = row_reach + g->cols * g->rows;
#pragma omp parallel for num_threads(g->threads) schedule(static)
    for (int64_t j = 0; j < g->rows; j++)
        find_row_reach(g, j, height_m, bits, row_reach + j * g->cols);
#pragma omp parallel for num_threads(g->threads) schedule(static)
    for (int64_t j = 0; j < g->rows; j++)
        for (int64_t i = 0; i < g->cols; i++)
            reach[j * g->cols + i] = (uint8_t)reach_of(g, row_reach, i, j);
    int64_t known = 0;
    for (int64_t i = 0; i + g->cols + 1 < g->cols * g->rows; i++)
        if ((g->mask[i] & counted) == counted && reach[i] > 0) {
            const uint8_t *const row = reach + i, *const below = row + g->cols; /* between cells: all four */
            const uint8_t over = row[0] < row[1] ? row[0] : row[1];
            const uint8_t under = below[0] < below[1] ? below[0] : below[1];
            with[over < under ? over : under]++;
            known++;
        }
    int needed = WIDE + 1;
    g->few = known < FEW_SURE;
    for (int64_t so_far = with[needed];
         needed > 1 && (so_far < FEW_SURE || (double)so_far < LEAST_SURE * (double)known);
         so_far += with[needed])
        needed--;
    for (int64_t i = 0; i < g->cols * g->rows; i++)
        g->mask[i] =
            (uint8_t)((g->mask[i] & ~(unsigned)(SDM_COREG_KNOWN | SDM_COREG_SURE)) |
                      (reach[i] > 0 ? SDM_COREG_KNOWN : 0U) | (reach[i] >= needed ? SDM_COREG_SURE : 0U));
}

SdmStatus sdm_coreg_fit(SdmContext *ctx, SdmCoregGrid *g, const float *height_m, unsigned bits,
                        unsigned counted)
{
    SdmStatus st = SDM_OK;
    int64_t n = 0;
    for (int64_t i = 0; i < g->cols * g->rows; i++)
        if ((g->mask[i] & bits) == bits && !isnan(height_m[i]))
            g->scratch[n++] = height_m[i];
    g->base_m = sdm_median_f32(g->scratch, n);
    mark_sure(g, height_m, bits, counted);
#pragma omp parallel for num_threads(g->threads) schedule(static)
    for (int64_t i = 0; i < g->cols * g->rows; i++)
        g->scratch[i] = (g->mask[i] & bits) == bits ? (float)((double)height_m[i] - g->base_m) : NAN;
    TRY(sdm_fill_voids(ctx, g->scratch, g->cols, g->rows, g->residual_m));
    TRY(sdm_spline_fit(ctx, &g->spline, g->scratch));
done:
    return st;
}

/* Have the cells around a position, whose weights are not 0, all the bit? */
static bool all_have(const SdmCoregGrid *g, unsigned bit, double col, double row)
{
    const double x = floor(col + WHOLE_CELL), y = floor(row + WHOLE_CELL);
    const int64_t more_i = col - x > WHOLE_CELL, more_j = row - y > WHOLE_CELL;
    if (!(x >= 0.0 && y >= 0.0 && x + (double)more_i < (double)g->cols &&
          y + (double)more_j < (double)g->rows))
        return false;
    const uint8_t *const at = g->mask + (int64_t)y * g->cols + (int64_t)x;
    const uint8_t *const below = at + more_j * g->cols;
    return at[0] & at[more_i] & below[0] & below[more_i] & bit;
}

double sdm_coreg_height(const SdmCoregGrid *g, double col, double row, double slope[2])
{
    /* a whole cell needs the neighbours that places between cells need; otherwise moves by whole cells would
     * be compared at more places */
    const bool sure = g->few ? all_have(g, SDM_COREG_SURE, col, row)
                             : all_have(g, SDM_COREG_SURE, floor(col) + 0.5, floor(row) + 0.5);
    return sure ? g->base_m + sdm_spline_at(&g->spline, col, row, slope) : (double)NAN;
}

/* ---- the move ---- */

/* Cells of the DEM, evenly chosen. */
typedef struct Places {
    const SdmCoregGrid *g;
    uint32_t *cell; /* count */
    size_t count;
    int64_t every; /* of the cells is one */
    float *work;   /* SDM_SHIFT_FLOATS: the grid's scratch, where that is large enough */
} Places;

static SdmStatus choose_places(SdmContext *ctx, SdmCoregGrid *g, Places *out)
{
    SdmStatus st = SDM_OK;
    int64_t known = 0, met = 0;
    for (int64_t i = 0; i < g->cols * g->rows; i++)
        known += !isnan(g->dem_m[i]);
    const int64_t every = known / MAX_PLACES + 1, room = known / every + 1;
    out->every = every;
    TRY(sdm_alloc_raw(ctx, &out->cell, (size_t)room, sizeof *out->cell, "places of the co-registration"));
    out->work = g->scratch;
    if (g->cols * g->rows < (int64_t)SDM_SHIFT_FLOATS(room))
        TRY(sdm_alloc_raw(ctx, &out->work, SDM_SHIFT_FLOATS((size_t)room), sizeof *out->work,
                          "places of the co-registration"));
    for (int64_t i = 0; i < g->cols * g->rows && (int64_t)out->count < room; i++) {
        if (isnan(g->dem_m[i]))
            continue;
        /* one of each `every` cells, not always the same, since columns may have stripes */
        const uint64_t scattered = (uint64_t)(met / every) * 0x9E3779B97F4A7C15u >> 33;
        if (met++ % every == (int64_t)(scattered % (uint64_t)every))
            out->cell[out->count++] = (uint32_t)i;
    }
done:
    return st;
}

static void places_close(Places *p)
{
    sdm_free(&p->cell);
    if (p->work != p->g->scratch)
        sdm_free(&p->work);
}

/* SdmShiftTask.measure of two grids: the moved DEM lies over the reference. */
static void measure_places(const void *surfaces, const double move_m[2], size_t first, int n,
                           float *difference_m, float *const slope[2])
{
    const Places *const p = surfaces;
    const SdmCoregGrid *const g = p->g;
    const double dcol = move_m[0] / g->dx_m - g->phase[0], drow = -move_m[1] / g->dy_m - g->phase[1];
    for (int k = 0; k < n; k++) {
        const int64_t at = p->cell[first + (size_t)k];
        double per_cell[2] = {0.0, 0.0};
        const double h =
            sdm_coreg_height(g, (double)(at % g->cols) + dcol, (double)(at / g->cols) + drow, per_cell);
        difference_m[k] = (float)((double)g->dem_m[at] - h);
        if (slope) {
            slope[0][k] = (float)(per_cell[0] / g->dx_m);
            slope[1][k] = (float)(-per_cell[1] / g->dy_m);
        }
    }
}

/* Difference of the spline and the bilinear surface at a position: the most that filled voids can change
 * there. */
static double bend_at(const SdmCoregGrid *g, double col, double row)
{
    const double i = floor(col), j = floor(row), x = col - i, y = row - j;
    double slope[2], around[4];
    for (int k = 0; k < 4; k++)
        around[k] = sdm_spline_at(&g->spline, i + (k & 1), j + (k >> 1), slope);
    const double above = around[0] + x * (around[1] - around[0]),
                 below = around[2] + x * (around[3] - around[2]);
    return sdm_spline_at(&g->spline, col, row, slope) - above - y * (below - above);
}

/* Has a cell a residual, though its place in the reference is not SURE? */
static bool is_loose(const SdmCoregGrid *g, int64_t i, double dcol, double drow)
{
    return !isnan(g->residual_m[i]) &&
           !all_have(g, SDM_COREG_SURE, (double)(i % g->cols) + dcol, (double)(i / g->cols) + drow);
}

/* Is the spline close to the bilinear surface at loose cells, compared with the residuals of the others? */
static bool bends_little(SdmCoregGrid *g, int64_t loose, double dcol, double drow)
{
    const int64_t every = loose / LOOSE_SAMPLES + 1;
    int64_t n = 0, met = 0;
    for (int64_t i = 0; i < g->rows * g->cols; i++)
        if (is_loose(g, i, dcol, drow) && met++ % every == 0)
            g->scratch[n++] =
                (float)fabs(bend_at(g, (double)(i % g->cols) + dcol, (double)(i / g->cols) + drow));
    const double bend_m = 1.4826 * sdm_median_f32(g->scratch, n);
    n = 0;
    for (int64_t i = 0; i < g->rows * g->cols; i++)
        if (!isnan(g->residual_m[i]) && !is_loose(g, i, dcol, drow))
            g->scratch[n++] = g->residual_m[i];
    return bend_m < LITTLE * sdm_nmad_f32(g->scratch, n, NULL);
}

/* Loose cells take part where they are the majority (without them the figures would describe other ground)
 * and the voids around them change their heights little. */
static void judge_loose(SdmCoregGrid *g, double dcol, double drow)
{
    int64_t known = 0, loose = 0;
#pragma omp parallel for num_threads(g->threads) schedule(static) reduction(+ : known, loose)
    for (int64_t i = 0; i < g->rows * g->cols; i++) {
        known += !isnan(g->residual_m[i]);
        loose += is_loose(g, i, dcol, drow);
    }
    if (loose == 0 || (2 * loose > known && bends_little(g, loose, dcol, drow)))
        return;
#pragma omp parallel for num_threads(g->threads) schedule(static)
    for (int64_t i = 0; i < g->rows * g->cols; i++)
        if (is_loose(g, i, dcol, drow))
            g->residual_m[i] = NAN;
}

/* Moved DEM minus reference, in common cells where the reference is known around. */
static SdmStatus find_residuals(SdmContext *ctx, SdmCoregGrid *g, const double move_m[3])
{
    SdmStatus st = SDM_OK;
    const double dcol = move_m[0] / g->dx_m - g->phase[0], drow = -move_m[1] / g->dy_m - g->phase[1],
                 up_m = move_m[2] - g->base_m;
    TRY(sdm_spline_shift(ctx, &g->spline, dcol, drow, g->residual_m));
#pragma omp parallel for num_threads(g->threads) schedule(static)
    for (int64_t i = 0; i < g->rows * g->cols; i++)
        g->residual_m[i] =
            (g->mask[i] & SDM_COREG_COMMON) &&
                    all_have(g, SDM_COREG_KNOWN, (double)(i % g->cols) + dcol, (double)(i / g->cols) + drow)
                ? (float)((double)g->dem_m[i] - (double)g->residual_m[i] + up_m)
                : NAN;
    judge_loose(g, dcol, drow);
done:
    return st;
}

SdmStatus sdm_coreg_shift(SdmContext *ctx, SdmCoregGrid *g, bool judge, SdmCoregShift *out)
{
    SdmStatus st = SDM_OK;
    Places places = {.g = g};
    const double cell_m = fmin(g->dx_m, g->dy_m);
    *out = (SdmCoregShift){.move = {.undetermined = 0}};
    if (g->own_cells)
        TRY(sdm_coreg_fit(ctx, g, g->residual_m, SDM_COREG_STABLE, SDM_COREG_STABLE));
    else
        TRY(sdm_coreg_fit(ctx, g, g->reference_m, SDM_COREG_REFERENCE, SDM_COREG_COMMON));
    TRY(choose_places(ctx, g, &places));
    const SdmShiftTask task = {.measure = measure_places,
                               .surfaces = &places,
                               .count = places.count,
                               .cell_m = cell_m,
                               .correlated = fmax(SDM_SHIFT_CORRELATED / (double)places.every, 1.0),
                               .steepest = INFINITY,
                               .last_step_m = fmin(LAST_STEP_CELLS * cell_m, LAST_STEP_M),
                               .walls = cell_m < SDM_SHIFT_WALL_CELL_M,
                               .threads = g->threads,
                               .work = places.work};
    TRY(sdm_shift_fit(ctx, &task, &out->move));
    if (judge)
        TRY(sdm_shift_judge(ctx, &task, &out->move));
    sdm_log(ctx, SDM_LOG_VERBOSE, 0, "co-registration: east %.3f north %.3f up %.3f m", out->move.move_m[0],
            out->move.move_m[1], out->move.move_m[2]);
    TRY(find_residuals(ctx, g, out->move.move_m));
    sdm_coreg_stats(g, g->residual_m, SDM_COREG_COMMON, SDM_COREG_COMMON, &out->residual);
done:
    places_close(&places);
    return st;
}
