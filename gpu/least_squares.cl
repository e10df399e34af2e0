/* Heights moved by least squares, as src/matching/least_squares.c, the whole window at once.  Planes of the
 * fine grid are buffers, those of the half grid lie one behind the other in one.  lambda and the inverse of
 * the bound are 0 at the rim, so nothing there is bent or moved and no step asks where it is. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "portable.h"
#include "../src/matching/point_formulas.h"

#define LS_STRIP 64    /* columns of a group that sums blocks */
#define LS_ROWS 4      /* of a column that an item has: LS_ROWS of gpu/device_ops_least_squares.c */

/* of a block */
enum { LS_COUNT, LS_LEFT, LS_RIGHT, LS_LEFT2, LS_RIGHT2, LS_PRODUCT, LS_ROUGH, LS_ROUGH_COUNT, LS_SUMS };
enum { LS_RHS, LS_WEIGHT, LS_LAMBDA, LS_INVERSE, LS_X, LS_OTHER_X, LS_STEP }; /* planes of the half grid */

FUNCTION float second_difference(float up, float low, float before, float after, float here)
{
    return ((up + low) + (before + after)) - 4.0f * here;
}

/* A pixel has a height, of its own samples or set aside: it is a part of the plate. */
FUNCTION bool has_height(uint flags)
{
    return flags & (QA_VALID | QA_ASIDE);
}

/* ---- blocks ---- */

/* Sums of the pixels of blocks, of the views over valid ones, a plane for each.  A group has LS_STRIP columns
 * of a row of blocks, an item one of them. */
KERNEL GROUP_SIZE(LS_STRIP, 1, 1)
    ls_blocks(GLOBAL const float *blurred, GLOBAL const short *left, GLOBAL const short *right,
              GLOBAL const ushort *flags, int w, int h, int skip_x, int skip_y, float scale, int wide,
              int high, GLOBAL int *sums)
{
    LOCAL int column[LS_SUMS][LS_STRIP];
    const int item = ITEM(0), x = GROUP(0) * LS_STRIP + item - skip_x, top = GROUP(1) * SDM_LS_BLOCK - skip_y;
    int s[LS_SUMS];
    UNROLL for (int k = 0; k < LS_SUMS; k++)
        s[k] = 0;
    for (int y = top > 0 ? top : 0; x >= 0 && x < w && y < top + SDM_LS_BLOCK && y < h; y++) {
        const long at = (long)y * w + x;
        const int l = left[at], r = right[at];
        if (!has_height(flags[at]) || l == PIXEL_NODATA || r == PIXEL_NODATA)
            continue;
        if (flags[at] & QA_VALID) {
            s[LS_COUNT]++;
            s[LS_LEFT] += l;
            s[LS_RIGHT] += r;
            s[LS_LEFT2] += l * l;
            s[LS_RIGHT2] += r * r;
            s[LS_PRODUCT] += l * r;
        }
        if (x == 0 || x + 1 == w)
            continue;
        const float q = second_difference(blurred[y > 0 ? at - w : at], blurred[y + 1 < h ? at + w : at],
                                          blurred[at - 1], blurred[at + 1], blurred[at]) *
                        scale;
        const int v = (int)between(q, -(float)SDM_LS_MOST_DIFFERENCE, (float)SDM_LS_MOST_DIFFERENCE);
        s[LS_ROUGH] += v * v;
        s[LS_ROUGH_COUNT]++;
    }
    UNROLL for (int k = 0; k < LS_SUMS; k++)
        column[k][item] = s[k];
    BARRIER();
    const int k = item / (LS_STRIP / SDM_LS_BLOCK), block = item % (LS_STRIP / SDM_LS_BLOCK);
    const int i = GROUP(0) * (LS_STRIP / SDM_LS_BLOCK) + block;
    int sum = 0;
    for (int c = 0; c < SDM_LS_BLOCK; c++)
        sum += column[k][block * SDM_LS_BLOCK + c];
    if (i < wide)
        sums[((long)k * high + GROUP(1)) * wide + i] = sum;
}

