/* Image -> what costs need of it alone: mean and texture of the window about each pixel, census words.
 *
 * Shape of this file's and gpu/volume.cl's sums: an item owns COLUMNS neighbouring pixels and walks down a
 * strip of rows; the sum of a row of the window is found once for the first pixel and moved for the others;
 * the window's sum takes in a row below and lets one go above.  All in 32 bits that may wrap: nodata and what
 * lies beside the image enters and leaves alike, and no such window is used. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "common.cl"

typedef struct WindowSums {
    int sum[COLUMNS], bad[COLUMNS];
    uint squares[COLUMNS];
} WindowSums;

/* Add (sign 1) or take (-1) the row's part of the windows of pixels x .. x + COLUMNS - 1. */
FUNCTION void add_pixels(WindowSums *s, GLOBAL const short *row, int w, int first, int window, int sign)
{
    int sum = 0, bad = 0;
    uint squares = 0;
    for (int i = 0; i < window; i++) {
        const int v = row[clamp_index(first + i, w)];
        sum += v;
        squares += (uint)(v * v);
        bad += v == PIXEL_NODATA;
    }
    UNROLL for (int k = 0; k < COLUMNS; k++) {
        s->sum[k] += sign * sum;
        s->squares[k] += (uint)sign * squares;
        s->bad[k] += sign * bad;
        const int in = row[clamp_index(first + window + k, w)], out = row[clamp_index(first + k, w)];
        sum += in - out;
        squares += (uint)(in * in) - (uint)(out * out);
        bad += (in == PIXEL_NODATA) - (out == PIXEL_NODATA);
    }
}

/* mean: packed; texture: -1 with nodata in the window or off the image.  Rows y0 .. of strips of `rows`. */
KERNEL ANY_GROUP
window_texture(GLOBAL const short *image, int w, int h, int window, float least, int rows, GLOBAL int *mean,
               GLOBAL float *texture)
{
    const int x = PLACE(0) * COLUMNS, y0 = GROUP(1) * rows, reach = window / 2,
              n = window * window;
    const int y1 = y0 + rows < h ? y0 + rows : h;
    const float inverse = 1.0f / (float)n;
    WindowSums s;
    if (x >= w)
        return;
    UNROLL for (int k = 0; k < COLUMNS; k++) {
        s.sum[k] = s.bad[k] = 0;
        s.squares[k] = 0;
    }
    for (int y = y0 - reach; y < y0 + reach; y++)
        add_pixels(&s, image + (long)clamp_index(y, h) * w, w, x - reach, window, 1);
    for (int y = y0; y < y1; y++) {
        add_pixels(&s, image + (long)clamp_index(y + reach, h) * w, w, x - reach, window, 1);
        const bool inside_y = y >= reach && y + reach < h;
        UNROLL for (int k = 0; k < COLUMNS; k++)
            if (x + k < w) {
                const bool whole = inside_y && x + k >= reach && x + k + reach < w && s.bad[k] == 0;
                const int packed = pack_mean(s.sum[k], n, inverse);
                mean[(long)y * w + x + k] = packed;
                texture[(long)y * w + x + k] =
                    whole ? texture_of(packed, s.sum[k], s.squares[k], inverse, least) : -1.0f;
            }
        add_pixels(&s, image + (long)clamp_index(y - reach, h) * w, w, x - reach, window, -1);
    }
}

/* A bit per neighbour of the word, 1 where it is darker than the centre; rows off the image are nodata, which
 * is darkest; columns off the image give 0.  A word has one of each two opposite neighbours: the upper or
 * left one in even columns, the other one in odd columns, as sdm_in_census_word() of cpu/kernels.h says. */
KERNEL GROUP_SIZE(32, 8, 1)
census_words(GLOBAL const short *image, int w, int h, GLOBAL uint *word)
{
    LOCAL short tile[14][40];
    const int x0 = GROUP(0) * 32, y0 = GROUP(1) * 8, x = x0 + ITEM(0), y = y0 + ITEM(1);
    for (int i = ITEM(1) * 32 + ITEM(0); i < 14 * 40; i += 256) {
        const int col = x0 - 4 + i % 40, row = y0 - 3 + i / 40;
        const bool beside = col < 0 || col >= w, off = row < 0 || row >= h;
        tile[i / 40][i % 40] = (short)(beside ? 32767 : off ? PIXEL_NODATA : image[(long)row * w + col]);
    }
    BARRIER();
    if (x >= w || y >= h)
        return;
    const int centre = tile[ITEM(1) + 3][ITEM(0) + 4];
    uint bits = 0u;
    UNROLL for (int j = 0; j < 7; j++)
        UNROLL for (int i = 0; i < 9; i++) {
            const bool upper = j < 3 || (j == 3 && i < 4), even = i % 2 == 0;
            if (upper == even)
                bits = bits << 1 | (uint)(tile[ITEM(1) + j][ITEM(0) + i] < centre);
        }
    word[(long)y * w + x] = bits;
}
