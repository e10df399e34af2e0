/* Cameras and images -> the coarse surface of the whole frame, with the pointing fitted on the way. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/level_loop.h"
#include "scene/prepare.h"

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

/* ---- a coarse level of the whole frame, by strips of rows that fit the budget: the same bytes whatever the
 * strips ---- */

/* memory_bytes: the budget, which sets the rows of a strip.  Surfaces are of the whole frame. */

/* Match the level of to->win, starting from the next coarser one; allocates the arrays of `to`. */
SdmStatus sdm_coarse_level(SdmContext *ctx, const SdmMatchInput *in, int64_t memory_bytes,
                           const SdmSurface *from, SdmSurface *to);

/* Passes that match a level again, about its own heights. */
typedef enum SdmCoarsePass {
    SDM_COARSE_REMATCH, /* its invalid pixels, with a window of 5 pixels: see sdm_coarse_run_sequence() */
    SDM_COARSE_AGAIN,   /* all */
    SDM_COARSE_SHARPEN  /* its valid pixels, with a window of 5 pixels: see sdm_sharpen_level() */
} SdmCoarsePass;
SdmStatus sdm_coarse_pass(SdmContext *ctx, const SdmMatchInput *in, int64_t memory_bytes, SdmCoarsePass pass,
                          SdmSurface *s);

/* Ray errors, scores and grey values of a level, from which its terrain is found.  *out: its arrays are the
 * caller's to free, also after a failure. */
SdmStatus sdm_coarse_evidence(SdmContext *ctx, const SdmMatchInput *in, int64_t memory_bytes,
                              const SdmSurface *s, SdmTerrainEvidence *out);

/* Bytes that a level of that window takes at a time, besides the surfaces and images of the whole frame. */
int64_t sdm_coarse_strip_bytes(int64_t memory_bytes, const SdmMatchSettings *set, const SdmWindow *win);
