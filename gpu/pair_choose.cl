/* Costs of a strip of a rectified pair -> disparities: winner, left-right check on the diagonal of the same
 * volume, uniqueness, sub-pixel.  As cpu/pair_reference.c. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "common.cl"

/* Costs of a row: depth x w. */
typedef struct CostRow {
    GLOBAL const ushort *cost;
    int w, dmin, depth;
} CostRow;

FUNCTION int cost_of(const CostRow *r, int x, int k)
{
    return x < 0 || x >= r->w || k < 0 || k >= r->depth ? PAIR_NONE : r->cost[(long)k * r->w + x];
}

/* best: rows y_begin..y_end - 1 of w: d of each right pixel's best, of equal ones the smallest. */
KERNEL ANY_GROUP
pair_right_best(GLOBAL const ushort *cost, int w, int rows, int dmin, int depth, GLOBAL int *best)
{
    const int x = PLACE(0), y = PLACE(1);
    if (x >= w || y >= rows)
        return;
    const CostRow r = {cost + (long)y * depth * w, w, dmin, depth};
    int least = PAIR_NONE, at = PAIR_NOWHERE;
    for (int k = 0; k < depth; k++) {
        const int c = cost_of(&r, x + dmin + k, k);
        at = c < least ? dmin + k : at;
        least = c < least ? c : least;
    }
    best[(long)y * w + x] = at;
}

/* -0.5..0.5 px where the curve through the costs is least; round: a parabola, else a V. */
FUNCTION float pair_subpixel(int before, int best, int after, int round)
{
    const int steeper = before > after ? before : after,
              below = round ? before + after - 2 * best : steeper - best;
    if (before == PAIR_NONE || after == PAIR_NONE || below <= 0)
        return 0.0f;
    return (float)(before - after) / (float)(2 * below);
}

/* Is there a cost more than 1 px away that the best does not beat by the share asked? */
FUNCTION bool pair_ambiguous(const CostRow *r, int x, int best, int least, float uniqueness)
{
    const float limit = (float)least * (1.0f + uniqueness);
    for (int k = 0; k < r->depth; k++) {
        const int c = cost_of(r, x, k);
        if ((k < best - 1 || k > best + 1) && c != PAIR_NONE && (float)c <= limit)
            return true;
    }
    return false;
}

/* disparity: its row `out_row` is the strip's first one. */
KERNEL ANY_GROUP pair_choose(GLOBAL const ushort *cost, GLOBAL const int *right_best, int w, int rows,
                             int dmin, int depth, float lr_threshold, float uniqueness, int subpixel,
                             int round, int out_row, GLOBAL float *disparity)
{
    const int x = PLACE(0), y = PLACE(1);
    if (x >= w || y >= rows)
        return;
    const CostRow r = {cost + (long)y * depth * w, w, dmin, depth};
    const long at = (long)y * w + x, to = at + (long)out_row * w;
    int least = PAIR_NONE, best = 0;
    for (int k = 0; k < depth; k++) {
        const int c = cost_of(&r, x, k);
        best = c < least ? k : best;
        least = c < least ? c : least;
    }
    const int d = dmin + best;
    disparity[to] = AS_FLOAT(0x7fc00000);
    if (least == PAIR_NONE)
        return;
    if (lr_threshold >= 0.0f) {
        const int apart = d - right_best[at - d];
        if ((float)(apart < 0 ? -apart : apart) > lr_threshold)
            return;
    }
    if (uniqueness > 0.0f && pair_ambiguous(&r, x, best, least, uniqueness))
        return;
    const float part =
        subpixel ? pair_subpixel(cost_of(&r, x, best - 1), least, cost_of(&r, x, best + 1), round) : 0.0f;
    disparity[to] = (float)d + part;
}
