/* Two images -> scores by zero-mean normalised cross-correlation, by column sums that are updated from row
 * to row.  The means are taken out in integers: with ma = round(SI / n), mb = round(SJ / n), C = SIJ - mb
 * SI - ma (SJ - n mb)  = sum (a - ma)(b - mb), which 32 bits hold (|q| <= 2047 and windows to 21 x 21: |C|
 * <= n sigma sigma + n / 4 < 2^31), and the rest of the means, below half a unit, as floats: covariance =
 * C - (SI - n ma)(SJ - n mb) / n. Source: Iwata et al. 2011, eqs. 5-14. */
// SPDX-License-Identifier: Apache-2.0
#include "cost_rows.h"

sdm_cost_strip_fn SDM_NAME(zncc);

/* Column sums of products: new rows enter, old ones leave, by one multiplication of the pairs. */
typedef struct Products {
    int32_t *column;
    const int32_t *left, *right;
} Products;

static inline vi enter_block(const Products *p, ptrdiff_t x)
{
    const vi sum = vi_add(vi_load(p->column + x), vi_madd(vi_load(p->left + x), vi_load(p->right + x)));
    vi_store(p->column + x, sum);
    return sum;
}

static void add_products(const Products *products, int count)
{
    const Products own = *products, *const p = &own;
    for (int x = 0; x < count; x += SDM_VEC)
        enter_block(p, x);
}

/* The same and window sums of the columns, for the row's blocks from..end - 1: in one go, so that a column is
 * read once.  Columns ahead of the block are entered, too; beyond the row the left pairs are 0. */
#if SDM_VEC > 4
enum { CHUNK = 512 / SDM_VEC }; /* blocks whose means stay in the first cache for all d */
static inline __attribute__((always_inline)) void enter_and_sum(const Products *products, int from, int end,
                                                                int32_t *out, int window)
{
    const Products own = *products, *const p = &own; /* else read again after each store */
    WindowSums s;
    const ptrdiff_t x = (ptrdiff_t)from * SDM_VEC;
    if (from == 0)
        window_begin(&s, enter_block(p, 0), enter_block(p, SDM_VEC), enter_block(p, 2 * SDM_VEC));
    else
        window_begin(&s, vi_load(p->column + x), vi_load(p->column + x + SDM_VEC),
                     vi_load(p->column + x + 2 * SDM_VEC));
#pragma GCC unroll 4 /* the sums move on by names, not by copies */
    for (ptrdiff_t b = from; b < end; b++) {
        window_next(&s, enter_block(p, (b + WINDOW_SUM_AHEAD) * SDM_VEC));
        vi_store(out + window / 2 + b * SDM_VEC, window_of(&s, window));
    }
}

static void sum_products(const Products *p, int from, int end, int32_t *out, int window)
{
    switch (window) { /* unrolled for each of the chain's */
    case 5:
        enter_and_sum(p, from, end, out, 5);
        return;
    case 9:
        enter_and_sum(p, from, end, out, 9);
        return;
    case 13:
        enter_and_sum(p, from, end, out, 13);
        return;
    default: /* all of the row */
        add_products(p, end * SDM_VEC);
        window_sum(p->column, out, end * SDM_VEC, window);
    }
}

static int chunk_of(int window, int blocks)
{
    return window == 5 || window == 9 || window == 13 ? CHUNK : blocks;
}
#else
static void sum_products(const Products *p, int from, int end, int32_t *out, int window)
{
    (void)from; /* 0 */
    add_products(p, end * SDM_VEC);
    window_sum(p->column, out, end * SDM_VEC, window);
}

static int chunk_of(int window, int blocks)
{
    (void)window;
    return blocks;
}
#endif

/* Means of SDM_VEC left windows; see CostMeans. */
typedef struct LeftMeans {
    vi terms, high_term;
    vf rest, texture;
} LeftMeans;

