/* A band of rows: strips of columns whose sums stay in cache, chunks of disparities, rows; then the
 * left-right check. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/pair_parts.h"

#include <math.h>
#include <string.h>

typedef struct Strip { /* what is being matched */
    const SdmPairPlan *plan;
    SdmPairScratch *scratch;
    SdmPairChunk chunk;
    int index; /* of the chunk */
    int x0, x1, y0, y1;
    SdmPairRow row;
} Strip;

static sdm_pair_row_fn *kernel_of(const Strip *t)
{
    const SdmPairKernels *const k = t->chunk.kernels;
    switch (t->plan->set->cost) {
    case SDM_PAIR_ZNCC:
        return k->zncc;
    case SDM_PAIR_CENSUS:
        return k->census;
    default:
        return t->plan->wide_sums ? k->sad32 : k->sad8;
    }
}

/* Place in a right row of pixel x0, lane 0. */
static ptrdiff_t right_place(const Strip *t) { return t->x0 - t->chunk.d_top + t->plan->right_first; }

static void begin_chunk(Strip *t)
{
    const SdmPairPlan *const p = t->plan;
    const int lanes = t->chunk.kernels->lanes, columns = t->x1 - t->x0 + p->window - 1;
    for (int j = 0; j < lanes; j++) {
        const int d = t->chunk.d_top - j;
        const int place = j % 2 * (lanes / 2) + j / 2;
        t->scratch->lane_d[place] = (uint16_t)(d - p->set->dmin);
        t->scratch->lane_bad[place] = d > p->set->dmax ? SDM_PAIR_NONE : 0;
    }
    memset(t->scratch->sums, 0, (size_t)(columns * lanes) * (p->wide_sums ? 4 : 2));
    if (p->planes > 1)
        memset(t->scratch->distances, 0, (size_t)(columns * lanes * p->window));
    t->row = (SdmPairRow){.pixels = t->x1 - t->x0,
                          .window = p->window,
                          .columns = columns,
                          .shift = p->shift,
                          .sums = t->scratch->sums,
                          .lane_d = t->scratch->lane_d,
                          .planes = p->planes,
                          .unique = p->set->uniqueness > 0.0f,
                          .seams = p->chunk_count > 1,
                          .left_plane = t->scratch->plane[SDM_LEFT],
                          .right_plane = t->scratch->plane[SDM_RIGHT],
                          .lane_bad = t->scratch->lane_bad,
                          .right_at = right_place(t),
                          .right_odd = p->right_length / 2,
                          .pairs_odd = t->scratch->pairs_odd};
}

/* Bytes of row `step` of the band's windows; before the first one zeros. */
static const uint8_t *bytes_of(const Strip *t, int side, int step)
{
    const SdmPairScratch *const s = t->scratch;
    if (step < 0)
        return (const uint8_t *)s->row[2 + side];
    return s->bytes[side] + step * t->plan->planes * s->plane[side] +
           (side == SDM_LEFT ? t->x0 : right_place(t));
}

static void set_bytes(Strip *t, int step)
{
    const int window = t->plan->window, lanes = t->chunk.kernels->lanes;
    t->row.left_bytes = bytes_of(t, SDM_LEFT, step);
    t->row.right_bytes = bytes_of(t, SDM_RIGHT, step);
    t->row.left_leaving = bytes_of(t, SDM_LEFT, step - window);
    t->row.right_leaving = bytes_of(t, SDM_RIGHT, step - window);
    t->row.distances = t->scratch->distances + (ptrdiff_t)(step % window) * t->row.columns * lanes;
}

/* Right pairs of even place, then those of odd place. */
static void split(const int32_t *in, int count, int32_t *out, ptrdiff_t odd)
{
    for (int k = 0; k < (count + 1) / 2; k++)
        out[k] = in[2 * k];
    for (int k = 0; k < count / 2; k++)
        out[odd + k] = in[2 * k + 1];
}

