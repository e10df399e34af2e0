/* Geoid undulation above the WGS 84 ellipsoid: at points, and over the cells of a grid. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geo/grid.h"
#include "geo/projector.h"

/* Undulation N (height above the ellipsoid = height above the geoid + N).  Open SDM_EGM96 or
 * SDM_EGM2008: from PROJ's grid where PROJ finds one, else from the program's own. */
typedef struct SdmGeoid SdmGeoid;
SdmStatus sdm_geoid_open(SdmContext *ctx, int vertical, SdmGeoid **out);
/* The same by the program's own grid, whatever PROJ has. */
SdmStatus sdm_geoid_open_own(SdmContext *ctx, int vertical, SdmGeoid **out);
/* Open any vertical datum that PROJ can transform.  crs: WKT of a compound CRS; who: "--reference FILE", for
 * the sentence.  SDM_ERR_UNSUPPORTED where PROJ has no transformation of known accuracy, or lacks its
 * grid. */
SdmStatus sdm_geoid_open_crs(SdmContext *ctx, const char *crs, const char *who, SdmGeoid **out);
/* Source of its values: "PROJ's grid egm96_15.gtx", "the program's grid of 15'", "PROJ". */
const char *sdm_geoid_source(const SdmGeoid *g);
/* Metres at n points; NaN where a coordinate is NaN.  SDM_ERR_DATA outside what PROJ transforms. */
SdmStatus sdm_geoid_undulation(SdmContext *ctx, SdmGeoid *g, size_t n, const double *lon_deg,
                               const double *lat_deg, double *undulation_m);
void sdm_geoid_close(SdmGeoid **g);

/* Undulation over the cells of a grid, interpolated between nodes at multiples of `step` cells of the whole
 * grid, so that a window of any size has the same values.  A handle serves one thread at a time. */
typedef struct SdmUndulation {
    const SdmGrid *grid; /* borrowed */
    double dx, dy;       /* of its cells, units of its CRS; open sets its spacing */
    SdmProjector *projector;
    SdmGeoid *geoid; /* NULL: heights above the ellipsoid, nothing to add */
    int step;
} SdmUndulation;
/* vertical: SdmVertical.  Close it after failure, too. */
SdmStatus sdm_undulation_open(SdmContext *ctx, const SdmGrid *grid, int vertical, SdmUndulation *out);
/* The same for a geoid, which is handed over; NULL: the ellipsoid. */
SdmStatus sdm_undulation_of(SdmContext *ctx, const SdmGrid *grid, SdmGeoid *geoid, SdmUndulation *out);
/* Metres for a window of cells: column, row, width, height. */
SdmStatus sdm_undulation_window(SdmContext *ctx, SdmUndulation *u, const int64_t window[4],
                                float *undulation_m);
/* Metres at n places.  x, y: columns and rows, from the grid's corner; overwritten by longitude and
 * latitude. */
SdmStatus sdm_undulation_cells(SdmContext *ctx, SdmUndulation *u, size_t n, double *x, double *y,
                               double *undulation_m);
void sdm_undulation_close(SdmUndulation *u);
