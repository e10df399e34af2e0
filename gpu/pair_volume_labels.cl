/* Rectified pair -> costs of all labels, for the optimizers; labels -> disparities.  Label l of pixel x is
 * right pixel x + first + l, whose ends go on beyond the image.  As src/rectified/pair_labels.c
 * and src/matching/optimize.c.  Volumes: see gpu/optimize.cl; all have the rows of the
 * images. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "common.cl"
#include "optimize.cl"
#include "pair_volume.cl"

#define NAN_BITS 0x7fc00000

/* The pair whose labels are asked: rows of w pixels. */
typedef struct LabelPair {
    GLOBAL const short *left, *right; /* of the row */
    int w, labels, first, chance;
} LabelPair;

FUNCTION bool label_seen(const LabelPair *p, int x, int l)
{
    const int xr = x + p->first + l;
    return l < p->labels && xr >= 0 && xr < p->w && p->left[x] != PIXEL_NODATA &&
           p->right[xr] != PIXEL_NODATA;
}

/* Labels without a cost cost as chance does. */
FUNCTION void mark_missing(const LabelPair *p, int x, int l0, uint *cost)
{
    for (int i = 0; i < 16; i++)
        if (l0 + i < p->labels && !label_seen(p, x, l0 + i))
            cost[i] = (uint)p->chance;
}

#define LABEL_ITEMS 32 /* of a row of a group, COLUMNS pixels each */
#define LABEL_ROWS 4
#define LABEL_SPAN (LABEL_ITEMS * COLUMNS)
#define LABEL_MET (16 + COLUMNS - 1) /* right pixels that an item's labels meet */
#define FLOAT_ONES 0x4b000000u /* AS_UINT(8388608.0f), whose last bit is 1 */
#define LABEL_PITCH (LABEL_SPAN + LABEL_ITEMS) /* of a group's costs in local memory: a gap between items, for
                                                * its banks */

/* Pixels of an item: those of the left image, and the right pixel at the first label of the first one. */
typedef struct LabelItem {
    GLOBAL const PairWord *left, *right; /* rows */
    int x, from, w;
} LabelItem;

/* Costs of 16 labels of an item's pixels, four in a word, and which of the right pixels, and from bit
 * LABEL_MET on of the left ones, are without data.  words: 0, 1 (`low`) or 2 of a PairWord count. */
FUNCTION uint label_four(const LabelItem *it, float most, const int words, uint cost[COLUMNS][4])
{
    PairWord left[COLUMNS];
    uint none = 0u;
    UNROLL for (int k = 0; k < COLUMNS; k++) {
        left[k] = it->left[clamp_index(it->x + k, it->w)];
        none |= left[k].level >> 31 << (LABEL_MET + k);
        UNROLL for (int i = 0; i < 4; i++)
            cost[k][i] = 0u - FLOAT_ONES;
    }
    UNROLL for (int r = 0; r < LABEL_MET; r++) {
        const PairWord right = it->right[clamp_index(it->from + r, it->w)];
        none |= right.level >> 31 << r;
        UNROLL for (int k = 0; k < COLUMNS; k++) {
            const int i = r - k;
            if (i >= 0 && i < 16) {
                const float apart = FABS(AS_FLOAT((int)left[k].level) - AS_FLOAT((int)right.level));
                uint sum = AS_UINT(LESSER(apart, most) + 8388608.0f); /* the whole number, and FLOAT_ONES */
                if (words > 0)
                    sum += (uint)POPCOUNT64(left[k].low ^ right.low);
                if (words > 1)
                    sum += (uint)POPCOUNT(left[k].high ^ right.high);
                cost[k][i >= 0 ? i / 4 : 0] += sum << 8 * (i & 3); /* FLOAT_ONES stay where i % 4 = 0 */
            }
        }
    }
    return none;
}

/* Right pixels that an item meets and that lie beyond the image. */
FUNCTION uint label_beyond(const LabelItem *it)
{
    uint none = 0u;
    UNROLL for (int r = 0; r < LABEL_MET; r++)
        none |= (uint)(it->from + r < 0 || it->from + r >= it->w) << r;
    return none;
}

