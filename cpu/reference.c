/* The definition of every kernel of kernels.h, written from its description: no recursion, no tables of sums,
 * nothing shared with the copies that it judges, never tuned.  Proved by tests/core/test_reference.c. */
// SPDX-License-Identifier: Apache-2.0
#include "core/qa.h"
#include "kernels.h"

#include <math.h>

enum { CENSUS_X = 4, CENSUS_Y = 3, CENSUS_BITS = 62, ONE = 16384 };

/* ---- costs ---- */

enum Side { LEFT, RIGHT };

typedef struct Strip { /* what the scratch of a job holds */
    float *score, *texture[2];
    uint64_t *word[2]; /* census words of the window's rows, window x width */
} Strip;

static size_t cost_scratch_reference(int width, int window, int dmin, int dmax)
{
    const size_t w = (size_t)width, nd = (size_t)(dmax - dmin + 1);
    return 2 * (size_t)window * w * sizeof(uint64_t) + (nd + 2) * w * sizeof(float);
}

static void cut(const SdmCostJob *job, Strip *s)
{
    const size_t words = (size_t)job->window * (size_t)job->width;
    s->word[LEFT] = job->scratch;
    s->word[RIGHT] = s->word[LEFT] + words;
    s->texture[LEFT] = (float *)(void *)(s->word[RIGHT] + words);
    s->texture[RIGHT] = s->texture[LEFT] + job->width;
    s->score = s->texture[RIGHT] + job->width;
}

/* Pixel (x, y) of a view, the right one moved by right_shift; nodata where there is none. */
static int pixel(const SdmCostJob *job, enum Side side, int x, int y)
{
    const int row = side == RIGHT ? y + job->right_shift : y;
    if (x < 0 || x >= job->width || row < 0 || row >= job->height)
        return SDM_PIXEL_NODATA;
    return (side == RIGHT ? job->right : job->left)[row * job->stride + x];
}

/* Sums of the window about (x, y), the mean to the next integer, and what is left of the sum. */
typedef struct Window {
    int64_t n, sum, squares, mean, rest;
    bool nodata;
} Window;

static Window window_at(const SdmCostJob *job, enum Side side, int x, int y)
{
    const int half = job->window / 2;
    Window o = {.n = (int64_t)job->window * job->window};
    for (int j = -half; j <= half; j++)
        for (int i = -half; i <= half; i++) {
            const int64_t v = pixel(job, side, x + i, y + j);
            o.nodata = o.nodata || v == SDM_PIXEL_NODATA;
            o.sum += v;
            o.squares += v * v;
        }
    o.mean = (int64_t)floorf((float)o.sum * (1.0f / (float)o.n) + 0.5f);
    o.rest = o.sum - o.n * o.mean;
    return o;
}

/* Sum of the products of two windows' deviations from their means; products: sum of a b. */
static float covariance_of(const Window *a, const Window *b, int64_t products)
{
    const float c =
        (float)(products - b->mean * a->sum - b->rest * a->mean); /* from the integer means: exact */
    return c - (float)a->rest * (1.0f / (float)a->n) * (float)b->rest;
}

/* Texture of the window about (x, y): -1 with nodata inside, 0 when sigma <= min_sigma, else
 * 1 / sqrt(sum of squared deviations). */
static float texture_at(const SdmCostJob *job, enum Side side, int x, int y)
{
    const Window o = window_at(job, side, x, y);
    if (o.nodata)
        return -1.0f;
    const float v = covariance_of(&o, &o, o.squares), least = job->min_sigma * job->min_sigma * (float)o.n;
    return v > least ? 1.0f / sqrtf(v) : 0.0f;
}

/* Score of left pixel (x, y) and right pixel (x + d, y); both windows are whole. */
typedef float score_fn(const SdmCostJob *job, const Strip *s, int x, int y, int d);

static float zncc_at(const SdmCostJob *job, const Strip *s, int x, int y, int d)
{
    const int half = job->window / 2;
    const Window a = window_at(job, LEFT, x, y), b = window_at(job, RIGHT, x + d, y);
    int64_t products = 0;
    for (int j = -half; j <= half; j++)
        for (int i = -half; i <= half; i++)
            products += (int64_t)pixel(job, LEFT, x + i, y + j) * pixel(job, RIGHT, x + d + i, y + j);
    return covariance_of(&a, &b, products) * s->texture[LEFT][x] * s->texture[RIGHT][x + d];
}

