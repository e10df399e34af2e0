/* Scores of a match across the epipolar line -> its ray intersection error in pixels, a row at a time. */
// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"

#include <math.h>

sdm_ray_error_row_fn SDM_NAME(ray_error_row);

#define FLAT 0.06f /* second difference of the scores over v below which there is no peak */

void SDM_NAME(ray_error_row)(const float *const score[3], int width, float *restrict ray_error_v,
                             uint8_t *restrict quality)
{
    const float *restrict const before = score[0], *restrict const at = score[1],
                                *restrict const after = score[2];
    for (int x = 0; x < width; x++) {
        const float bend = before[x] - 2.0f * at[x] + after[x];
        const bool peak = (at[x] > 0.0f) & (bend < -FLAT);
        const bool known = (before[x] > SDM_SCORE_NONE) & (after[x] > SDM_SCORE_NONE) &
                           (at[x] > SDM_SCORE_NONE) & (peak | (at[x] < 0.7f));
        float v = 0.5f * (before[x] - after[x]) / (peak ? bend : -1.0f);
        v = v < -2.0f ? -2.0f : v;
        v = v > 2.0f ? 2.0f : v;
        v = peak ? v : 2.0f;
        ray_error_v[x] = known ? v : NAN;
        quality[x] =
            (uint8_t)(int32_t)((at[x] > 0.0f ? at[x] : 0.0f) * 250.0f + (at[x] > 0.0f ? 0.5f : 0.0f));
    }
}
