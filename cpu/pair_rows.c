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

static inline uint16_t least(uint16_t a, uint16_t b) { return a < b ? a : b; }

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
 * loser cannot be the runner-up: its chunk offers the smaller of its own runner-up and the cost on the far side
 * of its winner. */
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

void SDM_NAME(pair_columns)(const SdmPairColumns *columns, const int16_t *add, const int16_t *drop, int count,
                            int centre)
{
    int32_t *const sum = columns->sum, *const squares = columns->squares, *const holes = columns->holes;
    for (int x = 0; x < count; x++) {
        const int hole = add[x] == SDM_PIXEL_NODATA, v = hole ? 0 : add[x] - centre;
        sum[x] += v;
        squares[x] += v * v;
        holes[x] += hole;
    }
    for (int x = 0; drop && x < count; x++) {
        const int hole = drop[x] == SDM_PIXEL_NODATA, v = hole ? 0 : drop[x] - centre;
        sum[x] -= v;
        squares[x] -= v * v;
        holes[x] -= hole;
    }
}

void SDM_NAME(pair_window)(const SdmPairColumns *columns, const SdmPairWindowRow *out)
{
    enum { BLOCK = 256 };
    const SdmPairWindowRow o = *out;
    const double n = (double)(o.window * o.window);
    uint32_t squares = 0, all_squares[BLOCK]; /* 32 x 32 x 2047^2 < 2^32 */
    int32_t sum = 0, holes = 0, all_holes[BLOCK];
    for (int k = 0; k < o.window - 1; k++) {
        sum += columns->sum[k];
        squares += (uint32_t)columns->squares[k];
        holes += columns->holes[k];
    }
    for (int begin = 0; begin < o.pixels; begin += BLOCK) {
        const int count = o.pixels - begin < BLOCK ? o.pixels - begin : BLOCK;
        for (int i = 0; i < count; i++) {
            const int first = begin + i, last = first + o.window - 1;
            o.sum[first] = sum += columns->sum[last];
            all_squares[i] = squares += (uint32_t)columns->squares[last];
            all_holes[i] = holes += columns->holes[last];
            sum -= columns->sum[first];
            squares -= (uint32_t)columns->squares[first];
            holes -= columns->holes[first];
        }
        for (int i = 0; i < count; i++) {
            const double s = (double)o.sum[begin + i], q = (double)all_squares[i];
            const float variance = (float)(n * q - s * s); /* of whole numbers below 2^53 */
            const bool bad = all_holes[i] > 0 || (o.least >= 0.0f && !(variance > o.least * o.least));
            o.texture[begin + i] = bad ? 0.0f : 1.0f / sqrtf(variance > 0.0f ? variance : 1.0f);
            o.bad[begin + i] = bad;
        }
    }
}
