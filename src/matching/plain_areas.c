/* Areas without texture: their pixels, how well each place fits, and the one place that does. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/plain_areas.h"

#include "core/math.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    HALF = 2,           /* of the windows that have little texture */
    TEXTURE_MOST = 24,  /* their standard deviation, of 12 bits */
    AREA_LEAST = 100,   /* px */
    RIM = 2,            /* px by which an area grows beyond the middles of its windows */
    APART_PX = 2,       /* places further apart are two */
    TAKEN = 2,          /* of a mask: belongs to an area */
    BIN = 8,            /* levels of 12 bits that are counted together */
    BINS = 4096 / BIN
};
#define MISS_MOST 0.10f  /* share of an area's pixels that may differ at its place */
#define MISS_APART 0.03f /* so many more must differ at other places */
#define MISS_LEAST 16.0f /* px: likewise */
#define NOISE_LEAST 0.4  /* mean squared difference of neighbours / twice the variance: 1 for noise, 0.4 or
                          * more once it is warped to the frame; 0.1 to 0.3 for weak texture, whose census
                          * words tell its place */
#define SIGMAS 3.0       /* of the noise: values that are one grey value */

typedef struct Area {
    int32_t *pixel; /* places in the block */
    int count;
    int grey, spread; /* mean, and how far values of one grey value lie from it */
    bool is_noise;    /* its texture is noise */
    float *offset_px; /* of each pixel, what a level area adds to its place; 0: it is parallel to the base */
} Area;

/* 1 for the pixels whose window has little texture. */
static SdmStatus find_plain(SdmContext *ctx, const SdmPlainViews *views, const SdmEdgeBlock *b,
                            uint8_t *plain)
{
    SdmStatus st = SDM_OK;
    const int w = b->width, h = b->height, n = (2 * HALF + 1) * (2 * HALF + 1);
    int32_t *column = NULL; /* sums and squares of the rows of the window */
    memset(plain, 0, (size_t)w * (size_t)h);
    TRY(sdm_alloc_raw(ctx, &column, 2 * (size_t)w, sizeof *column, "areas without texture"));
    for (int y = HALF; y < h - HALF; y++) {
        memset(column, 0, 2 * (size_t)w * sizeof *column);
        for (int j = -HALF; j <= HALF; j++) {
            const int16_t *const row = views->left + (y + j) * views->stride;
            for (int x = 0; x < w; x++) {
                /* texture */
                const int32_t value = row[x] == SDM_PIXEL_NODATA ? 20000 * (1 - 2 * (x & 1)) : row[x];
                column[x] += value;
                column[w + x] += value * value;
            }
        }
        for (int x = HALF; x < w - HALF; x++) {
            int64_t sum = 0, squares = 0;
            for (int i = -HALF; i <= HALF; i++) {
                sum += column[x + i];
                squares += column[w + x + i];
            }
            plain[(size_t)y * (size_t)w + (size_t)x] =
                squares * n - sum * sum <= (int64_t)TEXTURE_MOST * TEXTURE_MOST * n * n;
        }
    }
done:
    sdm_free(&column);
    return st;
}

static int left_at(const SdmPlainViews *views, const SdmEdgeBlock *b, int i)
{
    return views->left[i / b->width * views->stride + i % b->width];
}

/* Append the neighbours of pixels from, from + 1, ...: plain ones, or (rim) those that have the area's grey
 * value. */
static void grow(const SdmPlainViews *views, const SdmEdgeBlock *b, uint8_t *plain, int from, bool rim,
                 Area *a)
{
    const int w = b->width, end = a->count;
    for (int k = from; k < end; k++) {
        const int i = a->pixel[k], x = i % w, y = i / w;
        const int next[4] = {x > 0 ? i - 1 : -1, x + 1 < w ? i + 1 : -1, y > 0 ? i - w : -1,
                             y + 1 < b->height ? i + w : -1};
        for (int d = 0; d < 4; d++) {
            const int j = next[d];
            if (j < 0 || plain[j] == TAKEN ||
                (rim ? abs(left_at(views, b, j) - a->grey) > a->spread : !plain[j]))
                continue;
            plain[j] = TAKEN;
            a->pixel[a->count++] = j;
        }
    }
}

/* The area of pixel `first`, and what one grey value of it is. */
static void take_area(const SdmPlainViews *views, const SdmEdgeBlock *b, int first, uint8_t *plain, Area *a)
{
    int64_t sum = 0, squares = 0, steps = 0;
    int pairs = 0;
    a->pixel[0] = first;
    a->count = 1;
    plain[first] = TAKEN;
    for (int from = 0; from < a->count;) {
        const int end = a->count;
        grow(views, b, plain, from, false, a);
        from = end;
    }
    for (int k = 0; k < a->count; k++) {
        const int value = left_at(views, b, a->pixel[k]);
        sum += value;
        squares += value * value;
        if (a->pixel[k] % b->width > 0 && plain[a->pixel[k] - 1] == TAKEN) {
            const int step = value - left_at(views, b, a->pixel[k] - 1);
            steps += step * step;
            pairs++;
        }
    }
    const double mean = (double)sum / a->count, variance = (double)squares / a->count - mean * mean;
    a->grey = (int)lrint(mean);
    a->is_noise = pairs > 0 && (double)steps / pairs >= 2.0 * NOISE_LEAST * variance;
    a->spread = BIN + (int)(SIGMAS * sqrt(variance));
    for (int k = 0, from = 0; k < RIM; k++) {
        const int end = a->count;
        grow(views, b, plain, from, true, a);
        from = end;
    }
}

