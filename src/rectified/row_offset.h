/* Two rectified images -> by how much the rows of the right one are off, and the right image with its rows
 * moved to those of the left one. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rectified/pair.h"

/* The match of left pixel (x, y) lies in row y + constant + slope_x x + slope_y y of the right image. */
typedef struct SdmRowOffset {
    double constant, slope_x, slope_y; /* px; per px of the left image */
    double largest;                    /* px, at a corner of the image */
    int matches;                       /* that the plane was fitted to; 0: too few, all is 0 */
} SdmRowOffset;

/* Windows of 9 x 9 pixels at 400 places of the left image are looked for in the same row and, as long as the
 * best zero-mean normalised cross-correlation over all disparities grows, in rows up to 3 px off.  A plane is
 * fitted to the rows of those of 0.8 or more (Tukey's biweight).  Where less than a third of the windows lie
 * on it, a quarter of them is looked for in all rows up to 32 px off first. */
void sdm_row_offset_find(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right, int dmin,
                         int dmax, SdmRowOffset *out);

/* Move the rows of the right image along columns, with the weights of warps (sdm_cubic_weights); the offset
 * is taken at the right pixel.  Where one of the four samples has no data there is SDM_PIXEL_NODATA.  out:
 * height x width. */
void sdm_row_offset_remove(SdmContext *ctx, const SdmRowOffset *offset, const SdmPairImage *right,
                           int16_t *out);