static inline LeftMeans left_means(const CostMeans *l, int x)
{
    return (LeftMeans){vi_load(l->terms + x), vi_load(l->high_term + x), vf_load(l->rest + x),
                       vf_load(l->texture + x)};
}

/* Their scores from the sums of products, against the right windows from `at` on.  -SI is the high term plus
 * a signed number of 16 bits: dot() adds mb times the latter and mul16() mb times the high term, modulo
 * 2^32. */
static inline vf normalised(const LeftMeans *l, const CostMeans *r, ptrdiff_t at, vi products)
{
    const vi terms = vi_load(r->terms + at);
    const vi c = vi_add(vi_dot(products, terms, l->terms), vi_mul16(terms, l->high_term));
    const vf covariance = vf_sub(vf_from(c), vf_mul(l->rest, vf_load(r->rest + at)));
    const vf score = vf_mul(vf_mul(covariance, l->texture), vf_load(r->texture + at));
    return vf_max(score, vf_set(SDM_SCORE_NONE)); /* which is taken for NAN, too */
}

/* Scores of `count` successive d, the first of them the label's, against one row of the right view, of the
 * pixels x0..x1 - 1 and at most a vector more. */
static void normalise_rows(const CostScratch *s, CostLabel label, int k, int count, int x0, int x1)
{
    const CostMeans right = *label.right, *const r = &right; /* else read again after each store */
    for (int x = x0; x < x1; x += 2 * SDM_VEC) {
        const LeftMeans l = left_means(&s->left, x), next = left_means(&s->left, x + SDM_VEC);
        const int32_t *products = s->window + k * s->pitch + x;
        float *score = s->score + k * s->pitch + x;
        for (ptrdiff_t at = x + label.d, end = at + count; at < end; at++) {
            vf_store(score, normalised(&l, r, at, vi_load(products)));
            vf_store(score + SDM_VEC, normalised(&next, r, at + SDM_VEC, vi_load(products + SDM_VEC)));
            products += s->pitch;
            score += s->pitch;
        }
    }
}

static Products products_of(const SdmCostJob *job, const CostScratch *s, int y, int k)
{
    const CostLabel label = cost_label(job, s, y, k);
    return (Products){s->column + k * s->pitch, s->left.pair, label.right->pair + label.d};
}

/* Scores of row y, whose pairs and means are there. */
static void score_row(const SdmCostJob *job, const CostScratch *s, int y)
{
    const int nd = job->dmax - job->dmin + 1, blocks = (job->width + SDM_VEC - 1) / SDM_VEC;
    const int step = chunk_of(job->window, blocks);
    for (int from = 0; from < blocks; from += step) {
        const int end = from + step < blocks ? from + step : blocks;
        for (int k = 0; k < nd; k++) {
            const Products p = products_of(job, s, y, k);
            sum_products(&p, from, end, s->window + k * s->pitch, job->window);
            if (job->along_v)
                normalise_rows(s, cost_label(job, s, y, k), k, 1, from * SDM_VEC, end * SDM_VEC);
        }
        if (!job->along_v)
            normalise_rows(s, cost_label(job, s, y, 0), 0, nd, from * SDM_VEC, end * SDM_VEC);
    }
}

void SDM_NAME(zncc)(const SdmCostJob *job, sdm_cost_consumer *consume, void *user)
{
    CostScratch s;
    cost_scratch_cut(&s, job);
    for (int y = job->row_begin - job->window + 1; y < job->row_end;
         y++) { /* y: centre of the window that is completed */
        cost_step(job, &s, y, (CostNeeds){.left = COST_MEANS, .right = COST_MEANS, .right_sign = -1});
        for (int k = 0; y < job->row_begin && k <= job->dmax - job->dmin; k++) {
            const Products p = products_of(job, &s, y, k);
            add_products(&p, job->width);
        }
        if (y < job->row_begin)
            continue;
        score_row(job, &s, y);
        const SdmCostRow out = cost_row_of(&s, job, y);
        consume(user, &out);
    }
}
