/* Heights of the layers over a block -> lines of its cells, in the product's
 * raster; their histogram and map. */
// SPDX-License-Identifier: Apache-2.0
#include "core/qa_reasons.h"
#include "coreg/stack_trend.h"
#include "geo/grid_part.h"
#include "product/change_raster.h"
#include "product/picture.h"

#include <cpl_error.h>
#include <math.h>
#include <string.h>

typedef struct TrendBlock {
    SdmStack *s;
    const SdmBlock *b;
    const SdmTrendLayers *in;
    int64_t at[2];   /* the block's first cell in the grid of the layers */
    float **error_m; /* in->count x (h x w): predicted errors; NULL where a layer
                        has none */
    float *plane;    /* SDM_TREND_BANDS x (h x w) */
} TrendBlock;

/* ---- the map ---- */

SdmStatus sdm_trend_map_open(SdmStack *s)
{
    SdmStatus st = SDM_OK;
    SdmStackTrend *const t = s->trend;
    const int64_t side = s->part.cols > s->part.rows ? s->part.cols : s->part.rows;
    t->cells_px = (int)((side + SDM_CHANGE_PREVIEW - 1) / SDM_CHANGE_PREVIEW);
    t->width = (int)((s->part.cols + t->cells_px - 1) / t->cells_px);
    t->height = (int)((s->part.rows + t->cells_px - 1) / t->cells_px);
    const size_t n = (size_t)t->width * (size_t)t->height;
    TRY(sdm_alloc(s->ctx, &t->sum, n, sizeof *t->sum, "map of rates"));
    TRY(sdm_alloc(s->ctx, &t->count, n, sizeof *t->count, "map of rates"));
    TRY(sdm_alloc(s->ctx, &t->histogram, 2 * SDM_TREND_BINS, sizeof *t->histogram, "map of rates"));
done:
    return st;
}

static void count_cell(SdmStackTrend *t, int64_t col, int64_t row, float rate, float error)
{
    const int64_t pixel = row / t->cells_px * t->width + col / t->cells_px,
                  steps = (int64_t)((double)rate / SDM_TREND_STEP), half = SDM_TREND_BINS / 2,
                  bin = steps < -half   ? 0
                        : steps >= half ? SDM_TREND_BINS - 1
                                        : steps + half,
                  of_error = (int64_t)((double)error / SDM_TREND_STEP);
    t->cells++;
    t->certain += fabsf(rate) > 2.0f * error;
    t->histogram[bin]++;
    t->histogram[SDM_TREND_BINS + (of_error < SDM_TREND_BINS ? of_error : SDM_TREND_BINS - 1)]++;
    t->sum[pixel] += steps;
    t->count[pixel]++;
}

static void count_block(const TrendBlock *k)
{
    const SdmBlock *const b = k->b;
    for (int64_t i = 0; i < b->w * b->h; i++)
        if (k->plane[i] != SDM_NODATA)
            count_cell(k->s->trend, b->col0 + i % b->w, b->row0 + i / b->w, k->plane[i],
                       k->plane[b->w * b->h + i]);
}

double sdm_trend_quantile(const SdmStackTrend *t, int of_errors, double q)
{
    const int64_t *const bin = t->histogram + of_errors * SDM_TREND_BINS;
    int64_t sum = bin[0];
    int k = 0;
    while (k < SDM_TREND_BINS - 1 && (double)sum < q * (double)t->cells)
        sum += bin[++k];
    return t->cells ? (k + 0.5 - (of_errors ? 0.0 : SDM_TREND_BINS / 2)) * SDM_TREND_STEP : (double)NAN;
}

double sdm_trend_mean(const SdmStackTrend *t, int64_t pixel)
{
    return t->count[pixel] ? (double)t->sum[pixel] / t->count[pixel] * SDM_TREND_STEP : (double)NAN;
}

SdmStatus sdm_trend_picture(SdmContext *ctx, const SdmStackTrend *t, SdmPng *out)
{
    SdmStatus st = SDM_OK;
    unsigned char *rgba = NULL;
    const int64_t n = (int64_t)t->width * t->height;
    TRY(sdm_alloc(ctx, &rgba, (size_t)n, 4, "map of rates"));
    for (int64_t i = 0; i < n; i++)
        if (t->count[i]) { /* others stay transparent */
            sdm_change_colour(sdm_trend_mean(t, i) / t->limit, rgba + 4 * i);
            rgba[4 * i + 3] = 255;
        }
    TRY(sdm_picture_page(ctx, rgba, t->width, t->height, out));
done:
    sdm_free(&rgba);
    return st;
}

/* ---- a block ---- */

/* Predicted errors of a layer over the block. */
static SdmStatus read_errors(TrendBlock *k, int i)
{
    SdmStatus st = SDM_OK;
    SdmLayer of_errors = k->s->layer[k->in->index[i]];
    if (!of_errors.error)
        return SDM_OK;
    of_errors.path = of_errors.error;
    of_errors.qa = NULL;
    TRY(sdm_alloc_raw(k->s->ctx, &k->error_m[i], (size_t)(k->b->w * k->b->h), sizeof(float), "block"));
    TRY(sdm_layer_read(
        k->s, &of_errors,
        (SdmCellWindow){.col0 = k->at[0], .row0 = k->at[1], .w = k->b->w, .h = k->b->h, .stride = 1},
        k->error_m[i], NULL));
done:
    return st;
}

