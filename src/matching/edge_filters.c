/* Median, steps moved to edges of the image, removal of small pieces, and means within steps, on the places
 * of a block. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/edge_filters.h"

#include "matching/filters.h"

#include <math.h>
#include <string.h>

#define STEP_PX 1.0f /* larger ones are discontinuities */
#define FAR_PX 1e6f  /* place of a pixel without a match: differs from all others */
#define CLEAR_STEP_PX 2.0f /* between roofs and streets */
#define CLEAR_GREY 6.25    /* (difference of two sides' mean grey values)^2 over the sum of their variances */
enum { MEANS = 2, MEAN_HALF = 3, SIDE_HALF = 3, SIDE_LEAST = 5 };
_Static_assert(1 + SIDE_HALF + 1 + SDM_PIECE_PX - 1 + MEANS * MEAN_HALF <= SDM_EDGE_FILTERS_REACH,
               "the reach of the filters");

SdmStatus sdm_edge_block_open(SdmContext *ctx, int width, int height, SdmEdgeBlock *out)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)width * (size_t)height;
    *out = (SdmEdgeBlock){.width = width, .height = height};
    TRY(sdm_alloc_raw(ctx, &out->place_px, n, sizeof *out->place_px, "a block of matches"));
    TRY(sdm_alloc_raw(ctx, &out->flags, n, sizeof *out->flags, "a block of matches"));
    TRY(sdm_alloc_raw(ctx, &out->score, n, sizeof *out->score, "a block of matches"));
done:
    return st;
}

void sdm_edge_block_close(SdmEdgeBlock *b)
{
    sdm_free(&b->place_px);
    sdm_free(&b->flags);
    sdm_free(&b->score);
}

static SdmStatus median(SdmContext *ctx, const SdmKernels *k, SdmEdgeBlock *b)
{
    SdmSurface s = {.win = {.w = b->width, .h = b->height}, .flags = b->flags, .h_m = b->place_px};
    return sdm_surface_median(ctx, k, &s);
}

/* The valid pixels that are connected with pixel `first`, into piece[]; returns their number. */
static int find_piece(const SdmEdgeBlock *b, int first, uint8_t *seen, int32_t *piece)
{
    const int w = b->width, h = b->height;
    int count = 1;
    piece[0] = first;
    seen[first] = 1;
    for (int at = 0; at < count; at++) {
        const int i = piece[at], x = i % w, y = i / w;
        const int next[4] = {x > 0 ? i - 1 : -1, x + 1 < w ? i + 1 : -1, y > 0 ? i - w : -1,
                             y + 1 < h ? i + w : -1};
        for (int k = 0; k < 4; k++) {
            const int j = next[k];
            if (j < 0 || seen[j] || !(b->flags[j] & SDM_QA_VALID) ||
                fabsf(b->place_px[j] - b->place_px[i]) > STEP_PX)
                continue;
            seen[j] = 1;
            piece[count++] = j;
        }
    }
    return count;
}

static SdmStatus drop_pieces(SdmContext *ctx, SdmEdgeBlock *b)
{
    SdmStatus st = SDM_OK;
    const int n = b->width * b->height;
    uint8_t *seen = NULL;
    int32_t *piece = NULL;
    TRY(sdm_alloc(ctx, &seen, (size_t)n, 1, "pieces of surface"));
    TRY(sdm_alloc_raw(ctx, &piece, (size_t)n, sizeof *piece, "pieces of surface"));
    for (int i = 0; i < n; i++) {
        if (seen[i] || !(b->flags[i] & SDM_QA_VALID))
            continue;
        const int count = find_piece(b, i, seen, piece);
        for (int k = 0; k < count && count < SDM_PIECE_PX; k++)
            b->flags[piece[k]] = SDM_QA_ISOLATED;
    }
done:
    sdm_free(&seen);
    sdm_free(&piece);
    return st;
}

/* ---- steps of the places lie where the grey value steps ---- */

/* Pixels of a window on one side of a step: their places and grey values. */
typedef struct Side {
    int count;
    float place_px;
    int64_t grey, square;
} Side;