/* Sum of a plane's 3 x 3 blocks about a block, each shifted to the right. */
FUNCTION long sum_around(GLOBAL const int *sums, int wide, int high, int i, int j, int shift)
{
    long sum = 0;
    for (int y = j > 0 ? j - 1 : 0; y <= j + 1 && y < high; y++)
        for (int x = i > 0 ? i - 1 : 0; x <= i + 1 && x < wide; x++)
            sum += sums[(long)y * wide + x] >> shift;
    return sum;
}

/* Parameters of a block's pixels, from the 3 x 3 blocks about it: gain, offset, inverse of the noise,
 * lambda. */
KERNEL ANY_GROUP ls_fit(GLOBAL const int *sums, int wide, int high, GLOBAL float4 *fit)
{
    const int i = PLACE(0), j = PLACE(1);
    const long plane = (long)wide * high;
    SdmLsSums s;
    if (i >= wide || j >= high)
        return;
    s.count = (int)sum_around(sums + LS_COUNT * plane, wide, high, i, j, 0);
    s.left = sum_around(sums + LS_LEFT * plane, wide, high, i, j, 0);
    s.right = sum_around(sums + LS_RIGHT * plane, wide, high, i, j, 0);
    s.left2 = sum_around(sums + LS_LEFT2 * plane, wide, high, i, j, 0);
    s.right2 = sum_around(sums + LS_RIGHT2 * plane, wide, high, i, j, 0);
    s.product = sum_around(sums + LS_PRODUCT * plane, wide, high, i, j, 0);
    s.rough = (int)sum_around(sums + LS_ROUGH * plane, wide, high, i, j, SDM_LS_ROUGH_SHIFT);
    s.rough_count = (int)sum_around(sums + LS_ROUGH_COUNT * plane, wide, high, i, j, 0);
    GLOBAL const int *const own = sums + (long)j * wide + i;
    const SdmLsFit f = sdm_ls_fit(&s, (float)own[LS_LEFT * plane], (float)own[LS_RIGHT * plane],
                                  (float)own[LS_COUNT * plane]);
    float4 out;
    out.x = f.gain;
    out.y = f.offset;
    out.z = f.inverse;
    out.w = f.lambda;
    fit[(long)j * wide + i] = out;
}

/* ---- the equations ---- */

/* Slope of the texture, times 12, from the two pixels on either side (wide: those beyond the next ones have
 * data).  Where one of the next ones has none, from the other one. */
FUNCTION int slope12(GLOBAL const short *view, bool before, bool after, bool wide)
{
    const int here = view[0], low = before ? view[-1] : 2 * here - view[1],
              high = after ? view[1] : 2 * here - view[-1];
    return 8 * (high - low) - (wide ? view[2] - view[-2] : 2 * (high - low));
}

FUNCTION bool both_there(GLOBAL const short *left, GLOBAL const short *right, long at)
{
    return left[at] != PIXEL_NODATA && right[at] != PIXEL_NODATA;
}

