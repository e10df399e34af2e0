/* Co-registration of two grids: the reference becomes a spline, and the move is found at cells chosen evenly.
 */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/coreg.h"
#include "core/stats.h"

#include <math.h>
#include <string.h>

/* ---- voids ---- */

enum {
    FILL_ROUNDS = 12, /* cells that a hole is filled inwards: the spline's response falls by 0.27 a cell */
    LINEAR_ROUNDS =
        2 /* of these by extrapolation: cells at the rim may be resampled from half a cell inside */
};

/* A cell from its neighbours that have a height: the mean of those that face each other, else, for `linear`,
 * of what they and those behind them extrapolate to, else of all; NaN without any. */
static float surroundings(const float *h, int64_t cols, int64_t rows, int64_t at, bool linear)
{
    double sum[3] = {0.0, 0.0, 0.0};
    int n[3] = {0, 0, 0};
    for (int k = 0; k < 9; k++) {
        const int64_t dx = k % 3 - 1, dy = k / 3 - 1, x = at % cols + dx, y = at / cols + dy;
        if (x < 0 || y < 0 || x >= cols || y >= rows || isnan(h[y * cols + x]))
            continue;
        const double near = (double)h[y * cols + x];
        const int64_t fx = x - 2 * dx, fy = y - 2 * dy, bx = x + dx, by = y + dy;
        sum[0] += near;
        n[0]++;
        if (fx >= 0 && fy >= 0 && fx < cols && fy < rows && !isnan(h[fy * cols + fx])) {
            sum[2] += near;
            n[2]++;
        }
        if (bx < 0 || by < 0 || bx >= cols || by >= rows || isnan(h[by * cols + bx]))
            continue;
        sum[1] += 2.0 * near - (double)h[by * cols + bx];
        n[1]++;
    }
    const int kind = n[2] > 0 ? 2 : linear && n[1] > 0 ? 1 : 0;
    return n[0] ? (float)(sum[kind] / n[kind]) : NAN;
}

/* Cells without a height beside one, in order, at most `room` of them. */
static int64_t find_rim(const float *h, int64_t cols, int64_t rows, uint32_t *out, int64_t room)
{
    int64_t n = 0;
    for (int64_t at = 0; at < cols * rows; at++)
        if (isnan(h[at]) && !isnan(surroundings(h, cols, rows, at, false)) && n++ < room)
            out[n - 1] = (uint32_t)at;
    return n;
}

/* Cells without a height that are filled next. */
typedef struct Rim {
    uint32_t *cell;
    int64_t count, room;
} Rim;

/* Cells without a height beside those of the rim -> out, each once: mark[] of it becomes 0. */
static void next_rim(const float *h, int64_t cols, int64_t rows, const Rim *rim, float *mark, Rim *out)
{
    out->count = 0;
    for (int64_t k = 0; k < rim->count; k++) {
        const int64_t row = rim->cell[k] / cols, col = rim->cell[k] % cols;
        for (int64_t y = row - 1; y <= row + 1; y++)
            for (int64_t x = col - 1; x <= col + 1; x++) {
                const int64_t at = y * cols + x;
                if (y < 0 || x < 0 || y >= rows || x >= cols || !isnan(h[at]) || !isnan(mark[at]) ||
                    out->count == out->room)
                    continue;
                mark[at] = 0.0f;
                out->cell[out->count++] = (uint32_t)at;
            }
    }
}

/* Fill the NaN of h (rows x cols) from their rims inwards, some cells far, linearly at first; 0 beyond.
 * mark: rows x cols, overwritten.  At most UINT32_MAX cells. */
