/* Heights, scores and orthoimage of a whole DEM -> the predicted standard error of each height.
 *
 * Sums over blocks of 8 x 8 cells tell the noise of the matches (score, texture) and the roughness of the
 * ground (second and fourth differences of heights) near a block (24 cells) and around it (400 cells).  The
 * logarithm of the error is a polynomial of their logarithms, whose coefficients were fitted by
 * lab/measure/height_error_fit.py of commit aceeefd6. */
// SPDX-License-Identifier: Apache-2.0
#include "product/height_error.h"
#include "core/qa_reasons.h"
#include "core/vector_loops.h"
#include "geo/gdal_errors.h"
#include "geo/grid.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    SIDE = 8,   /* cells of a block */
    STRIP = 64, /* rows that are read together */
    CHUNK = 256, /* columns whose sums are in the cache together */
    AT_ONCE = 4, /* strips: reading, one at a time, takes a quarter of the time */
    LAGS = 3,
    FAR_LAG = 8,
    NEAR_HALF = 1, /* blocks */
    FAR_HALF = 24,
    PART = 32, /* blocks of a row whose surroundings are added up together */
    LEAST_CELLS = 5, /* of a mean */
    BASE = 7,        /* logarithms around a block */
    SQUARED = 3,     /* of those near it, squared, too */
    PRODUCTS = 13,
    WITH_SLOPE = 5, /* logarithms that are multiplied by the slope */
    NEAR_CELLS = (2 * NEAR_HALF + 1) * (2 * NEAR_HALF + 1) * SIDE * SIDE,
    NODATA = 65535
};
static const int LAG[LAGS] = {1, 4, FAR_LAG};
static const double STEEPEST = 1.7;   /* tangent of slopes */
static const double MOST_BENT = 1e4; /* squared second differences of a block, px: what a spike may add */
static const float LEAST_RHO = 0.3f, MOST_RHO = 0.998f;
/* Scores are raised by this: the formula was fitted to scores on a warp by the final heights, and those on
 * the warp before are lower. */
static const float MOVED = 1.003f;

/* Logarithms of: noise of the matches by their scores; texture's variance by that of its gradient; second
 * differences of heights at each lag, px of parallax; fourth differences of heights at a cell; second
 * differences of the texture by its gradient.  What is added to each before, its range. */
static const double ADDED[BASE] = {0.02, 0.05, 0.002, 0.008, 0.016, 0.004, 0.0};
static const double LOWEST[BASE] = {-2.61, 0.42, -4.88, -3.25, -2.46, -4.26, -0.08};
static const double HIGHEST[BASE] = {-0.68, 1.84, -1.11, 0.95, 1.69, -0.91, 0.47};
static const double TYPICAL[BASE] = {-1.89, 1.43, -2.23, -0.02, 0.83, -2.15, 0.18}; /* subtracted */
/* The growth of the roughness with the slope: its range, what is subtracted. */
static const double LEAST_GROWTH = -0.2, MOST_GROWTH = 0.9, TYPICAL_GROWTH = 0.35;
/* Coefficients: of those around the block, of products of two of them, of near minus around and its squares;
 * of the slope around and of how much steeper the block is; of how roughness grows with the slope around,
 * alone and times those two; of the size of a cell, alone and times those around. */
static const double CONSTANT = -2.044;
static const double LINEAR[BASE] = {0.5427, -0.06991, -0.6311, 0.6704, -0.4051, 1.073, -0.3763};
static const int PAIR[PRODUCTS][2] = {{0, 0}, {0, 1}, {0, 2}, {0, 5}, {0, 6}, {1, 1}, {1, 2},
                                      {2, 2}, {2, 3}, {2, 5}, {3, 3}, {5, 5}, {6, 6}};
static const double PRODUCT[PRODUCTS] = {0.07998, 0.05946, 0.3806, -0.4481, 0.8504, 0.1023, -0.06178,
                                         -2.078, 0.9677, 2.433, -0.3763, -0.8107, -0.9424};