/* Weight and right-hand side of each pixel, and the lambda of its second differences. */
KERNEL ANY_GROUP ls_terms(GLOBAL const short *left, GLOBAL const short *right, GLOBAL const ushort *flags,
                          GLOBAL const float *h_m, GLOBAL const float4 *fit, int w, int h, int skip_x,
                          int skip_y, int wide, int high, float px_per_metre, GLOBAL float *weight,
                          GLOBAL float *rhs, GLOBAL float *lambda)
{
    const int x = PLACE(0), y = PLACE(1);
    const long at = (long)y * w + x;
    float weighs = 0.0f, misses = 0.0f, bends = 0.0f;
    if (x >= w || y >= h)
        return;
    if (x >= 2 && x + 2 < w && y > 0 && y + 1 < h && both_there(left, right, at)) {
        const bool has_before = both_there(left, right, at - 1), has_after = both_there(left, right, at + 1);
        const float4 own = fit[(long)((y + skip_y) / SDM_LS_BLOCK) * wide + (x + skip_x) / SDM_LS_BLOCK];
        if (has_before && has_after && both_there(left, right, at - w) && both_there(left, right, at + w))
            bends = own.w;
        if ((flags[at] & QA_VALID) && (has_before || has_after)) {
            const bool has_wide = both_there(left, right, at - 2) && both_there(left, right, at + 2);
            const int u = x + skip_x + SDM_LS_BLOCK / 2, v = y + skip_y + SDM_LS_BLOCK / 2;
            const int before = clamp_index(u / SDM_LS_BLOCK - 1, wide),
                      after = clamp_index(u / SDM_LS_BLOCK, wide);
            const float across = ((float)(u % SDM_LS_BLOCK) + 0.5f) * 0.125f,
                        down = ((float)(v % SDM_LS_BLOCK) + 0.5f) * 0.125f;
            GLOBAL const float4 *const up = fit + (long)clamp_index(v / SDM_LS_BLOCK - 1, high) * wide;
            GLOBAL const float4 *const low = fit + (long)clamp_index(v / SDM_LS_BLOCK, high) * wide;
            const float4 a = up[before], b = up[after], c = low[before], d = low[after];
            const float gain0 = a.x + down * (c.x - a.x), gain1 = b.x + down * (d.x - b.x);
            const float offset0 = a.y + down * (c.y - a.y), offset1 = b.y + down * (d.y - b.y);
            const float gain = gain0 + across * (gain1 - gain0),
                        offset = offset0 + across * (offset1 - offset0);
            const float ramp =
                between(1.0f + 0.5f * (px_per_metre * (h_m[at + 1] - h_m[at - 1])), 0.3f, 3.0f);
            const float slope = ((float)slope12(left + at, has_before, has_after, has_wide) +
                                 gain * (float)slope12(right + at, has_before, has_after, has_wide) / ramp) *
                                (1.0f / 24.0f);
            const float miss = ((float)left[at] - gain * (float)right[at]) - offset;
            weighs = slope * slope * own.z;
            misses = slope * miss * own.z;
        }
    }
    weight[at] = weighs;
    rhs[at] = misses;
    lambda[at] = bends;
}

/* K (lambda K (scale v)) at LS_ROWS rows of a column. */
FUNCTION void bend_column(GLOBAL const float *v, GLOBAL const float *lambda, int w, int h, int x, int y,
                          float scale, float out[LS_ROWS])
{
    float value[LS_ROWS + 4][5], bend[LS_ROWS + 2][3];
    int column[5];
    UNROLL for (int i = 0; i < 5; i++)
        column[i] = clamp_index(x + i - 2, w);
    UNROLL for (int j = 0; j < LS_ROWS + 4; j++) {
        GLOBAL const float *const row = v + (long)clamp_index(y + j - 2, h) * w;
        const int reach = j < 2 ? j : j < LS_ROWS + 2 ? 2 : LS_ROWS + 3 - j;
        UNROLL for (int i = 0; i < 5; i++)
            value[j][i] = i >= 2 - reach && i <= 2 + reach ? row[column[i]] * scale : 0.0f;
    }
    UNROLL for (int j = 0; j < LS_ROWS + 2; j++) {
        GLOBAL const float *const row = lambda + (long)clamp_index(y + j - 1, h) * w;
        UNROLL for (int i = 0; i < 3; i++)
            bend[j][i] = i == 1 || (j > 0 && j < LS_ROWS + 1)
                             ? row[column[i + 1]] * second_difference(value[j][i + 1], value[j + 2][i + 1],
                                                                      value[j + 1][i], value[j + 1][i + 2],
                                                                      value[j + 1][i + 1])
                             : 0.0f;
    }
    UNROLL for (int j = 0; j < LS_ROWS; j++)
        out[j] =
            second_difference(bend[j][1], bend[j + 2][1], bend[j + 1][0], bend[j + 1][2], bend[j + 1][1]);
}

/* Inverse of a bound of a row's absolute sum. */
FUNCTION float inverse_bound(float weight, float lambda, float beside)
{
    return 1.0f / ((weight + 2.5f * (4.0f * lambda + beside)) + 1e-3f);
}

FUNCTION bool at_rim(int x, int y, int w, int h)
{
    return x == 0 || x == w - 1 || y == 0 || y == h - 1;
}

