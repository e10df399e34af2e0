/* Zero-mean normalised cross-correlation, recursive in y by column sums; one volume row at a time. Sums are
 * exact integers: |q| <= 2047, so products <= 2^22 and 21 x 21 of them < 2^31; n SIJ - SI SJ < 2^53 is exact
 * in double.  Source: Iwata et al. 2011, eqs. 5-14, with the mean removed in integers. */
// SPDX-License-Identifier: Apache-2.0
#include "cost_rows.h"

sdm_cost_strip_fn SDM_NAME(zncc);

static void add_products(int32_t *restrict col, const int16_t *restrict a, const int16_t *restrict b,
                         const int16_t *restrict a_old, const int16_t *restrict b_old, int count)
{
    for (int x = 0; x < count; x++)
        col[x] += (int32_t)a[x] * b[x] - (int32_t)a_old[x] * b_old[x];
}

static void normalise(const int32_t *restrict sum_ij, const int32_t *restrict si, const int32_t *restrict sj,
                      const float *restrict ri, const float *restrict rj, double n, int count,
                      float *restrict score)
{
    for (int x = 0; x < count; x++) {
        const double cov = n * (double)sum_ij[x] - (double)si[x] * (double)sj[x];
        const float s = (float)cov * ri[x] * rj[x];
        score[x] = ri[x] < 0.0f || rj[x] < 0.0f ? SDM_SCORE_NONE : s;
    }
}

void SDM_NAME(zncc)(const SdmCostJob *job, sdm_cost_consumer *consume, void *user)
{
    const int w = job->width, win = job->window, half = win / 2, nd = job->dmax - job->dmin + 1;
    CostScratch s;
    cost_scratch_cut(&s, job);
    const CostStats left = {s.stat[0], s.stat[1], s.stat[2]}, right = {s.stat[3], s.stat[4], s.stat[5]};
    SdmCostRow out = {.width = w, .dmin = job->dmin, .dmax = job->dmax, .score = s.score, .pitch = s.pitch,
                      .left_texture = s.texture[0], .right_texture = s.texture[1]};
    for (int y = job->row_begin - win + 1; y < job->row_end;
         y++) { /* y: centre of the window that is completed */
        const int in = y + half, gone = y - half - 1;
        const bool started = gone >= job->row_begin - half;
        const int16_t *const l = cost_row(job, &s, in, 0), *const r = cost_row(job, &s, in, 1);
        const int16_t *const lo = started ? cost_row(job, &s, gone, 2) : s.zero;
        const int16_t *const ro = started ? cost_row(job, &s, gone, 3) : s.zero;
        cost_add_stats(&left, s.raw[0], w, 1);
        cost_add_stats(&right, s.raw[1], w, 1);
        if (started) {
            cost_add_stats(&left, s.raw[2], w, -1);
            cost_add_stats(&right, s.raw[3], w, -1);
        }
        for (int k = 0; k < nd; k++) {
            const int d = job->dmin + k, x0 = d < 0 ? -d : 0, x1 = d > 0 ? w - d : w;
            if (x1 > x0)
                add_products(s.column + (ptrdiff_t)k * s.pitch + x0, l + x0, r + x0 + d, lo + x0, ro + x0 + d,
                             x1 - x0);
        }
        if (y < job->row_begin)
            continue;
        cost_finish_stats(&left, w, win, job->min_sigma, s.temp, s.sum[0], s.texture[0]);
        cost_finish_stats(&right, w, win, job->min_sigma, s.temp, s.sum[1], s.texture[1]);
        for (int k = 0; k < nd; k++) {
            const int d = job->dmin + k, x0 = d < 0 ? -d : 0, x1 = d > 0 ? w - d : w;
            float *const score = s.score + (ptrdiff_t)k * s.pitch;
            cost_clear(score, w);
            if (x1 <= x0)
                continue;
            cost_sum_window(s.column + (ptrdiff_t)k * s.pitch + x0, s.temp, x1 - x0, win);
            normalise(s.temp, s.sum[0] + x0, s.sum[1] + x0 + d, s.texture[0] + x0, s.texture[1] + x0 + d,
                      (double)(win * win), x1 - x0, score + x0);
        }
        out.y = y;
        consume(user, &out);
    }
}