static float sad_at(const SdmCostJob *job, const Strip *s, int x, int y, int d)
{
    (void)s;
    const int half = job->window / 2;
    int32_t n = 0, sad = 0;
    for (int j = -half; j <= half; j++)
        for (int i = -half; i <= half; i++) {
            const int32_t apart = pixel(job, LEFT, x + i, y + j) - pixel(job, RIGHT, x + d + i, y + j);
            n++;
            sad += apart < 0 ? -apart : apart;
        }
    const float score = 1.0f - (float)sad * (1.0f / (578.0f * (float)n));
    return score > -1.0f ? score : -1.0f;
}

/* A bit per neighbour of the 9 x 7 block, 1 where it is darker than the centre; nodata and rows off the image
 * are darkest, columns off the image give 0. */
static uint64_t census_word(const SdmCostJob *job, enum Side side, int x, int y)
{
    const int centre = pixel(job, side, x, y);
    uint64_t word = 0;
    for (int j = -CENSUS_Y; j <= CENSUS_Y; j++)
        for (int i = -CENSUS_X; i <= CENSUS_X; i++) {
            if (i == 0 && j == 0)
                continue;
            const bool inside = x + i >= 0 && x + i < job->width;
            word = word << 1 | (inside && pixel(job, side, x + i, y + j) < centre);
        }
    return word;
}

static void census_words(const SdmCostJob *job, const Strip *s, int y)
{
    const int half = job->window / 2, w = job->width;
    for (int side = LEFT; side <= RIGHT; side++)
        for (int j = 0; j < job->window; j++)
            for (int x = 0; x < w; x++)
                s->word[side][j * w + x] = census_word(job, (enum Side)side, x, y + j - half);
}

static float census_at(const SdmCostJob *job, const Strip *s, int x, int y, int d)
{
    (void)y;
    const int half = job->window / 2, w = job->width;
    int32_t n = 0, bits = 0;
    for (int j = 0; j < job->window; j++)
        for (int i = -half; i <= half; i++) {
            uint64_t differ = s->word[LEFT][j * w + x + i] ^ s->word[RIGHT][j * w + x + d + i];
            for (; differ != 0; differ &= differ - 1)
                bits++;
            n++;
        }
    return 1.0f - (float)bits * (2.0f / (float)(CENSUS_BITS * n));
}

static void give_row(const SdmCostJob *job, const Strip *s, int y, score_fn *score_at,
                     sdm_cost_consumer *consume, void *user)
{
    const int w = job->width;
    const SdmCostRow row = {.y = y, .width = w, .dmin = job->dmin, .dmax = job->dmax, .score = s->score,
                            .pitch = w, .left_texture = s->texture[LEFT], .right_texture = s->texture[RIGHT]};
    for (int side = LEFT; side <= RIGHT; side++)
        for (int x = 0; x < w; x++)
            s->texture[side][x] = texture_at(job, (enum Side)side, x, y);
    for (int x = 0; x < w && score_at == census_at; x++)
        s->texture[RIGHT][x] = s->texture[RIGHT][x] < 0.0f ? -1.0f : 0.0f;
    for (int d = job->dmin; d <= job->dmax && !job->along_v; d++)
        for (int x = 0; x < w; x++) {
            const bool whole = x + d >= 0 && x + d < w && s->texture[LEFT][x] >= 0.0f &&
                               s->texture[RIGHT][x + d] >= 0.0f;
            s->score[(ptrdiff_t)(d - job->dmin) * w + x] = whole ? score_at(job, s, x, y, d) : SDM_SCORE_NONE;
        }
    consume(user, &row);
}

typedef void words_fn(const SdmCostJob *job, const Strip *s, int y);

static void no_words(const SdmCostJob *job, const Strip *s, int y)
{
    (void)job, (void)s, (void)y;
}

static void nobody(void *user, const SdmCostRow *row)
{
    (void)user, (void)row;
}

