/* Kernels of rectified matching of one instruction set. */
// SPDX-License-Identifier: Apache-2.0
#include "pair_vec.h"

extern sdm_pair_row_fn SDM_NAME(pair_sad8), SDM_NAME(pair_sad32), SDM_NAME(pair_zncc), SDM_NAME(pair_census);
extern sdm_pair_merge_fn SDM_NAME(pair_merge);
extern sdm_pair_finish_fn SDM_NAME(pair_finish);
extern sdm_pair_columns_fn SDM_NAME(pair_columns);
extern sdm_pair_window_fn SDM_NAME(pair_window);
extern sdm_pair_words_fn SDM_NAME(pair_words);
extern sdm_pair_bytes_fn SDM_NAME(pair_bytes);
extern sdm_bp_tile_fn SDM_NAME(bp_tile);
extern sdm_bp_scratch_fn SDM_NAME(bp_scratch);
extern const SdmPairKernels SDM_NAME(pair_kernels);

const SdmPairKernels SDM_NAME(pair_kernels) = {
    .lanes = LANES,
    .sad8 = SDM_NAME(pair_sad8),
    .sad32 = SDM_NAME(pair_sad32),
    .zncc = SDM_NAME(pair_zncc),
    .census = SDM_NAME(pair_census),
    .merge = SDM_NAME(pair_merge),
    .finish = SDM_NAME(pair_finish),
    .columns = SDM_NAME(pair_columns),
    .window = SDM_NAME(pair_window),
    .words = SDM_NAME(pair_words),
    .bytes = SDM_NAME(pair_bytes),
    .bp_tile = SDM_NAME(bp_tile),
    .bp_scratch = SDM_NAME(bp_scratch),
};
