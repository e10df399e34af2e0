/* Stage 2: what a reference DEM says at points of the scene -> correction of the cameras along the epipolar
 * lines. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geo/grid.h"
#include "geometry/pointing.h"

#include <math.h>

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

/* ---- results of the fit of the cameras to a reference DEM, for report and rasters of a scene ---- */

typedef enum SdmReferenceState {
    SDM_REFERENCE_NONE,    /* no reference was given */
    SDM_REFERENCE_REFUSED, /* it is not used; the cameras are those of a run without it */
    SDM_REFERENCE_SHIFT,   /* the 3-D shift alone is corrected */
    SDM_REFERENCE_FITTED   /* and what is along the track */
} SdmReferenceState;

enum { SDM_REFERENCE_BEFORE, SDM_REFERENCE_AFTER };  /* the correction */
enum { SDM_REFERENCE_USED, SDM_REFERENCE_LEFT_OUT }; /* ground, by the fit */

/* Differences between the surface and the reference over small pieces of ground. */
typedef struct SdmReferenceSpread {
    double median_m, nmad_m; /* NaN: no ground */
} SdmReferenceSpread;

/* Means of what the correction was fitted to, by row of one view; without what is not of this view. */
typedef struct SdmReferenceBins {
    int count;
    double step_px;  /* bin i has its middle at (i + 0.5) step_px */
    float *value_px; /* count, NaN: none; owned */
} SdmReferenceBins;

typedef struct SdmReferenceReport {
    int state;          /* SdmReferenceState */
    char datum[440];    /* the datum of its heights, and what tells it */
    char reason[1000];  /* why it was refused, or the shift alone is corrected; "" */
    char question[240]; /* what the user should look at although it serves; "" */
    double cell_m;      /* of the reference */
    double shift_m[3];  /* east, north, up: added to the surface */
    double px_per_m;    /* that a metre of height changes the right position by */
    double row_m;       /* of the ground along the track */
    double covered;     /* share of the surface where the reference has heights */
    double masked;      /* share of that ground which the fit leaves out */
    SdmAlongReport fit;
    SdmReferenceSpread spread[2][2]; /* before, after; used, left out */
    SdmReferenceBins bins[2];        /* of the right and the left view */
    SdmGrid grid;                    /* of the blocks that are left out, metres about the scene's centre */
    uint8_t *left_out;               /* rows x cols; 1: left out of the fit; owned; NULL: none */
} SdmReferenceReport;
static inline void sdm_reference_report_free(SdmReferenceReport *r)
{
    SDM_FREE(&r->bins[0].value_px, &r->bins[1].value_px, &r->left_out);
}

#define SDM_REFERENCE_MOST_MASKED 0.6 /* share that is left out up to which more than the shift is fitted */
#define SDM_REFERENCE_LEAST_ROWS 0.75 /* share of rows with ground of the fit from which on it is */
/* Do the DEM's cameras lie on the reference: was the 3-D shift corrected? */
static inline bool sdm_reference_applied(const SdmReferenceReport *r)
{
    return r->state == SDM_REFERENCE_SHIFT || r->state == SDM_REFERENCE_FITTED;
}
/* Has the shift alone been corrected because the fit was limited, and not because there is no more to
 * correct? */
static inline bool sdm_reference_limited(const SdmReferenceReport *r)
{
    return r->state == SDM_REFERENCE_SHIFT &&
           (r->masked > SDM_REFERENCE_MOST_MASKED || r->fit.rows_seen < SDM_REFERENCE_LEAST_ROWS);
}
/* Standard error of heights by that of the correction along the track, m; 0: there is none. */
static inline double sdm_reference_error_m(const SdmReferenceReport *r)
{
    const double error_m = r->fit.correction_px / fabs(r->px_per_m);
    return r->state == SDM_REFERENCE_FITTED && isfinite(error_m) ? error_m : 0.0;
}
/* Has the reference shown what a pair cannot, jitter along the track, and is no more than limit_px of it
 * left? */
static inline bool sdm_reference_validates(const SdmReferenceReport *r, double limit_px)
{
    return sdm_reference_applied(r) && r->masked <= SDM_REFERENCE_MOST_MASKED &&
           r->fit.rows_seen >= SDM_REFERENCE_LEAST_ROWS && r->fit.fitted_px[SDM_ALONG_BY_ROWS] < limit_px;
}
