/* Disparities -> their median of 3 x 3 or 5 x 5, of the valid ones. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/pair_after.h"

#include <math.h>
#include <string.h>

enum { MOST = 25, LANES = 64 };

/* Median of n values, sorted by insertion; n <= MOST. */
static float median_of_few(float *v, int n)
{
    for (int i = 1; i < n; i++) {
        const float x = v[i];
        int k = i;
        for (; k > 0 && v[k - 1] > x; k--)
            v[k] = v[k - 1];
        v[k] = x;
    }
    return n % 2 ? v[n / 2] : 0.5f * (v[n / 2 - 1] + v[n / 2]);
}

/* One pixel, whatever is around it. */
static float median_at(const float *in, int width, int height, int side, int x, int y)
{
    float v[MOST];
    int n = 0;
    const int r = side / 2, x0 = x > r ? x - r : 0, x1 = x + r < width ? x + r : width - 1;
    const int y0 = y > r ? y - r : 0, y1 = y + r < height ? y + r : height - 1;
    const float own = in[(ptrdiff_t)y * width + x];
    if (isnan(own))
        return own;
    for (int row = y0; row <= y1; row++)
        for (int col = x0; col <= x1; col++) {
            const float d = in[(ptrdiff_t)row * width + col];
            if (!isnan(d))
                v[n++] = d;
        }
    return 2 * n < side * side ? own : median_of_few(v, n);
}

/* Smaller to a, larger to b, of `LANES` pixels at once. */
static void sort_two(float *restrict a, float *restrict b)
{
#pragma omp simd
    for (int i = 0; i < LANES; i++) {
        const float lo = a[i] < b[i] ? a[i] : b[i], hi = a[i] < b[i] ? b[i] : a[i];
        a[i] = lo;
        b[i] = hi;
    }
}

/* Median of LANES pixels whose windows are whole and valid.  Forgetful selection: of m + 2 of the 2 m + 1
 * values the smallest and the largest cannot be the median; drop them, take in another, until one is left. */
static void median_of_lanes(const float *in, ptrdiff_t width, int side, float v[MOST][LANES], float *out)
{
    const int count = side * side, r = side / 2;
    int used = count / 2 + 2, next = 0;
    for (int y = -r; y <= r; y++)
        for (int x = -r; x <= r; x++)
            memcpy(v[next++], in + y * width + x, LANES * sizeof(float));
    next = used;
    for (int first = 0; used - first > 1;) {
        for (int k = first + 1; k < used; k++)
            sort_two(v[first], v[k]); /* smallest to the front */
        for (int k = first + 1; k + 1 < used; k++)
            sort_two(v[k], v[used - 1]); /* largest to the end */
        first++;
        if (next < count)
            memcpy(v[used - 1], v[next++], LANES * sizeof(float));
        else
            used--;
        if (used - first == 1)
            memcpy(out, v[first], LANES * sizeof(float));
    }
}

/* Are all values around `LANES` pixels valid?  A sum with a NaN in it is one. */
static bool all_valid(const float *in, ptrdiff_t width, int side)
{
    const int r = side / 2;
    float sum = 0.0f;
    for (int y = -r; y <= r; y++)
        for (int x = -r; x < LANES + r; x++)
            sum += 0.0f * in[y * width + x];
    return !isnan(sum);
}

static void median_row(const float *in, int width, int height, int side, int y, float *out)
{
    float v[MOST][LANES];
    const int r = side / 2;
    for (int x = 0; x < width;) {
        const float *const at = in + (ptrdiff_t)y * width + x;
        const bool whole = x >= r && x + LANES + r <= width && y >= r && y + r < height;
        if (whole && all_valid(at, width, side)) {
            median_of_lanes(at, width, side, v, out + x);
            x += LANES;
        } else {
            const int end = whole || x + LANES < width ? x + LANES : width;
            const int stop = x < r ? r : end; /* from the second chunk on aligned to the first whole one */
            for (; x < stop && x < width; x++)
                out[x] = median_at(in, width, height, side, x, y);
        }
    }
}

void sdm_pair_median(SdmContext *ctx, const float *in, int width, int height, int side, float *out)
{
#pragma omp parallel for schedule(dynamic, 16) num_threads(sdm_threads(ctx))
    for (int y = 0; y < height; y++)
        median_row(in, width, height, side, y, out + (ptrdiff_t)y * width);
}
