/* Census: 9 x 7 words (62 bits) and their Hamming distance, summed over the window, recursive in y by column
 * sums. score = 1 - 2 * bits / (62 n): 1 for equal words, about 0 for unrelated ones.  Source: Zabih and
 * Woodfill 1994; Iwata et al. 2011, eq. 15 and 16. */
// SPDX-License-Identifier: Apache-2.0
#include "cost_rows.h"

sdm_cost_strip_fn SDM_NAME(census);
enum { HALF_X = 4, HALF_Y = 3, BITS = 62 };

/* Words of row y: a bit per neighbour, 1 where it is darker than the centre (nodata is darkest; beyond the
 * sides 0). */
static void census_row(const SdmCostJob *job, const CostScratch *s, int y, int which, uint64_t *restrict word)
{
    const int16_t *const image = which & 1 ? job->right : job->left;
    const int at = which & 1 ? y + job->right_shift : y, w = job->width;
    const int16_t *restrict const centre = s->raw[which];
    memset(word, 0, sizeof *word * (size_t)w);
    int bit = 0;
    for (int j = -HALF_Y; j <= HALF_Y; j++) {
        const int yy = at + j;
        const int16_t *restrict const row =
            yy >= 0 && yy < job->height ? image + (ptrdiff_t)yy * job->stride : s->nodata;
        for (int i = -HALF_X; i <= HALF_X; i++) {
            if (i == 0 && j == 0)
                continue;
            const int x0 = i < 0 ? -i : 0, x1 = i > 0 ? w - i : w;
            for (int x = x0; x < x1; x++)
                word[x] |= (uint64_t)(row[x + i] < centre[x]) << bit;
            bit++;
        }
    }
}

static void add_bits(int32_t *restrict col, const uint64_t *restrict a, const uint64_t *restrict b, int sign,
                     int count)
{
    for (int x = 0; x < count; x++)
        col[x] += sign * __builtin_popcountll(a[x] ^ b[x]);
}

static void to_score(const int32_t *restrict bits, const float *restrict ri, const float *restrict rj,
                     float scale, int count, float *restrict score)
{
    for (int x = 0; x < count; x++) {
        const float s = 1.0f - (float)bits[x] * scale;
        score[x] = ri[x] < 0.0f || rj[x] < 0.0f ? SDM_SCORE_NONE : s;
    }
}

/* Let the rows of y enter (sign 1) or leave (-1) the column sums. */
static void step(const SdmCostJob *job, CostScratch *s, const CostStats stats[2], int y, int sign)
{
    const int w = job->width, nd = job->dmax - job->dmin + 1;
    for (int side = 0; side < 2; side++) {
        cost_row(job, s, y, side);
        cost_add_stats(&stats[side], s->raw[side], w, sign);
        census_row(job, s, y, side, s->word[side]);
    }
    for (int k = 0; k < nd; k++) {
        const int d = job->dmin + k, x0 = d < 0 ? -d : 0, x1 = d > 0 ? w - d : w;
        if (x1 > x0)
            add_bits(s->column + (ptrdiff_t)k * s->pitch + x0, s->word[0] + x0, s->word[1] + x0 + d, sign,
                     x1 - x0);
    }
}

void SDM_NAME(census)(const SdmCostJob *job, sdm_cost_consumer *consume, void *user)
{
    const int w = job->width, win = job->window, half = win / 2, nd = job->dmax - job->dmin + 1;
    CostScratch s;
    cost_scratch_cut(&s, job);
    const CostStats stats[2] = {{s.stat[0], s.stat[1], s.stat[2]}, {s.stat[3], s.stat[4], s.stat[5]}};
    SdmCostRow out = {.width = w, .dmin = job->dmin, .dmax = job->dmax, .score = s.score, .pitch = s.pitch,
                      .left_texture = s.texture[0], .right_texture = s.texture[1]};
    for (int y = job->row_begin - win + 1; y < job->row_end; y++) {
        step(job, &s, stats, y + half, 1);
        if (y - half - 1 >= job->row_begin - half)
            step(job, &s, stats, y - half - 1, -1);
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
            to_score(s.temp, s.texture[0] + x0, s.texture[1] + x0 + d, 2.0f / (float)(BITS * win * win),
                     x1 - x0, score + x0);
        }
        out.y = y;
        consume(user, &out);
    }
}
