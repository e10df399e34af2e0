/* Heights of a DEM -> height minus reference, and whether the fit to the reference left the place out, by
 * cell. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geo/height_raster.h"
#include "pointing/along_fit.h"
#include "product/picture.h"

enum { SDM_CHANGE_BANDS = 2, SDM_CHANGE_BINS = 1 << 14 };
#define SDM_CHANGE_BIN_M 0.03125 /* of the histograms */
#define SDM_CHANGE_STEP_M 0.0625 /* of the map */

/* The difference by cell, and what the report says of it; counted in integers, so that the order does not
 * matter. */
typedef struct SdmChangeRaster {
    const SdmReferenceReport *report; /* borrowed; state SHIFT or FITTED */
    const SdmGrid *grid;              /* of the DEM; borrowed */
    SdmHeightRaster *opened;          /* here; NULL: it was open */
    SdmHeightsOnGrid on_grid;
    SdmProjector *plane; /* of the blocks that are left out */
    int64_t *histogram;  /* 2 x SDM_CHANGE_BINS: used and left out cells, from -256 m on */
    SdmMeanMap map;      /* of the differences in steps */
} SdmChangeRaster;

/* Where differences are from; borrowed until they are closed. */
typedef struct SdmChangeSource {
    const SdmOptions *options;        /* --reference */
    const SdmReferenceReport *report; /* state SHIFT or FITTED */
    SdmHeightRaster *dem;             /* the reference, opened; NULL: it is opened */
    double lon_deg, lat_deg;          /* middle of the scene */
} SdmChangeSource;

/* Differences of a DEM's cells.  Close *out also after a failure. */
SdmStatus sdm_change_open(SdmContext *ctx, const SdmChangeSource *source, const SdmGrid *grid,
                          SdmChangeRaster *out);
void sdm_change_close(SdmChangeRaster *c);

/* Rows of both bands, SDM_NODATA where there is no height, or no reference: differences rounded to step_m; 1
 * where the fit left the place out.  window: w x h cells from (col0, row0).  height_m: above the ellipsoid,
 * NaN for none. */
SdmStatus sdm_change_rows(SdmContext *ctx, SdmChangeRaster *c, const int64_t window[4], const float *height_m,
                          double step_m, float *difference_m, float *left_out);

/* Median and NMAD of the differences of the DEM's cells, used (0) or left out of the fit (1). */
SdmReferenceSpread sdm_change_spread(const SdmChangeRaster *c, int left_out);
int64_t sdm_change_count(const SdmChangeRaster *c, int left_out);
