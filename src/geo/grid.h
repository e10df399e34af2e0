/* The grid of the DEM: output CRS, spacing, corner and size; and what a cell measures on the ground. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_GRID_H
#define SDM_GRID_H

#include "core/core.h"

/* Grid of the DEM: corner of the first cell, spacing in units of the CRS (square cells, north up). */
typedef struct SdmGrid {
    char wkt[4096];     /* horizontal CRS, WKT1 or WKT2, traditional axis order (x, y) */
    double x0, y0, spacing;
    int64_t cols, rows;
    bool geographic;
} SdmGrid;

/* Choose the output CRS and spacing.
 * lon/lat: scene centre, degrees.  gsd_m: ground sample distance of the left image.  Uses --t_srs, --tr.
 * Sets wkt, spacing, geographic; UTM zone (polar: EPSG:3413 north of 84, 3031 south of -80). */
SdmStatus sdm_grid_choose(SdmContext *ctx, double lon_deg, double lat_deg, double gsd_m, SdmGrid *grid);
SdmStatus sdm_grid_check_srs(SdmContext *ctx); /* --t_srs, as far as it can be checked without the scene */
/* Warn when the scene's centre lies outside the area that the CRS of --t_srs is made for. */
void sdm_grid_warn_area(SdmContext *ctx, double lon_deg, double lat_deg);
/* The same for DEMs that are there already: srs (as --t_srs) and spacing (as --tr, in its units) stand where
 * the options are not given, and the spacing is taken as it is. */
SdmStatus sdm_grid_choose_like(SdmContext *ctx, const char *srs, double spacing, double lon_deg,
                               double lat_deg, SdmGrid *grid);
/* Set x0, y0, cols, rows to cover the bounds (CRS units), aligned to multiples of the spacing. */
SdmStatus sdm_grid_cover(SdmContext *ctx, const double bounds[4] /* xmin ymin xmax ymax */, SdmGrid *grid);
/* Metres of a side of a cell: along the meridian for a geographic grid, of the map for a projected one. */
double sdm_grid_spacing_m(const SdmGrid *grid);
/* Side, metres, of a square that is as large as a cell is on the ground at lon, lat (degrees): Web
 * Mercator's are three times smaller at 70 degrees than on the map.  What differs by less than a tenth is as
 * on the map. */
SdmStatus sdm_grid_ground_m(SdmContext *ctx, const SdmGrid *grid, double lon_deg, double lat_deg,
                            double *side_m);

#endif