static SdmStatus fill_voids(SdmContext *ctx, float *h, int64_t cols, int64_t rows, float *mark)
{
    int64_t voids = 0;
    for (int64_t i = 0; i < cols * rows; i++)
        voids += isnan(h[i]);
    const int64_t found = find_rim(h, cols, rows, NULL, 0);
    const int64_t room = (12 * found < voids ? 12 * found : voids) + 1; /* about a single cell it grows so */
    SDM_OWNED uint32_t *cell = NULL, *spare = NULL;
    SDM_OWNED float *value = NULL;
    PASS(SDM_ALLOC(ctx, "voids of a DEM", SDM_ARRAY(cell, (size_t)room), SDM_ARRAY(spare, (size_t)room),
                   SDM_ARRAY(value, (size_t)room)));
    Rim rim = {.cell = cell, .count = found, .room = room}, next = {.cell = spare, .room = room};
    memcpy(mark, h, (size_t)(cols * rows) * sizeof *mark);
    find_rim(h, cols, rows, rim.cell, room);
    for (int64_t k = 0; k < rim.count; k++)
        mark[rim.cell[k]] = 0.0f;
    for (int round = 0; round < FILL_ROUNDS && rim.count > 0; round++) {
        for (int64_t k = 0; k < rim.count; k++)
            value[k] = surroundings(h, cols, rows, rim.cell[k], round < LINEAR_ROUNDS);
        for (int64_t k = 0; k < rim.count; k++)
            h[rim.cell[k]] = value[k];
        next_rim(h, cols, rows, &rim, mark, &next);
        const Rim last = rim;
        rim = next;
        next = last;
    }
    for (int64_t i = 0; i < cols * rows; i++)
        h[i] = isnan(h[i]) ? 0.0f : h[i];
    return SDM_OK;
}

/* ---- cubic B-spline of a grid ---- */

enum { LANES = 16 }; /* lines filtered together */

/* Prefilter LANES lines at once: a is n x LANES.  A line continues before its start with its first value, and
 * is mirrored after its end about the edge of its last cell. */
static void filter_lanes(double *a, int64_t n)
{
    const double pole = sqrt(3.0) - 2.0, gain = 6.0;
    for (int l = 0; l < LANES; l++)
        a[l] *= gain / (1.0 - pole);
    for (int64_t i = 1; i < n; i++)
        for (int l = 0; l < LANES; l++)
            a[i * LANES + l] = gain * a[i * LANES + l] + pole * a[(i - 1) * LANES + l];
    for (int l = 0; l < LANES; l++)
        a[(n - 1) * LANES + l] *= pole / (pole - 1.0);
    for (int64_t i = n - 2; i >= 0; i--)
        for (int l = 0; l < LANES; l++)
            a[i * LANES + l] = pole * (a[(i + 1) * LANES + l] - a[i * LANES + l]);
}

/* Filter `lines` lines of n values in place: values of a line are `along` apart, lines `across`. */
static void filter_lines(float *values, int64_t lines, int64_t n, int64_t across, int64_t along,
                         double *lanes, int threads)
{
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t first = 0; first < lines; first += LANES) {
        double *const a = lanes + (int64_t)sdm_thread() * n * LANES;
        const int count = lines - first < LANES ? (int)(lines - first) : LANES;
        float *const v = values + first * across;
        for (int64_t i = 0; i < n; i++)
            for (int l = 0; l < LANES; l++)
                a[i * LANES + l] = l < count ? (double)v[l * across + i * along] : 0.0;
        filter_lanes(a, n);
        for (int64_t i = 0; i < n; i++)
            for (int l = 0; l < count; l++)
                v[l * across + i * along] = (float)a[i * LANES + l];
    }
}

static int64_t clamp_index(int64_t i, int64_t n)
{
    return i < 0 ? 0 : i >= n ? n - 1 : i;
}

/* Coefficients of the spline through values (rows x cols, no NaN), continued outside by the values of the
 * edge. Same as scipy.ndimage.spline_filter of order 3 on the padded array; Unser 1999, eq. 20-21. */
static SdmStatus spline_fit(SdmContext *ctx, const SdmCoregGrid *s, const float *values)
{
    const int64_t w = s->cols + 2 * SDM_SPLINE_PAD, h = s->rows + 2 * SDM_SPLINE_PAD;
    SDM_OWNED double *lanes = NULL;
    PASS(sdm_alloc(ctx, &lanes, (size_t)(w > h ? w : h) * LANES * (size_t)s->threads, sizeof *lanes,
                   "spline lines"));
#pragma omp parallel for num_threads(s->threads) schedule(static)
    for (int64_t j = 0; j < h; j++) {
        const float *const from = values + clamp_index(j - SDM_SPLINE_PAD, s->rows) * s->cols;
        for (int64_t i = 0; i < w; i++)
            s->spline[j * w + i] = from[clamp_index(i - SDM_SPLINE_PAD, s->cols)];
    }
    filter_lines(s->spline, h, w, w, 1, lanes, s->threads);
    filter_lines(s->spline, w, h, 1, w, lanes, s->threads);
    return SDM_OK;
}

