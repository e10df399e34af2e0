/* Rows of a strip -> Hamming distances of census words, summed over the window, updated from row to row
 * and from column to column.  The distances of the window's rows are kept, so that a leaving row costs a
 * load. */
// SPDX-License-Identifier: Apache-2.0
#include "pair_sweep.h"

extern sdm_pair_row_fn SDM_NAME(pair_census);

VEC void enter(const SdmPairRow *r, ptrdiff_t k, Sums *s, int planes)
{
    uint8_t *const kept = r->distances + k * LANES;
    v8 apart = v8_set(0);
    for (int p = 0; p < planes; p++)
        apart = v8_add(apart, v8_hamming(v8_set(r->left_bytes[k + p * r->left_plane]),
                                         v8_load(r->right_bytes + k + p * r->right_plane)));
    const v8 old = v8_load(kept);
    v8_store(kept, apart);
    enter16(r, k, apart, old, s);
}

#define ENTER(n)                                                                                             \
    VEC void enter##n(const SdmPairRow *r, ptrdiff_t k, Sums *s)                                             \
    {                                                                                                        \
        enter(r, k, s, n);                                                                                   \
    }
ENTER(3)
ENTER(6)
ENTER(8)
ENTER(10)

void SDM_NAME(pair_census)(const SdmPairRow *row)
{
    if (row->planes == 3) /* 5 x 5 */
        sweep_row(row, (SweepCost){enter3, cost16, leave16});
    else if (row->planes == 6) /* 7 x 7 */
        sweep_row(row, (SweepCost){enter6, cost16, leave16});
    else if (row->planes == 8) /* 9 x 7 */
        sweep_row(row, (SweepCost){enter8, cost16, leave16});
    else /* 9 x 9 */
        sweep_row(row, (SweepCost){enter10, cost16, leave16});
}
