/* Results of the fit of the cameras to a reference DEM, for the report and the rasters of a scene. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geo/grid.h"
#include "pointing/along_fit.h"

#include <math.h>

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
