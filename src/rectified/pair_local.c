/* Two rectified images -> disparities, the best of each pixel: bands of rows, in them strips of columns
 * whose sums stay in cache, in them chunks of disparities; then the left-right check. */
// SPDX-License-Identifier: Apache-2.0
#include "core/arena.h"
#include "core/math.h"
#include "core/vector_loops.h"
#include "instruction_set.h"
#include "rectified/pair.h"

#include <string.h>

/* Disparities that a kernel takes at once: d_low .. d_top; the lowest `count` are searched. */
typedef struct Chunk {
    const SdmPairKernels *kernels;
    int d_low, d_top, count;
} Chunk;

/* A pair, and how its matching is cut. */
typedef struct Match {
    const SdmPairImage *image[2];
    const SdmPairSettings *set;
    const SdmCpuLevel *level;
    int width, height, window, samples; /* samples: of a window */
    int before, after;                  /* reach of the window: columns and rows -before..after */
    const SdmPairKernels *widest;
    int chunk_count;
    int band_rows, strip_pixels;
    bool wide_sums;                      /* column sums have 32 bits, else 16 */
    bool long_zncc;                      /* covariances do not fit 32 bits */
    int shift;                           /* halvings that bring sums of SAD to 16 bits */
    int planes;                          /* bytes of a sample (SAD of 8 bits) or of a census word; 0: other
                                          * cost */
    bool textured;                       /* windows without texture have no cost */
    bool in_place;                       /* the sink has an array */
    ptrdiff_t right_first, right_length; /* of right rows: place of x_right = 0, number of entries */
} Match;

/* Scratch of a thread.  A "left row" has `width` entries, a "right row" right_length, so that every x - d of
 * every lane has a place: x_right stands at right_first + x_right. */
typedef struct Scratch {
    float *disparity, *band;     /* of the band's rows: where the match goes; room for them */
    uint16_t *left_d;            /* band_rows left rows: winners */
    uint32_t *right_best;        /* band_rows right rows, as in SdmPairRow */
    uint8_t *bad[2];             /* band_rows rows, or one where all rows are the same */
    ptrdiff_t bad_stride[2];     /* entries from row to row; 0: one row */
    int32_t *terms[2][2];        /* ZNCC: band_rows rows, as in SdmPairRow, right ones in halves */
    float *texture[2], *rest[2]; /* alike */
    SdmPairColumns columns;      /* of the windows */
    int32_t *sum, *row_terms[2]; /* a row of windows, in order */
    float *row_texture, *row_rest;
    uint8_t *bytes[2];             /* rows of the band and of its windows, `planes` planes each */
    ptrdiff_t plane[2];            /* bytes from plane to plane */
    void *sums;                    /* column sums of a strip */
    uint8_t *distances;            /* of a strip, the rows of a window */
    int16_t *word_row[9];          /* samples of the rows under the words, with those beside the image */
    int16_t *row[4];               /* samples that enter and leave: left, right */
    int32_t *pairs[2], *row_pairs; /* right ones in halves, pairs_odd apart; a right row in order */
    ptrdiff_t pairs_odd;
    uint16_t *lane_bad, *lane_d;
    uint16_t *all, *chunk; /* winners of a strip: of all chunks so far, band_rows rows; of one, a
                                   * row */
} Scratch;

/* ---- how a pair is cut ---- */

enum {
    SUMS_BYTES = 40 << 10,
    STRIP_LEAST = 48,
    BAND_LEAST = 24,
    BAND_MOST = 128,
    BAND_ZNCC = 64 /* of which each pixel has 16 bytes of terms and textures, which shall stay in cache */
};

static void plan_cost(Match *m)
{
    const SdmPairSettings *const set = m->set;
    const bool eight_bit = m->image[SDM_PAIR_LEFT]->eight_bit;
    const bool narrow = set->cost == SDM_PAIR_SAD && eight_bit && m->samples * 255 < SDM_PAIR_NONE;
    const int most = m->samples * (eight_bit ? 255 : 4094);
    m->textured = set->cost == SDM_PAIR_ZNCC || set->min_sigma > 0.0f;
    if (set->cost == SDM_PAIR_CENSUS)
        m->planes = (set->census_width * set->census_height + 6) / 8;
    if (narrow)
        m->planes = 1;
    m->wide_sums = m->planes == 0;
    m->long_zncc = set->cost == SDM_PAIR_ZNCC && !(eight_bit && m->samples <= 225);
    while (set->cost == SDM_PAIR_SAD && most >> m->shift >= SDM_PAIR_NONE)
        m->shift++;
}

