/* Heights of two DEMs on one grid, and a mask -> the 3-D shift between them and the residuals that remain, by
 * the method of Nuth & Kaab (2011).  For compare and stack. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_COREG_H
#define SDM_COREG_H

#include "coreg/spline.h"

enum {                          /* bits of mask[]; the higher ones are the caller's */
       SDM_COREG_STABLE = 1,    /* set by the caller: the cell may be used */
       SDM_COREG_REFERENCE = 2, /* stable, and the reference has a height */
       SDM_COREG_COMMON = 4,    /* stable, and both have a height */
       SDM_COREG_CALLER_SHIFT = 3
};

enum { SDM_COREG_CELL_BYTES = 21 }; /* memory of a cell: five floats and the mask */

typedef struct SdmCoregGrid {
    int64_t cols, rows;
    double dx_m, dy_m; /* cell size, both positive; columns run east, rows run south */
    int threads;
    bool whole_reference; /* the reference is resampled from all of its heights, not from those of stable
                             cells alone */
    float *dem_m, *reference_m; /* rows x cols, metres, NaN = no height */
    uint8_t *mask;              /* rows x cols */
    float *residual_m;          /* rows x cols: DEM minus reference */
    float *scratch;             /* rows x cols; overwritten by every function below */
    SdmSpline spline;           /* through the reference */
    int64_t *row_start;         /* rows + 1: number of common cells before each row */
} SdmCoregGrid;

/* Allocate the arrays of a grid whose cols, rows, dx_m, dy_m and threads are set; close after failure, too.
 */
SdmStatus sdm_coreg_open(SdmContext *ctx, SdmCoregGrid *g);
void sdm_coreg_close(SdmCoregGrid *g);

/* Set the bits REFERENCE and COMMON of the mask, and row_start, from STABLE and the heights.
 * *reference: number of cells with the bit REFERENCE, or NULL.
 * @return number of common cells */
int64_t sdm_coreg_mark(SdmCoregGrid *g, int64_t *reference);

/* Error statistics of values (rows x cols) over the cells with (mask & bits) == wanted. */
void sdm_coreg_stats(SdmCoregGrid *g, const float *values, unsigned bits, unsigned wanted,
                     SdmErrorStats *out);

typedef struct SdmCoregShift {
    double shift_m[3]; /* dx (east), dy (north), dz (up): DEM(x, y) = reference(x + dx, y + dy) + dz */
    int undetermined;  /* 0..2 horizontal directions along which the heights determine no shift (0 is used) */
    SdmErrorStats residual; /* of the common cells, with the shift taken out */
} SdmCoregShift;

/* Find the shift from the common cells, of which there is at least one, after sdm_coreg_mark().  residual_m
 * becomes DEM - shifted reference - dz in the common cells, NaN elsewhere.  Does not depend on the number of
 * threads.
 * @return SDM_OK, SDM_ERR_MEMORY, _STOPPED */
SdmStatus sdm_coreg_shift(SdmContext *ctx, SdmCoregGrid *g, SdmCoregShift *out);

#endif
