/* Surface -> cleaned, completed, smoothed, refined surface: the filters of src/matching/filters.c. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "portable.h"

/* ---- median ---- */

/* Smaller to a, larger to b. */
#define ORDER(a, b) \
    do { \
        const float lo_ = v[b] < v[a] ? v[b] : v[a], hi_ = v[b] < v[a] ? v[a] : v[b]; \
        v[a] = lo_; \
        v[b] = hi_; \
    } while (0)

/* Median of the valid ones of 3 x 3 at a valid pixel with 5 of them or more. */
FUNCTION float median_of_valid(GLOBAL const float *in, GLOBAL const ushort *flags, int w, int h, int x, int y)
{
    const float own = in[(long)y * w + x];
    float v[9];
    int n = 0;
    UNROLL for (int j = 0; j < 3; j++)
        UNROLL for (int i = 0; i < 3; i++) {
            const long from = (long)clamp_index(y + j - 1, h) * w + x + i - 1;
            const bool valid = (flags[from] & QA_VALID) != 0;
            v[3 * j + i] = valid ? in[from] : 3.4e38f; /* to the end */
            n += valid;
        }
    /* clang-format off */
    ORDER(0, 1); ORDER(3, 4); ORDER(6, 7); ORDER(1, 2); ORDER(4, 5); ORDER(7, 8); ORDER(0, 1);
    ORDER(3, 4); ORDER(6, 7); ORDER(0, 3); ORDER(3, 6); ORDER(0, 3); ORDER(1, 4); ORDER(4, 7);
    ORDER(1, 4); ORDER(2, 5); ORDER(5, 8); ORDER(2, 5); ORDER(1, 3); ORDER(5, 7); ORDER(2, 6);
    ORDER(4, 6); ORDER(2, 4); ORDER(2, 3); ORDER(5, 6);
    /* clang-format on */
    const float mean = n == 6 ? 0.5f * (v[2] + v[3]) : 0.5f * (v[3] + v[4]);
    return n < 5 ? own : n == 9 ? v[4] : n == 7 ? v[3] : n == 5 ? v[2] : mean;
}

FUNCTION float lesser(float a, float b)
{
    return b < a ? b : a;
}

FUNCTION float larger(float a, float b)
{
    return b < a ? a : b;
}

FUNCTION float middle(float a, float b, float c)
{
    return larger(lesser(a, b), lesser(larger(a, b), c));
}

#define MEDIAN_ROWS 4 /* neighbours of a column that an item has: MEDIAN_ROWS of gpu/device_ops.c */

/* The median at valid pixels; rows off the image are the nearest one, the first and last column keep their
 * value.  Where all are valid the three of each row are ordered once for the pixels above, on and below
 * it. */
KERNEL ANY_GROUP
median3(GLOBAL const float *in, GLOBAL const ushort *flags, int w, int h, GLOBAL float *out)
{
    const int x = PLACE(0), y0 = PLACE(1) * MEDIAN_ROWS;
    float low[MEDIAN_ROWS + 2], mid[MEDIAN_ROWS + 2], high[MEDIAN_ROWS + 2];
    uint all = QA_VALID;
    if (x >= w || y0 >= h)
        return;
    const long first = (long)y0 * w + x;
    GLOBAL const float *const from = in + first;
    GLOBAL const ushort *const flag = flags + first;
    GLOBAL float *const to = out + first;
    if (x == 0 || x == w - 1) {
        for (int k = 0; k < MEDIAN_ROWS && y0 + k < h; k++)
            to[k * w] = from[k * w];
        return;
    }
    UNROLL for (int j = 0; j < MEDIAN_ROWS + 2; j++) {
        const int row = (clamp_index(y0 + j - 1, h) - y0) * w;
        GLOBAL const float *const p = from + row;
        GLOBAL const ushort *const f = flag + row;
        const float a = p[-1], b = p[0], c = p[1];
        all &= (uint)f[-1] & f[0] & f[1];
        low[j] = lesser(lesser(a, b), c);
        mid[j] = middle(a, b, c);
        high[j] = larger(larger(a, b), c);
    }
    if (all) {
        UNROLL for (int k = 0; k < MEDIAN_ROWS; k++)
            if (y0 + k < h)
                to[k * w] = middle(larger(larger(low[k], low[k + 1]), low[k + 2]),
                                   middle(mid[k], mid[k + 1], mid[k + 2]),
                                   lesser(lesser(high[k], high[k + 1]), high[k + 2]));
        return;
    }
    NO_UNROLL for (int k = 0; k < MEDIAN_ROWS && y0 + k < h; k++)
        to[k * w] = flag[k * w] & QA_VALID ? median_of_valid(in, flags, w, h, x, y0 + k) : from[k * w];
}

