/* Shared by the optimizers: costs of labels, 16 at a time, and labels packed two in a word.
 * A volume of costs: rows x blocks x w x 16 bytes, block b of a pixel its labels 16 b .. 16 b + 15; what pads
 * the labels costs 255. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "portable.h"

#define KEY_NONE 0xffffffffu

/* A band of rows of the volume: what is wanted is begin..end - 1, the rows top..bottom - 1 are looked at, and
 * row `begin` comes out as row `out`. */
typedef struct LabelBand {
    int top, begin, end, bottom, out;
} LabelBand;

FUNCTION long block_at(long y, int b, int x, int w, int blocks)
{
    return (y * blocks + b) * w + x;
}

FUNCTION uint twice(uint v)
{
    return v << 16 | v;
}

/* All ones in the halves 2 k, 2 k + 1 that are no label. */
FUNCTION uint no_label(int k, int labels)
{
    return 2 * k >= labels ? 0xffffffffu : 2 * k + 1 >= labels ? 0xffff0000u : 0u;
}

FUNCTION uint lesser_half(uint v)
{
    const uint a = v & 0xffffu, b = v >> 16;
    return a < b ? a : b;
}

/* A cost as a byte of the volume. */
FUNCTION uchar volume_cost(GLOBAL const uchar *cost, long y, int x, int l, int w, int blocks)
{
    return cost[16 * block_at(y, l / 16, x, w, blocks) + l % 16];
}

/* Least sum and label in one word, so that of equal sums the lowest label is less; the same for right pixels,
 * of which the highest label is. */
FUNCTION uint left_key(uint sum, int l)
{
    return sum << 16 | (uint)l;
}

FUNCTION uint right_key(uint sum, int l)
{
    return sum << 16 | (0xffffu - (uint)l);
}

/* 16 costs as words of two. */
FUNCTION void unpack_costs(uint4 c, uint *v)
{
    v[0] = BYTES_LOW(c.x);
    v[1] = BYTES_HIGH(c.x);
    v[2] = BYTES_LOW(c.y);
    v[3] = BYTES_HIGH(c.y);
    v[4] = BYTES_LOW(c.z);
    v[5] = BYTES_HIGH(c.z);
    v[6] = BYTES_LOW(c.w);
    v[7] = BYTES_HIGH(c.w);
}

/* Labels of the wanted rows -> keys of the right pixels (all ones before): of the left pixels that meet a
 * right pixel the one with the least cost at its label, of equal ones the leftmost. */
KERNEL GROUP_SIZE(64, 4, 1)
right_labels(GLOBAL const uchar *cost, GLOBAL const LabelBand *band, int w, int labels, int first,
             GLOBAL const ushort *left, GLOBAL uint *right)
{
    const LabelBand b = band[GROUP(2)];
    const int x = GROUP(0) * 64 + ITEM(0), y = GROUP(1) * 4 + ITEM(1);
    if (x >= w || y >= b.end - b.begin)
        return;
    const long row = (long)(b.out + y) * w;
    const int l = left[row + x], meets = x + first + l;
    if (meets >= 0 && meets < w)
        GLOBAL_MIN(&right[row + meets],
                   right_key(volume_cost(cost, b.begin + y, x, l, w, (labels + 15) / 16), l));
}

FUNCTION uint four_costs(const uint *c)
{
    return c[0] | c[1] << 8 | c[2] << 16 | c[3] << 24;
}

/* Store the costs of a block; the padding of the labels costs 255. */
FUNCTION void store_costs(GLOBAL uint4 *to, int l0, int labels, uint *c)
{
    uint4 v;
    UNROLL for (int i = 0; i < 16; i++)
        c[i] = l0 + i < labels ? c[i] : 255u;
    v.x = four_costs(c);
    v.y = four_costs(c + 4);
    v.z = four_costs(c + 8);
    v.w = four_costs(c + 12);
    *to = v;
}
