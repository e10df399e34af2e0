/* The step of a DEM's heights, and heights -> heights rounded to it. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <math.h>

/* Metres: a power of two, below 1/1000 of the spacing. */
static inline double sdm_height_step_m(double spacing_m)
{
    return fmin(fmax(exp2(floor(log2(spacing_m / 1000.0))), 0x1p-14), 0x1p-4);
}

/* Round to the nearest whole number, halves to the even one: at 2^23 a float has no digits left for
 * fractions. */
static inline float sdm_round_even(float x)
{
    const float whole = 0x1p23F, size = fabsf(x), rounded = (size + whole) - whole;
    return copysignf(size < whole ? rounded : size, x);
}

/* A height rounded to the step.  inverse: 1 / step; both are powers of two, so this is exact. */
static inline float sdm_round_height(float height_m, float step_m, float inverse)
{
    return sdm_round_even(height_m * inverse) * step_m;
}
