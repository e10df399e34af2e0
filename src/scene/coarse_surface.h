/* Cameras and images -> the coarse surface of the whole frame, with the pointing fitted on the way. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scene/prepare.h"

/* The prior DEM; *out stays NULL without --dem.  SDM_ERR_INPUT where it cannot be used. */
SdmStatus sdm_prior_open(SdmContext *ctx, const SdmOptions *o, SdmHeightRaster **out);

/* Match the coarse levels.  p: frame and settings are set; its coarse surface, terrain, pointing and points
 * are the result, and whether it was found between clouds.  images: get the coarse levels of both images, the
 * caller's to free; NULL: not kept.  SDM_ERR_DATA where matches are too few, or clouds hide the ground. */
SdmStatus sdm_coarse_find(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p, SdmPyramid images[2]);

/* The coarse surface once more with the final pointing: where rays miss each other, matches are shifted along
 * the lines, too (docs/chain.md, 2).  Each height is the best of these matches: what the pointing of the
 * coarse levels found does not count, and what no longer matches has score 0.  *out: a copy of p->coarse,
 * matched; freed by the caller, also after a failure. */
SdmStatus sdm_coarse_match_again(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p,
                                 const SdmPyramid images[2], SdmSurface *out);
