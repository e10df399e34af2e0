/* A validated surface between clouds -> the same with planes through the matches around where both views show
 * the ground and no window matches it. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_FILL_GAPS_H
#define SDM_FILL_GAPS_H

#include "matching/backend.h"

enum { SDM_GAP_HALF = 16 /* px, of the window that a plane goes through */ };

/* Heights of pixels without a match that both views show darker than clouds; filled (h x w): 1 there, else
 * 0.  Reach SDM_GAP_HALF. */
void sdm_fill_gaps(SdmContext *ctx, const SdmMatchInput *in, SdmSurface *s, uint8_t *filled);

#endif
