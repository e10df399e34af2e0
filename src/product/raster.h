/* Cells of the DEM's grid -> Cloud-Optimised GeoTIFFs: a raw raster that is filled, its overviews, the final
 * file. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geo/grid.h"

#include <gdal.h>

/* A raster while it is filled: in memory, or an uncompressed tiled GeoTIFF. */
typedef struct SdmRaster {
    GDALDatasetH dataset; /* NULL: there is none */
    void *cells;          /* bands x rows x cols where they lie in memory, undefined at first; else NULL */
} SdmRaster;

/* SDM_ERR_IO when the last bytes did not reach the file `path`.  A closed one is accepted. */
SdmStatus sdm_raster_close(SdmContext *ctx, SdmRaster *raster, const char *path);

/* How a raster becomes a file. */
typedef struct SdmCogRequest {
    const char *path; /* of the GeoTIFF to write */
    bool
        first_cell; /* overviews: the first of 2 x 2 cells stands for them (masks, scores), else their mean */
    double step;    /* means are rounded to multiples of it; 0: not rounded */
    const char *const *co; /* of a DEM: GDAL creation options of the user, NULL-terminated; NULL: none */
    int64_t memory_bytes;  /* budget of the process: bounds the threads */
    double tell_from;      /* share of the products' time when this file, the last to be ready, begins; 0: no
                            * progress */
} SdmCogRequest;

/* Compress a raw raster, with overviews down to 512 cells; its bytes are on the disk when this returns. */
SdmStatus sdm_cog_write(SdmContext *ctx, const SdmRaster *from, const SdmCogRequest *request);
/* Can GDAL's COG driver write a DEM with these creation options?  Tried on a small one in memory. */
SdmStatus sdm_cog_check(SdmContext *ctx, const char *const *co);

/* Overviews inside a raw raster, first_cell and step as above; path: for sentences. */
SdmStatus sdm_overviews_build(SdmContext *ctx, const SdmRaster *raster, const SdmCogRequest *request);
