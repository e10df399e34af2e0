/* Stage 5 on the processor, one pass over a window of a level: both views and the prior heights -> new
 * heights, flags and scores; or the ray intersection error of the heights. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geometry/surface.h"
#include "matching/match_steps.h"
#include "matching/pyramid.h"

/* A window of one level with its images. */
typedef struct SdmLevelTask {
    const SdmKernels *kernels;
    sdm_cost_strip_fn *cost;
    const SdmLattice *lattice;
    SdmWindow win;
    const SdmRowExtent *extent; /* as of a surface of the window; not with an optimizer */
    const SdmLevelImage *left_source, *right_source;
    int v_shift;           /* the right view is sampled so many rows further down (search at the coarsest
                            * level) */
    int16_t *left, *right; /* warped, h x w, owned */
} SdmLevelTask;

/* Allocate both views and warp the left one; the other fields are set. */
SdmStatus sdm_level_open(SdmContext *ctx, SdmLevelTask *task);
void sdm_level_close(SdmLevelTask *task);

/* Warp a view (the right one by the surface) into out, h x w. */
SdmStatus sdm_warp_view(SdmContext *ctx, const SdmLevelTask *task, enum SdmSide side, const float *surface_m,
                        int16_t *out);

/* Warp the right view by the surface (task->right). */
SdmStatus sdm_level_warp(SdmContext *ctx, SdmLevelTask *task, const float *surface_m);

/* Match about the heights `prior` (h x w; not the surface's own), for which the right view was warped.  On
 * return matched pixels have new heights and SDM_QA_VALID, the others the prior's height and the reason.
 * retry: match only the pixels that are not valid; the others keep their heights.  Pixels that are
 * SDM_QA_OUTSIDE and have no data in the left view have the prior's height and a score of 0 already. */
SdmStatus sdm_level_match(SdmContext *ctx, SdmLevelTask *task, const SdmPass *pass, const float *prior,
                          bool retry, SdmSurface *surface);

/* Residual across the epipolar lines: sub-pixel v of the best score among rows -1, 0, 1 at d = 0, in level
 * pixels.  NaN: the window leaves the images or the score does not depend on v; 2: no match.  The views are
 * those in `task`.  ray_error_v: h x w.  score0: 250 x score at v = 0, h x w.
 * pass: window, min_sigma. */
SdmStatus sdm_level_ray_error(SdmContext *ctx, SdmLevelTask *task, const SdmPass *pass, float *ray_error_v,
                              uint8_t *score0);
