/* Heights of the layers over a block -> lines of its cells in the product's raster; a map of all rates. */
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

/* ---- map ---- */

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
done:
    return st;
}

SdmStatus sdm_trend_draw(SdmContext *ctx, SdmStackTrend *t)
{
    SdmStatus st = SDM_OK;
    unsigned char *rgba = NULL;
    const int64_t n = (int64_t)t->width * t->height;
    TRY(sdm_alloc(ctx, &rgba, (size_t)n, 4, "map of rates"));
    for (int64_t i = 0; i < n; i++)
        if (t->count[i]) { /* others stay transparent */
            const double rate = (double)t->sum[i] / (double)t->count[i] * SDM_TREND_STEP;
            sdm_change_ramp(0.5 + 0.5 * rate / t->limit, rgba + 4 * i);
            rgba[4 * i + 3] = 255;
        }
    TRY(sdm_picture_page(ctx, rgba, t->width, t->height, &t->map));
done:
    sdm_free(&rgba);
    return st;
}

/* ---- a block ---- */

/* Heights and weights from a cell of the block on. */
static void gather(void *user, int64_t row, int64_t col, SdmTrendSeries *series)
{
    const TrendBlock *const k = user;
    const int64_t first = row * k->b->w + col;
    series->n = k->in->count;
    for (int i = 0; i < series->n; i++) {
        const SdmLayer *const l = &k->s->layer[k->in->index[i]];
        const float *const height_m = k->in->height_m[i] + first, *const error_m =
                                                                      k->in->error_m[i]
                                                                          ? k->in->error_m[i] + first
                                                                          : NULL;
        const uint8_t *const filled = k->in->filled[i] + first;
        const float tilt_m = (float)sdm_layer_bias(k->s, l, k->at[0] + col, k->at[1] + row),
                    across_m = (float)l->tilt_m[1], shared = (float)(l->scene_m * l->scene_m);
        series->year[i] = (float)(l->year - k->s->trend->mid_year);
        for (int c = 0; c < SDM_TREND_CELLS; c++) {
            const bool is = col + c < k->b->w && !filled[c];
            const float own = is && error_m && error_m[c] > 0.0f ? error_m[c] : 0.0f;
            series->height_m[i][c] = is ? height_m[c] - (tilt_m + across_m * (float)c) : NAN;
            series->weight[i][c] = 1.0f / sqrtf(shared + own * own);
        }
    }
}

/* Lines -> the planes, rounded. */
static void put(void *user, int64_t row, int64_t col, const SdmTrend *line)
{
    static const float step[SDM_TREND_BANDS] = {(float)SDM_TREND_STEP, (float)SDM_TREND_STEP, 1.0f,
                                                0.0078125f, 0.015625f};
    const TrendBlock *const k = user;
    const float *const from[SDM_TREND_BANDS] = {line->rate, line->error, line->count, line->span,
                                                line->nmad_m};
    for (int band = 0; band < SDM_TREND_BANDS; band++)
        for (int c = 0; c < SDM_TREND_CELLS && col + c < k->b->w; c++) {
            const int64_t at = row * k->b->w + col + c;
            const bool none = isnan(line->rate[c]) || (k->b->mask[at] & SDM_QA_MASKED);
            k->plane[band * k->b->w * k->b->h + at] =
                none ? SDM_NODATA : floorf(from[band][c] / step[band] + 0.5f) * step[band];
        }
}

SdmStatus sdm_trend_block(SdmStack *s, SdmProduct *product, const SdmBlock *b, const SdmTrendLayers *in)
{
    SdmStatus st = SDM_OK;
    TrendBlock k = {.s = s, .b = b, .in = in};
    SdmStackTrend *const t = s->trend;
    sdm_part_at(&s->grid, &s->part, k.at);
    k.at[0] += b->col0;
    k.at[1] += b->row0;
    TRY(sdm_alloc_raw(s->ctx, &k.plane, (size_t)(b->w * b->h), SDM_TREND_BANDS * sizeof *k.plane, "block"));
    TRY(sdm_trend_fit_rows(s, &(SdmTrendWork){in->count, b->w, b->h, gather, put, &k}));
    for (int64_t i = 0; i < b->w * b->h; i++) {
        const int64_t pixel = (b->row0 + i / b->w) / t->factor * t->width + (b->col0 + i % b->w) / t->factor;
        const bool is = k.plane[i] != SDM_NODATA;
        t->sum[pixel] += is ? llround((double)k.plane[i] / SDM_TREND_STEP) : 0;
        t->count[pixel] += is;
    }
    TRY(sdm_product_write_trend(s->ctx, product, b, k.plane));
done:
    sdm_free(&k.plane);
    return st;
}
