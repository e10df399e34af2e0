/* What matching needs of single images, a band of rows at a time: samples with the image's edges repeated,
 * where windows have no cost, their sums and textures, census words. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/pair_parts.h"

#include <string.h>

static int clamp(int v, int lo, int hi) { return v < lo ? lo : v > hi ? hi : v; }

const int16_t *sdm_pair_samples(const SdmPairImage *im, int y, int x, int count, int16_t *room)
{
    const int16_t *const row = im->data + clamp(y, 0, im->height - 1) * im->stride;
    if (x >= 0 && x + count <= im->width)
        return row + x;
    const int first = clamp(-x, 0, count),
              last = clamp(im->width - x, first, count); /* first..last - 1 lie inside */
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
    uint16_t holes = 0;
    for (int y = clamp(y0, 0, im->height - 1); y <= clamp(y1, 0, im->height - 1) && !holes; y++) {
        const int16_t *const row = im->data + y * im->stride;
        for (int x = 0; x < im->width; x++)
            holes = (uint16_t)(holes | (row[x] == SDM_PIXEL_NODATA));
    }
    return holes != 0;
}

/* A row of `bad` without statistics: only the columns off the image. */
static void bound(const SdmPairPlan *p, SdmPairScratch *s, int side)
{
    s->bad_stride[side] = 0;
    memset(s->bad[side], side == SDM_RIGHT, (size_t)(side == SDM_RIGHT ? p->right_length : p->width));
    memset(s->bad[side] + (side == SDM_RIGHT ? p->right_first : 0), 0, (size_t)p->width);
}

static int32_t halves(int32_t low, int32_t high)
{
    return (int32_t)((uint32_t)low & 0xFFFF) | (int32_t)((uint32_t)high << 16);
}

/* Products that take the means off a window's sum of products: see SdmPairRow and cpu/pair_reference.c. */
static void short_terms(const SdmPairPlan *p, SdmPairScratch *s, int side)
{
    for (int x = 0; x < p->width; x++)
        s->row_terms[0][x] = (side == SDM_LEFT ? -s->sum[x] : s->sum[x]) & 0xFFFF;
}

/* n ma mb + ma rb + mb ra in 16-bit factors: n = 16 (u + v) + w, u and v at most 16:
 * 16 ma u mb + 16 ma v mb + ma (w mb + rb) + ra mb. */
static void long_terms(const SdmPairPlan *p, SdmPairScratch *s, int side)
{
    const int n = p->samples, u = n / 16 < 16 ? n / 16 : 16, v = n / 16 - u, w = n % 16;
    const float scale = side == SDM_LEFT ? 1.0f / (float)n : 1.0f;
    for (int x = 0; x < p->width; x++) {
        const int32_t sum = s->sum[x];
        const int32_t m = (int32_t)((float)(2 * sum + n + 8192 * n) / (float)(2 * n)) - 4096, r = sum - n * m;
        s->row_terms[0][x] = side == SDM_LEFT ? halves(-16 * m, -16 * m) : halves(u * m, v * m);
        s->row_terms[1][x] = side == SDM_LEFT ? halves(-m, -r) : halves(w * m + r, m);
        s->row_rest[x] = (float)r * scale;
    }
}

/* A row in order into a row of the band; that of the right image in halves. */
static void lay(const SdmPairPlan *p, int side, const void *from, ptrdiff_t row, void *into)
{
    const int32_t *const in = from;
    if (side == SDM_LEFT) {
        memcpy((int32_t *)into + row * p->width, in, (size_t)p->width * sizeof *in);
        return;
    }
    for (int parity = 0; parity < 2; parity++) {
        const int first = (int)((p->right_first + parity) & 1); /* x_right of that parity of place */
        int32_t *const out = (int32_t *)into + row * p->right_length + parity * (p->right_length / 2) +
                             (p->right_first + first) / 2;
        for (int i = 0; first + 2 * i < p->width; i++)
            out[i] = in[first + 2 * i];
    }
}

