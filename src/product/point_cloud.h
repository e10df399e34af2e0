/* Raw rasters of a DEM -> a point cloud: LAS 1.4, a point for each height, as a file .las or .laz. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geo/grid.h"

#include <gdal.h>

/* Input of the points: bands of one grid, borrowed for the call. */
typedef struct SdmPointCloud {
    const SdmGrid *grid;
    GDALDatasetH dem;     /* Float32, SDM_NODATA for none; tells the CRS */
    double step_m;        /* of its heights */
    GDALRasterBandH grey; /* NULL: none; else the intensity, stretched from low..high where it is no
                                  * integer of 16 bits */
    double low, high;
    GDALRasterBandH score, error; /* UInt16 in steps; NULL: none */
    double score_step, error_step;
    int64_t count;    /* of the heights */
    const char *path; /* to write: .las */
} SdmPointCloud;

/* Can a file of this format ("las", "laz") be written?  SDM_ERR_UNSUPPORTED where LASzip is not there. */
SdmStatus sdm_point_cloud_check(SdmContext *ctx, const char *format);
/* Write the points, uncompressed, rows from the north; SDM_ERR_IO, _UNSUPPORTED. */
SdmStatus sdm_point_cloud_write(SdmContext *ctx, const SdmPointCloud *of);
/* Compress a file .las of so many points by LASzip. */
SdmStatus sdm_point_cloud_compress(SdmContext *ctx, const char *las, const char *laz, int64_t count);
