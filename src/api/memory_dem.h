/* A DEM in memory: a product that was not written. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "product/product.h"

struct SdmDem {
    SdmKeptProduct kept;
    int vertical; /* SdmVertical, or SDM_VERTICAL_UNKNOWN */
};

SdmStatus sdm_dem_open(SdmContext *ctx, int vertical, SdmDem **out);
