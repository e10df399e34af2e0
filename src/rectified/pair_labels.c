/* Two rectified images -> disparities by an optimizer: bands of rows, their costs -> volume -> labels. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/pair.h"

#include "core/arena.h"
#include "core/math.h"
#include "core/vector_loops.h"
#include "instruction_set.h"

#include <math.h>
#include <string.h>

/* ---- costs of a band of rows ---- */

enum {
    SAD_MAX = 63,     /* largest difference of two values, SAD; larger ones count as it */
    AD_MAX = 24,      /* the same beside census words, where it also is at most half of their bits */
    WINDOW_MAX = 127, /* largest sum over a window, after halving */
    KERNEL_SLACK = 64 /* bytes that kernels read and write beyond a row */
};

SdmPairTerms sdm_pair_terms(const SdmPairSettings *set)
{
    SdmPairTerms t = {.shift = 0};
    if (set->cost == SDM_PAIR_CENSUS || set->cost == SDM_PAIR_AD_CENSUS)
        t.bits = set->census_width * set->census_height - 1;
    if (set->cost == SDM_PAIR_SAD)
        t.difference_max = SAD_MAX;
    else if (set->cost == SDM_PAIR_AD_CENSUS)
        t.difference_max = t.bits / 2 < AD_MAX ? t.bits / 2 : AD_MAX;
    t.cost_max = (t.bits + t.difference_max) * set->window * set->window;
    for (; t.cost_max > WINDOW_MAX; t.cost_max >>= 1)
        t.shift++;
    return t;
}

void sdm_pair_volume_shape(const SdmPairSettings *set, SdmVolume *v)
{
    *v = (SdmVolume){
        .labels = set->dmax - set->dmin + 1, .first = -set->dmax, .most = sdm_pair_terms(set).cost_max};
}

/* Inputs of the volume of a band. */
typedef struct Costs {
    const SdmPairImage *image[2];
    const SdmPairSettings *set;
    const SdmVolume *v;
    const SdmSgmKernels *kernels;
    SdmPairTerms terms;
    int y0, planes;   /* planes: bytes of a word */
    size_t row;       /* width x pitch */
    int before;       /* entries of a right row before right pixel 0 */
    ptrdiff_t length; /* of a right row, and of a left one */
} Costs;

/* Scratch rows of a thread. */
typedef struct CostRows {
    uint8_t *word[2], *value[2]; /* planes x length, length */
    int16_t *under[9];           /* samples of the rows under the words */
    uint8_t *pixel;              /* window x row: costs of pixels */
    uint16_t *column;            /* row: their sums down the window */
    uint32_t *sum;               /* labels: sums over a window */
} CostRows;

static void take_cost_rows(const Costs *m, SdmArena *arena, CostRows *r)
{
    const size_t length = (size_t)m->length, window = (size_t)m->set->window;
    for (int side = 0; side < 2; side++) {
        r->word[side] = sdm_arena_take(arena, length, (size_t)m->planes);
        r->value[side] = sdm_arena_take(arena, length, 1);
    }
    for (int i = 0; i < 9; i++)
        r->under[i] = sdm_arena_take(arena, length, sizeof *r->under[i]);
    r->column = sdm_arena_take(arena, window > 1 ? m->row : 0, sizeof *r->column);
    r->sum = sdm_arena_take(arena, (size_t)m->v->labels, sizeof *r->sum);
    r->pixel = sdm_arena_take(arena, window > 1 ? m->row : 0, window);
}

/* Continue a row of `width` bytes at `first` with its first and last one. */
static void extend(uint8_t *row, int first, int width, ptrdiff_t length)
{
    memset(row, row[first], (size_t)first);
    memset(row + first + width, row[first + width - 1], (size_t)(length - first - width));
}

