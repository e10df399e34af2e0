/* Filters of the surface, a row at a time: 3 x 3 median, count of agreeing neighbours. */
// SPDX-License-Identifier: Apache-2.0
#include "cost_rows.h"

sdm_median_row_fn SDM_NAME(median_row);
sdm_agree_row_fn SDM_NAME(agree_row);

static inline void order(float *a, float *b)
{
    const float lo = *a < *b ? *a : *b, hi = *a < *b ? *b : *a;
    *a = lo;
    *b = hi;
}

/* Median of nine by 19 exchanges (Paeth 1990). */
static inline float median9(float v[9])
{
    order(&v[1], &v[2]);
    order(&v[4], &v[5]);
    order(&v[7], &v[8]);
    order(&v[0], &v[1]);
    order(&v[3], &v[4]);
    order(&v[6], &v[7]);
    order(&v[1], &v[2]);
    order(&v[4], &v[5]);
    order(&v[7], &v[8]);
    order(&v[0], &v[3]);
    order(&v[5], &v[8]);
    order(&v[4], &v[7]);
    order(&v[3], &v[6]);
    order(&v[1], &v[4]);
    order(&v[2], &v[5]);
    order(&v[4], &v[7]);
    order(&v[4], &v[2]);
    order(&v[6], &v[4]);
    order(&v[4], &v[2]);
    return v[4];
}

/* A hole counts as lowest and highest in turn, so that pairs of them cancel; `lo` begins with the other one. */
static inline int put(float hi[9], float lo[9], int i, float value, uint16_t valid, int holes)
{
    const float end = holes & 1 ? -1e30f : 1e30f;
    hi[i] = valid & 1 ? value : end;
    lo[i] = valid & 1 ? value : -end;
    return holes + !(valid & 1);
}

void SDM_NAME(median_row)(const float *const row[3], const uint16_t *const valid[3], int width, float *restrict out)
{
    const float *restrict const a = row[0], *restrict const b = row[1], *restrict const c = row[2];
    const uint16_t *restrict const p = valid[0], *restrict const q = valid[1], *restrict const r = valid[2];
    out[0] = b[0];
    out[width - 1] = b[width - 1];
    for (int x = 1; x < width - 1; x++) {
        const float m = b[x];
        float v[9], lower[9];
        int holes = 0;
        holes = put(v, lower, 0, a[x - 1], p[x - 1], holes);
        holes = put(v, lower, 1, a[x], p[x], holes);
        holes = put(v, lower, 2, a[x + 1], p[x + 1], holes);
        holes = put(v, lower, 3, b[x - 1], q[x - 1], holes);
        holes = put(v, lower, 4, m, q[x], holes);
        holes = put(v, lower, 5, b[x + 1], q[x + 1], holes);
        holes = put(v, lower, 6, c[x - 1], r[x - 1], holes);
        holes = put(v, lower, 7, c[x], r[x], holes);
        holes = put(v, lower, 8, c[x + 1], r[x + 1], holes);
        const float found = 0.5f * (median9(v) + median9(lower)); /* an even number: between the middle two */
        out[x] = (q[x] & 1) && holes <= 4 ? found : m;
    }
}

void SDM_NAME(agree_row)(const float *const *row, int half, int width, float tol, uint8_t *restrict count)
{
    const float *restrict const mid = row[half];
    memset(count, 0, (size_t)width);
    for (int j = 0; j <= 2 * half; j++) {
        if (!row[j])
            continue;
        for (int i = -half; i <= half; i++) {
            const float *restrict const other = row[j] + i;
            const int x0 = i < 0 ? -i : 0, x1 = i > 0 ? width - i : width;
            for (int x = x0; x < x1; x++) {
                const float d = other[x] - mid[x];
                count[x] = (uint8_t)(count[x] + ((d <= tol) & (d >= -tol)));
            }
        }
    }
}
