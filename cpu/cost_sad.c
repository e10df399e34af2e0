/* Two images -> scores by the sum of absolute differences, by column sums that are updated from row to
 * row.  The images have local mean 0 and sigma 512 (sdm_normalise_local()): score = 1 - SAD / (n * 578),
 * where 578 = 512 * 2 / sqrt(pi) is the mean difference of unrelated pixels. */
// SPDX-License-Identifier: Apache-2.0
#include "cost_rows.h"

sdm_cost_strip_fn SDM_NAME(sad);

/* Column sums of |left - right|: new rows enter, old ones leave (where `leaves` is 1, not 0). */
static void add_differences(int32_t *col, const int32_t *left, const int32_t *right, int leaves, int count)
{
    const vi sign =
        vi_set(leaves ? (int32_t)0xffff0001 : 1); /* +1 for the row that enters, -1 for the one that leaves */
    for (int x = 0; x < count; x += SDM_VEC) {
        const vi apart = vi_differ16(vi_load(left + x), vi_load(right + x));
        vi_store(col + x, vi_add(vi_load(col + x), vi_madd(apart, sign)));
    }
}

static void to_score(const int32_t *restrict sad, const float *restrict ri, const float *restrict rj,
                     float scale, int count, float *restrict score)
{
    for (int x = 0; x < count; x++) {
        const float s = 1.0f - (float)sad[x] * scale;
        score[x] = ri[x] < 0.0f || rj[x] < 0.0f ? SDM_SCORE_NONE : s > -1.0f ? s : -1.0f;
    }
}

void SDM_NAME(sad)(const SdmCostJob *job, sdm_cost_consumer *consume, void *user)
{
    const int w = job->width, win = job->window, nd = job->dmax - job->dmin + 1;
    const float scale = 1.0f / (578.0f * (float)(win * win));
    CostScratch s;
    cost_scratch_cut(&s, job);
    for (int y = job->row_begin - win + 1; y < job->row_end; y++) {
        cost_step(job, &s, y, (CostNeeds){.left = COST_TEXTURE, .right = COST_NODATA, .right_sign = 1});
        for (int k = 0; k < nd; k++) {
            const CostLabel label = cost_label(job, &s, y, k);
            int32_t *const column = s.column + k * s.pitch;
            add_differences(column, s.left.pair, label.right->pair + label.d, y > job->row_begin, w);
            if (y < job->row_begin)
                continue;
            window_sum(column, s.window, w, win);
            to_score(s.window, s.left.texture, label.right->texture + label.d, scale, w,
                     s.score + k * s.pitch);
        }
        if (y < job->row_begin)
            continue;
        const SdmCostRow out = cost_row_of(&s, job, y);
        consume(user, &out);
    }
}