/* Census words of row y and its values, 8 bit. */
static void fill_words(const Costs *m, const CostRows *r, int side, int y)
{
    const SdmPairImage *const im = m->image[side];
    const int first = side ? m->before : 0, width = im->width, high = m->set->census_height;
    const int16_t *rows[9];
    uint8_t *const value = r->value[side];
    if (im->bytes)
        memcpy(value + first, im->bytes + y * im->stride, (size_t)width);
    for (int x = 0; x < width && !im->bytes; x++) {
        const int v = im->data[y * im->stride + x];
        value[first + x] =
            (uint8_t)(im->eight_bit ? sdm_clamp(v, 0, 255) : sdm_clamp(v + 2048, 0, 4095) >> 4);
    }
    extend(value, first, width, m->length);
    if (!m->planes)
        return;
    for (int j = 0; j < high; j++)
        rows[j] = sdm_pair_samples(im, y + j - high / 2, -(m->set->census_width / 2),
                                   width + m->set->census_width - 1, r->under[j]);
    for (int j = 0; j < high; j++) /* copied, since kernels read on beyond the row */
        if (rows[j] != r->under[j])
            rows[j] =
                memcpy(r->under[j], rows[j], (size_t)(width + m->set->census_width - 1) * sizeof(int16_t));
    m->kernels->words(rows, width, m->set->census_width, high, r->word[side] + first, m->length);
    for (int p = 0; p < m->planes; p++)
        extend(r->word[side] + p * m->length, first, width, m->length);
}

/* Costs of the pixels of row y, which lies on the image. */
static void pixel_costs(const Costs *m, const CostRows *r, int y, uint8_t *out)
{
    const SdmVolume *const v = m->v;
    const int at = m->before + v->first;
    for (int side = 0; side < 2; side++)
        fill_words(m, r, side, y);
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
                           .difference_max = m->terms.difference_max,
                           .out = out};
    m->kernels->costs(&c);
}

/* Sums over the windows of a row from the sums of their columns. */
SDM_VECTOR_LOOPS static void sum_row(const Costs *m, const CostRows *r, uint8_t *out)
{
    const int width = m->v->width, labels = m->v->labels, window = m->set->window, before = window / 2,
              after = window - 1 - before, shift = m->terms.shift;
    const ptrdiff_t pitch = m->v->pitch;
    uint32_t *const sum = r->sum;
    memset(sum, 0, (size_t)labels * sizeof *sum);
    /* column x enters, and the one before the window leaves */
    for (int x = -before; x < width + after; x++) {
        const uint16_t *const last = r->column + sdm_clamp(x, 0, width - 1) * pitch,
                              *const gone = r->column + sdm_clamp(x - window, 0, width - 1) * pitch;
        for (int l = 0; l < labels; l++)
            sum[l] += last[l];
        for (int l = 0; l < labels && x >= after + 1; l++)
            sum[l] -= gone[l];
        for (int l = 0; l < labels && x >= after; l++)
            out[(x - after) * pitch + l] = (uint8_t)(sum[l] >> shift);
    }
}

static bool is_hole(const SdmPairImage *im, int x, int y)
{
    return !im->bytes && im->data[y * im->stride + x] == SDM_PIXEL_NODATA;
}

/* Labels whose right pixel lies off the image or has no data get the cost of chance; so do all labels of a
 * left pixel without data, whose neighbours thus decide. */
static void set_chance(const Costs *m, int y, uint8_t *out)
{
    const SdmVolume *const v = m->v;
    const int chance = sdm_pair_chance(v->most);
    const bool holes = sdm_pair_has_holes(m->image[0], y, y) || sdm_pair_has_holes(m->image[1], y, y);
    for (int x = 0; x < v->width; x++, out += v->pitch) {
        const int first = sdm_clamp(-x - v->first, 0, v->labels),
                  end = sdm_clamp(v->width - x - v->first, first, v->labels);
        if (first > 0)
            memset(out, chance, (size_t)first);
        if (end < v->labels)
            memset(out + end, chance, (size_t)(v->labels - end));
        for (int l = first; l < end && holes; l++)
            if (is_hole(m->image[0], x, y) || is_hole(m->image[1], x + v->first + l, y))
                out[l] = (uint8_t)chance;
    }
}

