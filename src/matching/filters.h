/* Stages 6 and 7: heights and flags of a surface -> cleaned, completed, smoothed, refined ones.  Every
 * filter has a bounded reach (stated with it, in pixels of the level) and exact arithmetic, or one of a
 * fixed order, so that tiles agree.  The order in which they run stands in src/matching/match_steps.c. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geometry/surface.h"
#include "matching/match_settings.h"
#include "matching/point_formulas.h"

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

/* (1 2 1)/4 in both axes, in place.  Reach 1. */
SdmStatus sdm_surface_smooth(SdmContext *ctx, const SdmKernels *k, SdmSurface *s);

/* ---- windows that reach beyond the data: border_windows.c.  Source of windows that need not be centred:
 * Bobick and Intille 1999 (large occlusion stereo) ---- */

/* Matched images, each h x w: both views, the right one warped by the prior surface. */
typedef struct SdmBorderWindows {
    const int16_t *left, *right;
    const float *prior_m;
    int half; /* of the windows, px */
} SdmBorderWindows;

/* Reach of the filling, px. */
static inline int sdm_border_reach(int half)
{
    return 2 * half;
}

/* Pixels that are SDM_QA_OUTSIDE though both views have data there, and have a VALID pixel within `half`
 * columns and rows, become VALID with its score.  The nearest one: on the smallest square about the pixel,
 * and there the one nearest to the middle of a side.  The change c since the prior is continued beyond it as
 * a plane: 2 c(nearest) - c(as far on its other side), or c(nearest) where that pixel has no match.  In
 * place; pixels without a match have the score 0. */
SdmStatus sdm_match_border(SdmContext *ctx, const SdmBorderWindows *in, SdmSurface *s);

/* ---- less noise on plains and more detail on ridges: wiener.c, a local Wiener filter of two bands of
 * detail, by the predicted variance of its matches.  Source: Lee 1980 (digital image enhancement and
 * noise filtering by use of local statistics), on the bands of an a-trous wavelet transform ---- */

/* Blurs (1 4 6 4 1)/16 of the heights with taps 1, 2 and 4 px apart; what lies between two of them is a
 * band. */
enum { SDM_WIENER_BLURS = 3, SDM_WIENER_REACH = 2 * (1 + 2 + 4) + SDM_WIENER_HALF };
#define SDM_WIENER_NOISE 0.1f /* mean square of a band by noise alone, of the variance of a match */
/* Gain of the finer band without noise: what windows of 5 x 5 px have taken off. */
#define SDM_WIENER_DETAIL 1.7f
#define SDM_WIENER_UNIT 1024.0f /* of a pixel of residual: unit of the bands whose squares are summed */

/* The ratio (1 - rho) / rho of noise and texture for each score, 1/4096. */
void sdm_wiener_ratios(const SdmMatchSettings *set, float ratio[256]);

/* Filter all heights, in place.  left: h x w, the left view; metres_per_px: height for a pixel of residual.
 * Reach SDM_WIENER_REACH px. */
SdmStatus sdm_surface_wiener(SdmContext *ctx, const SdmKernels *k, SdmSurface *s, const int16_t *left,
                             const float ratio[256], float metres_per_px);

/* ---- heights for which the pixels of both views agree: least_squares.c.  The noise of the views and the
 * roughness of the ground decide how far they move.  Source: Foerstner 1982, Gruen 1985 (least-squares
 * matching); Terzopoulos 1983 (thin plates, multigrid); the weights of both terms are the inverses of two
 * local variances: of the difference of the views, and of second differences of heights, this one times the
 * share of the pixels that both views show ---- */

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

/* A step of the Chebyshev iteration: step = keep step + move (residual inverse). */
typedef struct SdmLsStep {
    float keep, move;
} SdmLsStep;

/* The first `count` steps; the first one keeps nothing. */
void sdm_ls_steps(int count, SdmLsStep *out);

/* Move the heights, in place, by at most a pixel of residual; those set aside by the plate alone.  left,
 * right: both views of the window, the right one warped; px_per_metre: residual for a metre of height, with
 * its sign.  Reach SDM_LS_REACH px, for windows that begin at even columns and rows of the frame: the half
 * grid begins with the window. */
SdmStatus sdm_surface_least_squares(SdmContext *ctx, const SdmKernels *k, SdmSurface *s, const int16_t *left,
                                    const int16_t *right, float px_per_metre);
