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

/* Two words a pixel: a bit per neighbour of the block, 1 where it is darker than the middle. */
KERNEL GROUP_SIZE(32, 8, 1)
pair_words(GLOBAL const short *image, int w, int h, int census_width, int census_height, GLOBAL ulong *word)
{
    const int x = GROUP(0) * 32 + ITEM(0), y = GROUP(1) * 8 + ITEM(1), rx = census_width / 2,
              ry = census_height / 2;
    if (x >= w || y >= h)
        return;
    const int centre = image[(long)y * w + x];
    ulong low = 0, high = 0; /* the upper rows, the lower ones: 40 bits each */
    for (int j = -ry; j <= ry; j++) {
        GLOBAL const short *const row = image + (long)clamp_index(y + j, h) * w;
        ulong bits = 0;
        for (int i = -rx; i <= rx; i++)
            bits = bits << 1 | (ulong)(row[clamp_index(x + i, w)] < centre);
        if (j < 0)
            low = low << census_width | bits;
        else
            high = high << census_width | bits;
    }
    word[2 * ((long)y * w + x)] = low;
    word[2 * ((long)y * w + x) + 1] = high;
}