static const double NEAR[BASE] = {0.3466, -0.04828, 0.03614, 0.09702, -0.08528, 0.1095, -0.01116};
static const double NEAR_SQUARE[SQUARED] = {0.007433, -0.05071, 0.0229};
static const double SLOPE[] = {-1.037, 0.5767, -0.06662, -0.2413, 0.6031, -0.4104, -0.4335};
static const int SLOPE_TIMES[WITH_SLOPE] = {0, 1, 2, 5, 6};
static const double MORE_SLOPE[WITH_SLOPE] = {-0.4308, -0.663, -0.1509, 0.2668, -0.9834};
static const double GROWTH[3] = {-0.1204, 0.2749, 0.7196};
static const double SIZE[] = {-1.02, 0.3242};
static const double BY_SIZE[BASE] = {0.04782, -0.5876, -0.01272, 0.1249, 0.4285, -0.6758, 0.8454};
/* A cell steeper than its block by z: exp of OWN_SLOPE times (z, z z, z slope, z growth). */
static const float OWN_SLOPE[4] = {0.3312f, 0.3403f, 0.2356f, 0.6135f};
/* Of a filled cell, added in squares: times the share of cells near it without a match, times the root mean
 * square of second differences at 4 cells. */
static const double FILLED = 1.7;
/* Factor for a matched cell beside one without a height, on level ground and what the square of the block's
 * slope adds: its points lie on one side of its middle, and their windows reach into the hole, or are those
 * of the pixels beside them. */
static const float BESIDE = 1.6f, BESIDE_SLOPE = 4.5f;

/* What a block adds up. */
typedef struct Sums {
    float noise, noises, slope, slopes, texture, square, textures, rise, rises, turn, turns;
    float bend[LAGS], bends[LAGS], fourth, fourths;
} Sums;
enum { SUMS = sizeof(Sums) / sizeof(float) };

/* The same of single columns of a row of blocks; the fields in the same order. */
typedef struct Columns {
    float noise[CHUNK], noises[CHUNK], slope[CHUNK], slopes[CHUNK], texture[CHUNK], square[CHUNK],
        textures[CHUNK], rise[CHUNK], rises[CHUNK], turn[CHUNK], turns[CHUNK];
    float bend[LAGS][CHUNK], bends[LAGS][CHUNK], fourth[CHUNK], fourths[CHUNK];
} Columns;
static_assert(sizeof(Columns) == sizeof(Sums) * CHUNK, "a column of Columns is a Sums");
static_assert(CHUNK % SIDE == 0 && STRIP % SIDE == 0, "chunks and strips consist of whole blocks");

/* What is added up around a block: Sums, and of blocks with enough cells their number, means of the squared
 * slope and of squared second differences, the product of both. */
enum { BLOCKS = SUMS, SLOPE_MEANS, BEND_MEANS, MEANS_PRODUCTS, AROUND };

/* Of a block's middle: error on ground of this slope, more of a filled height, what steepness adds. */
typedef struct Node {
    float error_m, slope, fill_m, own;
} Node;

typedef struct Work {
    SdmContext *ctx;
    const SdmHeightErrorInput *in;
    int cols, rows, wide, high; /* cells; blocks */
    Sums *sums;
    Node *node;
    int pitch;
    struct Strip *strip; /* of each thread that works on strips */
    int threads, strips; /* those threads; strips of the raster */
    int64_t *histogram;  /* of the errors, steps */
} Work;

/* Rows of a strip of the raster. */
typedef struct Strip {
    int y0, n;
    float *height, *ortho; /* NaN for none, with FAR_LAG more on all four sides */
    uint16_t *mask, *score;
    Node *node; /* of the blocks' middles, at a row's height between them */
    float *cells; /* what node holds of blocks, of the cells of a row: */
    float *error, *slope, *fill, *own;
} Strip;

/* ---- rows ---- */

/* n rows from y0 on, as the band holds them.  One thread at a time: the bands belong to one dataset. */
static SdmStatus move_rows(const Work *w, GDALRasterBandH band, GDALRWFlag way, int y0, int n, void *cells)
{
    SdmGdalErrors errors;
    SdmStatus st;
#pragma omp critical(sdm_height_error)
    {
        const GDALDataType type = GDALGetRasterDataType(band);
        const int size = GDALGetDataTypeSizeBytes(type), pitch = type == GDT_Float32 ? w->pitch : w->cols;
        sdm_gdal_errors_begin(&errors);
        const CPLErr e =
            GDALRasterIO(band, way, 0, y0, w->cols, n, cells, w->cols, n, type, size, size * pitch);
        sdm_gdal_errors_end(&errors);
        st = e == CE_None && !errors.failed ? SDM_OK : sdm_fail_write(w->ctx, w->in->path, errors.text);
    }
    return st;
}

