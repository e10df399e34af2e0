/* Rows of a strip -> sums of absolute differences, updated from row to row and from column to column. */
// SPDX-License-Identifier: Apache-2.0
#include "pair_sweep.h"

extern sdm_pair_row_fn SDM_NAME(pair_sad8), SDM_NAME(pair_sad32);

/* ---- samples of 8 bits, sums of 16 ---- */

VEC void enter8(const SdmPairRow *r, ptrdiff_t k, Sums *s)
{
    uint16_t *const column = (uint16_t *)r->sums + k * LANES;
    const v8 more = v8_absdiff(v8_set1(r->left_bytes[k]), v8_load(r->right_bytes + k));
    const v8 less = v8_absdiff(v8_set1(r->left_leaving[k]), v8_load(r->right_leaving + k));
    const v16 even = v16_add(v16_load(column), v16_sub(v8_evens(more), v8_evens(less)));
    const v16 odd = v16_add(v16_load(column + VL), v16_sub(v8_odds(more), v8_odds(less)));
    v16_store(column, even);
    v16_store(column + VL, odd);
    s->half[0] = v16_add(s->half[0], even);
    s->half[1] = v16_add(s->half[1], odd);
}

VEC void leave8(const SdmPairRow *r, ptrdiff_t k, Sums *s)
{
    const uint16_t *const column = (const uint16_t *)r->sums + k * LANES;
    s->half[0] = v16_sub(s->half[0], v16_load(column));
    s->half[1] = v16_sub(s->half[1], v16_load(column + VL));
}

VEC void cost8(const SdmPairRow *r, ptrdiff_t i, const Sums *s, v16 *even, v16 *odd)
{
    (void)r, (void)i;
    *even = s->half[0];
    *odd = s->half[1];
}

void SDM_NAME(pair_sad8)(const SdmPairRow *row) { sweep_row(row, (SweepCost){enter8, cost8, leave8}); }

/* ---- sums of 32 bits; their quarters hold lanes in order ---- */

VEC int32_t *column32(const SdmPairRow *r, ptrdiff_t k, int quarter)
{
    return (int32_t *)r->sums + k * LANES + quarter * QL;
}

VEC void enter32(const SdmPairRow *r, ptrdiff_t k, Sums *s)
{
    const v16 enters = v16_set1(r->left_new[k]), leaves = v16_set1(r->left_old[k]);
    for (int half = 0; half < 2; half++) {
        const v16 more = v16_absdiff(enters, v16_load(r->right_new + k + half * VL));
        const v16 less = v16_absdiff(leaves, v16_load(r->right_old + k + half * VL));
        const v32 change[2] = {v32_sub(v32_from_low(more), v32_from_low(less)),
                               v32_sub(v32_from_high(more), v32_from_high(less))};
        for (int i = 0; i < 2; i++) {
            int32_t *const at = column32(r, k, 2 * half + i);
            const v32 sum = v32_add(v32_load(at), change[i]);
            v32_store(at, sum);
            s->quarter[2 * half + i] = v32_add(s->quarter[2 * half + i], sum);
        }
    }
}

VEC void leave32(const SdmPairRow *r, ptrdiff_t k, Sums *s)
{
    for (int i = 0; i < 4; i++)
        s->quarter[i] = v32_sub(s->quarter[i], v32_load(column32(r, k, i)));
}

VEC void cost32(const SdmPairRow *r, ptrdiff_t i, const Sums *s, v16 *even, v16 *odd)
{
    (void)i;
    v16 sum[4];
    for (int q = 0; q < 4; q++)
        sum[q] = v32_bits(v32_shift_right(s->quarter[q], r->shift));
    const v16 first = v16_evens(sum[0], sum[1]), second = v16_evens(sum[2], sum[3]);
    *even = v16_evens(first, second);
    *odd = v16_odds(first, second);
}

void SDM_NAME(pair_sad32)(const SdmPairRow *row) { sweep_row(row, (SweepCost){enter32, cost32, leave32}); }