static void lay_out(Match *m, int threads)
{
    const SdmPairSettings *const set = m->set;
    m->width = m->image[SDM_PAIR_LEFT]->width;
    m->height = m->image[SDM_PAIR_LEFT]->height;
    m->window = set->window;
    m->samples = set->window * set->window;
    m->before = set->window / 2;
    m->after = set->window - 1 - m->before;
    m->level = sdm_cpu_level(set->cpu_level);
    m->widest = sdm_pair_kernels(m->level, SDM_PAIR_LANES_MAX);
    plan_cost(m);
    int top = set->dmin - 1;
    for (; top < set->dmax; m->chunk_count++)
        top += sdm_pair_kernels(m->level, set->dmax - top)->lanes;
    m->right_first = top > 0 ? top : 0;
    m->right_length = m->right_first + m->width + (set->dmin < 0 ? -set->dmin : 0);
    m->right_length = (m->right_length + 2 * SDM_PAIR_LANES_MAX) / 128 * 128 + 128;
    const int column_bytes = m->widest->lanes * (m->wide_sums ? 4 : 2);
    m->strip_pixels = sdm_clamp(SUMS_BYTES / column_bytes - (m->window - 1), STRIP_LEAST, SDM_PAIR_STRIP - 2);
    const int strips = (m->width + m->strip_pixels - 1) / m->strip_pixels;
    m->strip_pixels = (m->width + strips - 1) / strips;
    m->band_rows = sdm_clamp(m->height / (4 * threads) / SDM_PAIR_ROWS * SDM_PAIR_ROWS, BAND_LEAST,
                             set->cost == SDM_PAIR_ZNCC ? BAND_ZNCC : BAND_MOST);
}

static Chunk chunk_at(const Match *m, int index)
{
    Chunk c = {.d_low = m->set->dmin};
    for (int i = 0;; i++) {
        const int left = m->set->dmax - c.d_low + 1;
        c.kernels = sdm_pair_kernels(m->level, left);
        c.count = left < c.kernels->lanes ? left : c.kernels->lanes;
        c.d_top = c.d_low + c.kernels->lanes - 1;
        if (i == index)
            return c;
        c.d_low += c.kernels->lanes;
    }
}

/* Kernels may read a vector's bytes beyond an array. */
static void *take(SdmArena *arena, ptrdiff_t count, size_t size)
{
    return sdm_arena_take(arena, (size_t)count * size + 64, 1);
}

static void take_zncc(const Match *m, SdmArena *arena, Scratch *s, int side, ptrdiff_t count)
{
    for (int i = 0; i < 2; i++)
        s->terms[side][i] = take(arena, i == 0 || m->long_zncc ? count : 0, sizeof(int32_t));
    s->texture[side] = take(arena, count, sizeof(float));
    s->rest[side] = take(arena, m->long_zncc ? count : 0, sizeof(float));
}

static void take_windows(const Match *m, SdmArena *arena, Scratch *s)
{
    const int padded = m->width + m->window - 1;
    const ptrdiff_t length[2] = {m->width, m->right_length};
    for (int side = 0; side < 2; side++) {
        const ptrdiff_t count = length[side] * m->band_rows;
        s->bad[side] = take(arena, count, 1);
        s->plane[side] = (length[side] + m->window + 63) / 64 * 64 + 64;
        s->bytes[side] = take(arena, s->plane[side] * m->planes * (m->band_rows + m->window - 1), 1);
        take_zncc(m, arena, s, side, m->set->cost == SDM_PAIR_ZNCC ? count : 0);
    }
    int32_t **const rows[] = {&s->columns.sum, &s->columns.squares, &s->columns.holes,
                              &s->sum,         &s->row_terms[0],    &s->row_terms[1]};
    for (int i = 0; i < 6; i++)
        *rows[i] = take(arena, padded, sizeof(int32_t));
    s->row_texture = take(arena, padded, sizeof(float));
    s->row_rest = take(arena, padded, sizeof(float));
}

