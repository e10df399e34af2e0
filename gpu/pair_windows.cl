/* Rectified image -> what costs of `match` need of it alone: texture and sum of the window about each pixel,
 * census words.  Positions off the image take the nearest pixel.  As cpu/pair_reference.c. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "common.cl"

/* sum: of samples less `middle`; texture: 1 / (n sigma), 0 where the window has no cost: nodata inside or,
 * where `textured`, a standard deviation of n sigma <= least; 1 where it is not asked.  An item walks down
 * `rows` rows of COLUMNS pixels; windows reach from -before to window - 1 - before. */
KERNEL ANY_GROUP
    pair_texture(GLOBAL const short *image, int w, int h, int window, int middle, int textured, float least,
                 int rows, GLOBAL int *sum, GLOBAL float *texture)
{
    const int x = PLACE(0) * COLUMNS, y0 = GROUP(1) * rows, before = window / 2;
    const int y1 = y0 + rows < h ? y0 + rows : h, after = window - 1 - before, n = window * window;
    int s[COLUMNS] = {0, 0, 0, 0}, bad[COLUMNS] = {0, 0, 0, 0};
    long squares[COLUMNS] = {0, 0, 0, 0};
    if (x >= w)
        return;
    for (int step = -window + 1; step < y1 - y0; step++) {
        for (int leaves = 0; leaves < 2; leaves++) { /* the row that enters below, then the one above */
            const int y = leaves ? y0 + step - before - 1 : y0 + step + after;
            if (leaves && step < 1)
                continue;
            GLOBAL const short *const row = image + (long)clamp_index(y, h) * w;
            int line = 0, none = 0;
            uint line_squares = 0; /* 32 x 2^22 */
            for (int i = 0; i < window + COLUMNS - 1; i++) {
                const int v = row[clamp_index(x - before + i, w)], c = v == PIXEL_NODATA ? 0 : v - middle;
                line += c;
                line_squares += (uint)(c * c);
                none += v == PIXEL_NODATA;
                UNROLL for (int k = 0; k < COLUMNS; k++)
                    if (i == window - 1 + k) {
                        s[k] += leaves ? -line : line;
                        squares[k] += leaves ? -(long)line_squares : (long)line_squares;
                        bad[k] += leaves ? -none : none;
                        const int u = row[clamp_index(x - before + k, w)],
                                  gone = u == PIXEL_NODATA ? 0 : u - middle;
                        line -= gone;
                        line_squares -= (uint)(gone * gone);
                        none -= u == PIXEL_NODATA;
                    }
            }
        }
        if (step < 0)
            continue;
        UNROLL for (int k = 0; k < COLUMNS; k++)
            if (x + k < w) {
                const long at = (long)(y0 + step) * w + x + k;
                const float variance = (float)(n * squares[k] - (long)s[k] * s[k]);
                const float full = variance > least * least ? 1.0f / SQRT(variance) : 0.0f;
                sum[at] = s[k];
                texture[at] = bad[k] ? 0.0f : textured ? full : 1.0f;
            }
    }
}

/* A sample in 8-bit levels. */
FUNCTION int pair_level(int v, int eight_bit)
{
    const int far = v + 2048;
    return eight_bit ? (v < 0 ? 0 : v > 255 ? 255 : v) : (far < 0 ? 0 : far > 4095 ? 4095 : far) >> 4;
}

/* The difference of two of these is that of two samples, exactly. */
FUNCTION float comparable(ushort v)
{
    return AS_FLOAT((int)((uint)v ^ 0x4b008000u));
}

#define WORD_REACH 4 /* columns of a block on each side, at most */
#define WORD_SPAN (COLUMNS + 2 * WORD_REACH)

/* Samples of a row from column x on that goes beyond the image's sides. */
FUNCTION void word_row_edge(GLOBAL const ushort *row, int x, int w, float *v)
{
    UNROLL for (int i = 0; i < WORD_SPAN; i++)
        v[i] = comparable(row[clamp_index(x + i, w)]);
}

/* A row of up to nine columns to bits of four neighbouring pixels: 1 where it is darker than the middle. */
FUNCTION void word_row(GLOBAL const ushort *row, int x, int w, int reach, const float *middle, uint *bits)
{
    const int first = x - WORD_REACH;
    float v[WORD_SPAN];
    if (first < 0 || first + WORD_SPAN > w)
        word_row_edge(row, first, w, v);
    else
        UNROLL for (int i = 0; i < WORD_SPAN; i++)
            v[i] = comparable(row[first + i]);
    UNROLL for (int k = 0; k < COLUMNS; k++)
        bits[k] = 0u;
    UNROLL for (int i = -WORD_REACH; i <= WORD_REACH; i++)
        if (i >= -reach && i <= reach)
            UNROLL for (int k = 0; k < COLUMNS; k++)
                bits[k] = bits[k] << 1 | AS_UINT(v[i + k + WORD_REACH] - middle[k]) >> 31;
}

FUNCTION void word_high(uint *high, const uint *bits, int census_width)
{
    UNROLL for (int k = 0; k < COLUMNS; k++)
        high[k] = high[k] << census_width | bits[k];
}

/* Census words; the first PAIR_WORD_ROWS rows of a block in `low`, those below in `high`.  An item makes
 * COLUMNS pixels. */
KERNEL GROUP_SIZE(32, 8, 1) pair_words(GLOBAL const short *image, int w, int h, int census_width,
                                       int census_height, int eight_bit, GLOBAL PairWord *word)
{
    const int x = (GROUP(0) * 32 + ITEM(0)) * COLUMNS, y = GROUP(1) * 8 + ITEM(1), ry = census_height / 2;
    GLOBAL const ushort *const samples = (GLOBAL const ushort *)image;
    float middle[COLUMNS];
    ulong low[COLUMNS];
    uint bits[COLUMNS], high[COLUMNS];
    if (x >= w || y >= h)
        return;
    UNROLL for (int k = 0; k < COLUMNS; k++) {
        middle[k] = comparable(samples[(long)y * w + clamp_index(x + k, w)]);
        low[k] = 0ul;
        high[k] = 0u;
    }
    for (int j = 0; j < census_height; j++) {
        word_row(samples + (long)clamp_index(y + j - ry, h) * w, x, w, census_width / 2, middle, bits);
        if (j < PAIR_WORD_ROWS)
            UNROLL for (int k = 0; k < COLUMNS; k++)
                low[k] = low[k] << census_width | bits[k];
        else
            word_high(high, bits, census_width);
    }
    UNROLL for (int k = 0; k < COLUMNS; k++)
        if (x + k < w) {
            const int v = image[(long)y * w + x + k];
            PairWord to;
            to.low = low[k];
            to.high = high[k];
            to.level = v == PIXEL_NODATA ? 0x80000000u : AS_UINT((float)pair_level(v, eight_bit));
            word[(long)y * w + x + k] = to;
        }
}
