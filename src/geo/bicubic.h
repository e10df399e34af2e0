/* A plane of values, positions on it -> values and gradients by Keys' cubic (1981, a = -0.5). */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdint.h>

/* The plane: h rows of w values, NaN for none, at most INT32_MAX in all; positions count from the centre of
 * its first one. */
typedef struct SdmBicubicPlane {
    const float *value; /* borrowed */
    int w, h;
} SdmBicubicPlane;

/* Values at n positions, NaN where one of the sixteen values is missing or outside; unless per_col is NULL,
 * what they change by per column and per row. */
void sdm_bicubic(const SdmBicubicPlane *plane, int64_t n, const double *col, const double *row, double *value,
                 double *per_col, double *per_row);
