/* Wiener filter of the surface by the noise of its matches, as src/matching/wiener.c. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "portable.h"
#include "../src/matching/point_formulas.h"

#define WIENER_ROWS 4    /* of a column that an item has: gpu/device_ops.c */
#define WIENER_COLUMNS 4 /* of a row: gpu/device_ops.c */

FUNCTION float five_taps(float a, float b, float c, float d, float e)
{
    return (((a + e) + 4.0f * (b + d)) + 6.0f * c) * 0.0625f;
}

/* (1 4 6 4 1)/16 in both axes, taps `step` apart; at the ends the surface goes on with its last value.  An
 * item has WIENER_ROWS rows of a column, `step` apart. */
KERNEL ANY_GROUP blur(GLOBAL const float *in, int w, int h, int step, GLOBAL float *out)
{
    const int x = PLACE(0), y0 = PLACE(1) / step * (WIENER_ROWS * step) + PLACE(1) % step;
    float column[WIENER_ROWS][5];
    if (x >= w || y0 >= h)
        return;
    UNROLL for (int i = 0; i < 5; i++) {
        GLOBAL const float *const from = in + clamp_index(x + (i - 2) * step, w);
        float v[WIENER_ROWS + 4];
        UNROLL for (int j = 0; j < WIENER_ROWS + 4; j++)
            v[j] = from[(long)clamp_index(y0 + (j - 2) * step, h) * w];
        UNROLL for (int r = 0; r < WIENER_ROWS; r++)
            column[r][i] = five_taps(v[r], v[r + 1], v[r + 2], v[r + 3], v[r + 4]);
    }
    UNROLL for (int r = 0; r < WIENER_ROWS; r++)
        if (y0 + r * step < h)
            out[(long)(y0 + r * step) * w + x] =
                five_taps(column[r][0], column[r][1], column[r][2], column[r][3], column[r][4]);
}

/* Terms of five neighbouring pixels of a row: sum, sum of squares, sum of squares of their differences
 * over two columns, and whether one is without data. */
typedef struct WienerSums {
    int sum, squares, rises, bad;
} WienerSums;

FUNCTION WienerSums wiener_sums(GLOBAL const short *row)
{
    WienerSums s = {0, 0, 0, 0};
    UNROLL for (int i = -2; i <= 2; i++) {
        const int l = row[i - 1], v = row[i], r = row[i + 1];
        const int none = l == PIXEL_NODATA || v == PIXEL_NODATA || r == PIXEL_NODATA;
        const int value = none ? 0 : v, rise = none ? 0 : r - l;
        s.sum += value;
        s.squares += value * value;
        s.rises += rise * rise;
        s.bad |= none;
    }
    return s;
}

/* As sdm_noise_row_fn, from five rows of sums. */
FUNCTION int match_noise(const WienerSums s[5], float ratio)
{
    const int sum = s[0].sum + s[1].sum + s[2].sum + s[3].sum + s[4].sum,
              squares = s[0].squares + s[1].squares + s[2].squares + s[3].squares + s[4].squares,
              rises = s[0].rises + s[1].rises + s[2].rises + s[3].rises + s[4].rises;
    const float all = (float)sum, v = (float)squares - all * all * 0.04f, g = (float)(rises > 1 ? rises : 1);
    return s[0].bad | s[1].bad | s[2].bad | s[3].bad | s[4].bad
               ? 0
               : (int)between(ratio * v / (3.0f * g) * 1048576.0f, 0.0f, 1048576.0f);
}

/* As sdm_square_row_fn. */
FUNCTION int detail_square(float a, float b, float scale)
{
    const int d = (int)between((a - b) * scale, -4000.0f, 4000.0f);
    return d * d;
}

/* Variance of each pixel, 0 near the edges of the window, and squares of both bands (h x w, then h x w).  An
 * item has WIENER_ROWS rows of a column. */
