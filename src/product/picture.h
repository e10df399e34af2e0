/* Preview of a DEM -> PNG pictures: shaded relief in its colours, and a map of the reasons in the cells. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geo/png.h"
#include "product/dem_stats.h"

#include <gdal.h>

/* RGBA, transparent where there is no height; colours from the 1 % to the 99 % quantile of the heights.
 * cell_m: side of a cell of the DEM.  page: the same for the report, smaller.  Close both in any case. */
SdmStatus sdm_picture_relief(SdmContext *ctx, const SdmDemStats *s, double cell_m, SdmPng *out, SdmPng *page);
/* RGB; each pixel has the colour of the reason that the masks of its cells give together: sdm_qa_reason(). */
SdmStatus sdm_picture_coverage(SdmContext *ctx, const SdmDemStats *s, SdmPng *out);

/* Colours from t = 0 to 1. */
typedef void sdm_ramp_fn(double t, unsigned char rgb[3]);
sdm_ramp_fn sdm_relief_ramp; /* of heights */
sdm_ramp_fn sdm_change_ramp; /* of differences: from red to blue */
sdm_ramp_fn sdm_error_ramp;  /* of errors: darker and darker */

enum { SDM_CHANGE_PREVIEW = 600 /* pixels of a map's longest side */ };

/* Differences or rates of the cells of a grid -> a map of their means. */
typedef struct SdmMeanMap {
    int factor, cols, rows; /* cells a side of a pixel; size */
    double *sum;            /* rows x cols; the order of whole numbers does not matter */
    int32_t *count;
} SdmMeanMap;
/* longest: pixels a side at most.  Close it also after a failure. */
SdmStatus sdm_mean_map_open(SdmContext *ctx, int64_t cols, int64_t rows, int longest, SdmMeanMap *out);
void sdm_mean_map_close(SdmMeanMap *map);
void sdm_mean_map_add(SdmMeanMap *map, int64_t col, int64_t row, double value); /* NaN: none */
/* A picture for the report, with the colours of the ramp from low to high. */
SdmStatus sdm_mean_map_draw(SdmContext *ctx, const SdmMeanMap *map, double low, double high,
                            sdm_ramp_fn *ramp, SdmPng *out);

/* A band of a QA raster: every n-th cell. */
typedef struct SdmBandMap {
    SdmMeanMap map;      /* in steps */
    double median, high; /* in steps; NaN without values.  high: the 95 % quantile */
    SdmPng png;
} SdmBandMap;
/* path: for sentences.  Close it also after a failure. */
SdmStatus sdm_band_map_read(SdmContext *ctx, GDALRasterBandH band, uint16_t nodata, const char *path,
                            SdmBandMap *out);
void sdm_band_map_close(SdmBandMap *map);