static void take_scratch(const Match *m, SdmArena *arena, Scratch *s)
{
    const ptrdiff_t columns = m->strip_pixels + m->window - 1, lanes = SDM_PAIR_LANES_MAX;
    const ptrdiff_t longest =
        (columns + lanes > m->width + m->window ? columns + lanes : m->width + m->window) + 128;
    *s = (Scratch){0};
    s->band = take(arena, m->in_place ? 0 : (ptrdiff_t)m->width * m->band_rows, sizeof(float));
    s->left_d = take(arena, (ptrdiff_t)m->width * m->band_rows, sizeof(uint16_t));
    s->right_best = take(arena, m->right_length * m->band_rows, sizeof(uint32_t));
    take_windows(m, arena, s);
    s->sums = take(arena, columns * lanes, sizeof(int32_t));
    s->distances = take(arena, m->planes > 1 ? columns * lanes * m->window : 0, 1);
    for (int i = 0; i < 9 && m->planes > 1; i++)
        s->word_row[i] = take(arena, longest, sizeof(int16_t));
    for (int i = 0; i < 4; i++)
        s->row[i] = take(arena, longest, sizeof(int16_t));
    s->pairs_odd = (columns + lanes) / 2 + 64;
    for (int i = 0; i < 2; i++)
        s->pairs[i] = take(arena, 2 * s->pairs_odd, sizeof(int32_t));
    s->row_pairs = take(arena, columns + lanes, sizeof(int32_t));
    s->lane_bad = take(arena, lanes, sizeof(uint16_t));
    s->lane_d = take(arena, lanes, sizeof(uint16_t));
    s->all = take(arena, 2 + SDM_PAIR_STRIP * SDM_PAIR_FIELDS * (m->chunk_count > 1 ? m->band_rows : 1),
                  sizeof(uint16_t));
    s->chunk = take(arena, 2 + SDM_PAIR_STRIP * SDM_PAIR_FIELDS, sizeof(uint16_t));
}

/* ---- windows of one image: statistics, samples, census words ---- */

/* One row of `bad` for all rows: only pixels off the image have no cost. */
static void mark_outside(const Match *m, Scratch *s, int side)
{
    const bool right = side == SDM_PAIR_RIGHT;
    s->bad_stride[side] = 0;
    memset(s->bad[side], right, (size_t)(right ? m->right_length : m->width));
    memset(s->bad[side] + (right ? m->right_first : 0), 0, (size_t)m->width);
}

/* Two 16-bit factors in one word. */
static int32_t halves(int32_t low, int32_t high)
{
    return (int32_t)((uint32_t)low & 0xFFFF) | (int32_t)((uint32_t)high << 16);
}

/* Factors of the products that take the means out of a window's sum of products, where the covariance fits 32
 * bits: see SdmPairRow and zncc_at() of cpu/pair_reference.c. */
SDM_VECTOR_LOOPS static void short_terms(const Match *m, Scratch *s, int side)
{
    const int32_t *restrict const sum = s->sum;
    int32_t *restrict const terms = s->row_terms[0];
    const int sign = side == SDM_PAIR_LEFT ? -1 : 1;
    for (int x = 0; x < m->width; x++)
        terms[x] = sign * sum[x] & 0xFFFF;
}

/* The same where it does not: n ma mb + ma rb + mb ra in 16-bit factors.  With n = 16 (u + v) + w, u and v at
 * most 16, it is 16 ma u mb + 16 ma v mb + ma (w mb + rb) + ra mb. */
SDM_VECTOR_LOOPS static void long_terms(const Match *m, Scratch *s, int side)
{
    const int n = m->samples, u = n / 16 < 16 ? n / 16 : 16, v = n / 16 - u, w = n % 16;
    const float scale = side == SDM_PAIR_LEFT ? 1.0f / (float)n : 1.0f;
    for (int x = 0; x < m->width; x++) {
        const int32_t sum = s->sum[x];
        const int32_t mean = (int32_t)((float)(2 * sum + n + 8192 * n) / (float)(2 * n)) - 4096;
        const int32_t r = sum - n * mean;
        s->row_terms[0][x] =
            side == SDM_PAIR_LEFT ? halves(-16 * mean, -16 * mean) : halves(u * mean, v * mean);
        s->row_terms[1][x] = side == SDM_PAIR_LEFT ? halves(-mean, -r) : halves(w * mean + r, mean);
        s->row_rest[x] = (float)r * scale;
    }
}