/* In an item's costs in local memory: labels without a cost cost as chance does, what pads the labels 255. */
FUNCTION void label_repair(IN_LOCAL uchar *cost, uint none, int labels, int chance)
{
    NO_UNROLL for (int k = 0; k < COLUMNS; k++)
        NO_UNROLL for (int i = 0; i < 16; i++)
            if (i >= labels)
                cost[16 * k + i] = 255;
            else if (none >> (i + k) & 1u || none >> (LABEL_MET + k) & 1u)
                cost[16 * k + i] = (uchar)chance;
}

#define LABEL_ARGUMENTS                                                                             \
    GLOBAL const PairWord *left, GLOBAL const PairWord *right, int w, int h, int labels, int first, \
        int chance, float most, int whole, GLOBAL uint4 *cost

FUNCTION void label_group(LABEL_ARGUMENTS, IN_LOCAL uint4 *staged, const int words)
{
    const int x0 = GROUP(0) * LABEL_SPAN, y = GROUP(1) * LABEL_ROWS + ITEM(1), b = GROUP(2),
              x = x0 + COLUMNS * ITEM(0);
    IN_LOCAL uint4 *const row = staged + ITEM(1) * LABEL_PITCH, *const mine = row + (COLUMNS + 1) * ITEM(0);
    if (x < w && y < h) {
        const LabelItem it = {left + (long)y * w, right + (long)y * w, x, x + first + 16 * b, w};
        uint c[COLUMNS][4], none = label_four(&it, most, words, c);
        UNROLL for (int k = 0; k < COLUMNS; k++) {
            uint4 v;
            v.x = c[k][0];
            v.y = c[k][1];
            v.z = c[k][2];
            v.w = c[k][3];
            mine[k] = v;
        }
        if (it.from < 0 || it.from + LABEL_MET > w)
            none |= label_beyond(&it);
        if ((whole && none) || 16 * b + 16 > labels)
            label_repair((IN_LOCAL uchar *)mine, whole ? none : 0u, labels - 16 * b, chance);
    }
    BARRIER();
    if (y < h)
        UNROLL for (int k = 0; k < COLUMNS; k++) {
            const int i = k * LABEL_ITEMS + ITEM(0);
            if (x0 + i < w)
                cost[block_at(y, b, x0 + i, w, (labels + 15) / 16)] = row[i + i / COLUMNS];
        }
}

/* Costs of single pixels: bits of the words that differ, and the difference of the samples up to `most`;
 * whole: and that is all, windows are one pixel.  An item has 16 labels of COLUMNS pixels. */
#define LABEL_COSTS(WORDS) \
    KERNEL GROUP_SIZE(LABEL_ITEMS, LABEL_ROWS, 1) label_costs_##WORDS(LABEL_ARGUMENTS) \
    { \
        LOCAL uint4 staged[LABEL_ROWS * LABEL_PITCH]; \
        label_group(left, right, w, h, labels, first, chance, most, whole, cost, staged, WORDS); \
    }
LABEL_COSTS(0)
LABEL_COSTS(1)
LABEL_COSTS(2)

/* Add (sign 1) or take (-1) the part of a window about x in row y. */
FUNCTION void add_costs(GLOBAL const uint4 *pixel, long row, int x, int w, int window, uint sign, uint *sum)
{
    for (int i = 0; i < window; i++) {
        uint v[8];
        unpack_costs(pixel[row + clamp_index(x - window / 2 + i, w)], v);
        UNROLL for (int j = 0; j < 8; j++) {
            sum[2 * j] += sign * (v[j] & 0xffffu);
            sum[2 * j + 1] += sign * (v[j] >> 16);
        }
    }
}

