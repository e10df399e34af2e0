/* Two sweeps: heights and scores of pixels whose windows reach beyond the data, which no other pixel reads;
 * then, where there is a score, VALID. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/filters.h"

#include "core/vector_loops.h"
#include "kernels.h"

#include <assert.h>

enum {
    PART = 32,      /* columns that are looked at together */
    MOST_HALF = 10, /* of a window, px */
    MOST_NEAR = (2 * MOST_HALF + 1) * (2 * MOST_HALF + 1)
};

/* Index of a pixel with a match; -1: it has none or lies off the window. */
static ptrdiff_t match_at(const SdmSurface *s, int x, int y)
{
    const ptrdiff_t at = (ptrdiff_t)y * s->win.w + x;
    return x >= 0 && y >= 0 && x < s->win.w && y < s->win.h && s->flags[at] & SDM_QA_VALID ? at : -1;
}

/* Columns and rows to the pixels around, the nearest first: ring after ring. */
typedef struct Nearest {
    int count, half;
    int step[MOST_NEAR][2];
    ptrdiff_t offset[MOST_NEAR]; /* in the surface */
} Nearest;

static void list_nearest(Nearest *n, int half, int width)
{
    assert(half <= MOST_HALF);
    n->count = 0;
    n->half = half;
    for (int r = 1; r <= half; r++)
        for (int k = 0; k <= r; k++)
            for (int i = 0; i < 8; i++) {
                const int across = i & 1 ? k : -k, out = i & 2 ? r : -r;
                if ((k == 0 && i & 1) || (k == r && i & 4)) /* listed before */
                    continue;
                int *const step = n->step[n->count];
                step[0] = i & 4 ? out : across;
                step[1] = i & 4 ? across : out;
                n->offset[n->count++] = (ptrdiff_t)step[1] * width + step[0];
            }
}

/* The nearest match: its number in the list; -1: there is none. */
static int find_nearest(const SdmSurface *s, const Nearest *n, int x, int y)
{
    const int w = s->win.w, h = s->win.h, half = n->half;
    const bool inside = x >= half && y >= half && x + half < w && y + half < h;
    const uint16_t *const flags = s->flags + (ptrdiff_t)y * w + x;
    for (int i = 0; i < n->count; i++)
        if (inside ? flags[n->offset[i]] & SDM_QA_VALID
                   : match_at(s, x + n->step[i][0], y + n->step[i][1]) >= 0)
            return i;
    return -1;
}

/* Take height and score from the nearest match; false: there is none. */
static bool take_nearest(const SdmBorderWindows *in, const Nearest *n, int x, int y, SdmSurface *s)
{
    const int found = find_nearest(s, n, x, y);
    if (found < 0)
        return false;
    const int *const step = n->step[found];
    const ptrdiff_t at = (ptrdiff_t)y * s->win.w + x, nearest = match_at(s, x + step[0], y + step[1]),
                    beyond = match_at(s, x + 2 * step[0], y + 2 * step[1]);
    const float change = s->h_m[nearest] - in->prior_m[nearest],
                further = beyond < 0 ? change : s->h_m[beyond] - in->prior_m[beyond];
    s->h_m[at] = in->prior_m[at] + (change + (change - further));
    s->score[at] = s->score[nearest];
    return true;
}

SDM_VECTOR_LOOPS static bool part_has_outside(const uint16_t *flags, int n)
{
    uint16_t any = 0; /* of 16 bits, so that it vectorises */
    for (int x = 0; x < n; x++)
        any |= flags[x];
    return any & SDM_QA_OUTSIDE;
}

/* Pixels of row y without a match that both views see; true when one has taken another's. */
static bool take_seen(const SdmBorderWindows *in, const Nearest *n, int y, SdmSurface *s)
{
    bool any = false;
    const int w = s->win.w;
    const size_t row = (size_t)y * (size_t)w;
    const uint16_t *const flags = s->flags + row;
    const int16_t *const left = in->left + row, *const right = in->right + row;
    for (int x = 0, end = 0; x < w; x = end) {
        end = x + PART < w ? x + PART : w;
        if (!part_has_outside(flags + x, end - x))
            continue;
        for (; x < end; x++)
            if (flags[x] & SDM_QA_OUTSIDE && left[x] != SDM_PIXEL_NODATA && right[x] != SDM_PIXEL_NODATA)
                any |= take_nearest(in, n, x, y, s);
    }
    return any;
}

/* A pixel that has no match has no score, unless take_nearest() gave it one. */
SDM_VECTOR_LOOPS static void accept(const uint8_t *restrict score, uint16_t *restrict flags, int n)
{
    for (int x = 0; x < n; x++)
        flags[x] = (((flags[x] & SDM_QA_OUTSIDE) != 0) & (score[x] > 0)) ? SDM_QA_VALID : flags[x];
}

SdmStatus sdm_match_border(SdmContext *ctx, const SdmBorderWindows *in, SdmSurface *s)
{
    const int w = s->win.w, h = s->win.h, threads = sdm_threads(ctx);
    SDM_OWNED bool *taken = NULL; /* rows in which a pixel has taken another's match */
    Nearest nearest;
    list_nearest(&nearest, in->half, w);
    PASS(sdm_alloc(ctx, &taken, (size_t)h, sizeof *taken, "rows at borders"));
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
    for (int y = 0; y < h; y++)
        taken[y] = take_seen(in, &nearest, y, s);
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int y = 0; y < h; y++)
        if (taken[y])
            accept(s->score + (size_t)y * (size_t)w, s->flags + (size_t)y * (size_t)w, w);
    return SDM_OK;
}
