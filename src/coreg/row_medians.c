/* Ranks by halving the range of the values, eight cells together, which no branch slows down. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/row_medians.h"
#include "core/vector_loops.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static const float MOST = 1e6f; /* of a height */
enum { CELLS = SDM_TREND_CELLS, HALVINGS = 9, PROBE = 3 };

/* Part of a row in a register: compilers keep arrays in memory. */
enum { LANES = 8 };
typedef float Lanes __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t Whether __attribute__((vector_size(4 * LANES))); /* -1: yes */
#define CHOOSE(which, a, b) ((Lanes)(((which) & (Whether)(a)) | (~(which) & (Whether)(b))))

SDM_VECTOR_LOOPS static void select_lanes(int n, const float *value, const float *rank, float *out)
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
            const int half = (float)below[c] >= rank[c];
            high[c] = half ? middle[c] : high[c];
            low[c] = half ? low[c] : middle[c];
            missed |= !half;
        }
        if (next && !missed)
            break;
    }
    memcpy(out, &high, sizeof high);
}

void sdm_select_rows(int n, SdmTrendRow *value, const SdmTrendRow rank, SdmTrendRow out)
{
    for (int c = 0; c < CELLS; c += LANES)
        select_lanes(n, value[0] + c, rank + c, out + c);
}

void sdm_median_rows(int n, SdmTrendRow *value, const SdmTrendRow count, double out[SDM_TREND_CELLS])
{
    SdmTrendRow rank, low, next, below = {0.0f};
    for (int c = 0; c < SDM_TREND_CELLS; c++) {
        rank[c] = floorf(0.5f * (count[c] + 1.0f));
        next[c] = INFINITY;
    }
    sdm_select_rows(n, value, rank, low);
    for (int k = 0; k < n; k++)
        for (int c = 0; c < SDM_TREND_CELLS; c++) {
            const float v = value[k][c];
            next[c] = v > low[c] && v < next[c] ? v : next[c];
            below[c] += v <= low[c] ? 1.0f : 0.0f;
        }
    for (int c = 0; c < SDM_TREND_CELLS; c++) {
        const bool between = 2.0f * rank[c] == count[c] && below[c] == rank[c];
        out[c] = (double)low[c] + (between ? 0.5 * ((double)next[c] - (double)low[c]) : 0.0);
    }
}
