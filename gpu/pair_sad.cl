/* The three forms of papers/sad-opencl-local-memory-2018.txt: an item finds one disparity by sums of absolute
 * differences over 5 x 5 pixels of 8 bits.  global: from global memory; central: one item of the group loads
 * the rows of the group into local memory, round robin; spread: all items load.  The results are the same,
 * and those of `match --cost sad --window 5` without checks.
 *
 * Images are padded by PAD pixels of their nearest ones (pad_bytes); a group owns a run of a row's pixels and
 * walks down `rows` rows. */
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "common.cl"

#define SAD_HALF 2
#define SAD_SIDE 5
#define SAD_GROUP 512   /* items of a group at most */
#define SAD_DEPTH 128   /* disparities at most, of the forms with local memory */

KERNEL GROUP_SIZE(32, 8, 1)
pad_bytes(GLOBAL const short *image, int w, int h, GLOBAL uchar *out)
{
    const int x = GROUP(0) * 32 + ITEM(0), y = GROUP(1) * 8 + ITEM(1), pitch = w + 2 * SAD_HALF;
    if (x < pitch && y < h + 2 * SAD_HALF)
        out[(long)y * pitch + x] =
            (uchar)image[(long)clamp_index(y - SAD_HALF, h) * w + clamp_index(x - SAD_HALF, w)];
}

FUNCTION int byte_apart(int a, int b)
{
    return a > b ? a - b : b - a;
}

/* Best d of a pixel from a function of d; off the image there is no candidate. */
#define SAD_SEARCH(SAD_AT) \
    int least = 0x7fffffff, best = PAIR_NOWHERE; \
    for (int d = dmin; d < dmin + depth; d++) { \
        int sad = 0; \
        if (x - d < 0 || x - d >= w) \
            continue; \
        UNROLL for (int j = 0; j < SAD_SIDE; j++) \
            UNROLL for (int i = 0; i < SAD_SIDE; i++) \
                sad += SAD_AT(i, j); \
        best = sad < least ? d : best; \
        least = sad < least ? sad : least; \
    }

/* left, right: padded; disparity: PAIR_NOWHERE where there is no candidate.  Groups of any size. */
KERNEL sad_global(GLOBAL const uchar *left, GLOBAL const uchar *right, int w, int h, int dmin, int depth,
                  int group, int rows, GLOBAL int *disparity)
{
    const int x = GROUP(0) * group + ITEM(0), pitch = w + 2 * SAD_HALF;
    for (int y = GROUP(1) * rows; y < (GROUP(1) + 1) * rows && y < h && x < w; y++) {
        GLOBAL const uchar *const l = left + (long)y * pitch + x, *const r = right + (long)y * pitch + x;
#define SAD_GLOBAL_AT(i, j) byte_apart(l[(j) * pitch + (i)], r[(j) * pitch + (i) - d])
        SAD_SEARCH(SAD_GLOBAL_AT)
        disparity[(long)y * w + x] = best;
    }
}

/* Row y (padded) into its place of the round-robin rows: `count` pixels from column `first`, by the items
 * from.., every `step`. */
FUNCTION void sad_load(IN_LOCAL uchar *to, GLOBAL const uchar *image, int pitch, int y, int first, int count,
                       int from, int step)
{
    for (int i = from; i < count; i += step) {
        const int col = first + i;
        to[i] = col >= 0 && col < pitch ? image[(long)y * pitch + col] : (uchar)0;
    }
}

#define SAD_LOCAL_PITCH (SAD_GROUP + SAD_DEPTH + 2 * SAD_HALF)
#define SAD_LOCAL_AT(i, j) \
    byte_apart(l[(y + (j)) % SAD_SIDE * SAD_LOCAL_PITCH + (i)], \
               r[(y + (j)) % SAD_SIDE * SAD_LOCAL_PITCH + (i)-d])

/* from, step: which items load. */
#define SAD_LOCAL(FROM, STEP) \
    LOCAL uchar left_rows[SAD_SIDE * SAD_LOCAL_PITCH], right_rows[SAD_SIDE * SAD_LOCAL_PITCH]; \
    const int x0 = GROUP(0) * group, x = x0 + ITEM(0), pitch = w + 2 * SAD_HALF, y0 = GROUP(1) * rows; \
    const int span = group + 2 * SAD_HALF, last = dmin + depth - 1, end = y0 + rows < h ? y0 + rows : h; \
    IN_LOCAL const uchar *const l = left_rows + ITEM(0), *const r = right_rows + ITEM(0) + last; \
    int next = y0; \
    for (int y = y0; y < end; y++) { \
        for (; next < y + SAD_SIDE; next++) { \
            IN_LOCAL uchar *const to = left_rows + next % SAD_SIDE * SAD_LOCAL_PITCH; \
            IN_LOCAL uchar *const to_right = right_rows + next % SAD_SIDE * SAD_LOCAL_PITCH; \
            sad_load(to, left, pitch, next, x0, span, FROM, STEP); \
            sad_load(to_right, right, pitch, next, x0 - last, span + depth - 1, FROM, STEP); \
        } \
        BARRIER(); \
        if (x < w) { \
            SAD_SEARCH(SAD_LOCAL_AT) \
            disparity[(long)y * w + x] = best; \
        } \
        BARRIER(); \
    }

KERNEL sad_central(GLOBAL const uchar *left, GLOBAL const uchar *right, int w, int h, int dmin, int depth,
                   int group, int rows, GLOBAL int *disparity){SAD_LOCAL(ITEM(0) == 0 ? 0 : span + depth, 1)}

KERNEL sad_spread(GLOBAL const uchar *left, GLOBAL const uchar *right, int w, int h, int dmin, int depth,
                  int group, int rows, GLOBAL int *disparity)
{
    SAD_LOCAL(ITEM(0), group)
}
