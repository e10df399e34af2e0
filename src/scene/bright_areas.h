/* Bright areas of an image: clouds, or land beside water. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_BRIGHT_AREAS_H
#define SDM_BRIGHT_AREAS_H

#include "matching/pyramid.h"

/* The grey value above which pixels are of the brighter of two classes of least variance (Otsu 1979).
 * share: of the variance that lies between the classes; below 0 where all values are alike. */
int sdm_split_grey(const SdmLevelImage *image, double *share);

/* Give the pixels above a grey value, and those beside them, the mean of the others in the smallest square of
 * 2^k x 2^k pixels that has some, bilinear between squares; then subtract from every pixel the median around:
 * rims of shadows, which move, vanish, and texture stays. */
SdmStatus sdm_hide_bright(SdmContext *ctx, int above, SdmLevelImage *image);

#endif
