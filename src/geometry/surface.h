/* Stages 6 and 7: the surface of a window of a level, and the filters that clean and complete it.  Every
 * filter has a bounded reach (stated with it, in pixels of the level) and exact arithmetic, or one of a
 * fixed order, so tiles agree. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_SURFACE_H
#define SDM_SURFACE_H

#include "core/qa.h"
#include "geometry/lattice.h"

/* Columns x0..x1 - 1 that matter of a block of SDM_EXTENT_ROWS rows; what lies outside them keeps its prior and
 * is SDM_QA_OUTSIDE. */
enum { SDM_EXTENT_ROWS = 128 };
typedef struct SdmRowExtent {
    int x0, x1;
} SdmRowExtent;

typedef struct SdmSurface {
    SdmWindow win;
    const SdmRowExtent *span; /* of its blocks, borrowed; NULL: all matters */
    float *h_m;      /* h x w, metres above the ellipsoid, always finite */
    uint16_t *flags; /* h x w, SdmQaBit; VALID where matched */
    uint8_t *score;  /* h x w, 250 x best score, 0 = none */
} SdmSurface;

/* The columns that matter of row y. */
static inline SdmRowExtent sdm_row_extent(const SdmRowExtent *span, int width, int y)
{
    return span ? span[y / SDM_EXTENT_ROWS] : (SdmRowExtent){0, width};
}

/* Columns of a window. */
static inline SdmWindow sdm_window_columns(const SdmWindow *win, SdmRowExtent span)
{
    SdmWindow part = *win;
    part.u0 += span.x0;
    part.w = span.x1 - span.x0;
    return part;
}

/* Contents are undefined until written. */
SdmStatus sdm_surface_alloc(SdmContext *ctx, const SdmWindow *win, SdmSurface *out);
void sdm_surface_free(SdmSurface *s);

/* The window of the finer level, bilinear from the coarser surface, which must cover it with a margin of 1
 * pixel. */
void sdm_surface_refine(SdmContext *ctx, const SdmKernels *k, const SdmSurface *coarse, SdmSurface *fine);

/* 3 x 3 median at every valid pixel, see sdm_median_row_fn.  in -> out, both h x w.  Reach 1. */
void sdm_surface_median(SdmContext *ctx, const SdmKernels *k, const SdmSurface *s, const float *in,
                        float *out);

/* Reject valid pixels whose change since `prior` (metres) agrees within tol_m with fewer than `share` of the
 * pixels of the (2 half + 1)^2 window around: they become SDM_QA_ISOLATED.  new_flags: h x w.  Reach half. */
SdmStatus sdm_surface_reject(SdmContext *ctx, const SdmKernels *k, const SdmSurface *s, const float *prior,
                             int half, float tol_m, float share, uint16_t *new_flags);

/* Heights of pixels without a match, in place: prior + mean change (1/64 m, integers) of the valid ones of
 * the (2 half + 1)^2 window where at least `least` of them are valid; else the prior, or what they have.
 * filled: h x w, 1 where it was done, or NULL.  Reach half. */
typedef struct SdmFill {
    int half, least; /* half <= 128 */
    bool else_prior;
} SdmFill;
SdmStatus sdm_surface_fill(SdmContext *ctx, const SdmKernels *k, SdmSurface *s, const float *prior,
                           const SdmFill *fill, uint8_t *filled);

/* (1 2 1)/4 in both axes, in place.  Reach 1. */
SdmStatus sdm_surface_smooth(SdmContext *ctx, const SdmKernels *k, SdmSurface *s);

#endif