/* rhs -= K (lambda K d), d being the heights in px; inverse of the bound. */
KERNEL ANY_GROUP ls_bound(GLOBAL const float *h_m, GLOBAL const float *weight, GLOBAL const float *lambda,
                          int w, int h, float px_per_metre, GLOBAL float *rhs, GLOBAL float *inverse)
{
    const int x = PLACE(0), y = PLACE(1) * LS_ROWS, before = clamp_index(x - 1, w),
              after = clamp_index(x + 1, w);
    float bent[LS_ROWS];
    if (x >= w || y >= h)
        return;
    bend_column(h_m, lambda, w, h, x, y, px_per_metre, bent);
    UNROLL for (int j = 0; j < LS_ROWS; j++) {
        GLOBAL const float *const mid = lambda + (long)clamp_index(y + j, h) * w;
        const float up = lambda[(long)clamp_index(y + j - 1, h) * w + x],
                    low = lambda[(long)clamp_index(y + j + 1, h) * w + x];
        const long at = (long)(y + j) * w + x;
        if (y + j >= h)
            continue;
        inverse[at] = at_rim(x, y + j, w, h)
                          ? 0.0f
                          : inverse_bound(weight[at], mid[x], (up + low) + (mid[before] + mid[after]));
        rhs[at] = rhs[at] - bent[j];
    }
}

/* ---- the half grid ---- */

/* Sum of the 2 x 2 pixels of a half one, which are all in the window. */
FUNCTION float sum_of_four(GLOBAL const float *v, int w, int i, int j)
{
    GLOBAL const float *const p = v + (long)(2 * j) * w + 2 * i, *const q = p + w;
    return (p[0] + p[1]) + (q[0] + q[1]);
}

FUNCTION float half_lambda(GLOBAL const float *lambda, int w, int i, int j)
{
    return sum_of_four(lambda, w, i, j) * (1.0f / 16.0f);
}

/* The first step from x = 0. */
FUNCTION void begin_half(GLOBAL float *coarse, long plane, long at, float rhs, float inverse, float move)
{
    coarse[LS_RHS * plane + at] = rhs;
    coarse[LS_X * plane + at] = move * (rhs * inverse);
}

/* The equations of the half grid, w / 2 x h / 2, and its first step of the first cycle, where x is 0. */
KERNEL ANY_GROUP ls_half(GLOBAL const float *weight, GLOBAL const float *lambda, GLOBAL const float *rhs,
                         int w, int h, float move, GLOBAL float *coarse)
{
    const int i = PLACE(0), j = PLACE(1), half_w = w / 2, half_h = h / 2;
    const long plane = (long)half_w * half_h, at = (long)j * half_w + i;
    if (i >= half_w || j >= half_h)
        return;
    const bool rim = at_rim(i, j, half_w, half_h);
    const float own = sum_of_four(weight, w, i, j), bends = rim ? 0.0f : half_lambda(lambda, w, i, j);
    const float inverse =
        rim ? 0.0f
            : inverse_bound(own, bends,
                            (half_lambda(lambda, w, i, j - 1) + half_lambda(lambda, w, i, j + 1)) +
                                (half_lambda(lambda, w, i - 1, j) + half_lambda(lambda, w, i + 1, j)));
    coarse[LS_WEIGHT * plane + at] = own;
    coarse[LS_LAMBDA * plane + at] = bends;
    coarse[LS_INVERSE * plane + at] = inverse;
    begin_half(coarse, plane, at, sum_of_four(rhs, w, i, j), inverse, move);
}

/* Residual of the right-hand side at x, summed for the half grid, and the first step there.  An item has
 * LS_ROWS / 2 half pixels of a column. */
KERNEL ANY_GROUP ls_residual(GLOBAL const float *x, GLOBAL const float *weight, GLOBAL const float *lambda,
                             GLOBAL const float *rhs, int w, int h, float move, GLOBAL float *coarse)
{
    const int i = PLACE(0), j = PLACE(1) * (LS_ROWS / 2), half_w = w / 2, half_h = h / 2;
    const long plane = (long)half_w * half_h;
    float bent[2][LS_ROWS];
    if (i >= half_w || j >= half_h)
        return;
    UNROLL for (int c = 0; c < 2; c++)
        bend_column(x, lambda, w, h, 2 * i + c, 2 * j, 1.0f, bent[c]);
    UNROLL for (int r = 0; r < LS_ROWS / 2; r++) {
        float residual[2][2];
        const long at = (long)(j + r) * half_w + i;
        if (j + r >= half_h)
            continue;
        UNROLL for (int k = 0; k < 4; k++) {
            const long from = (long)(2 * (j + r) + k / 2) * w + 2 * i + k % 2;
            residual[k / 2][k % 2] = (rhs[from] - weight[from] * x[from]) - bent[k % 2][2 * r + k / 2];
        }
        begin_half(coarse, plane, at, (residual[0][0] + residual[0][1]) + (residual[1][0] + residual[1][1]),
                   coarse[LS_INVERSE * plane + at], move);
    }
}

