/* Small arithmetic that every layer uses, kernels included. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* v, but at least lo and at most hi. */
static inline int sdm_clamp(int v, int lo, int hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* a / b rounded down; b > 0. */
static inline int64_t sdm_floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Terms of a polynomial of two variables. */
static inline int sdm_terms(int degree)
{
    return (degree + 1) * (degree + 2) / 2;
}

static inline bool sdm_all_finite(size_t n, const double *v)
{
    for (size_t i = 0; i < n; ++i)
        if (!isfinite(v[i]))
            return false;
    return true;
}

/* Tukey's biweight of a residual, 0 beyond the scale. */
static inline double sdm_biweight(double residual, double scale)
{
    const double q = residual / scale, w = 1.0 - q * q;
    return fabs(q) < 1.0 ? w * w : 0.0;
}

static inline double sdm_dot3(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline void sdm_cross3(const double a[3], const double b[3], double out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/* Bounds of places: least x and y, greatest x and y.  Begin with SDM_NO_BOUNDS, then add the places; NaN
 * changes nothing. */
#define SDM_NO_BOUNDS                                                                                        \
    {                                                                                                        \
        INFINITY, INFINITY, -INFINITY, -INFINITY                                                             \
    }
static inline void sdm_bounds_clear(double bounds[4])
{
    bounds[0] = bounds[1] = INFINITY;
    bounds[2] = bounds[3] = -INFINITY;
}
static inline void sdm_bounds_add(double bounds[4], double x, double y)
{
    bounds[0] = fmin(bounds[0], x);
    bounds[1] = fmin(bounds[1], y);
    bounds[2] = fmax(bounds[2], x);
    bounds[3] = fmax(bounds[3], y);
}