/* ---- rejection ---- */

#define REJECT_REACH 7 /* at most */
#define CHANGE_NONE (-32768)

/* Change since the prior in 1/256 of a tolerance. */
FUNCTION int change_of(float h, float prior, float per_unit)
{
    return (int)FLOOR(between((h - prior) * per_unit + 0.5f, -16000.0f, 16000.0f));
}

#define REJECT_ROWS 4 /* neighbours of a column that an item has: REJECT_ROWS of gpu/device_ops.c */

/* How many changes of the tile around each pixel of a column lie within 256 of its own; none is never. */
FUNCTION void agreeing(IN_LOCAL const short *tile, int side, const int *own, const int reach, int *count)
{
    UNROLL for (int j = 0; j < 2 * reach + REJECT_ROWS; j++)
        UNROLL for (int i = 0; i <= 2 * reach; i++) {
            const int v = tile[j * side + i] + 256;
            UNROLL for (int k = 0; k < REJECT_ROWS; k++)
                if (j >= k && j <= k + 2 * reach)
                    count[k] += (uint)(v - own[k]) <= 512u;
        }
}

typedef struct Ends { /* of changes; CHANGE_NONE is the lowest */
    int low, high;
} Ends;

/* Lowest and highest change of a column of the tile that an item's pixels meet. */
FUNCTION Ends column_ends(IN_LOCAL const short *column, int side, const int reach)
{
    Ends e = {32767, -32768};
    UNROLL for (int j = 0; j < 2 * reach + REJECT_ROWS; j++) {
        const int v = column[j * side];
        e.low = v < e.low ? v : e.low;
        e.high = v > e.high ? v : e.high;
    }
    return e;
}

/* Do all changes around an item's pixels lie within 256 of each other, and is none missing?  Nearly
 * everywhere they do: then all of them count. */
FUNCTION bool all_agree(IN_LOCAL const short *low, IN_LOCAL const short *high, const int reach)
{
    Ends e = {32767, -32768};
    UNROLL for (int i = 0; i <= 2 * reach; i++) {
        const int a = low[i], b = high[i];
        e.low = a < e.low ? a : e.low;
        e.high = b > e.high ? b : e.high;
    }
    return e.low > CHANGE_NONE && e.high - e.low <= 256;
}

#define REJECT_SIDE (32 + 2 * REJECT_REACH)
#define REJECT_USUAL 3 /* the chain's reach */

FUNCTION short reject_change(GLOBAL const float *h_m, GLOBAL const float *prior, GLOBAL const ushort *flags,
                             long at, float per_unit)
{
    return (short)(flags[at] & QA_VALID ? change_of(h_m[at], prior[at], per_unit) : CHANGE_NONE);
}

/* Changes of a tile of side x rows from pixel (x0, y0) on, parts of which may lie beyond the surface. */
FUNCTION void reject_tile(GLOBAL const float *h_m, GLOBAL const float *prior, GLOBAL const ushort *flags,
                          int w, int h, int x0, int y0, int side, int rows, float per_unit,
                          IN_LOCAL short *tile)
{
    const int first = ITEM(1) * 32 + ITEM(0), down = 256 / side, along = 256 - down * side;
    int j = first / side, i = first - j * side;
    NO_UNROLL while (j < rows) { /* 256 places on */
        const int col = x0 + i, row = y0 + j;
        const bool inside = col >= 0 && col < w && row >= 0 && row < h;
        tile[j * side + i] =
            inside ? reject_change(h_m, prior, flags, (long)row * w + col, per_unit) : (short)CHANGE_NONE;
        i += along;
        j += down + (i >= side);
        i -= i >= side ? side : 0;
    }
}

/* The same of a tile inside the surface, with the usual reach: 32 columns row by row, and then those beside
 * them. */
FUNCTION void reject_tile_inside(GLOBAL const float *h_m, GLOBAL const float *prior,
                                 GLOBAL const ushort *flags, int w, long corner, float per_unit,
                                 IN_LOCAL short *tile)
{
    const int beside = 2 * REJECT_USUAL, side = 32 + beside, rows = 8 * REJECT_ROWS + beside;
    const int item = ITEM(1) * 32 + ITEM(0), row = item / beside, col = 32 + item - row * beside;
    const long at = corner + (long)ITEM(1) * w + ITEM(0);
    UNROLL for (int k = 0; k < (rows + 7) / 8; k++)
        if (8 * k + 8 <= rows || ITEM(1) < rows - 8 * k)
            tile[(ITEM(1) + 8 * k) * side + ITEM(0)] =
                reject_change(h_m, prior, flags, at + 8 * k * w, per_unit);
    if (row < rows)
        tile[row * side + col] = reject_change(h_m, prior, flags, corner + (long)row * w + col, per_unit);
}

