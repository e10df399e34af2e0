/* A vector file of polygons, in any CRS -> the cells of a grid that lie inside of them. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

#include <gdal.h>
#include <ogr_api.h>

/* A file to open; borrowed. */
typedef struct SdmOutlineSource {
    const char *option, *path; /* "--exclude" and its value */
    const char *layer;         /* of a file that has several; NULL: the only one of polygons */
    bool is_single;            /* no option names its layer: the file has one of polygons */
    const char *where;         /* attribute filter of OGR (SQL WHERE); NULL: all polygons */
    const char *field;         /* holds the value of each polygon, 0 to 255; NULL, or not there: 1 */
    bool may_miss;             /* polygons that cover no cell are warned of, not refused */
    bool quiet;                /* nothing is told of what is odd: it was told before */
} SdmOutlineSource;

typedef struct SdmOutlines {
    SdmOutlineSource source;
    GDALDatasetH file; /* NULL: not open */
    OGRLayerH layer;
    int field; /* its index; -1: the value is 1 */
} SdmOutlines;

/* Can GDAL open the file as a raster?  Outlines are what it cannot. */
bool sdm_is_raster(const char *path);
/* Open the polygons of a file: whatever OGR opens, and a .zip with such a file. Close after failure, too.
 * @return SDM_OK; SDM_ERR_INPUT with a sentence: no such file, layer or field, no CRS, no polygons */
SdmStatus sdm_outlines_open(SdmContext *ctx, const SdmOutlineSource *source, SdmOutlines *out);
void sdm_outlines_close(SdmOutlines *outlines);

/* North up. */
typedef struct SdmOutlineGrid {
    const char *wkt;     /* horizontal CRS; x, y whatever order of axes it declares */
    double transform[6]; /* GDAL geotransform: pixel corners */
    int64_t cols, rows;
} SdmOutlineGrid;

/* Value of the polygon in which each cell's centre lies, the last one's where several do, 0 outside -> out,
 * rows x cols.  Edges are straight in the CRS of the file.  Inside is what an odd number of edges encloses.
 * @return SDM_OK; SDM_ERR_DATA where no cell is covered (see may_miss); SDM_ERR_INPUT, _UNSUPPORTED,
 * _MEMORY, _STOPPED */
SdmStatus sdm_outlines_burn(SdmContext *ctx, const SdmOutlines *outlines, const SdmOutlineGrid *grid,
                            uint8_t *out);

/* Bounds of the polygons near the grid, in its CRS: xmin ymin xmax ymax.  Far outside of the grid they are
 * not exact.  Errors as above. */
SdmStatus sdm_outlines_bounds(SdmContext *ctx, const SdmOutlines *outlines, const SdmOutlineGrid *grid,
                              double out[4]);
