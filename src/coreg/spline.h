/* A grid of values -> its cubic B-spline -> the grid shifted by a fraction of a cell. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_SPLINE_H
#define SDM_SPLINE_H

#include "core/core.h"

enum { SDM_SPLINE_PAD = 12 }; /* cells added on each side */

typedef struct SdmSpline {
    int64_t cols, rows; /* of the grid */
    int threads;
    float *coefficient; /* (rows + 2 SDM_SPLINE_PAD) x (cols + 2 SDM_SPLINE_PAD) */
} SdmSpline;

/* Room for a spline through cols x rows values; close after failure, too. */
SdmStatus sdm_spline_open(SdmContext *ctx, int64_t cols, int64_t rows, int threads, SdmSpline *out);
void sdm_spline_close(SdmSpline *s);

/* Coefficients of the spline through values (rows x cols, no NaN), continued outside by the values of the
 * edge. Same as scipy.ndimage.spline_filter of order 3 on the padded array; Unser 1999, eq. 20-21. */
SdmStatus sdm_spline_fit(SdmContext *ctx, SdmSpline *s, const float *values);

/* out[j][i] = spline(column i + dcol, row j + drow), rows x cols; a position outside the padding takes the
 * value at the padding's edge. */
SdmStatus sdm_spline_shift(SdmContext *ctx, const SdmSpline *s, double dcol, double drow, float *out);

/* Value of the spline at a position of the grid, clamped to the padding, and its slope a cell along columns
 * and rows: central differences over one cell on each side, as numpy.gradient takes them.  (The derivative
 * itself answers to details that a smoother DEM does not show: half a metre of a shift on ASTER scenes.) */
double sdm_spline_at(const SdmSpline *s, double col, double row, double slope[2]);

#endif