/* Every second one of the numbers. */
SDM_VECTOR_LOOPS static void take_seconds(const int32_t *restrict in, int count, int32_t *restrict out)
{
    for (int i = 0; i < count; i++)
        out[i] = in[2 * i];
}

/* Copy a row of windows into row `row` of the band.  Right rows hold the entries of even place first. */
static void store_row(const Match *m, int side, const void *from, ptrdiff_t row, void *into)
{
    const int32_t *const in = from;
    if (side == SDM_PAIR_LEFT) {
        memcpy((int32_t *)into + row * m->width, in, (size_t)m->width * sizeof *in);
        return;
    }
    for (int parity = 0; parity < 2; parity++) {
        const int first = (int)((m->right_first + parity) & 1); /* x_right of that parity of place */
        int32_t *const out = (int32_t *)into + row * m->right_length + parity * (m->right_length / 2) +
                             (m->right_first + first) / 2;
        take_seconds(in + first, (m->width - first + 1) / 2, out);
    }
}

SDM_VECTOR_LOOPS static void scale_row(float by, int count, float *row)
{
    for (int x = 0; x < count; x++)
        row[x] *= by;
}

static void zncc_terms(const Match *m, Scratch *s, int side, ptrdiff_t row)
{
    if (m->long_zncc)
        long_terms(m, s, side);
    else
        short_terms(m, s, side);
    if (side == SDM_PAIR_LEFT)
        scale_row((float)SDM_PAIR_ZNCC_ONE, m->width, s->row_texture);
    if (side == SDM_PAIR_LEFT && m->long_zncc)
        scale_row((float)m->samples, m->width, s->row_texture);
    store_row(m, side, s->row_texture, row, s->texture[side]);
    store_row(m, side, s->row_terms[0], row, s->terms[side][0]);
    if (m->long_zncc) {
        store_row(m, side, s->row_terms[1], row, s->terms[side][1]);
        store_row(m, side, s->row_rest, row, s->rest[side]);
    }
}

/* Statistics of the windows of rows y0..y1 - 1. */
static void find_statistics(const Match *m, Scratch *s, int side, int y0, int y1)
{
    const SdmPairImage *const im = m->image[side];
    const int count = m->width + m->window - 1;
    const ptrdiff_t first = side == SDM_PAIR_LEFT ? 0 : m->right_first,
                    length = side == SDM_PAIR_LEFT ? m->width : m->right_length;
    s->bad_stride[side] = length;
    memset(s->bad[side], 1, (size_t)(length * (y1 - y0)));
    const bool zncc = m->set->cost == SDM_PAIR_ZNCC,
               holes = sdm_pair_has_holes(im, y0 - m->before, y1 - 1 + m->after);
    const SdmPairColumns columns = {s->columns.sum, s->columns.squares, holes ? s->columns.holes : NULL};
    const float n_sigma = m->set->min_sigma * (float)m->samples;
    int32_t *const all[] = {s->columns.sum, s->columns.squares, s->columns.holes};
    for (int i = 0; i < 3; i++)
        memset(all[i], 0, (size_t)count * sizeof(int32_t));
    for (int y = y0 - m->before; y < y1 + m->after; y++) { /* row y enters */
        const int16_t *const add = sdm_pair_samples(im, y, -m->before, count, s->row[0]);
        const bool full = y >= y0 - m->before + m->window;
        const ptrdiff_t row = y - m->after - y0;
        m->widest->columns(&columns, add,
                           full ? sdm_pair_samples(im, y - m->window, -m->before, count, s->row[1]) : NULL,
                           count, im->eight_bit ? 128 : 0);
        if (row < 0)
            continue;
        const SdmPairWindowRow out = {.pixels = m->width,
                                      .window = m->window,
                                      .most = im->eight_bit ? 128 : 2047,
                                      .flat = m->textured ? n_sigma * n_sigma : -1.0f,
                                      .sum = zncc ? s->sum : NULL,
                                      .texture = zncc ? s->row_texture : NULL,
                                      .bad = s->bad[side] + row * length + first};
        m->widest->window(&columns, &out);
        if (zncc)
            zncc_terms(m, s, side, row);
    }
}

