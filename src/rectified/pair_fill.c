/* Disparities with holes -> without. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/pair_after.h"

#include <math.h>
#include <string.h>

/* ---- nearest ---- */

enum { STRIP = 64 }; /* columns that a thread walks down at once */

/* above[y][x]: row of the nearest valid pixel in column x, the upper of two, -1 if there is none. */
static void nearest_in_columns(const float *d, int width, int height, int x0, int x1, int32_t *row)
{
    for (int x = x0; x < x1; x++)
        row[x] = isnan(d[x]) ? -1 : 0;
    for (int y = 1; y < height; y++)
        for (int x = x0; x < x1; x++) {
            const ptrdiff_t i = (ptrdiff_t)y * width + x;
            row[i] = isnan(d[i]) ? row[i - width] : y;
        }
    for (int y = height - 2; y >= 0; y--)
        for (int x = x0; x < x1; x++) {
            const ptrdiff_t i = (ptrdiff_t)y * width + x;
            const int below = row[i + width];
            if (below > y && (row[i] < 0 || below - y < y - row[i]))
                row[i] = below;
        }
}

typedef struct Envelope { /* of one row: which column's pixel is nearest, from where on */
    int *column, *from;   /* width each */
} Envelope;

/* Squared distance of column u's pixel from (x, y). */
static int64_t distance2(const int32_t *row, int y, int u, int x)
{
    const int64_t dy = row[u] - y, dx = x - u;
    return dx * dx + dy * dy;
}

static int64_t floor_div(int64_t a, int64_t b) /* b > 0 */
{
    return a / b - (a % b < 0);
}

/* Last x at which column i is at least as near as column u > i. */
static int64_t last_of(const int32_t *row, int y, int i, int u)
{
    const int64_t gi = row[i] - y, gu = row[u] - y;
    return floor_div((int64_t)u * u - (int64_t)i * i + gu * gu - gi * gi, 2 * (int64_t)(u - i));
}

/* Lower envelope of the columns' parabolas; returns how many parts it has. */
static int build_envelope(const int32_t *row, int width, int y, const Envelope *e)
{
    int n = 0;
    for (int u = 0; u < width; u++) {
        if (row[u] < 0)
            continue;
        while (n > 0 &&
               distance2(row, y, u, e->from[n - 1]) < distance2(row, y, e->column[n - 1], e->from[n - 1]))
            n--;
        const int64_t begin = n > 0 ? last_of(row, y, e->column[n - 1], u) + 1 : 0;
        if (begin < width) {
            e->column[n] = u;
            e->from[n++] = (int)begin;
        }
    }
    return n;
}

static void fill_row_nearest(const int32_t *row, int width, int y, const Envelope *e, float *d)
{
    int part = build_envelope(row, width, y, e) - 1;
    for (int x = width - 1; x >= 0 && part >= 0; x--) {
        while (part > 0 && e->from[part] > x)
            part--;
        const int u = e->column[part];
        if (row[x] != y) /* a hole; its source is valid, so nobody writes there */
            d[(ptrdiff_t)y * width + x] = d[(ptrdiff_t)row[u] * width + u];
    }
}

static SdmStatus fill_nearest(SdmContext *ctx, int width, int height, float *d)
{
    SdmStatus st = SDM_OK;
    const int threads = sdm_threads(ctx);
    int32_t *row = NULL;
    int *spare = NULL;
    TRY(sdm_alloc(ctx, &row, (size_t)width * (size_t)height, sizeof *row, "nearest disparities"));
    TRY(sdm_alloc(ctx, &spare, 2 * (size_t)width * (size_t)threads, sizeof *spare,
                  "nearest disparities of a row"));
#pragma omp parallel num_threads(threads)
    {
        int *const mine = spare + 2 * (ptrdiff_t)width * sdm_thread();
        const Envelope e = {.column = mine, .from = mine + width};
#pragma omp for schedule(static)
        for (int x = 0; x < width; x += STRIP)
            nearest_in_columns(d, width, height, x, x + STRIP < width ? x + STRIP : width, row);
#pragma omp for schedule(dynamic, 16)
        for (int y = 0; y < height; y++)
            fill_row_nearest(row + (ptrdiff_t)y * width, width, y, &e, d);
    }
done:
    sdm_free(&row);
    sdm_free(&spare);
    return st;
}

/* ---- interpolate ---- */

/* Fill d[begin..end-1]; the pixels beside it are valid or off the row. */
static void fill_gap(float *d, int width, int begin, int end)
{
    const float a = begin > 0 ? d[begin - 1] : d[end], b = end < width ? d[end] : a;
    const float step = fabsf(b - a), span = (float)(end - begin + 1);
    const bool smooth = step <= 1.0f || 4.0f * step <= span;
    for (int x = begin; x < end; x++)
        d[x] = smooth ? a + (b - a) * ((float)(x - begin + 1) / span) : fminf(a, b);
}

static bool fill_row(float *d, int width)
{
    int x = 0;
    while (x < width && isnan(d[x]))
        x++;
    if (x == width)
        return false;
    for (x = 0; x < width; x++)
        if (isnan(d[x])) {
            int end = x;
            while (end < width && isnan(d[end]))
                end++;
            fill_gap(d, width, x, end);
            x = end;
        }
    return true;
}

/* Rows that had nothing: the nearest one that had something, the upper of two. */
static void copy_rows(float *d, int width, int height, const uint8_t *good)
{
    int above = -1, below = 0; /* the nearest good rows of row y */
    for (int y = 0; y < height; y++) {
        above = good[y] ? y : above;
        while (below < height && (below < y || !good[below]))
            below++;
        const int from = below == height || (above >= 0 && y - above <= below - y) ? above : below;
        if (!good[y] && from >= 0)
            memcpy(d + (ptrdiff_t)y * width, d + (ptrdiff_t)from * width, (size_t)width * sizeof *d);
    }
}

static SdmStatus fill_rows(SdmContext *ctx, int width, int height, float *d)
{
    uint8_t *good = NULL;
    const SdmStatus st = sdm_alloc(ctx, &good, (size_t)height, 1, "rows with a disparity");
    if (st != SDM_OK)
        return st;
#pragma omp parallel for schedule(dynamic, 16) num_threads(sdm_threads(ctx))
    for (int y = 0; y < height; y++)
        good[y] = fill_row(d + (ptrdiff_t)y * width, width);
    copy_rows(d, width, height, good);
    sdm_free(&good);
    return SDM_OK;
}

SdmStatus sdm_pair_fill(SdmContext *ctx, SdmPairFill how, int width, int height, float *disparity)
{
    if (how == SDM_FILL_NEAREST)
        return fill_nearest(ctx, width, height, disparity);
    if (how == SDM_FILL_INTERPOLATE)
        return fill_rows(ctx, width, height, disparity);
    return SDM_OK;
}
