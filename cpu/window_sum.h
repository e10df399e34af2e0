/* A row of 32-bit integers -> sums of `window` neighbours, by doubling: of pairs, fours, eights, and the
 * rest. Included by kernel_*.c and cost_*.c only. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_WINDOW_SUM_H
#define SDM_WINDOW_SUM_H

#include "vec.h"

enum { WINDOW_SUM_LARGEST = 15, WINDOW_SUM_MARGIN = 64 }; /* elements read beyond the last */

#if SDM_VEC == 4
#define WINDOW_SUM_(window)                                                                                  \
    static void window_sum_##window(const int32_t *in, int32_t *out, int blocks)                             \
    {                                                                                                        \
        for (int b = 0; b < blocks; b++) {                                                                   \
            vi sum = vi_load(in + b * SDM_VEC);                                                              \
            for (int k = 1; k < window; k++)                                                                 \
                sum = vi_add(sum, vi_load(in + b * SDM_VEC + k));                                            \
            vi_store(out + window / 2 + b * SDM_VEC, sum);                                                   \
        }                                                                                                    \
    }
#else
/* lanes k.. of three blocks in a row */
#if SDM_VEC == 16
#define AT8_(b0, b1, b2, k) vi_shift(b0, b1, 8 + k)
#define ONE8_(b0, b1) vi_shift(b0, b1, 8)
#else
#define AT8_(b0, b1, b2, k) vi_shift(b1, b2, k)
#define ONE8_(b0, b1) (b1)
#endif
enum { WINDOW_SUM_AHEAD = 3 }; /* blocks */

/* one, two, four, eight: sums of that many, of the block [0] and the ones after it */
typedef struct WindowSums {
    vi one[4], two[3], four[2], eight;
} WindowSums;

/* Start with the first three blocks. */
static inline void window_begin(WindowSums *s, vi first, vi second, vi third)
{
    s->one[1] = first, s->one[2] = second, s->one[3] = third;
    s->two[1] = vi_add(s->one[1], vi_shift(s->one[1], s->one[2], 1));
    s->two[2] = vi_add(s->one[2], vi_shift(s->one[2], s->one[3], 1));
    s->four[1] = vi_add(s->two[1], vi_shift(s->two[1], s->two[2], 2));
}

/* Advance by one block; the values given are those of the block WINDOW_SUM_AHEAD further on. */
static inline void window_next(WindowSums *s, vi ahead)
{
    s->one[0] = s->one[1], s->one[1] = s->one[2], s->one[2] = s->one[3], s->one[3] = ahead;
    s->two[0] = s->two[1], s->two[1] = s->two[2], s->four[0] = s->four[1];
    s->two[2] = vi_add(s->one[2], vi_shift(s->one[2], s->one[3], 1));
    s->four[1] = vi_add(s->two[1], vi_shift(s->two[1], s->two[2], 2));
    s->eight = vi_add(s->four[0], vi_shift(s->four[0], s->four[1], 4));
}

/* For each lane, the sum of `window` (3..15, a compile-time constant) elements that start there. */
static inline vi window_of(const WindowSums *s, int window)
{
    const vi *const one = s->one, *const two = s->two, *const four = s->four;
    switch (window) {
    case 3:
        return vi_add(two[0], vi_shift(one[0], one[1], 2));
    case 5:
        return vi_add(four[0], vi_shift(one[0], one[1], 4));
    case 7:
        return vi_add(vi_add(four[0], vi_shift(two[0], two[1], 4)), vi_shift(one[0], one[1], 6));
    case 9:
        return vi_add(s->eight, ONE8_(one[0], one[1]));
    case 11:
        return vi_add(vi_add(s->eight, ONE8_(two[0], two[1])), AT8_(one[0], one[1], one[2], 2));
    case 13:
        return vi_add(vi_add(s->eight, ONE8_(four[0], four[1])), AT8_(one[0], one[1], one[2], 4));
    default:
        return vi_add(vi_add(s->eight, ONE8_(four[0], four[1])),
                      vi_add(AT8_(two[0], two[1], two[2], 4), AT8_(one[0], one[1], one[2], 6)));
    }
}

#define WINDOW_SUM_(window)                                                                                  \
    static void window_sum_##window(const int32_t *in, int32_t *out, int blocks)                             \
    {                                                                                                        \
        WindowSums s;                                                                                        \
        window_begin(&s, vi_load(in), vi_load(in + SDM_VEC), vi_load(in + 2 * SDM_VEC));                     \
        _Pragma("GCC unroll 4") for (ptrdiff_t b = 0; b < blocks; b++)                                       \
        {                                                                                                    \
            window_next(&s, vi_load(in + (b + WINDOW_SUM_AHEAD) * SDM_VEC));                                 \
            vi_store(out + window / 2 + b * SDM_VEC, window_of(&s, window));                                 \
        }                                                                                                    \
    }
#endif
WINDOW_SUM_(3)
WINDOW_SUM_(5)
WINDOW_SUM_(7)
WINDOW_SUM_(9)
WINDOW_SUM_(11)
WINDOW_SUM_(13)
WINDOW_SUM_(15)

/* out[x] = sum of in[x - window / 2 .. x + window / 2] for x from window / 2 on; sums that need in[] before 0
 * are not written.  in has count + WINDOW_SUM_MARGIN elements, out count + 2 SDM_VEC.  3 <= window <= 21. */
static void window_sum(const int32_t *in, int32_t *out, int count, int window)
{
    static void (*const by_window[])(const int32_t *, int32_t *, int) = {
        window_sum_3, window_sum_5, window_sum_7, window_sum_9, window_sum_11, window_sum_13, window_sum_15};
    const int blocks = (count + SDM_VEC - 1) / SDM_VEC;
    if (window <= WINDOW_SUM_LARGEST) {
        by_window[window / 2 - 1](in, out, blocks);
        return;
    }
    for (int b = 0; b < blocks; b++) {
        vi sum = vi_load(in + b * SDM_VEC);
        for (int k = 1; k < window; k++)
            sum = vi_add(sum, vi_load(in + b * SDM_VEC + k));
        vi_store(out + window / 2 + b * SDM_VEC, sum);
    }
}

#endif
