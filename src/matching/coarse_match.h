/* Stages 5 to 7 on scene-wide levels, on the processor: a surface of a level -> the same, matched, matched
 * again, filled; and the search for the heights of the coarsest level.  settings, lattice and pyramids of
 * `in` are used; the surface's arrays may be replaced. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/backend.h"

/* Run a coarse sequence (SDM_SEQUENCE_COARSE_FIRST, .._SECOND, .._REMATCH) on a surface whose heights are the
 * prior; on return cleaned and filled. */
SdmStatus sdm_coarse_run_sequence(SdmContext *ctx, const SdmMatchInput *in, SdmSequence sequence,
                                  SdmSurface *s);

/* Match valid pixels again with a smaller window and take heights that score no less; then the median,
 * smoothed.  Flags stay.  Reach: window / 2 + 2 range + 4. */
SdmStatus sdm_sharpen_level(SdmContext *ctx, const SdmMatchInput *in, SdmSurface *s);

/* Heights of all pixels that are not valid, from the nearest valid ones; scene-wide, unbounded. */
SdmStatus sdm_fill_everywhere(SdmContext *ctx, const SdmKernels *k, const float *prior, SdmSurface *s);

/* Ray intersection errors of a surface, level pixels, h x w; NaN where it is not valid: see
 * sdm_level_ray_error().  score: 250 x the score there; grey: the left view; h x w. */
SdmStatus sdm_match_ray_error(SdmContext *ctx, const SdmMatchInput *in, const SdmSurface *s,
                              float *ray_error_v, uint8_t *score, int16_t *grey);

/* The left view of a window of a level, h x w. */
SdmStatus sdm_match_left_view(SdmContext *ctx, const SdmMatchInput *in, const SdmWindow *win, int16_t *out);

/* The search at the coarsest level. */
typedef struct SdmCoarsestSearch {
    double half_range_px; /* residuals to search, level pixels */
    double pixel_m;       /* ground size of a level pixel */
    int v_shift;          /* the right view is sampled so many rows further down */
    bool level;           /* about level planes alone; gaps stay open */
} SdmCoarsestSearch;
/* Match about planes, level and tilted, through the prior surface s, and keep the best of each pixel; on
 * return cleaned and filled.  *matched: share of the pixels seen by both views that were matched. */
SdmStatus sdm_coarsest_search(SdmContext *ctx, const SdmMatchInput *in, const SdmCoarsestSearch *q,
                              SdmSurface *s, double *matched);
