/* Heights and scores of a whole DEM -> the predicted standard error of each height.
 *
 * Blocks of 8 x 8 cells measure the noise of the matches by their scores, the slope, and the roughness of the
 * surface by fourth differences of heights.  The error of a block is a product of powers of their means over
 * 24 and 400 cells; lab/measure/height_error_fit.py fits the powers. */
// SPDX-License-Identifier: Apache-2.0
#include "product/product.h"
#include "core/vector_loops.h"
#include "geo/gdal_scope.h"
#include "geo/geodesy.h"
#include "geo/grid.h"

#include <math.h>

enum {
    SIDE = 8,      /* cells of a block */
    STRIP = 64,    /* rows that are read together */
    CHUNK = 256,   /* columns whose sums are in the cache together */
    MARGIN = 2,    /* cells around a cell that a fourth difference reads */
    NEAR_HALF = 1, /* blocks */
    FAR_HALF = 24,
    LEAST_CELLS = 5, /* of a mean */
};

/* log(error, px of parallax) = LEVEL + NOISE log(noise) + ROUGHNESS log(roughness)
 *   + NEAR_NOISE log(noise / noise around) + NEAR_ROUGHNESS log(roughness / roughness around)
 *   + SLOPE slope + OWN_SLOPE (slope of the cell - slope) + CELL log(side of a cell / 2 GSD) */
static const double LEVEL = 0.322;
static const double NOISE = 0.497, NEAR_NOISE = 0.440;
static const double ROUGHNESS = 0.656, NEAR_ROUGHNESS = 0.460;
static const double SLOPE = -0.333; /* for a tangent of 1 */
static const float OWN_SLOPE = 0.380f;
static const double CELL = -1.338;
static const double CENSUS = 0.117, SEMI_GLOBAL = 0.40; /* added for these matchers */
static const float FILLED = 2.0f;                       /* factor of a filled cell */

static const float LEAST_RHO = 0.3f, MOST_RHO = 0.998f; /* correlation of a match */
static const double LEAST_NOISE = 0.02, LEAST_ROUGHNESS = 0.003;
static const float STEEPEST = 1.7f;                    /* tangent of slopes */
static const float MOST_ROUGH = 0.5f;                  /* fourth difference, px: walls count no more */
static const double LEAST_CELL = 1.2, MOST_CELL = 6.0; /* side of a cell, GSD */

/* Sums of what is measured at cells: (1 - rho) / rho, squared tangent of the slope, absolute fourth
 * differences of heights in px of parallax.  From the first block of the raster to this one. */
enum { MATCH, STEEP, ROUGH, MEASURES };
typedef struct Sums {
    double sum[MEASURES], count[MEASURES];
} Sums;

/* The same of single columns of a row of blocks. */
typedef struct Columns {
    float sum[MEASURES][CHUNK], count[MEASURES][CHUNK];
} Columns;

/* At the middle of a block. */
typedef struct Node {
    float error_m, slope;
} Node;

typedef struct Work {
    const SdmProduct *p;
    const SdmHeightErrorModel *model;
    GDALRasterBandH band[3];    /* heights, masks, errors */
    double side_m[2];           /* of the cells: from west to east, from south to north */
    float per_cell[2];          /* slope for a metre of height over two cells */
    float per_step;             /* steps of the errors in a metre */
    int cols, rows, wide, high; /* cells; blocks */
    Sums *sums;
    Node *node;
    float noise[SDM_ERROR_SCORES + 1]; /* (1 - rho) / rho by score */
    int pitch, y0, n;                  /* the strip in work: rows y0 to y0 + n - 1 */
    float *height;                     /* its heights, NaN for none, with MARGIN more on all four sides */
    uint16_t *mask, *score;
} Work;

/* ---- rows ---- */