/* Along v: the row of every v as a search of its own, without range. */
static void give_row_along_v(const SdmCostJob *job, const Strip *s, int y, words_fn *words,
                             score_fn *score_at, sdm_cost_consumer *consume, void *user)
{
    const int w = job->width, last = job->dmax - job->dmin;
    const SdmCostRow row = {.y = y, .width = w, .dmin = job->dmin, .dmax = job->dmax, .score = s->score,
                            .pitch = w, .left_texture = s->texture[LEFT], .right_texture = s->texture[RIGHT]};
    for (int k = last; k >= 0; k--) { /* dmin last: its texture is given */
        SdmCostJob one = *job;
        Strip at = *s;
        one.along_v = false;
        one.right_shift += job->dmin + k;
        one.dmin = one.dmax = 0;
        at.score = s->score + (ptrdiff_t)k * w;
        words(&one, &at, y);
        give_row(&one, &at, y, score_at, nobody, NULL);
    }
    consume(user, &row);
}

static void give_rows(const SdmCostJob *job, words_fn *words, score_fn *score_at, sdm_cost_consumer *consume,
                      void *user)
{
    Strip s;
    cut(job, &s);
    for (int y = job->row_begin; y < job->row_end; y++) {
        if (job->along_v) {
            give_row_along_v(job, &s, y, words, score_at, consume, user);
            continue;
        }
        words(job, &s, y);
        give_row(job, &s, y, score_at, consume, user);
    }
}

static void zncc_reference(const SdmCostJob *job, sdm_cost_consumer *consume, void *user)
{
    give_rows(job, no_words, zncc_at, consume, user);
}

static void sad_reference(const SdmCostJob *job, sdm_cost_consumer *consume, void *user)
{
    give_rows(job, no_words, sad_at, consume, user);
}

static void census_reference(const SdmCostJob *job, sdm_cost_consumer *consume, void *user)
{
    give_rows(job, census_words, census_at, consume, user);
}

/* ---- resampling ---- */

/* floor(a / b + 1/2), b > 0 */
static int64_t round_half_up(int64_t a, int64_t b)
{
    const int64_t num = 2 * a + b, den = 2 * b;
    return num >= 0 ? num / den : -((den - 1 - num) / den);
}

/* Position along one axis in 1/256 px from the cell's origin, kept within +-8e6. */
static int32_t position(const float c[6], float f, float t)
{
    const float p = (c[0] + f * c[1]) + t * ((c[2] + f * c[3]) + t * (c[4] + f * c[5]));
    const float q = p * 256.0f + 0.5f;
    return (int32_t)floorf(fminf(fmaxf(q, -8e6f), 8e6f));
}

static int16_t sample(const SdmWarpRow *in, int64_t col256, int64_t row256)
{
    const int px = (int)(col256 & 255), py = (int)(row256 & 255);
    const int64_t col = (col256 - px) / 256, row = (row256 - py) / 256;
    int64_t sum = 0;
    for (int j = 0; j < 4; j++) {
        int64_t line = 0;
        for (int i = 0; i < 4; i++) {
            const int64_t x = col - 1 + i, y = row - 1 + j;
            if (x < 0 || y < 0 || x >= in->source_width || y >= in->source_height)
                return SDM_PIXEL_NODATA;
            const int16_t v = in->source[y * in->source_stride + x];
            if (v == SDM_PIXEL_NODATA)
                return SDM_PIXEL_NODATA;
            line += (int64_t)v * sdm_cubic_weights[px][i];
        }
        sum += round_half_up(line, ONE / 8) * sdm_cubic_weights[py][j]; /* lines keep three fractional bits */
    }
    const int64_t value = round_half_up(sum, (int64_t)8 * ONE);
    return (int16_t)(value > 2047 ? 2047 : value < -2047 ? -2047 : value);
}

static void warp_row_reference(const SdmWarpRow *in, int16_t *out)
{
    for (int x = 0; x < in->width; x++) {
        int c = 0;
        while (c + 1 < in->cell_count && in->cell_begin[c + 1] <= x)
            c++;
        const SdmWarpCell *const cell = &in->cells[c];
        const float f = in->fraction[x], t = in->surface_m ? in->surface_m[x] - in->height0_m : 0.0f;
        const int64_t col = (int64_t)cell->origin_col - in->source_col0;
        const int64_t row = (int64_t)cell->origin_row - in->source_row0;
        out[x] = sample(in, col * 256 + position(cell->col, f, t), row * 256 + position(cell->row, f, t));
    }
}

