/* Sums of `window` neighbours in a row of 32-bit integers, in vectors, by doubling: pairs, fours, eights, and
 * the rest.  Included by kernel_*.c only. */
#ifndef SDM_WINDOW_SUM_H
#define SDM_WINDOW_SUM_H

#include "vec.h"

enum { WINDOW_SUM_LARGEST = 15, WINDOW_SUM_MARGIN = 64 }; /* elements read beyond the last */

#if SDM_VEC == 4
#define WINDOW_SUM_(window, expression)                                                                      \
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
#define AT_(b0, b1, b2, k) vi_shift(b0, b1, k)
#define AT8_(b0, b1, b2, k) vi_shift(b0, b1, 8 + k)
#define ONE8_(b0, b1) vi_shift(b0, b1, 8)
#else
#define AT_(b0, b1, b2, k) vi_shift(b0, b1, k)
#define AT8_(b0, b1, b2, k) vi_shift(b1, b2, k)
#define ONE8_(b0, b1) (b1)
#endif

/* one, two, four, eight: sums of that many, of the block [0] and the ones after it */
#define WINDOW_SUM_(window, expression)                                                                      \
    static void window_sum_##window(const int32_t *in, int32_t *out, int blocks)                             \
    {                                                                                                        \
        vi one[4], two[3], four[2], eight;                                                                   \
        for (int k = 0; k < 3; k++)                                                                          \
            one[k + 1] = vi_load(in + k * SDM_VEC);                                                          \
        two[1] = vi_add(one[1], vi_shift(one[1], one[2], 1));                                                \
        two[2] = vi_add(one[2], vi_shift(one[2], one[3], 1));                                                \
        four[1] = vi_add(two[1], vi_shift(two[1], two[2], 2));                                               \
        for (int b = 0; b < blocks; b++) {                                                                   \
            one[0] = one[1], one[1] = one[2], one[2] = one[3];                                               \
            two[0] = two[1], two[1] = two[2], four[0] = four[1];                                             \
            one[3] = vi_load(in + (b + 3) * SDM_VEC);                                                        \
            two[2] = vi_add(one[2], vi_shift(one[2], one[3], 1));                                            \
            four[1] = vi_add(two[1], vi_shift(two[1], two[2], 2));                                           \
            eight = vi_add(four[0], vi_shift(four[0], four[1], 4));                                          \
            (void)eight;                                                                                     \
            vi_store(out + window / 2 + b * SDM_VEC, expression);                                            \
        }                                                                                                    \
    }
#endif
WINDOW_SUM_(3, vi_add(two[0], vi_shift(one[0], one[1], 2)))
WINDOW_SUM_(5, vi_add(four[0], vi_shift(one[0], one[1], 4)))
WINDOW_SUM_(7, vi_add(vi_add(four[0], vi_shift(two[0], two[1], 4)), vi_shift(one[0], one[1], 6)))
WINDOW_SUM_(9, vi_add(eight, ONE8_(one[0], one[1])))
WINDOW_SUM_(11, vi_add(vi_add(eight, ONE8_(two[0], two[1])), AT8_(one[0], one[1], one[2], 2)))
WINDOW_SUM_(13, vi_add(vi_add(eight, ONE8_(four[0], four[1])), AT8_(one[0], one[1], one[2], 4)))
WINDOW_SUM_(15, vi_add(vi_add(eight, ONE8_(four[0], four[1])),
                       vi_add(AT8_(two[0], two[1], two[2], 4), AT8_(one[0], one[1], one[2], 6))))

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