/* Sums over windows of what pixels cost, >> shift.  An item walks down `rows` rows. */
KERNEL GROUP_SIZE(64, 1, 1)
label_windows(GLOBAL const short *left, GLOBAL const short *right, GLOBAL const uint4 *pixel, int w, int h,
              int labels, int first, int chance, int window, int shift, int rows, GLOBAL uint4 *cost)
{
    const int x = GROUP(0) * 64 + ITEM(0), y0 = GROUP(1) * rows, b = GROUP(2), blocks = (labels + 15) / 16;
    const int y1 = y0 + rows < h ? y0 + rows : h, before = window / 2;
    uint sum[16];
    UNROLL for (int i = 0; i < 16; i++)
        sum[i] = 0u;
    for (int y = y0 - before; y < y0 - before + window - 1; y++)
        add_costs(pixel, block_at(clamp_index(y, h), b, 0, w, blocks), x, w, window, 1u, sum);
    for (int y = y0; y < y1; y++) {
        const LabelPair p = {left + (long)y * w, right + (long)y * w, w, labels, first, chance};
        uint c[16];
        add_costs(pixel, block_at(clamp_index(y - before + window - 1, h), b, 0, w, blocks), x, w, window, 1u,
                  sum);
        UNROLL for (int i = 0; i < 16; i++)
            c[i] = sum[i] >> shift;
        if (x < w) {
            mark_missing(&p, x, 16 * b, c);
            store_costs(cost + block_at(y, b, x, w, blocks), 16 * b, labels, c);
        }
        add_costs(pixel, block_at(clamp_index(y - before, h), b, 0, w, blocks), x, w, window, 0u - 1u, sum);
    }
}

/* Where the least lies between labels whose costs are these: two lines of opposite slope. */
FUNCTION float label_vertex(int before, int at, int after)
{
    const int steeper = before > after ? before - at : after - at;
    if (before < at || after < at)
        return before < after ? -0.5f : before > after ? 0.5f : 0.0f;
    return steeper > 0 ? (float)(before - after) / (float)(2 * steeper) : 0.0f;
}

/* Sub-pixel place of label l at (x, y), a row of the band: costs of those of 5 x 5 pixels whose labels differ
 * by at most 1. */
FUNCTION float label_offset(GLOBAL const uchar *cost, GLOBAL const ushort *left, LabelBand b, int w,
                            int blocks, int x, int y, int l)
{
    int sum[3] = {0, 0, 0};
    for (int j = -2; j <= 2; j++) {
        const int row = b.top + clamp_index(y + j - b.top, b.bottom - b.top);
        for (int i = -2; i <= 2; i++) {
            const int col = clamp_index(x + i, w), apart = left[(long)(b.out + row - b.begin) * w + col] - l;
            if (apart < -1 || apart > 1)
                continue;
            for (int k = 0; k < 3; k++)
                sum[k] += volume_cost(cost, row, col, l - 1 + k, w, blocks);
        }
    }
    return label_vertex(sum[0], sum[1], sum[2]);
}

/* Rows y0 + 256 k .. of the volume of band k = GROUP(2), `height` rows in all, to disparities, whose row 0 is
 * y0; NaN where there is none. */
KERNEL GROUP_SIZE(64, 4, 1)
label_disparities(GLOBAL const short *left_image, GLOBAL const short *right_image, GLOBAL const uchar *cost,
                  GLOBAL const LabelBand *band, GLOBAL const ushort *left, GLOBAL const uint *right, int w,
                  int labels, int first, int dmax, float lr_threshold, int subpixel, int y0, int height,
                  int band_rows, GLOBAL float *disparity)
{
    const LabelBand b = band[GROUP(2)];
    const int x = GROUP(0) * 64 + ITEM(0), i = GROUP(1) * 4 + ITEM(1), row = GROUP(2) * band_rows + i;
    const int y = y0 + row;
    if (x >= w || i >= band_rows || row >= height)
        return;
    const LabelPair p = {left_image + (long)y * w, right_image + (long)y * w, w, labels, first, 0};
    const long at = (long)(b.out + y - b.begin) * w, to = (long)row * w + x;
    const int l = left[at + x];
    disparity[to] = AS_FLOAT(NAN_BITS);
    if (!label_seen(&p, x, l))
        return;
    if (right) {
        const uint key = right[at + x + first + l];
        const int other = 0xffff - (int)(key & 0xffffu), apart = l > other ? l - other : other - l;
        if (key == KEY_NONE || (float)apart > lr_threshold)
            return;
    }
    const float offset = subpixel && l > 0 && l + 1 < labels
                             ? label_offset(cost, left, b, w, (labels + 15) / 16, x, y, l)
                             : 0.0f;
    disparity[to] = (float)(dmax - l) - offset;
}
