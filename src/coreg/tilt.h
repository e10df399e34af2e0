/* Residuals of a comparison with their places -> a plane, by robust least squares. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

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