static void set_pairs(Strip *t, const int16_t *const rows[2][2], const int counts[2])
{
    SdmPairScratch *const s = t->scratch;
    sdm_pair_interleave(t->plan, SDM_LEFT, rows[SDM_LEFT][0], rows[SDM_LEFT][1], counts[SDM_LEFT],
                        s->pairs[SDM_LEFT]);
    sdm_pair_interleave(t->plan, SDM_RIGHT, rows[SDM_RIGHT][0], rows[SDM_RIGHT][1], counts[SDM_RIGHT],
                        s->row_pairs);
    split(s->row_pairs, counts[SDM_RIGHT], s->pairs[SDM_RIGHT], s->pairs_odd);
    t->row.left_pairs = s->pairs[SDM_LEFT];
    t->row.right_pairs = s->pairs[SDM_RIGHT];
}

/* The rows that enter and leave when row `y` of the image (which may lie off it) enters. */
static void set_rows(Strip *t, int y)
{
    const SdmPairPlan *const p = t->plan;
    SdmPairScratch *const s = t->scratch;
    const int lanes = t->chunk.kernels->lanes, step = y - (t->y0 - p->before), left = t->x0 - p->before;
    const int counts[2] = {t->row.columns, t->row.columns + lanes - 1},
              columns[2] = {left, left - t->chunk.d_top};
    const int16_t *rows[2][2];
    if (p->planes > 0) {
        set_bytes(t, step);
        return;
    }
    for (int side = SDM_LEFT; side <= SDM_RIGHT; side++) {
        const SdmPairImage *const im = p->image[side];
        rows[side][0] = sdm_pair_samples(im, y, columns[side], counts[side], s->row[side]);
        rows[side][1] = NULL;
        if (step >= p->window)
            rows[side][1] =
                sdm_pair_samples(im, y - p->window, columns[side], counts[side], s->row[2 + side]);
        else if (p->set->cost == SDM_PAIR_SAD)
            rows[side][1] = memset(s->row[2 + side], 0, (size_t)counts[side] * sizeof(int16_t));
    }
    if (p->set->cost == SDM_PAIR_ZNCC)
        set_pairs(t, (const int16_t *const(*)[2])rows, counts);
    t->row.left_new = rows[SDM_LEFT][0], t->row.left_old = rows[SDM_LEFT][1];
    t->row.right_new = rows[SDM_RIGHT][0], t->row.right_old = rows[SDM_RIGHT][1];
}

static void set_terms(Strip *t, ptrdiff_t row)
{
    const SdmPairPlan *const p = t->plan;
    const SdmPairScratch *const s = t->scratch;
    const ptrdiff_t left = row * p->width + t->x0, right = row * p->right_length;
    for (int i = 0; i < 2; i++) {
        t->row.left_terms[i] = s->terms[SDM_LEFT][i] + left;
        t->row.right_terms[i] = s->terms[SDM_RIGHT][i] + right;
    }
    t->row.left_texture = s->texture[SDM_LEFT] + left;
    t->row.right_texture = s->texture[SDM_RIGHT] + right;
    t->row.left_rest = p->long_zncc ? s->rest[SDM_LEFT] + left : NULL;
    t->row.right_rest = p->long_zncc ? s->rest[SDM_RIGHT] + right : NULL;
}

/* Have some of the pixels or lanes no cost? */
static void set_bad(Strip *t, ptrdiff_t row)
{
    const SdmPairScratch *const s = t->scratch;
    const uint8_t *const left = s->bad[SDM_LEFT] + row * s->bad_stride[SDM_LEFT] + t->x0;
    const uint8_t *const right = s->bad[SDM_RIGHT] + row * s->bad_stride[SDM_RIGHT] + right_place(t);
    const int lanes = t->chunk.kernels->lanes;
    const bool any = t->chunk.count < lanes || memchr(left, 1, (size_t)t->row.pixels) ||
                     memchr(right, 1, (size_t)(t->row.pixels + lanes - 1));
    t->row.left_bad = any ? left : NULL;
    t->row.right_bad = any ? right : NULL;
}

