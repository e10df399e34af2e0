/* Matrices of tests: random ones, products. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <float.h>
#include <math.h>
#include <stdint.h>

static inline double noise(uint32_t *seed) /* -1..1 */
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / 8388608.0 - 1.0;
}

/* out (m x n) = x (m x k) y (k x n) */
static inline void multiply(int m, int k, int n, const double *x, const double *y, double *out)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0.0;
            for (int t = 0; t < k; t++)
                sum += x[i * k + t] * y[t * n + j];
            out[i * n + j] = sum;
        }
}

/* out (n x m) = x' of x (m x n) */
static inline void transpose(int m, int n, const double *x, double *out)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            out[j * m + i] = x[i * n + j];
}

static inline void fill(int n, double *x, uint32_t *seed)
{
    for (int i = 0; i < n; i++)
        x[i] = noise(seed);
}

static inline double largest_difference(int n, const double *x, const double *y)
{
    double most = 0.0;
    for (int i = 0; i < n; i++) {
        if (!(fabs(x[i] - y[i]) <= DBL_MAX))
            return INFINITY;
        most = fmax(most, fabs(x[i] - y[i]));
    }
    return most;
}