/* n rows from y0 on, as the band holds them. */
static SdmStatus move_rows(SdmContext *ctx, const Work *w, GDALRasterBandH band, GDALRWFlag way, int y0,
                           int n, void *cells)
{
    SDM_CLOSED_BY(sdm_gdal_errors_end) SdmGdalErrors errors;
    const GDALDataType type = GDALGetRasterDataType(band);
    const int size = GDALGetDataTypeSizeBytes(type), pitch = type == GDT_Float32 ? w->pitch : w->cols;
    sdm_gdal_errors_begin(&errors);
    const CPLErr e = GDALRasterIO(band, way, 0, y0, w->cols, n, cells, w->cols, n, type, size, size * pitch);
    return e == CE_None && !errors.failed ? SDM_OK
                                          : sdm_fail_write(ctx, w->p->files->path[SDM_FILE_QA], errors.text);
}

/* Heights of the strip and of MARGIN rows above and below; masks and scores of the strip. */
static SdmStatus read_strip(SdmContext *ctx, Work *w, int y0)
{
    const int first = y0 > MARGIN ? y0 - MARGIN : 0, last = y0 + STRIP + MARGIN,
              end = last < w->rows ? last : w->rows;
    const size_t all = (size_t)w->pitch * (STRIP + 2 * MARGIN);
    float *const from = w->height + (size_t)(first - y0 + MARGIN) * (size_t)w->pitch;
    w->y0 = y0;
    w->n = w->rows - y0 < STRIP ? w->rows - y0 : STRIP;
    PASS(sdm_check_stop(ctx));
    for (size_t i = 0; i < all; i++)
        w->height[i] = NAN;
    PASS(move_rows(ctx, w, w->band[0], GF_Read, first, end - first, from + MARGIN));
    for (size_t i = 0; i < all; i++)
        w->height[i] = w->height[i] == SDM_NODATA ? NAN : w->height[i];
    PASS(move_rows(ctx, w, w->band[1], GF_Read, y0, w->n, w->mask));
    return move_rows(ctx, w, w->band[2], GF_Read, y0, w->n, w->score);
}

/* ---- sums over blocks ---- */

/* v within low..high, low for NaN.  (The C library's fminf and fmaxf are calls.) */
static inline float within(float v, float low, float high)
{
    return v > low ? (v < high ? v : high) : low;
}

static inline void add(float value, float *sum, float *count)
{
    const bool known = value == value;
    *sum += known ? value : 0.0f;
    *count += known ? 1.0f : 0.0f;
}

/* Absolute fourth difference, in units of 1 / per_px; NaN beside cells without a height. */
static inline float roughness(const float *h, ptrdiff_t step, float per_px)
{
    const float d = ((h[2 * step] + h[-2 * step]) - 4.0f * (h[step] + h[-step]) + 6.0f * h[0]) * per_px;
    return fabsf(d) > MOST_ROUGH ? MOST_ROUGH : fabsf(d);
}

/* Tangent of the slope, squared; NaN beside cells without a height. */
static inline float steepness(const float *h, ptrdiff_t pitch, const float per_cell[2])
{
    const float x = (h[1] - h[-1]) * per_cell[0], y = (h[-pitch] - h[pitch]) * per_cell[1];
    return x * x + y * y;
}

/* n cells of a row, from x0 on. */
SDM_VECTOR_LOOPS static void add_row(const Work *w, int row, int x0, int n, Columns *restrict c)
{
    const ptrdiff_t at = (ptrdiff_t)row * w->cols + x0, pitch = w->pitch;
    const float *const h = w->height + (ptrdiff_t)(row + MARGIN) * pitch + (MARGIN + x0);
    const uint16_t *const scores = w->score + at, *const mask = w->mask + at;
    const float per_cell[2] = {w->per_cell[0], w->per_cell[1]},
                per_px = (float)(1.0 / w->model->metres_per_px);
    for (int i = 0; i < n; i++)
        if ((mask[i] & (SDM_QA_VALID | SDM_QA_FILLED)) == SDM_QA_VALID)
            add(w->noise[scores[i] < SDM_ERROR_SCORES ? scores[i] : SDM_ERROR_SCORES], &c->sum[MATCH][i],
                &c->count[MATCH][i]);
    for (int i = 0; i < n; i++) {
        add(steepness(h + i, pitch, per_cell), &c->sum[STEEP][i], &c->count[STEEP][i]);
        add(roughness(h + i, 1, per_px), &c->sum[ROUGH][i], &c->count[ROUGH][i]);
        add(roughness(h + i, pitch, per_px), &c->sum[ROUGH][i], &c->count[ROUGH][i]);
    }
}