/* Valid pixels whose change agrees with fewer than `least` of the (2 reach + 1)^2 around lose QA_VALID.
 * per_unit: 256 / tolerance. */
KERNEL GROUP_SIZE(32, 8, 1)
    reject(GLOBAL const float *h_m, GLOBAL const float *prior, GLOBAL const ushort *flags, int w, int h,
           int reach, float per_unit, int least, GLOBAL ushort *out)
{
    LOCAL short tile[REJECT_SIDE * (8 * REJECT_ROWS + 2 * REJECT_REACH)];
    LOCAL short low[8 * REJECT_SIDE], high[8 * REJECT_SIDE];
    const int x0 = GROUP(0) * 32 - reach, y0 = GROUP(1) * 8 * REJECT_ROWS - reach, side = 32 + 2 * reach,
              high_rows = 8 * REJECT_ROWS + 2 * reach;
    const int x = x0 + reach + ITEM(0), down = ITEM(1) * REJECT_ROWS, y = y0 + reach + down;
    IN_LOCAL const short *const around = tile + down * side + ITEM(0);
    int own[REJECT_ROWS], count[REJECT_ROWS];
    if (reach == REJECT_USUAL && x0 >= 0 && y0 >= 0 && x0 + side <= w && y0 + high_rows <= h)
        reject_tile_inside(h_m, prior, flags, w, (long)y0 * w + x0, per_unit, tile);
    else
        reject_tile(h_m, prior, flags, w, h, x0, y0, side, high_rows, per_unit, tile);
    BARRIER();
    NO_UNROLL for (int k = ITEM(0); k < side; k += 32) {
        const Ends e = reach == 3 ? column_ends(tile + down * side + k, 32 + 2 * 3, 3) /* the chain's */
                                  : column_ends(tile + down * side + k, side, reach);
        low[ITEM(1) * side + k] = (short)e.low;
        high[ITEM(1) * side + k] = (short)e.high;
    }
    BARRIER();
    if (x >= w || y >= h)
        return;
    const int begin = ITEM(1) * side + ITEM(0);
    const bool agree =
        reach == 3 ? all_agree(low + begin, high + begin, 3) : all_agree(low + begin, high + begin, reach);
    UNROLL for (int k = 0; k < REJECT_ROWS; k++) {
        own[k] = around[(reach + k) * side + reach];
        count[k] = agree ? least : 0;
    }
    if (!agree && reach == 3)
        agreeing(around, 32 + 2 * 3, own, 3, count);
    else if (!agree)
        UNROLL for (int k = 0; k < REJECT_ROWS; k++)
            NO_UNROLL for (int b = 0; b <= 2 * reach; b++)
                NO_UNROLL for (int a = 0; a <= 2 * reach; a++)
                    count[k] += (uint)(around[(b + k) * side + a] - own[k] + 256) <= 512u;
    UNROLL for (int k = 0; k < REJECT_ROWS; k++)
        if (y + k < h) {
            const long at = (long)(y + k) * w + x;
            const ushort f = flags[at];
            out[at] = (ushort)((f & QA_VALID) && count[k] < least ? (f & ~QA_VALID) | QA_ISOLATED : f);
        }
}

/* ---- filling ---- */

/* Change since the prior in 1/64 m, within +-15,000 m. */
FUNCTION int metre64_of(float h, float prior)
{
    return (int)FLOOR(between((h - prior) * 64.0f + 0.5f, -960000.0f, 960000.0f));
}

/* A change and that it is there, in one number: change x 64 + 1, 0 where there is none.  Sums of them hold
 * for up to 33 rows: 33 x (960000 x 64 + 1) < 2^31, and 33 < 64. */
#define FILL_ONE 1
#define FILL_CHANGE 64
#define FILL_SHIFT 6

#define FILL_ROWS 4 /* neighbours of a column that an item has: FILL_ROWS of gpu/device_ops.c */