static SdmStatus read_all_errors(TrendBlock *k)
{
    SdmStatus why = SDM_OK;
#pragma omp parallel for schedule(dynamic, 1) num_threads(k->s->threads)
    for (int i = 0; i < k->in->count; i++) {
        const SdmStatus one = read_errors(k, i);
#pragma omp critical(stack_status)
        why = one && !why ? one : why;
    }
    return why;
}

/* Heights and weights of n cells of a row of the block, from its cell `first`
 * on. */
static void gather(const TrendBlock *k, int64_t first, int n, SdmTrendSeries *series)
{
    const int64_t col = k->at[0] + first % k->b->w, row = k->at[1] + first / k->b->w;
    series->n = k->in->count;
    for (int i = 0; i < series->n; i++) {
        const SdmLayer *const l = &k->s->layer[k->in->index[i]];
        const float *const height_m = k->in->height_m[i] + first, *const error_m = k->error_m[i]
                                                                                       ? k->error_m[i] + first
                                                                                       : NULL;
        const uint8_t *const filled = k->in->filled[i] + first;
        const float tilt_m = (float)sdm_layer_bias(k->s, l, col, row), across_m = (float)l->tilt_m[1],
                    shared = (float)(l->scene_m * l->scene_m), usual = (float)(1.0 / l->scene_m);
        series->year[i] = (float)(l->year - k->s->trend->mid_year);
        for (int c = 0; c < SDM_TREND_CELLS; c++) {
            const bool is = c < n && !filled[c];
            series->height_m[i][c] = is ? height_m[c] - (tilt_m + across_m * (float)c) : NAN;
            series->weight[i][c] =
                is && error_m && error_m[c] > 0.0f ? 1.0f / sqrtf(shared + error_m[c] * error_m[c]) : usual;
        }
    }
}

static float rounded(float value, float step)
{
    return isnan(value) ? SDM_NODATA : floorf(value / step + 0.5f) * step;
}

/* Lines of n cells -> the planes. */
static void put(const TrendBlock *k, int64_t first, int n, const SdmTrend *line)
{
    static const float step[SDM_TREND_BANDS] = {(float)SDM_TREND_STEP, (float)SDM_TREND_STEP, 1.0f,
                                                0.0078125f, 0.015625f};
    const float *const from[SDM_TREND_BANDS] = {line->rate, line->error, line->count, line->span,
                                                line->nmad_m};
    for (int band = 0; band < SDM_TREND_BANDS; band++)
        for (int c = 0; c < n; c++) {
            const bool none = isnan(line->rate[c]) || k->b->mask[first + c] & SDM_QA_MASKED;
            k->plane[band * k->b->w * k->b->h + first + c] =
                none ? SDM_NODATA : rounded(from[band][c], step[band]);
        }
}

static SdmStatus fit_rows(TrendBlock *k)
{
    SdmStatus why = SDM_OK;
#pragma omp parallel num_threads(k->s->threads)
    {
        SdmTrendSeries series = {0};
        SdmTrend line;
        const SdmStatus one = sdm_trend_room(k->s->ctx, k->in->count + 1, &series);
#pragma omp critical(stack_status)
        why = one && !why ? one : why;
#pragma omp for schedule(dynamic, 4)
        for (int64_t row = 0; row < k->b->h; row++)
            for (int64_t col = 0; col < k->b->w && !one; col += SDM_TREND_CELLS) {
                const int n = (int)(k->b->w - col < SDM_TREND_CELLS ? k->b->w - col : SDM_TREND_CELLS);
                gather(k, row * k->b->w + col, n, &series);
                sdm_trend_fit(&series, &line);
                put(k, row * k->b->w + col, n, &line);
            }
        sdm_trend_room_free(&series);
    }
    return why;
}

SdmStatus sdm_trend_block(SdmStack *s, SdmProduct *product, const SdmBlock *b, const SdmTrendLayers *in)
{
    SdmStatus st = SDM_OK;
    TrendBlock k = {.s = s, .b = b, .in = in};
    sdm_part_at(&s->grid, &s->part, k.at);
    k.at[0] += b->col0;
    k.at[1] += b->row0;
    TRY(sdm_alloc(s->ctx, &k.error_m, (size_t)in->count + 1, sizeof *k.error_m, "block"));
    TRY(sdm_alloc_raw(s->ctx, &k.plane, (size_t)(b->w * b->h), SDM_TREND_BANDS * sizeof *k.plane, "block"));
    TRY(read_all_errors(&k));
    TRY(fit_rows(&k));
    count_block(&k);
    TRY(sdm_product_write_trend(s->ctx, product, b, k.plane));
done:
    for (int i = 0; k.error_m && i < in->count; i++)
        sdm_free(&k.error_m[i]);
    sdm_free(&k.error_m);
    sdm_free(&k.plane);
    return st;
}
