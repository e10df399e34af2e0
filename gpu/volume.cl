/* Two views -> scores of every d: the volume of a strip of rows, score[((y - y0) * depth + k) * w + x] for d
 * = dmin + k.  Shape: see gpu/window.cl; the items of a group share one d. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "common.cl"

typedef struct CostStrip { /* what the three costs share: kernels take it as single arguments */
    int w, h, y_begin, y_end, rows, window, dmin, depth, along_v, right_shift;
} CostStrip;

/* Place of an item: its first pixel, its rows, and where its right pixels lie. */
typedef struct CostItem {
    int x, y0, y1, reach, dx, dy, k;
    bool inside; /* all columns of its windows lie in both views */
} CostItem;

FUNCTION CostItem cost_item(const CostStrip *s)
{
    CostItem it;
    it.x = PLACE(0) * COLUMNS;
    it.y0 = s->y_begin + GROUP(1) * s->rows;
    it.y1 = it.y0 + s->rows < s->y_end ? it.y0 + s->rows : s->y_end;
    it.reach = s->window / 2;
    it.k = GROUP(2);
    it.dx = s->along_v ? 0 : s->dmin + it.k;
    it.dy = s->along_v ? s->right_shift + s->dmin + it.k : s->right_shift;
    const int last = it.x + COLUMNS + it.reach;
    it.inside = it.x >= it.reach && it.x + it.dx >= it.reach && last < s->w && last + it.dx < s->w;
    return it;
}

/* Texture of the right window that pixel x of row y meets; -1 where there is none. */
FUNCTION float right_texture(GLOBAL const float *texture, int w, int h, int x, int y)
{
    return x < 0 || x >= w || y < 0 || y >= h ? -1.0f : texture[(long)y * w + x];
}

/* add_NAME: add (sign 1) or take (-1) the row y's part of an item's windows, TERM(left, right) of each pair.
 */
#define ADD_ROW(NAME, TYPE, TERM) \
    FUNCTION void NAME##_at(uint *sum, GLOBAL const TYPE *left, GLOBAL const TYPE *right, int window, \
                           uint sign) \
    { \
        const uint p0 = TERM(left[0], right[0]), p1 = TERM(left[1], right[1]), p2 = TERM(left[2], right[2]); \
        uint row = p0 + p1 + p2; \
        for (int i = 3; i < window; i++) \
            row += TERM(left[i], right[i]); \
        sum[0] += sign * row; \
        row += TERM(left[window], right[window]) - p0; \
        sum[1] += sign * row; \
        row += TERM(left[window + 1], right[window + 1]) - p1; \
        sum[2] += sign * row; \
        row += TERM(left[window + 2], right[window + 2]) - p2; \
        sum[3] += sign * row; \
    } \
    FUNCTION void NAME(uint *sum, GLOBAL const TYPE *left, GLOBAL const TYPE *right, const CostStrip *s, \
                       const CostItem *it, int y, uint sign) \
    { \
        left += (long)clamp_index(y, s->h) * s->w; \
        right += (long)clamp_index(y + it->dy, s->h) * s->w; \
        const int first = it->x - it->reach; \
        if (it->inside) { \
            NAME##_at(sum, left + first, right + first + it->dx, s->window, sign); \
            return; \
        } \
        for (int i = 0; i < s->window + COLUMNS - 1; i++) { \
            const int at = clamp_index(first + i, s->w), met = clamp_index(first + i + it->dx, s->w); \
            const uint p = TERM(left[at], right[met]); \
            UNROLL for (int k = 0; k < COLUMNS; k++) \
                sum[k] += i >= k && i < k + s->window ? sign * p : 0u; \
        } \
    }
ADD_ROW(add_products, short, product_of)
ADD_ROW(add_bits, uint, bits_of)

#define COST_ARGUMENTS \
    GLOBAL const float *left_texture, GLOBAL const float *texture, int w, int h, int y_begin, int y_end, \
        int rows, int window, int dmin, int depth, int along_v, int right_shift, GLOBAL float *score

/* Walk down the strip; ADD brings rows in and out, SCORE(k, at, ry) is the score of pixel x + k at row y
 * (`at` its place in the image) with the right pixel of row ry. */
#define WALK(ADD, LEFT, RIGHT, SCORE) \
    const CostStrip strip = {w, h, y_begin, y_end, rows, window, dmin, depth, along_v, right_shift}; \
    const CostItem it = cost_item(&strip); \
    uint sum[COLUMNS] = {0u, 0u, 0u, 0u}; \
    if (it.x >= w) \
        return; \
    for (int y = it.y0 - it.reach; y < it.y0 + it.reach; y++) \
        ADD(sum, LEFT, RIGHT, &strip, &it, y, 1u); \
    for (int y = it.y0; y < it.y1; y++) { \
        GLOBAL float *const out = score + ((long)(y - y_begin) * depth + it.k) * w; \
        ADD(sum, LEFT, RIGHT, &strip, &it, y + it.reach, 1u); \
        UNROLL for (int k = 0; k < COLUMNS; k++) { \
            const int x = it.x + k, xr = x + it.dx, ry = y + it.dy; \
            if (x >= w) \
                break; \
            const long at = (long)y * w + x; \
            const float tl = left_texture[at], tr = right_texture(texture, w, h, xr, ry); \
            out[x] = tl >= 0.0f && tr >= 0.0f ? (SCORE) : SCORE_NONE; \
        } \
        ADD(sum, LEFT, RIGHT, &strip, &it, y - it.reach, 0u - 1u); \
    }

KERNEL ANY_GROUP
volume_zncc(GLOBAL const short *left, GLOBAL const short *right, GLOBAL const int *left_mean,
            GLOBAL const int *right_mean, COST_ARGUMENTS)
{
    const int n = window * window;
    const float inverse = 1.0f / (float)n;
    WALK(add_products, left, right,
         zncc_score(sum[k], left_mean[at], right_mean[(long)ry * w + xr], n, inverse, tl, tr))
}

KERNEL ANY_GROUP
volume_census(GLOBAL const uint *left, GLOBAL const uint *right, COST_ARGUMENTS)
{
    const float scale = 2.0f / (float)(31 * window * window); /* SDM_CENSUS_BITS */
    WALK(add_bits, left, right, census_score(sum[k], scale))
}