/* Rows of samples for the census words of row y; `held`: which rows word_row holds. */
static void rows_under_words(const Match *m, Scratch *s, int side, int y, int held[9], const int16_t *rows[9])
{
    const int width = m->set->census_width, height = m->set->census_height;
    for (int j = 0; j < height; j++) {
        const int row = y + j - height / 2, slot = (row + height) % height;
        if (held[slot] != row)
            sdm_pair_samples(m->image[side], row, -(width / 2), m->width + width - 1, s->word_row[slot]);
        held[slot] = row;
        rows[j] = s->word_row[slot];
    }
}

/* Samples or census words of the rows of the band and of its windows; off the image the nearest pixel's. */
static void fill_bytes(const Match *m, Scratch *s, int side, int y0, int y1)
{
    const SdmPairImage *const im = m->image[side];
    const ptrdiff_t plane = s->plane[side], first = m->before + (side == SDM_PAIR_LEFT ? 0 : m->right_first);
    const ptrdiff_t end = first + m->width;
    int held[9];
    const int16_t *rows[9];
    memset(held, 0x7F, sizeof held);
    for (int y = y0 - m->before; y < y1 + m->after; y++) {
        uint8_t *const out = s->bytes[side] + (y - y0 + m->before) * plane * m->planes;
        const int row = sdm_clamp(y, 0, m->height - 1);
        if (m->set->cost == SDM_PAIR_CENSUS) {
            rows_under_words(m, s, side, row, held, rows);
            m->widest->words(rows, m->width, m->set->census_width, m->set->census_height, out + first, plane);
        } else if (im->bytes) {
            memcpy(out + first, im->bytes + row * im->stride, (size_t)m->width);
        } else {
            m->widest->bytes(im->data + row * im->stride, m->width, out + first);
        }
        for (int k = 0; k < m->planes; k++) {
            uint8_t *const at = out + k * plane;
            memset(at, at[first], (size_t)first);
            memset(at + end, at[end - 1], (size_t)(plane - end));
        }
    }
}

/* Statistics and samples of each image for the costs of rows y0..y1 - 1. */
static void prepare_band(const Match *m, Scratch *s, int y0, int y1)
{
    for (int side = 0; side < 2; side++) {
        if (m->textured || sdm_pair_has_holes(m->image[side], y0 - m->before, y1 - 1 + m->after))
            find_statistics(m, s, side, y0, y1);
        else
            mark_outside(m, s, side);
        if (m->planes > 0)
            fill_bytes(m, s, side, y0, y1);
    }
}

/* Samples about the centre times their factors: entering ones in the low halves, leaving ones in the high
 * halves. */
SDM_VECTOR_LOOPS static void make_pairs(const int16_t *restrict enters, const int16_t *restrict leaves,
                                        int centre, const int by[2], int count, int32_t *restrict out)
{
    const int low = by[0], high = by[1];
    for (int k = 0; k < count; k++) {
        const int a = enters[k] == SDM_PIXEL_NODATA ? 0 : enters[k] - centre;
        const int b = leaves[k] == SDM_PIXEL_NODATA ? 0 : leaves[k] - centre;
        out[k] = halves(a * low, b * high);
    }
}

/* The same as ZNCC takes them; leaves NULL: none do. */
static void interleave(const Match *m, int side, const int16_t *enters, const int16_t *leaves, int count,
                       int32_t *out)
{
    const int centre = m->image[side]->eight_bit ? 128 : 0,
              by = side == SDM_PAIR_LEFT || m->long_zncc ? 1 : m->samples;
    const int factors[2] = {by, !leaves ? 0 : side == SDM_PAIR_LEFT ? by : -by};
    make_pairs(enters, leaves ? leaves : enters, centre, factors, count, out);
}

/* ---- strips, chunks, rows ---- */

/* Columns x0..x1 - 1 of rows y0..y1 - 1, and the chunk that is being matched. */
typedef struct Strip {
    const Match *match;
    Scratch *scratch;
    Chunk chunk;
    int index; /* of the chunk */
    int x0, x1, y0, y1;
    SdmPairRow row;
} Strip;

