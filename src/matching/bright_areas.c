/* An image level -> its bright areas, and the level without them or without veils. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/pyramid.h"

#include <math.h>
#include <string.h>

enum { FLAT_HALF = 4 /* px */, MOST = 2047 /* of signed 12 bits */ };

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

/* Is a pixel or one beside it above the limit? */
static bool is_beside_bright(const SdmLevelImage *image, int above, int64_t x, int64_t y)
{
    for (int64_t j = y > 0 ? y - 1 : 0; j <= y + 1 && j < image->h; j++)
        for (int64_t i = x > 0 ? x - 1 : 0; i <= x + 1 && i < image->w; i++)
            if (image->data[j * image->w + i] > above)
                return true;
    return false;
}

/* Sorted values of a window. */
typedef struct Sorted {
    int count;
    int16_t value[2 * FLAT_HALF + 1];
} Sorted;

static void take_in(int16_t v, Sorted *s)
{
    int at = s->count++;
    for (; at > 0 && s->value[at - 1] > v; at--)
        s->value[at] = s->value[at - 1];
    s->value[at] = v;
}

static void take_out(int16_t v, Sorted *s)
{
    int at = 0;
    while (s->value[at] != v)
        at++;
    for (s->count--; at < s->count; at++)
        s->value[at] = s->value[at + 1];
}

/* The median about each of n pixels, `step` apart, of those up to FLAT_HALF from it that have data. */
static void find_medians(const int16_t *p, int64_t n, int64_t step, int16_t *out)
{
    Sorted s = {0};
    for (int64_t i = -FLAT_HALF; i < n; i++) {
        const int64_t enters = i + FLAT_HALF, leaves = i - FLAT_HALF - 1;
        if (leaves >= 0 && p[leaves * step] != SDM_PIXEL_NODATA)
            take_out(p[leaves * step], &s);
        if (enters < n && p[enters * step] != SDM_PIXEL_NODATA)
            take_in(p[enters * step], &s);
        if (i >= 0)
            out[i * step] = s.count > 0 ? s.value[s.count / 2] : SDM_PIXEL_NODATA;
    }
}

/* A grey value less that around, within the range of the kernels. */
static int16_t flat(int grey, int around)
{
    const int off = grey - around;
    return (int16_t)(off < -MOST ? -MOST : off > MOST ? MOST : off);
}

SdmStatus sdm_take_veil_off(SdmContext *ctx, SdmLevelImage *image)
{
    const int64_t w = image->w, h = image->h;
    SDM_OWNED int16_t *veiled = NULL;
    SDM_OWNED int32_t *sums = NULL; /* of a column's rows, and how many have data */
    PASS(sdm_alloc_raw(ctx, &veiled, (size_t)(w * h), sizeof *veiled, "an image with veils"));
    PASS(sdm_alloc(ctx, &sums, 2 * (size_t)w, sizeof *sums, "means of an image"));
    memcpy(veiled, image->data, (size_t)(w * h) * sizeof *veiled);
    for (int64_t y = -FLAT_HALF; y < h; y++) {
        for (int64_t x = 0; x < w; x++)
            for (int sign = -1; sign <= 1; sign += 2) {
                const int64_t row = sign > 0 ? y + FLAT_HALF : y - FLAT_HALF - 1;
                const int16_t v = row >= 0 && row < h ? veiled[row * w + x] : SDM_PIXEL_NODATA;
                sums[2 * x] += v != SDM_PIXEL_NODATA ? sign * v : 0;
                sums[2 * x + 1] += v != SDM_PIXEL_NODATA ? sign : 0;
            }
        int32_t sum = 0, count = 0;
        for (int64_t x = -FLAT_HALF; x < w && y >= 0; x++) {
            const int64_t enters = x + FLAT_HALF, leaves = x - FLAT_HALF - 1;
            sum += (enters < w ? sums[2 * enters] : 0) - (leaves >= 0 ? sums[2 * leaves] : 0);
            count += (enters < w ? sums[2 * enters + 1] : 0) - (leaves >= 0 ? sums[2 * leaves + 1] : 0);
            if (x >= 0 && veiled[y * w + x] != SDM_PIXEL_NODATA)
                image->data[y * w + x] = flat(veiled[y * w + x], sum / count);
        }
    }
    return SDM_OK;
}

/* A small value that depends on the place and the view alone. */
static int16_t noise_at(int64_t x, int64_t y, int side)
{
    uint32_t v = (uint32_t)x * 0x9e3779b1u ^ (uint32_t)y * 0x85ebca6bu ^ (uint32_t)side * 0xc2b2ae35u;
    v = (v ^ v >> 15) * 0x2c1b3c6du;
    v = (v ^ v >> 12) * 0x297a2d39u;
    return (int16_t)((int)(v >> 28) - 8);
}

SdmStatus sdm_hide_bright(SdmContext *ctx, int above, int side, SdmLevelImage *image)
{
    const int64_t w = image->w, h = image->h;
    SDM_OWNED int16_t *dark = NULL, *rows = NULL, *around = NULL; /* no data where bright */
    PASS(SDM_ALLOC_RAW(ctx, "an image without clouds", SDM_ARRAY(dark, (size_t)(w * h)),
                       SDM_ARRAY(rows, (size_t)(w * h)), SDM_ARRAY(around, (size_t)(w * h))));
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++)
            dark[y * w + x] =
                is_beside_bright(image, above, x, y) ? SDM_PIXEL_NODATA : image->data[y * w + x];
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int64_t y = 0; y < h; y++)
        find_medians(dark + y * w, w, 1, rows + y * w);
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int64_t x = 0; x < w; x++)
        find_medians(rows + x, h, w, around + x);
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int64_t y = 0; y < h; y++)
        for (int64_t x = 0; x < w; x++) {
            const int64_t i = y * w + x;
            if (dark[i] != SDM_PIXEL_NODATA)
                image->data[i] = flat(dark[i], around[i]);
            else if (image->data[i] != SDM_PIXEL_NODATA)
                image->data[i] = noise_at(image->x0 + x, image->y0 + y, side);
        }
    return SDM_OK;
}