/* Changes of the valid pixels, once for all sums that they enter and leave. */
KERNEL ANY_GROUP
fill_changes(GLOBAL const float *h_m, GLOBAL const float *prior, GLOBAL const ushort *flags, int w, int h,
             GLOBAL int *change)
{
    const int x = PLACE(0), y0 = PLACE(1) * FILL_ROWS;
    const long first = (long)y0 * w + x;
    if (x >= w)
        return;
    UNROLL for (int k = 0; k < FILL_ROWS; k++) {
        const long at = first + k * w;
        if (y0 + k < h)
            change[at] = flags[at] & QA_VALID ? metre64_of(h_m[at], prior[at]) * FILL_CHANGE + FILL_ONE : 0;
    }
}

/* Row y of a column, if there is such a row. */
FUNCTION int column_at(GLOBAL const int *change, int x, int y, int w, int h)
{
    return y >= 0 && y < h ? change[(long)y * w + x] : 0;
}

FUNCTION int column_sum(GLOBAL const int *change, int x, int begin, int end, int w, int h)
{
    int sum = 0;
    NO_UNROLL for (int y = begin; y < end; y++)
        sum += column_at(change, x, y, w, h);
    return sum;
}

/* Sums over the rows y - reach .. y + reach of the changes, with their number, for one or two reaches of up
 * to 16 (reach_b < 0: one); sum: h x w for the first, then for the second.  An item walks down `rows` rows of
 * a column. */
KERNEL ANY_GROUP
    fill_columns(GLOBAL const int *change, int w, int h, int reach_a, int reach_b, int rows, GLOBAL int *sum)
{
    const int x = PLACE(0), y0 = GROUP(1) * rows, y1 = y0 + rows < h ? y0 + rows : h;
    const int most = reach_a > reach_b ? reach_a : reach_b;
    const long second = (long)w * h;
    if (x >= w)
        return;
    int a = column_sum(change, x, y0 - reach_a, y0 + reach_a, w, h),
        b = column_sum(change, x, y0 - reach_b, y0 + reach_b, w, h);
    if (y0 >= most && y1 + most <= h && reach_b >= 0) { /* all rows are there */
        GLOBAL const int *from = change + (long)y0 * w + x;
        GLOBAL int *to = sum + (long)y0 * w + x;
        const int far_a = reach_a * w, far_b = reach_b * w;
        NO_UNROLL for (int y = y0; y < y1; y++, from += w, to += w) {
            to[0] = a += from[far_a];
            to[second] = b += from[far_b];
            a -= from[-far_a];
            b -= from[-far_b];
        }
        return;
    }
    NO_UNROLL for (int y = y0; y < y1; y++) {
        const long out = (long)y * w + x;
        a += column_at(change, x, y + reach_a, w, h);
        sum[out] = a;
        a -= column_at(change, x, y - reach_a, w, h);
        if (reach_b < 0)
            continue;
        b += column_at(change, x, y + reach_b, w, h);
        sum[second + out] = b;
        b -= column_at(change, x, y - reach_b, w, h);
    }
}

/* a / b rounded to float, |a| < 2^36, 1 <= b < 2^17: what a division in double gives, without one. */
FUNCTION float quotient(long a, int b)
{
    const ulong size = a < 0 ? (ulong)-a : (ulong)a;
    const bool small = size < (1UL << 18);
    const ulong top = small ? size << 45 : size << 27, q = top / (ulong)b;
    const float f = (float)(q | (ulong)(q * (ulong)b != top)) * (small ? 2.8421709430404007e-14f /* 2^-45 */
                                                                       : 7.450580596923828e-09f /* 2^-27 */);
    return a < 0 ? -f : f;
}

/* Sums of a row's window, moved along it. */
typedef struct RowSum {
    GLOBAL const int *sum; /* of the row's columns */
    int reach, n;
    long s;
} RowSum;

FUNCTION void row_add(RowSum *r, int x, int w, int sign)
{
    if (x >= 0 && x < w) {
        const int v = r->sum[x];
        r->s += sign * (v >> FILL_SHIFT);
        r->n += sign * (v & (FILL_CHANGE - 1));
    }
}

FUNCTION RowSum row_begin(GLOBAL const int *sum, int reach, int x0, int w)
{
    RowSum r = {sum, reach, 0, 0};
    for (int x = x0 - reach; x < x0 + reach; x++)
        row_add(&r, x, w, 1);
    return r;
}

/* Pixels without a match: prior + mean change of the window where `least` of it are valid; else, if asked,
 * the prior. A second filling (reach_b >= 0) then overwrites where it can.  filled: 1 where the first was
 * done, 0 elsewhere; may be null.  An item has 8 pixels of a row. */
