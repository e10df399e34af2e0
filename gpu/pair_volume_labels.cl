/* Rectified pair -> costs of all labels, for the optimizers; labels -> disparities.  Label l of pixel x is
 * right pixel x + first + l, whose ends go on beyond the image.  As src/rectified/pair_volume.c,
 * pair_labels.c and src/matching/label_subpixel.c.  Volumes: see gpu/optimize.cl; all have the rows of the
 * images. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "common.cl"
#include "optimize.cl"
#include "pair_volume.cl"

#define NAN_BITS 0x7fc00000

/* A sample in 8-bit levels. */
FUNCTION int label_level(int v, int eight_bit)
{
    const int far = v + 2048;
    return eight_bit ? (v < 0 ? 0 : v > 255 ? 255 : v) : (far < 0 ? 0 : far > 4095 ? 4095 : far) >> 4;
}

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

/* What single pixels cost: bits of the words that differ (words 0: none), and the difference of the samples
 * up to apart_most; whole: and that is all, windows are one pixel. */
KERNEL GROUP_SIZE(64, 4, 1)
label_costs(GLOBAL const short *left, GLOBAL const short *right, GLOBAL const Word2 *left_word,
            GLOBAL const Word2 *right_word, int w, int h, int labels, int first, int chance, int words,
            int apart_most, int eight_bit, int whole, GLOBAL uint4 *cost)
{
    const int x = GROUP(0) * 64 + ITEM(0), y = GROUP(1) * 4 + ITEM(1), b = GROUP(2);
    const long row = (long)y * w;
    uint c[16];
    if (x >= w || y >= h)
        return;
    const LabelPair p = {left + row, right + row, w, labels, first, chance};
    const int level = label_level(p.left[x], eight_bit);
    const Word2 word = words ? left_word[row + x] : (Word2){0, 0};
    UNROLL for (int i = 0; i < 16; i++) {
        const int xr = clamp_index(x + first + 16 * b + i, w);
        const uint apart = apart_of(level, label_level(p.right[xr], eight_bit));
        c[i] = apart < (uint)apart_most ? apart : (uint)apart_most;
        if (words)
            c[i] += bits_of2(word, right_word[row + xr]);
    }
    if (whole)
        mark_missing(&p, x, 16 * b, c);
    store_costs(cost + block_at(y, b, x, w, (labels + 15) / 16), 16 * b, labels, c);
}

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
