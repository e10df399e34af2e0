/* Heights of two DEMs on one grid, and a mask -> the 3-D move that lays one on the other and the residuals
 * that remain. For compare and stack. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"
#include "geo/shift_fit.h"

enum { SDM_SPLINE_PAD = 12 }; /* cells added on each side */

enum {                          /* bits of mask[]; the higher ones are the caller's */
       SDM_COREG_STABLE = 1,    /* set by the caller: the cell may be used */
       SDM_COREG_REFERENCE = 2, /* stable, and the reference has a height */
       SDM_COREG_COMMON = 4,    /* stable, and both have a height */
       SDM_COREG_KNOWN = 8,     /* the surface of the spline has a height */
       SDM_COREG_SURE = 16,     /* and is known around the cell, too */
       SDM_COREG_CALLER_SHIFT = 5
};

enum { SDM_OTHER_GROUND_M = 50 };   /* DEMs of one place do not differ by such an NMAD */
enum { SDM_COREG_CELL_BYTES = 21 }; /* memory of a cell: five floats and the mask */

typedef struct SdmCoregGrid {
    int64_t cols, rows;
    double dx_m, dy_m; /* cell size, both positive; columns run east, rows run south */
    int threads;
    float *dem_m, *reference_m; /* rows x cols, metres, NaN = no height */
    uint8_t *mask;              /* rows x cols */
    float *residual_m;          /* rows x cols: DEM minus reference */
    float *scratch;             /* rows x cols; overwritten by every function below but sdm_coreg_height() */
    float *spline; /* (rows + 2 SDM_SPLINE_PAD) x (cols + 2 SDM_SPLINE_PAD): coefficients of the one through
                    * the reference, or through the DEM, less base_m */
    double base_m;
    bool few; /* cells with a height: all that can serve do */
    /* For sdm_coreg_shift(): residual_m has the reference on the cells of its file, which lie phase[0]
     * columns and phase[1] rows beyond those of the grid; false: reference_m is used. */
    bool own_cells;
    double phase[2];
} SdmCoregGrid;

/* Allocate the arrays of a grid whose cols, rows, dx_m, dy_m and threads are set; close after failure, too.
 */
SdmStatus sdm_coreg_open(SdmContext *ctx, SdmCoregGrid *g);
void sdm_coreg_close(SdmCoregGrid *g);

/* Set the bits REFERENCE and COMMON of the mask from STABLE and the heights.
 * *reference: number of cells with the bit REFERENCE, or NULL.
 * @return number of common cells */
int64_t sdm_coreg_mark(SdmCoregGrid *g, int64_t *reference);

/* Fit the spline to the heights (rows x cols, may be residual_m) of cells that have all `bits`; voids are
 * extended from their surroundings before.  Set the bit SURE where the cells around are known, too: two on
 * each side, or fewer where that would leave less than a fiftieth of the cells with a height that have the
 * bits `counted`, or less than a thousand.  Overwrites residual_m. */
SdmStatus sdm_coreg_fit(SdmContext *ctx, SdmCoregGrid *g, const float *height_m, unsigned bits,
                        unsigned counted);
/* out[j][i] = spline(column i + dcol, row j + drow), rows x cols; a position outside the padding takes the
 * value at the padding's edge. */
SdmStatus sdm_spline_shift(SdmContext *ctx, const SdmCoregGrid *g, double dcol, double drow, float *out);
/* Height of the fitted surface at a column and row, NaN where a cell around it is not SURE; its slopes,
 * metres a cell. */
double sdm_coreg_height(const SdmCoregGrid *g, double col, double row, double slope[2]);

/* Find the move that lays the DEM on the reference from the common cells, of which there is at least one,
 * after sdm_coreg_mark().  residual_m becomes moved DEM - reference in the common cells where the reference
 * is known around, NaN elsewhere; *residual: figures of these.  judge: keep the DEM in its place where
 * sdm_shift_judge() says so.  Does not depend on the number of threads.
 * @return SDM_OK, SDM_ERR_MEMORY, _STOPPED */
SdmStatus sdm_coreg_shift(SdmContext *ctx, SdmCoregGrid *g, bool judge, SdmShift *move,
                          SdmErrorStats *residual);

/* ---- tilt.c: residuals of a comparison with their places -> a plane, by robust least squares ---- */

/* Height error at a place, metres: constant + north u + east v, where u and v are the distances north and
 * east from the centre, each divided by half the extent. */
typedef struct SdmTilt {
    bool fitted;        /* false: 0 everywhere */
    double centre_m[2]; /* north, east */
    double half_m[2];   /* half the extent north and east */
    double constant_m;  /* such that the mean of the plane over the samples is 0 */
    double north_m, east_m;
} SdmTilt;

double sdm_tilt_at(const SdmTilt *t, double east_m, double north_m);
/* Slope towards east and north, metres per metre. */
void sdm_tilt_slope(const SdmTilt *t, double slope[2]);

typedef struct SdmTiltSamples {
    int64_t count;
    float *east_m, *north_m, *error_m; /* count each; places relative to any centre */
} SdmTiltSamples;

/* Fit the plane with Tukey's biweight, so that changed ground counts little.
 * @return SDM_OK; SDM_ERR_DATA with a sentence where the samples do not suffice; SDM_ERR_MEMORY */
SdmStatus sdm_tilt_fit(SdmContext *ctx, const SdmTiltSamples *samples, SdmTilt *t);
