/* Statistics of windows; winners of chunks -> winners of all -> disparities.  Plain loops that the
 * compiler turns into vectors. */
// SPDX-License-Identifier: Apache-2.0
#include "pair_kernels.h"

#include <math.h>
#include <string.h>

extern sdm_pair_merge_fn SDM_NAME(pair_merge);
extern sdm_pair_finish_fn SDM_NAME(pair_finish);
extern sdm_pair_agree_fn SDM_NAME(pair_agree);
extern sdm_pair_columns_fn SDM_NAME(pair_columns);
extern sdm_pair_window_fn SDM_NAME(pair_window);

static inline uint16_t least(uint16_t a, uint16_t b)
{
    return a < b ? a : b;
}

/* The fields of winners. */
typedef struct Fields {
    uint16_t *cost, *d, *around, *first, *last, *second;
} Fields;
static inline Fields fields(const uint16_t *winners)
{
    uint16_t *const w = (uint16_t *)(uintptr_t)winners;
    return (Fields){.cost = w + SDM_PAIR_COST * SDM_PAIR_STRIP,
                    .d = w + SDM_PAIR_D * SDM_PAIR_STRIP,
                    .around = w + SDM_PAIR_AROUND * SDM_PAIR_STRIP,
                    .first = w + SDM_PAIR_FIRST * SDM_PAIR_STRIP,
                    .last = w + SDM_PAIR_LAST * SDM_PAIR_STRIP,
                    .second = w + SDM_PAIR_SECOND * SDM_PAIR_STRIP};
}

/* The runner-up of two chunks.  If both winners are adjacent across the boundary of the chunks, the
 * loser cannot be the runner-up: its chunk offers the smaller of its own runner-up and the cost on the far
 * side of its winner. */
static void merge_seconds(Fields a, Fields b, int pixels, int seam)
{
#pragma omp simd
    for (int i = 0; i < pixels; i++) {
        const bool b_wins = b.cost[i] < a.cost[i], near = a.d[i] + 1 == seam && b.d[i] == seam;
        const uint16_t of_a = near ? least(a.second[i], a.around[2 * i + 1]) : a.cost[i];
        const uint16_t of_b = near ? least(b.second[i], b.around[2 * i]) : b.cost[i];
        a.second[i] = b_wins ? least(b.second[i], of_a) : least(a.second[i], of_b);
    }
}

/* The costs at d + 1 (low 16 bits) and d - 1 (high 16 bits) of each winner.  Where a winner stands at the
 * boundary of the chunks, one of them comes from the other chunk. */
static void merge_arounds(Fields a, Fields b, int pixels, int seam)
{
#pragma omp simd
    for (int i = 0; i < pixels; i++) {
        uint32_t of_a, of_b;
        memcpy(&of_a, a.around + 2 * i, sizeof of_a);
        memcpy(&of_b, b.around + 2 * i, sizeof of_b);
        const uint32_t first = b.first[i], last = a.last[i], low = 0xFFFF;
        of_a = a.d[i] + 1 == seam ? (of_a & ~low) | first : of_a;
        of_b = b.d[i] == seam ? (of_b & low) | last << 16 : of_b;
        of_a = b.cost[i] < a.cost[i] ? of_b : of_a;
        memcpy(a.around + 2 * i, &of_a, sizeof of_a);
    }
}

void SDM_NAME(pair_merge)(uint16_t *into, const uint16_t *from, int pixels, int seam, bool unique)
{
    const Fields a = fields(into), b = fields(from);
    if (unique)
        merge_seconds(a, b, pixels, seam);
    merge_arounds(a, b, pixels, seam);
#pragma omp simd
    for (int i = 0; i < pixels; i++) {
        const bool b_wins = b.cost[i] < a.cost[i];
        a.d[i] = b_wins ? b.d[i] : a.d[i];
        a.cost[i] = b_wins ? b.cost[i] : a.cost[i];
        a.last[i] = b.last[i];
    }
}

/* Disparities of winners, in integers and without branches, so that the compiler makes vectors of the
 * loop. */
static void disparities(const SdmPairFinish *set, Fields w, float *restrict disparity)
{
    const SdmPairFinish f = *set;
    const int flat = !f.subpixel;
    for (int i = 0; i < f.pixels; i++) {
        const int d = w.d[i], before = w.around[2 * i + 1], after = w.around[2 * i], best = w.cost[i];
        const int steeper = before > after ? before : after;
        const int below = f.parabola ? before + after - 2 * best : steeper - best;
        const int none = flat | (d == 0) | (d + 1 == f.depth) | (steeper == SDM_PAIR_NONE) | (below <= 0);
        const int rise = none ? 0 : before - after, run = none ? 1 : 2 * below;
        const float at = f.dmin + (float)d + (float)rise / (float)run;
        disparity[i] = best == SDM_PAIR_NONE ? NAN : at;
    }
}

void SDM_NAME(pair_finish)(const SdmPairFinish *set, const uint16_t *winners, float *disparity)
{
    const Fields w = fields(winners);
    disparities(set, w, disparity);
    for (int i = 0; set->limit > 0.0f && i < set->pixels; i++)
        if (w.second[i] != SDM_PAIR_NONE && (float)w.second[i] <= (float)w.cost[i] * set->limit)
            disparity[i] = NAN;
}

