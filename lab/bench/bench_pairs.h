/* Workloads that match pairs; for lab/bench. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_BENCH_PAIRS_H
#define SDM_BENCH_PAIRS_H

#include "bench/bench.h"
#include "rectified/pair.h"

/* A rectified pair of grainy texture whose disparities lie in 0..depth - 1; data lives as long as *b. */
SdmStatus sdm_synthetic_pair(SdmBench *b, int width, int height, int depth, bool eight_bit,
                             SdmPairImage out[2]);

/* Not added: the kernels that match the pair of a paper on the device, both ways, by its clock. */
SdmStatus sdm_bench_pair_kernels(SdmBench *b, SdmBenchCase *out);

#endif
