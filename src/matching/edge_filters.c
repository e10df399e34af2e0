/* Median, steps moved to edges of the image, removal of small pieces, means within steps, and gaps closed, on
 * the places of a block. */
// SPDX-License-Identifier: Apache-2.0
#include "core/vector_loops.h"
#include "matching/filters.h"
#include "matching/pieces.h"
#include "matching/ridges.h"
#include "matching/step_sides.h"

#include <math.h>
#include <string.h>

enum { MOVES = 2, MEANS = 2, MEAN_HALF = 3, LEVEL_HALF = 5 };
#define LEVEL_PX 0.2f /* two standard deviations of a match */
/* (base/height)^2 at which the relief of ground within 11 px, which is self-similar, makes as much parallax
 * as noise does */
#define LEVEL_NOISE 0.0225f
_Static_assert((int)SDM_RIDGE_REACH + 1 >= (int)SDM_PIECE_PX, "thin pieces at a line's end do not count");
_Static_assert(1 + MOVES * SDM_MOVE_REACH + MEANS * MEAN_HALF + SDM_RIDGE_REACH + 1 + LEVEL_HALF +
                       SIDE_HALF <=
                   SDM_EDGE_FILTERS_REACH,
               "the reach of the filters");

SdmStatus sdm_edge_block_open(SdmContext *ctx, int width, int height, SdmEdgeBlock *out)
{
    const size_t n = (size_t)width * (size_t)height;
    *out = (SdmEdgeBlock){.width = width, .height = height};
    return SDM_ALLOC_RAW(ctx, "a block of matches", SDM_ARRAY(out->place_px, n), SDM_ARRAY(out->flags, n),
                         SDM_ARRAY(out->score, n));
}

void sdm_edge_block_close(SdmEdgeBlock *b)
{
    SDM_FREE(&b->place_px, &b->flags, &b->score);
}

static SdmStatus median(SdmContext *ctx, const SdmKernels *k, SdmEdgeBlock *b)
{
    SdmSurface s = {.win = {.w = b->width, .h = b->height}, .flags = b->flags, .h_m = b->place_px};
    return sdm_surface_median(ctx, k, &s);
}

/* A mean of the places of (2 half + 1)^2 pixels that are within `step` of the pixel's own, which moves by
 * `gain` of the way there. */
typedef struct Mean {
    int half;
    float step, gain;
} Mean;

/* Add the places of a row, moved by one column after the other, that are within the step of `own`. */
SDM_VECTOR_LOOPS static void add_row(const Mean *m, const float *restrict row, const float *restrict own,
                                     int width, float *restrict sum, float *restrict count)
{
    const float step = m->step;
    for (int k = 0; k <= 2 * m->half; k++)
        for (int x = 0; x < width; x++) { /* in vectors: without branches */
            const float d = row[x + k] - own[x], in = fabsf(d) <= step ? 1.0f : 0.0f;
            sum[x] += in * d;
            count[x] += in;
        }
}

static SdmStatus mean_within_steps(SdmContext *ctx, const Mean *m, SdmEdgeBlock *b)
{
    const int half = m->half;
    const size_t w = (size_t)b->width, first = (size_t)half, pitch = w + 2 * first;
    SDM_OWNED float *padded = NULL, *sums = NULL;
    PASS(sdm_alloc_raw(ctx, &padded, pitch * (size_t)b->height, sizeof *padded, "means of places"));
    PASS(sdm_alloc_raw(ctx, &sums, 2 * w, sizeof *sums, "means of places"));
    for (size_t i = 0; i < pitch * (size_t)b->height; i++)
        padded[i] = FAR_PX;
    for (size_t y = 0; y < (size_t)b->height; y++)
        for (size_t x = 0; x < w; x++)
            if (b->flags[y * w + x] & SDM_QA_VALID)
                padded[y * pitch + first + x] = b->place_px[y * w + x];
    for (int y = 0; y < b->height; y++) {
        float *const own = b->place_px + (size_t)y * w;
        const int from = y > half ? y - half : 0, to = y + half < b->height ? y + half : b->height - 1;
        memset(sums, 0, 2 * w * sizeof *sums);
        for (int j = from; j <= to; j++)
            add_row(m, padded + (size_t)j * pitch, own, b->width, sums, sums + w);
        for (size_t x = 0; x < w; x++)
            if (b->flags[(size_t)y * w + x] & SDM_QA_VALID)
                own[x] += m->gain * sums[x] / sums[w + x];
    }
    return SDM_OK;
}

static SdmStatus drop_pieces(SdmContext *ctx, SdmEdgeBlock *b)
{
    const SdmPieces pieces = {b->width, b->height, b->place_px, b->score, b->flags, STEP_PX};
    return sdm_drop_pieces(ctx, &pieces, SDM_PIECE_PX, 0, 0);
}

SdmStatus sdm_edge_filters(SdmContext *ctx, const SdmKernels *k, bool edges, const SdmEdgeViews *views,
                           SdmEdgeBlock *b)
{
    const size_t n = (size_t)b->width * (size_t)b->height;
    const float square = views->base_height * views->base_height;
    const Mean noise = {MEAN_HALF, STEP_PX, 1.0f},
               level = {LEVEL_HALF, LEVEL_PX, LEVEL_NOISE / (LEVEL_NOISE + square)};
    SDM_OWNED float *before_px = NULL;
    PASS(median(ctx, k, b));
    for (int i = 0; i < MOVES && edges; i++)
        PASS(sdm_move_steps(ctx, views, b));
    PASS(drop_pieces(ctx, b));
    if (edges)
        PASS(sdm_drop_walls(ctx, views, b));
    PASS(sdm_alloc_raw(ctx, &before_px, n, sizeof *before_px, "means of places"));
    memcpy(before_px, b->place_px, n * sizeof *before_px);
    for (int i = 0; i < MEANS; i++)
        PASS(mean_within_steps(ctx, &noise, b));
    if (edges) {
        PASS(sdm_sharpen_ridges(ctx, before_px, views->px_per_m < 0.0f ? -1.0f : 1.0f, b));
        PASS(sdm_close_gaps(ctx, views, b));
    }
    return mean_within_steps(ctx, &level, b);
}