/* Rows y0 - FAR_LAG .. y0 + n + FAR_LAG - 1 of a Float32 raster. */
static SdmStatus read_floats(const Work *w, GDALRasterBandH band, const Strip *s, float *out)
{
    SdmStatus st = SDM_OK;
    const int first = s->y0 > FAR_LAG ? s->y0 - FAR_LAG : 0, last = s->y0 + s->n + FAR_LAG,
              end = last < w->rows ? last : w->rows;
    const size_t all = (size_t)w->pitch * (STRIP + 2 * FAR_LAG);
    float *const from = out + (size_t)(first - s->y0 + FAR_LAG) * (size_t)w->pitch;
    for (size_t i = 0; i < all; i++)
        out[i] = NAN;
    TRY(move_rows(w, band, GF_Read, first, end - first, from + FAR_LAG));
    for (size_t i = 0; i < all; i++)
        out[i] = out[i] == SDM_NODATA ? NAN : out[i];
done:
    return st;
}

/* Each strip of the raster, side by side; the first failure ends the rest. */
static SdmStatus each_strip(const Work *w, SdmStatus (*work)(const Work *w, Strip *s))
{
    SdmStatus st = SDM_OK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(w->threads)
    for (int k = 0; k < w->strips; k++) {
        Strip *const s = &w->strip[sdm_thread()];
        SdmStatus seen;
        s->y0 = k * STRIP;
        s->n = w->rows - s->y0 < STRIP ? w->rows - s->y0 : STRIP;
#pragma omp atomic read
        seen = st;
        if (seen == SDM_OK)
            seen = sdm_check_stop(w->ctx);
        if (seen == SDM_OK)
            seen = work(w, s);
        if (seen != SDM_OK) {
#pragma omp atomic write
            st = seen;
        }
    }
    return st;
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

static inline float bend(const float *h, ptrdiff_t step)
{
    return (h[step] - 2.0f * h[0]) + h[-step];
}

/* Tangent of the slope, squared; NaN beside cells without a height. */
static inline float steepness(const float *h, ptrdiff_t pitch, const float per_cell[2])
{
    const float x = (h[1] - h[-1]) * per_cell[0], y = (h[-pitch] - h[pitch]) * per_cell[1];
    return x * x + y * y;
}

/* Square of the fourth difference, in units of 1 / per_px. */
static inline float fourth(const float *h, ptrdiff_t step, float per_px)
{
    const float d = ((h[2 * step] + h[-2 * step]) - 4.0f * (h[step] + h[-step]) + 6.0f * h[0]) * per_px;
    return d * d;
}

/* Noise and texture of n cells of a row, from x0 on. */
SDM_VECTOR_LOOPS static void add_match_row(const Work *w, const Strip *strip, int row, int x0, int n,
                                           Columns *restrict c)
{
    const ptrdiff_t at = (ptrdiff_t)row * w->cols + x0, pitch = w->pitch;
    const float *const o = strip->ortho + (ptrdiff_t)(row + FAR_LAG) * pitch + (FAR_LAG + x0);
    const uint16_t *const scores = strip->score + at, *const mask = strip->mask + at;
    for (int i = 0; i < n; i++) {
        const float score = (float)scores[i] * (MOVED / SDM_ERROR_SCORES),
                    rho = within(score, LEAST_RHO, MOST_RHO);
        const bool matched = (mask[i] & (SDM_QA_VALID | SDM_QA_FILLED)) == SDM_QA_VALID;
        const float across = o[i + 1] - o[i - 1], down = o[i + pitch] - o[i - pitch];
        c->noise[i] += matched ? (1.0f - rho) / rho : 0.0f;
        c->noises[i] += matched ? 1.0f : 0.0f;
        c->square[i] += o[i] == o[i] ? o[i] * o[i] : 0.0f;
        add(o[i], &c->texture[i], &c->textures[i]);
        add(0.125f * (across * across + down * down), &c->rise[i], &c->rises[i]);
        const float x = bend(o + i, 1), y = bend(o + i, pitch);
        add(x * x, &c->turn[i], &c->turns[i]);
        add(y * y, &c->turn[i], &c->turns[i]);
    }
}

/* Slopes and second differences of the same. */
SDM_VECTOR_LOOPS static void add_height_row(const Work *w, const Strip *strip, int row, int x0, int n,
                                            Columns *restrict c)
{
    const ptrdiff_t pitch = w->pitch;
    const float *const h = strip->height + (ptrdiff_t)(row + FAR_LAG) * pitch + (FAR_LAG + x0);
    const float per_cell[2] = {(float)(0.5 / w->in->side_m[0]), (float)(0.5 / w->in->side_m[1])},
                per_px = (float)(1.0 / w->in->model.metres_per_px);
    for (int i = 0; i < n; i++) {
        add(steepness(h + i, pitch, per_cell), &c->slope[i], &c->slopes[i]);
        add(fourth(h + i, 1, per_px), &c->fourth[i], &c->fourths[i]);
        add(fourth(h + i, pitch, per_px), &c->fourth[i], &c->fourths[i]);
    }
    for (int k = 0; k < LAGS; k++)
        for (int i = 0; i < n; i++) {
            const float across = bend(h + i, LAG[k]) * per_px, down = bend(h + i, LAG[k] * pitch) * per_px;
            add(across * across, &c->bend[k][i], &c->bends[k][i]);
            add(down * down, &c->bend[k][i], &c->bends[k][i]);
        }
}

/* Texture counts where there are heights. */
static void leave_out(const Work *w, Strip *s)
{
    for (size_t i = 0; i < (size_t)w->pitch * (STRIP + 2 * FAR_LAG); i++)
        s->ortho[i] = s->height[i] == s->height[i] ? s->ortho[i] : NAN;
}

/* The blocks of a chunk of columns, from that row of the strip on. */
static void sum_chunk(const Work *w, const Strip *s, int row, int x0)
{
    Columns columns = {0};
    const float *const column = (const float *)&columns;
    const int n = w->cols - x0 < CHUNK ? w->cols - x0 : CHUNK;
    Sums *const sums = &w->sums[(size_t)((s->y0 + row) / SIDE) * (size_t)w->wide + (size_t)(x0 / SIDE)];
    for (int j = row; j < row + SIDE && j < s->n; j++) {
        add_match_row(w, s, j, x0, n, &columns);
        add_height_row(w, s, j, x0, n, &columns);
    }
    for (int b = 0; b * SIDE < n; b++)
        for (int k = 0; k < SUMS; k++) {
            float sum = 0.0f;
            for (int i = 0; i < SIDE; i++)
                sum += column[k * CHUNK + b * SIDE + i];
            ((float *)&sums[b])[k] = sum;
        }
}

static SdmStatus sum_blocks(const Work *w, Strip *s)
{
    SdmStatus st = SDM_OK;
    TRY(read_floats(w, w->in->height, s, s->height));
    TRY(read_floats(w, w->in->ortho, s, s->ortho));
    leave_out(w, s);
    TRY(move_rows(w, w->in->mask, GF_Read, s->y0, s->n, s->mask));
    TRY(move_rows(w, w->in->error, GF_Read, s->y0, s->n, s->score));
    for (int row = 0; row < s->n; row += SIDE)
        for (int x0 = 0; x0 < w->cols; x0 += CHUNK)
            sum_chunk(w, s, row, x0);
done:
    return st;
}

/* ---- from sums to errors ---- */

/* Sums of a few blocks around one. */
static Sums sum_near(const Work *w, int x, int y)
{
    float sum[SUMS] = {0};
    Sums out;
    for (int j = y - NEAR_HALF < 0 ? 0 : y - NEAR_HALF; j <= y + NEAR_HALF && j < w->high; j++)
        for (int i = x - NEAR_HALF < 0 ? 0 : x - NEAR_HALF; i <= x + NEAR_HALF && i < w->wide; i++)
            for (int k = 0; k < (int)SUMS; k++)
                sum[k] += ((const float *)&w->sums[(size_t)j * (size_t)w->wide + (size_t)i])[k];
    memcpy(&out, sum, sizeof out);
    return out;
}

static void add_block(const Sums *block, double sign, double sum[AROUND])
{
    const float *const of = (const float *)block;
    for (int k = 0; k < (int)SUMS; k++)
        sum[k] += sign * (double)of[k];
    if (block->slopes < (float)LEAST_CELLS || block->bends[1] < 2.0f * (float)LEAST_CELLS)
        return;
    const double slope = fmin((double)block->slope / (double)block->slopes, STEEPEST * STEEPEST),
                 bent = fmin((double)block->bend[1] / (double)block->bends[1], MOST_BENT);
    sum[BLOCKS] += sign;
    sum[SLOPE_MEANS] += sign * slope;
    sum[BEND_MEANS] += sign * bent;
    sum[MEANS_PRODUCTS] += sign * (slope * bent);
}

/* Add the blocks i0..i1 - 1 of row y, `sign` times, to the sums of their columns. */
static void add_blocks(const Work *w, int y, int i0, int i1, double sign, double (*column)[AROUND])
{
    for (int i = i0; i < i1 && y >= 0 && y < w->high; i++)
        add_block(&w->sums[(size_t)y * (size_t)w->wide + (size_t)i], sign, column[i - i0]);
}

static void add_column(const double column[AROUND], double sign, double sum[AROUND])
{
    for (int k = 0; k < (int)AROUND; k++)
        sum[k] += sign * column[k];
}

static double log_of(double mean, double added)
{
    return 0.5 * log(mean + added * added);
}

/* The logarithms of a window; false where too few cells are known. */
static bool take_logs(const Sums *s, double out[BASE])
{
    const float least = LEAST_CELLS;
    if (s->noises < least || s->textures < least || s->rises < least || s->bends[0] < least ||
        s->bends[1] < least || s->bends[2] < least || s->fourths < least || s->turns < least)
        return false;
    const double mean = (double)s->texture / (double)s->textures,
                 square = (double)s->square / (double)s->textures - mean * mean,
                 rise = (double)s->rise / (double)s->rises;
    out[0] = log_of((double)s->noise / (double)s->noises, ADDED[0]);
    out[1] = log_of((fmax(square, 0.0) + 0.01) / (rise + 0.01), ADDED[1]);
    for (int k = 0; k < LAGS; k++)
        out[2 + k] = log_of((double)s->bend[k] / (double)s->bends[k], ADDED[2 + k]);
    out[5] = log_of((double)s->fourth / (double)s->fourths, ADDED[5]);
    out[6] = log_of(((double)s->turn / (double)s->turns + 0.02) / (rise + 0.01), ADDED[6]);
    return true;
}

static double slope_of(const Sums *s)
{
    return s->slopes < (float)LEAST_CELLS ? 0.0 : sqrt(fmin((double)s->slope / (double)s->slopes, 3.0));
}

static double cut(double x, double low, double high)
{
    return fmin(fmax(x, low), high);
}

/* Whether steep blocks are rougher than others: logarithm of the mean of the product of squared slope and
 * squared second differences by the product of their means, less a typical one. */
static double growth_of(const double sum[AROUND])
{
    const double apart = sum[SLOPE_MEANS] * sum[BEND_MEANS];
    const double alike = apart > 1e-12 ? sum[MEANS_PRODUCTS] * sum[BLOCKS] / apart : exp(TYPICAL_GROWTH);
    return cut(log(fmax(alike, 1e-3)), LEAST_GROWTH, MOST_GROWTH) - TYPICAL_GROWTH;
}

static double dot(const double *a, const double *b, int n)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Logarithm of the error, px of parallax, of a block with slope t; around, growth: the slope around it and
 * how roughness grows with it; q: logarithm of the size of a cell by two ground sample distances. */
static double log_error(const double base[BASE], const double near[BASE], double t, double around,
                        double growth, double q)
{
    const double more = t - around;
    const double slope[] = {around, around * around, around * base[0], around * base[2],
                            more,  more * more,   more * around};
    double sum = CONSTANT + dot(LINEAR, base, BASE) + dot(NEAR, near, BASE) +
                 dot(SLOPE, slope, sizeof slope / sizeof *slope) +
                 growth * (GROWTH[0] + GROWTH[1] * around + GROWTH[2] * more) +
                 q * (SIZE[0] + SIZE[1] * q + dot(BY_SIZE, base, BASE));
    for (int i = 0; i < PRODUCTS; i++)
        sum += PRODUCT[i] * base[PAIR[i][0]] * base[PAIR[i][1]];
    for (int i = 0; i < SQUARED; i++)
        sum += NEAR_SQUARE[i] * near[i] * near[i];
    for (int i = 0; i < WITH_SLOPE; i++)
        sum += MORE_SLOPE[i] * more * base[SLOPE_TIMES[i]];
    return sum;
}

static void find_node(const Work *w, const Sums *near, const Sums *far, double growth, Node *out)
{
    double around[BASE], close[BASE], base[BASE] = {0.0}, local[BASE] = {0.0};
    const bool known = take_logs(far, around), clear = known && take_logs(near, close);
    for (int i = 0; i < BASE && known; i++)
        base[i] = cut(around[i], LOWEST[i], HIGHEST[i]) - TYPICAL[i];
    for (int i = 0; i < BASE && clear; i++)
        local[i] = cut(close[i] - around[i], -1.0, 1.0);
    const double side_m = sqrt(w->in->side_m[0] * w->in->side_m[1]);
    const double t = slope_of(near), q = log(0.5 * cut(side_m / w->in->model.gsd_m, 1.2, 6.0));
    out->slope = (float)t;
    const double rough = sqrt((double)near->bend[1] / fmax((double)near->bends[1], 1.0)),
                 open = 1.0 - (double)near->noises / NEAR_CELLS;
    out->fill_m = (float)(FILLED * w->in->model.metres_per_px * rough * open);
    out->own = OWN_SLOPE[0] + OWN_SLOPE[2] * (float)t + OWN_SLOPE[3] * (float)growth;
    const double error_px = exp(log_error(base, local, t, slope_of(far), growth, q));
    const double correction_m = w->in->model.correction_m * sqrt(1.0 + t * t); /* along the ground, too */
    out->error_m = (float)hypot(w->in->model.metres_per_px * error_px, correction_m);
}

/* The nodes x0..x1 - 1 of all rows.  The sums around them move down by a row of blocks, and along each row:
 * what enters is added, what leaves is taken away, in double precision. */
static void find_part(const Work *w, int x0, int x1, double (*column)[AROUND])
{
    const int i0 = x0 > FAR_HALF ? x0 - FAR_HALF : 0, i1 = x1 + FAR_HALF < w->wide ? x1 + FAR_HALF : w->wide;
    for (int y = 0; y < FAR_HALF; y++)
        add_blocks(w, y, i0, i1, 1.0, column);
    for (int y = 0; y < w->high; y++) {
        double sum[AROUND] = {0.0};
        add_blocks(w, y + FAR_HALF, i0, i1, 1.0, column);
        add_blocks(w, y - FAR_HALF - 1, i0, i1, -1.0, column);
        for (int i = i0; i < x0 + FAR_HALF && i < i1; i++)
            add_column(column[i - i0], 1.0, sum);
        for (int x = x0; x < x1; x++) {
            Sums far;
            if (x + FAR_HALF < i1)
                add_column(column[x + FAR_HALF - i0], 1.0, sum);
            if (x - FAR_HALF - 1 >= i0)
                add_column(column[x - FAR_HALF - 1 - i0], -1.0, sum);
            for (int k = 0; k < (int)SUMS; k++)
                ((float *)&far)[k] = (float)fmax(sum[k], 0.0);
            const Sums near = sum_near(w, x, y);
            find_node(w, &near, &far, growth_of(sum), &w->node[(size_t)y * (size_t)w->wide + (size_t)x]);
        }
    }
}

static SdmStatus find_nodes(const Work *w)
{
    SdmStatus st = SDM_OK;
    const int threads = sdm_threads(w->ctx);
    const size_t columns = PART + 2 * FAR_HALF;
    double(*column)[AROUND] = NULL;
    TRY(sdm_alloc_raw(w->ctx, &column, columns * (size_t)threads, sizeof *column, "sums of blocks of cells"));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
    for (int x = 0; x < w->wide; x += PART) {
        double(*const own)[AROUND] = column + columns * (size_t)sdm_thread();
        memset(own, 0, columns * sizeof *own);
        find_part(w, x, x + PART < w->wide ? x + PART : w->wide, own);
    }
done:
    sdm_free(&column);
    return st;
}

static Node between(Node a, Node b, float share)
{
    return (Node){a.error_m + share * (b.error_m - a.error_m), a.slope + share * (b.slope - a.slope),
                  a.fill_m + share * (b.fill_m - a.fill_m), a.own + share * (b.own - a.own)};
}

/* Error of a cell: the block's, changed by the cell's own slope, which those beside none do not have. */
static float cell_error(Node at, float steep, bool filled)
{
    const bool inside = steep == steep;
    const float own = inside ? within(sqrtf(steep), 0.0f, (float)STEEPEST) : at.slope,
                z = own - at.slope;
    const float more = z * (at.own + OWN_SLOPE[1] * z),
                e = within(more, -0.7f, 0.7f);
    const float matched = at.error_m * (1.0f + e + 0.5f * e * e);
    const float beside = matched * (BESIDE + BESIDE_SLOPE * at.slope * at.slope);
    return filled ? sqrtf(matched * matched + at.fill_m * at.fill_m) : inside ? matched : beside;
}

/* Block before a row of cells, and the row's share of the way to the next one's middle. */
static int block_before(int row, int count, float *share)
{
    const float at = within(((float)row + 0.5f) / (float)SIDE - 0.5f, 0.0f, (float)(count - 1));
    const int first = (int)at < count - 1 ? (int)at : count > 1 ? count - 2 : 0;
    *share = at - (float)first;
    return first;
}

/* What the blocks' middles hold -> the cells from each to the next.  (Half a block lies before the first.) */
static void spread_nodes(const Work *w, Strip *s)
{
    for (int b = -1; b < w->wide; b++) {
        const Node *const at = &s->node[b < 0 ? 0 : b], *const next = &s->node[b + 1 < w->wide ? b + 1 : b];
        const float error = next->error_m - at->error_m, slope = next->slope - at->slope,
                    fill = next->fill_m - at->fill_m, own = next->own - at->own;
        const ptrdiff_t first = (ptrdiff_t)b * SIDE + SIDE / 2; /* from -SIDE / 2 on: there is room before */
        for (int i = 0; i < SIDE; i++) {
            const float share = ((float)i + 0.5f) / (float)SIDE;
            s->error[first + i] = at->error_m + share * error;
            s->slope[first + i] = at->slope + share * slope;
            s->fill[first + i] = at->fill_m + share * fill;
            s->own[first + i] = at->own + share * own;
        }
    }
}

/* A row of a strip, into the scores' place. */
SDM_VECTOR_LOOPS static void write_cells(const Work *w, const Strip *s, int row)
{
    const ptrdiff_t pitch = w->pitch, at = (ptrdiff_t)row * w->cols;
    const float *const h = s->height + (row + FAR_LAG) * pitch + FAR_LAG;
    const float per_cell[2] = {(float)(0.5 / w->in->side_m[0]), (float)(0.5 / w->in->side_m[1])};
    const float per_step = (float)(1.0 / w->in->step_m), most = (float)(NODATA - 1);
    const float *const error = s->error, *const slope = s->slope, *const fill = s->fill, *const own = s->own;
    const uint16_t *const mask = s->mask + at;
    uint16_t *const out = s->score + at;
    for (int x = 0; x < w->cols; x++) {
        const Node node = {error[x], slope[x], fill[x], own[x]};
        const bool filled = (mask[x] & SDM_QA_FILLED) != 0;
        const float steps = cell_error(node, steepness(h + x, pitch, per_cell), filled) * per_step;
        const int rounded = (int)((steps < most ? steps : most) + 0.5f);
        out[x] = (uint16_t)(mask[x] & SDM_QA_VALID ? rounded : NODATA);
    }
}

static void write_row(const Work *w, Strip *s, int row)
{
    float down;
    const int j = block_before(s->y0 + row, w->high, &down);
    const Node *const upper = w->node + (size_t)j * (size_t)w->wide,
               *const lower = w->high > 1 ? upper + w->wide : upper;
    for (int i = 0; i < w->wide; i++)
        s->node[i] = between(upper[i], lower[i], down);
    spread_nodes(w, s);
    write_cells(w, s, row);
}

static SdmStatus write_errors(const Work *w, Strip *s)
{
    SdmStatus st = SDM_OK;
    TRY(read_floats(w, w->in->height, s, s->height));
    TRY(move_rows(w, w->in->mask, GF_Read, s->y0, s->n, s->mask));
    for (int row = 0; row < s->n; row++)
        write_row(w, s, row);
    TRY(move_rows(w, w->in->error, GF_Write, s->y0, s->n, s->score));
#pragma omp critical(sdm_height_error)
    for (size_t i = 0; i < (size_t)s->n * (size_t)w->cols; i++)
        w->histogram[s->score[i]]++;
done:
    return st;
}

static double median_of(const Work *w)
{
    int64_t all = 0, below = 0;
    int i = 0;
    for (int k = 0; k < NODATA; k++)
        all += w->histogram[k];
    for (; i < NODATA && 2 * below < all; i++)
        below += w->histogram[i];
    return all ? (i - 1) * w->in->step_m : (double)NAN;
}

/* Strips at once: one for each thread, as far as a 32nd of the budget holds them. */
static int strips_at_once(const Work *w)
{
    const int64_t row = (int64_t)w->cols * 2 * (int64_t)sizeof(uint16_t) * STRIP,
                  wider = (int64_t)w->pitch * 2 * (int64_t)sizeof(float) * (STRIP + 2 * FAR_LAG),
                  fit = w->in->memory_bytes / 32 / (row + wider);
    const int most = sdm_threads(w->ctx) < AT_ONCE ? sdm_threads(w->ctx) : AT_ONCE;
    return fit < 1 ? 1 : fit < most ? (int)fit : most;
}

static SdmStatus open_cells(const Work *w, Strip *s)
{
    SdmStatus st = SDM_OK;
    const size_t room = (size_t)(w->wide + 1) * SIDE;
    TRY(sdm_alloc_raw(w->ctx, &s->cells, 4 * room, sizeof(float), "errors of a row of cells"));
    s->error = s->cells + SIDE / 2;
    s->slope = s->error + room;
    s->fill = s->slope + room;
    s->own = s->fill + room;
done:
    return st;
}

static SdmStatus open_strips(Work *w)
{
    SdmStatus st = SDM_OK;
    const size_t strip = (size_t)STRIP * (size_t)w->cols, wider = (size_t)w->pitch * (STRIP + 2 * FAR_LAG);
    TRY(sdm_alloc(w->ctx, &w->strip, (size_t)w->threads, sizeof *w->strip, "strips of cells"));
    for (int i = 0; i < w->threads; i++) {
        TRY(sdm_alloc_raw(w->ctx, &w->strip[i].height, wider, sizeof(float), "rows of heights"));
        TRY(sdm_alloc_raw(w->ctx, &w->strip[i].ortho, wider, sizeof(float), "rows of the orthoimage"));
        TRY(sdm_alloc_raw(w->ctx, &w->strip[i].mask, strip, sizeof(uint16_t), "rows of the mask"));
        TRY(sdm_alloc_raw(w->ctx, &w->strip[i].score, strip, sizeof(uint16_t), "rows of scores"));
        TRY(sdm_alloc_raw(w->ctx, &w->strip[i].node, (size_t)w->wide, sizeof(Node),
                          "errors of blocks of cells"));
        TRY(open_cells(w, &w->strip[i]));
    }
done:
    return st;
}

static void free_strips(Work *w)
{
    for (int i = 0; i < w->threads && w->strip; i++) {
        sdm_free(&w->strip[i].height);
        sdm_free(&w->strip[i].ortho);
        sdm_free(&w->strip[i].mask);
        sdm_free(&w->strip[i].score);
        sdm_free(&w->strip[i].node);
        sdm_free(&w->strip[i].cells);
    }
    sdm_free(&w->strip);
}

SdmStatus sdm_height_error_write(SdmContext *ctx, const SdmHeightErrorInput *in, double *median_m)
{
    SdmStatus st = SDM_OK;
    Work w = {.ctx = ctx, .in = in};
    w.cols = GDALGetRasterBandXSize(in->height);
    w.rows = GDALGetRasterBandYSize(in->height);
    w.wide = (w.cols + SIDE - 1) / SIDE;
    w.high = (w.rows + SIDE - 1) / SIDE;
    w.pitch = w.cols + 2 * FAR_LAG;
    w.strips = (w.rows + STRIP - 1) / STRIP;
    w.threads = strips_at_once(&w);
    const size_t blocks = (size_t)w.wide * (size_t)w.high;
    TRY(sdm_alloc_raw(ctx, &w.sums, blocks, sizeof *w.sums, "sums of blocks of cells"));
    TRY(sdm_alloc(ctx, &w.node, blocks, sizeof *w.node, "errors of blocks of cells"));
    TRY(open_strips(&w));
    TRY(sdm_alloc(ctx, &w.histogram, (size_t)NODATA + 1, sizeof *w.histogram, "errors by size"));
    TRY(each_strip(&w, sum_blocks));
    TRY(find_nodes(&w));
    TRY(each_strip(&w, write_errors));
    *median_m = median_of(&w);
done:
    sdm_free(&w.sums);
    sdm_free(&w.node);
    free_strips(&w);
    sdm_free(&w.histogram);
    return st;
}
