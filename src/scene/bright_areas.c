/* An image level -> its bright areas, and the level without them. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/bright_areas.h"

#include <math.h>

enum { SQUARE_LEVELS = 24, FLAT_HALF = 4 /* px */ };

int sdm_split_grey(const SdmLevelImage *image, double *share)
{
    enum { BINS = 256, UNIT = 16, LOWEST = -2048 };
    int64_t count[BINS] = {0}, all = 0, sum_all = 0, n = 0, sum = 0;
    double best = -1.0;
    int above = INT16_MAX;
    for (int64_t i = 0; i < image->w * image->h; i++) {
        const int bin = (image->data[i] - LOWEST) / UNIT;
        if (image->data[i] != SDM_PIXEL_NODATA)
            count[bin < 0 ? 0 : bin < BINS ? bin : BINS - 1]++;
    }
    for (int k = 0; k < BINS; k++) {
        all += count[k];
        sum_all += count[k] * k;
    }
    for (int k = 0; k < BINS - 1; k++) {
        n += count[k];
        sum += count[k] * k;
        if (n == 0 || n == all)
            continue;
        const double apart = (double)(sum_all - sum) / (double)(all - n) - (double)sum / (double)n,
                     between = (double)n * (double)(all - n) * apart * apart;
        if (between > best) {
            best = between;
            above = LOWEST + (k + 1) * UNIT;
        }
    }
    double square = 0.0;
    for (int k = 0; k < BINS; k++)
        square += (double)count[k] * k * k;
    *share = best / (square * (double)all - (double)sum_all * (double)sum_all);
    return above;
}

/* Sums over squares of 2^k x 2^k pixels of an image, one level after the other. */
typedef struct Squares {
    int levels; /* the last one is a single square */
    int64_t w[SQUARE_LEVELS], h[SQUARE_LEVELS], at[SQUARE_LEVELS];
    float *sum, *weight; /* grey values, later their means; pixels */
} Squares;

static SdmStatus open_squares(SdmContext *ctx, const SdmLevelImage *image, Squares *q)
{
    SdmStatus st = SDM_OK;
    int64_t total = image->w * image->h;
    *q = (Squares){.levels = 1, .w = {image->w}, .h = {image->h}};
    while (q->w[q->levels - 1] * q->h[q->levels - 1] > 1 && q->levels < SQUARE_LEVELS) {
        const int l = q->levels++;
        q->w[l] = (q->w[l - 1] + 1) / 2;
        q->h[l] = (q->h[l - 1] + 1) / 2;
        q->at[l] = total;
        total += q->w[l] * q->h[l];
    }
    TRY(sdm_alloc(ctx, &q->sum, (size_t)total, sizeof *q->sum, "the ground's grey values"));
    TRY(sdm_alloc(ctx, &q->weight, (size_t)total, sizeof *q->weight, "the ground's grey values"));
done:
    return st;
}

/* Is a pixel or one beside it above the limit? */
static bool is_beside_bright(const SdmLevelImage *image, int above, int64_t x, int64_t y)
{
    for (int64_t j = y > 0 ? y - 1 : 0; j <= y + 1 && j < image->h; j++)
        for (int64_t i = x > 0 ? x - 1 : 0; i <= x + 1 && i < image->w; i++)
            if (image->data[j * image->w + i] > above)
                return true;
    return false;
}

static void sum_dark(const SdmLevelImage *image, int above, Squares *q)
{
    for (int64_t i = 0; i < image->w * image->h; i++) {
        const bool dark = image->data[i] != SDM_PIXEL_NODATA &&
                          !is_beside_bright(image, above, i % image->w, i / image->w);
        q->weight[i] = dark;
        q->sum[i] = dark ? (float)image->data[i] : 0.0f;
    }
    for (int l = 1; l < q->levels; l++)
        for (int64_t i = 0; i < q->w[l - 1] * q->h[l - 1]; i++) {
            const int64_t x = i % q->w[l - 1], y = i / q->w[l - 1], to = q->at[l] + y / 2 * q->w[l] + x / 2;
            q->sum[to] += q->sum[q->at[l - 1] + i];
            q->weight[to] += q->weight[q->at[l - 1] + i];
        }
}

/* Bilinear between the means of level l at pixel (x, y) of the finer one. */
static float mean_above(const Squares *q, int l, int64_t x, int64_t y)
{
    const double cx = 0.5 * (double)x - 0.25, cy = 0.5 * (double)y - 0.25;
    double sum = 0.0, all = 0.0;
    for (int k = 0; k < 4; k++) {
        const int64_t i = (int64_t)floor(cx) + (k & 1), j = (int64_t)floor(cy) + (k >> 1);
        if (i < 0 || j < 0 || i >= q->w[l] || j >= q->h[l])
            continue;
        const double f = (1.0 - fabs(cx - (double)i)) * (1.0 - fabs(cy - (double)j));
        sum += f * (double)q->sum[q->at[l] + j * q->w[l] + i];
        all += f;
    }
    return (float)(sum / all);
}

/* Median of the pixels `step` apart, `half` to either side, that have data. */
static int16_t median_along(const int16_t *p, int64_t step, int64_t before, int64_t after)
{
    int16_t sorted[2 * FLAT_HALF + 1];
    int n = 0;
    for (int64_t k = -before; k <= after; k++) {
        const int16_t v = p[k * step];
        int i = n;
        if (v == SDM_PIXEL_NODATA)
            continue;
        for (; i > 0 && sorted[i - 1] > v; i--)
            sorted[i] = sorted[i - 1];
        sorted[i] = v;
        n++;
    }
    return n > 0 ? sorted[n / 2] : SDM_PIXEL_NODATA;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Subtract from each pixel the median of the medians of its rows. */
static SdmStatus flatten(SdmContext *ctx, SdmLevelImage *image)
{
    SdmStatus st = SDM_OK;
    const int64_t w = image->w, h = image->h;
    int16_t *rows = NULL;
    TRY(sdm_alloc_raw(ctx, &rows, (size_t)(w * h), sizeof *rows, "an image without shadows"));
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++)
            rows[y * w + x] = median_along(image->data + y * w + x, 1, least(x, FLAT_HALF),
                                           least(w - 1 - x, FLAT_HALF));
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++) {
            int16_t *const v = &image->data[y * w + x];
            if (*v != SDM_PIXEL_NODATA)
                *v = (int16_t)(*v - median_along(rows + y * w + x, w, least(y, FLAT_HALF),
                                                 least(h - 1 - y, FLAT_HALF)));
        }
done:
    sdm_free(&rows);
    return st;
}

SdmStatus sdm_hide_bright(SdmContext *ctx, int above, SdmLevelImage *image)
{
    SdmStatus st = SDM_OK;
    Squares q = {.levels = 0};
    TRY(open_squares(ctx, image, &q));
    sum_dark(image, above, &q);
    for (int l = q.levels - 1; l >= 0; l--)
        for (int64_t i = 0; i < q.w[l] * q.h[l]; i++) {
            const int64_t at = q.at[l] + i;
            if (q.weight[at] > 0.0f)
                q.sum[at] /= q.weight[at];
            else if (l + 1 < q.levels)
                q.sum[at] = mean_above(&q, l + 1, i % q.w[l], i / q.w[l]);
        }
    for (int64_t i = 0; i < image->w * image->h; i++)
        if (q.weight[i] <= 0.0f && image->data[i] != SDM_PIXEL_NODATA)
            image->data[i] = (int16_t)q.sum[i];
    TRY(flatten(ctx, image));
done:
    sdm_free(&q.sum);
    sdm_free(&q.weight);
    return st;
}
