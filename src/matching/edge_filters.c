/* Median, removal of small pieces, and means within steps, on the places of a block. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/edge_filters.h"

#include "matching/filters.h"

#include <math.h>
#include <string.h>

#define STEP_PX 1.0f /* larger ones are discontinuities */
#define FAR_PX 1e6f  /* place of a pixel without a match: differs from all others */
enum { MEANS = 2, MEAN_HALF = 3 };
_Static_assert(1 + SDM_PIECE_PX + MEANS * MEAN_HALF < SDM_EDGE_FILTERS_REACH, "the reach of the filters");

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
        const int next[4] = {x > 0 ? i - 1 : -1, x + 1 < w ? i + 1 : -1, y > 0 ? i - w : -1, y + 1 < h ? i + w : -1};
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

SdmStatus sdm_edge_filters(SdmContext *ctx, const SdmKernels *k, SdmEdgeBlock *b)
{
    SdmStatus st = SDM_OK;
    TRY(median(ctx, k, b));
    TRY(drop_pieces(ctx, b));
    for (int i = 0; i < MEANS; i++)
        TRY(mean_within_steps(ctx, b));
done:
    return st;
}
