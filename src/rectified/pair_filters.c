/* Before rectified matching: images -> smaller ones.  After it: disparities -> without speckles,
 * their median, or without holes. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/pair.h"

#include "core/math.h"
#include "core/qa_reasons.h"
#include "core/stats.h"
#include "kernels.h"
#include "matching/pieces.h"

#include <math.h>
#include <string.h>

/* ---- smaller images ---- */

static int16_t mean_of(const int16_t *in, ptrdiff_t stride, int factor)
{
    int64_t sum = 0, count = 0;
    for (int y = 0; y < factor; y++)
        for (int x = 0; x < factor; x++) {
            const int16_t v = in[y * stride + x];
            sum += v == SDM_PIXEL_NODATA ? 0 : v;
            count += v != SDM_PIXEL_NODATA;
        }
    if (2 * count < (int64_t)factor * factor)
        return SDM_PIXEL_NODATA;
    const int64_t twice = 2 * sum + count, whole = twice / (2 * count); /* floor(mean + 1/2) */
    return (int16_t)(whole - (twice % (2 * count) < 0));
}

void sdm_pair_shrink(SdmContext *ctx, const int16_t *in, ptrdiff_t stride, int width, int height, int factor,
                     int16_t *out)
{
    const int w = width / factor, h = height / factor;
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            out[(ptrdiff_t)y * w + x] = mean_of(in + (y * stride + x) * factor, stride, factor);
}

/* ---- median ---- */

enum { MOST = 25 };

static float median_at(const float *in, int width, int height, int side, int x, int y)
{
    float v[MOST];
    int n = 0;
    const int r = side / 2, x0 = x > r ? x - r : 0, x1 = x + r < width ? x + r : width - 1;
    const int y0 = y > r ? y - r : 0, y1 = y + r < height ? y + r : height - 1;
    const float own = in[(ptrdiff_t)y * width + x];
    if (isnan(own))
        return own;
    for (int row = y0; row <= y1; row++)
        for (int col = x0; col <= x1; col++) {
            const float d = in[(ptrdiff_t)row * width + col];
            if (!isnan(d))
                v[n++] = d;
        }
    return 2 * n < side * side ? own : (float)sdm_median_f32(v, n);
}

void sdm_pair_median(SdmContext *ctx, const float *in, int width, int height, int side, float *out)
{
#pragma omp parallel for schedule(dynamic, 16) num_threads(sdm_threads(ctx))
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            out[(ptrdiff_t)y * width + x] = median_at(in, width, height, side, x, y);
}

/* ---- speckles ---- */

#define SPECKLE_STEP_PX 2.0f

SdmStatus sdm_pair_despeckle(SdmContext *ctx, int least, int width, int height, float *disparity)
{
    const size_t n = (size_t)width * (size_t)height;
    SDM_OWNED uint16_t *flags = NULL;
    if (least == 0)
        return SDM_OK;
    PASS(sdm_alloc(ctx, &flags, n, sizeof *flags, "speckles"));
    for (size_t i = 0; i < n; i++)
        if (!isnan(disparity[i]))
            flags[i] = SDM_QA_VALID;
    PASS(sdm_drop_pieces(ctx, &(SdmPieces){width, height, disparity, NULL, flags, SPECKLE_STEP_PX}, least, 0,
                         0));
    for (size_t i = 0; i < n; i++)
        if (flags[i] != SDM_QA_VALID)
            disparity[i] = NAN;
    return SDM_OK;
}

/* ---- filling by the nearest ---- */

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

/* Last x at which column i is at least as near as column u > i. */
static int64_t last_of(const int32_t *row, int y, int i, int u)
{
    const int64_t gi = row[i] - y, gu = row[u] - y;
    return sdm_floor_div((int64_t)u * u - (int64_t)i * i + gu * gu - gi * gi, 2 * (int64_t)(u - i));
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
        if (row[x] != y) /* a hole; its source is valid, so no thread writes there */
            d[(ptrdiff_t)y * width + x] = d[(ptrdiff_t)row[u] * width + u];
    }
}

static SdmStatus fill_nearest(SdmContext *ctx, int width, int height, float *d)
{
    const int threads = sdm_threads(ctx);
    SDM_OWNED int32_t *row = NULL;
    SDM_OWNED int *spare = NULL;
    PASS(SDM_ALLOC(ctx, "nearest disparities", SDM_ARRAY(row, (size_t)width * (size_t)height),
                   SDM_ARRAY(spare, 2 * (size_t)width * (size_t)threads)));
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
    return SDM_OK;
}

/* ---- filling along the row ---- */

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
    SDM_OWNED uint8_t *good = NULL;
    PASS(sdm_alloc(ctx, &good, (size_t)height, 1, "rows with a disparity"));
#pragma omp parallel for schedule(dynamic, 16) num_threads(sdm_threads(ctx))
    for (int y = 0; y < height; y++)
        good[y] = fill_row(d + (ptrdiff_t)y * width, width);
    copy_rows(d, width, height, good);
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