/* A step of the Chebyshev iteration on the half grid: of planes `from` and `last`, the step before, to `to`
 * and LS_STEP. */
KERNEL ANY_GROUP ls_half_step(GLOBAL float *coarse, int w, int h, int from, int last, int to, float keep,
                              float move)
{
    const int x = PLACE(0), y = PLACE(1) * LS_ROWS;
    const long plane = (long)w * h;
    GLOBAL const float *const here = coarse + from * plane;
    float bent[LS_ROWS];
    if (x >= w || y >= h)
        return;
    bend_column(here, coarse + LS_LAMBDA * plane, w, h, x, y, 1.0f, bent);
    UNROLL for (int j = 0; j < LS_ROWS; j++) {
        const long at = (long)(y + j) * w + x;
        if (y + j >= h)
            continue;
        const float residual =
            (coarse[LS_RHS * plane + at] - coarse[LS_WEIGHT * plane + at] * here[at]) - bent[j];
        const float step =
            keep * coarse[last * plane + at] + move * (residual * coarse[LS_INVERSE * plane + at]);
        coarse[LS_STEP * plane + at] = step;
        coarse[to * plane + at] = here[at] + step;
    }
}

/* x (with `first`, 0) + the half grid's, bilinear.  An item has 2 x 2 pixels. */
KERNEL ANY_GROUP ls_double(GLOBAL const float *coarse, long from, int w, int h, int first, GLOBAL float *x)
{
    const int i = PLACE(0), j = PLACE(1), half_w = w / 2, half_h = h / 2;
    const bool inside = i > 0 && i + 1 < half_w && j > 0 && j + 1 < half_h;
    GLOBAL const float *const mid = coarse + from + (long)j * half_w + i;
    float near[3], more[2][2];
    UNROLL for (int k = 0; k < 3; k++)
        near[k] = inside ? 0.75f * mid[k - 1] : 0.0f;
    UNROLL for (int r = 0; r < 2; r++) {
        GLOBAL const float *const far = r ? mid + half_w : mid - half_w;
        float v[3];
        UNROLL for (int k = 0; k < 3; k++)
            v[k] = inside ? near[k] + 0.25f * far[k - 1] : 0.0f;
        more[r][0] = 0.75f * v[1] + 0.25f * v[0];
        more[r][1] = 0.75f * v[1] + 0.25f * v[2];
    }
    UNROLL for (int k = 0; k < 4; k++) {
        const int col = 2 * i + k % 2, row = 2 * j + k / 2;
        const long at = (long)row * w + col;
        if (col < w && row < h)
            x[at] = (first ? 0.0f : x[at]) + more[k / 2][k % 2];
    }
}

/* ---- the fine grid ---- */

/* A first step of the Chebyshev iteration; flags, unless null, make it the last of all: out is then the moved
 * heights. */
KERNEL ANY_GROUP ls_step(GLOBAL const float *x, GLOBAL const float *weight, GLOBAL const float *lambda,
                         GLOBAL const float *inverse, GLOBAL const float *rhs, int w, int h, float move,
                         GLOBAL const ushort *flags, GLOBAL const float *h_m, float px_per_metre,
                         GLOBAL float *out)
{
    const int column = PLACE(0), y = PLACE(1) * LS_ROWS;
    float bent[LS_ROWS];
    if (column >= w || y >= h)
        return;
    bend_column(x, lambda, w, h, column, y, 1.0f, bent);
    UNROLL for (int j = 0; j < LS_ROWS; j++) {
        const long at = (long)(y + j) * w + column;
        if (y + j >= h)
            continue;
        const float residual = (rhs[at] - weight[at] * x[at]) - bent[j],
                    moved = x[at] + move * (residual * inverse[at]);
        if (flags)
            out[at] = h_m[at] + (has_height(flags[at]) ? between(moved, -1.0f, 1.0f) / px_per_metre : 0.0f);
        else
            out[at] = moved;
    }
}
