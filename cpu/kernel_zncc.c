/* Zero-mean normalised cross-correlation, recursive in y by column sums; one volume row at a time.  The means
 * are taken out in integers: with ma = round(SI / n), mb = round(SJ / n), C = SIJ - mb SI - ma (SJ - n mb)  =
 * sum (a - ma)(b - mb), which 32 bits hold (|q| <= 2047 and windows to 21 x 21: |C| <= n sigma sigma + n / 4
 * < 2^31), and the rest of the means, below half a unit, as floats: covariance = C - (SI - n ma)(SJ - n mb) /
 * n. Source: Iwata et al. 2011, eqs. 5-14. */
// SPDX-License-Identifier: Apache-2.0
#include "cost_rows.h"

sdm_cost_strip_fn SDM_NAME(zncc);

/* Column sums of products: new rows enter, old ones leave, by one multiplication of the pairs. */
static void add_products(int32_t *col, const int32_t *left, const int32_t *right, int count)
{
    for (int x = 0; x < count; x += SDM_VEC)
        vi_store(col + x, vi_add(vi_load(col + x), vi_madd(vi_load(left + x), vi_load(right + x))));
}

/* Scores of `count` successive d, the first of them the label's, against one row of the right view. */
static void normalise_rows(const CostScratch *s, CostLabel label, int k, int count, int width)
{
    const CostMeans *const l = &s->left, *const r = label.right;
    const vf none = vf_set(SDM_SCORE_NONE);
    for (int x = 0; x < width; x += SDM_VEC) {
        const vi sum = vi_load(l->sum + x), mean = vi_load(l->mean + x);
        const vf rest = vf_load(l->rest + x), texture = vf_load(l->texture + x);
        for (int i = k; i < k + count; i++) {
            const ptrdiff_t at = x + label.d + i - k;
            const vf other = vf_load(r->texture + at);
            const vi rest_r = vi_load(r->rest_sum + at), window = vi_load(s->window + i * s->pitch + x);
            const vi c = vi_sub(vi_sub(window, vi_mul(vi_load(r->mean + at), sum)), vi_mul(rest_r, mean));
            const vf covariance = vf_sub(vf_from(c), vf_mul(rest, vf_from(rest_r)));
            const vf v = vf_mul(vf_mul(covariance, texture), other);
            vf_store(s->score + i * s->pitch + x, vf_sel(vf_negative(vf_or(texture, other)), none, v));
        }
    }
}
void SDM_NAME(zncc)(const SdmCostJob *job, sdm_cost_consumer *consume, void *user)
{
    const int w = job->width, win = job->window, nd = job->dmax - job->dmin + 1;
    CostScratch s;
    cost_scratch_cut(&s, job);
    for (int y = job->row_begin - win + 1; y < job->row_end;
         y++) { /* y: centre of the window that is completed */
        cost_step(job, &s, y, -1);
        for (int k = 0; k < nd; k++) {
            const CostLabel label = cost_label(job, &s, y, k);
            int32_t *const column = s.column + k * s.pitch;
            add_products(column, s.left.pair, label.right->pair + label.d, w);
            if (y < job->row_begin)
                continue;
            window_sum(column, s.window + k * s.pitch, w, win);
            if (job->along_v)
                normalise_rows(&s, label, k, 1, w);
        }
        if (y < job->row_begin)
            continue;
        if (!job->along_v)
            normalise_rows(&s, cost_label(job, &s, y, 0), 0, nd, w);
        const SdmCostRow out = cost_row_of(&s, job, y);
        consume(user, &out);
    }
}
