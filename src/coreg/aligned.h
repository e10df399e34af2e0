/* A DEM on a grid and its move -> the aligned DEM, resampled once; rasters of the grid -> GeoTIFFs. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coreg/coreg.h"
#include "coreg/input_raster.h"

/* scratch(x, y) = DEM(x - east, y - north) + up: the DEM moved to where the reference has it.  A cell has a
 * height where the nearest cell of the DEM there has one, so holes keep their size; cells of a DEM that is
 * not moved keep their heights.  Overwrites residual_m. */
SdmStatus sdm_aligned_resample(SdmContext *ctx, SdmCoregGrid *g, const double move_m[3]);

/* A raster to be written on the cells of the grid's DEM. */
typedef struct SdmAlignedFile {
    const char *path;
    const SdmRasterGrid *grid;
    float *value_m;  /* of the grid, NaN = none; becomes nodata */
    char **metadata; /* NAME=VALUE (CSL), beside or instead of the DEM's own */
    bool difference; /* not heights: the DEM's band name and datum are not copied */
    int64_t memory_bytes;
} SdmAlignedFile;
/* Write a Cloud-Optimised GeoTIFF with the DEM's grid, CRS, nodata and metadata; whole or not at all. */
SdmStatus sdm_aligned_write(SdmContext *ctx, const SdmAlignedFile *file);