/* Weights of the four coefficients around a place at t, 0..1, between the middle ones. */
static void weights_at(double t, double out[4])
{
    const double u = 1.0 - t;
    out[0] = u * u * u / 6.0;
    out[1] = (4.0 - 6.0 * t * t + 3.0 * t * t * t) / 6.0;
    out[2] = (4.0 - 6.0 * u * u + 3.0 * u * u * u) / 6.0;
    out[3] = t * t * t / 6.0;
}

typedef struct Taps { /* four neighbours and their weights on one axis */
    int32_t at[4];
    float weight[4];
} Taps;

/* @param position  in the padded grid of n cells */
static Taps taps_at(double position, int64_t n)
{
    const double p = fmin(fmax(position, 0.0), (double)(n - 1)), cell = floor(p);
    double weight[4];
    Taps taps;
    weights_at(p - cell, weight);
    for (int k = 0; k < 4; k++) {
        taps.at[k] = (int32_t)clamp_index((int64_t)cell - 1 + k, n);
        taps.weight[k] = (float)weight[k];
    }
    return taps;
}

SdmStatus sdm_spline_shift(SdmContext *ctx, const SdmCoregGrid *s, double dcol, double drow, float *out)
{
    const int64_t w = s->cols + 2 * SDM_SPLINE_PAD, h = s->rows + 2 * SDM_SPLINE_PAD;
    SDM_OWNED Taps *columns = NULL;
    SDM_OWNED float *lines = NULL;
    PASS(sdm_alloc(ctx, &columns, (size_t)s->cols, sizeof *columns, "spline weights"));
    PASS(sdm_alloc(ctx, &lines, (size_t)w * (size_t)s->threads, sizeof *lines, "spline line"));
    for (int64_t i = 0; i < s->cols; i++)
        columns[i] = taps_at((double)(i + SDM_SPLINE_PAD) + dcol, w);
#pragma omp parallel for num_threads(s->threads) schedule(static)
    for (int64_t j = 0; j < s->rows; j++) {
        float *const line = lines + (int64_t)sdm_thread() * w;
        const Taps y = taps_at((double)(j + SDM_SPLINE_PAD) + drow, h);
        const float *const s0 = s->spline + y.at[0] * w, *const s1 = s->spline + y.at[1] * w;
        const float *const s2 = s->spline + y.at[2] * w, *const s3 = s->spline + y.at[3] * w;
        for (int64_t i = 0; i < w; i++)
            line[i] = y.weight[0] * s0[i] + y.weight[1] * s1[i] + y.weight[2] * s2[i] + y.weight[3] * s3[i];
        for (int64_t i = 0; i < s->cols; i++) {
            const Taps *const x = &columns[i];
            out[j * s->cols + i] = x->weight[0] * line[x->at[0]] + x->weight[1] * line[x->at[1]] +
                                   x->weight[2] * line[x->at[2]] + x->weight[3] * line[x->at[3]];
        }
    }
    return SDM_OK;
}

/* Value of the spline at a position of the grid, clamped to the padding, and its slope a cell along columns
 * and rows: central differences over one cell on each side, as numpy.gradient takes them.  (The derivative
 * itself answers to details that a smoother DEM does not show: half a metre of a shift on ASTER scenes.) */
