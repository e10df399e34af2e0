/* Rows of two images -> column sums, means and textures of the windows of a strip, for the cost kernels;
 * included by kernel_*.c and cost_*.c only. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_COST_ROWS_H
#define SDM_COST_ROWS_H

#include "kernels.h"
#include "window_sum.h"

#include <math.h>
#include <string.h>

enum {
    COST_LANES = 16,
    COST_MARGIN = 6 * COST_LANES, /* elements that vectors may access beyond a row */
    COST_PART = 512               /* columns done together, while they are in the first cache */
};

typedef struct CostColumns { /* of one image: sums down the columns of the window, nodata as 0 */
    int32_t *sum, *squares, *bad;
    int32_t *rows_bad; /* by part of the columns: rows of the window with nodata; one part more */
} CostColumns;

typedef struct CostMeans { /* of one row of one image: of the window around each pixel, as CostNeed says */
    int32_t *pair;         /* pixel of the row that enters (low 16 bits) and of the one that leaves */
    int32_t *terms;     /* pairs for the covariance: left -mean (low 16 bits) and -sum modulo 2^16, right sum
                           - n mean and mean, where mean = sum / n, rounded */
    int32_t *high_term; /* left: -sum, rounded to a multiple of 2^16 */
    float *rest;        /* sum - n mean, of the left one divided by n; NAN where texture is -1 */
    float *texture;     /* 1 / sqrt(sum of squares of what deviates from the mean); 0 = without texture, -1 =
                           nodata inside, or the window leaves the image */
} CostMeans;

enum {
    COST_ROWS = 3,     /* of the right view, along v */
    COST_WORD_ROWS = 4 /* of census words that are kept: of one row, and of those beside it along v */
};

typedef struct CostScratch {
    ptrdiff_t pitch;                  /* elements from row to row of column, window, score */
    CostColumns columns[2];           /* left, right */
    CostMeans left, right[COST_ROWS]; /* the right ones' arrays reach |d| further to both sides */
    int32_t *spare[2];                /* window sums of squares and nodata */
    int16_t *nodata, *zero;           /* a row of nodata, and one of 0 */
    uint32_t *word[2];                /* census words of COST_WORD_ROWS rows, left and right */
    uint8_t *kept;   /* bits that differ, of the window's rows and all d: 2 bytes a pixel, see
                                 cost_census.c */
    int32_t *column; /* (dmax - dmin + 1) rows of column sums */
    int32_t *window; /* and of window sums */
    float *score;    /* and of scores */
} CostScratch;

static inline size_t cost_round(size_t n)
{
    return (n + COST_LANES - 1) / COST_LANES * COST_LANES;
}

/* Elements before the first pixel of an array that is read at x + d. */
static inline size_t cost_reach(int dmin, int dmax)
{
    const int a = dmin < 0 ? -dmin : dmin, b = dmax < 0 ? -dmax : dmax;
    return cost_round((size_t)(a > b ? a : b)) + COST_LANES;
}

/* Parts of a row of columns, and one more. */
static inline size_t cost_parts(int width)
{
    return cost_round((size_t)width / COST_PART + 2);
}

static inline size_t cost_scratch_bytes(int width, int window, int dmin, int dmax)
{
    const size_t nd = (size_t)(dmax - dmin + 1), n = cost_round((size_t)width) + COST_MARGIN;
    const size_t wide = n + 2 * cost_reach(dmin, dmax);
    return 4 * ((2 * 3 + (1 + COST_ROWS) * 5) * wide + 2 * cost_parts(width) + 3 * n + 3 * nd * n) +
           2 * 4 * wide * COST_WORD_ROWS + 2 * n * nd * (size_t)window;
}

/* Pixel x has no window, if not `whole`. */
static inline void cost_mark_window(const CostMeans *m, ptrdiff_t x, bool whole)
{
    m->texture[x] = whole ? m->texture[x] : -1.0f;
    m->rest[x] = whole ? m->rest[x] : NAN;
}

