/* Lattice cells, scores and sums that several kernels use. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "portable.h"

#define COLUMNS 4 /* neighbouring pixels of an item that sums windows */
#define PAIR_WORD_ROWS 7 /* of a census block in a word's `low` */
#define PAIR_NONE 0xffff /* no cost */
#define PAIR_NOWHERE (-2147483647 - 1) /* no disparity */

/* Census word of a pixel of a rectified image; level: the sample in 8-bit levels, AS_UINT of a float, -0
 * without data. */
typedef struct PairWord {
    ulong low;
    uint high, level;
} PairWord;

/* ---- lattice ---- */

typedef struct LatticeNode { /* SdmNode; what is not read here are place holders */
    long left[2], right[2];
    float right_b[2], right_c[2];
    long ground[2];
    float ground_b[2], ground_c[2];
    float du_dh, rest;
} LatticeNode;

typedef struct LatticeCell { /* corners 00 10 01 11 as x y z w; [axis]: columns, rows */
    float4 at[2], b[2], c[2];
    float4 du_dh;
    int origin[2], rest[2];
} LatticeCell;

/* Where pixel (x, y) lies in the cells of its window: u2, v2 of pixel (0, 0) and stride2 in half full pixels.
 */
typedef struct CellPlace {
    int cell;
    float fu, fv; /* 0..1 across it */
} CellPlace;

FUNCTION CellPlace cell_place(int x, int y, int cols, int u2, int v2, int stride2, int step2_log2)
{
    CellPlace p;
    const int u = u2 + x * stride2, v = v2 + y * stride2, mask = (1 << step2_log2) - 1;
    const float share = 1.0f / (float)(1 << step2_log2);
    p.cell = (v >> step2_log2) * cols + (u >> step2_log2);
    p.fu = (float)(u & mask) * share;
    p.fv = (float)(v & mask) * share;
    return p;
}

/* Level pixels along u for a metre of height. */
FUNCTION float du_dh_at(GLOBAL const LatticeCell *cell, CellPlace p, float inv)
{
    const float4 k = cell[p.cell].du_dh;
    const float k0 = k.x + p.fv * (k.z - k.x), k1 = k.y + p.fv * (k.w - k.y);
    return (k0 + p.fu * (k1 - k0)) * inv;
}

/* ---- costs ---- */

FUNCTION uint product_of(int a, int b)
{
    return (uint)(a * b);
}

FUNCTION uint apart_of(int a, int b)
{
    return APART(a, b);
}

FUNCTION uint bits_of(uint a, uint b)
{
    return (uint)POPCOUNT(a ^ b);
}

/* A score as it would be for a window of the texture that the cost's scores are made for; scale 0: as it is.
 */
/* Mean to the next integer and what is left of the sum, both of 16 bits. */
FUNCTION int pack_mean(int sum, int n, float inverse)
{
    const int mean = (int)FLOOR((float)sum * inverse + 0.5f);
    return (int)((uint)mean << 16 | ((uint)(sum - n * mean) & 0xffffu));
}

/* 1 / sqrt(sum of squares about the mean); 0 without texture (least: at the smallest sigma). */
FUNCTION float texture_of(int packed, int sum, uint squares, float inverse, float least)
{
    const int mean = packed >> 16, rest = (int)((uint)packed << 16) >> 16;
    const int c = (int)(squares - (uint)mean * (uint)sum - (uint)mean * (uint)rest);
    const float v = (float)c - (float)rest * inverse * (float)rest;
    return v > least ? 1.0f / SQRT(v) : 0.0f;
}

/* Scores of a whole window from its sum. */
FUNCTION float zncc_score(uint products, int left, int right, int n, float inverse, float left_texture,
                          float right_texture)
{
    const int mean_a = left >> 16, rest_a = (int)((uint)left << 16) >> 16;
    const int mean_b = right >> 16, rest_b = (int)((uint)right << 16) >> 16;
    const int c = (int)(products - (uint)mean_b * ((uint)n * (uint)mean_a + (uint)rest_a) -
                        (uint)rest_b * (uint)mean_a); /* wraps where samples are missing */
    return ((float)c - (float)rest_a * inverse * (float)rest_b) * left_texture * right_texture;
}

FUNCTION float census_score(uint bits, float scale)
{
    return 1.0f - (float)(int)bits * scale;
}
