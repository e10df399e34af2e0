/* Robust straight lines through heights by date, several cells together. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/stack_trend.h"
#include "core/vector_loops.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- medians: ranks by halving the range of the values, eight cells together, without branches ---- */

static const float MOST = 1e6f; /* of a height */
enum { CELLS = SDM_TREND_CELLS, HALVINGS = 9, PROBE = 3 };

/* Part of a row in a register: compilers keep arrays in memory. */
enum { LANES = 8 };
typedef float Lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t Whether __attribute__((vector_size(4 * LANES))); /* -1: yes */
#define CHOOSE(which, a, b) ((Lanes)(((which) & (Whether)(a)) | (~(which) & (Whether)(b))))

/* The least value of some cells at or below which lies half of their n values, of which those that are none
 * are INFINITY; found between halves of their range. */
SDM_VECTOR_LOOPS static void median_of_lanes(int n, const float *value, const float *count, float *out)
{
    const Lanes none = {0.0f};
    Lanes low = none + MOST, high = none - MOST;
    for (int i = 0; i < n; i++) {
        const Lanes v = *(const Lanes *)(value + (int64_t)i * CELLS);
        low = CHOOSE(v < low, v, low);
        high = CHOOSE((v > high) & (v < MOST), v, high);
    }
    low -= 1.0f;
    for (int k = 1;; k++) {
        const int next = k >= HALVINGS && k % PROBE == 0; /* is the next value the one? */
        Lanes middle = next ? none + INFINITY : 0.5f * (low + high);
        Whether below = {0};
        for (int i = 0; i < n && next; i++) {
            const Lanes v = *(const Lanes *)(value + (int64_t)i * CELLS);
            middle = CHOOSE((v > low) & (v < middle), v, middle);
        }
        for (int i = 0; i < n; i++)
            below -= *(const Lanes *)(value + (int64_t)i * CELLS) <= middle;
        int missed = 0;
        for (int c = 0; c < LANES; c++) {
            const int half = 2.0f * (float)below[c] >= count[c];
            high[c] = half ? middle[c] : high[c];
            low[c] = half ? low[c] : middle[c];
            missed |= !half;
        }
        if (next && !missed)
            break;
    }
    memcpy(out, &high, sizeof high);
}

/* The lower one of the two middle values of each cell. */
static void find_median(int n, SdmTrendRow *value, const SdmTrendRow count, SdmTrendRow out)
{
    for (int c = 0; c < CELLS; c += LANES)
        median_of_lanes(n, value[0] + c, count + c, out + c);
}

void sdm_median_rows(int n, SdmTrendRow *value, const SdmTrendRow count, double out[SDM_TREND_CELLS])
{
    SdmTrendRow low, next, below = {0.0f};
    find_median(n, value, count, low);
    for (int c = 0; c < CELLS; c++)
        next[c] = INFINITY;
    for (int k = 0; k < n; k++)
        for (int c = 0; c < CELLS; c++) {
            const float v = value[k][c];
            next[c] = v > low[c] && v < next[c] ? v : next[c];
            below[c] += v <= low[c] ? 1.0f : 0.0f;
        }
    for (int c = 0; c < CELLS; c++)
        out[c] =
            (double)low[c] + (2.0f * below[c] == count[c] ? 0.5 * ((double)next[c] - (double)low[c]) : 0.0);
}

/* ---- lines ---- */

static const float BIWEIGHT = 4.685f, PRIOR_DATES = 4.0f, LEAST_SPAN = 0.1f /* years */, MAD = 1.4826f;
enum { SCALES = 3, STEPS = 4 /* with each */ };

/* Sums over the dates of each cell, weighted. */
typedef struct Sums {
    SdmTrendRow w, t, tt, y, ty;
} Sums;

