/* Stage 6 on the coarse surface of the scene: heights -> which pixels are terrain, not clouds or false
 * matches, and the nearest terrain of every pixel. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geometry/surface.h"
#include "matching/point_formulas.h"

/* Terrain as far as the coarse surface shows it.  Slopes beyond 55 deg over more than SDM_TERRAIN_STEP_M
 * are discontinuities.  Valid pixels form pieces that are connected without discontinuities; the largest
 * pieces are terrain, another piece only when no discontinuity lies between it and the nearest terrain.
 * Clouds and false matches are the pieces that are left. */
typedef struct SdmTerrainMask {
    SdmWindow win;
    float *h_m;            /* h x w: height of the nearest terrain pixel */
    uint16_t *distance_px; /* h x w: distance to it (0: this pixel is terrain; 65535: far) */
} SdmTerrainMask;

/* Further data of a level, h x w; borrowed. */
typedef struct SdmTerrainEvidence {
    int16_t *grey;      /* the left view */
    float *ray_error_v; /* residual across the epipolar lines, px of the level; NaN: unknown */
    uint8_t *score;     /* of the heights, over the window of the residual, 250 x */
    bool no_grey;       /* bright pixels are hidden: brightness tells no cloud */
} SdmTerrainEvidence;

#define SDM_TERRAIN_NOISE_M 20.0f

/* pixel_m: ground size of a pixel.  Rejected pixels of s lose SDM_QA_VALID and get SDM_QA_ISOLATED.  The same
 * result for any number of threads.  out: sdm_terrain_mask_free(). */
SdmStatus sdm_terrain_mask_find(SdmContext *ctx, SdmSurface *s, float pixel_m, const SdmTerrainEvidence *e,
                                SdmTerrainMask *out);
void sdm_terrain_mask_free(SdmTerrainMask *g);
