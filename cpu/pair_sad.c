/* Rows of a strip -> sums of absolute differences, updated from row to row and from column to column. */
// SPDX-License-Identifier: Apache-2.0
#include "pair_sweep.h"

extern sdm_pair_row_fn SDM_NAME(pair_sad8), SDM_NAME(pair_sad32);

VEC void enter_bytes(const SdmPairRow *r, ptrdiff_t k, Sums *s)
{
    enter16(r, k, v8_absdiff(v8_set(r->left_bytes[k]), v8_load(r->right_bytes + k)),
            v8_absdiff(v8_set(r->left_leaving[k]), v8_load(r->right_leaving + k)), s);
}

void SDM_NAME(pair_sad8)(const SdmPairRow *row)
{
    sweep_row(row, (SweepCost){enter_bytes, cost16, leave16});
}

VEC void enter_samples(const SdmPairRow *r, ptrdiff_t k, Sums *s)
{
    const v16 enters = v16_set(r->left_new[k]), leaves = v16_set(r->left_old[k]);
    for (int half = 0; half < 2; half++) {
        const v16 more = v16_absdiff(enters, v16_load(r->right_new + k + half * VL));
        const v16 less = v16_absdiff(leaves, v16_load(r->right_old + k + half * VL));
        const vi change[2] = {vi_sub(vi_from_low(more), vi_from_low(less)),
                              vi_sub(vi_from_high(more), vi_from_high(less))};
        for (int i = 0; i < 2; i++)
            enter32(r, k, 2 * half + i, vi_add(vi_load(column32(r, k, 2 * half + i)), change[i]), s);
    }
}

/* Quarters hold the lanes in order. */
VEC void cost_of_samples(const SdmPairRow *r, ptrdiff_t i, Sums *s, v16 *even, v16 *odd)
{
    (void)i;
    v16 sum[4];
    for (int q = 0; q < 4; q++)
        sum[q] = vi_bits(vi_shift_right(s->quarter[q], r->shift));
    const v16 first = v16_evens(sum[0], sum[1]), second = v16_evens(sum[2], sum[3]);
    *even = v16_evens(first, second);
    *odd = v16_odds(first, second);
}

void SDM_NAME(pair_sad32)(const SdmPairRow *row)
{
    sweep_row(row, (SweepCost){enter_samples, cost_of_samples, leave32});
}
