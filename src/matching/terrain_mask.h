/* Stage 6 on the coarse surface of the scene: what is terrain, and what hangs above it. */
#ifndef SDM_TERRAIN_MASK_H
#define SDM_TERRAIN_MASK_H

#include "geometry/surface.h"

/* Terrain as far as the coarse surface knows it.  Slopes beyond 55 deg over more than SDM_GROUND_STEP_M are
 * taken for jumps: matched pixels form pieces that are connected without jumps; the largest pieces are
 * terrain, another piece only when no jump lies between it and the nearest terrain.  Clouds and false matches
 * are what is left. */
typedef struct SdmTerrainMask {
    SdmWindow win;
    float *h_m;        /* h x w: height of the nearest terrain pixel */
    uint16_t *away;    /* h x w: distance to it, px (0: this pixel is terrain; 65535: far) */
} SdmTerrainMask;

#define SDM_GROUND_STEP_M 80.0f
#define SDM_GROUND_NOISE_M 20.0f
#define SDM_GROUND_FAR_SLOPE 0.15f /* beyond 5 pixels: relief of high mountains over kilometres */
#define SDM_GROUND_FAR_M 4000.0f   /* and no more beyond that */
#define SDM_GROUND_SLOPE 1.43f /* tan 55 deg: what a window of 9 coarse pixels leaves of steeper ones */

/* pixel_m: ground size of a pixel.  Rejected pixels of s lose SDM_QA_VALID and get SDM_QA_ISOLATED.  Serial:
 * same result always. */
SdmStatus sdm_terrain_mask_find(SdmContext *ctx, SdmSurface *s, float pixel_m, SdmTerrainMask *out);
void sdm_terrain_mask_free(SdmTerrainMask *g);

/* Largest height difference from the nearest terrain that a pixel `away` px off can have. */
static inline float sdm_ground_limit(float away, float pixel_m)
{
    const float steep = away < 5.0f ? away + 1.0f : 6.0f, rest = away < 5.0f ? 0.0f : away - 5.0f;
    const float far_m = pixel_m * rest < SDM_GROUND_FAR_M ? pixel_m * rest : SDM_GROUND_FAR_M;
    return SDM_GROUND_STEP_M + SDM_GROUND_SLOPE * pixel_m * steep + SDM_GROUND_FAR_SLOPE * far_m;
}

#endif
