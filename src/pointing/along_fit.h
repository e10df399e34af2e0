/* Stage 2: what a reference DEM says at points of the scene -> correction of the cameras along the epipolar
 * lines. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geometry/pointing.h"

/* A small piece of ground. */
typedef struct SdmAlongPoint {
    float value_px;    /* the correction that would lay it on the reference, px along the line in the right
                     * image; NaN: unknown, and `use` is 0 */
    float col, row[2]; /* column of the right image; rows of the right and of the left image */
    float slope;       /* tangent of the ground's slope: errors grow with it */
    uint8_t use;       /* 0: changed ground, left out */
} SdmAlongPoint;

typedef struct SdmAlongTask {
    const SdmAlongPoint *point; /* count of them */
    size_t count;
    const SdmPointing *scale; /* centre and scale of the right image; frequencies of its profile are tried,
                                 * too */
    double least_long_px;     /* RMS of a wave of more than 1200 rows, or of what a degree adds, to be no
                                 * error of the reference */
    double point_rows;        /* of a point */
    double average_rows;      /* rows over which its windows average the jitter */
} SdmAlongTask;

/* Cross-validation leaves out blocks of rows, or blocks of columns. */
enum { SDM_ALONG_BY_ROWS, SDM_ALONG_BY_COLUMNS, SDM_ALONG_SCHEMES };
typedef struct SdmAlongReport {
    double constant_px[SDM_ALONG_SCHEMES]; /* error by cross-validation with a constant alone, RMS of means by
                                            * row */
    double fitted_px[SDM_ALONG_SCHEMES];   /* the same with the correction */
    double correction_px; /* standard error of the correction by the scatter of the means by row, without its
                           * constant */
    double point_px;      /* NMAD of the points that are used, with the correction */
    double rows_seen;     /* share of the rows with enough points */
} SdmAlongReport;

/* Fit the correction: a polynomial of degree 0 to 2 and up to six waves of each view, each taken only where
 * it lowers the errors of cross-validation over blocks of rows and over blocks of columns (in two ways) by 3
 * %.  Starts at *out: what was found with other points stays where it still does so.  Robust means of strips
 * (16 rows or those of a point, an eighth of the columns) are fitted with Tukey's biweight.  The shift of
 * *out stays.  Does not depend on the number of threads.  SDM_ERR_DATA with fewer than 30 points; with fewer
 * than 40 strips a constant alone. */
SdmStatus sdm_along_fit(SdmContext *ctx, const SdmAlongTask *task, SdmAlongCorrection *out,
                        SdmAlongReport *report);
