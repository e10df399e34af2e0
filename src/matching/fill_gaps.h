/* Heights of the labels between clouds -> those to keep; a validated surface -> the same with them and with
 * planes through the matches around where both views show the ground and no window matches it. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/backend.h"

enum {
    SDM_GAP_HALF = 32,  /* px, of the window that a plane goes through */
    SDM_GAP_PIECE = 128 /* px: smaller pieces of labels are chance */
};

/* Keep the VALID heights of the labels that both views show darker than clouds, of pieces of SDM_GAP_PIECE
 * pixels or more.  out: h x w, allocated; NaN elsewhere. */
SdmStatus sdm_find_agreed(SdmContext *ctx, const SdmMatchInput *in, SdmSurface *s, float **out);

/* Heights of pixels without a match: of the labels (agreed_m), else of a plane, where both views show it
 * darker than clouds; filled (h x w): 1 there, else 0.  Reach SDM_GAP_HALF. */
void sdm_fill_gaps(SdmContext *ctx, const SdmMatchInput *in, const float *agreed_m, SdmSurface *s,
                   uint8_t *filled);
