/* Two sweeps: heights and scores of pixels whose windows reach beyond the data, which no other pixel reads;
 * then, where there is a score, VALID. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/border_windows.h"

#include "core/vector_loops.h"
#include "kernels.h"

enum { PART = 128 }; /* columns that are looked at together */

/* Index of a pixel with a match; -1: it has none or lies off the window. */
static ptrdiff_t match_at(const SdmSurface *s, int x, int y)
{
    const ptrdiff_t at = (ptrdiff_t)y * s->win.w + x;
    return x >= 0 && y >= 0 && x < s->win.w && y < s->win.h && s->flags[at] & SDM_QA_VALID ? at : -1;
}

/* The nearest match, as columns and rows from (x, y); false: none within `half`. */
static bool find_nearest(const SdmSurface *s, int x, int y, int half, int step[2])
{
    for (int r = 1; r <= half; r++)
        for (int k = 0; k <= r; k++)
            for (int i = 0; i < 8; i++) {
                const int across = i & 1 ? k : -k, out = i & 2 ? r : -r;
                step[0] = i & 4 ? out : across;
                step[1] = i & 4 ? across : out;
                if (match_at(s, x + step[0], y + step[1]) >= 0)
                    return true;
            }
    return false;
}

static void take_nearest(const SdmBorderWindows *in, int x, int y, SdmSurface *s)
{
    int step[2];
    if (!find_nearest(s, x, y, in->half, step))
        return;
    const ptrdiff_t at = (ptrdiff_t)y * s->win.w + x, nearest = match_at(s, x + step[0], y + step[1]),
                    beyond = match_at(s, x + 2 * step[0], y + 2 * step[1]);
    const float change = s->h_m[nearest] - in->prior_m[nearest],
                further = beyond < 0 ? change : s->h_m[beyond] - in->prior_m[beyond];
    s->h_m[at] = in->prior_m[at] + (change + (change - further));
    s->score[at] = s->score[nearest];
}

/* Pixels without a match that both views see. */
SDM_VECTOR_LOOPS static bool any_seen(const uint16_t *flags, const int16_t *left, const int16_t *right, int n)
{
    int any = 0;
    for (int x = 0; x < n; x++)
        any |= ((flags[x] & SDM_QA_OUTSIDE) != 0) & (left[x] != SDM_PIXEL_NODATA) &
               (right[x] != SDM_PIXEL_NODATA);
    return any;
}

/* A pixel that has no match has no score, unless take_nearest() gave it one. */
SDM_VECTOR_LOOPS static void accept(const uint8_t *restrict score, uint16_t *restrict flags, int n)
{
    for (int x = 0; x < n; x++)
        flags[x] = (((flags[x] & SDM_QA_OUTSIDE) != 0) & (score[x] > 0)) ? SDM_QA_VALID : flags[x];
}

void sdm_match_border(SdmContext *ctx, const SdmBorderWindows *in, SdmSurface *s)
{
    const int w = s->win.w, h = s->win.h, threads = sdm_threads(ctx);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 16)
    for (int y = 0; y < h; y++)
        for (int x0 = 0; x0 < w; x0 += PART) {
            const size_t at = (size_t)y * (size_t)w + (size_t)x0;
            const int n = x0 + PART < w ? PART : w - x0;
            if (any_seen(s->flags + at, in->left + at, in->right + at, n))
                for (int x = 0; x < n; x++)
                    if (any_seen(s->flags + at + x, in->left + at + x, in->right + at + x, 1))
                        take_nearest(in, x0 + x, y, s);
        }
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int y = 0; y < h; y++)
        accept(s->score + (size_t)y * (size_t)w, s->flags + (size_t)y * (size_t)w, w);
}