/* Without branches, which would be mispredicted at every second pixel of noise. */
void SDM_NAME(pair_agree)(const uint16_t *left_d, const uint32_t *right_best, int count, uint32_t most,
                          float *disparity)
{
#pragma omp simd
    for (int x = 0; x < count; x++) {
        const uint32_t d = left_d[x], apart = d - (right_best[x - (int)d] >> 16); /* modulo 2^32 */
        disparity[x] = apart + most > 2 * most ? NAN : disparity[x];
    }
}

static inline __attribute__((always_inline)) void move_columns(const SdmPairColumns *columns,
                                                               const int16_t *add, const int16_t *drop,
                                                               int count, int centre, bool holes)
{
    int32_t *const sum = columns->sum, *const squares = columns->squares;
#pragma omp simd
    for (int x = 0; x < count; x++) {
        const int enters = holes && add[x] == SDM_PIXEL_NODATA,
                  leaves = holes && drop && drop[x] == SDM_PIXEL_NODATA;
        const int a = enters ? 0 : add[x] - centre, b = !drop || leaves ? 0 : drop[x] - centre;
        sum[x] += a - b;
        squares[x] += a * a - b * b;
        if (holes)
            columns->holes[x] += enters - leaves;
    }
}

void SDM_NAME(pair_columns)(const SdmPairColumns *columns, const int16_t *add, const int16_t *drop, int count,
                            int centre)
{
    if (columns->holes && drop)
        move_columns(columns, add, drop, count, centre, true);
    else if (columns->holes)
        move_columns(columns, add, NULL, count, centre, true);
    else if (drop)
        move_columns(columns, add, drop, count, centre, false);
    else
        move_columns(columns, add, NULL, count, centre, false);
}

enum { BLOCK = 256, WINDOW_MOST = 32 };

/* Sums of `window` columns each, modulo 2^32; a constant: each is added up by itself. */
static inline __attribute__((always_inline)) void short_sums(const int32_t *restrict columns, int count,
                                                             int window, uint32_t *restrict out)
{
    for (int i = 0; i < count; i++) {
        uint32_t sum = (uint32_t)columns[i];
        for (int k = 1; k < window; k++)
            sum += (uint32_t)columns[i + k];
        out[i] = sum;
    }
}

/* The same from those of 1, 2, 4, .. columns. */
static void long_sums(const int32_t *columns, int count, int window, uint32_t *out)
{
    uint32_t part[BLOCK + WINDOW_MOST]; /* of `length` columns from each on */
    int done = 0;
    memcpy(part, columns, (size_t)(count + window - 1) * sizeof *part);
    memset(out, 0, (size_t)count * sizeof *out);
    for (int length = 1; length <= window; length *= 2) {
        for (int i = 0; i < count && window & length; i++)
            out[i] += part[i + done];
        done += window & length;
#pragma omp simd
        for (int i = 0; i < count + window - 2 * length; i++)
            part[i] += part[i + length];
    }
}

static void window_sums(const int32_t *columns, int count, int window, uint32_t *out)
{
    switch (window) {
    case 5:
        short_sums(columns, count, 5, out);
        return;
    case 7:
        short_sums(columns, count, 7, out);
        return;
    case 9:
        short_sums(columns, count, 9, out);
        return;
    default:
        long_sums(columns, count, window, out);
    }
}

/* n S(vv) - S(v)^2 of `count` windows; narrow: it fits 32 bits. */
static void variances(const uint32_t *sum, const uint32_t *squares, int count, int n, bool narrow, float *out)
{
    if (narrow)
        for (int i = 0; i < count; i++)
            out[i] = (float)(int32_t)((uint32_t)n * squares[i] - sum[i] * sum[i]);
    else
        for (int i = 0; i < count; i++) {
            const double s = (double)(int32_t)sum[i];
            out[i] = (float)((double)n * (double)squares[i] - s * s); /* of whole numbers below 2^53 */
        }
}

void SDM_NAME(pair_window)(const SdmPairColumns *columns, const SdmPairWindowRow *out)
{
    const SdmPairWindowRow o = *out;
    const int n = o.window * o.window;
    const bool narrow = (int64_t)n * n * o.most * o.most <= INT32_MAX;
    uint32_t sum[BLOCK], squares[BLOCK], holes[BLOCK] = {0}; /* squares: 32 x 32 x 2047^2 < 2^32 */
    float variance[BLOCK];
    for (int first = 0; first < o.pixels; first += BLOCK) {
        const int count = o.pixels - first < BLOCK ? o.pixels - first : BLOCK;
        window_sums(columns->sum + first, count, o.window, sum);
        window_sums(columns->squares + first, count, o.window, squares);
        if (columns->holes)
            window_sums(columns->holes + first, count, o.window, holes);
        variances(sum, squares, count, n, narrow, variance);
        for (int i = 0; i < count; i++)
            o.bad[first + i] = (holes[i] > 0) | ((o.flat >= 0.0f) & !(variance[i] > o.flat));
        for (int i = 0; o.texture && i < count; i++) {
            const float root = 1.0f / sqrtf(variance[i] > 0.0f ? variance[i] : 1.0f);
            o.texture[first + i] = o.bad[first + i] ? 0.0f : root;
        }
        if (o.sum)
            memcpy(o.sum + first, sum, (size_t)count * sizeof *sum);
    }
}