/* A level area, or one that is parallel to the base. */
static void set_offsets(const SdmPlainViews *views, const SdmEdgeBlock *b, bool level, Area *a)
{
    double mean = 0.0;
    for (int k = 0; k < a->count; k++) {
        a->offset_px[k] = -views->base_m[a->pixel[k] / b->width * views->stride + a->pixel[k] % b->width];
        mean += (double)a->offset_px[k];
    }
    mean /= a->count;
    for (int k = 0; k < a->count; k++)
        a->offset_px[k] = level ? (a->offset_px[k] - (float)mean) * views->px_per_m : 0.0f;
}

/* How many pixels of the area do not have one grey value in the right view at a place. */
static int misses(const SdmPlainViews *views, const SdmEdgeBlock *b, const Area *a, int place)
{
    const int wide = 2 * a->spread / BIN + 1; /* bins */
    int32_t bin[BINS] = {0};
    int most = 0, now = 0;
    for (int k = 0; k < a->count; k++) {
        const int x = a->pixel[k] % b->width + place + (int)lrintf(a->offset_px[k]);
        if (x < -views->before || x >= b->width + views->after)
            continue;
        const int16_t value = views->right[a->pixel[k] / b->width * views->stride + x];
        if (value != SDM_PIXEL_NODATA)
            bin[sdm_clamp(value / BIN + BINS / 2, 0, BINS - 1)]++;
    }
    for (int i = 0; i < BINS; i++) {
        now += bin[i] - (i >= wide ? bin[i - wide] : 0);
        most = now > most ? now : most;
    }
    return a->count - most;
}

/* The one place at which the area is seen, px; false: there is none, or more. */
static bool find_place(const SdmPlainViews *views, const SdmEdgeBlock *b, const Area *a, int32_t *missed,
                       float *place, int *best_missed)
{
    int best = 0;
    for (int l = 0; l < views->labels; l++) {
        missed[l] = misses(views, b, a, views->first + l);
        best = missed[l] < missed[best] ? l : best;
    }
    const float apart = fmaxf(MISS_APART * (float)a->count, MISS_LEAST);
    *best_missed = missed[best];
    if (best == 0 || best == views->labels - 1 || (float)missed[best] > MISS_MOST * (float)a->count)
        return false;
    for (int l = 0; l < views->labels; l++)
        if (abs(l - best) > APART_PX && (float)(missed[l] - missed[best]) < apart)
            return false;
    const float before = (float)(missed[best - 1] - missed[best]),
                after = (float)(missed[best + 1] - missed[best]), steep = fmaxf(before, after);
    *place = (float)(views->first + best) + (steep > 0.0f ? 0.5f * (before - after) / steep : 0.0f);
    return true;
}

static void set_area(const Area *a, float place, int missed, SdmEdgeBlock *b)
{
    for (int k = 0; k < a->count; k++) {
        const int i = a->pixel[k];
        const float here = place + a->offset_px[k];
        if ((b->flags[i] & SDM_QA_VALID) && fabsf(b->place_px[i] - here) <= (float)APART_PX)
            continue;
        b->place_px[i] = here;
        b->flags[i] = SDM_QA_VALID | SDM_QA_FILLED;
        b->score[i] = (uint8_t)(250 - 250 * missed / a->count);
    }
}

static void place_area(const SdmPlainViews *views, Area *a, int32_t *missed, SdmEdgeBlock *b)
{
    float place[2];
    int best[2];
    bool found[2];
    for (int level = 0; level < 2; level++) {
        set_offsets(views, b, level, a);
        found[level] = find_place(views, b, a, missed, &place[level], &best[level]);
    }
    const int level = best[1] <= best[0];
    if (!level)
        set_offsets(views, b, false, a);
    if (found[level])
        set_area(a, place[level], best[level], b);
}

SdmStatus sdm_plain_areas(SdmContext *ctx, const SdmPlainViews *views, SdmEdgeBlock *b)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)b->width * (size_t)b->height;
    uint8_t *plain = NULL;
    int32_t *missed = NULL;
    Area a = {.pixel = NULL};
    TRY(sdm_alloc_raw(ctx, &plain, n, 1, "areas without texture"));
    TRY(sdm_alloc_raw(ctx, &a.pixel, n, sizeof *a.pixel, "areas without texture"));
    TRY(sdm_alloc_raw(ctx, &a.offset_px, n, sizeof *a.offset_px, "areas without texture"));
    TRY(sdm_alloc_raw(ctx, &missed, (size_t)views->labels, sizeof *missed, "areas without texture"));
    TRY(find_plain(ctx, views, b, plain));
    for (int i = 0; i < (int)n; i++) {
        if (plain[i] != 1)
            continue;
        take_area(views, b, i, plain, &a);
        if (a.count >= AREA_LEAST && a.is_noise)
            place_area(views, &a, missed, b);
    }
done:
    sdm_free(&plain);
    sdm_free(&missed);
    sdm_free(&a.pixel);
    sdm_free(&a.offset_px);
    return st;
}