static void half_row_reference(const int16_t *const src[4], int width, int16_t *out)
{
    static const int weight[4] = {1, 3, 3, 1};
    for (int x = 0; x < width; x++) {
        int64_t sum = 0, have = 0;
        for (int j = 0; j < 4; j++)
            for (int i = 0; i < 4; i++)
                if (src[j][2 * x - 1 + i] != SDM_PIXEL_NODATA) {
                    sum += weight[j] * weight[i] * src[j][2 * x - 1 + i];
                    have += weight[j] * weight[i];
                }
        out[x] = have > 32 ? (int16_t)round_half_up(sum, have) : (int16_t)SDM_PIXEL_NODATA;
    }
}

/* ---- pick ---- */

/* Score at (x, d); SDM_SCORE_NONE off the row or the range. */
static float score_of(const SdmCostRow *r, int x, int d)
{
    if (x < 0 || x >= r->width || d < r->dmin || d > r->dmax)
        return SDM_SCORE_NONE;
    return r->score[(ptrdiff_t)(d - r->dmin) * r->pitch + x];
}

/* Best d of a pixel along the line x + slope * d of the volume (slope 0: left pixel, -1: right pixel), the
 * smallest of equals.  False: no score at all. */
static bool best_along(const SdmCostRow *r, int x, int slope, int *best)
{
    float top = SDM_SCORE_NONE;
    for (int d = r->dmin; d <= r->dmax; d++)
        if (score_of(r, x + slope * d, d) > top) {
            top = score_of(r, x + slope * d, d);
            *best = d;
        }
    return top > SDM_SCORE_NONE;
}

/* Vertex of the parabola through three scores one pixel apart, -0.5..0.5; 0 where it has none. */
static float vertex(float before, float at, float after)
{
    const float bend = before - 2.0f * at + after;
    return bend < 0.0f ? fminf(fmaxf(0.5f * (before - after) / bend, -0.5f), 0.5f) : 0.0f;
}

typedef struct Curve { /* scores at d - 1, d, d + 1 on a line of the volume */
    float before, at, after;
} Curve;

static Curve curve_of(const SdmCostRow *r, int x, int slope, int d)
{
    return (Curve){score_of(r, x + slope * (d - 1), d - 1), score_of(r, x + slope * d, d),
                   score_of(r, x + slope * (d + 1), d + 1)};
}

static bool whole(const Curve *c)
{
    return c->before > SDM_SCORE_NONE && c->after > SDM_SCORE_NONE;
}

/* Best d of a pixel with its vertex, from the curve of this view alone. */
static float sub_pixel(const SdmCostRow *r, int x, int slope, int d)
{
    const Curve c = curve_of(r, x, slope, d);
    return whole(&c) ? (float)d + vertex(c.before, c.at, c.after) : (float)d;
}

/* The same from the sum of the left pixel's curve and the right pixel's, where that one is whole; see
 * SdmPickRow. */
static float sub_pixel_both(const SdmCostRow *r, int x, int d)
{
    const Curve left = curve_of(r, x, 0, d), right = curve_of(r, x + d, -1, d);
    if (!whole(&left) || !whole(&right))
        return sub_pixel(r, x, 0, d);
    return (float)d + vertex(left.before + right.before, left.at + right.at, left.after + right.after);
}

static void pick_row_reference(const SdmCostRow *r, const SdmPickRow *out)
{
    for (int x = 0; x < r->width; x++) {
        int d = 0, back = 0;
        const bool any = best_along(r, x, 0, &d);
        out->residual[x] = any ? sub_pixel_both(r, x, d) : 0.0f;
        out->score[x] = score_of(r, any ? x : -1, d);
        out->edge[x] = any && r->dmax > r->dmin && (d == r->dmin || d == r->dmax);
        if (out->mismatch) {
            out->mismatch[x] = 1e9f;
            if (any && best_along(r, x + d, -1, &back))
                out->mismatch[x] = fabsf(sub_pixel(r, x, 0, d) - sub_pixel(r, x + d, -1, back));
        }
        if (!out->runner_up)
            continue;
        out->runner_up[x] = SDM_SCORE_NONE;
        for (int e = r->dmin; any && e <= r->dmax; e++)
            if (e - d >= 2 || d - e >= 2)
                out->runner_up[x] = fmaxf(out->runner_up[x], score_of(r, x, e));
    }
    for (int x = 0; x < r->width && out->mismatch; x++) {
        int back = 0;
        out->right_best[x] = best_along(r, x, -1, &back) ? sub_pixel(r, x, -1, back) : 0.0f;
    }
}

/* ---- update ---- */

