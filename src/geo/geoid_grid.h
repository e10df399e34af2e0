/* The program's own undulations of EGM96 and EGM2008, every 15', from NGA's grids (data/geoids.bin, made
 * by scripts/geoids).  EGM96 is NGA's grid, rounded to 5 cm.  EGM2008 differs from NGA's grid of 2.5' by
 * 0.06 m (RMS), by less than 0.5 m on 99.9 % of the Earth, and by 1.7 m at most. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"
#include "geo/bicubic.h"

/* Undulations, metres, with two more rows and columns on each side, so that each place on Earth has its
 * sixteen neighbours. */
typedef struct SdmGeoidGrid {
    SdmBicubicPlane plane;
    float *value; /* of the plane; owned */
} SdmGeoidGrid;

/* Unpack a grid.  vertical: SDM_EGM96 or SDM_EGM2008.  Free it after failure, too. */
SdmStatus sdm_geoid_grid_open(SdmContext *ctx, int vertical, SdmGeoidGrid *out);
void sdm_geoid_grid_free(SdmGeoidGrid *g);
/* Metres at a finite longitude and latitude of at most 90 degrees, bicubic. */
double sdm_geoid_grid_at(const SdmGeoidGrid *g, double lon_deg, double lat_deg);
