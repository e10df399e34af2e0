/* Sum of absolute differences of a strip's row, recursive down and along. */
// SPDX-License-Identifier: Apache-2.0
#include "pair_sweep.h"

extern sdm_pair_row_fn SDM_NAME(sdm_pair_sad16), SDM_NAME(sdm_pair_sad32);

/* The left samples of column k that enter and leave, in every lane. */
typedef struct Lefts {
    v16 enters, leaves;
} Lefts;
VEC Lefts lefts(const SdmPairRow *r, int k)
{
    return (Lefts){v16_set1(((const int16_t *)r->left_new)[k]), v16_set1(((const int16_t *)r->left_old)[k])};
}

VEC v16 apart(v16 left, const void *right, int k, int half)
{
    return v16_apart(left, v16_load((const int16_t *)right + k + half * VL));
}

/* ---- sums of 16 bits ---- */

VEC uint16_t *column16(const SdmPairRow *r, int k, int half)
{
    return (uint16_t *)r->sums + (ptrdiff_t)k * LANES + half * VL;
}

VEC void enter16(const SdmPairRow *r, int k, Sums *s)
{
    const Lefts l = lefts(r, k);
    for (int half = 0; half < 2; half++) {
        const v16 more = v16_add(v16_load(column16(r, k, half)), apart(l.enters, r->right_new, k, half));
        const v16 sum = v16_sub(more, apart(l.leaves, r->right_old, k, half));
        v16_store(column16(r, k, half), sum);
        s->half[half] = v16_add(s->half[half], sum);
    }
}

VEC void leave16(const SdmPairRow *r, int k, Sums *s)
{
    for (int half = 0; half < 2; half++)
        s->half[half] = v16_sub(s->half[half], v16_load(column16(r, k, half)));
}

VEC void cost16(const SdmPairRow *r, int i, const Sums *s, v16 *lo, v16 *hi)
{
    (void)r, (void)i;
    *lo = s->half[0];
    *hi = s->half[1];
}

void SDM_NAME(sdm_pair_sad16)(const SdmPairRow *row)
{
    sweep_row(row, (SweepCost){enter16, cost16, leave16});
}

/* ---- sums of 32 bits ---- */

VEC int32_t *column32(const SdmPairRow *r, int k, int quarter)
{
    return (int32_t *)r->sums + (ptrdiff_t)k * LANES + quarter * QL;
}

VEC void enter32(const SdmPairRow *r, int k, Sums *s)
{
    const Lefts l = lefts(r, k);
    for (int half = 0; half < 2; half++) {
        const v16 more = apart(l.enters, r->right_new, k, half), less = apart(l.leaves, r->right_old, k, half);
        const v32 change[2] = {v32_sub(v32_of_low(more), v32_of_low(less)),
                               v32_sub(v32_of_high(more), v32_of_high(less))};
        for (int i = 0; i < 2; i++) {
            int32_t *const at = column32(r, k, 2 * half + i);
            const v32 sum = v32_add(v32_load(at), change[i]);
            v32_store(at, sum);
            s->quarter[2 * half + i] = v32_add(s->quarter[2 * half + i], sum);
        }
    }
}

VEC void leave32(const SdmPairRow *r, int k, Sums *s)
{
    for (int i = 0; i < 4; i++)
        s->quarter[i] = v32_sub(s->quarter[i], v32_load(column32(r, k, i)));
}

VEC void cost32(const SdmPairRow *r, int i, const Sums *s, v16 *lo, v16 *hi)
{
    (void)i;
    *lo = v16_of_lows(v32_right(s->quarter[0], r->shift), v32_right(s->quarter[1], r->shift));
    *hi = v16_of_lows(v32_right(s->quarter[2], r->shift), v32_right(s->quarter[3], r->shift));
}

void SDM_NAME(sdm_pair_sad32)(const SdmPairRow *row)
{
    sweep_row(row, (SweepCost){enter32, cost32, leave32});
}