/* The blocks of a chunk of columns, from that row of the strip on. */
static void sum_chunk(const Work *w, int row, int x0)
{
    Columns columns = {0};
    const int n = w->cols - x0 < CHUNK ? w->cols - x0 : CHUNK;
    Sums *const sums = &w->sums[(size_t)((w->y0 + row) / SIDE) * (size_t)w->wide + (size_t)(x0 / SIDE)];
    for (int j = row; j < row + SIDE && j < w->n; j++)
        add_row(w, j, x0, n, &columns);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < MEASURES; k++) {
            sums[i / SIDE].sum[k] += (double)columns.sum[k][i];
            sums[i / SIDE].count[k] += (double)columns.count[k][i];
        }
}

static SdmStatus sum_blocks(SdmContext *ctx, Work *w)
{
    for (int y0 = 0; y0 < w->rows; y0 += STRIP) {
        PASS(read_strip(ctx, w, y0));
#pragma omp parallel for schedule(static) collapse(2) num_threads(sdm_threads(ctx))
        for (int row = 0; row < w->n; row += SIDE)
            for (int x0 = 0; x0 < w->cols; x0 += CHUNK)
                sum_chunk(w, row, x0);
    }
    return SDM_OK;
}

static void add_sums(const Sums *from, double sign, Sums *to)
{
    for (int k = 0; k < MEASURES; k++) {
        to->sum[k] += sign * from->sum[k];
        to->count[k] += sign * from->count[k];
    }
}

/* Sums of each block -> of all blocks from the first one to it. */
static void accumulate(const Work *w)
{
    for (int y = 0; y < w->high; y++)
        for (int x = 0; x < w->wide; x++) {
            Sums *const s = &w->sums[(size_t)y * (size_t)w->wide + (size_t)x];
            if (x > 0)
                add_sums(s - 1, 1.0, s);
            if (y > 0)
                add_sums(s - w->wide, 1.0, s);
            if (x > 0 && y > 0)
                add_sums(s - w->wide - 1, -1.0, s);
        }
}

/* Sums over the blocks up to `half` blocks away from one. */
static Sums sum_window(const Work *w, int x, int y, int half)
{
    const int right = x + half < w->wide ? x + half : w->wide - 1,
              below = y + half < w->high ? y + half : w->high - 1;
    Sums out = {{0}, {0}};
    for (int corner = 0; corner < 4; corner++) {
        const int i = corner & 1 ? x - half - 1 : right, j = corner & 2 ? y - half - 1 : below;
        if (i >= 0 && j >= 0)
            add_sums(&w->sums[(size_t)j * (size_t)w->wide + (size_t)i],
                     corner == 1 || corner == 2 ? -1.0 : 1.0, &out);
    }
    return out;
}

/* ---- from sums to errors ---- */

static double mean_of(const Sums *s, int measure)
{
    return s->count[measure] < LEAST_CELLS ? 0.0 : fmax(s->sum[measure], 0.0) / s->count[measure];
}

static double log_noise(const Sums *s)
{
    return 0.5 * log(mean_of(s, MATCH) + LEAST_NOISE * LEAST_NOISE);
}

static double log_roughness(const Sums *s)
{
    return log(mean_of(s, ROUGH) + LEAST_ROUGHNESS);
}

