/* Before rectified matching: images -> smaller ones.  After it: disparities -> without speckles,
 * their median, or filled. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

typedef enum SdmPairFill { SDM_FILL_NONE, SDM_FILL_NEAREST, SDM_FILL_INTERPOLATE } SdmPairFill;

/* 1/factor of the size: out(i, j) = mean of the valid samples among factor x factor, rounded half up;
 * SDM_PIXEL_NODATA where fewer than half of them are valid.  Rows and columns beyond the last whole square
 * are left out. in: height x width, rows `stride` apart; out: (height / factor) x (width / factor), dense.
 * factor >= 1. */
void sdm_pair_shrink(SdmContext *ctx, const int16_t *in, ptrdiff_t stride, int width, int height, int factor,
                     int16_t *out);

/* Median of the valid disparities (not NaN) of side x side (3 or 5) around each valid pixel, cut at the
 * edges; of an even number the mean of the middle two; pixels with fewer than half of side x side valid ones
 * keep their value, NaN stays NaN.  in, out: height x width, px; not the same array. */
void sdm_pair_median(SdmContext *ctx, const float *in, int width, int height, int side, float *out);

/* Remove (NaN) speckles, in place: groups of fewer than `least` matched pixels whose neighbours, of a common
 * side, differ by at most 2 px.  disparity: height x width, px; least: at most SDM_PIECE_MOST, 0 removes
 * nothing.  Errors: SDM_ERR_MEMORY (3 bytes a pixel). */
SdmStatus sdm_pair_despeckle(SdmContext *ctx, int least, int width, int height, float *disparity);

/* Give NaN pixels a value, in place; disparity: height x width, px.  All NaN stays so.
 * nearest: the valid pixel at the smallest Euclidean distance; of several the leftmost, then the uppermost
 *   (the exact transform of Meijster, Roerdink & Hesselink 2000, in integers).
 * interpolate: along the row between the valid pixels on both sides; linearly where the step between them is
 * at most 1 px or 1 in 4, else the smaller of the two, which is the surface behind: a step is an occlusion.
 * Off the ends of a row its outermost value; a row without any copies the nearest row that has one (the upper
 * of two). Errors: SDM_ERR_MEMORY (nearest: 4 bytes a pixel). */
SdmStatus sdm_pair_fill(SdmContext *ctx, SdmPairFill how, int width, int height, float *disparity);
