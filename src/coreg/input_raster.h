/* Files of a comparison -> the first band of a raster, resampled to one grid; points with heights. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geo/height_raster.h"
#include "geo/outlines.h"

typedef struct SdmInputRaster {
    const char *path, *role;  /* borrowed; role: what sentences call it: "DEM", "reference", "--class" */
    SdmHeightRaster *reader;  /* NULL: a file of polygons or points */
    GDALDatasetH file;        /* owned by the reader or the polygons where there are some */
    SdmOutlines outlines;     /* of a file of polygons; else not open */
    OGRSpatialReferenceH srs; /* horizontal part of its CRS, x before y */
    char *wkt;                /* of srs; CPLFree */
    SdmDatumFound datum;      /* of its heights */
} SdmInputRaster;

/* Open a raster that has a CRS and heights in metres; close after failure, too. */
SdmStatus sdm_input_raster_open(SdmContext *ctx, const char *path, const char *role, SdmInputRaster *out);
/* Open a raster, or polygons, which sdm_input_raster_load() makes a raster of: their value inside, none
 * outside. */
SdmStatus sdm_input_areas_open(SdmContext *ctx, const SdmOutlineSource *source, SdmInputRaster *out);
void sdm_input_raster_close(SdmInputRaster *raster);
/* Check what a DEM to be compared must be: projected or geographic, north up. */
SdmStatus sdm_input_raster_check_dem(SdmContext *ctx, const SdmInputRaster *dem);

/* ---- points ---- */

typedef struct SdmInputPoints {
    int64_t count;
    double *x, *y;    /* in the CRS of the DEM */
    double *height_m; /* finite */
    char source[200]; /* which columns and which CRS were taken, for the output */
} SdmInputPoints;

/* Is the reference a file of points: a text table (.csv, .txt, .tsv), or what GDAL opens as vectors, not as a
 * raster? */
bool sdm_input_is_points(const char *path);
/* Open a file of points, and read them: geometry with Z, or with the heights in a column; or a table with
 * columns x and y, or lon and lat, and z or height.  Without a CRS, lon and lat are EPSG:4326, and x and y of
 * the DEM's CRS. raster: path, CRS and vertical datum of the file.  Close both after failure, too. */
SdmStatus sdm_input_points_open(SdmContext *ctx, const char *path, const SdmInputRaster *dem,
                                SdmInputRaster *raster, SdmInputPoints *out);
void sdm_input_points_close(SdmInputPoints *points);

/* ---- grids ---- */

typedef struct SdmRasterGrid {
    int64_t cols, rows;
    double transform[6];       /* GDAL geotransform: pixel corners, units of the CRS, north up */
    double dx_m, dy_m;         /* cell size on the ground, metres, both positive; in the middle */
    const SdmInputRaster *dem; /* borrowed: the raster whose CRS and cells it has */
} SdmRasterGrid;

/* The DEM's grid. */
SdmStatus sdm_raster_grid_own(SdmContext *ctx, const SdmInputRaster *dem, SdmRasterGrid *out);
/* The part of the DEM's grid where DEM and reference lie, with a few cells more on each side; whole_dem: all
 * of the DEM. SDM_ERR_DATA when the extents do not overlap. */
SdmStatus sdm_raster_grid_common(SdmContext *ctx, const SdmInputRaster *dem, const SdmInputRaster *reference,
                                 bool whole_dem, SdmRasterGrid *out);

/* Are the reference's cells as large as the grid's, in the same CRS?  Then *out has as many cells as the
 * grid, which are the reference's, and phase says how many columns and rows they lie beyond the grid's,
 * -0.5..0.5. */
bool sdm_raster_grid_of_reference(const SdmInputRaster *reference, const SdmRasterGrid *grid,
                                  SdmRasterGrid *out, double phase[2]);

/* Resample the first band to the grid -> out, rows x cols, NaN where it has no value. */
SdmStatus sdm_input_raster_load(SdmContext *ctx, const SdmInputRaster *raster, const SdmRasterGrid *grid,
                                SdmHeightKernel kernel, float *out);

/* ---- vertical datums ---- */

/* Overrule the raster's vertical datum by the value of an option: "auto" or NULL (nothing is done),
 * "ellipsoid", "egm96", "egm2008". */
SdmStatus sdm_input_raster_set_datum(SdmContext *ctx, SdmInputRaster *raster, const char *option,
                                     const char *word);

enum { SDM_DATUM_NOTE = 960 };
/* Convert the reference's heights at points, or (NULL) on the grid, rows x cols, to the vertical datum of the
 * grid's DEM, where both are known and differ.  note: what was assumed or converted, "" when nothing. */
SdmStatus sdm_input_raster_match_datum(SdmContext *ctx, const SdmRasterGrid *grid,
                                       const SdmInputRaster *reference, const SdmInputPoints *points,
                                       float *reference_m, char note[SDM_DATUM_NOTE]);
