/* The definition of rectified matching (docs/match.md), written from its description: no recursion, no
 * vectors, nothing shared with the kernels that are compared with it.
 *
 * A window position off the image takes the sample (census: the word) of the nearest pixel.  A window with
 * nodata in it or without texture has no cost.  Costs are 16 bit, smaller is better, NONE where there is
 * none. */
// SPDX-License-Identifier: Apache-2.0
#include "core/arena.h"
#include "core/math.h"
#include "pair_kernels.h"

#include <math.h>

enum { NONE = 0xFFFF, ZNCC_ONE = 32000, WORDS = 2 };

typedef struct Pair { /* a row being matched */
    const SdmPairReference *set;
    int y, width, n;     /* n: samples in a window */
    int reach;           /* window columns -reach..window - 1 - reach, rows alike */
    uint16_t *cost;      /* width x (dmax - dmin + 1) */
    float *texture[2];   /* width: 0 = the window has no cost */
    uint64_t *word[2];   /* window rows x width x WORDS */
    int32_t *right_best; /* width: d of the right pixel's best, INT32_MIN if none */
} Pair;

static int depth(const SdmPairReference *set)
{
    return set->dmax - set->dmin + 1;
}

static void take_scratch(Pair *p, SdmArena *arena)
{
    const size_t w = (size_t)p->width, words = w * (size_t)p->set->window * WORDS;
    for (int side = 0; side < 2; side++) {
        p->word[side] = sdm_arena_take(arena, words, sizeof *p->word[side]);
        p->texture[side] = sdm_arena_take(arena, w, sizeof *p->texture[side]);
    }
    p->right_best = sdm_arena_take(arena, w, sizeof *p->right_best);
    p->cost = sdm_arena_take(arena, w * (size_t)depth(p->set), sizeof *p->cost);
}

size_t sdm_pair_reference_scratch(const SdmPairReference *set)
{
    SdmArena arena = {NULL, 0};
    take_scratch(&(Pair){.set = set, .width = set->image[0]->width}, &arena);
    return arena.used;
}

/* Off the image the nearest pixel's. */
static int sample(const Pair *p, int side, int x, int y)
{
    const SdmPairImage *const im = p->set->image[side];
    const ptrdiff_t at = sdm_clamp(y, 0, im->height - 1) * im->stride + sdm_clamp(x, 0, im->width - 1);
    return im->bytes ? im->bytes[at] : im->data[at];
}

static bool eight_bit(const Pair *p)
{
    return p->set->image[0]->eight_bit && p->set->image[1]->eight_bit;
}

/* As ZNCC takes it: 8 bit about 0. */
static int centred(const Pair *p, int side, int x, int y)
{
    return sample(p, side, x, y) - (p->set->image[side]->eight_bit ? 128 : 0);
}

typedef struct Sums { /* of one window */
    int64_t sum, squares;
    bool nodata;
} Sums;

static Sums sums_at(const Pair *p, int side, int x)
{
    Sums s = {0, 0, false};
    const int lo = -p->reach, hi = p->set->window - 1 - p->reach;
    for (int j = lo; j <= hi; j++)
        for (int i = lo; i <= hi; i++) {
            const int64_t v = centred(p, side, x + i, p->y + j);
            s.nodata |= sample(p, side, x + i, p->y + j) == SDM_PIXEL_NODATA;
            s.sum += v;
            s.squares += v * v;
        }
    return s;
}

/* 1 / (n sigma) of the window, 0 where it has no cost: nodata inside or, where texture is asked for (always
 * by ZNCC), a standard deviation of at most min_sigma. */
static float texture_at(const Pair *p, int side, int x)
{
    const Sums s = sums_at(p, side, x);
    const float least = p->set->min_sigma * (float)p->n, variance = (float)(p->n * s.squares - s.sum * s.sum);
    if (s.nodata)
        return 0.0f;
    if (p->set->cost != SDM_PAIR_ZNCC && p->set->min_sigma <= 0.0f)
        return 1.0f;
    return variance > least * least ? 1.0f / sqrtf(variance) : 0.0f;
}

/* ---- costs of left pixel x and right pixel xr ---- */