/* Missing heights get no weight; the line is level, through the median of the others. */
SDM_VECTOR_LOOPS static void start(const SdmTrendSeries *s, SdmTrend *out)
{
    memset(out, 0, sizeof *out);
    for (int i = 0; i < s->n; i++)
        for (int c = 0; c < CELLS; c++) {
            const float h = s->height_m[i][c];
            const int is = h == h && s->weight[i][c] > 0.0f;
            s->weight[i][c] = is ? s->weight[i][c] : 0.0f;
            s->height_m[i][c] = is ? h : 0.0f;
            s->spare[i][c] = is ? h : INFINITY;
            out->count[c] += is ? 1.0f : 0.0f;
        }
    find_median(s->n, s->spare, out->count, out->level_m);
    for (int i = 0; i < s->n; i++)
        for (int c = 0; c < CELLS; c++)
            s->height_m[i][c] -= out->level_m[c]; /* now the residual */
}

static float with_prior(float variance, float freedom)
{
    return (PRIOR_DATES + freedom * variance) / (PRIOR_DATES + freedom);
}

/* NMAD of the residuals of all heights, in units of their standard errors or of metres. */
SDM_VECTOR_LOOPS static void find_nmad(const SdmTrendSeries *s, const SdmTrendRow count, bool weighted,
                                       SdmTrendRow out)
{
    for (int i = 0; i < s->n; i++)
        for (int c = 0; c < CELLS; c++) {
            const float w = s->weight[i][c];
            s->spare[i][c] = w > 0.0f ? fabsf(s->height_m[i][c]) * (weighted ? w : 1.0f) : INFINITY;
        }
    find_median(s->n, s->spare, count, out);
    for (int c = 0; c < CELLS; c++)
        out[c] *= MAD;
}

/* The residual beyond which a height is an outlier, in units of its standard error: BIWEIGHT scales. */
static void find_limits(const SdmTrendSeries *s, const SdmTrend *line, SdmTrendRow inverse)
{
    SdmTrendRow nmad;
    find_nmad(s, line->count, true, nmad);
    for (int c = 0; c < CELLS; c++) {
        const float freedom = fmaxf(line->count[c] - 2.0f, 1.0f),
                    scale = with_prior(nmad[c] * nmad[c] * line->count[c] / freedom, freedom);
        inverse[c] = 1.0f / (BIWEIGHT * sqrtf(scale));
    }
}

/* A step of iterated weights. */
SDM_VECTOR_LOOPS static void improve(const SdmTrendSeries *s, const SdmTrendRow inverse, SdmTrend *line)
{
    Sums a = {.w = {0.0f}};
    SdmTrendRow level, rate;
    for (int i = 0; i < s->n; i++) {
        const float t = s->year[i];
        for (int c = 0; c < CELLS; c++) {
            const float y = s->height_m[i][c], p = s->weight[i][c], z = y * p * inverse[c], x = z * z,
                        inside = x < 1.0f ? 1.0f - x : 0.0f, w = p * p * inside * inside;
            a.w[c] += w;
            a.t[c] += w * t;
            a.tt[c] += w * t * t;
            a.y[c] += w * y;
            a.ty[c] += w * t * y;
        }
    }
    for (int c = 0; c < CELLS; c++) {
        const float determinant = a.w[c] * a.tt[c] - a.t[c] * a.t[c];
        const int good = determinant > 0.01f * LEAST_SPAN * LEAST_SPAN * a.w[c] * a.w[c];
        rate[c] = good ? (a.w[c] * a.ty[c] - a.t[c] * a.y[c]) / determinant : 0.0f;
        level[c] = good ? (a.tt[c] * a.y[c] - a.t[c] * a.ty[c]) / determinant : 0.0f;
        line->rate[c] += rate[c];
        line->level_m[c] += level[c];
    }
    for (int i = 0; i < s->n; i++)
        for (int c = 0; c < CELLS; c++)
            s->height_m[i][c] -= level[c] + rate[c] * s->year[i];
}

