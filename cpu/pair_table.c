/* Kernels of rectified matching of one instruction set. */
// SPDX-License-Identifier: Apache-2.0
#include "pair_kernels.h"
#include "simd.h"

/* Functions without chunks are those of the narrow vectors, where a vector is made of two. */
#ifdef SDM_PAIR_WIDE
#define ROWS(f) SDM_CAT(f, SDM_ISA_NARROW)
#else
#define ROWS(f) SDM_NAME(f)
#endif

extern sdm_pair_row_fn SDM_NAME(pair_sad8), SDM_NAME(pair_sad32), SDM_NAME(pair_zncc), SDM_NAME(pair_census);
extern sdm_pair_merge_fn ROWS(pair_merge);
extern sdm_pair_finish_fn ROWS(pair_finish);
extern sdm_pair_agree_fn ROWS(pair_agree);
extern sdm_pair_columns_fn ROWS(pair_columns);
extern sdm_pair_window_fn ROWS(pair_window);
extern sdm_pair_words_fn ROWS(pair_words);
extern sdm_pair_bytes_fn ROWS(pair_bytes);
extern sdm_bp_tile_fn ROWS(bp_tile);
extern sdm_bp_scratch_fn ROWS(bp_scratch);
extern const SdmPairKernels SDM_NAME(pair_kernels);

const SdmPairKernels SDM_NAME(pair_kernels) = {
    .lanes = LANES,
    .sad8 = SDM_NAME(pair_sad8),
    .sad32 = SDM_NAME(pair_sad32),
    .zncc = SDM_NAME(pair_zncc),
    .census = SDM_NAME(pair_census),
    .merge = ROWS(pair_merge),
    .finish = ROWS(pair_finish),
    .agree = ROWS(pair_agree),
    .columns = ROWS(pair_columns),
    .window = ROWS(pair_window),
    .words = ROWS(pair_words),
    .bytes = ROWS(pair_bytes),
    .bp_tile = ROWS(bp_tile),
    .bp_scratch = ROWS(bp_scratch),
};