/* Sum of absolute differences, halved as often as 16 bits need. */
static uint16_t sad_at(const Pair *p, int x, int xr)
{
    const int lo = -p->reach, hi = p->set->window - 1 - p->reach;
    int sad = 0, shift = 0;
    for (int j = lo; j <= hi; j++)
        for (int i = lo; i <= hi; i++) {
            const int apart = sample(p, 0, x + i, p->y + j) - sample(p, 1, xr + i, p->y + j);
            sad += apart < 0 ? -apart : apart;
        }
    while ((p->n * (eight_bit(p) ? 255 : 4094)) >> shift >= NONE)
        shift++;
    return (uint16_t)(sad >> shift);
}

static int64_t products_at(const Pair *p, int x, int xr)
{
    const int lo = -p->reach, hi = p->set->window - 1 - p->reach;
    int64_t sum = 0;
    for (int j = lo; j <= hi; j++)
        for (int i = lo; i <= hi; i++)
            sum += (int64_t)centred(p, 0, x + i, p->y + j) * centred(p, 1, xr + i, p->y + j);
    return sum;
}

static int64_t rounded_mean(int64_t sum, int n)
{
    return (int64_t)floor((double)(2 * sum + n) / (2.0 * n));
}

/* 32000 (1 - ZNCC), rounded.  With a = n ma + ra, b = n mb + rb the sums of the windows, n cov = SIJ - a b /
 * n is (SIJ - n ma mb - ma rb - mb ra) - ra rb / n, whose bracket is an integer; where n SIJ - a b fits 32
 * bits it is used. */
static uint16_t zncc_at(const Pair *p, int x, int xr)
{
    const Sums l = sums_at(p, 0, x), r = sums_at(p, 1, xr);
    const int64_t products = products_at(p, x, xr);
    const float n = (float)p->n, left = p->texture[0][x] * (float)ZNCC_ONE, right = p->texture[1][xr];
    if (eight_bit(p) && p->n <= 225) {
        const float covariance = (float)(p->n * products - l.sum * r.sum);
        return (uint16_t)(ZNCC_ONE - (int)nearbyintf(covariance * right * left));
    }
    const int64_t ma = rounded_mean(l.sum, p->n), mb = rounded_mean(r.sum, p->n);
    const int64_t ra = l.sum - p->n * ma, rb = r.sum - p->n * mb;
    const float whole = (float)(products - p->n * ma * mb - ma * rb - mb * ra);
    const float rest = (float)ra * (1.0f / n) * (float)rb;
    return (uint16_t)(ZNCC_ONE - (int)nearbyintf((whole - rest) * right * (left * n)));
}

static int ones(uint64_t v)
{
    int n = 0;
    for (; v; v &= v - 1)
        n++;
    return n;
}

/* Hamming distance of the census words, summed over the window. */
static uint16_t census_at(const Pair *p, int x, int xr)
{
    const int w = p->width, hi = p->set->window - 1 - p->reach;
    int sum = 0;
    for (int j = 0; j < p->set->window; j++)
        for (int i = -p->reach; i <= hi; i++)
            for (int k = 0; k < WORDS; k++)
                sum += ones(p->word[0][(j * w + sdm_clamp(x + i, 0, w - 1)) * WORDS + k] ^
                            p->word[1][(j * w + sdm_clamp(xr + i, 0, w - 1)) * WORDS + k]);
    return (uint16_t)sum;
}

/* A bit per neighbour of the block, 1 where it is darker than the middle (nodata is darkest). */
static void census_word(const Pair *p, int side, int x, int y, uint64_t out[WORDS])
{
    const int rx = p->set->census_width / 2, ry = p->set->census_height / 2;
    int bit = 0;
    out[0] = out[1] = 0;
    for (int j = -ry; j <= ry; j++)
        for (int i = -rx; i <= rx; i++)
            if (i || j) {
                const uint64_t darker = sample(p, side, x + i, y + j) < sample(p, side, x, y);
                out[bit / 64] |= darker << bit % 64;
                bit++;
            }
}

