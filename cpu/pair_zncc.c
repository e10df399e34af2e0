/* Rows of a strip -> costs by ZNCC: sums of products, updated from row to row and from column to column;
 * means and deviations are given.  Right arrays have two halves, entries of even and of odd place, so that
 * the even lanes of a pixel, and its odd ones, are neighbours in memory. */
// SPDX-License-Identifier: Apache-2.0
#include "pair_sweep.h"

extern sdm_pair_row_fn SDM_NAME(pair_zncc);

/* Where the lanes of a quarter begin. */
VEC ptrdiff_t quarter_at(const Places *p, int quarter)
{
    return (quarter / 2 ? p->second : p->first) + quarter % 2 * QL;
}

VEC void enter(const SdmPairRow *r, ptrdiff_t k, Sums *s)
{
    const vi left = vi_set(r->left_pairs[k]);
    for (int i = 0; i < 4; i++) {
        const vi right = vi_load(r->right_pairs + quarter_at(&s->column, i));
        enter32(r, k, i, vi_dot(vi_load(column32(r, k, i)), left, right), s);
    }
    next_place(&s->column);
}

/* Covariance where 32 bits hold all of it. */
VEC vf short_covariance(const SdmPairRow *r, ptrdiff_t i, vi sum, ptrdiff_t at)
{
    return vf_from(vi_dot(sum, vi_set(r->left_terms[0][i]), vi_load(r->right_terms[0] + at)));
}

VEC vf long_covariance(const SdmPairRow *r, ptrdiff_t i, vi sum, ptrdiff_t at)
{
    vi whole = vi_dot(sum, vi_set(r->left_terms[0][i]), vi_load(r->right_terms[0] + at));
    whole = vi_dot(whole, vi_set(r->left_terms[1][i]), vi_load(r->right_terms[1] + at));
    return vf_sub(vf_from(whole), vf_mul(vf_set(r->left_rest[i]), vf_load(r->right_rest + at)));
}

/* 32000 (1 - score). */
VEC void finished(const SdmPairRow *r, ptrdiff_t i, Sums *s, const bool is_long, v16 *even, v16 *odd)
{
    const vf left = vf_set(r->left_texture[i]);
    vi score[4];
    for (int q = 0; q < 4; q++) {
        const ptrdiff_t at = quarter_at(&s->pixel, q);
        const vf covariance =
            is_long ? long_covariance(r, i, s->quarter[q], at) : short_covariance(r, i, s->quarter[q], at);
        score[q] = vi_round(vf_mul(vf_mul(covariance, vf_load(r->right_texture + at)), left));
    }
    next_place(&s->pixel);
    *even = v16_sub(v16_set(SDM_PAIR_ZNCC_ONE), v16_evens(vi_bits(score[0]), vi_bits(score[1])));
    *odd = v16_sub(v16_set(SDM_PAIR_ZNCC_ONE), v16_evens(vi_bits(score[2]), vi_bits(score[3])));
}

VEC void short_cost(const SdmPairRow *r, ptrdiff_t i, Sums *s, v16 *even, v16 *odd)
{
    finished(r, i, s, false, even, odd);
}

VEC void long_cost(const SdmPairRow *r, ptrdiff_t i, Sums *s, v16 *even, v16 *odd)
{
    finished(r, i, s, true, even, odd);
}

void SDM_NAME(pair_zncc)(const SdmPairRow *row)
{
    if (row->right_rest)
        sweep_row(row, (SweepCost){enter, long_cost, leave32});
    else
        sweep_row(row, (SweepCost){enter, short_cost, leave32});
}
