/* Residuals of a comparison -> how alike they are at a distance, and what is left of them in the mean of an
 * area. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

enum { SDM_LAGS = 3 };
extern const double sdm_lags_m[SDM_LAGS]; /* 30, 300, 3,000 m */

/* Errors at a distance (lag).  Neighbouring errors are alike, so the error of a mean over an area does not
 * fall with the root of the number of its cells; area_error_m is that error as it was met. */
typedef struct SdmErrorLag {
    double lag_m;
    int64_t pairs;
    double semivariance_m2; /* half the squared NMAD of the differences of residuals at that distance (Dowd
                             * 1984); NaN without pairs, or where a cell is larger */
    int64_t areas;          /* squares of lag x lag that were averaged */
    double area_error_m;    /* NMAD of their means; NaN where there are fewer than 10 */
} SdmErrorLag;

/* Residuals on a grid.  residual_m: rows x cols, NaN = none.  scratch: room for rows x cols.  Pairs lie along
 * rows and columns; squares count where half of their cells have a residual. */
void sdm_error_lag_grid(const float *residual_m, int64_t cols, int64_t rows, double dx_m, double dy_m,
                        float *scratch, SdmErrorLag *out);
/* The pairs alone. */
void sdm_error_pairs_grid(const float *residual_m, int64_t cols, int64_t rows, double dx_m, double dy_m,
                          float *scratch, SdmErrorLag *out);
/* Residuals at n points (places in metres).  Pairs are 0.8 to 1.25 lags apart; squares count from 5 points
 * on. */
SdmStatus sdm_error_lag_points(SdmContext *ctx, const float *residual_m, const double *x_m, const double *y_m,
                               int64_t n, SdmErrorLag *out);
