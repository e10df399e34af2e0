/* The filtered surface -> the same, moved by least squares so that the pixels of both views agree.  The noise
 * of the views and the roughness of the ground decide how far.
 * Source: Foerstner 1982, Gruen 1985 (least-squares matching); Terzopoulos 1983 (thin plates, multigrid); the
 * weights of both terms are the inverses of two local variances: of the difference of the views, and of
 * second differences of heights. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geometry/surface.h"
#include "matching/match_settings.h"
#include "matching/point_formulas.h"

enum {
    SDM_LS_CYCLES = 2, /* of a correction at half the resolution and one at the full one */
    SDM_LS_HALF_STEPS = 4,
    SDM_LS_STEPS = 1,
    /* Reach of a cycle: residual 2, sums of 2 x 2 px 1, steps at half the resolution 4 each but the
     * first, doubling 3, steps 2 each. */
    SDM_LS_CYCLE_REACH = 2 + 1 + 4 * (SDM_LS_HALF_STEPS - 1) + 3 + 2 * SDM_LS_STEPS,
    /* And of the statistics: two blocks and a half, the second differences 1, their blur 2. */
    SDM_LS_REACH = (SDM_LS_CYCLES * SDM_LS_CYCLE_REACH + 20 + 3 + 1) / 2 * 2
};

/* A surface and both views of its window, for which the right one was warped; borrowed. */
typedef struct SdmLeastSquares {
    SdmSurface *surface;
    const int16_t *left, *right;
    float px_per_metre; /* of residual for a metre of height, with its sign */
} SdmLeastSquares;

/* A step of the Chebyshev iteration: step = keep step + move (residual inverse). */
typedef struct SdmLsStep {
    float keep, move;
} SdmLsStep;

/* The first `count` steps; the first one keeps nothing. */
void sdm_ls_steps(int count, SdmLsStep *out);

/* Move the valid heights, in place, by at most a pixel of residual.  Reach SDM_LS_REACH px, for windows that
 * begin at even columns and rows of the frame: the half grid begins with the window.  SDM_ERR_MEMORY. */
SdmStatus sdm_surface_least_squares(SdmContext *ctx, const SdmKernels *k, const SdmLeastSquares *in);
