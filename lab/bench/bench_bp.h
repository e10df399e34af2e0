/* Tiled belief propagation as the MEMOCODE 2013 contest set it: Tsukuba, 384 x 288, 16 labels; for lab/bench
 * and tests. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_BENCH_BP_H
#define SDM_BENCH_BP_H

#include "bench/bench.h"
#include "matching/belief_propagation.h"
#include "rectified/pair.h"

/* What we take: the contest fixed 16 labels and steps that cost no more from 2 labels on, and gave its data
 * costs as numbers; the code it was made from averages absolute differences over 5 x 5.  Its weight was 16,
 * with costs of a scale that we do not know; ours is twice that.  The thesis's configuration is 1 outer and 1
 * inner iteration in tiles of 13 px. */
enum {
    SDM_BENCH_BP_LABELS = 16,
    SDM_BENCH_BP_TRUNCATION = 2,
    SDM_BENCH_BP_WEIGHT = 32,
    SDM_BENCH_BP_TILE = 32,
    SDM_BENCH_BP_PAPER_TILE = 13, /* what 48 KiB of the thesis's device hold */
    SDM_BENCH_BP_WINDOW = 5,
    SDM_BENCH_BP_MOST = 60
};

/* The case of the papers, with random costs. */
SdmStatus sdm_bench_add_bp(SdmBench *b);

#endif
