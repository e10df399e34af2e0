/* A matched surface -> the same with heights where a window reaches beyond the data: the pixel takes the
 * correction that the nearest window with all of its data has found, which still contains the pixel.
 * Source of windows that need not be centred: Bobick and Intille 1999 (large occlusion stereo). */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geometry/surface.h"

/* Matched images, each h x w: both views, the right one warped by the prior surface. */
typedef struct SdmBorderWindows {
    const int16_t *left, *right;
    const float *prior_m;
    int half; /* of the windows, px */
} SdmBorderWindows;

/* Reach of the filling, px. */
static inline int sdm_border_reach(int half)
{
    return 2 * half;
}

/* Pixels that are SDM_QA_OUTSIDE though both views have data there, and have a VALID pixel within `half`
 * columns and rows, become VALID with its score.  The nearest one: on the smallest square about the pixel,
 * and there the one nearest to the middle of a side.  The change c since the prior is continued beyond it as
 * a plane: 2 c(nearest) - c(as far on its other side), or c(nearest) where that pixel has no match.  In
 * place; pixels without a match have the score 0. */
SdmStatus sdm_match_border(SdmContext *ctx, const SdmBorderWindows *in, SdmSurface *s);