static uint16_t reason_of(const SdmUpdateRow *u, int x)
{
    const float slope = x > 0 && x + 1 < u->width ? (u->prior[x + 1] - u->prior[x - 1])
                        : u->width == 1           ? 0.0f
                        : x > 0                   ? u->prior[x] - u->prior[x - 1]
                                                  : u->prior[1] - u->prior[0];
    const float share = 1.0f + u->du_dh[x] * slope / (x > 0 && x + 1 < u->width ? 2.0f : 1.0f);
    if (u->texture[x] < 0.0f || (u->texture[x] > 0.0f && u->score[x] == SDM_SCORE_NONE))
        return SDM_QA_OUTSIDE;
    if (u->texture[x] == 0.0f)
        return SDM_QA_TEXTURELESS;
    if (u->score[x] < u->min_score)
        return SDM_QA_LOW_SCORE;
    if (u->mismatch != NULL && u->mismatch[x] > u->max_mismatch)
        return SDM_QA_LEFT_RIGHT;
    if ((u->not_at_edge && u->edge[x] != 0) ||
        (u->runner_up != NULL && u->score[x] - u->runner_up[x] < u->min_margin))
        return SDM_QA_AMBIGUOUS;
    return share < 0.1f ? SDM_QA_FOLD : SDM_QA_VALID;
}

static void update_row_reference(const SdmUpdateRow *u)
{
    for (int x = 0; x < u->width; x++) {
        if (u->keep_valid && (u->flags[x] & SDM_QA_VALID) != 0)
            continue;
        if ((u->flags[x] & SDM_QA_VALID) != 0 && u->quality[x] < u->bears) {
            u->h_m[x] = u->prior[x];
            continue;
        }
        const float d = u->residual[x], whole = floorf(d);
        const int64_t i = x + (int64_t)whole, last = u->width - 1;
        const float a = u->prior[i < 0      ? 0
                                 : i > last ? last
                                            : i],
                    b = u->prior[i < 0       ? 0
                                 : i >= last ? last
                                             : i + 1];
        const float prior = i < 0 || i >= last ? a : a + (d - whole) * (b - a);
        u->flags[x] = reason_of(u, x);
        u->h_m[x] = u->flags[x] == SDM_QA_VALID ? prior + d / u->du_dh[x] : u->prior[x];
        u->quality[x] = (uint8_t)(fmaxf(u->score[x], 0.0f) * 250.0f + (u->score[x] > 0.0f ? 0.5f : 0.0f));
    }
}

/* ---- filters ---- */

/* Middle of n values, the mean of the middle two of an even number; v is ordered on return. */
static float middle(float *v, int n)
{
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && v[j] < v[j - 1]; j--) {
            const float t = v[j];
            v[j] = v[j - 1];
            v[j - 1] = t;
        }
    return n % 2 ? v[n / 2] : 0.5f * (v[n / 2 - 1] + v[n / 2]);
}

static void median_row_reference(const float *const row[3], const uint16_t *const valid[3], int width,
                                 float *out)
{
    for (int x = 0; x < width; x++) {
        float v[9];
        int n = 0;
        for (int j = 0; j < 3; j++)
            for (int i = x - 1; i <= x + 1; i++)
                if (i >= 0 && i < width && (valid[j][i] & 1))
                    v[n++] = row[j][i];
        const bool inside = x > 0 && x < width - 1;
        out[x] = inside && (valid[1][x] & 1) && n >= 5 ? middle(v, n) : row[1][x];
    }
}

static float between(float v, float lo, float hi)
{
    return fminf(fmaxf(v, lo), hi);
}

static void change_row_reference(const float *h_m, const float *prior_m, const uint16_t *valid, int width,
                                 float unit_m, int16_t *out)
{
    for (int x = 0; x < width; x++) {
        const float c =
            floorf(between((h_m[x] - prior_m[x]) * (256.0f / unit_m) + 0.5f, -16000.0f, 16000.0f));
        out[x] = (valid[x] & 1) != 0 ? (int16_t)c : SDM_CHANGE_NONE;
    }
}

static void agree_row_reference(const int16_t *const *row, int half, int width, uint8_t *count)
{
    for (int x = 0; x < width; x++) {
        count[x] = 0;
        for (int j = 0; j <= 2 * half; j++)
            for (int i = x - half; i <= x + half; i++) {
                if (row[j] == NULL || i < 0 || i >= width)
                    continue;
                const int a = row[half][x], b = row[j][i];
                if (a != SDM_CHANGE_NONE && b != SDM_CHANGE_NONE && a - b <= 256 && b - a <= 256)
                    count[x]++;
            }
    }
}

