/* Places of a block that windows and means rounded -> places whose ridges are sharper. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/edge_filters.h"

enum { SDM_RIDGE_REACH = 19 }; /* pixels around a pixel on which its place depends */

/* Windows and means see both slopes of a ridge and put it too low, by less than the noise of one place;
 * along a line the noise averages out. For every second pixel of every second row the line of 29 px is
 * looked for, of 16 directions, across which the surface bends most: by the mean of its points' second
 * differences over 12 px on either side. Points whose neighbours 6 px on differ by more than 1 px, at
 * walls, do not count. Such a line is a ridge if it bends down by 0.5 px and 3 times the standard deviation
 * of its points (more where points are missing); twice as much as over 6 px and evenly on both sides, so
 * that both are slopes, as they are not at steps and hedges; and itself by less than 0.4 of it. Its pixels
 * rise by the mean along it of what the means took off (before_px: the places before them, height x width),
 * and by 3/8 of the second difference over 4 px: census words and sums of 5 x 5 take off 1/2 of it of a
 * roof, 1/8 of a parabola; at most by a fifth of the second difference over 12 px. All other pixels keep
 * their places. up: 1 where places grow with height, else -1. */
SdmStatus sdm_sharpen_ridges(SdmContext *ctx, const float *before_px, float up, SdmEdgeBlock *b);
