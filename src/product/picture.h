/* Preview of a DEM -> PNG pictures: shaded relief in its colours, and a map of the reasons in the cells. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geo/png.h"
#include "product/dem_stats.h"

/* RGBA, transparent where there is no height; colours from the 1 % to the 99 % quantile of the heights.
 * cell_m: side of a cell of the DEM.  page: the same for the report, smaller.  Close both in any case. */
SdmStatus sdm_picture_relief(SdmContext *ctx, const SdmDemStats *s, double cell_m, SdmPng *out, SdmPng *page);
/* RGBA pixels, rows x cols, as a picture for the report: at most half as large as the preview may be, in few
 * colours, so that the page stays small. */
SdmStatus sdm_picture_page(SdmContext *ctx, const unsigned char *rgba, int cols, int rows, SdmPng *out);
/* RGB; each pixel has the colour of the reason that the masks of its cells give together: sdm_qa_reason(). */
SdmStatus sdm_picture_coverage(SdmContext *ctx, const SdmDemStats *s, SdmPng *out);

void sdm_relief_ramp(double t, unsigned char rgb[3]); /* the same in bytes */
/* Colour of a difference, red at t = 0, blue at 1. */
void sdm_change_ramp(double t, unsigned char rgb[3]);
