/* Zero-mean normalised cross-correlation, recursive in y by column sums; one volume row at a time.  The means are
 * taken out in integers: with ma = round(SI / n), mb = round(SJ / n),
 *   C = SIJ - mb SI - ma (SJ - n mb)  =  sum (a - ma)(b - mb),
 * which 32 bits hold (|q| <= 2047 and windows to 21 x 21: |C| <= n sigma sigma + n / 4 < 2^31), and the rest of the
 * means, below half a unit, as floats: covariance = C - (SI - n ma)(SJ - n mb) / n.
 * Source: Iwata et al. 2011, eqs. 5-14. */
// SPDX-License-Identifier: Apache-2.0
#include "cost_rows.h"

sdm_cost_strip_fn SDM_NAME(zncc);

#if SDM_VEC
/* Column sums of products: new rows enter, old ones leave, by one multiplication of the pairs. */
static void add_products(int32_t *col, const int32_t *left, const int32_t *right, int count)
{
    for (int x = 0; x < count; x += SDM_VEC)
        vi_store(col + x, vi_add(vi_load(col + x), vi_madd(vi_load(left + x), vi_load(right + x))));
}

static void normalise_row(const CostScratch *s, const SdmCostJob *job)
{
    const CostMeans *const l = &s->means[0], *const r = &s->means[1];
    const int nd = job->dmax - job->dmin + 1;
    for (int x = 0; x < job->width; x += SDM_VEC) {
        const vi sum = vi_load(l->sum + x), mean = vi_load(l->mean + x);
        const vf rest = vf_load(l->rest + x), texture = vf_load(l->texture + x);
        for (int k = 0; k < nd; k++) {
            const ptrdiff_t at = x + job->dmin + k;
            const vf other = vf_load(r->texture + at);
            const vi c = vi_sub(vi_sub(vi_load(s->window + k * s->pitch + x), vi_mul(vi_load(r->mean + at), sum)),
                                vi_mul(vi_load(r->rest_sum + at), mean));
            const vf covariance = vf_sub(vf_from(c), vf_mul(rest, vf_from(vi_load(r->rest_sum + at))));
            const vf score = vf_mul(vf_mul(covariance, texture), other);
            vf_store(s->score + k * s->pitch + x, vf_sel(vf_negative(vf_or(texture, other)), vf_set(SDM_SCORE_NONE), score));
        }
    }
}
#else
static void add_products(int32_t *restrict col, const int32_t *restrict left, const int32_t *restrict right, int count)
{
    for (int x = 0; x < count; x++)
        col[x] += cost_pair_product(left[x], right[x]);
}

static void normalise_row(const CostScratch *s, const SdmCostJob *job)
{
    const CostMeans *const l = &s->means[0], *const r = &s->means[1];
    for (int k = 0; k <= job->dmax - job->dmin; k++) {
        const ptrdiff_t at = job->dmin + k;
        const int32_t *restrict const window = s->window + k * s->pitch, *restrict const sum = l->sum;
        const int32_t *restrict const mean = l->mean, *restrict const mean_r = r->mean + at;
        const int32_t *restrict const rest_r = r->rest_sum + at;
        const float *restrict const rest = l->rest, *restrict const tl = l->texture, *restrict const tr = r->texture + at;
        float *restrict const score = s->score + k * s->pitch;
        for (int x = 0; x < job->width; x++) {
            const int32_t c = (int32_t)((uint32_t)window[x] - (uint32_t)mean_r[x] * (uint32_t)sum[x] -
                                        (uint32_t)rest_r[x] * (uint32_t)mean[x]);
            const float covariance = (float)c - rest[x] * (float)rest_r[x], v = covariance * tl[x] * tr[x];
            score[x] = tl[x] < 0.0f || tr[x] < 0.0f ? SDM_SCORE_NONE : v;
        }
    }
}
#endif

void SDM_NAME(zncc)(const SdmCostJob *job, sdm_cost_consumer *consume, void *user)
{
    const int w = job->width, win = job->window, nd = job->dmax - job->dmin + 1;
    CostScratch s;
    cost_scratch_cut(&s, job);
    SdmCostRow out = cost_row_of(&s, job);
    for (int y = job->row_begin - win + 1; y < job->row_end; y++) { /* y: centre of the window that is completed */
        cost_enter_rows(job, &s, y, -1);
        for (int k = 0; k < nd; k++)
            add_products(s.column + k * s.pitch, s.pair[0], s.pair[1] + job->dmin + k, w);
        if (y < job->row_begin)
            continue;
        cost_find_means(job, &s);
        for (int k = 0; k < nd; k++)
            cost_sum_window(s.column + k * s.pitch, s.window + k * s.pitch, w, win);
        normalise_row(&s, job);
        out.y = y;
        consume(user, &out);
    }
}
