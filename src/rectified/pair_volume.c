/* Two rectified images -> a volume of costs of a band of rows. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/pair_parts.h"
#include "rectified/pair_volume.h"
#include "sgm_kernels.h"

#include <string.h>

enum {
    SAD_MOST = 63,
    AD_MOST = 24,
    SUM_MOST = 127,
    TAIL = 64 /* what kernels read and write beyond a row */
};

static int clamp(int v, int lo, int hi) { return v < lo ? lo : v > hi ? hi : v; }

static bool has_words(const SdmPairSettings *s)
{
    return s->cost == SDM_PAIR_CENSUS || s->cost == SDM_PAIR_AD_CENSUS;
}

static int bits_of(const SdmPairSettings *s)
{
    return has_words(s) ? s->census_width * s->census_height - 1 : 0;
}

/* The difference of two values counts so far; beside words at most half as much as they. */
static int apart_most(const SdmPairSettings *s)
{
    const int half = bits_of(s) / 2;
    return s->cost == SDM_PAIR_SAD      ? SAD_MOST
           : s->cost == SDM_PAIR_CENSUS ? 0
           : half < AD_MOST             ? half
                                        : AD_MOST;
}

/* Halvings that bring a window's sum to SUM_MOST; *most: what it is then at most. */
static int halvings(const SdmPairSettings *set, int *most)
{
    const int all = (bits_of(set) + apart_most(set)) * set->window * set->window;
    int shift = 0;
    while (all >> shift > SUM_MOST)
        shift++;
    *most = all >> shift;
    return shift;
}

SdmPairTerms sdm_pair_terms(const SdmPairSettings *set)
{
    int most;
    const int shift = halvings(set, &most);
    return (SdmPairTerms){.bits = bits_of(set), .apart_most = apart_most(set), .shift = shift};
}

void sdm_pair_volume_shape(const SdmPairSettings *set, SdmVolume *v)
{
    *v = (SdmVolume){.labels = set->dmax - set->dmin + 1, .first = -set->dmax};
    halvings(set, &v->most);
}

typedef struct Maker {
    const SdmPairImage *side[2];
    const SdmPairSettings *set;
    const SdmVolume *v;
    const SdmSgmKernels *kernels;
    int y0, shift, planes;
    size_t row;       /* width x pitch */
    int before;       /* entries of a right row before right pixel 0 */
    ptrdiff_t length; /* of a right row, and of a left one */
} Maker;

typedef struct Room { /* of a thread */
    uint8_t *word[2], *value[2]; /* planes x length, length */
    int16_t *under[9];           /* rows under the words */
    uint8_t *pixel;              /* window rows of pixel costs */
    uint16_t *column;            /* their sums */
} Room;

static size_t room_cut(const Maker *m, char *block, Room *r)
{
    const size_t length = ((size_t)m->length + 63) / 64 * 64, window = (size_t)m->set->window;
    size_t used = 0;
    for (int side = 0; side < 2; side++) {
        r->word[side] = (uint8_t *)block + used;
        used += length * (size_t)m->planes;
        r->value[side] = (uint8_t *)block + used;
        used += length;
    }
    for (int i = 0; i < 9; i++, used += length * sizeof(int16_t))
        r->under[i] = (int16_t *)(void *)(block + used);
    r->column = (uint16_t *)(void *)(block + used);
    used += window > 1 ? m->row * sizeof *r->column : 0;
    r->pixel = (uint8_t *)block + used;
    used += window > 1 ? m->row * window : 0;
    return (used + 63) / 64 * 64;
}

/* A row of `width` bytes at `first`: what lies before and after it is as its ends. */
static void extend(uint8_t *row, int first, int width, ptrdiff_t length)
{
    memset(row, row[first], (size_t)first);
    memset(row + first + width, row[first + width - 1], (size_t)(length - first - width));
}

/* Words and values of row y. */
static void describe(const Maker *m, const Room *r, int side, int y)
{
    const SdmPairImage *const im = m->side[side];
    const int first = side ? m->before : 0, width = im->width, high = m->set->census_height;
    const int16_t *const row = im->data + y * im->stride, *rows[9];
    uint8_t *const value = r->value[side];
    for (int x = 0; x < width; x++)
        value[first + x] =
            (uint8_t)(im->eight_bit ? clamp(row[x], 0, 255) : clamp(row[x] + 2048, 0, 4095) >> 4);
    extend(value, first, width, m->length);
    if (!m->planes)
        return;
    for (int j = 0; j < high; j++)
        rows[j] = sdm_pair_samples(im, y + j - high / 2, -(m->set->census_width / 2),
                                   width + m->set->census_width - 1, r->under[j]);
    for (int j = 0; j < high; j++) /* kernels read on beyond the row */
        if (rows[j] != r->under[j])
            rows[j] =
                memcpy(r->under[j], rows[j], (size_t)(width + m->set->census_width - 1) * sizeof(int16_t));
    m->kernels->words(rows, width, m->set->census_width, high, r->word[side] + first, m->length);
    for (int p = 0; p < m->planes; p++)
        extend(r->word[side] + p * m->length, first, width, m->length);
}

