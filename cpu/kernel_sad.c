/* Sum of absolute differences, recursive in y by column sums, of images brought to local mean 0 and sigma 512
 * (see sdm_normalise_local): score = 1 - SAD / (n * 578); 578 = 512 * 2 / sqrt(pi) is what unrelated pixels
 * give. */
// SPDX-License-Identifier: Apache-2.0
#include "cost_rows.h"

sdm_cost_strip_fn SDM_NAME(sad);

static void add_differences(int32_t *restrict col, const int16_t *restrict a, const int16_t *restrict b,
                            const int16_t *restrict a_old, const int16_t *restrict b_old, int count)
{
    for (int x = 0; x < count; x++) {
        const int32_t d = (int32_t)a[x] - b[x], old = (int32_t)a_old[x] - b_old[x];
        col[x] += (d < 0 ? -d : d) - (old < 0 ? -old : old);
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
    const int w = job->width, win = job->window, half = win / 2, nd = job->dmax - job->dmin + 1;
    CostScratch s;
    cost_scratch_cut(&s, job);
    const CostStats stats[2] = {{s.stat[0], s.stat[1], s.stat[2]}, {s.stat[3], s.stat[4], s.stat[5]}};
    SdmCostRow out = {.width = w, .dmin = job->dmin, .dmax = job->dmax, .score = s.score, .pitch = s.pitch,
                      .left_texture = s.texture[0], .right_texture = s.texture[1]};
    for (int y = job->row_begin - win + 1; y < job->row_end; y++) {
        const int in = y + half, gone = y - half - 1;
        const bool started = gone >= job->row_begin - half;
        const int16_t *const l = cost_row(job, &s, in, 0), *const r = cost_row(job, &s, in, 1);
        const int16_t *const lo = started ? cost_row(job, &s, gone, 2) : s.zero;
        const int16_t *const ro = started ? cost_row(job, &s, gone, 3) : s.zero;
        for (int side = 0; side < 2; side++) {
            cost_add_stats(&stats[side], s.raw[side], w, 1);
            if (started)
                cost_add_stats(&stats[side], s.raw[2 + side], w, -1);
        }
        for (int k = 0; k < nd; k++) {
            const int d = job->dmin + k, x0 = d < 0 ? -d : 0, x1 = d > 0 ? w - d : w;
            if (x1 > x0)
                add_differences(s.column + (ptrdiff_t)k * s.pitch + x0, l + x0, r + x0 + d, lo + x0,
                                ro + x0 + d, x1 - x0);
        }
        if (y < job->row_begin)
            continue;
        for (int side = 0; side < 2; side++)
            cost_finish_stats(&stats[side], w, win, job->min_sigma, s.temp, s.sum[side], s.texture[side]);
        for (int k = 0; k < nd; k++) {
            const int d = job->dmin + k, x0 = d < 0 ? -d : 0, x1 = d > 0 ? w - d : w;
            float *const score = s.score + (ptrdiff_t)k * s.pitch;
            cost_clear(score, w);
            if (x1 <= x0)
                continue;
            cost_sum_window(s.column + (ptrdiff_t)k * s.pitch + x0, s.temp, x1 - x0, win);
            to_score(s.temp, s.texture[0] + x0, s.texture[1] + x0 + d, 1.0f / (578.0f * (float)(win * win)),
                     x1 - x0, score + x0);
        }
        out.y = y;
        consume(user, &out);
    }
}
