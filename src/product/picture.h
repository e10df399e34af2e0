/* Preview of a DEM -> PNG pictures: shaded relief in colours, and a map of what the cells met. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_PICTURE_H
#define SDM_PICTURE_H

#include "geo/png.h"
#include "product/dem_stats.h"

/* RGBA, transparent where there is no height; colours from the 1 % to the 99 % quantile of the heights.
 * cell_m: side of a cell of the DEM.  Close *out in any case. */
SdmStatus sdm_picture_relief(SdmContext *ctx, const SdmDemStats *s, double cell_m, SdmPng *out);
/* RGB; each pixel has the colour of the first kind of sdm_coverage_kinds that one of its cells has. */
SdmStatus sdm_picture_coverage(SdmContext *ctx, const SdmDemStats *s, SdmPng *out);

typedef struct SdmCoverageKind {
    unsigned bit; /* SdmQaBit; 0 ends the table */
    unsigned char rgb[3];
} SdmCoverageKind;
extern const SdmCoverageKind sdm_coverage_kinds[];

/* Colour of the relief, 0..255, at t = 0 (lowest) .. 1 (highest). */
void sdm_relief_colour(double t, double rgb[3]);

#endif
