/* Both views of a window of level 0 and the coarse surface -> heights by semi-global matching over a range
 * that holds roofs and streets.  The window is done in blocks that lie at fixed places of the frame, so that
 * a pixel's height does not depend on the window. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/backend.h"
#include "matching/cpu_match_pass.h"

/* Pixels below this size show walls and roofs: --optimizer auto is sgm there, metres. */
#define SDM_SEMI_GLOBAL_BELOW_M 3.0

/* Mean ray intersection error around a pixel above which it is rejected, px, until it is measured on strips
 * of full resolution: windows at walls are less sure of it. */
#define SDM_SEMI_GLOBAL_RAY_ERROR_PX 0.6f

/* The range of the labels, px, before the coarse surface is known. */
int sdm_semi_global_likely_range(const SdmMatchSettings *set);
/* Set label_range_px, of a whole scene, and coarse_offset_px: how far heights of the coarse surface lie from
 * the base, and what the coarse surface cannot show (roofs and streets that its windows lose). */
SdmStatus sdm_semi_global_range(SdmContext *ctx, const SdmSurface *coarse, SdmMatchSettings *set);

/* How many blocks may be in work with a budget of memory (0: none). */
int sdm_semi_global_threads(const SdmMatchSettings *set, int threads, int64_t memory_bytes);

/* Bytes that the blocks in work take. */
int64_t sdm_semi_global_bytes(const SdmMatchSettings *set);

/* Heights of all pixels of task->win, whose left view is open; the right view is used and lost.  Pixels
 * without a match that both views agree on have the reason SDM_QA_LEFT_RIGHT or SDM_QA_ISOLATED.  coarse: of
 * the whole scene.  s: allocated.  Source: Hirschmueller 2008, about a base surface that is smooth over 40
 * m.  areas: costs of areas of 5 x 5 pixels, about one height, for faint texture where the coarse surface is
 * a guess. */
SdmStatus sdm_semi_global_surface(SdmContext *ctx, const SdmMatchInput *in, SdmLevelTask *task,
                                  const SdmSurface *coarse, bool areas, SdmSurface *s);