static Node predict(const Work *w, int x, int y)
{
    const SdmHeightErrorModel *const m = w->model;
    const Sums near = sum_window(w, x, y, NEAR_HALF), around = sum_window(w, x, y, FAR_HALF);
    const bool known = near.count[MATCH] >= LEAST_CELLS && near.count[ROUGH] >= LEAST_CELLS;
    const double slope = fmin(sqrt(mean_of(&near, STEEP)), (double)STEEPEST),
                 side_m = sqrt(w->side_m[0] * w->side_m[1]),
                 side = fmin(fmax(side_m / m->gsd_m, LEAST_CELL), MOST_CELL),
                 near_noise = known ? log_noise(&near) - log_noise(&around) : 0.0,
                 near_roughness = known ? log_roughness(&near) - log_roughness(&around) : 0.0;
    const double error_px = exp(LEVEL + NOISE * log_noise(&around) + NEAR_NOISE * near_noise +
                                ROUGHNESS * log_roughness(&around) + NEAR_ROUGHNESS * near_roughness +
                                SLOPE * slope + CELL * log(0.5 * side) +
                                (m->semi_global ? SEMI_GLOBAL
                                 : m->census    ? CENSUS
                                                : 0.0));
    const double correction_m = m->correction_m * sqrt(1.0 + slope * slope); /* along the ground, too */
    return (Node){(float)hypot(m->metres_per_px * error_px, correction_m), (float)slope};
}

static Node between(Node a, Node b, float share)
{
    return (Node){a.error_m + share * (b.error_m - a.error_m), a.slope + share * (b.slope - a.slope)};
}

/* Error of a cell: that of its block, changed by its own slope, which cells beside holes do not have. */
static float cell_error(Node at, float steep, bool filled)
{
    const float own = steep == steep ? within(sqrtf(steep), 0.0f, STEEPEST) : at.slope,
                e = within(OWN_SLOPE * (own - at.slope), -0.7f, 0.7f);
    return at.error_m * (1.0f + e + 0.5f * e * e) * (filled ? FILLED : 1.0f);
}

/* Row of blocks whose middles lie before a row of cells; share: of the way from there to the next one's. */
static int blocks_before(const Work *w, int row, float *share)
{
    const float place = within(((float)row + 0.5f) / (float)SIDE - 0.5f, 0.0f, (float)(w->high - 1));
    const int first = (int)place < w->high - 1 ? (int)place : w->high > 1 ? w->high - 2 : 0;
    *share = place - (float)first;
    return first;
}

/* Errors of n cells of a row, from column x on, into the place of their scores.  They lie between the middles
 * of two blocks, `first` cells behind the left one. */
SDM_VECTOR_LOOPS static void write_cells(const Work *w, int row, int x, int n, Node left, Node right,
                                         float first)
{
    const ptrdiff_t at = (ptrdiff_t)row * w->cols + x;
    const float *const h = w->height + (row + MARGIN) * (ptrdiff_t)w->pitch + MARGIN + x;
    const float per_step = w->per_step, most = (float)(SDM_QA_NODATA - 1);
    const uint16_t *const mask = w->mask + at;
    uint16_t *restrict const out = w->score + at;
    for (int i = 0; i < n; i++) {
        const Node cell = between(left, right, (first + (float)i) / (float)SIDE);
        const bool filled = (mask[i] & SDM_QA_FILLED) != 0;
        const float steps = cell_error(cell, steepness(h + i, w->pitch, w->per_cell), filled) * per_step;
        const int rounded = (int)((steps < most ? steps : most) + 0.5f);
        out[i] = (uint16_t)(mask[i] & SDM_QA_VALID ? rounded : SDM_QA_NODATA);
    }
}

static void write_row(const Work *w, int row)
{
    float down;
    const int j = blocks_before(w, w->y0 + row, &down);
    const Node *const upper = w->node + (size_t)j * (size_t)w->wide, *const lower = w->high > 1
                                                                                        ? upper + w->wide
                                                                                        : upper;
    for (int b = -1; b < w->wide; b++) { /* half a block lies before the first middle, and behind the last */
        const int at = b < 0 || w->wide < 2 ? 0
                       : b < w->wide - 1    ? b
                                            : b - 1,
                  next = w->wide < 2 ? at : at + 1, x = b * SIDE + SIDE / 2, from = x < 0 ? 0 : x,
                  end = x + SIDE < w->cols ? x + SIDE : w->cols;
        Node left = between(upper[at], lower[at], down), right = between(upper[next], lower[next], down);
        if (b < 0)
            right = left;
        else if (b > at)
            left = right = between(left, right, 1.0f);
        write_cells(w, row, from, end - from, left, right, (float)(from - x) + 0.5f);
    }
}

