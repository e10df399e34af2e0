/* Geoid undulation above the WGS 84 ellipsoid: at points, and over the cells of a grid. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_GEOID_H
#define SDM_GEOID_H

#include "geo/grid.h"
#include "geo/projector.h"

/* Geoid undulation N (ellipsoidal height = geoid height + N) of SDM_EGM96 or SDM_EGM2008, from a grid of
 * PROJ's. open: SDM_ERR_UNSUPPORTED with a sentence that names the grid to get, where PROJ does not find it.
 */
typedef struct SdmGeoid SdmGeoid;
SdmStatus sdm_geoid_open(SdmContext *ctx, int vertical, SdmGeoid **out);
/* Metres at n points; NaN where a coordinate is NaN.  SDM_ERR_DATA outside the grid. */
SdmStatus sdm_geoid_undulation(SdmContext *ctx, SdmGeoid *g, size_t n, const double *lon_deg,
                               const double *lat_deg, double *undulation_m);
void sdm_geoid_close(SdmGeoid **g);

/* Undulation over the cells of a grid, interpolated between nodes at multiples of `step` cells of the whole
 * grid, so that a window of any size has the same values.  A handle serves one thread at a time. */
typedef struct SdmUndulation {
    const SdmGrid *grid; /* borrowed */
    SdmProjector *projector;
    SdmGeoid *geoid; /* NULL: heights above the ellipsoid, nothing to add */
    int step;
} SdmUndulation;
SdmStatus sdm_undulation_open(SdmContext *ctx, const SdmGrid *grid, int vertical, SdmUndulation *out);
/* Metres for a window of cells: h rows of w. */
SdmStatus sdm_undulation_window(SdmContext *ctx, SdmUndulation *u, int64_t col0, int64_t row0, int64_t w,
                                int64_t h, float *undulation_m);
/* Metres at n cells.  x, y: their columns and rows; overwritten by longitude and latitude. */
SdmStatus sdm_undulation_cells(SdmContext *ctx, SdmUndulation *u, size_t n, double *x, double *y,
                               double *undulation_m);
void sdm_undulation_close(SdmUndulation *u);

#endif
