/* How a match is cut into chunks of disparities, strips and bands, and the scratch that a thread needs. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/pair_parts.h"

#include <string.h>

enum { SUMS_BYTES = 40 << 10, STRIP_LEAST = 48, BAND_LEAST = 24, BAND_MOST = 128 };

static int clamp(int v, int lo, int hi) { return v < lo ? lo : v > hi ? hi : v; }

static void plan_cost(SdmPairPlan *p)
{
    const SdmPairSettings *const set = p->set;
    const bool eight_bit = p->image[SDM_LEFT]->eight_bit;
    const bool narrow = set->cost == SDM_PAIR_SAD && eight_bit && p->samples * 255 < SDM_PAIR_NONE;
    const int most = p->samples * (eight_bit ? 255 : 4094);
    p->textured = set->cost == SDM_PAIR_ZNCC || set->min_sigma > 0.0f;
    if (set->cost == SDM_PAIR_CENSUS)
        p->planes = (set->census_width * set->census_height + 6) / 8;
    if (narrow)
        p->planes = 1;
    p->wide_sums = p->planes == 0;
    p->long_zncc = set->cost == SDM_PAIR_ZNCC && !(eight_bit && p->samples <= 225);
    while (set->cost == SDM_PAIR_SAD && most >> p->shift >= SDM_PAIR_NONE)
        p->shift++;
}

void sdm_pair_plan(SdmPairPlan *p, int threads)
{
    const SdmPairSettings *const set = p->set;
    p->width = p->image[SDM_LEFT]->width;
    p->height = p->image[SDM_LEFT]->height;
    p->window = set->window;
    p->samples = set->window * set->window;
    p->before = set->window / 2;
    p->after = set->window - 1 - p->before;
    p->widest = sdm_pair_kernels_at(set->cpu_level, SDM_PAIR_LANES_MAX);
    plan_cost(p);
    int top = set->dmin - 1;
    for (; top < set->dmax; p->chunk_count++)
        top += sdm_pair_kernels_at(set->cpu_level, set->dmax - top)->lanes;
    p->right_first = top > 0 ? top : 0;
    p->right_length = p->right_first + p->width + (set->dmin < 0 ? -set->dmin : 0);
    p->right_length = (p->right_length + 2 * SDM_PAIR_LANES_MAX) / 128 * 128 + 128;
    const int column_bytes = p->widest->lanes * (p->wide_sums ? 4 : 2);
    p->strip_pixels = clamp(SUMS_BYTES / column_bytes - (p->window - 1), STRIP_LEAST, SDM_PAIR_STRIP - 2);
    const int strips = (p->width + p->strip_pixels - 1) / p->strip_pixels;
    p->strip_pixels = (p->width + strips - 1) / strips;
    p->band_rows = clamp(p->height / (4 * threads), BAND_LEAST, BAND_MOST);
}

SdmPairChunk sdm_pair_chunk(const SdmPairPlan *p, int index)
{
    SdmPairChunk c = {.d_low = p->set->dmin};
    for (int i = 0;; i++) {
        const int left = p->set->dmax - c.d_low + 1;
        c.kernels = sdm_pair_kernels_at(p->set->cpu_level, left);
        c.count = left < c.kernels->lanes ? left : c.kernels->lanes;
        c.d_top = c.d_low + c.kernels->lanes - 1;
        if (i == index)
            return c;
        c.d_low += c.kernels->lanes;
    }
}

/* Hands out pieces of a block, aligned to 64; of NULL it only counts. */
typedef struct Purse {
    char *block;
    size_t used;
} Purse;

static void *take(Purse *purse, ptrdiff_t count, size_t size)
{
    void *const piece = purse->block ? purse->block + purse->used : NULL;
    purse->used += ((size_t)count * size + 63) / 64 * 64 + 64;
    return piece;
}

static void take_zncc(const SdmPairPlan *p, Purse *purse, SdmPairScratch *s, int side, ptrdiff_t count)
{
    for (int i = 0; i < 2; i++)
        s->terms[side][i] = take(purse, i == 0 || p->long_zncc ? count : 0, sizeof(int32_t));
    s->texture[side] = take(purse, count, sizeof(float));
    s->rest[side] = take(purse, p->long_zncc ? count : 0, sizeof(float));
}

static void take_windows(const SdmPairPlan *p, Purse *purse, SdmPairScratch *s)
{
    const int padded = p->width + p->window - 1;
    const ptrdiff_t length[2] = {p->width, p->right_length};
    for (int side = SDM_LEFT; side <= SDM_RIGHT; side++) {
        const ptrdiff_t count = length[side] * p->band_rows;
        s->bad[side] = take(purse, count, 1);
        s->plane[side] = (length[side] + p->window + 63) / 64 * 64 + 64;
        s->bytes[side] = take(purse, s->plane[side] * p->planes * (p->band_rows + p->window - 1), 1);
        take_zncc(p, purse, s, side, p->set->cost == SDM_PAIR_ZNCC ? count : 0);
    }
    int32_t **const rows[] = {&s->columns.sum, &s->columns.squares, &s->columns.holes,
                              &s->sum,         &s->row_terms[0],    &s->row_terms[1]};
    for (int i = 0; i < 6; i++)
        *rows[i] = take(purse, padded, sizeof(int32_t));
    s->row_texture = take(purse, padded, sizeof(float));
    s->row_rest = take(purse, padded, sizeof(float));
}

size_t sdm_pair_scratch(const SdmPairPlan *p, void *block, SdmPairScratch *s)
{
    Purse purse = {block, 0};
    const ptrdiff_t columns = p->strip_pixels + p->window - 1, lanes = SDM_PAIR_LANES_MAX;
    const ptrdiff_t longest =
        (columns + lanes > p->width + p->window ? columns + lanes : p->width + p->window) + 128;
    *s = (SdmPairScratch){0};
    s->left_d = take(&purse, (ptrdiff_t)p->width * p->band_rows, sizeof(uint16_t));
    s->right_best = take(&purse, p->right_length * p->band_rows, sizeof(uint32_t));
    take_windows(p, &purse, s);
    s->sums = take(&purse, columns * lanes, sizeof(int32_t));
    s->distances = take(&purse, p->planes > 1 ? columns * lanes * p->window : 0, 1);
    for (int i = 0; i < 9 && p->planes > 1; i++)
        s->word_row[i] = take(&purse, longest, sizeof(int16_t));
    for (int i = 0; i < 4; i++)
        s->row[i] = take(&purse, longest, sizeof(int16_t));
    s->pairs_odd = (columns + lanes) / 2 + 64;
    for (int i = 0; i < 2; i++)
        s->pairs[i] = take(&purse, 2 * s->pairs_odd, sizeof(int32_t));
    s->row_pairs = take(&purse, columns + lanes, sizeof(int32_t));
    s->lane_bad = take(&purse, lanes, sizeof(uint16_t));
    s->lane_d = take(&purse, lanes, sizeof(uint16_t));
    s->all = take(&purse, 2 + SDM_PAIR_STRIP * SDM_PAIR_FIELDS * (p->chunk_count > 1 ? p->band_rows : 1),
                  sizeof(uint16_t));
    s->chunk = take(&purse, 2 + SDM_PAIR_STRIP * SDM_PAIR_FIELDS, sizeof(uint16_t));
    return purse.used + 64;
}