static void finish_row(const Strip *t, ptrdiff_t row, const uint16_t *winners)
{
    const SdmPairPlan *const p = t->plan;
    const SdmPairSettings *const set = p->set;
    const SdmPairFinish finish = {.pixels = t->row.pixels,
                                  .depth = set->dmax - set->dmin + 1,
                                  .dmin = (float)set->dmin,
                                  .subpixel = set->subpixel,
                                  .limit = set->uniqueness > 0.0f ? 1.0f + set->uniqueness : 0.0f,
                                  .parabola = set->cost == SDM_PAIR_ZNCC};
    p->widest->finish(&finish, winners, p->disparity + (t->y0 + row) * p->width + t->x0);
    memcpy(t->scratch->left_d + row * p->width + t->x0, winners + SDM_PAIR_D * SDM_PAIR_STRIP,
           (size_t)t->row.pixels * sizeof(uint16_t));
}

static void match_row(Strip *t, ptrdiff_t row)
{
    const SdmPairPlan *const p = t->plan;
    SdmPairScratch *const s = t->scratch;
    uint16_t *const all = s->all + 2 + (p->chunk_count > 1 ? row * SDM_PAIR_STRIP * SDM_PAIR_FIELDS : 0);
    t->row.give = true;
    t->row.out = t->index == 0 ? all : s->chunk + 2;
    t->row.right_best = s->right_best + row * p->right_length + right_place(t);
    if (p->set->cost == SDM_PAIR_ZNCC)
        set_terms(t, row);
    set_bad(t, row);
    kernel_of(t)(&t->row);
    if (t->index > 0)
        p->widest->merge(all, s->chunk + 2, t->row.pixels, t->chunk.d_low - p->set->dmin, t->row.unique);
    if (t->index + 1 == p->chunk_count)
        finish_row(t, row, all);
}

static void match_strip(Strip *t)
{
    const SdmPairPlan *const p = t->plan;
    for (t->index = 0; t->index < p->chunk_count; t->index++) {
        t->chunk = sdm_pair_chunk(p, t->index);
        begin_chunk(t);
        for (int y = t->y0 - p->before; y < t->y1 + p->after; y++) {
            set_rows(t, y);
            if (y < t->y0 + p->after)
                kernel_of(t)(&t->row);
            else
                match_row(t, y - p->after - t->y0);
        }
    }
}

/* Reject pixels from..to - 1 whose right pixel prefers another disparity. */
static void check_left_right(const SdmPairPlan *p, const SdmPairScratch *s, int y0, int y1, int from, int to)
{
    const uint32_t most = p->set->lr_threshold < 1e5f ? (uint32_t)p->set->lr_threshold : 100000;
    for (ptrdiff_t row = 0; row < y1 - y0; row++)
        p->widest->agree(s->left_d + row * p->width + from,
                         s->right_best + row * p->right_length + p->right_first - p->set->dmin + from,
                         to - from, most, p->disparity + (y0 + row) * p->width + from);
}

void sdm_pair_band(const SdmPairPlan *p, SdmPairScratch *s, int y0, int y1)
{
    const int reach = p->set->dmax - p->set->dmin; /* right pixels so far behind the strip are complete */
    int checked = p->set->lr_threshold < 0.0f ? p->width : 0;
    memset(s->right_best, 0xFF, (size_t)(p->right_length * (y1 - y0)) * sizeof(uint32_t));
    sdm_pair_windows(p, s, y0, y1);
    for (int x0 = 0; x0 < p->width; x0 += p->strip_pixels) {
        const int x1 = x0 + p->strip_pixels < p->width ? x0 + p->strip_pixels : p->width;
        const int complete = x1 < p->width ? x1 - reach : p->width;
        Strip t = {.plan = p, .scratch = s, .x0 = x0, .x1 = x1, .y0 = y0, .y1 = y1};
        match_strip(&t);
        if (complete > checked) {
            check_left_right(p, s, y0, y1, checked, complete);
            checked = complete;
        }
    }
}