static sdm_pair_row_fn *kernel_of(const Strip *t)
{
    const SdmPairKernels *const k = t->chunk.kernels;
    switch (t->match->set->cost) {
    case SDM_PAIR_ZNCC:
        return k->zncc;
    case SDM_PAIR_CENSUS:
        return k->census;
    default:
        return t->match->wide_sums ? k->sad32 : k->sad8;
    }
}

/* Place in a right row that lane 0 meets at pixel x0. */
static ptrdiff_t right_place(const Strip *t)
{
    return t->x0 - t->chunk.d_top + t->match->right_first;
}

static void begin_chunk(Strip *t)
{
    const Match *const m = t->match;
    const int lanes = t->chunk.kernels->lanes, columns = t->x1 - t->x0 + m->window - 1;
    for (int j = 0; j < lanes; j++) {
        const int d = t->chunk.d_top - j;
        const int place = j % 2 * (lanes / 2) + j / 2;
        t->scratch->lane_d[place] = (uint16_t)(d - m->set->dmin);
        t->scratch->lane_bad[place] = d > m->set->dmax ? SDM_PAIR_NONE : 0;
    }
    memset(t->scratch->sums, 0, (size_t)(columns * lanes) * (m->wide_sums ? 4 : 2));
    if (m->planes > 1)
        memset(t->scratch->distances, 0, (size_t)(columns * lanes * m->window));
    t->row = (SdmPairRow){.pixels = t->x1 - t->x0,
                          .window = m->window,
                          .columns = columns,
                          .shift = m->shift,
                          .sums = t->scratch->sums,
                          .lane_d = t->scratch->lane_d,
                          .planes = m->planes,
                          .unique = m->set->uniqueness > 0.0f,
                          .seams = m->chunk_count > 1,
                          .left_plane = t->scratch->plane[SDM_PAIR_LEFT],
                          .right_plane = t->scratch->plane[SDM_PAIR_RIGHT],
                          .lane_bad = t->scratch->lane_bad,
                          .right_at = right_place(t),
                          .right_odd = m->right_length / 2,
                          .pairs_odd = t->scratch->pairs_odd};
}

/* Bytes of row `step`, counted from the first one of the band's windows; zeros before it. */
static const uint8_t *bytes_of(const Strip *t, int side, int step)
{
    const Scratch *const s = t->scratch;
    if (step < 0)
        return (const uint8_t *)s->row[2 + side];
    return s->bytes[side] + step * t->match->planes * s->plane[side] +
           (side == SDM_PAIR_LEFT ? t->x0 : right_place(t));
}

static void set_bytes(Strip *t, int step)
{
    const int window = t->match->window, lanes = t->chunk.kernels->lanes;
    t->row.left_bytes = bytes_of(t, SDM_PAIR_LEFT, step);
    t->row.right_bytes = bytes_of(t, SDM_PAIR_RIGHT, step);
    t->row.left_leaving = bytes_of(t, SDM_PAIR_LEFT, step - window);
    t->row.right_leaving = bytes_of(t, SDM_PAIR_RIGHT, step - window);
    t->row.distances = t->scratch->distances + (ptrdiff_t)(step % window) * t->row.columns * lanes;
}

static void set_pairs(Strip *t, const int16_t *const rows[2][2], const int counts[2])
{
    Scratch *const s = t->scratch;
    interleave(t->match, SDM_PAIR_LEFT, rows[SDM_PAIR_LEFT][0], rows[SDM_PAIR_LEFT][1], counts[SDM_PAIR_LEFT],
               s->pairs[SDM_PAIR_LEFT]);
    interleave(t->match, SDM_PAIR_RIGHT, rows[SDM_PAIR_RIGHT][0], rows[SDM_PAIR_RIGHT][1],
               counts[SDM_PAIR_RIGHT], s->row_pairs);
    take_seconds(s->row_pairs, (counts[SDM_PAIR_RIGHT] + 1) / 2,
                 s->pairs[SDM_PAIR_RIGHT]); /* of even place */
    take_seconds(s->row_pairs + 1, counts[SDM_PAIR_RIGHT] / 2, s->pairs[SDM_PAIR_RIGHT] + s->pairs_odd);
    t->row.left_pairs = s->pairs[SDM_PAIR_LEFT];
    t->row.right_pairs = s->pairs[SDM_PAIR_RIGHT];
}