static uint8_t *row_of(const Costs *m, int y)
{
    return m->v->cost + (size_t)(y - m->y0) * m->row;
}

static void make_rows(const Costs *m, const CostRows *r, int from, int to)
{
    const int window = m->set->window, reach = window / 2, height = m->image[0]->height;
    for (int y = from; y < to && window == 1; y++) {
        pixel_costs(m, r, y, row_of(m, y));
        set_chance(m, y, row_of(m, y));
    }
    if (window == 1)
        return;
    memset(r->column, 0, m->row * sizeof *r->column);
    for (int y = from - reach; y < to - reach + window - 1; y++) { /* row y enters */
        uint8_t *const slot = r->pixel + (size_t)((y + window) % window) * m->row;
        const int made = y - (window - 1 - reach);
        for (size_t i = 0; i < m->row && y >= from - reach + window; i++)
            r->column[i] = (uint16_t)(r->column[i] - slot[i]);
        pixel_costs(m, r, sdm_clamp(y, 0, height - 1), slot);
        for (size_t i = 0; i < m->row; i++)
            r->column[i] = (uint16_t)(r->column[i] + slot[i]);
        if (made >= from) {
            sum_row(m, r, row_of(m, made));
            set_chance(m, made, row_of(m, made));
        }
    }
}

SdmStatus sdm_pair_volume(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                          const SdmPairSettings *set, int y0, const SdmVolume *v)
{
    const int before = v->first < 0 ? -v->first : 0, after = v->first > 0 ? v->first : 0;
    Costs m = {.image = {left, right},
               .set = set,
               .v = v,
               .kernels = sdm_cpu_level(set->cpu_level)->sgm,
               .terms = sdm_pair_terms(set),
               .y0 = y0,
               .row = (size_t)v->width * (size_t)v->pitch,
               .before = before,
               .length = (ptrdiff_t)before + v->width + after + v->pitch + 2 * KERNEL_SLACK};
    const int threads = sdm_threads(ctx);
    CostRows rows;
    SdmArena measured = {NULL, 0};
    SDM_OWNED char *block = NULL;
    m.planes = (m.terms.bits + 7) / 8;
    take_cost_rows(&m, &measured, &rows);
    PASS(sdm_alloc(ctx, &block, measured.used, (size_t)threads, "costs of rows"));
#pragma omp parallel for schedule(static) num_threads(threads) private(rows)
    for (int t = 0; t < threads; t++) {
        SdmArena mine = {block + measured.used * (size_t)t, 0};
        take_cost_rows(&m, &mine, &rows);
        make_rows(&m, &rows, y0 + (int)((int64_t)v->height * t / threads),
                  y0 + (int)((int64_t)v->height * (t + 1) / threads));
    }
    return SDM_OK;
}

/* ---- disparities of windows without texture ---- */

enum { FLAT_WINDOW = 9 /* px, at least */, STRIP_LEAST = 32 /* rows that a thread takes */ };

typedef struct Texture {
    const SdmPairImage *image[2];
    const SdmPairKernels *kernels;
    int window, before;
    double variance_max; /* of a window without texture */
    float flat;          /* the same times n^2, rounded down, where windows have n samples and a kernel
                          * decides; else < 0 */
    int first;           /* row of the image that is row 0 of the disparities */
    float *disparity;
} Texture;

/* Scratch rows of a thread. */
typedef struct TextureRows {
    SdmPairColumns columns[2];
    bool holes[2];    /* of either image, in the rows of a strip */
    int16_t *row[2];  /* samples that enter and leave */
    uint8_t *flat[2]; /* of a row of either image: 1 without texture */
} TextureRows;