static void zncc_terms(const SdmPairPlan *p, SdmPairScratch *s, int side, ptrdiff_t row)
{
    if (p->long_zncc)
        long_terms(p, s, side);
    else
        short_terms(p, s, side);
    for (int x = 0; x < p->width && side == SDM_LEFT; x++)
        s->row_texture[x] *= (float)SDM_PAIR_ZNCC_ONE;
    for (int x = 0; x < p->width && side == SDM_LEFT && p->long_zncc; x++)
        s->row_texture[x] *= (float)p->samples;
    lay(p, side, s->row_texture, row, s->texture[side]);
    lay(p, side, s->row_terms[0], row, s->terms[side][0]);
    if (p->long_zncc) {
        lay(p, side, s->row_terms[1], row, s->terms[side][1]);
        lay(p, side, s->row_rest, row, s->rest[side]);
    }
}

/* Statistics of the windows of rows y0..y1 - 1. */
static void statistics(const SdmPairPlan *p, SdmPairScratch *s, int side, int y0, int y1)
{
    const SdmPairImage *const im = p->image[side];
    const int count = p->width + p->window - 1;
    const ptrdiff_t first = side == SDM_LEFT ? 0 : p->right_first,
                    length = side == SDM_LEFT ? p->width : p->right_length;
    s->bad_stride[side] = length;
    memset(s->bad[side], 1, (size_t)(length * (y1 - y0)));
    int32_t *const all[] = {s->columns.sum, s->columns.squares, s->columns.holes};
    for (int i = 0; i < 3; i++)
        memset(all[i], 0, (size_t)count * sizeof(int32_t));
    for (int y = y0 - p->before; y < y1 + p->after; y++) { /* row y enters */
        const int16_t *const add = sdm_pair_samples(im, y, -p->before, count, s->row[0]);
        const bool full = y >= y0 - p->before + p->window;
        const ptrdiff_t row = y - p->after - y0;
        p->widest->columns(&s->columns, add,
                           full ? sdm_pair_samples(im, y - p->window, -p->before, count, s->row[1]) : NULL,
                           count, im->eight_bit ? 128 : 0);
        if (row < 0)
            continue;
        const SdmPairWindowRow out = {.pixels = p->width,
                                      .window = p->window,
                                      .least = p->textured ? p->set->min_sigma * (float)p->samples : -1.0f,
                                      .sum = s->sum,
                                      .texture = s->row_texture,
                                      .bad = s->bad[side] + row * length + first};
        p->widest->window(&s->columns, &out);
        if (p->set->cost == SDM_PAIR_ZNCC)
            zncc_terms(p, s, side, row);
    }
}

/* ---- samples or census words as bytes ---- */

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

/* Bytes of the rows of the band and its windows; beside and above the image those of the nearest pixel. */
static void bytes(const SdmPairPlan *p, SdmPairScratch *s, int side, int y0, int y1)
{
    const SdmPairImage *const im = p->image[side];
    const ptrdiff_t plane = s->plane[side], first = p->before + (side == SDM_LEFT ? 0 : p->right_first);
    const ptrdiff_t end = first + p->width;
    int held[9];
    const int16_t *rows[9];
    memset(held, 0x7F, sizeof held);
    for (int y = y0 - p->before; y < y1 + p->after; y++) {
        uint8_t *const out = s->bytes[side] + (y - y0 + p->before) * plane * p->planes;
        const int row = clamp(y, 0, p->height - 1);
        if (p->set->cost == SDM_PAIR_CENSUS) {
            rows_under_words(p, s, side, row, held, rows);
            p->widest->words(rows, p->width, p->set->census_width, p->set->census_height, out + first, plane);
        } else {
            p->widest->bytes(im->data + row * im->stride, p->width, out + first);
        }
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
            bytes(p, s, side, y0, y1);
    }
}

void sdm_pair_interleave(const SdmPairPlan *p, int side, const int16_t *enters, const int16_t *leaves,
                         int count, int32_t *out)
{
    const int centre = p->image[side]->eight_bit ? 128 : 0,
              by = side == SDM_LEFT || p->long_zncc ? 1 : p->samples;
    const int taken = side == SDM_LEFT ? by : -by;
    for (int k = 0; k < count; k++) {
        const int a = enters[k] == SDM_PIXEL_NODATA ? 0 : enters[k] - centre;
        const int b = !leaves || leaves[k] == SDM_PIXEL_NODATA ? 0 : leaves[k] - centre;
        out[k] = halves(a * by, b * taken);
    }
}
