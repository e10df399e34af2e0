/* Stages 5 to 7: the coarse surface of a scene -> the validated surface of a window, level after level.  The
 * order of passes, filters and validation is written here once; a back end does the work. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/backend.h"

/* Match a window on the processor.  After a failure out is empty. */
SdmStatus sdm_match_window(SdmContext *ctx, const SdmMatchCall *call, SdmFineResult *out);

/* Match a window on a back end that was initialised with the coarse surface; closes it.  Where the points
 * were gridded, out->surface is empty and call->block has its arrays (sdm_block_free()).  Steps that the
 * back end cannot finish are done on the processor.  After a failure out and block are empty. */
SdmStatus sdm_match_window_on(SdmContext *ctx, const SdmMatchBackend *b, const SdmMatchCall *call,
                              SdmFineResult *out);

/* Steps that are done, and all of them, by sdm_step_cost() and the pixels of the level. */
typedef struct SdmMatchProgress {
    double done, all;
} SdmMatchProgress;

/* Run a sequence of steps on the surface of the window `win`.  progress: told after each step; NULL: not
 * told. */
SdmStatus sdm_run_sequence(SdmContext *ctx, const SdmMatchInput *in, const SdmMatchBackend *b,
                           const SdmWindow *win, SdmSequence sequence, SdmMatchProgress *progress);

/* The window of `level` that must be computed for the levels below it to be exact inside call->need:
 * multiples of 16 pixels of level 0 but where call->win ends. */
SdmWindow sdm_level_part(const SdmMatchCall *call, int level);