static inline void *cost_take(char **at, size_t bytes)
{
    void *const p = *at;
    *at += bytes;
    return p;
}

static inline void cost_scratch_cut(CostScratch *s, const SdmCostJob *job)
{
    const size_t nd = (size_t)(job->dmax - job->dmin + 1), n = cost_round((size_t)job->width) + COST_MARGIN;
    const size_t reach = cost_reach(job->dmin, job->dmax), wide = n + 2 * reach;
    char *at = job->scratch;
    memset(at, 0,
           cost_scratch_bytes(job->width, job->window, job->dmin, job->dmax) -
               2 * n * nd * (size_t)job->window);
    s->pitch = (ptrdiff_t)n;
    for (int side = 0; side < 2; side++) {
        CostColumns *const c = &s->columns[side];
        int32_t **const arrays[] = {&c->sum, &c->squares, &c->bad};
        for (int i = 0; i < 3; i++)
            *arrays[i] = (int32_t *)cost_take(&at, 4 * wide) + reach;
        c->rows_bad = cost_take(&at, 4 * cost_parts(job->width));
        s->spare[side] = cost_take(&at, 4 * n);
    }
    for (int k = -1; k < COST_ROWS; k++) {
        CostMeans *const m = k < 0 ? &s->left : &s->right[k];
        int32_t **const arrays[] = {&m->pair, &m->terms, &m->high_term};
        for (int i = 0; i < 3; i++)
            *arrays[i] = (int32_t *)cost_take(&at, 4 * wide) + reach;
        m->rest = (float *)cost_take(&at, 4 * wide) + reach;
        m->texture = (float *)cost_take(&at, 4 * wide) + reach;
        for (ptrdiff_t x = -(ptrdiff_t)reach; x < (ptrdiff_t)(n + reach); x++)
            cost_mark_window(m, x, false);
    }
    s->nodata = cost_take(&at, 2 * n);
    for (size_t x = 0; x < n; x++)
        s->nodata[x] = SDM_PIXEL_NODATA;
    s->zero = cost_take(&at, 2 * n);
    for (int side = 0; side < 2; side++)
        s->word[side] = cost_take(&at, 4 * wide * COST_WORD_ROWS);
    s->column = cost_take(&at, 4 * n * nd);
    s->window = cost_take(&at, 4 * n * nd);
    s->score = cost_take(&at, 4 * n * nd);
    s->kept = cost_take(&at, 2 * n * nd * (size_t)job->window); /* written before it is read */
}

/* For label d of the row of costs y: the right view's row, and the offset along it. */
typedef struct CostLabel {
    const CostMeans *right;
    int d;
} CostLabel;

static inline int cost_slot(const SdmCostJob *job, int y)
{
    const int first =
        job->row_begin - job->window - 1; /* of the rows that are asked for, so never negative */
    return job->along_v ? (y - first + COST_ROWS) % COST_ROWS : 0;
}

static inline CostLabel cost_label(const SdmCostJob *job, const CostScratch *s, int y, int k)
{
    const int d = job->dmin + k;
    return job->along_v ? (CostLabel){&s->right[cost_slot(job, y + d)], 0} : (CostLabel){&s->right[0], d};
}

static inline SdmCostRow cost_row_of(const CostScratch *s, const SdmCostJob *job, int y)
{
    return (SdmCostRow){.y = y,
                        .width = job->width,
                        .dmin = job->dmin,
                        .dmax = job->dmax,
                        .score = s->score,
                        .pitch = s->pitch,
                        .left_texture = s->left.texture};
}

/* Row y of a view; a row of nodata where there is none. */
static inline const int16_t *cost_image_row(const SdmCostJob *job, const CostScratch *s, int side, int y)
{
    const int at = side ? y + job->right_shift : y;
    return at < 0 || at >= job->height ? s->nodata
                                       : (side ? job->right : job->left) + (ptrdiff_t)at * job->stride;
}

