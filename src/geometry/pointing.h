/* The image-space correction of the right camera (bias compensation): its parameters -> shifts of projected
 * positions.  It is fitted in src/pointing. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

enum { SDM_POINT_MAX_DEGREE = 6, SDM_POINT_MAX_TERMS = 28 /* (6+1)(6+2)/2 */ };

/* The correction moves a projected right position (col, row) by
 *   f(col, row) * (dir_col, dir_row),   f = sum_k coef[k] * x^i y^j + profile(row),
 * where x = (col - centre[0]) / scale[0], y = (row - centre[1]) / scale[1], terms ordered by degree:
 * 1, x, y, x^2, xy, y^2, ...; profile is linear between nodes every profile_step_px rows from profile_row0,
 * constant outside.  A pair shows the part across the epipolar lines alone, so one direction is enough. */
typedef struct SdmPointing {
    double dir[2]; /* (col, row) unit vector across the epipolar lines in the right image */
    double centre[2], scale[2];
    int degree, terms;
    double coef[SDM_POINT_MAX_TERMS]; /* px of the right image */
    int64_t profile_row0;
    int profile_step_px, profile_count; /* 0 = no profile */
    double *profile_px;                 /* owned */
} SdmPointing;

/* Terms 1, x, y, x^2, xy, y^2 ... up to a degree. */
void sdm_pointing_basis(int degree, double x, double y, double *out);
/* The correction (px along dir) at an image position. */
double sdm_pointing_value(const SdmPointing *p, double col, double row);
/* Its profile alone (px along dir) at an image row; 0 without a profile. */
double sdm_pointing_profile(const SdmPointing *p, double row);
void sdm_pointing_apply(const SdmPointing *p, size_t n, double *image /* n x 2, changed */);
void sdm_pointing_free(SdmPointing *p);
