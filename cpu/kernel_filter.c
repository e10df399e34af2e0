/* Filters of the surface, a row at a time: 3 x 3 median, height changes and their sums, upsampling. */
// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"

#include <math.h>
#include <string.h>

sdm_median_row_fn SDM_NAME(median_row);
sdm_change_row_fn SDM_NAME(change_row);
sdm_add_changes_fn SDM_NAME(add_changes);
sdm_refine_row_fn SDM_NAME(refine_row);

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

/* Holes count as the lowest and the highest value in turn, so that pairs of them cancel; `lo` begins with
 * the other one. */
static inline int put(float hi[9], float lo[9], int i, float value, uint16_t valid, int holes)
{
    const float end = holes & 1 ? -1e30f : 1e30f;
    hi[i] = valid & 1 ? value : end;
    lo[i] = valid & 1 ? value : -end;
    return holes + !(valid & 1);
}

/* Pixels x0..x1 - 1, none of them at an end of the row. */
static void median_pixels(const float *const row[3], const uint16_t *const valid[3], int x0, int x1,
                          float *restrict out)
{
    const float *restrict const a = row[0], *restrict const b = row[1], *restrict const c = row[2];
    const uint16_t *restrict const p = valid[0], *restrict const q = valid[1], *restrict const r = valid[2];
    for (int x = x0; x < x1; x++) {
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

enum { STEP = 32 }; /* pixels that are done together */

/* Are all pixels x - 1..x + STEP of a row valid? */
static inline uint16_t all_valid(const uint16_t *restrict valid, int x)
{
    uint16_t all = 1;
    for (int i = x - 1; i < x + STEP + 1; i++)
        all &= valid[i];
    return all;
}

/* Is one of the pixels x..x + STEP - 1 of a row valid? */
static inline uint16_t any_valid(const uint16_t *restrict valid, int x)
{
    uint16_t any = 0;
    for (int i = x; i < x + STEP; i++)
        any |= valid[i];
    return any & 1;
}

/* STEP pixels without a hole around: nine values each, in one go. */
static void median_whole(const float *const row[3], int x0, float *restrict out)
{
    const float *restrict const a = row[0], *restrict const b = row[1], *restrict const c = row[2];
    for (int x = x0; x < x0 + STEP; x++) {
        float v[9] = {a[x - 1], a[x], a[x + 1], b[x - 1], b[x], b[x + 1], c[x - 1], c[x], c[x + 1]};
        out[x] = median9(v);
    }
}

void SDM_NAME(median_row)(const float *const row[3], const uint16_t *const valid[3], int width,
                          float *restrict out)
{
    out[0] = row[1][0];
    out[width - 1] = row[1][width - 1];
    int x = 1;
    for (; x + STEP < width; x += STEP)
        if (all_valid(valid[0], x) & all_valid(valid[1], x) & all_valid(valid[2], x))
            median_whole(row, x, out);
        else if (any_valid(valid[1], x))
            median_pixels(row, valid, x, x + STEP, out);
        else /* in clouds and off the images */
            memcpy(out + x, row[1] + x, STEP * sizeof *out);
    median_pixels(row, valid, x, width - 1, out);
}

void SDM_NAME(change_row)(const float *restrict h_m, const float *restrict prior_m,
                          const uint16_t *restrict valid, int width, float unit_m, int16_t *restrict out)
{
    const float scale = 256.0f / unit_m;
    for (int x = 0; x < width; x++) {
        float c = (h_m[x] - prior_m[x]) * scale + 0.5f;
        c = c > -16000.0f ? c : -16000.0f;
        c = c < 16000.0f ? c : 16000.0f;
        const int32_t q = (int32_t)floorf(c);
        out[x] = (int16_t)(valid[x] & 1 ? q : SDM_CHANGE_NONE);
    }
}

void SDM_NAME(add_changes)(const float *restrict h_m, const float *restrict prior_m,
                           const uint16_t *restrict valid, int width, int sign, int32_t *restrict sum,
                           int32_t *restrict count)
{
    for (int x = 0; x < width; x++) {
        float c = (h_m[x] - prior_m[x]) * 64.0f + 0.5f;
        c = c > -960000.0f ? c : -960000.0f;
        c = c < 960000.0f ? c : 960000.0f;
        const int32_t ok = valid[x] & 1 ? sign : 0;
        sum[x] += ok * (int32_t)floorf(c);
        count[x] += ok;
    }
}

void SDM_NAME(refine_row)(const float *restrict upper, const float *restrict lower, float share_low,
                          int pairs, float *restrict out)
{
    for (int m = 0; m < pairs; m++) {
        const float a = upper[m], b = lower[m], across = upper[m + 1] - a, below = lower[m + 1] - b;
        const float top0 = a + 0.25f * across, low0 = b + 0.25f * below;
        const float top1 = a + 0.75f * across, low1 = b + 0.75f * below;
        out[2 * m] = top0 + share_low * (low0 - top0);
        out[2 * m + 1] = top1 + share_low * (low1 - top1);
    }
}