static double spline_at(const SdmCoregGrid *s, double col, double row, double slope[2])
{
    const int64_t w = s->cols + 2 * SDM_SPLINE_PAD, h = s->rows + 2 * SDM_SPLINE_PAD;
    const double x = fmin(fmax(col + SDM_SPLINE_PAD, 2.0), (double)(w - 4)),
                 y = fmin(fmax(row + SDM_SPLINE_PAD, 2.0), (double)(h - 4));
    const int64_t i = (int64_t)x, j = (int64_t)y;
    /* weights of the six coefficients from two before on, with a 0 on either side */
    double at[2][8] = {{0.0}}, along[2][6], value = 0.0;
    weights_at(x - (double)i, &at[0][2]);
    weights_at(y - (double)j, &at[1][2]);
    for (int k = 0; k < 12; k++)
        along[k / 6][k % 6] = 0.5 * (at[k / 6][k % 6] - at[k / 6][k % 6 + 2]);
    slope[0] = slope[1] = 0.0;
    for (int k = 0; k < 6; k++) {
        const float *const c = s->spline + (j - 2 + k) * w + i - 2;
        double here = 0.0, east = 0.0;
        for (int l = 0; l < 6; l++) {
            here += (double)c[l] * at[0][l + 1];
            east += (double)c[l] * along[0][l];
        }
        value += here * at[1][k + 1];
        slope[0] += east * at[1][k + 1];
        slope[1] += here * along[1][k];
    }
    return value;
}

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
    const size_t n = (size_t)(g->cols * g->rows);
    if (n > UINT32_MAX)
        return sdm_fail(ctx, SDM_ERR_MEMORY,
                        "DEM and reference have %zu cells in common, at most %u are compared at once", n,
                        UINT32_MAX);
    const size_t padded = (size_t)(g->cols + 2 * SDM_SPLINE_PAD) * (size_t)(g->rows + 2 * SDM_SPLINE_PAD);
    return SDM_ALLOC(ctx, "heights of two DEMs", SDM_ARRAY(g->dem_m, n), SDM_ARRAY(g->reference_m, n),
                     SDM_ARRAY(g->residual_m, n), SDM_ARRAY(g->scratch, n), SDM_ARRAY(g->mask, n),
                     SDM_ARRAY(g->spline, padded));
}

