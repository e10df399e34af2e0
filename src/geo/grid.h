/* The grid of the DEM: output CRS, spacing, corner and size; and what a cell measures on the ground. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dem_block.h"
#include "geo/projector.h"

#define SDM_NODATA (-9999.0f) /* of a cell without a height, in the file */

/* Grid of the DEM: corner of the first cell, spacing in units of the CRS (square cells, north up). */
typedef struct SdmGrid {
    char wkt[4096]; /* horizontal CRS, WKT1 or WKT2, traditional axis order (x, y) */
    double x0, y0, spacing;
    int64_t cols, rows;
    bool geographic;
} SdmGrid;

/* Choose the CRS and the spacing for a scene: those of opt->t_srs and opt->tr, else the UTM zone (polar:
 * EPSG:3413 north of 84 degrees, EPSG:3031 south of -80) and the round step (1, 1.5, 2, 3 or 5 times a power
 * of ten) that is nearest to twice the ground sample distance, on the ground.  lon, lat: scene centre,
 * degrees.  gsd_m: of the left image.  Sets wkt, spacing, geographic, clears the rest.  SDM_ERR_USAGE for a
 * CRS or spacing that does not fit, SDM_ERR_DATA for an absurd scene. */
SdmStatus sdm_grid_choose(SdmContext *ctx, const SdmOptions *opt, double lon_deg, double lat_deg,
                          double gsd_m, SdmGrid *grid);
/* The same for existing DEMs: without opt->t_srs and opt->tr, srs and spacing (in units of the CRS, not
 * rounded). */
SdmStatus sdm_grid_choose_like(SdmContext *ctx, const SdmOptions *opt, const char *srs, double spacing,
                               double lon_deg, double lat_deg, SdmGrid *grid);
/* "EPSG:32610" where the CRS has a code, else its name. */
void sdm_grid_name(const SdmGrid *grid, char *out, size_t size);
/* Check t_srs as far as that is possible without the scene.  NULL is good. */
SdmStatus sdm_grid_check_srs(SdmContext *ctx, const char *t_srs);
/* Warn when the scene's centre lies outside the area of use of t_srs, and where its unit is not that of the
 * heights (NULL: no warning). */
void sdm_grid_warn(SdmContext *ctx, const char *t_srs, double lon_deg, double lat_deg);
/* Set x0, y0, cols, rows to cover the bounds (CRS units), aligned to multiples of the spacing. */
SdmStatus sdm_grid_cover(SdmContext *ctx, const double bounds[4] /* xmin ymin xmax ymax */, SdmGrid *grid);
/* Side of a cell in metres: along the meridian for a geographic grid, on the map for a projected one. */
double sdm_grid_spacing_m(const SdmGrid *grid);
/* Side in metres of the square with the area that a cell has on the ground at lon, lat (degrees); a cell of
 * Web Mercator at 70 degrees is three times smaller than on the map.  A difference of less than a tenth is
 * ignored. */
SdmStatus sdm_grid_ground_m(SdmContext *ctx, const SdmGrid *grid, double lon_deg, double lat_deg,
                            double *side_m);
/* The same by a projector to the grid's CRS that is open. */
double sdm_grid_ground_by(SdmProjector *projector, const SdmGrid *grid, double lon_deg, double lat_deg);

/* ---- the part that --bounds and --area ask for ---- */

/* Bounds of the part in units of a CRS (xmin ymin xmax ymax), within those of the whole.  wkt: the CRS, of
 * traditional axis order.  tell: log how --bounds was read, and what is odd in the polygons of --area.
 * SDM_ERR_USAGE where --bounds lies outside or fits neither the CRS nor degrees; SDM_ERR_DATA where --area
 * lies outside. */
SdmStatus sdm_part_bounds(SdmContext *ctx, const SdmOptions *options, const char *wkt, const double whole[4],
                          bool tell, double out[4]);

/* Cut the grid to the part: whole cells, whose edges are those of the grid. */
SdmStatus sdm_part_cut(SdmContext *ctx, const SdmOptions *options, bool tell, SdmGrid *grid);

/* First column and row of the part, as cells of the whole grid. */
void sdm_part_at(const SdmGrid *grid, const SdmGrid *part, int64_t out[2]);

/* A block of the whole grid, all of it within the part, becomes one of the part: its cells are counted there,
 * and those whose centres lie outside of --area are cleared.  A cell does not depend on the block. */
SdmStatus sdm_part_take(SdmContext *ctx, const SdmOptions *options, const SdmGrid *grid, const SdmGrid *part,
                        SdmBlock *block);
