/* Heights of the layers over a block -> lines of its cells in the product's raster; map and histogram of all
 * rates. */
// SPDX-License-Identifier: Apache-2.0
#include "core/qa_reasons.h"
#include "coreg/stack_trend.h"
#include "geo/grid_part.h"
#include "product/change_raster.h"
#include "product/picture.h"

#include <math.h>

typedef struct TrendBlock {
    SdmStack *s;
    const SdmBlock *b; /* in cells of the part */
    const SdmTrendLayers *in;
    int64_t at[2]; /* its first cell in the grid of the layers */
    float *plane;  /* SDM_TREND_BANDS x h x w */
} TrendBlock;

/* ---- map and histogram ---- */

SdmStatus sdm_trend_map_open(SdmStack *s)
{
    SdmStatus st = SDM_OK;
    SdmStackTrend *const t = s->trend;
    const int64_t side = s->part.cols > s->part.rows ? s->part.cols : s->part.rows;
    t->factor = (int)((side + SDM_CHANGE_PREVIEW - 1) / SDM_CHANGE_PREVIEW);
    t->width = (int)((s->part.cols + t->factor - 1) / t->factor);
    t->height = (int)((s->part.rows + t->factor - 1) / t->factor);
    const size_t n = (size_t)t->width * (size_t)t->height;
    TRY(sdm_alloc(s->ctx, &t->sum, n, sizeof *t->sum, "map of rates"));
    TRY(sdm_alloc(s->ctx, &t->count, n, sizeof *t->count, "map of rates"));
    TRY(sdm_alloc(s->ctx, &t->histogram, SDM_TREND_BINS, sizeof *t->histogram, "map of rates"));
done:
    return st;
}

static void count_cell(SdmStackTrend *t, int64_t col, int64_t row, float rate, float error)
{
    const int64_t pixel = row / t->factor * t->width + col / t->factor, half = SDM_TREND_BINS / 2,
                  steps = llround((double)rate / SDM_TREND_STEP);
    t->cells++;
    t->certain += fabsf(rate) > 2.0f * error;
    t->histogram[steps < -half ? 0 : steps >= half ? SDM_TREND_BINS - 1 : steps + half]++;
    t->sum[pixel] += steps;
    t->count[pixel]++;
}

static double mean_rate(const SdmStackTrend *t, int64_t pixel)
{
    return t->count[pixel] ? (double)t->sum[pixel] / (double)t->count[pixel] * SDM_TREND_STEP : (double)NAN;
}

/* Rate of the strongest colour: 1, 2 or 5 times a power of ten, beyond which lie at most 2 % of the cells. */
static double choose_limit(const SdmStackTrend *t)
{
    int64_t inside = t->histogram[SDM_TREND_BINS / 2];
    int k = 0;
    while (++k < SDM_TREND_BINS / 2 && 50 * inside < 49 * t->cells)
        inside += t->histogram[SDM_TREND_BINS / 2 - k] + t->histogram[SDM_TREND_BINS / 2 + k];
    const double most = fmax(k * SDM_TREND_STEP, 0.01), unit = pow(10.0, floor(log10(most)));
    return unit * (most > 5.0 * unit ? 10.0 : most > 2.0 * unit ? 5.0 : most > unit ? 2.0 : 1.0);
}

static SdmStatus draw(SdmContext *ctx, SdmStackTrend *t)
{
    SdmStatus st = SDM_OK;
    unsigned char *rgba = NULL;
    const int64_t n = (int64_t)t->width * t->height;
    TRY(sdm_alloc(ctx, &rgba, (size_t)n, 4, "map of rates"));
    for (int64_t i = 0; i < n; i++)
        if (t->count[i]) { /* others stay transparent */
            sdm_change_colour(mean_rate(t, i) / t->limit, rgba + 4 * i);
            rgba[4 * i + 3] = 255;
        }
    TRY(sdm_picture_page(ctx, rgba, t->width, t->height, &t->map));
done:
    sdm_free(&rgba);
    return st;
}

/* Rate of a pixel of the map whose middle is stable ground, else NaN. */
static float stable_rate(const SdmStack *s, const int64_t at[2], int64_t pixel)
{
    const SdmStackTrend *const t = s->trend;
    const int64_t half = t->factor / 2,
                  col = (at[0] + pixel % t->width * t->factor + half) / s->sample_step,
                  row = (at[1] + pixel / t->width * t->factor + half) / s->sample_step;
    const bool is = col < t->cols && row < t->rows && !t->moving[row * t->cols + col] &&
                    2 * t->count[pixel] > t->factor * t->factor;
    return is ? (float)mean_rate(t, pixel) : NAN;
}

