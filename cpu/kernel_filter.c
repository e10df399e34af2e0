/* Filters of the surface, a row at a time: 3 x 3 median, height changes and their sums, upsampling. */
// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"
#include "vec.h"

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

/* Are all pixels x - 1..x + STEP of the rows valid?  Twice STEP of each: a fixed count of whole vectors. */
static inline uint16_t all_valid(const uint16_t *const valid[3], int x)
{
    uint16_t all = 1;
    const uint16_t *const a = valid[0] + x, *const b = valid[1] + x, *const c = valid[2] + x;
    for (int i = 0; i < STEP; i++)
        all &= a[i - 1] & a[i + 1] & b[i - 1] & b[i + 1] & c[i - 1] & c[i + 1];
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

typedef struct Column {
    vf low, middle, high;
} Column;

static inline Column in_order(vf a, vf b, vf c)
{
    const vf low = vf_min(a, b), high = vf_max(a, b);
    return (Column){vf_min(low, c), vf_max(low, vf_min(high, c)), vf_max(high, c)};
}

typedef struct Nine {
    vf at[3][3]; /* row, column */
} Nine;

/* Median of nine: each column is sorted; then the median of the highest low, the middle one of the middle
 * values, and the lowest high. */
static inline vf median_of(const Nine *v)
{
    Column at[3];
    for (int i = 0; i < 3; i++)
        at[i] = in_order(v->at[0][i], v->at[1][i], v->at[2][i]);
    const vf low = vf_max(vf_max(at[0].low, at[1].low), at[2].low),
             high = vf_min(vf_min(at[0].high, at[1].high), at[2].high);
    const Column middle = in_order(at[0].middle, at[1].middle, at[2].middle);
    return in_order(low, middle.middle, high).middle;
}

/* STEP pixels without a hole around. */
static void median_whole(const float *const row[3], int x0, float *restrict out)
{
    for (int x = x0; x < x0 + STEP; x += SDM_VEC) {
        Nine v;
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 3; i++)
                v.at[j][i] = vf_load(row[j] + x + i - 1);
        vf_store(out + x, median_of(&v));
    }
}

/* Pixels x..x + SDM_VEC - 1 as median_pixels(). */
static void median_holes(const float *const row[3], const uint16_t *const valid[3], int x,
                         float *restrict out)
{
    const vi one = vi_set(1);
    const vf low = vf_set(-1e30f), high = vf_set(1e30f);
    Nine v, lower;
    vi holes = vi_zero();
    for (int j = 0; j < 3; j++)
        for (int i = 0; i < 3; i++) {
            const vi ok = vi_and(vi_load_u16(valid[j] + x + i - 1), one);
            const vm whole = vi_eq(ok, one), odd = vi_eq(vi_and(holes, one), one);
            const vf value = vf_load(row[j] + x + i - 1);
            v.at[j][i] = vf_sel(whole, value, vf_sel(odd, low, high));
            lower.at[j][i] = vf_sel(whole, value, vf_sel(odd, high, low));
            holes = vi_add(holes, vi_sub(one, ok));
        }
    const vf found = vf_mul(vf_set(0.5f), vf_add(median_of(&v), median_of(&lower)));
    const vm kept = vm_and(vi_eq(vi_and(vi_load_u16(valid[1] + x), one), one), vi_gt(vi_set(5), holes));
    vf_store(out + x, vf_sel(kept, found, vf_load(row[1] + x)));
}

void SDM_NAME(median_row)(const float *const row[3], const uint16_t *const valid[3], int width,
                          float *restrict out)
{
    out[0] = row[1][0];
    out[width - 1] = row[1][width - 1];
    int x = 1;
    for (; x + STEP < width; x += STEP)
        if (all_valid(valid, x))
            median_whole(row, x, out);
        else if (any_valid(valid[1], x))
            for (int i = x; i < x + STEP; i += SDM_VEC)
                median_holes(row, valid, i, out);
        else /* in clouds and off the images */
            memcpy(out + x, row[1] + x, STEP * sizeof *out);
    for (; x + SDM_VEC < width; x += SDM_VEC)
        median_holes(row, valid, x, out);
    median_pixels(row, valid, x, width - 1, out);
}

void SDM_NAME(change_row)(const float *restrict h_m, const float *restrict prior_m,
                          const uint16_t *restrict valid, int width, float unit_m, int16_t *restrict out)
{
    const float scale = 256.0f / unit_m;
    int x = 0;
    for (; x + SDM_VEC <= width; x += SDM_VEC) {
        const vf move = vf_sub(vf_load(h_m + x), vf_load(prior_m + x)),
                 c = vf_add(vf_mul(move, vf_set(scale)), vf_set(0.5f));
        const vi q = vi_down(vf_min(vf_max(c, vf_set(-16000.0f)), vf_set(16000.0f)));
        const vm ok = vi_eq(vi_and(vi_load_u16(valid + x), vi_set(1)), vi_set(1));
        vi_store_u16((uint16_t *)out + x, vi_and(vi_sel(ok, q, vi_set(SDM_CHANGE_NONE)), vi_set(0xffff)));
    }
    for (; x < width; x++) {
        float c = (h_m[x] - prior_m[x]) * scale + 0.5f;
        c = c > -16000.0f ? c : -16000.0f;
        c = c < 16000.0f ? c : 16000.0f;
        const int32_t q = (int32_t)floorf(c);
        out[x] = (int16_t)(valid[x] & 1 ? q : SDM_CHANGE_NONE);
    }
}

/* Whole vectors, for one sign; returns the first pixel that was not done. */
static inline int add_whole(const float *restrict h_m, const float *restrict prior_m,
                            const uint16_t *restrict valid, int width, int sign, int32_t *restrict sum,
                            int32_t *restrict count)
{
    int x = 0;
#pragma GCC unroll 2
    for (; x + SDM_VEC <= width; x += SDM_VEC) {
        const vf move = vf_sub(vf_load(h_m + x), vf_load(prior_m + x)),
                 c = vf_add(vf_mul(move, vf_set(64.0f)), vf_set(0.5f));
        const vi q = vi_down(vf_min(vf_max(c, vf_set(-960000.0f)), vf_set(960000.0f))),
                 one = vi_and(vi_load_u16(valid + x), vi_set(1)), add = vi_and(q, vi_sub(vi_zero(), one));
        const vi s = vi_load(sum + x), n = vi_load(count + x);
        vi_store(sum + x, sign > 0 ? vi_add(s, add) : vi_sub(s, add));
        vi_store(count + x, sign > 0 ? vi_add(n, one) : vi_sub(n, one));
    }
    return x;
}

void SDM_NAME(add_changes)(const float *restrict h_m, const float *restrict prior_m,
                           const uint16_t *restrict valid, int width, int sign, int32_t *restrict sum,
                           int32_t *restrict count)
{
    int x = sign > 0 ? add_whole(h_m, prior_m, valid, width, 1, sum, count)
                     : add_whole(h_m, prior_m, valid, width, -1, sum, count);
    for (; x < width; x++) {
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
    const float *right[2] = {upper + 1, lower + 1};
    __asm__("" : "+r"(right[0]), "+r"(right[1])); /* else clang makes their vectors of two of the others */
    for (int m = 0; m < pairs; m++) {
        const float a = upper[m], b = lower[m], across = right[0][m] - a, below = right[1][m] - b;
        const float top0 = a + 0.25f * across, low0 = b + 0.25f * below;
        const float top1 = a + 0.75f * across, low1 = b + 0.75f * below;
        out[2 * m] = top0 + share_low * (low0 - top0);
        out[2 * m + 1] = top1 + share_low * (low1 - top1);
    }
}
