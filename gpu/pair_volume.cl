/* Rectified pair -> costs of every d: cost[((y - y_begin) * depth + k) * w + x] of left pixel x and right
 * pixel x - (dmin + k), 16 bits, smaller is better, PAIR_NONE = none.  Shape as gpu/volume.cl.  As
 * cpu/pair_reference.c. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "common.cl"

#define ZNCC_ONE 32000

typedef struct PairStrip {
    int w, h, y_begin, y_end, rows, window, dmin, depth;
} PairStrip;

typedef struct PairItem {
    int x, y0, y1, before, d, k;
    bool inside; /* its windows' columns all lie in both images */
} PairItem;

FUNCTION PairItem pair_item(const PairStrip *s)
{
    PairItem it;
    it.x = PLACE(0) * COLUMNS;
    it.y0 = s->y_begin + GROUP(1) * s->rows;
    it.y1 = it.y0 + s->rows < s->y_end ? it.y0 + s->rows : s->y_end;
    it.before = s->window / 2;
    it.k = GROUP(2);
    it.d = s->dmin + it.k;
    const int first = it.x - it.before, last = first + s->window + COLUMNS;
    it.inside = first >= 0 && first - it.d >= 0 && last < s->w && last - it.d < s->w;
    return it;
}

FUNCTION uint bits_of2(PairWord a, PairWord b)
{
    return (uint)(POPCOUNT64(a.low ^ b.low) + POPCOUNT(a.high ^ b.high));
}

/* Add (sign 1) or take (-1) the row y's part of an item's windows, TERM(left, right) of each pair. */
#define PAIR_ROW(NAME, TYPE, TERM) \
    FUNCTION void NAME(uint *sum, GLOBAL const TYPE *left, GLOBAL const TYPE *right, const PairStrip *s, \
                       const PairItem *it, int y, uint sign) \
    { \
        const long row = (long)clamp_index(y, s->h) * s->w; \
        const int first = it->x - it->before; \
        uint line = 0, gone[COLUMNS - 1] = {0u, 0u, 0u}; \
        left += row; \
        right += row; \
        if (it->inside) { \
            left += first; \
            right += first - it->d; \
            gone[0] = TERM(left[0], right[0]); \
            gone[1] = TERM(left[1], right[1]); \
            line = gone[0] + gone[1]; \
            if (s->window > 2) { \
                gone[2] = TERM(left[2], right[2]); \
                line += gone[2]; \
            } \
            for (int i = 3; i < s->window; i++) \
                line += TERM(left[i], right[i]); \
            sum[0] += sign * line; \
            UNROLL for (int k = 1; k < COLUMNS; k++) { \
                const uint p = TERM(left[s->window + k - 1], right[s->window + k - 1]); \
                gone[2] = s->window == 2 && k == 1 ? p : gone[2]; \
                line += p - gone[k - 1]; \
                sum[k] += sign * line; \
            } \
            return; \
        } \
        for (int i = 0; i < s->window + COLUMNS - 1; i++) { \
            const int at = clamp_index(first + i, s->w), met = clamp_index(first + i - it->d, s->w); \
            const uint p = TERM(left[at], right[met]); \
            UNROLL for (int k = 0; k < COLUMNS; k++) \
                sum[k] += i >= k && i < k + s->window ? sign * p : 0u; \
        } \
    }
PAIR_ROW(pair_add_apart, short, apart_of)
PAIR_ROW(pair_add_bits, PairWord, bits_of2)

/* Samples of 8 bits are taken about 0: their products are those of the differences from 128, by sums. */
PAIR_ROW(pair_add_products, short, product_of)

#define PAIR_ARGUMENTS \
    GLOBAL const float *left_texture, GLOBAL const float *right_texture, int w, int h, int y_begin, \
        int y_end, int rows, int window, int dmin, int depth, GLOBAL ushort *cost

/* Walk down the strip; COST is the cost of the left pixel `at` and the right pixel `met` (places in the
 * images), both with a cost, from sum[k]. */