static void take_texture_rows(const Texture *t, SdmArena *arena, TextureRows *r)
{
    const size_t width = (size_t)t->image[0]->width, count = width + (size_t)t->window;
    for (int side = 0; side < 2; side++) {
        int32_t **const sums[3] = {&r->columns[side].sum, &r->columns[side].squares, &r->columns[side].holes};
        for (int i = 0; i < 3; i++)
            *sums[i] = sdm_arena_take(arena, count, sizeof(int32_t));
        r->row[side] = sdm_arena_take(arena, count, sizeof *r->row[side]);
        r->flat[side] = sdm_arena_take(arena, width, 1);
    }
}

/* Bring the column sums to the windows of row y: their last row enters and, with `full`, the one above
 * leaves. */
static void move_columns(const Texture *t, const TextureRows *r, int side, int y, bool full)
{
    const SdmPairImage *const im = t->image[side];
    const int count = im->width + t->window - 1, enters = y - t->before + t->window - 1;
    const SdmPairColumns *const all = &r->columns[side],
                                columns = {all->sum, all->squares, r->holes[side] ? all->holes : NULL};
    t->kernels->columns(&columns, sdm_pair_samples(im, enters, -t->before, count, r->row[0]),
                        full ? sdm_pair_samples(im, enters - t->window, -t->before, count, r->row[1]) : NULL,
                        count, im->eight_bit ? 128 : 0);
}

/* flat[x] = 1: variance n S(vv) - S(v)^2 of the n samples of the window about x is at most n^2 sigma^2. */
static void find_flat(const Texture *t, const SdmPairColumns *c, int width, uint8_t *flat)
{
    int64_t sum = 0, squares = 0, n = 0;
    for (int x = 1 - t->window; x < width; x++) {
        const int last = x + t->window - 1;
        sum += c->sum[last];
        squares += c->squares[last];
        n += t->window - c->holes[last];
        if (x < 0)
            continue;
        flat[x] = (double)(n * squares - sum * sum) <= t->variance_max * (double)(n * n);
        sum -= c->sum[x];
        squares -= c->squares[x];
        n -= t->window - c->holes[x];
    }
}

static void reject_row(const Texture *t, const TextureRows *r, float *disparity)
{
    const int width = t->image[0]->width;
    for (int x = 0; x < width; x++) {
        if (isnan(disparity[x]))
            continue;
        const int meets = (int)lrintf((float)x - disparity[x]);
        const int xr = meets < 0 ? 0 : meets >= width ? width - 1 : meets;
        disparity[x] = r->flat[0][x] || r->flat[1][xr] ? NAN : disparity[x];
    }
}

static void find_flat_row(const Texture *t, const TextureRows *r, int side)
{
    const SdmPairImage *const im = t->image[side];
    const SdmPairColumns columns = {r->columns[side].sum, r->columns[side].squares, NULL};
    const SdmPairWindowRow out = {.pixels = im->width,
                                  .window = t->window,
                                  .most = im->eight_bit ? 128 : 2047,
                                  .flat = t->flat,
                                  .bad = r->flat[side]};
    if (r->holes[side] || t->flat < 0.0f)
        find_flat(t, &r->columns[side], im->width, r->flat[side]);
    else
        t->kernels->window(&columns, &out);
}

static void reject_strip(const Texture *t, TextureRows *r, int y0, int y1)
{
    const int width = t->image[0]->width;
    const size_t bytes = (size_t)(width + t->window) * sizeof(int32_t);
    for (int side = 0; side < 2; side++) {
        memset(r->columns[side].sum, 0, bytes);
        memset(r->columns[side].squares, 0, bytes);
        memset(r->columns[side].holes, 0, bytes);
        r->holes[side] = sdm_pair_has_holes(t->image[side], y0 - t->window, y1 + t->window);
        for (int y = y0 - t->window + 1; y < y0; y++)
            move_columns(t, r, side, y, false);
    }
    for (int y = y0; y < y1; y++) {
        for (int side = 0; side < 2; side++) {
            move_columns(t, r, side, y, y > y0);
            find_flat_row(t, r, side);
        }
        if (memchr(r->flat[0], 1, (size_t)width) || memchr(r->flat[1], 1, (size_t)width))
            reject_row(t, r, t->disparity + (ptrdiff_t)(y - t->first) * width);
    }
}

