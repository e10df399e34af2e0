/* Two orthoimages on one grid -> the horizontal shift between them, by their texture. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

typedef struct SdmOrthoShift {
    double cells[2]; /* column, row: what is at x in b is at x + cells in a */
    double nmad;     /* cells, of the patches */
    int64_t patches; /* that agree on it; 0: the images show no shift */
} SdmOrthoShift;

/* Find the shift by zero-mean normalised cross-correlation: of the whole images at an eighth of the size,
 * within 64 cells, then of patches of 41 x 41 cells, each to a fraction of a cell; the median of the patches
 * with a clear maximum. a, b: rows x cols, NaN where there is nothing.  The result does not depend on the
 * number of threads.
 * @return SDM_OK, SDM_ERR_MEMORY, _STOPPED */
SdmStatus sdm_ortho_shift(SdmContext *ctx, const float *a, const float *b, int64_t cols, int64_t rows,
                          SdmOrthoShift *out);
