/* Geoid undulation above the WGS 84 ellipsoid: at points, and over the cells of a grid. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_GEOID_H
#define SDM_GEOID_H

#include "geo/grid.h"
#include "geo/projector.h"

/* Geoid undulation N (ellipsoidal height = geoid height + N) for SDM_EGM96 or SDM_EGM2008 through PROJ.
 * open fails with SDM_ERR_UNSUPPORTED, naming the grid and the package or file to get, when PROJ lacks it. */
typedef struct SdmGeoid SdmGeoid;
SdmStatus sdm_geoid_open(SdmContext *ctx, int vertical, SdmGeoid **out);
SdmStatus sdm_geoid_undulation(SdmContext *ctx, SdmGeoid *g, size_t n, const double *lon_deg,
                               const double *lat_deg, double *undulation_m);
void sdm_geoid_close(SdmGeoid **g);

/* Undulation over the cells of a grid, interpolated between nodes on multiples of `step` cells of the whole
 * grid, so that a window of any size has the same values.  Not thread-safe per handle. */
typedef struct SdmUndulation {
    const SdmGrid *grid; /* borrowed */
    SdmProjector *projector;
    SdmGeoid *geoid;     /* NULL: heights above the ellipsoid, nothing to add */
    int step;
} SdmUndulation;
SdmStatus sdm_undulation_open(SdmContext *ctx, const SdmGrid *grid, int vertical, SdmUndulation *out);
/* Metres for a window of cells: h x w. */
SdmStatus sdm_undulation_window(SdmContext *ctx, SdmUndulation *u, int64_t col0, int64_t row0, int64_t w,
                                int64_t h, float *undulation_m);
/* At n cells (col, row), given in x, y, which are overwritten. */
SdmStatus sdm_undulation_cells(SdmContext *ctx, SdmUndulation *u, size_t n, double *x, double *y,
                               double *undulation_m);
void sdm_undulation_close(SdmUndulation *u);

#endif