SdmStatus sdm_pair_reject_flat(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                               const SdmPairSettings *set, int y0, int y1, float *disparity)
{
    const SdmCpuLevel *const level = sdm_cpu_level(set->cpu_level);
    const SdmPairKernels *const kernels = sdm_pair_kernels(level, SDM_PAIR_LANES_MAX);
    const int window = set->window < FLAT_WINDOW ? FLAT_WINDOW : set->window;
    const double variance_max = (double)set->min_sigma * (double)set->min_sigma,
                 flat = floor(variance_max * (double)(window * window) * (double)(window * window));
    const Texture t = {.image = {left, right},
                       .kernels = kernels ? kernels : sdm_pair_kernels(sdm_cpu_level("c"), 1),
                       .window = window,
                       .before = window / 2,
                       .variance_max = variance_max,
                       .flat = flat < 16777216.0 ? (float)flat : -1.0f, /* whole numbers that a float holds */
                       .first = y0,
                       .disparity = disparity};
    const int threads = sdm_threads(ctx), share = (y1 - y0 + threads - 1) / threads;
    const int strip = share < STRIP_LEAST ? STRIP_LEAST : share;
    TextureRows rows;
    SdmArena measured = {NULL, 0};
    SDM_OWNED char *block = NULL;
    if (!(set->min_sigma > 0.0f))
        return SDM_OK;
    take_texture_rows(&t, &measured, &rows);
    PASS(sdm_alloc_raw(ctx, &block, measured.used, (size_t)threads, "texture of rows"));
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads) private(rows)
    for (int y = y0; y < y1; y += strip) {
        SdmArena mine = {block + measured.used * (size_t)sdm_thread(), 0};
        take_texture_rows(&t, &mine, &rows);
        reject_strip(&t, &rows, y, y + strip < y1 ? y + strip : y1);
    }
    return SDM_OK;
}

/* ---- bands ---- */

enum { BAND = SDM_PAIR_BAND };

typedef struct Labelled { /* a band */
    const SdmPairImage *image[2];
    const SdmPairSettings *set;
    const SdmSgmKernels *kernels;
    const SdmVolume *v;
    SdmLabels labels;
    int16_t *guide; /* rows of the left image where it has bytes, as many as the volume; else NULL */
    int y0;         /* row of the image that is row 0 of the volume */
} Labelled;

/* Does the right pixel's own label lead back to within the threshold? */
static bool agrees(const Labelled *b, ptrdiff_t row, int l, int xr)
{
    const int other = b->labels.right ? b->labels.right[row + xr] : l;
    if (other == SDM_LABEL_NONE)
        return false;
    return (float)(l > other ? l - other : other - l) <= b->set->lr_threshold || !b->labels.right;
}

static void disparities(const Labelled *b, int y, float *out)
{
    const int w = b->v->width;
    const ptrdiff_t row = (ptrdiff_t)(y - b->y0) * w;
    const bool holes = sdm_pair_has_holes(b->image[0], y, y) || sdm_pair_has_holes(b->image[1], y, y);
    if (b->set->subpixel)
        sdm_label_offsets(b->v, b->kernels, &b->labels, y - b->y0, out);
    for (int x = 0; x < w; x++) {
        const int l = b->labels.left[row + x], xr = x + b->v->first + l;
        const bool seen = l < b->v->labels && xr >= 0 && xr < w &&
                          !(holes && (is_hole(b->image[0], x, y) || is_hole(b->image[1], xr, y)));
        const float offset = b->set->subpixel ? out[x] : 0.0f;
        out[x] = seen && agrees(b, row, l, xr) ? (float)(b->set->dmax - l) - offset : NAN;
    }
}

/* Match rows y0..y1 - 1; the volume has room for them and SDM_OVERLAP rows on each side.  disparity: of these
 * rows. */