static void add_pixel(Side *side, float place_px, int grey)
{
    side->count++;
    side->place_px += place_px;
    side->grey += grey;
    side->square += (int64_t)grey * grey;
}

/* 1 where a valid place is within STEP_PX of all eight neighbours'. */
static void mark_inner(const SdmEdgeBlock *b, uint8_t *inner)
{
    const int w = b->width;
    memset(inner, 0, (size_t)w * (size_t)b->height);
    for (int y = 1; y + 1 < b->height; y++)
        for (int x = 1; x + 1 < w; x++) {
            const int i = y * w + x;
            bool in = true;
            for (int j = -w; j <= w; j += w)
                for (int k = -1; k <= 1; k++)
                    in &= (b->flags[i + j + k] & SDM_QA_VALID) &&
                          fabsf(b->place_px[i + j + k] - b->place_px[i]) <= STEP_PX;
            inner[i] = in;
        }
}

/* The lowest of sign x place among the inner pixels of (2 SIDE_HALF + 1)^2, FAR_PX where there is none.
 * rows: h x w. */
static void lowest_around(const SdmEdgeBlock *b, const uint8_t *inner, float sign, float *restrict rows,
                          float *restrict out)
{
    const int w = b->width, h = b->height;
    for (int i = 0; i < w * h; i++)
        out[i] = inner[i] ? sign * b->place_px[i] : FAR_PX;
    for (int i = 0; i < w * h; i++)
        rows[i] = FAR_PX;
    for (int i = SIDE_HALF; i < w * h - SIDE_HALF; i++) { /* columns at the sides take other rows' and are not used */
        float low = out[i - SIDE_HALF];
        for (int k = 1 - SIDE_HALF; k <= SIDE_HALF; k++)
            low = out[i + k] < low ? out[i + k] : low;
        rows[i] = low;
    }
    for (int y = SIDE_HALF; y + SIDE_HALF < h; y++)
        for (int i = y * w; i < (y + 1) * w; i++) {
            float low = rows[i - SIDE_HALF * w];
            for (int k = 1 - SIDE_HALF; k <= SIDE_HALF; k++)
                low = rows[i + k * w] < low ? rows[i + k * w] : low;
            out[i] = low;
        }
}

/* The inner pixels around pixel x, y that lie within STEP_PX of the lowest or of the highest place: false if
 * they are few. */
static bool find_sides(const SdmEdgeBlock *b, const uint8_t *inner, const int16_t *left, ptrdiff_t stride,
                       int x, int y, float low, float high, Side side[2])
{
    const int w = b->width;
    side[0] = side[1] = (Side){.count = 0};
    for (int v = y - SIDE_HALF; v <= y + SIDE_HALF; v++)
        for (int u = x - SIDE_HALF; u <= x + SIDE_HALF; u++) {
            const float p = b->place_px[v * w + u];
            const bool is_high = high - p <= STEP_PX;
            if (inner[v * w + u] && (is_high || p - low <= STEP_PX))
                add_pixel(&side[is_high], p, left[v * stride + u]);
        }
    return side[0].count >= SIDE_LEAST && side[1].count >= SIDE_LEAST;
}

/* The place of the side whose grey value a pixel has; its own where that is not clear. */
static float place_by_grey(const Side side[2], double grey, float own_px)
{
    double mean[2], variance = 0.0;
    for (int k = 0; k < 2; k++) {
        mean[k] = (double)side[k].grey / side[k].count;
        variance += (double)side[k].square / side[k].count - mean[k] * mean[k];
    }
    const double apart = mean[1] - mean[0];
    if (apart * apart < CLEAR_GREY * (variance + 1.0))
        return own_px;
    const Side *const nearest = &side[fabs(grey - mean[1]) < fabs(grey - mean[0])];
    const float place = nearest->place_px / (float)nearest->count;
    return fabsf(place - own_px) > STEP_PX ? place : own_px;
}

/* Windows carry steps over the edge of a roof; where its two sides have grey values of their own, pixels near
 * the step go to the side that they look like. */
