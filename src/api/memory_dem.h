/* A DEM in memory: a product that was not written. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_MEMORY_DEM_H
#define SDM_MEMORY_DEM_H

#include "product/product.h"

struct SdmDem {
    SdmKeptProduct kept;
    int vertical; /* SdmVertical, or SDM_VERTICAL_UNKNOWN */
};

SdmStatus sdm_dem_open(SdmContext *ctx, int vertical, SdmDem **out);

#endif
