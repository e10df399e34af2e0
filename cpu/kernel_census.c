/* Census: 9 x 7 words (62 bits) and their Hamming distance, summed over the window, recursive in y by column
 * sums. score = 1 - 2 * bits / (62 n): 1 for equal words, about 0 for unrelated ones.  Source: Zabih and
 * Woodfill 1994; Iwata et al. 2011, eq. 15 and 16. */
// SPDX-License-Identifier: Apache-2.0
#include "cost_rows.h"

sdm_cost_strip_fn SDM_NAME(census);
enum { HALF_X = 4, HALF_Y = 3, BITS = 62 };

/* Words of row y of a view: a bit per neighbour, 1 where it is darker than the centre (nodata is darkest; beyond the
 * sides 0). */
static void census_row(const SdmCostJob *job, const CostScratch *s, int y, int side, uint64_t *restrict word)
{
    const int w = job->width;
    const int16_t *restrict const centre = cost_image_row(job, s, side, y);
    memset(word, 0, sizeof *word * (size_t)w);
    int bit = 0;
    for (int j = -HALF_Y; j <= HALF_Y; j++) {
        const int16_t *restrict const row = cost_image_row(job, s, side, y + j);
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
static void step(const SdmCostJob *job, const CostScratch *s, int y, int sign)
{
    census_row(job, s, y, 0, s->word[0]);
    for (int k = 0; k <= job->dmax - job->dmin; k++) {
        const int d = job->dmin + k;
        if (k == 0 || job->along_v)
            census_row(job, s, job->along_v ? y + d : y, 1, s->word[1]);
        add_bits(s->column + k * s->pitch, s->word[0], s->word[1] + (job->along_v ? 0 : d), sign, job->width);
    }
}

void SDM_NAME(census)(const SdmCostJob *job, sdm_cost_consumer *consume, void *user)
{
    const int w = job->width, win = job->window, half = win / 2, nd = job->dmax - job->dmin + 1;
    const float scale = 2.0f / (float)(BITS * win * win);
    CostScratch s;
    cost_scratch_cut(&s, job);
    for (int y = job->row_begin - win + 1; y < job->row_end; y++) {
        cost_step(job, &s, y, 1);
        step(job, &s, y + half, 1);
        if (y - half - 1 >= job->row_begin - half)
            step(job, &s, y - half - 1, -1);
        if (y < job->row_begin)
            continue;
        for (int k = 0; k < nd; k++) {
            const CostLabel label = cost_label(job, &s, y, k);
            cost_sum_window(s.column + k * s.pitch, s.window, w, win);
            to_score(s.window, s.left.texture, label.right->texture + label.d, scale, w, s.score + k * s.pitch);
        }
        const SdmCostRow out = cost_row_of(&s, job, y);
        consume(user, &out);
    }
}
