/* A raster file of heights in any CRS and vertical datum -> its heights at points and over the cells of a
 * grid: the one reader of --reference, --dem, compare, stack and the change raster.  Masks are read the same
 * way, as values without a datum. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geo/geoid.h"
#include "geo/vertical_datum.h"

/* A file to open; borrowed. */
typedef struct SdmHeightSource {
    const char *option, *path;        /* "--dem" and its value */
    const char *datum_option, *datum; /* "--dem-vertical" and its value; NULL: a mask, values without a
                                          * datum */
    bool keeps_datum;                 /* heights stay above the raster's own datum, not above the ellipsoid */
    bool declares_voids;      /* voids are not looked for: all of them have the nodata value or are masked */
    const double *void_value; /* they have this one, though the file does not declare it; NULL: unknown */
    int band;                 /* 0: the first one */
    const char *wkt;          /* CRS of a file that declares none; NULL: such a file is refused */
} SdmHeightSource;

/* The undulation of a datum that was found; NULL: the ellipsoid, or a datum that nothing tells.
 * SDM_ERR_UNSUPPORTED with a sentence where it cannot be brought to the ellipsoid.  file: may be NULL. */
SdmStatus sdm_datum_open_geoid(SdmContext *ctx, const SdmHeightSource *source, GDALDatasetH file,
                               const SdmDatumFound *datum, SdmGeoid **out);

/* An opened raster.  It serves one thread at a time. */
typedef struct SdmHeightRaster {
    SdmHeightSource source;
    GDALDatasetH ds, first;     /* ds: the file; first: the first band of ds alone */
    GDALDatasetH under;         /* what first reads from, where that is neither; or NULL */
    GDALRasterBandH band, mask; /* mask: NULL where every cell counts that is not nodata */
    int64_t cols, rows;
    int64_t read_cells;            /* over grids */
    double forward[6], inverse[6]; /* pixel corner coordinates -> map, map -> pixel */
    double nodata, scale, offset;
    bool has_nodata, unread; /* unread: a block could not be read */
    bool declares_voids;     /* by a nodata value or a mask */
    bool hides_voids;        /* found, or told, though not declared */
    bool geographic;
    OGRSpatialReferenceH srs; /* owned */
    char *wkt;                /* of its horizontal part; CPLFree */
    double absurd_m; /* the last value beyond 12000 m that was met and not declared as nodata; 0: none */
    SdmProjector *proj;
    SdmDatumFound datum; /* that the heights are taken as */
    char phrase[440];    /* the datum, what tells it, and where its undulation is from */
    SdmGeoid *geoid;     /* NULL: heights above the ellipsoid */
} SdmHeightRaster;

/* Open the first band of a raster.  SDM_ERR_INPUT with a sentence that names the option where it cannot be
 * opened or used, SDM_ERR_UNSUPPORTED where its datum cannot be brought to the ellipsoid.  The datum is the
 * option's, else what sdm_vertical_find() finds, else the ellipsoid. */
SdmStatus sdm_height_raster_open(SdmContext *ctx, const SdmHeightSource *source, SdmHeightRaster **out);
void sdm_height_raster_close(SdmHeightRaster **r);

/* Height of the cell at a place, metres above the ellipsoid; NaN where the raster has none, and for values
 * beyond 12000 m. */
double sdm_height_raster_at(SdmContext *ctx, SdmHeightRaster *r, double lon_deg, double lat_deg);
/* SDM_ERR_INPUT with a sentence after a cell that could not be read; otherwise SDM_OK. */
SdmStatus sdm_height_raster_check(SdmContext *ctx, const SdmHeightRaster *r);
/* A line of the log with the datum: a warning where it is assumed, with -v alone where it is declared or
 * given. */
void sdm_height_raster_tell_datum(SdmContext *ctx, const SdmHeightRaster *r);
/* Is what was read over grids so small that GDAL's cache still holds it, if the raster stays open? */
bool sdm_height_raster_is_cached(const SdmHeightRaster *r);
/* Side of a cell on the ground at a place, metres; NaN outside the projection. */
double sdm_height_raster_cell_m(SdmHeightRaster *r, double lon_deg, double lat_deg);

/* How a value is found between the centres of the raster's cells. */
typedef enum SdmHeightKernel {
    SDM_KERNEL_BICUBIC, /* Keys (1981), a = -0.5; beside voids bilinear, where all four cells have a value, or
                         * the place is a cell's centre */
    SDM_KERNEL_MEAN,    /* bilinear likewise, or the mean over a cell that is 1.5 or more of the raster's a
                         * side: as GDAL and xdem read a reference */
    SDM_KERNEL_NEAREST
} SdmHeightKernel;

/* The raster over the cells of a grid. */
typedef struct SdmHeightsOnGrid {
    SdmHeightRaster *raster; /* borrowed, as the grid is */
    const SdmGrid *grid;
    double dx, dy;           /* of the grid's cells, units of its CRS; open sets the grid's spacing */
    SdmProjector *projector; /* NULL: grid and raster have the same CRS */
    SdmUndulation undulation;
    double ratio;           /* side of a cell of the grid / side of a cell of the raster */
    SdmHeightKernel kernel; /* open sets bicubic */
    int shrink;             /* cells of the raster a side that are averaged before interpolation */
    int parts; /* of a cell of the grid, a side: the mean of bilinear values at their centres is taken */
    int step;  /* cells of the grid between nodes at which positions are computed */
} SdmHeightsOnGrid;
/* lon_deg, lat_deg: where sizes of cells are compared; NaN: in the middle of the grid.  Where cells of the
 * grid are three or more of the raster's a side, means of those are interpolated.  A raster of heights that
 * declares no nodata value may hold voids: as values that are no heights, or as 0 where no ground lies near
 * that height.  They are looked for over the grid, and the raster has that nodata value from then on. */
SdmStatus sdm_heights_on_grid_open(SdmContext *ctx, SdmHeightRaster *r, const SdmGrid *grid, double lon_deg,
                                   double lat_deg, SdmHeightsOnGrid *out);
void sdm_heights_on_grid_close(SdmHeightsOnGrid *g);
void sdm_heights_on_grid_set_kernel(SdmHeightsOnGrid *g, SdmHeightKernel kernel);
/* Heights at the centres of a window of cells: column, row, width, height -> height_m, rows of the width, NaN
 * where there is none.  wanted: as height_m; a cell without a value there needs no height and may get NaN;
 * NULL: all are wanted.  Positions lie on nodes at multiples of `step` cells of the whole grid, so a window
 * of any size has the same values.  SDM_ERR_INPUT where the raster cannot be read. */
SdmStatus sdm_heights_on_grid(SdmContext *ctx, SdmHeightsOnGrid *g, const int64_t window[4],
                              const float *wanted, float *height_m);