static inline int32_t cost_pair(int32_t enters, int32_t leaves)
{
    return (int32_t)((uint32_t)(uint16_t)enters | (uint32_t)leaves << 16);
}

typedef struct CostRows { /* rows of pixels that enter and leave (NULL: none does) the windows */
    const int16_t *enters, *leaves;
    int sign; /* factor of the leaving ones in the pairs */
} CostRows;

/* The pixels x..end - 1 of the rows that enter and leave: pairs and column sums; true when one of each has
 * nodata. */
static inline void cost_enter_plain(const CostRows *rows, int x, int end, const CostColumns *c, int32_t *pair,
                                    bool any[2])
{
    const int16_t *const enters = rows->enters, *const leaves = rows->leaves;
    const int sign = rows->sign;
    for (; x < end; x++) {
        const int32_t bad = enters[x] == SDM_PIXEL_NODATA, bad_old = leaves && leaves[x] == SDM_PIXEL_NODATA;
        const int32_t v = bad ? 0 : enters[x], old = !leaves || bad_old ? 0 : leaves[x];
        c->sum[x] += v - old;
        c->squares[x] += v * v - old * old;
        c->bad[x] += bad - bad_old;
        pair[x] = cost_pair(v, sign * old);
        any[0] = any[0] || bad;
        any[1] = any[1] || bad_old;
    }
}

/* The same by vectors; the first pixel that is left. */
static inline int cost_enter_vector(const CostRows *rows, int x, int end, const CostColumns *c, int32_t *pair,
                                    bool any[2])
{
    const int16_t *const enters = rows->enters, *const leaves = rows->leaves;
    const int sign = rows->sign;
    const vi none = vi_set(SDM_PIXEL_NODATA), one = vi_set(1), low = vi_set(0xffff);
    vi bad_any = vi_zero(), old_any = vi_zero();
    for (; x + SDM_VEC <= end; x += SDM_VEC) {
        vi v = vi_load_i16(enters + x), old = leaves ? vi_load_i16(leaves + x) : vi_zero();
        const vi bad = vi_only(vi_eq(v, none), one), bad_old = vi_only(vi_eq(old, none), one);
        v = vi_sel(vi_eq(v, none), vi_zero(), v);
        old = vi_sel(vi_eq(old, none), vi_zero(), old);
        const vi minus = vi_sub(vi_zero(), old);
        const vi enter = vi_or(vi_and(v, low), vi_shl16(old)),
                 negative = vi_or(vi_and(v, low), vi_shl16(minus));
        vi_store(c->sum + x, vi_add(vi_load(c->sum + x), vi_add(v, minus)));
        vi_store(c->squares + x, vi_add(vi_load(c->squares + x), vi_madd(enter, negative)));
        vi_store(c->bad + x, vi_add(vi_load(c->bad + x), vi_sub(bad, bad_old)));
        vi_store(pair + x, sign > 0 ? enter : negative);
        bad_any = vi_or(bad_any, bad);
        old_any = vi_or(old_any, bad_old);
    }
    any[0] = !vm_none(vi_eq(bad_any, one)) || !vm_none(vi_gt(bad_any, vi_zero()));
    any[1] = !vm_none(vi_gt(old_any, vi_zero()));
    return x;
}

/* The same where no pixel of them is nodata. */
static inline int cost_enter_whole(const CostRows *rows, int x, int end, const CostColumns *columns,
                                   int32_t *pair)
{
    const int16_t *const enters = rows->enters, *const leaves = rows->leaves;
    int32_t *const sums = columns->sum, *const squares = columns->squares;
    const bool positive = rows->sign > 0;
    for (; x + SDM_VEC <= end; x += SDM_VEC) {
        const vi both = vi_pairs(enters + x, leaves + x), negative = vi_minus_high(both);
        vi_store(sums + x, vi_add_halves(vi_load(sums + x), negative));
        vi_store(squares + x, vi_dot(vi_load(squares + x), both, negative));
        vi_store(pair + x, positive ? both : negative);
    }
    return x;
}

