/* What matching needs of single images, a band of rows at a time: samples with the image's edges repeated, where
 * windows have no cost, their sums and textures, census words. */
// SPDX-License-Identifier: Apache-2.0
#include "pair/pair_parts.h"

#include <string.h>

static int clamp(int v, int lo, int hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

const int16_t *sdm_pair_samples(const SdmPairImage *im, int y, int x, int count, int16_t *room)
{
    const int16_t *const row = im->data + clamp(y, 0, im->height - 1) * im->stride;
    if (x >= 0 && x + count <= im->width)
        return row + x;
    const int first = clamp(-x, 0, count), last = clamp(im->width - x, first, count); /* first..last - 1 lie inside */
    for (int i = 0; i < first; i++)
        room[i] = row[clamp(x + i, 0, im->width - 1)];
    if (last > first)
        memcpy(room + first, row + x + first, (size_t)(last - first) * sizeof *room);
    for (int i = last; i < count; i++)
        room[i] = row[clamp(x + i, 0, im->width - 1)];
    return room;
}

static bool has_holes(const SdmPairImage *im, int y0, int y1)
{
    int holes = 0;
    for (int y = clamp(y0, 0, im->height - 1); y <= clamp(y1, 0, im->height - 1) && !holes; y++) {
        const int16_t *const row = im->data + y * im->stride;
        for (int x = 0; x < im->width; x++)
            holes |= row[x] == SDM_PIXEL_NODATA;
    }
    return holes != 0;
}

/* A row of `bad` without statistics: only the columns off the image. */
static void bound(const SdmPairPlan *p, SdmPairScratch *s, int side)
{
    s->bad_stride[side] = 0;
    if (side == SDM_LEFT) {
        memset(s->bad[side], 0, (size_t)p->width * sizeof(uint16_t));
        return;
    }
    memset(s->bad[side], 0xFF, (size_t)p->right_length * sizeof(uint16_t));
    memset(s->bad[side] + p->right_first, 0, (size_t)p->width * sizeof(uint16_t));
}

/* Products that take the means off a window's sum of products: see SdmPairRow and cpu/pair_reference.c. */
static void short_terms(const SdmPairPlan *p, const SdmPairScratch *s, int side, ptrdiff_t at)
{
    const int32_t *const sum = s->sum[side] + at;
    int32_t *const terms = s->terms[side][0] + at;
    for (int x = 0; x < p->width; x++)
        terms[x] = (side == SDM_LEFT ? -sum[x] : sum[x]) & 0xFFFF;
}

static int32_t halves(int32_t low, int32_t high)
{
    return (int32_t)((uint32_t)low & 0xFFFF) | (int32_t)((uint32_t)high << 16);
}

/* n ma mb + ma rb + mb ra in 16-bit factors: n = 16 (u + v) + w, u and v at most 16:
 * 16 ma u mb + 16 ma v mb + ma (w mb + rb) + ra mb. */
static void long_terms(const SdmPairPlan *p, const SdmPairScratch *s, int side, ptrdiff_t at)
{
    const int n = p->samples, u = n / 16 < 16 ? n / 16 : 16, v = n / 16 - u, w = n % 16;
    const int32_t *const sum = s->sum[side] + at;
    const float inverse = 1.0f / (float)n, scale = side == SDM_LEFT ? inverse : 1.0f;
    for (int x = 0; x < p->width; x++) {
        const int32_t m = (int32_t)((float)(2 * sum[x] + n + 8192 * n) / (float)(2 * n)) - 4096, r = sum[x] - n * m;
        s->terms[side][0][at + x] = side == SDM_LEFT ? halves(-16 * m, -16 * m) : halves(u * m, v * m);
        s->terms[side][1][at + x] = side == SDM_LEFT ? halves(-m, -r) : halves(w * m + r, m);
        s->rest[side][at + x] = (float)r * scale;
    }
}

static void zncc_terms(const SdmPairPlan *p, const SdmPairScratch *s, int side, ptrdiff_t at)
{
    float *const texture = s->texture[side] + at;
    if (p->long_zncc)
        long_terms(p, s, side, at);
    else
        short_terms(p, s, side, at);
    for (int x = 0; x < p->width && side == SDM_LEFT; x++)
        texture[x] *= (float)SDM_PAIR_ZNCC_ONE;
    for (int x = 0; x < p->width && side == SDM_LEFT && p->long_zncc; x++)
        texture[x] *= (float)p->samples;
}

/* Statistics of the windows of rows y0..y1 - 1. */
static void statistics(const SdmPairPlan *p, SdmPairScratch *s, int side, int y0, int y1)
{
    const SdmPairImage *const im = p->image[side];
    const int count = p->width + p->window - 1;
    const ptrdiff_t first = side == SDM_LEFT ? 0 : p->right_first, length = side == SDM_LEFT ? p->width : p->right_length;
    const bool zncc = p->set->cost == SDM_PAIR_ZNCC;
    s->bad_stride[side] = length;
    memset(s->bad[side], 0xFF, (size_t)(length * (y1 - y0)) * sizeof(uint16_t));
    int32_t *const all[] = {s->columns.sum, s->columns.squares, s->columns.holes};
    for (int i = 0; i < 3; i++)
        memset(all[i], 0, (size_t)count * sizeof(int32_t));
    for (int y = y0 - p->before; y < y1 + p->after; y++) { /* row y enters */
        const int16_t *const add = sdm_pair_samples(im, y, -p->before, count, s->row[0]);
        const bool full = y >= y0 - p->before + p->window;
        p->widest->columns(&s->columns, add,
                           full ? sdm_pair_samples(im, y - p->window, -p->before, count, s->row[1]) : NULL, count,
                           im->eight_bit ? 128 : 0);
        if (y < y0 + p->after)
            continue;
        const ptrdiff_t at = (y - p->after - y0) * length + first;
        const SdmPairWindowRow out = {.pixels = p->width, .window = p->window,
                                      .least = p->textured ? p->set->min_sigma * (float)p->samples : -1.0f,
                                      .sum = s->sum[side] + (zncc ? at : 0),
                                      .texture = s->texture[side] + (zncc ? at : 0), .bad = s->bad[side] + at};
        p->widest->window(&s->columns, &out);
        if (zncc)
            zncc_terms(p, s, side, at);
    }
}

/* ---- census ---- */

/* The rows under the words of image row y; `held` says which rows word_row holds. */
static void rows_under_words(const SdmPairPlan *p, SdmPairScratch *s, int side, int y, int held[9],
                             const int16_t *rows[9])
{
    const int width = p->set->census_width, height = p->set->census_height;
    for (int j = 0; j < height; j++) {
        const int row = y + j - height / 2, slot = (row + height) % height;
        if (held[slot] != row)
            sdm_pair_samples(p->image[side], row, -(width / 2), p->width + width - 1, s->word_row[slot]);
        held[slot] = row;
        rows[j] = s->word_row[slot];
    }
}

/* Words of the rows of the band and its windows; beside and above the image those of the nearest pixel. */
static void words(const SdmPairPlan *p, SdmPairScratch *s, int side, int y0, int y1)
{
    const ptrdiff_t plane = s->word_plane[side], first = p->before + (side == SDM_LEFT ? 0 : p->right_first);
    const ptrdiff_t end = first + p->width;
    int held[9];
    const int16_t *rows[9];
    memset(held, 0x7F, sizeof held);
    for (int y = y0 - p->before; y < y1 + p->after; y++) {
        uint8_t *const out = s->words[side] + (y - y0 + p->before) * plane * p->planes;
        rows_under_words(p, s, side, clamp(y, 0, p->height - 1), held, rows);
        p->widest->words(rows, p->width, p->set->census_width, p->set->census_height, out + first, plane);
        for (int k = 0; k < p->planes; k++) {
            uint8_t *const at = out + k * plane;
            memset(at, at[first], (size_t)first);
            memset(at + end, at[end - 1], (size_t)(plane - end));
        }
    }
}

void sdm_pair_windows(const SdmPairPlan *p, SdmPairScratch *s, int y0, int y1)
{
    for (int side = SDM_LEFT; side <= SDM_RIGHT; side++) {
        if (p->textured || has_holes(p->image[side], y0 - p->before, y1 - 1 + p->after))
            statistics(p, s, side, y0, y1);
        else
            bound(p, s, side);
        if (p->planes > 0)
            words(p, s, side, y0, y1);
    }
}

void sdm_pair_interleave(const SdmPairPlan *p, int side, const int16_t *enters, const int16_t *leaves, int count,
                         int32_t *out)
{
    const int centre = p->image[side]->eight_bit ? 128 : 0, by = side == SDM_LEFT || p->long_zncc ? 1 : p->samples;
    const int taken = side == SDM_LEFT ? by : -by;
    for (int k = 0; k < count; k++) {
        const int a = enters[k] == SDM_PIXEL_NODATA ? 0 : enters[k] - centre;
        const int b = !leaves || leaves[k] == SDM_PIXEL_NODATA ? 0 : leaves[k] - centre;
        out[k] = halves(a * by, b * taken);
    }
}
