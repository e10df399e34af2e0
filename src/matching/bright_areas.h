/* Bright areas of an image: clouds, or land beside water. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/pyramid.h"

/* The grey value above which pixels are of the brighter of two classes of least variance (Otsu 1979).
 * share: of the variance that lies between the classes; below 0 where all values are alike. */
int sdm_split_grey(const SdmLevelImage *image, double *share);

/* Subtract from each pixel the median of the medians of its rows within 9 x 9 pixels: rims of shadows, which
 * move, vanish, and texture stays.  Pixels above a grey value, and those beside them, take no part in the
 * medians and become noise that depends on the place and the view (side), so that windows correlate by their
 * other pixels alone: a constant would agree with that of the other view at any height. */
SdmStatus sdm_hide_bright(SdmContext *ctx, int above, int side, SdmLevelImage *image);