/* Errors and figures of the lines from the heights that are no outliers. */
SDM_VECTOR_LOOPS static void judge(const SdmTrendSeries *s, const SdmTrendRow inverse, SdmTrend *out)
{
    Sums a = {.w = {0.0f}};
    SdmTrendRow squares = {0.0f}, slope = {0.0f}, first, last;
    for (int c = 0; c < CELLS; c++) {
        first[c] = INFINITY;
        last[c] = -INFINITY;
        out->count[c] = 0.0f;
    }
    for (int i = 0; i < s->n; i++) {
        const float t = s->year[i];
        for (int c = 0; c < CELLS; c++) {
            const float p = s->weight[i][c], z = s->height_m[i][c] * p * inverse[c], x = z * z, in = 1.0f - x;
            const int is = p > 0.0f && x < 1.0f;
            const float w = is ? p * p : 0.0f;
            squares[c] += is ? x * in * in * in * in : 0.0f;
            slope[c] += is ? in * (1.0f - 5.0f * x) : 0.0f;
            a.w[c] += w;
            a.t[c] += w * t;
            a.tt[c] += w * t * t;
            out->count[c] += is ? 1.0f : 0.0f;
            first[c] = is && t < first[c] ? t : first[c];
            last[c] = is && t > last[c] ? t : last[c];
        }
    }
    for (int c = 0; c < CELLS; c++) {
        const float n = out->count[c], freedom = n - 2.0f, spread = a.tt[c] - a.t[c] * a.t[c] / a.w[c];
        const bool good = n >= SDM_TREND_LEAST && last[c] - first[c] >= LEAST_SPAN && slope[c] > 0.0f;
        const float mean = slope[c] / n, limit = mean * inverse[c];
        out->factor[c] = good ? squares[c] / freedom / (limit * limit) : NAN;
        out->error[c] = sqrtf(with_prior(out->factor[c], freedom) / spread);
        out->span[c] = last[c] - first[c];
        out->rate[c] = good ? out->rate[c] : NAN;
    }
}

/* Improve the lines by weights until they stay; inverse: of the last limits. */
static void descend(const SdmTrendSeries *s, SdmTrendRow inverse, SdmTrend *line)
{
    for (int round = 0; round < SCALES; round++) {
        find_limits(s, line, inverse);
        for (int k = 0; k < STEPS; k++)
            improve(s, inverse, line);
    }
}

/* Sum the costs of the residuals by the biweight. */
SDM_VECTOR_LOOPS static void find_cost(const SdmTrendSeries *s, const SdmTrendRow inverse, SdmTrendRow out)
{
    memset(out, 0, sizeof(SdmTrendRow));
    for (int i = 0; i < s->n; i++)
        for (int c = 0; c < CELLS; c++) {
            const float z = s->height_m[i][c] * s->weight[i][c] * inverse[c], x = z * z,
                        inside = x < 1.0f ? 1.0f - x : 0.0f;
            out[c] += 1.0f - inside * inside * inside;
        }
}

/* Lines from that of least squares, where they cost clearly less: dates in two groups have two medians, and
 * from a level line through the one the other looks like gross errors. */
static void try_least_squares(const SdmTrendSeries *s, SdmTrendRow inverse, SdmTrend *out)
{
    static const float CLEARLY = 0.9f;
    const SdmTrendSeries again = {s->n, s->year, s->second_m, s->weight, s->spare, NULL};
    SdmTrendRow own = {0.0f}, least, cost, cost_again;
    SdmTrend line = *out;
    memcpy(again.height_m, s->height_m, (size_t)s->n * sizeof *s->height_m);
    improve(&again, own, &line); /* no limit: all count */
    descend(&again, own, &line);
    for (int c = 0; c < CELLS; c++)
        least[c] = fmaxf(own[c], inverse[c]);
    find_cost(s, least, cost);
    find_cost(&again, least, cost_again);
    for (int c = 0; c < CELLS; c++) {
        if (!(cost_again[c] < CLEARLY * cost[c]))
            continue;
        out->rate[c] = line.rate[c];
        out->level_m[c] = line.level_m[c];
        inverse[c] = own[c];
        for (int i = 0; i < s->n; i++)
            s->height_m[i][c] = again.height_m[i][c];
    }
}

void sdm_trend_fit(const SdmTrendSeries *s, SdmTrend *out)
{
    SdmTrendRow inverse;
    start(s, out);
    descend(s, inverse, out);
    try_least_squares(s, inverse, out);
    find_nmad(s, out->count, false, out->nmad_m);
    judge(s, inverse, out);
}
