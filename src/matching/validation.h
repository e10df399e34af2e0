/* Heights, ray intersection errors and scores of a window at full resolution -> accepted pixels, matched or
 * filled, and the reasons of the others. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/backend.h"
#include "matching/pieces.h"

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
 * Else VALID and as bright as hidden clouds: SDM_QA_ISOLATED.
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

/* ---- gaps between clouds: fill_gaps.c ---- */

enum {
    SDM_GAP_HALF = 128, /* px, of the window that a plane goes through, about a place up to 4 px off */
    SDM_GAP_REACH = SDM_GAP_HALF + 4,
    SDM_GAP_PIECE = 128, /* px: smaller pieces of labels are chance */
    SDM_AREA_SCORE = 100 /* least 250 x score of the labels of areas: chance reaches 60 */
};

/* Keep the VALID heights of the labels that score at least so well and that both views show darker than
 * clouds, of pieces of SDM_GAP_PIECE pixels or more. */
SdmStatus sdm_keep_agreed(SdmContext *ctx, const SdmMatchInput *in, int least, SdmSurface *s);

/* The heights kept, and where there are none, those of the areas, in place.  out: h x w, allocated; NaN
 * elsewhere. */
SdmStatus sdm_join_agreed(SdmContext *ctx, const SdmSurface *areas, SdmSurface *s, float **out);

/* Heights of pixels without a match: of the labels (known_m, which matches join), else of a plane through
 * these, or of the prior DEM and a plane through their differences from it, where both views show it darker
 * than clouds; filled (h x w): 1 there, else 0; NULL: of any plane, as a guide.  Reach SDM_GAP_REACH. */
SdmStatus sdm_fill_gaps(SdmContext *ctx, const SdmMatchInput *in, float *known_m, SdmSurface *s,
                        uint8_t *filled);

/* ---- ground that a step hides from one view: fill_hidden.c ---- */

enum {
    SDM_FILL_RUN = 64, /* px: wider gaps of a row are not filled */
    SDM_WEAK_PX = 96,  /* px: larger pieces of surface are not weak */
    SDM_WALL_PX = 32,  /* px: what lies further off is not asked whether it covers a pixel */
    SDM_FILL_HIDDEN_REACH = SDM_FILL_RUN + SDM_WEAK_PX + SDM_PIECE_AROUND + SDM_WALL_PX
};

/* Small pieces of surface that the validation has left, with scores that hardly pass, become
 * SDM_QA_ISOLATED: in shadows they are chance, and gaps would be filled from them.  Then gaps along the rows,
 * between two valid pixels.  A gap that is no wider than what the step between its sides hides from the right
 * view is SDM_QA_FOLD and gets the lower side's height; pixels that show the wall rise from it to the higher
 * side.  Where the edge of the higher side was placed (SDM_QA_FOLD before), all of the gap gets it, which may
 * be wider then.  A pixel that has a match of its own, between the heights of the sides, keeps it.  Narrow
 * gaps without a step are interpolated.  Such pixels become VALID and FILLED, unless --fill none; --fill all
 * fills what is left, too.  Last, pixels whose ground would lie under a roof beside them become SDM_QA_FOLD:
 * the left view shows the roof's wall there.  Reach SDM_FILL_HIDDEN_REACH. */
SdmStatus sdm_fill_hidden(SdmContext *ctx, const SdmMatchInput *in, SdmSurface *s);
