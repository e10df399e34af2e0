/* The definition of the costs of kernels.h: two images -> rows of scores.  See reference.c. */
// SPDX-License-Identifier: Apache-2.0
#include "reference.h"

#include <math.h>

enum Side { LEFT, RIGHT };

typedef struct Strip { /* what the scratch of a job holds */
    float *score, *texture[2];
    uint32_t *word[2]; /* census words of the window's rows, window x width */
} Strip;

size_t sdm_reference_cost_scratch(int width, int window, int dmin, int dmax)
{
    const size_t w = (size_t)width, nd = (size_t)(dmax - dmin + 1);
    return 2 * (size_t)window * w * sizeof(uint32_t) + (nd + 2) * w * sizeof(float);
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

/* Sums of the window around (x, y), the mean rounded to an integer, and the remainder of the sum. */
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

/* A bit per neighbour of the word, 1 where it is darker than the centre; nodata and rows off the image are
 * darkest, columns off the image give 0. */
static uint32_t census_word(const SdmCostJob *job, enum Side side, int x, int y)
{
    const int centre = pixel(job, side, x, y);
    uint32_t word = 0;
    for (int j = -SDM_CENSUS_HALF_Y; j <= SDM_CENSUS_HALF_Y; j++)
        for (int i = -SDM_CENSUS_HALF_X; i <= SDM_CENSUS_HALF_X; i++) {
            if (!sdm_in_census_word(i, j))
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
            uint32_t differ = s->word[LEFT][j * w + x + i] ^ s->word[RIGHT][j * w + x + d + i];
            for (; differ != 0; differ &= differ - 1)
                bits++;
            n++;
        }
    return 1.0f - (float)bits * (2.0f / (float)(SDM_CENSUS_BITS * n));
}

static void give_row(const SdmCostJob *job, const Strip *s, int y, score_fn *score_at,
                     sdm_cost_consumer *consume, void *user)
{
    const int w = job->width;
    const SdmCostRow row = {.y = y,
                            .width = w,
                            .dmin = job->dmin,
                            .dmax = job->dmax,
                            .score = s->score,
                            .pitch = w,
                            .left_texture = s->texture[LEFT]};
    for (int side = LEFT; side <= RIGHT; side++)
        for (int x = 0; x < w; x++)
            s->texture[side][x] = texture_at(job, (enum Side)side, x, y);
    for (int d = job->dmin; d <= job->dmax && !job->along_v; d++)
        for (int x = 0; x < w; x++) {
            const bool whole =
                x + d >= 0 && x + d < w && s->texture[LEFT][x] >= 0.0f && s->texture[RIGHT][x + d] >= 0.0f;
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

/* Along v: each v is a search of its own with one disparity. */
static void give_row_along_v(const SdmCostJob *job, const Strip *s, int y, words_fn *words,
                             score_fn *score_at, sdm_cost_consumer *consume, void *user)
{
    const int w = job->width, last = job->dmax - job->dmin;
    const SdmCostRow row = {.y = y,
                            .width = w,
                            .dmin = job->dmin,
                            .dmax = job->dmax,
                            .score = s->score,
                            .pitch = w,
                            .left_texture = s->texture[LEFT]};
    for (int k = 0; k <= last; k++) {
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

void sdm_reference_zncc(const SdmCostJob *job, sdm_cost_consumer *consume, void *user)
{
    give_rows(job, no_words, zncc_at, consume, user);
}

void sdm_reference_census(const SdmCostJob *job, sdm_cost_consumer *consume, void *user)
{
    give_rows(job, census_words, census_at, consume, user);
}
