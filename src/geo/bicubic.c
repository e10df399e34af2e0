/* Keys' cubic on a plane, positions side by side in vectors. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/bicubic.h"
#include "core/vector_loops.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdbool.h>
#include <string.h>

enum { TAPS = 4, TOGETHER = 64 /* positions whose work lies in the first cache */ };

/* Where the sixteen values about each position begin, and the fractions. */
typedef struct Places {
    int32_t at[TOGETHER];
    double fx[TOGETHER], fy[TOGETHER];
    double none[TOGETHER]; /* 0; NaN: some of them lie outside */
} Places;

/* Weights at the fraction t. */
static inline void cubic_weights(double t, double weight[TAPS])
{
    weight[0] = ((-0.5 * t + 1.0) * t - 0.5) * t;
    weight[1] = (1.5 * t - 2.5) * t * t + 1.0;
    weight[2] = ((-1.5 * t + 2.0) * t + 0.5) * t;
    weight[3] = (0.5 * t - 0.5) * t * t;
}

/* Weights of the derivative. */
static inline void cubic_slopes(double t, double slope[TAPS])
{
    slope[0] = (-1.5 * t + 2.0) * t - 0.5;
    slope[1] = (4.5 * t - 5.0) * t;
    slope[2] = (-4.5 * t + 4.0) * t + 0.5;
    slope[3] = (1.5 * t - 1.0) * t;
}

SDM_VECTOR_LOOPS static void find_places(int w, int h, const double *restrict col, const double *restrict row,
                                         int n, Places *restrict p)
{
    const double right = w - 2.0, end = h - 2.0;
    for (int i = 0; i < n; i++) {
        const double x = col[i], y = row[i];
        const int in = (x >= 1.0) & (y >= 1.0) & (x < right) & (y < end);
        const double cx = in ? x : 1.0, cy = in ? y : 1.0;
        const int32_t ix = (int32_t)cx, iy = (int32_t)cy;
        p->at[i] = (iy - 1) * w + ix - 1;
        p->fx[i] = cx - ix;
        p->fy[i] = cy - iy;
        p->none[i] = in ? 0.0 : (double)NAN;
    }
}

/* Four values of a row, weighted. */
static inline double sum_taps(const double w[TAPS], const float *v, int32_t at)
{
    return w[0] * (double)v[at] + w[1] * (double)(v + 1)[at] + w[2] * (double)(v + 2)[at] +
           w[3] * (double)(v + 3)[at];
}

SDM_VECTOR_LOOPS static void sum_values(const float *restrict plane, int w, const Places *restrict p, int n,
                                        double *restrict value)
{
    const float *const second = plane + w, *const third = second + w, *const fourth = third + w;
    for (int i = 0; i < n; i++) {
        const int32_t at = p->at[i];
        double wx[TAPS], wy[TAPS];
        cubic_weights(p->fx[i], wx);
        cubic_weights(p->fy[i], wy);
        value[i] = p->none[i] + wy[0] * sum_taps(wx, plane, at) + wy[1] * sum_taps(wx, second, at) +
                   wy[2] * sum_taps(wx, third, at) + wy[3] * sum_taps(wx, fourth, at);
    }
}

SDM_VECTOR_LOOPS static void sum_slopes(const float *restrict plane, int w, const Places *restrict p, int n,
                                        double *restrict value, double *restrict per_col,
                                        double *restrict per_row)
{
    const float *const line[TAPS] = {plane, plane + w, plane + 2 * (ptrdiff_t)w, plane + 3 * (ptrdiff_t)w};
    for (int i = 0; i < n; i++) {
        const int32_t at = p->at[i];
        double wx[TAPS], wy[TAPS], sx[TAPS], sy[TAPS], v[TAPS], s[TAPS];
        cubic_weights(p->fx[i], wx);
        cubic_weights(p->fy[i], wy);
        cubic_slopes(p->fx[i], sx);
        cubic_slopes(p->fy[i], sy);
        for (int j = 0; j < TAPS; j++) {
            v[j] = sum_taps(wx, line[j], at);
            s[j] = sum_taps(sx, line[j], at);
        }
        value[i] = p->none[i] + wy[0] * v[0] + wy[1] * v[1] + wy[2] * v[2] + wy[3] * v[3];
        per_col[i] = 0.0 + wy[0] * s[0] + wy[1] * s[1] + wy[2] * s[2] + wy[3] * s[3];
        per_row[i] = 0.0 + sy[0] * v[0] + sy[1] * v[1] + sy[2] * v[2] + sy[3] * v[3];
    }
}

void sdm_bicubic(const SdmBicubicPlane *plane, int64_t n, const double *col, const double *row, double *value,
                 double *per_col, double *per_row)
{
    Places p;
    const bool small = plane->w < TAPS || plane->h < TAPS;
    assert((int64_t)plane->w * plane->h <= INT32_MAX);
    for (int64_t i = 0; i < n; i += TOGETHER) {
        const int m = n - i < TOGETHER ? (int)(n - i) : TOGETHER;
        find_places(plane->w, plane->h, col + i, row + i, m, &p);
        for (int k = 0; k < m && small; k++) {
            value[i + k] = p.none[k];
            if (per_col)
                per_col[i + k] = per_row[i + k] = 0.0;
        }
        if (!small && per_col)
            sum_slopes(plane->value, plane->w, &p, m, value + i, per_col + i, per_row + i);
        else if (!small)
            sum_values(plane->value, plane->w, &p, m, value + i);
    }
}
