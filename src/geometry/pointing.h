/* The image-space correction of the right camera (bias compensation): its parameters -> shifts of projected
 * positions.  It is fitted in src/pointing. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"
#include "core/math.h"

/* Cameras are far off whose rays miss each other by more: as delivered by 5 to 10 m. */
#define SDM_POINTING_FAR_M 15.0
#define SDM_POINTING_FAR_PX 10.0 /* and by that; ASTER's miss by 2 */

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
/* A polynomial of these terms at an image position, which is scaled as that correction does. */
double sdm_pointing_polynomial(const SdmPointing *scale, int degree, const double *coef, double col,
                               double row);
/* The correction (px along dir) at an image position. */
double sdm_pointing_value(const SdmPointing *p, double col, double row);
/* Its profile alone (px along dir) at an image row; 0 without a profile. */
double sdm_pointing_profile(const SdmPointing *p, double row);
void sdm_pointing_apply(const SdmPointing *p, size_t n, double *image /* n x 2, changed */);
void sdm_pointing_free(SdmPointing *p);

enum { SDM_ALONG_WAVES = 6, SDM_ALONG_MAX_DEGREE = 2, SDM_ALONG_MAX_TERMS = 6 };
enum { SDM_ALONG_RIGHT, SDM_ALONG_LEFT }; /* the view whose rows a wave follows */

/* Jitter of one frequency: cos_px cos(2 pi f row) + sin_px sin(2 pi f row). */
typedef struct SdmAlongWave {
    double per_row; /* cycles per row of its image */
    double cos_px, sin_px;
} SdmAlongWave;

/* The correction moves a projected right position by
 *   f = sum_k coef[k] x^i y^j + sum waves(row of the right image) + sum waves(row of the left image)
 * px along the unit vector of its change with height, and the ground positions of both cameras by (east,
 * north).  x and y are scaled as in SdmPointing; terms 1, x, y, x^2, xy, y^2.  All 0: no correction. */
typedef struct SdmAlongCorrection {
    double east_m, north_m;
    int degree;
    double coef[SDM_ALONG_MAX_TERMS]; /* px of the right image */
    int waves[2];                     /* number of them, by view */
    SdmAlongWave wave[2][SDM_ALONG_WAVES];
} SdmAlongCorrection;

/* Is it other than 0? */
bool sdm_along_given(const SdmAlongCorrection *a);
/* The waves of one view alone, px, at a row of its image. */
double sdm_along_profile(const SdmAlongCorrection *a, int view, double row);
/* The whole correction, px, at a position of the right image and the row of its partner in the left one. */
double sdm_along_value(const SdmAlongCorrection *a, const SdmPointing *scale, const double right[2],
                       double left_row);
