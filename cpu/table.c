/* The table of the chain's kernels of one instruction set.  CONTRIBUTING.md lists what a new cost needs. */
// SPDX-License-Identifier: Apache-2.0
#include "kernels.h"

extern sdm_cost_scratch_fn SDM_NAME(cost_scratch);
extern sdm_cost_strip_fn SDM_NAME(zncc), SDM_NAME(census);
extern sdm_warp_row_fn SDM_NAME(warp_row);
extern sdm_pick_row_fn SDM_NAME(pick_row);
extern sdm_update_row_fn SDM_NAME(update_row);
extern sdm_median_row_fn SDM_NAME(median_row);
extern sdm_change_row_fn SDM_NAME(change_row);
extern sdm_add_changes_fn SDM_NAME(add_changes);
extern sdm_ray_error_row_fn SDM_NAME(ray_error_row);
extern sdm_refine_row_fn SDM_NAME(refine_row);
extern sdm_blur_row_fn SDM_NAME(blur_row);
extern sdm_noise_row_fn SDM_NAME(noise_row);
extern sdm_square_row_fn SDM_NAME(square_row);
extern sdm_wiener_row_fn SDM_NAME(wiener_row);
extern sdm_ground_points_fn SDM_NAME(ground_points);
extern sdm_spread_points_fn SDM_NAME(spread_points);
/* Copies for AVX-512 are no faster than those of AVX2 (`bench kernels`), which are used
 * instead: see SDM_ISA_TAKEN in CMakeLists.txt. */
#define TAKEN(f) SDM_CAT(f, SDM_ISA_TAKEN)
extern sdm_half_row_fn TAKEN(half_row);
extern sdm_agree_row_fn TAKEN(agree_row);
extern sdm_smooth_row_fn TAKEN(smooth_row);
extern const SdmKernels SDM_NAME(kernels);

const SdmKernels SDM_NAME(kernels) = {
    .cost_scratch = SDM_NAME(cost_scratch),
    .zncc = SDM_NAME(zncc),
    .census = SDM_NAME(census),
    .warp_row = SDM_NAME(warp_row),
    .half_row = TAKEN(half_row),
    .pick_row = SDM_NAME(pick_row),
    .update_row = SDM_NAME(update_row),
    .median_row = SDM_NAME(median_row),
    .change_row = SDM_NAME(change_row),
    .agree_row = TAKEN(agree_row),
    .add_changes = SDM_NAME(add_changes),
    .ray_error_row = SDM_NAME(ray_error_row),
    .refine_row = SDM_NAME(refine_row),
    .ground_points = SDM_NAME(ground_points),
    .spread_points = SDM_NAME(spread_points),
    .smooth_row = TAKEN(smooth_row),
    .blur_row = SDM_NAME(blur_row),
    .noise_row = SDM_NAME(noise_row),
    .square_row = SDM_NAME(square_row),
    .wiener_row = SDM_NAME(wiener_row),
};