void sdm_coreg_close(SdmCoregGrid *g)
{
    SDM_FREE(&g->spline, &g->mask, &g->scratch, &g->residual_m, &g->reference_m, &g->dem_m);
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

/* ---- the surface ---- */

/* Number of cells to the nearest void in any direction, rows and columns alike -> reach, WIDE + 1 at most;
 * voids lie all around the grid.  A cell is one farther than the nearest of the cells around it. */
static void find_reach(const SdmCoregGrid *g, const float *height_m, unsigned bits, uint8_t *reach,
                       uint8_t *spare)
{
    const int64_t w = g->cols, n = w * g->rows;
    for (int64_t i = 0; i < n; i++)
        reach[i] = (g->mask[i] & bits) == bits && !isnan(height_m[i]);
    for (int far = 1; far <= WIDE; far++) {
        memcpy(spare, reach, (size_t)n);
#pragma omp parallel for num_threads(g->threads) schedule(static)
        for (int64_t j = 1; j < g->rows - 1; j++)
            for (int64_t i = j * w + 1; i < j * w + w - 1; i++) {
                int around = far;
                for (int64_t row = i - w; row <= i + w; row += w)
                    for (int64_t k = row - 1; k <= row + 1; k++)
                        around = spare[k] < around ? spare[k] : around;
                reach[i] = (uint8_t)(around == far ? far + 1 : reach[i]);
            }
    }
}

/* Set the bit SURE; see sdm_coreg_fit(). */
static void mark_sure(SdmCoregGrid *g, const float *height_m, unsigned bits, unsigned counted)
{
    int64_t with[WIDE + 2] = {0};
    uint8_t *const reach = (uint8_t *)(void *)g->scratch;
    find_reach(g, height_m, bits, reach, reach + g->cols * g->rows);
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
    int64_t n = 0;
    for (int64_t i = 0; i < g->cols * g->rows; i++)
        if ((g->mask[i] & bits) == bits && !isnan(height_m[i]))
            g->scratch[n++] = height_m[i];
    g->base_m = sdm_median_f32(g->scratch, n);
    mark_sure(g, height_m, bits, counted);
#pragma omp parallel for num_threads(g->threads) schedule(static)
    for (int64_t i = 0; i < g->cols * g->rows; i++)
        g->scratch[i] = (g->mask[i] & bits) == bits ? (float)((double)height_m[i] - g->base_m) : NAN;
    PASS(fill_voids(ctx, g->scratch, g->cols, g->rows, g->residual_m));
    return spline_fit(ctx, g, g->scratch);
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
    return sure ? g->base_m + spline_at(g, col, row, slope) : (double)NAN;
}

/* ---- the move ---- */

/* Cells of the DEM, evenly chosen. */
typedef struct Places {
    const SdmCoregGrid *g;
    uint32_t *cell; /* count */
    size_t count;
    int64_t every; /* of the cells is one */
    float *work;   /* SDM_SHIFT_FLOATS */
} Places;

static SdmStatus choose_places(SdmContext *ctx, const SdmCoregGrid *g, Places *out)
{
    int64_t known = 0, met = 0;
    for (int64_t i = 0; i < g->cols * g->rows; i++)
        known += !isnan(g->dem_m[i]);
    const int64_t every = known / MAX_PLACES + 1, room = known / every + 1;
    out->every = every;
    PASS(SDM_ALLOC_RAW(ctx, "places of the co-registration", SDM_ARRAY(out->cell, (size_t)room),
                       SDM_ARRAY(out->work, SDM_SHIFT_FLOATS((size_t)room))));
    for (int64_t i = 0; i < g->cols * g->rows && (int64_t)out->count < room; i++) {
        if (isnan(g->dem_m[i]))
            continue;
        /* one of each `every` cells, not always the same, since columns may have stripes */
        const uint64_t scattered = (uint64_t)(met / every) * 0x9E3779B97F4A7C15u >> 33;
        if (met++ % every == (int64_t)(scattered % (uint64_t)every))
            out->cell[out->count++] = (uint32_t)i;
    }
    return SDM_OK;
}

static void places_close(Places *p)
{
    SDM_FREE(&p->cell, &p->work);
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
        around[k] = spline_at(g, i + (k & 1), j + (k >> 1), slope);
    const double above = around[0] + x * (around[1] - around[0]),
                 below = around[2] + x * (around[3] - around[2]);
    return spline_at(g, col, row, slope) - above - y * (below - above);
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
    const double dcol = move_m[0] / g->dx_m - g->phase[0], drow = -move_m[1] / g->dy_m - g->phase[1],
                 up_m = move_m[2] - g->base_m;
    PASS(sdm_spline_shift(ctx, g, dcol, drow, g->residual_m));
#pragma omp parallel for num_threads(g->threads) schedule(static)
    for (int64_t i = 0; i < g->rows * g->cols; i++)
        g->residual_m[i] =
            (g->mask[i] & SDM_COREG_COMMON) &&
                    all_have(g, SDM_COREG_KNOWN, (double)(i % g->cols) + dcol, (double)(i / g->cols) + drow)
                ? (float)((double)g->dem_m[i] - (double)g->residual_m[i] + up_m)
                : NAN;
    judge_loose(g, dcol, drow);
    return SDM_OK;
}

SdmStatus sdm_coreg_shift(SdmContext *ctx, SdmCoregGrid *g, bool judge, SdmShift *move,
                          SdmErrorStats *residual)
{
    SDM_CLOSED_BY(places_close) Places places = {.g = g};
    const double cell_m = fmin(g->dx_m, g->dy_m);
    int64_t n = 0;
    *move = (SdmShift){.undetermined = 0};
    if (g->own_cells)
        PASS(sdm_coreg_fit(ctx, g, g->residual_m, SDM_COREG_STABLE, SDM_COREG_STABLE));
    else
        PASS(sdm_coreg_fit(ctx, g, g->reference_m, SDM_COREG_REFERENCE, SDM_COREG_COMMON));
    PASS(choose_places(ctx, g, &places));
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
    PASS(sdm_shift_fit(ctx, &task, move));
    if (judge)
        PASS(sdm_shift_judge(ctx, &task, move));
    sdm_log(ctx, SDM_LOG_VERBOSE, 0, "co-registration: east %.3f north %.3f up %.3f m", move->move_m[0],
            move->move_m[1], move->move_m[2]);
    PASS(find_residuals(ctx, g, move->move_m));
    for (int64_t i = 0; i < g->rows * g->cols; i++)
        if (!isnan(g->residual_m[i]))
            g->scratch[n++] = g->residual_m[i];
    sdm_error_stats(g->scratch, n, g->spline, residual);
    return SDM_OK;
}
