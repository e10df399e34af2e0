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

/* Costs: absolute differences of samples, 8 bit, at most `most`, their mean over window x window (beside the
 * image its nearest pixel), rounded; `most` where x - label is left of the image.  out: height x width x 16.
 */
SdmStatus sdm_bench_bp_costs(SdmContext *ctx, const SdmPairImage image[2], int window, int most,
                             uint8_t *out);

/* A configuration and its result. */
typedef struct SdmBenchBpRow {
    int tile, outer, inner; /* tile 0: no tiles, `inner` iterations over the image */
    int weight;
    double seconds;      /* least of three; of more than 5 inner iterations of one */
    int64_t sums[2];     /* energy: data, smoothness */
    int64_t wrong;       /* pixels of known truth whose label is not exactly it */
} SdmBenchBpRow;

/* Time a row, whose first four fields are set, and count its wrong labels.  truth: width x height, 0 = not
 * known. */
SdmStatus sdm_bench_bp_row(SdmContext *ctx, const SdmBpField *field, const uint8_t *truth,
                           const char *cpu_level, SdmBenchBpRow *row);

/* The case of the papers, on a synthetic pair: the time does not depend on what the costs are. */
SdmStatus sdm_bench_add_bp(SdmBench *b);

#endif