/* The rows that enter and leave the windows when row y enters, which may lie off the image. */
static void set_rows(Strip *t, int y)
{
    const Match *const m = t->match;
    Scratch *const s = t->scratch;
    const int lanes = t->chunk.kernels->lanes, step = y - (t->y0 - m->before), left = t->x0 - m->before;
    const int counts[2] = {t->row.columns, t->row.columns + lanes - 1},
              columns[2] = {left, left - t->chunk.d_top};
    const int16_t *rows[2][2];
    if (m->planes > 0) {
        set_bytes(t, step);
        return;
    }
    for (int side = 0; side < 2; side++) {
        const SdmPairImage *const im = m->image[side];
        rows[side][0] = sdm_pair_samples(im, y, columns[side], counts[side], s->row[side]);
        rows[side][1] = NULL;
        if (step >= m->window)
            rows[side][1] =
                sdm_pair_samples(im, y - m->window, columns[side], counts[side], s->row[2 + side]);
        else if (m->set->cost == SDM_PAIR_SAD)
            rows[side][1] = memset(s->row[2 + side], 0, (size_t)counts[side] * sizeof(int16_t));
    }
    if (m->set->cost == SDM_PAIR_ZNCC)
        set_pairs(t, (const int16_t *const(*)[2])rows, counts);
    t->row.left_new = rows[SDM_PAIR_LEFT][0], t->row.left_old = rows[SDM_PAIR_LEFT][1];
    t->row.right_new = rows[SDM_PAIR_RIGHT][0], t->row.right_old = rows[SDM_PAIR_RIGHT][1];
}

static void set_terms(Strip *t, ptrdiff_t row)
{
    const Match *const m = t->match;
    const Scratch *const s = t->scratch;
    const ptrdiff_t left = row * m->width + t->x0, right = row * m->right_length;
    for (int i = 0; i < 2; i++) {
        t->row.left_terms[i] = s->terms[SDM_PAIR_LEFT][i] + left;
        t->row.right_terms[i] = s->terms[SDM_PAIR_RIGHT][i] + right;
    }
    t->row.left_texture = s->texture[SDM_PAIR_LEFT] + left;
    t->row.right_texture = s->texture[SDM_PAIR_RIGHT] + right;
    t->row.left_rest = m->long_zncc ? s->rest[SDM_PAIR_LEFT] + left : NULL;
    t->row.right_rest = m->long_zncc ? s->rest[SDM_PAIR_RIGHT] + right : NULL;
}

/* Say where pixels or lanes have no cost, if any has none. */
static void set_bad(Strip *t, ptrdiff_t row)
{
    const Scratch *const s = t->scratch;
    const uint8_t *const left = s->bad[SDM_PAIR_LEFT] + row * s->bad_stride[SDM_PAIR_LEFT] + t->x0;
    const uint8_t *const right =
        s->bad[SDM_PAIR_RIGHT] + row * s->bad_stride[SDM_PAIR_RIGHT] + right_place(t);
    const int lanes = t->chunk.kernels->lanes;
    const bool any = t->chunk.count < lanes || memchr(left, 1, (size_t)t->row.pixels) ||
                     memchr(right, 1, (size_t)(t->row.pixels + lanes - 1));
    t->row.left_bad = any ? left : NULL;
    t->row.right_bad = any ? right : NULL;
}

static void finish_row(const Strip *t, ptrdiff_t row, const uint16_t *winners)
{
    const Match *const m = t->match;
    const SdmPairSettings *const set = m->set;
    const SdmPairFinish finish = {.pixels = t->row.pixels,
                                  .depth = set->dmax - set->dmin + 1,
                                  .dmin = (float)set->dmin,
                                  .subpixel = set->subpixel,
                                  .limit = set->uniqueness > 0.0f ? 1.0f + set->uniqueness : 0.0f,
                                  .parabola = set->cost == SDM_PAIR_ZNCC};
    m->widest->finish(&finish, winners, t->scratch->disparity + row * m->width + t->x0);
    memcpy(t->scratch->left_d + row * m->width + t->x0, winners + SDM_PAIR_D * SDM_PAIR_STRIP,
           (size_t)t->row.pixels * sizeof(uint16_t));
}