KERNEL ANY_GROUP wiener_terms(GLOBAL const float *high, GLOBAL const float *middle, GLOBAL const float *low,
                              GLOBAL const short *left, GLOBAL const ushort *flags, GLOBAL const uchar *score,
                              GLOBAL const float *ratio, int w, int h, float scale, GLOBAL int *noise,
                              GLOBAL int *energy)
{
    const int x = PLACE(0), y0 = PLACE(1) * WIENER_ROWS;
    const long second = (long)w * h;
    const bool inside = x >= 3 && x + 3 < w;
    WienerSums sums[WIENER_ROWS + 4];
    if (x >= w || y0 >= h)
        return;
    UNROLL for (int j = 0; j < WIENER_ROWS + 4; j++) {
        const WienerSums none = {0, 0, 0, 1};
        const int y = y0 + j - 2;
        sums[j] = inside && y >= 0 && y < h ? wiener_sums(left + (long)y * w + x) : none;
    }
    UNROLL for (int r = 0; r < WIENER_ROWS; r++) {
        const long at = (long)(y0 + r) * w + x;
        if (y0 + r >= h)
            continue;
        const bool valid = (flags[at] & QA_VALID) != 0;
        noise[at] = valid ? match_noise(sums + r, ratio[score[at]]) : 0;
        energy[at] = valid ? detail_square(high[at], middle[at], scale) : 0;
        energy[second + at] = valid ? detail_square(middle[at], low[at], scale) : 0;
    }
}

/* Sums over the rows y - SDM_WIENER_HALF .. y + SDM_WIENER_HALF of each column.  An item has `rows` rows of a
 * column. */
KERNEL ANY_GROUP wiener_columns(GLOBAL const int *in, long first, int w, int h, int rows, GLOBAL int *out)
{
    const int x = PLACE(0), y0 = GROUP(1) * rows, y1 = y0 + rows < h ? y0 + rows : h;
    GLOBAL const int *const v = in + first + x;
    int sum = 0;
    if (x >= w)
        return;
    for (int y = y0 - SDM_WIENER_HALF; y < y1 + SDM_WIENER_HALF; y++) {
        const int done = y - SDM_WIENER_HALF, gone = done - SDM_WIENER_HALF;
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

/* Sums of 2 SDM_WIENER_HALF + 1 values about each of WIENER_COLUMNS neighbours of a row of w. */
FUNCTION void wiener_row_sums(GLOBAL const int *row, int w, int x0, int out[WIENER_COLUMNS])
{
    int v[WIENER_COLUMNS + 2 * SDM_WIENER_HALF], sum = 0;
    UNROLL for (int i = 0; i < WIENER_COLUMNS + 2 * SDM_WIENER_HALF; i++) {
        const int x = x0 + i - SDM_WIENER_HALF;
        v[i] = x >= 0 && x < w ? row[x] : 0;
    }
    UNROLL for (int i = 0; i < 2 * SDM_WIENER_HALF; i++)
        sum += v[i];
    UNROLL for (int c = 0; c < WIENER_COLUMNS; c++) {
        sum += v[c + 2 * SDM_WIENER_HALF];
        out[c] = sum;
        sum -= v[c];
    }
}

/* As sdm_wiener_row_fn, from the sums of columns.  An item has WIENER_COLUMNS neighbours of a row. */
KERNEL ANY_GROUP wiener(GLOBAL const float *high, GLOBAL const float *middle, GLOBAL const float *low,
                        GLOBAL const int *noise, GLOBAL const int *first, GLOBAL const int *second, int w,
                        int h, float share, float gain0, float gain1, GLOBAL float *out)
{
    const int x = PLACE(0) * WIENER_COLUMNS, y = PLACE(1);
    const long row = (long)y * w;
    int n[WIENER_COLUMNS], e0[WIENER_COLUMNS], e1[WIENER_COLUMNS];
    if (x >= w || y >= h)
        return;
    wiener_row_sums(noise + row, w, x, n);
    wiener_row_sums(first + row, w, x, e0);
    wiener_row_sums(second + row, w, x, e1);
    UNROLL for (int c = 0; c < WIENER_COLUMNS; c++) {
        const long at = row + x + c;
        if (x + c >= w)
            continue;
        const float shared = share * (float)n[c];
        const float g0 = wiener_gain(shared, e0[c], gain0), g1 = wiener_gain(shared, e1[c], gain1);
        out[at] = (low[at] + g1 * (middle[at] - low[at])) + g0 * (high[at] - middle[at]);
    }
}
