/* Ray errors of good matches all over a scene -> the limit above which a match is taken for false. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_RAY_ERROR_LIMIT_H
#define SDM_RAY_ERROR_LIMIT_H

#include "matching/level_loop.h"

enum { SDM_RAY_ERROR_BINS = 128 /* a pixel */ };

/* Histogram of signed ray errors from -1 to 1 px of the frame; zero to begin with. */
typedef struct SdmRayErrorCounts {
    int64_t bin[2 * SDM_RAY_ERROR_BINS + 1], total;
} SdmRayErrorCounts;

/* Count the pixels of a window that were accepted, or rejected for their ray error alone. */
void sdm_ray_error_count(const SdmFineResult *fine, SdmRayErrorCounts *counts);

/* Three times the median distance from the median, px: 0.25 at least, 0.6 at most.  With semi-global matching
 * 0.5 at least, for windows beside walls hold two heights. */
float sdm_ray_error_limit(const SdmRayErrorCounts *counts, bool semi_global);

#endif
