/* Disparities with holes -> without: each takes the value of the valid pixel at the smallest Euclidean
 * distance, of several the leftmost, then the uppermost.  As sdm_pair_fill() with SDM_FILL_NEAREST. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "portable.h"

/* row: of the nearest valid pixel in the column, the upper of two, -1 if there is none. */
KERNEL GROUP_SIZE(64, 1, 1)
fill_nearest_columns(GLOBAL const float *d, int w, int h, GLOBAL int *row)
{
    const int x = GROUP(0) * 64 + ITEM(0);
    int last = -1;
    if (x >= w)
        return;
    for (int y = 0; y < h; y++) {
        const float v = d[(long)y * w + x];
        last = v == v ? y : last;
        row[(long)y * w + x] = last;
    }
    last = -1;
    for (int y = h - 1; y >= 0; y--) {
        const int above = row[(long)y * w + x];
        last = above == y ? y : last;
        if (last > y && (above < 0 || last - y < y - above))
            row[(long)y * w + x] = last;
    }
}

/* Holes of all rows, looking outward along the row until no column can be nearer.  Holes' own values are not
 * read, so d is filled in place. */
KERNEL ANY_GROUP
fill_nearest_rows(GLOBAL float *d, GLOBAL const int *row, int w, int h)
{
    const int x = PLACE(0), y = PLACE(1);
    if (x >= w || y >= h || row[(long)y * w + x] == y)
        return;
    GLOBAL const int *const r = row + (long)y * w;
    long best = 0x7fffffffffffffffL;
    int from = -1;
    for (int i = 0; i < w && (long)i * i <= best; i++)
        for (int side = 0; side < 2; side++) {
            const int u = side ? x + i : x - i;
            if (u < 0 || u >= w || r[u] < 0)
                continue;
            const long dy = r[u] - y, distance = (long)i * i + dy * dy;
            if (distance < best || (distance == best && u < from)) {
                best = distance;
                from = u;
            }
        }
    if (from >= 0)
        d[(long)y * w + x] = d[(long)r[from] * w + from];
}
