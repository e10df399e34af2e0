/* Pixels whose windows reach beyond the data -> heights by the nearest match, as
 * src/matching/border_windows.c. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "portable.h"

/* A surface since its prior; h x w. */
typedef struct BorderSurface {
    GLOBAL const float *prior;
    GLOBAL float *h_m;
    GLOBAL const ushort *flags;
    int w, h;
} BorderSurface;

FUNCTION bool border_match(const BorderSurface *s, int x, int y)
{
    return x >= 0 && y >= 0 && x < s->w && y < s->h && (s->flags[(long)y * s->w + x] & QA_VALID) != 0;
}

FUNCTION float border_change(const BorderSurface *s, int x, int y)
{
    const long at = (long)y * s->w + x;
    return s->h_m[at] - s->prior[at];
}

typedef struct BorderStep {
    int x, y; /* columns and rows; both 0: none */
} BorderStep;

/* From (x, y) to the nearest match within `most`. */
FUNCTION BorderStep border_nearest(const BorderSurface *s, int x, int y, int most)
{
    BorderStep step = {0, 0};
    NO_UNROLL for (int r = 1; r <= most; r++)
        NO_UNROLL for (int k = 0; k <= r; k++)
            NO_UNROLL for (int i = 0; i < 8; i++) {
                const int across = i & 1 ? k : -k, out = i & 2 ? r : -r;
                step.x = i & 4 ? out : across;
                step.y = i & 4 ? across : out;
                if (border_match(s, x + step.x, y + step.y))
                    return step;
            }
    step.x = step.y = 0;
    return step;
}

/* Heights and scores in place, of pixels that have no match; flags to new_flags. */
KERNEL ANY_GROUP
border_heights(GLOBAL const short *left, GLOBAL const short *right, GLOBAL const float *prior, int w, int h,
               int most, GLOBAL float *h_m, GLOBAL const ushort *flags, GLOBAL uchar *score,
               GLOBAL ushort *new_flags)
{
    const int x = PLACE(0), y = PLACE(1);
    if (x >= w || y >= h)
        return;
    const long at = (long)y * w + x;
    const ushort own = flags[at];
    const bool seen = (own & QA_OUTSIDE) != 0 && left[at] != PIXEL_NODATA && right[at] != PIXEL_NODATA;
    const BorderSurface s = {prior, h_m, flags, w, h};
    const BorderStep step = border_nearest(&s, x, y, seen ? most : 0);
    if (step.x != 0 || step.y != 0) {
        const int near_x = x + step.x, near_y = y + step.y;
        const float change = border_change(&s, near_x, near_y);
        const bool beyond = border_match(&s, near_x + step.x, near_y + step.y);
        const float further = beyond ? border_change(&s, near_x + step.x, near_y + step.y) : change;
        h_m[at] = prior[at] + (change + (change - further));
        score[at] = score[(long)near_y * w + near_x];
    }
    new_flags[at] = (own & QA_OUTSIDE) != 0 && score[at] > 0 ? QA_VALID : own;
}
