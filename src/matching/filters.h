/* Stages 6 and 7: heights and flags of a surface -> cleaned, completed, smoothed, refined ones.  Every
 * filter has a bounded reach (stated with it, in pixels of the level) and exact arithmetic, or one of a
 * fixed order, so that tiles agree.  The order in which they run stands in src/matching/match_steps.c. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geometry/surface.h"

/* The window of the finer level, bilinear from the coarser surface, which must cover it with a margin of 1
 * pixel. */
void sdm_surface_refine(SdmContext *ctx, const SdmKernels *k, const SdmSurface *coarse, SdmSurface *fine);

/* 3 x 3 median at every valid pixel, in place, see sdm_median_row_fn.  Reach 1. */
SdmStatus sdm_surface_median(SdmContext *ctx, const SdmKernels *k, SdmSurface *s);

/* Reject valid pixels whose change since `prior` (metres) agrees within tol_m with fewer than `share` of the
 * pixels of the (2 half + 1)^2 window around: they become SDM_QA_ISOLATED.  new_flags: h x w.  Reach half. */
typedef struct SdmRejection {
    int half; /* <= 7 */
    float tol_m, share;
} SdmRejection;
SdmStatus sdm_surface_reject(SdmContext *ctx, const SdmKernels *k, const SdmSurface *s, const float *prior,
                             const SdmRejection *r, uint16_t *new_flags);

/* Heights of pixels without a match, in place: prior + mean change (1/64 m, integers) of the valid ones of
 * the (2 half + 1)^2 window of `near` where at least `least` of them are valid; else so with `far`, unless
 * that is NULL; else the prior where the last one of the two says so, or what they have.
 * filled: h x w, 1 where a mean was taken, or NULL.  Reach half. */
typedef struct SdmFill {
    int half, least; /* half <= 128 */
    bool else_prior;
} SdmFill;
SdmStatus sdm_surface_fill(SdmContext *ctx, const SdmKernels *k, SdmSurface *s, const float *prior,
                           const SdmFill *near, const SdmFill *far, uint8_t *filled);

/* The steepest ground that filled heights of level 0 may make. */
typedef struct SdmFillLimit {
    float rise_m;      /* metres of height for a pixel of ground; INFINITY: no limit; 0: none is filled */
    float slant_px[2]; /* along u and v: how far the ground of a pixel moves for a metre of height */
} SdmFillLimit;

/* (1 2 1)/4 in both axes, in place.  Reach 1. */
SdmStatus sdm_surface_smooth(SdmContext *ctx, const SdmKernels *k, SdmSurface *s);