static inline bool cost_has_nodata(const int16_t *row, int count)
{
    int16_t least = INT16_MAX; /* SDM_PIXEL_NODATA is the least number */
    for (int x = 0; x < count; x++)
        least = row[x] < least ? row[x] : least;
    return least == SDM_PIXEL_NODATA;
}

/* Complete the columns from..end - 1, a part of them. */
static inline void cost_enter_part(const CostRows *rows, int from, int end, const CostColumns *c,
                                   int32_t *pair)
{
    int32_t *const bad = &c->rows_bad[from / COST_PART];
    bool any[2] = {false, false};
    const bool whole = rows->leaves && !cost_has_nodata(rows->enters + from, end - from) &&
                       (*bad == 0 || !cost_has_nodata(rows->leaves + from, end - from));
    const int done =
        whole ? cost_enter_whole(rows, from, end, c, pair) : cost_enter_vector(rows, from, end, c, pair, any);
    cost_enter_plain(rows, done, end, c, pair, any);
    *bad += any[0] - any[1];
}

/* Data that a cost needs of a view's windows; each value includes those before it. */
enum CostNeed {
    COST_NOTHING,
    COST_NODATA,  /* texture -1 where a window has nodata or leaves the image, else 0 */
    COST_TEXTURE, /* texture */
    COST_MEANS    /* the rest of CostMeans */
};

static inline void cost_means_part(const SdmCostJob *job, const CostScratch *s, int side, const CostMeans *m,
                                   int from, int end, enum CostNeed need);
static inline void cost_mark_windows(const SdmCostJob *job, const CostScratch *s, int side, int y,
                                     enum CostNeed need);

/* Complete the windows of a view that are centred on row y: their last row enters, and the row above them
 * leaves unless they are the first ones.  sign: factor of the leaving pixels in the pairs. */
static inline void cost_enter_row(const SdmCostJob *job, const CostScratch *s, int side, int y, int first,
                                  int sign, enum CostNeed need)
{
    const int half = job->window / 2, w = job->width;
    const CostRows rows = {.enters = cost_image_row(job, s, side, y + half),
                           .leaves = y > first + 2 * half ? cost_image_row(job, s, side, y - half - 1) : NULL,
                           .sign = sign};
    const CostMeans *const m = side ? &s->right[cost_slot(job, y)] : &s->left;
    for (int from = 0; from < w; from += COST_PART) {
        const int end = from + COST_PART < w ? from + COST_PART : w;
        cost_enter_part(&rows, from, end, &s->columns[side], m->pair);
        if (need >= COST_TEXTURE && from > 0) /* the windows need columns of the next part */
            cost_means_part(job, s, side, m, from - COST_PART, from, need);
    }
    if (need >= COST_TEXTURE)
        cost_means_part(job, s, side, m, (w - 1) / COST_PART * COST_PART, w, need);
    if (need != COST_NOTHING)
        cost_mark_windows(job, s, side, y, need);
}

/* The same for the right view where only its nodata counts, not its pixels. */
static inline void cost_enter_nodata(const SdmCostJob *job, const CostScratch *s, int y, int first,
                                     enum CostNeed need)
{
    const int half = job->window / 2, w = job->width;
    const int16_t *const enters = cost_image_row(job, s, 1, y + half);
    const int16_t *const leaves = y > first + 2 * half ? cost_image_row(job, s, 1, y - half - 1) : s->zero;
    const CostColumns *const c = &s->columns[1];
    for (int from = 0; from < w; from += COST_PART) {
        const int end = from + COST_PART < w ? from + COST_PART : w;
        int32_t *const bad = &c->rows_bad[from / COST_PART];
        const bool in = cost_has_nodata(enters + from, end - from),
                   out = *bad > 0 && cost_has_nodata(leaves + from, end - from);
        for (int x = from; (in || out) && x < end; x++)
            c->bad[x] += (enters[x] == SDM_PIXEL_NODATA) - (leaves[x] == SDM_PIXEL_NODATA);
        *bad += in - out;
    }
    if (need != COST_NOTHING)
        cost_mark_windows(job, s, 1, y, need);
}

