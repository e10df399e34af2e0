/* The correction of the cameras that a reference DEM shows and a pair cannot: its parameters -> a shift of
 * projected right positions along the epipolar lines.  It is fitted in src/pointing/along_fit. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/math.h"
#include "geometry/pointing.h"

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
/* The polynomial alone, px, at a position of the right image. */
double sdm_along_polynomial(const SdmAlongCorrection *a, const SdmPointing *scale, double col, double row);
/* The waves of one view alone, px, at a row of its image. */
double sdm_along_profile(const SdmAlongCorrection *a, int view, double row);
/* The whole correction, px, at a position of the right image and the row of its partner in the left one. */
double sdm_along_value(const SdmAlongCorrection *a, const SdmPointing *scale, const double right[2],
                       double left_row);