static SdmStatus write_errors(SdmContext *ctx, Work *w)
{
    for (int y0 = 0; y0 < w->rows; y0 += STRIP) {
        PASS(read_strip(ctx, w, y0));
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
        for (int row = 0; row < w->n; row++)
            write_row(w, row);
        PASS(move_rows(ctx, w, w->band[2], GF_Write, y0, w->n, w->score));
    }
    return SDM_OK;
}

static void close_work(Work **of)
{
    Work *const w = *of;
    if (w)
        SDM_FREE(&w->sums, &w->node, &w->height, &w->mask, &w->score);
    sdm_free(of);
}

SdmStatus sdm_height_error_write(SdmContext *ctx, const SdmProduct *p)
{
    SDM_CLOSED_BY(close_work) Work *w = NULL;
    const SdmGrid *const g = &p->grid;
    const double middle_deg = g->y0 - 0.5 * (double)g->rows * g->spacing, side_m = sdm_grid_spacing_m(g),
                 narrower = g->geographic ? fmax(cos(middle_deg * SDM_DEG), 0.01) : 1.0;
    PASS(sdm_alloc(ctx, &w, 1, sizeof *w, "errors of heights"));
    w->p = p;
    w->model = &p->request.error;
    w->band[0] = GDALGetRasterBand(p->raster[SDM_FILE_DEM].dataset, 1);
    w->band[1] = sdm_product_qa_band(p, SDM_BAND_MASK);
    w->band[2] = sdm_product_qa_band(p, SDM_BAND_ERROR);
    w->side_m[0] = side_m * narrower;
    w->side_m[1] = side_m;
    for (int k = 0; k < 2; k++)
        w->per_cell[k] = (float)(0.5 / w->side_m[k]);
    w->per_step = (float)(1.0 / sdm_qa_scale(SDM_BAND_ERROR, p->metres_step));
    w->cols = (int)g->cols;
    w->rows = (int)g->rows;
    w->wide = (w->cols + SIDE - 1) / SIDE;
    w->high = (w->rows + SIDE - 1) / SIDE;
    w->pitch = w->cols + 2 * MARGIN;
    for (int i = 0; i <= SDM_ERROR_SCORES; i++) { /* of a census the share of equal signs tells the
                                                   * correlation, see match_settings.c */
        const double score = (double)i / SDM_ERROR_SCORES,
                     rho = w->model->census ? sin(90.0 * SDM_DEG * score) : score;
        const float kept = within((float)rho, LEAST_RHO, MOST_RHO);
        w->noise[i] = (1.0f - kept) / kept;
    }
    const size_t blocks = (size_t)w->wide * (size_t)w->high, strip = (size_t)STRIP * (size_t)w->cols;
    PASS(SDM_ALLOC(ctx, "blocks of cells", SDM_ARRAY(w->sums, blocks), SDM_ARRAY(w->node, blocks)));
    PASS(SDM_ALLOC_RAW(ctx, "rows of a strip of cells",
                       SDM_ARRAY(w->height, (size_t)w->pitch * (STRIP + 2 * MARGIN)),
                       SDM_ARRAY(w->mask, strip), SDM_ARRAY(w->score, strip)));
    PASS(sum_blocks(ctx, w));
    accumulate(w);
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
    for (int y = 0; y < w->high; y++)
        for (int x = 0; x < w->wide; x++)
            w->node[(size_t)y * (size_t)w->wide + (size_t)x] = predict(w, x, y);
    return write_errors(ctx, w);
}