typedef struct CostNeeds {
    enum CostNeed left, right;
    int right_sign; /* of the leaving pixels in the right view's pairs; 0: none are asked for */
} CostNeeds;

/* Go on to the scores of row y: rows enter and leave in both views; what is needed of their windows is
 * computed where rows are asked for. */
static inline void cost_step(const SdmCostJob *job, const CostScratch *s, int y, CostNeeds needs)
{
    const int first = job->row_begin - job->window + 1; /* the first window has its last row alone */
    const int low = job->along_v ? job->dmin : 0, high = job->along_v ? job->dmax : 0;
    cost_enter_row(job, s, 0, y, first, 1, y >= job->row_begin ? needs.left : COST_NOTHING);
    for (int c = y == first ? first + low : y + high; c <= y + high; c++) {
        const enum CostNeed need = c >= job->row_begin + low ? needs.right : COST_NOTHING;
        if (needs.right_sign != 0)
            cost_enter_row(job, s, 1, c, first + low, needs.right_sign, need);
        else
            cost_enter_nodata(job, s, c, first + low, need);
    }
}

typedef struct MeansOf { /* what windows are */
    int n;               /* pixels of a window */
    float least;         /* sum of squares of a window of min_sigma */
    int side;
} MeansOf;

/* Texture of SDM_VEC windows, to x, and their means if asked for. */
static inline __attribute__((always_inline)) void cost_means(const CostMeans *m, const MeansOf *of,
                                                             enum CostNeed need, int x, vi sum, vi squares)
{
    const vf inverse = vf_set(1.0f / (float)of->n);
    const vi mean = vi_down(vf_add(vf_mul(vf_from(sum), inverse), vf_set(0.5f)));
    const vi rest_sum = vi_sub(sum, vi_madd(mean, vi_set(of->n)));
    const vf rest = vf_from(rest_sum), part = vf_mul(rest, inverse);
    const vi c = vi_sub(squares, vi_mul(mean, vi_add(sum, rest_sum)));
    const vf v = vf_sub(vf_from(c), vf_mul(part, rest));
    const vi low = vi_set(0xffff);
    if (need == COST_MEANS && of->side) {
        vi_store(m->terms + x, vi_or(vi_and(rest_sum, low), vi_shl16(mean)));
        vf_store(m->rest + x, rest);
    } else if (need == COST_MEANS) {
        const vi minus = vi_sub(vi_zero(), sum);
        vi_store(m->terms + x, vi_or(vi_and(vi_sub(vi_zero(), mean), low), vi_shl16(minus)));
        vi_store(m->high_term + x, vi_and(vi_add(minus, vi_set(1 << 15)), vi_set((int32_t)0xffff0000)));
        vf_store(m->rest + x, part);
    }
    vf_store(m->texture + x, vf_only(vf_gt(v, vf_set(of->least)), vf_div(vf_set(1.0f), vf_sqrt(v))));
}