/* What the pixels of row y (on the image) cost. */
static void pixel_costs(const Maker *m, const Room *r, int y, uint8_t *out)
{
    const SdmVolume *const v = m->v;
    const int at = m->before + v->first;
    for (int side = 0; side < 2; side++)
        describe(m, r, side, y);
    const SdmSgmCosts c = {.width = v->width,
                           .labels = v->labels,
                           .pitch = v->pitch,
                           .planes = m->planes,
                           .left = r->word[0],
                           .right = r->word[1] + at,
                           .left_plane = m->length,
                           .right_plane = m->length,
                           .left_value = r->value[0],
                           .right_value = r->value[1] + at,
                           .apart_most = apart_most(m->set),
                           .out = out};
    m->kernels->costs(&c);
}

/* Sums over the windows of a row from the sums of their columns. */
static void sum_row(const Maker *m, const Room *r, uint8_t *out)
{
    const SdmVolume *const v = m->v;
    const int reach = m->set->window / 2;
    for (int x = 0; x < v->width; x++, out += v->pitch)
        for (int l = 0; l < v->labels; l++) {
            int sum = 0;
            for (int i = -reach; i < m->set->window - reach; i++)
                sum += r->column[(ptrdiff_t)clamp(x + i, 0, v->width - 1) * v->pitch + l];
            out[l] = (uint8_t)(sum >> m->shift);
        }
}

static bool hole(const SdmPairImage *im, int x, int y)
{
    return im->data[y * im->stride + x] == SDM_PIXEL_NODATA;
}

/* Without a way out, so that the loop is laid along vectors. */
static bool has_holes(const SdmPairImage *im, int width, int y)
{
    const int16_t *const row = im->data + y * im->stride;
    uint16_t any = 0;
    for (int x = 0; x < width; x++)
        any = (uint16_t)(any | (row[x] == SDM_PIXEL_NODATA));
    return any != 0;
}

/* Labels without a cost, those of right pixels off the image or without data, say what chance does; so do all
 * of a left pixel without data, whose neighbours thus decide. */
static void mark_missing(const Maker *m, int y, uint8_t *out)
{
    const SdmVolume *const v = m->v;
    const int chance = sdm_pair_chance(v->most);
    const bool holes = has_holes(m->side[0], v->width, y) || has_holes(m->side[1], v->width, y);
    for (int x = 0; x < v->width; x++, out += v->pitch) {
        const int first = clamp(-x - v->first, 0, v->labels),
                  end = clamp(v->width - x - v->first, first, v->labels);
        if (first > 0)
            memset(out, chance, (size_t)first);
        if (end < v->labels)
            memset(out + end, chance, (size_t)(v->labels - end));
        for (int l = first; l < end && holes; l++)
            if (hole(m->side[0], x, y) || hole(m->side[1], x + v->first + l, y))
                out[l] = (uint8_t)chance;
    }
}

static uint8_t *row_of(const Maker *m, int y) { return m->v->cost + (size_t)(y - m->y0) * m->row; }

static void make_rows(const Maker *m, const Room *r, int from, int to)
{
    const int window = m->set->window, reach = window / 2, height = m->side[0]->height;
    for (int y = from; y < to && window == 1; y++) {
        pixel_costs(m, r, y, row_of(m, y));
        mark_missing(m, y, row_of(m, y));
    }
    if (window == 1)
        return;
    memset(r->column, 0, m->row * sizeof *r->column);
    for (int y = from - reach; y < to - reach + window - 1; y++) { /* row y enters */
        uint8_t *const slot = r->pixel + (size_t)((y + window) % window) * m->row;
        const int made = y - (window - 1 - reach);
        for (size_t i = 0; i < m->row && y >= from - reach + window; i++)
            r->column[i] = (uint16_t)(r->column[i] - slot[i]);
        pixel_costs(m, r, clamp(y, 0, height - 1), slot);
        for (size_t i = 0; i < m->row; i++)
            r->column[i] = (uint16_t)(r->column[i] + slot[i]);
        if (made >= from) {
            sum_row(m, r, row_of(m, made));
            mark_missing(m, made, row_of(m, made));
        }
    }
}

SdmStatus sdm_pair_volume(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                          const SdmPairSettings *set, int y0, const SdmVolume *v)
{
    SdmStatus st = SDM_OK;
    const int before = v->first < 0 ? -v->first : 0,
              after = clamp(v->first, 0, INT32_MAX) + v->pitch + 2 * TAIL;
    Maker m = {.side = {left, right},
               .set = set,
               .v = v,
               .kernels = sdm_sgm_kernels_at(set->cpu_level),
               .y0 = y0,
               .planes = (bits_of(set) + 7) / 8,
               .row = (size_t)v->width * (size_t)v->pitch,
               .before = before,
               .length = (ptrdiff_t)before + v->width + after};
    const int threads = sdm_threads(ctx);
    Room none;
    const size_t bytes = room_cut(&m, NULL, &none);
    char *block = NULL;
    int most;
    m.shift = halvings(set, &most);
    TRY(sdm_alloc(ctx, &block, bytes, (size_t)threads, "costs of rows"));
#pragma omp parallel for schedule(static) num_threads(threads)
    for (int t = 0; t < threads; t++) {
        Room r;
        room_cut(&m, block + bytes * (size_t)t, &r);
        make_rows(&m, &r, y0 + (int)((int64_t)v->height * t / threads),
                  y0 + (int)((int64_t)v->height * (t + 1) / threads));
    }
done:
    sdm_free(&block);
    return st;
}