static SdmStatus match_band(SdmContext *ctx, Labelled *b, SdmVolume *v, int y0, int y1, float *disparity)
{
    const SdmPairImage *const left = b->image[0];
    const int from = y0 > SDM_OVERLAP ? y0 - SDM_OVERLAP : 0;
    const int to = y1 + SDM_OVERLAP < left->height ? y1 + SDM_OVERLAP : left->height;
    v->height = to - from;
    v->begin = y0 - from > SDM_OFFSET_REACH ? y0 - from - SDM_OFFSET_REACH : 0;
    v->end = y1 - from + SDM_OFFSET_REACH < v->height ? y1 - from + SDM_OFFSET_REACH : v->height;
    v->guide = b->guide ? b->guide : left->data + from * left->stride;
    v->guide_stride = b->guide ? left->width : left->stride;
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
    for (int y = from; y < to; y++)
        if (b->guide)
            sdm_pair_samples(left, y, 0, left->width, b->guide + (ptrdiff_t)(y - from) * left->width);
    v->guide_scale = left->eight_bit ? SDM_PAIR_EDGE_8 : SDM_PAIR_EDGE_12;
    b->v = v;
    b->y0 = from;
    PASS(sdm_pair_volume(ctx, b->image[0], b->image[1], b->set, from, v));
    PASS(sdm_optimize(ctx, b->set->optimizer, v, &b->labels));
    if (sdm_pair_wants_energy(b->set))
        sdm_volume_energy(ctx, b->set->optimizer, v, b->labels.left, y0 - from, y1 - from, b->set->energy);
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
    for (int y = y0; y < y1; y++)
        disparities(b, y, disparity + (ptrdiff_t)(y - y0) * left->width);
    return sdm_pair_reject_flat(ctx, left, b->image[1], b->set, y0, y1, disparity);
}

SdmStatus sdm_pair_match_labels(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                                const SdmPairSettings *set, SdmPairSink *sink)
{
    SDM_CLOSED_BY(sdm_volume_close) SdmVolume v = {.cost = NULL};
    SDM_OWNED float *band = NULL;
    SDM_OWNED uint16_t *of_left = NULL, *of_right = NULL;
    SDM_OWNED uint32_t *near = NULL;
    SDM_OWNED int16_t *guide = NULL;
    const int h = left->height, rows = h < BAND + 2 * SDM_OVERLAP ? h : BAND + 2 * SDM_OVERLAP;
    const size_t pixels = (size_t)left->width * (size_t)rows;
    sdm_pair_volume_shape(set, &v);
    v.width = left->width;
    v.height = rows;
    if (!sink->disparity)
        PASS(sdm_alloc_raw(ctx, &band, (size_t)left->width * BAND, sizeof *band, "a band of disparities"));
    PASS(sdm_volume_open(ctx, &v));
    PASS(sdm_alloc_raw(ctx, &of_left, pixels, sizeof *of_left, "labels"));
    if (set->lr_threshold >= 0.0f)
        PASS(sdm_alloc_raw(ctx, &of_right, pixels, sizeof *of_right, "labels of the right image"));
    if (left->bytes)
        PASS(sdm_alloc_raw(ctx, &guide, pixels, sizeof *guide, "samples of the left image"));
    if (set->subpixel)
        PASS(sdm_alloc_raw(ctx, &near, pixels, 2 * sizeof *near, "costs about the labels"));
    Labelled b = {.image = {left, right},
                  .set = set,
                  .kernels = sdm_cpu_level(set->cpu_level)->sgm,
                  .labels = {of_left, of_right, near},
                  .guide = guide};
    for (int y0 = 0; y0 < h && sdm_pair_goes_on(ctx, sink); y0 += BAND) {
        const int y1 = y0 + BAND < h ? y0 + BAND : h;
        float *const out = sdm_pair_room(sink, y0, left->width, band);
        PASS(match_band(ctx, &b, &v, y0, y1, out));
        sdm_pair_put(ctx, sink, y0, y1, out);
    }
    return SDM_OK;
}
