/* A DEM in memory, filled block by block. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_MEMORY_DEM_H
#define SDM_MEMORY_DEM_H

#include "core/dem_block.h"
#include "geo/geoid.h"

struct SdmDem {
    SdmGrid grid;
    SdmBlock cells;           /* of the whole grid */
    int vertical;             /* SdmVertical, or SDM_VERTICAL_UNKNOWN */
    SdmUndulation undulation; /* of that datum */
    float *undulation_m;      /* of a row; NULL: heights are taken as they are */
};

/* Layers: all; of a stack heights, spread, count and mask. */
typedef enum SdmDemKind { SDM_DEM_OF_SCENE, SDM_DEM_OF_STACK } SdmDemKind;

/* Open a DEM without cells yet; *out is set after a failure, too. */
SdmStatus sdm_dem_open(SdmContext *ctx, const SdmGrid *grid, int vertical, SdmDemKind kind, SdmDem **out);
/* Copy a block to its place.  Heights above the ellipsoid become those that the products have, in the block,
 * too: above the DEM's datum, rounded to their step. */
SdmStatus sdm_dem_add(SdmContext *ctx, SdmDem *dem, SdmBlock *block);

#endif