KERNEL ANY_GROUP
    fill_holes(GLOBAL float *h_m, GLOBAL const float *prior, GLOBAL const ushort *flags,
               GLOBAL const int *sum, int w, int h, int reach_a, int least_a, int else_prior,
               int reach_b, int least_b, GLOBAL uchar *filled)
{
    const int x0 = PLACE(0) * 8, y = PLACE(1);
    const long row = (long)y * w, second = (long)w * h + row;
    bool hole = false;
    if (y >= h)
        return;
    for (int x = x0; x < x0 + 8 && x < w; x++) {
        hole = hole || !(flags[row + x] & QA_VALID);
        if (filled)
            filled[row + x] = 0;
    }
    if (!hole)
        return;
    RowSum a = row_begin(sum + row, reach_a, x0, w);
    RowSum b = row_begin(sum + second, reach_b, x0, w);
    for (int x = x0; x < x0 + 8 && x < w; x++) {
        row_add(&a, x + reach_a, w, 1);
        if (reach_b >= 0)
            row_add(&b, x + reach_b, w, 1);
        if (!(flags[row + x] & QA_VALID)) {
            const bool near = reach_b >= 0 && b.n >= least_b, can = near || a.n >= least_a;
            const float p = prior[row + x];
            if (can)
                h_m[row + x] = p + quotient(near ? b.s : a.s, near ? b.n : a.n) * 0.015625f;
            else if (else_prior)
                h_m[row + x] = p;
            if (filled)
                filled[row + x] = a.n >= least_a;
        }
        row_add(&a, x - reach_a, w, -1);
        if (reach_b >= 0)
            row_add(&b, x - reach_b, w, -1);
    }
}

/* ---- smoothing, refinement ---- */

#define SMOOTH_ROWS 4 /* neighbours of a column that an item has: SMOOTH_ROWS of gpu/device_ops.c */

/* (1 2 1)/4 in both axes; at the ends the surface goes on with its last value. */
KERNEL ANY_GROUP
smooth(GLOBAL const float *in, int w, int h, GLOBAL float *out)
{
    const int x = PLACE(0), y0 = PLACE(1) * SMOOTH_ROWS, before = x > 0 ? -1 : 0, after = x + 1 < w ? 1 : 0;
    float v[SMOOTH_ROWS + 2][3];
    if (x >= w || y0 >= h)
        return;
    UNROLL for (int j = 0; j < SMOOTH_ROWS + 2; j++) {
        GLOBAL const float *const row = in + (long)clamp_index(y0 + j - 1, h) * w + x;
        v[j][0] = row[before];
        v[j][1] = row[0];
        v[j][2] = row[after];
    }
    UNROLL for (int k = 0; k < SMOOTH_ROWS; k++) {
        float column[3];
        UNROLL for (int i = 0; i < 3; i++)
            column[i] = v[k][i] + 2.0f * v[k + 1][i] + v[k + 2][i];
        if (y0 + k < h)
            out[(long)(y0 + k) * w + x] = (column[0] + 2.0f * column[1] + column[2]) * 0.0625f;
    }
}

/* A window twice as fine, bilinear.  du, dv: absolute place of the fine pixel (0, 0) less twice that of the
 * coarse one; places beyond the coarse window are its edge.  An item has the 2 x 2 pixels that lie between
 * the same four coarse ones. */
KERNEL ANY_GROUP refine(GLOBAL const float *coarse, int coarse_w, int coarse_h, int du, int dv,
                                   GLOBAL float *fine, int w, int h)
{
    const int iu = PLACE(0) + ((du - 1) >> 1), iv = PLACE(1) + ((dv - 1) >> 1);
    const int x = 2 * iu + 1 - du, y = 2 * iv + 1 - dv; /* -1 or more */
    if (x >= w || y >= h)
        return;
    const int a = clamp_index(iu, coarse_w), b = clamp_index(iu + 1, coarse_w);
    GLOBAL const float *const r0 = coarse + (long)clamp_index(iv, coarse_h) * coarse_w,
                              *const r1 = coarse + (long)clamp_index(iv + 1, coarse_h) * coarse_w;
    const float top = r0[a], more_top = r0[b] - top, low = r1[a], more_low = r1[b] - low;
    GLOBAL float *const out = fine + (long)y * w + x;
    UNROLL for (int i = 0; i < 2; i++) {
        const float fx = i ? 0.75f : 0.25f, above = top + fx * more_top,
                    apart = (low + fx * more_low) - above;
        if (x + i < 0 || x + i >= w)
            continue;
        if (y >= 0)
            out[i] = above + 0.25f * apart;
        if (y + 1 < h)
            out[w + i] = above + 0.75f * apart;
    }
}
