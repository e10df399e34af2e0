/* Cells of the DEM's grid -> Cloud-Optimised GeoTIFFs: a raw raster that is filled, its overviews, the final
 * file. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geo/grid.h"

#include <gdal.h>

/* Specification of a raw raster; borrowed for the call. */
typedef struct SdmRasterSpec {
    const SdmGrid *grid;
    int vertical;     /* SdmVertical of heights, told by the CRS where one can; SDM_VERTICAL_UNKNOWN: not
                       * told */
    char **metadata;  /* NAME=VALUE */
    const char *path; /* of its file, where it does not fit into memory */
    int bands;
    GDALDataType type;
    int64_t memory_bytes; /* budget of the process, of which the raw rasters get a share */
} SdmRasterSpec;

/* A raster while it is filled: in memory, or an uncompressed tiled GeoTIFF. */
typedef struct SdmRaster {
    GDALDatasetH dataset; /* NULL: there is none */
    void *cells;          /* bands x rows x cols where they lie in memory, undefined at first; else NULL */
} SdmRaster;

/* SDM_ERR_IO, _UNSUPPORTED (CRS), _MEMORY.  Close *out also after a failure. */
SdmStatus sdm_raster_create(SdmContext *ctx, const SdmRasterSpec *spec, SdmRaster *out);
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

/* Smallest type that holds the values low..high of an ortho image (low > high: it is empty): GDT_Byte,
 * GDT_UInt16 or GDT_Float32. */
GDALDataType sdm_ortho_type(float low, float high);
/* Rewrite the ortho image (Float32, SDM_NODATA for none) in spec->type, with 0 for none. */
SdmStatus sdm_ortho_convert(SdmContext *ctx, const SdmRasterSpec *spec, SdmRaster *raster,
                            const char *old_path);
