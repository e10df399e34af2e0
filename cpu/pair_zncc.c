/* ZNCC of a strip's row: products of samples, recursive down and along; means and deviations come from elsewhere. */
// SPDX-License-Identifier: Apache-2.0
#include "pair_sweep.h"

extern sdm_pair_row_fn SDM_NAME(pair_zncc);

VEC int32_t *column(const SdmPairRow *r, int k, int quarter)
{
    return (int32_t *)r->sums + (ptrdiff_t)k * LANES + quarter * QL;
}

VEC void enter(const SdmPairRow *r, int k, Sums *s)
{
    const v32 left = v32_set1(r->left_pairs[k]);
    for (int i = 0; i < 4; i++) {
        int32_t *const at = column(r, k, i);
        const v32 sum = v32_dot(v32_load(at), left, v32_load(r->right_pairs + k + i * QL));
        v32_store(at, sum);
        s->quarter[i] = v32_add(s->quarter[i], sum);
    }
}

VEC void leave(const SdmPairRow *r, int k, Sums *s)
{
    for (int i = 0; i < 4; i++)
        s->quarter[i] = v32_sub(s->quarter[i], v32_load(column(r, k, i)));
}

/* 32000 (1 - score) of a half. */
VEC v16 finished(const SdmPairRow *r, int i, vf a, vf b, int half)
{
    const vf left = vf_set1(r->left_texture[i]);
    const float *const right = r->right_texture + i + half * VL;
    const v32 first = v32_round(vf_mul(vf_mul(a, vf_load(right)), left));
    const v32 second = v32_round(vf_mul(vf_mul(b, vf_load(right + QL)), left));
    return v16_sub(v16_set1(SDM_PAIR_ZNCC_ONE), v16_of_lows(first, second));
}

/* Covariance where 32 bits hold all of it. */
VEC vf short_covariance(const SdmPairRow *r, int i, const Sums *s, int quarter)
{
    return vf_of(v32_dot(s->quarter[quarter], v32_set1(r->left_terms[0][i]),
                         v32_load(r->right_terms[0] + i + quarter * QL)));
}

VEC vf long_covariance(const SdmPairRow *r, int i, const Sums *s, int quarter)
{
    const int j = i + quarter * QL;
    v32 whole = v32_dot(s->quarter[quarter], v32_set1(r->left_terms[0][i]), v32_load(r->right_terms[0] + j));
    whole = v32_dot(whole, v32_set1(r->left_terms[1][i]), v32_load(r->right_terms[1] + j));
    return vf_sub(vf_of(whole), vf_mul(vf_set1(r->left_rest[i]), vf_load(r->right_rest + j)));
}

VEC void short_cost(const SdmPairRow *r, int i, const Sums *s, v16 *lo, v16 *hi)
{
    *lo = finished(r, i, short_covariance(r, i, s, 0), short_covariance(r, i, s, 1), 0);
    *hi = finished(r, i, short_covariance(r, i, s, 2), short_covariance(r, i, s, 3), 1);
}

VEC void long_cost(const SdmPairRow *r, int i, const Sums *s, v16 *lo, v16 *hi)
{
    *lo = finished(r, i, long_covariance(r, i, s, 0), long_covariance(r, i, s, 1), 0);
    *hi = finished(r, i, long_covariance(r, i, s, 2), long_covariance(r, i, s, 3), 1);
}

void SDM_NAME(pair_zncc)(const SdmPairRow *row)
{
    if (row->right_rest)
        sweep_row(row, (SweepCost){enter, long_cost, leave});
    else
        sweep_row(row, (SweepCost){enter, short_cost, leave});
}