/* Those of the windows that begin at the columns from..end - 1. */
#if SDM_VEC > 4
static inline __attribute__((always_inline)) void cost_means_along(const CostColumns *c,
                                                                   const CostMeans *means, MeansOf of,
                                                                   enum CostNeed need, int window, int from,
                                                                   int end)
{
    const int32_t *const sum = c->sum, *const squares = c->squares;
    const CostMeans own = *means, *const m = &own; /* else read again after each store */
    WindowSums s, q;
    window_begin(&s, vi_load(sum + from), vi_load(sum + from + SDM_VEC), vi_load(sum + from + 2 * SDM_VEC));
    window_begin(&q, vi_load(squares + from), vi_load(squares + from + SDM_VEC),
                 vi_load(squares + from + 2 * SDM_VEC));
#pragma GCC unroll 4 /* the sums move on by names, not by copies */
    for (int x = from; x < end; x += SDM_VEC) {
        window_next(&s, vi_load(sum + x + WINDOW_SUM_AHEAD * SDM_VEC));
        window_next(&q, vi_load(squares + x + WINDOW_SUM_AHEAD * SDM_VEC));
        cost_means(m, &of, need, x + window / 2, window_of(&s, window), window_of(&q, window));
    }
}

/* The windows of the chain; false: not one of them. */
static inline bool cost_means_by_window(const CostColumns *c, const CostMeans *m, const MeansOf *of,
                                        enum CostNeed need, int window, int from, int end)
{
    if (window != 5 && window != 9)
        return false;
    if (need == COST_MEANS && window == 5)
        cost_means_along(c, m, *of, COST_MEANS, 5, from, end);
    else if (need == COST_MEANS)
        cost_means_along(c, m, *of, COST_MEANS, 9, from, end);
    else if (window == 5)
        cost_means_along(c, m, *of, COST_TEXTURE, 5, from, end);
    else
        cost_means_along(c, m, *of, COST_TEXTURE, 9, from, end);
    return true;
}
#else
static inline bool cost_means_by_window(const CostColumns *c, const CostMeans *m, const MeansOf *of,
                                        enum CostNeed need, int window, int from, int end)
{
    (void)c, (void)m, (void)of, (void)need, (void)window, (void)from, (void)end;
    return false;
}
#endif

static inline void cost_means_part(const SdmCostJob *job, const CostScratch *s, int side, const CostMeans *m,
                                   int from, int end, enum CostNeed need)
{
    const int window = job->window, half = window / 2, n = window * window;
    const MeansOf of = {.n = n, .least = job->min_sigma * job->min_sigma * (float)n, .side = side};
    const CostColumns *const c = &s->columns[side];
    end = end < job->width - 2 * half ? end : job->width - 2 * half;
    if (from >= end || cost_means_by_window(c, m, &of, need, window, from, end))
        return;
    window_sum(c->sum + from, s->spare[0] + from, end - from, window);
    window_sum(c->squares + from, s->spare[1] + from, end - from, window);
    for (int x = from + half; x < end + half; x += SDM_VEC)
        cost_means(m, &of, need, x, vi_load(s->spare[0] + x), vi_load(s->spare[1] + x));
}

/* No window where it has nodata or leaves the image; elsewhere a texture of 0, unless textures are there. */
static inline void cost_mark_windows(const SdmCostJob *job, const CostScratch *s, int side, int y,
                                     enum CostNeed need)
{
    const int w = job->width, half = job->window / 2, last = w - 2 * half;
    const CostColumns *const c = &s->columns[side];
    const CostMeans *const m = side ? &s->right[cost_slot(job, y)] : &s->left;
    if (need == COST_NODATA)
        memset(m->texture, 0, sizeof *m->texture * (size_t)w);
    for (int from = 0, i = 0; from < last; from += COST_PART, i++) {
        const int end = from + COST_PART < last ? from + COST_PART : last;
        if (c->rows_bad[i] + c->rows_bad[i + 1] == 0)
            continue;
        window_sum(c->bad + from, s->spare[0] + from, end - from, job->window);
        for (int x = from + half; x < end + half; x++)
            cost_mark_window(m, x, s->spare[0][x] == 0);
    }
    for (int x = 0; x < half && x < w; x++) {
        cost_mark_window(m, x, false);
        cost_mark_window(m, w - 1 - x, false);
    }
    for (int x = w; x < w + COST_LANES; x++)
        cost_mark_window(m, x, false);
}

#endif
