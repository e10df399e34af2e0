/* A validated surface with discontinuities -> the same with heights where a step hides the ground from one
 * view. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/backend.h"
#include "matching/pieces.h"

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
