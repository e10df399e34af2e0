/* Heights, ray intersection errors and scores of a window at full resolution -> accepted pixels, matched or
 * filled, and the reasons of the others. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/backend.h"

/* Set flags and scores of the surface.  A height that the terrain around cannot have: SDM_QA_ISOLATED; a
 * score over the larger window below the settings' final score: SDM_QA_LOW_SCORE; a mean ray intersection
 * error (over 2 SDM_RAY_ERROR_HALF + 1 pixels a side) above the limit: SDM_QA_RAY_ERROR.  ray_error_px,
 * score0: h x w, of sdm_level_ray_error().  Threads as the context has. */
SdmStatus sdm_validate_pixels(SdmContext *ctx, const SdmMatchInput *in, const float *ray_error_px,
                              const uint8_t *score0, SdmSurface *s);
/* The least score (250 x) that it accepts. */
uint8_t sdm_validation_min_score(const SdmMatchSettings *set);

/* Flags of pixels whose place in a view, or its surroundings, has defects; the left view first.
 * Masked: SDM_PIXEL_MASKED, besides VALID.  Else beyond the data: SDM_QA_OUTSIDE.
 * Else filled: FILLED, or SDM_QA_OUTSIDE where the settings fill nothing.
 * SDM_QA_OUTSIDE: SDM_QA_SATURATED where the view is saturated within 3 px, SDM_PIXEL_MASKED where it is
 * masked within 4 px, half a window. */
void sdm_mark_defects(SdmContext *ctx, const SdmMatchInput *in, SdmSurface *s);

/* Filled pixels (h x w, 1; overwritten) that both views see and that lie over terrain become VALID and FILLED
 * where they and those among them up to SDM_STEEP_HALF pixels away are gentle: the least-squares plane
 * through the heights of 2 SDM_SLOPE_HALF + 1 pixels a side, matched or so filled, is within the settings'
 * limit; between hidden clouds all that have texture.  The others keep their reason, and FILLED without VALID
 * says that they were refused.  Reach SDM_SLOPE_HALF + SDM_STEEP_HALF. */
SdmStatus sdm_accept_filled(SdmContext *ctx, const SdmMatchInput *in, uint8_t *filled, SdmSurface *s);
