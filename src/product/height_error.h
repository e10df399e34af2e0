/* Heights and scores of a whole DEM -> the predicted standard error of each height, a band of the QA
 * raster. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

#include <gdal.h>

/* Until the error is known its band holds the score in steps of 1 / SDM_ERROR_SCORES. */
enum { SDM_ERROR_SCORES = 60000 };

/* The pair, and how it was matched. */
typedef struct SdmHeightErrorModel {
    double gsd_m;         /* ground sample distance; 0: no prediction */
    double metres_per_px; /* height for a pixel of parallax */
    double correction_m;  /* standard error of heights by that of the correction along the track */
    bool census;          /* scores are those of census, not of zncc */
    bool semi_global;
} SdmHeightErrorModel;

/* Raw rasters of one grid. */
typedef struct SdmHeightErrorInput {
    SdmHeightErrorModel model;
    double side_m[2];            /* of the cells: from west to east, from south to north */
    GDALRasterBandH height;      /* Float32, SDM_NODATA for none */
    GDALRasterBandH mask, error; /* UInt16; error: scores, replaced by the errors */
    double step_m;               /* unit of the errors */
    const char *path;            /* of the QA raster, for sentences */
    int64_t memory_bytes;        /* budget of the process; strips in work take a 32nd of it */
} SdmHeightErrorInput;

/* Formula: docs/chain.md, 9, The predicted error. */
SdmStatus sdm_height_error_write(SdmContext *ctx, const SdmHeightErrorInput *in);