static SdmStatus move_steps(SdmContext *ctx, const int16_t *left, ptrdiff_t stride, SdmEdgeBlock *b)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)b->width * (size_t)b->height;
    uint8_t *inner = NULL;
    float *out = NULL, *low = NULL, *high = NULL;
    TRY(sdm_alloc_raw(ctx, &inner, n, 1, "steps of places"));
    TRY(sdm_alloc_raw(ctx, &out, n, sizeof *out, "steps of places"));
    TRY(sdm_alloc_raw(ctx, &low, n, sizeof *low, "steps of places"));
    TRY(sdm_alloc_raw(ctx, &high, n, sizeof *high, "steps of places"));
    mark_inner(b, inner);
    lowest_around(b, inner, 1.0f, out, low);
    lowest_around(b, inner, -1.0f, out, high);
    memcpy(out, b->place_px, n * sizeof *out);
    for (int y = SIDE_HALF; y + SIDE_HALF < b->height; y++)
        for (int x = SIDE_HALF; x + SIDE_HALF < b->width; x++) {
            const size_t i = (size_t)y * (size_t)b->width + (size_t)x;
            Side side[2];
            if (-high[i] - low[i] >= CLEAR_STEP_PX && (b->flags[i] & SDM_QA_VALID) &&
                find_sides(b, inner, left, stride, x, y, low[i], -high[i], side))
                out[i] = place_by_grey(side, left[y * stride + x], b->place_px[i]);
        }
    sdm_free(&b->place_px);
    b->place_px = out;
    out = NULL;
done:
    sdm_free(&inner);
    sdm_free(&out);
    sdm_free(&low);
    sdm_free(&high);
    return st;
}

/* Add the places of a row, moved by one column after the other, that are within STEP_PX of `own`. */
static void add_row(const float *restrict row, const float *restrict own, int width, float *restrict sum,
                    float *restrict count)
{
    for (int k = 0; k <= 2 * MEAN_HALF; k++)
        for (int x = 0; x < width; x++) { /* in vectors: without branches */
            const float d = row[x + k] - own[x], in = fabsf(d) <= STEP_PX ? 1.0f : 0.0f;
            sum[x] += in * d;
            count[x] += in;
        }
}

static SdmStatus mean_within_steps(SdmContext *ctx, SdmEdgeBlock *b)
{
    SdmStatus st = SDM_OK;
    const size_t w = (size_t)b->width, pitch = w + 2 * MEAN_HALF;
    float *padded = NULL, *sums = NULL;
    TRY(sdm_alloc_raw(ctx, &padded, pitch * (size_t)b->height, sizeof *padded, "means of places"));
    TRY(sdm_alloc_raw(ctx, &sums, 2 * w, sizeof *sums, "means of places"));
    for (size_t i = 0; i < pitch * (size_t)b->height; i++)
        padded[i] = FAR_PX;
    for (size_t y = 0; y < (size_t)b->height; y++)
        for (size_t x = 0; x < w; x++)
            if (b->flags[y * w + x] & SDM_QA_VALID)
                padded[y * pitch + MEAN_HALF + x] = b->place_px[y * w + x];
    for (int y = 0; y < b->height; y++) {
        float *const own = b->place_px + (size_t)y * w;
        const int from = y > MEAN_HALF ? y - MEAN_HALF : 0,
                  to = y + MEAN_HALF < b->height ? y + MEAN_HALF : b->height - 1;
        memset(sums, 0, 2 * w * sizeof *sums);
        for (int j = from; j <= to; j++)
            add_row(padded + (size_t)j * pitch, own, b->width, sums, sums + w);
        for (size_t x = 0; x < w; x++)
            if (b->flags[(size_t)y * w + x] & SDM_QA_VALID)
                own[x] += sums[x] / sums[w + x];
    }
done:
    sdm_free(&padded);
    sdm_free(&sums);
    return st;
}

SdmStatus sdm_edge_filters(SdmContext *ctx, const SdmKernels *k, const int16_t *left, ptrdiff_t stride,
                           SdmEdgeBlock *b)
{
    SdmStatus st = SDM_OK;
    TRY(median(ctx, k, b));
    TRY(move_steps(ctx, left, stride, b));
    TRY(drop_pieces(ctx, b));
    for (int i = 0; i < MEANS; i++)
        TRY(mean_within_steps(ctx, b));
done:
    return st;
}