#define PAIR_WALK(ADD, COST) \
    const PairStrip strip = {w, h, y_begin, y_end, rows, window, dmin, depth}; \
    const PairItem it = pair_item(&strip); \
    uint sum[COLUMNS] = {0u, 0u, 0u, 0u}; \
    if (it.x >= w || it.x + COLUMNS - 1 - it.d < 0 || it.x - it.d >= w) { \
        for (int y = it.y0; y < it.y1; y++) \
            for (int x = it.x; x < it.x + COLUMNS && x < w; x++) \
                cost[((long)(y - y_begin) * depth + it.k) * w + x] = PAIR_NONE; \
        return; \
    } \
    for (int y = it.y0; y < it.y0 + window - 1; y++) \
        ADD(sum, left, right, &strip, &it, y - it.before, 1u); \
    for (int y = it.y0; y < it.y1; y++) { \
        GLOBAL ushort *const out = cost + ((long)(y - y_begin) * depth + it.k) * w; \
        ADD(sum, left, right, &strip, &it, y - it.before + window - 1, 1u); \
        UNROLL for (int k = 0; k < COLUMNS; k++) { \
            const int x = it.x + k, xr = x - it.d; \
            const long at = (long)y * w + x, met = at - it.d; \
            if (x < w) { \
                const bool any = xr >= 0 && xr < w && left_texture[at] > 0.0f && right_texture[met] > 0.0f; \
                out[x] = (ushort)(any ? (COST) : PAIR_NONE); \
            } \
        } \
        ADD(sum, left, right, &strip, &it, y - it.before, 0u - 1u); \
    }

KERNEL ANY_GROUP
pair_volume_sad(GLOBAL const short *left, GLOBAL const short *right, int shift, PAIR_ARGUMENTS)
{
    PAIR_WALK(pair_add_apart, sum[k] >> shift)
}

KERNEL ANY_GROUP
pair_volume_census(GLOBAL const PairWord *left, GLOBAL const PairWord *right, PAIR_ARGUMENTS)
{
    PAIR_WALK(pair_add_bits, sum[k])
}

/* floor(sum / n + 1/2) */
FUNCTION int rounded_mean(int sum, int n)
{
    const int num = 2 * sum + n;
    return num >= 0 ? num / (2 * n) : -((2 * n - 1 - num) / (2 * n));
}

/* 32000 (1 - ZNCC) of samples about `middle`; narrow: n covariance fits 32 bits. */
FUNCTION uint pair_zncc(uint products, int left, int right, int n, int middle, int narrow, float left_texture,
                        float right_texture)
{
    const float scale = left_texture * (float)ZNCC_ONE;
    const int about = (int)(products - (uint)(middle * (left + right + n * middle)));
    if (narrow)
        return (uint)(ZNCC_ONE - (int)RINT((float)(int)((uint)n * (uint)about - (uint)left * (uint)right) *
                                           right_texture * scale));
    const int ma = rounded_mean(left, n), mb = rounded_mean(right, n), ra = left - n * ma,
              rb = right - n * mb;
    const int whole =
        (int)((uint)about - (uint)n * (uint)ma * (uint)mb - (uint)ma * (uint)rb - (uint)mb * (uint)ra);
    const float rest = (float)ra * (1.0f / (float)n) * (float)rb;
    return (uint)(ZNCC_ONE - (int)RINT(((float)whole - rest) * right_texture * (scale * (float)n)));
}

/* left_sum, right_sum: of samples less `middle`. */
KERNEL ANY_GROUP
pair_volume_zncc(GLOBAL const short *left, GLOBAL const short *right, GLOBAL const int *left_sum,
                 GLOBAL const int *right_sum, int middle, int narrow, PAIR_ARGUMENTS)
{
    const int n = window * window;
    PAIR_WALK(pair_add_products, pair_zncc(sum[k], left_sum[at], right_sum[met], n, middle, narrow,
                                           left_texture[at], right_texture[met]))
}