static void add_changes_reference(const float *h_m, const float *prior_m, const uint16_t *valid, int width,
                                  int sign, int32_t *sum, int32_t *count)
{
    for (int x = 0; x < width; x++)
        if ((valid[x] & 1) != 0) {
            const float c = between((h_m[x] - prior_m[x]) * 64.0f + 0.5f, -960000.0f, 960000.0f);
            sum[x] += sign * (int32_t)floorf(c);
            count[x] += sign;
        }
}

static void gap_row_reference(const float *const score[3], int width, float *gap_v, uint8_t *quality)
{
    for (int x = 0; x < width; x++) {
        const float before = score[0][x], at = score[1][x], after = score[2][x],
                    bend = before - 2.0f * at + after;
        const bool peak = at > 0.0f && bend < -0.06f;
        const bool all = before > SDM_SCORE_NONE && at > SDM_SCORE_NONE && after > SDM_SCORE_NONE;
        gap_v[x] = NAN;
        if (all && peak)
            gap_v[x] = between(0.5f * (before - after) / bend, -2.0f, 2.0f);
        else if (all && at < 0.7f)
            gap_v[x] = 2.0f;
        quality[x] = at > 0.0f ? (uint8_t)(at * 250.0f + 0.5f) : 0;
    }
}

static void refine_row_reference(const float *upper, const float *lower, float share_low, int pairs,
                                 float *out)
{
    for (int i = 0; i < 2 * pairs; i++) {
        const float share = i % 2 ? 0.75f : 0.25f;
        const float top = upper[i / 2] + share * (upper[i / 2 + 1] - upper[i / 2]);
        const float low = lower[i / 2] + share * (lower[i / 2 + 1] - lower[i / 2]);
        out[i] = top + share_low * (low - top);
    }
}

static void spread_points_reference(const SdmSpread *s, const SdmSpreadPoint *points, int count)
{
    for (int row = 0; row < s->rows; row++)
        for (int col = 0; col < s->cols; col++)
            for (int n = 0; n < count; n++) {
                const SdmSpreadPoint *const p = &points[n];
                const int64_t dx = col * 256 + 128 - p->x, dy = row * 256 + 128 - p->y;
                if (dx > s->radius || dx < -s->radius || dy > s->radius || dy < -s->radius)
                    continue;
                const int64_t weight =
                    (int64_t)s->table[dx < 0 ? -dx : dx] * s->table[dy < 0 ? -dy : dy] / 1024;
                const int64_t coarse = (p->h - ((p->h % 4) + 4) % 4) / 4;
                int64_t *const c = s->cell + 8 * ((ptrdiff_t)row * s->pitch + col);
                c[0] += weight * p->valid;
                c[1] += weight * p->valid * p->h;
                c[2] += weight * p->valid * coarse * coarse;
                c[3] += weight * p->valid * p->score;
                c[4] += weight * p->valid * p->gap;
                c[5] += weight * p->valid * p->filled;
                c[6] += weight * p->seen;
                c[7] += weight * p->seen * p->image;
            }
}

static void smooth_row_reference(const float *const row[3], int width, float *out)
{
    for (int x = 0; x < width; x++) {
        float column[3]; /* at x - 1, x, x + 1 */
        for (int i = 0; i < 3; i++) {
            const int at = x + i - 1 < 0 ? 0 : x + i - 1 >= width ? width - 1 : x + i - 1;
            column[i] = row[0][at] + 2.0f * row[1][at] + row[2][at];
        }
        out[x] = (column[0] + 2.0f * column[1] + column[2]) * 0.0625f;
    }
}

const SdmKernels sdm_kernels_reference = {
    .cost_scratch = cost_scratch_reference,
    .zncc = zncc_reference,
    .census = census_reference,
    .sad = sad_reference,
    .warp_row = warp_row_reference,
    .half_row = half_row_reference,
    .pick_row = pick_row_reference,
    .update_row = update_row_reference,
    .median_row = median_row_reference,
    .change_row = change_row_reference,
    .agree_row = agree_row_reference,
    .add_changes = add_changes_reference,
    .gap_row = gap_row_reference,
    .refine_row = refine_row_reference,
    .spread_points = spread_points_reference,
    .smooth_row = smooth_row_reference,
};
