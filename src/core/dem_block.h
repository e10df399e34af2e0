/* A block of the DEM's cells, as stage 8 makes it. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdint.h>

/* Every array h x w.  Heights above the WGS 84 ellipsoid in metres, NaN where there is none. */
typedef struct SdmBlock {
    int64_t col0, row0, w, h;
    float *height_m, *score, *ray_error_m, *spread_m, *ortho; /* score 0..1; ortho in DN of the left image,
                                                               * NaN outside; score, ray_error_m, ortho: NULL
                                                               * for a stack */
    uint16_t *count, *mask;
    uint16_t *pairs; /* of several views: pairs whose heights agree in the cell; else NULL */
    float *error_m;  /* of several views: predicted standard error; else NULL */
} SdmBlock;