static void match_row(Strip *t, ptrdiff_t row)
{
    const Match *const m = t->match;
    Scratch *const s = t->scratch;
    uint16_t *const all = s->all + 2 + (m->chunk_count > 1 ? row * SDM_PAIR_STRIP * SDM_PAIR_FIELDS : 0);
    t->row.give = true;
    t->row.out = t->index == 0 ? all : s->chunk + 2;
    t->row.right_best = s->right_best + row * m->right_length + right_place(t);
    if (m->set->cost == SDM_PAIR_ZNCC)
        set_terms(t, row);
    set_bad(t, row);
    kernel_of(t)(&t->row);
    if (t->index > 0)
        m->widest->merge(all, s->chunk + 2, t->row.pixels, t->chunk.d_low - m->set->dmin, t->row.unique);
    if (t->index + 1 == m->chunk_count)
        finish_row(t, row, all);
}

static void match_strip(Strip *t)
{
    const Match *const m = t->match;
    for (t->index = 0; t->index < m->chunk_count; t->index++) {
        t->chunk = chunk_at(m, t->index);
        begin_chunk(t);
        for (int y = t->y0 - m->before; y < t->y1 + m->after; y++) {
            set_rows(t, y);
            if (y < t->y0 + m->after)
                kernel_of(t)(&t->row);
            else
                match_row(t, y - m->after - t->y0);
        }
    }
}

/* Reject pixels from..to - 1 whose right pixel prefers another disparity. */
static void check_left_right(const Match *m, const Scratch *s, int y0, int y1, int from, int to)
{
    const uint32_t most = m->set->lr_threshold < 1e5f ? (uint32_t)m->set->lr_threshold : 100000;
    for (ptrdiff_t row = 0; row < y1 - y0; row++)
        m->widest->agree(s->left_d + row * m->width + from,
                         s->right_best + row * m->right_length + m->right_first - m->set->dmin + from,
                         to - from, most, s->disparity + row * m->width + from);
}

static void match_band(const Match *m, Scratch *s, int y0, int y1)
{
    const int reach = m->set->dmax - m->set->dmin; /* right pixels so far behind a strip have met all
                                                    * theirs */
    int checked = m->set->lr_threshold < 0.0f ? m->width : 0;
    memset(s->right_best, 0xFF, (size_t)(m->right_length * (y1 - y0)) * sizeof(uint32_t));
    prepare_band(m, s, y0, y1);
    for (int x0 = 0; x0 < m->width; x0 += m->strip_pixels) {
        const int x1 = x0 + m->strip_pixels < m->width ? x0 + m->strip_pixels : m->width;
        const int complete = x1 < m->width ? x1 - reach : m->width;
        Strip t = {.match = m, .scratch = s, .x0 = x0, .x1 = x1, .y0 = y0, .y1 = y1};
        match_strip(&t);
        if (complete > checked) {
            check_left_right(m, s, y0, y1, checked, complete);
            checked = complete;
        }
    }
}

SdmStatus sdm_pair_match_local(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                               const SdmPairSettings *set, SdmPairSink *sink)
{
    Match m = {.image = {left, right}, .set = set, .in_place = sink->disparity != NULL};
    const int threads = sdm_threads(ctx);
    Scratch scratch;
    SdmArena measured = {NULL, 0};
    SDM_OWNED char *block = NULL;
    lay_out(&m, threads);
    take_scratch(&m, &measured, &scratch);
    PASS(sdm_alloc(ctx, &block, measured.used, (size_t)threads, "rows of matching"));
#pragma omp parallel for ordered schedule(dynamic, 1) num_threads(threads) private(scratch)
    for (int y0 = 0; y0 < m.height; y0 += m.band_rows) {
        SdmArena mine = {block + measured.used * (size_t)sdm_thread(), 0};
        const int y1 = y0 + m.band_rows < m.height ? y0 + m.band_rows : m.height;
        const bool matched = sdm_pair_goes_on(ctx, sink);
        take_scratch(&m, &mine, &scratch);
        scratch.disparity = sdm_pair_room(sink, y0, m.width, scratch.band);
        if (matched)
            match_band(&m, &scratch, y0, y1);
#pragma omp ordered
        if (matched)
            sdm_pair_put(ctx, sink, y0, y1, scratch.disparity);
    }
    return SDM_OK;
}