static void prepare(Pair *p)
{
    const int last = p->set->image[0]->height - 1;
    for (int side = 0; side < 2; side++)
        for (int x = 0; x < p->width; x++) {
            p->texture[side][x] = texture_at(p, side, x);
            for (int j = 0; j < p->set->window && p->set->cost == SDM_PAIR_CENSUS; j++)
                census_word(p, side, x, sdm_clamp(p->y + j - p->reach, 0, last),
                            p->word[side] + (ptrdiff_t)(j * p->width + x) * WORDS);
        }
}

static uint16_t cost_at(const Pair *p, int x, int d)
{
    const int xr = x - d;
    if (xr < 0 || xr >= p->width || p->texture[0][x] <= 0.0f || p->texture[1][xr] <= 0.0f)
        return NONE;
    return p->set->cost == SDM_PAIR_SAD    ? sad_at(p, x, xr)
           : p->set->cost == SDM_PAIR_ZNCC ? zncc_at(p, x, xr)
                                           : census_at(p, x, xr);
}

/* ---- the choice ---- */

static int cost_of(const Pair *p, int x, int d)
{
    if (d < p->set->dmin || d > p->set->dmax || x < 0 || x >= p->width)
        return NONE;
    return p->cost[(ptrdiff_t)x * depth(p->set) + d - p->set->dmin];
}

/* The best d of the right pixel xr: the same volume on its diagonal; of equal ones the smallest. */
static int32_t right_best_at(const Pair *p, int xr)
{
    int best = NONE;
    int32_t at = INT32_MIN;
    for (int d = p->set->dmin; d <= p->set->dmax; d++)
        if (cost_of(p, xr + d, d) < best) {
            best = cost_of(p, xr + d, d);
            at = d;
        }
    return at;
}

/* Is there a cost more than 1 px away that the best does not beat by the share asked? */
static bool ambiguous(const Pair *p, int x, int best)
{
    const float limit = (float)cost_of(p, x, best) * (1.0f + p->set->uniqueness);
    for (int d = p->set->dmin; d <= p->set->dmax; d++)
        if ((d < best - 1 || d > best + 1) && cost_of(p, x, d) != NONE && (float)cost_of(p, x, d) <= limit)
            return true;
    return false;
}

/* -0.5..0.5 px: where the curve through the costs at d - 1, d, d + 1 is least; 0 without both neighbours.
 * ZNCC is round at its top (parabola); sums of magnitudes are a V (two lines of opposite slope). */
static float subpixel(const Pair *p, int x, int d)
{
    const int before = cost_of(p, x, d - 1), best = cost_of(p, x, d), after = cost_of(p, x, d + 1);
    const int steeper = before > after ? before : after;
    const int below = p->set->cost == SDM_PAIR_ZNCC ? before + after - 2 * best : steeper - best;
    if (before == NONE || after == NONE || below <= 0)
        return 0.0f;
    return (float)(before - after) / (float)(2 * below);
}

static float choose(const Pair *p, int x)
{
    int best = p->set->dmin;
    for (int d = p->set->dmin; d <= p->set->dmax; d++)
        if (cost_of(p, x, d) < cost_of(p, x, best))
            best = d;
    if (cost_of(p, x, best) == NONE)
        return NAN;
    const int apart = best - p->right_best[x - best];
    if (p->set->lr_threshold >= 0.0f && (float)(apart < 0 ? -apart : apart) > p->set->lr_threshold)
        return NAN;
    if (p->set->uniqueness > 0.0f && ambiguous(p, x, best))
        return NAN;
    return (float)best + (p->set->subpixel ? subpixel(p, x, best) : 0.0f);
}

void sdm_pair_reference_row(const SdmPairReference *set, int y, void *scratch, float *disparity)
{
    Pair p = {.set = set,
              .y = y,
              .width = set->image[0]->width,
              .n = set->window * set->window,
              .reach = set->window / 2};
    take_scratch(&p, &(SdmArena){scratch, 0});
    prepare(&p);
    for (int x = 0; x < p.width; x++)
        for (int d = set->dmin; d <= set->dmax; d++)
            p.cost[(ptrdiff_t)x * depth(set) + d - set->dmin] = cost_at(&p, x, d);
    for (int xr = 0; xr < p.width; xr++)
        p.right_best[xr] = right_best_at(&p, xr);
    for (int x = 0; x < p.width; x++)
        disparity[x] = choose(&p, x);
}
