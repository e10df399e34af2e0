/* Wiener filter of the surface by the noise of its matches, as src/matching/wiener.c. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "portable.h"

#define WIENER_HALF 5 /* SDM_WIENER_HALF */

FUNCTION float five_taps(float a, float b, float c, float d, float e)
{
    return (((a + e) + 4.0f * (b + d)) + 6.0f * c) * 0.0625f;
}

/* (1 4 6 4 1)/16 in both axes, taps `step` apart; at the ends the surface goes on with its last value. */
KERNEL ANY_GROUP blur(GLOBAL const float *in, int w, int h, int step, GLOBAL float *out)
{
    const int x = PLACE(0), y = PLACE(1);
    float column[5];
    long row[5];
    if (x >= w || y >= h)
        return;
    UNROLL for (int j = 0; j < 5; j++)
        row[j] = (long)clamp_index(y + (j - 2) * step, h) * w;
    UNROLL for (int i = 0; i < 5; i++) {
        const int at = clamp_index(x + (i - 2) * step, w);
        column[i] = five_taps(in[row[0] + at], in[row[1] + at], in[row[2] + at], in[row[3] + at], in[row[4] + at]);
    }
    out[(long)y * w + x] = five_taps(column[0], column[1], column[2], column[3], column[4]);
}

/* As sdm_noise_row_fn; 0 near the edges of the window. */
FUNCTION int match_noise(GLOBAL const short *left, int w, int h, int x, int y, float ratio)
{
    int sum = 0, squares = 0, rises = 0, bad = 0;
    if (x < 3 || y < 2 || x + 3 >= w || y + 2 >= h)
        return 0;
    for (int j = y - 2; j <= y + 2; j++) {
        GLOBAL const short *const row = left + (long)j * w;
        for (int i = x - 2; i <= x + 2; i++) {
            const int l = row[i - 1], v = row[i], r = row[i + 1];
            const int none = l == PIXEL_NODATA || v == PIXEL_NODATA || r == PIXEL_NODATA;
            const int value = none ? 0 : v, rise = none ? 0 : r - l;
            sum += value;
            squares += value * value;
            rises += rise * rise;
            bad |= none;
        }
    }
    const float all = (float)sum, v = (float)squares - all * all * 0.04f, g = (float)(rises > 1 ? rises : 1);
    return bad ? 0 : (int)between(ratio * v / (3.0f * g) * 1048576.0f, 0.0f, 1048576.0f);
}

/* As sdm_square_row_fn. */
FUNCTION int detail_square(float a, float b, float scale)
{
    const int d = (int)between((a - b) * scale, -4000.0f, 4000.0f);
    return d * d;
}

/* Variance of each pixel, and squares of both bands (h x w, then h x w). */
KERNEL ANY_GROUP wiener_terms(GLOBAL const float *high, GLOBAL const float *middle, GLOBAL const float *low,
                              GLOBAL const short *left, GLOBAL const ushort *flags, GLOBAL const uchar *score,
                              GLOBAL const float *ratio, int w, int h, float scale, GLOBAL int *noise,
                              GLOBAL int *energy)
{
    const int x = PLACE(0), y = PLACE(1);
    const long at = (long)y * w + x, second = (long)w * h;
    if (x >= w || y >= h)
        return;
    const bool valid = (flags[at] & QA_VALID) != 0;
    noise[at] = valid ? match_noise(left, w, h, x, y, ratio[score[at]]) : 0;
    energy[at] = valid ? detail_square(high[at], middle[at], scale) : 0;
    energy[second + at] = valid ? detail_square(middle[at], low[at], scale) : 0;
}

/* Sums over the rows y - WIENER_HALF .. y + WIENER_HALF of each column.  An item has `rows` rows of a column. */
KERNEL ANY_GROUP wiener_columns(GLOBAL const int *in, long first, int w, int h, int rows, GLOBAL int *out)
{
    const int x = PLACE(0), y0 = GROUP(1) * rows, y1 = y0 + rows < h ? y0 + rows : h;
    GLOBAL const int *const v = in + first + x;
    int sum = 0;
    if (x >= w)
        return;
    for (int y = y0 - WIENER_HALF; y < y1 + WIENER_HALF; y++) {
        const int done = y - WIENER_HALF, gone = done - WIENER_HALF;
        sum += y >= 0 && y < h ? v[(long)y * w] : 0;
        if (done < y0)
            continue;
        out[(long)done * w + x] = sum;
        sum -= gone >= 0 ? v[(long)gone * w] : 0;
    }
}

FUNCTION float wiener_gain(float noise, int energy, float gain)
{
    const float e = (float)energy;
    return e > noise ? gain * (1.0f - noise / e) : 0.0f;
}

/* As sdm_wiener_row_fn, from the sums of columns. */
KERNEL ANY_GROUP wiener(GLOBAL const float *high, GLOBAL const float *middle, GLOBAL const float *low,
                        GLOBAL const int *noise, GLOBAL const int *first, GLOBAL const int *second, int w, int h,
                        float share, float gain0, float gain1, GLOBAL float *out)
{
    const int x = PLACE(0), y = PLACE(1);
    const long row = (long)y * w, at = row + x;
    int n = 0, e0 = 0, e1 = 0;
    if (x >= w || y >= h)
        return;
    for (int i = x - WIENER_HALF; i <= x + WIENER_HALF; i++)
        if (i >= 0 && i < w) {
            n += noise[row + i];
            e0 += first[row + i];
            e1 += second[row + i];
        }
    const float shared = share * (float)n;
    const float g0 = wiener_gain(shared, e0, gain0), g1 = wiener_gain(shared, e1, gain1);
    out[at] = (low[at] + g1 * (middle[at] - low[at])) + g0 * (high[at] - middle[at]);
}