/* Errors of mean rates over squares of stable ground. */
static SdmStatus measure_areas(SdmStack *s)
{
    static const double side_m[SDM_TREND_AREAS] = {300.0, 1000.0, 3000.0, 10000.0};
    SdmStatus st = SDM_OK;
    SdmStackTrend *const t = s->trend;
    float *rate = NULL, *spare = NULL;
    int64_t at[2];
    const int64_t n = (int64_t)t->width * t->height;
    TRY(sdm_alloc(s->ctx, &rate, (size_t)n, sizeof *rate, "map of rates"));
    TRY(sdm_alloc(s->ctx, &spare, (size_t)n, sizeof *spare, "map of rates"));
    sdm_part_at(&s->grid, &s->part, at);
    for (int64_t i = 0; i < n; i++)
        rate[i] = stable_rate(s, at, i);
    for (int k = 0; k < SDM_TREND_AREAS; k++) {
        t->area[k].lag_m = side_m[k];
        sdm_error_lag_grid(rate, t->width, t->height, t->factor * s->dx_m, t->factor * s->dy_m, spare,
                           &t->area[k]);
    }
done:
    sdm_free(&spare);
    sdm_free(&rate);
    return st;
}

SdmStatus sdm_trend_finish(SdmStack *s)
{
    SdmStatus st = SDM_OK;
    if (s->trend->cells == 0)
        return sdm_fail(s->ctx, SDM_ERR_DATA,
                        "--trend: no cell has heights of %d dates or more that lie over five weeks apart",
                        SDM_TREND_LEAST);
    s->trend->limit = choose_limit(s->trend);
    TRY(measure_areas(s));
    TRY(draw(s->ctx, s->trend));
done:
    return st;
}

/* ---- a block ---- */

/* Heights and weights of n cells of a row of the block, from its cell `first` on. */
static void gather(const TrendBlock *k, int64_t first, int n, SdmTrendSeries *series)
{
    const int64_t col = k->at[0] + first % k->b->w, row = k->at[1] + first / k->b->w;
    series->n = k->in->count;
    for (int i = 0; i < series->n; i++) {
        const SdmLayer *const l = &k->s->layer[k->in->index[i]];
        const float *const height_m = k->in->height_m[i] + first,
                    *const error_m = k->in->error_m[i] ? k->in->error_m[i] + first : NULL;
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

/* Lines of n cells -> the planes, rounded. */
static void put(const TrendBlock *k, int64_t first, int n, const SdmTrend *line)
{
    static const float step[SDM_TREND_BANDS] = {(float)SDM_TREND_STEP, (float)SDM_TREND_STEP, 1.0f, 0.0078125f,
                                                0.015625f};
    const float *const from[SDM_TREND_BANDS] = {line->rate, line->error, line->count, line->span,
                                                line->nmad_m};
    for (int band = 0; band < SDM_TREND_BANDS; band++)
        for (int c = 0; c < n; c++) {
            const bool none = isnan(line->rate[c]) || (k->b->mask[first + c] & SDM_QA_MASKED);
            k->plane[band * k->b->w * k->b->h + first + c] =
                none ? SDM_NODATA : floorf(from[band][c] / step[band] + 0.5f) * step[band];
        }
}

static SdmStatus fit_rows(TrendBlock *k)
{
    SdmStatus why = SDM_OK;
#pragma omp parallel num_threads(k->s->threads)
    {
        SdmTrendSeries series = {0};
        SdmTrend line;
        const SdmStatus one = sdm_trend_room(k->s->ctx, k->in->count, &series);
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
    const int64_t n = b->w * b->h;
    sdm_part_at(&s->grid, &s->part, k.at);
    k.at[0] += b->col0;
    k.at[1] += b->row0;
    TRY(sdm_alloc_raw(s->ctx, &k.plane, (size_t)n, SDM_TREND_BANDS * sizeof *k.plane, "block"));
    TRY(fit_rows(&k));
    for (int64_t i = 0; i < n; i++)
        if (k.plane[i] != SDM_NODATA)
            count_cell(s->trend, b->col0 + i % b->w, b->row0 + i / b->w, k.plane[i], k.plane[n + i]);
    TRY(sdm_product_write_trend(s->ctx, product, b, k.plane));
done:
    sdm_free(&k.plane);
    return st;
}
