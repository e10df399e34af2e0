/* Cases of `bench` on the device of --device; for src/bench. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_BENCH_DEVICE_H
#define SDM_BENCH_DEVICE_H

#include "bench/bench_pairs.h"
#include "bp.h"
#include "gpu/launch.h"

/* The device of --device, NULL for the processor (and for auto). Closed with the bench. */
SdmStatus sdm_bench_device_open(SdmBench *b);
void sdm_bench_device_close(SdmBench *b);

/* Add a case whose call launches kernels, timed by the device's clock, as "cuda:0 kernels". */
SdmStatus sdm_bench_add_launches(SdmBench *b, const SdmBenchCase *base, SdmGpu *gpu);
/* The kernels that match a pair, images and disparities lying on the device.  base: as for sdm_bench_add_pair(). */
SdmStatus sdm_bench_add_pair_launches(SdmBench *b, const SdmBenchPair *p, const SdmPairImage image[2],
                                      const SdmBenchCase *base);
/* Seconds by the device's clock of the kernels that match a pair of a paper: ZNCC 9 x 9, 64 disparities of
 * 735 x 504, both ways. */
SdmStatus sdm_bench_pair_device_s(SdmBench *b, double *seconds);

/* Belief propagation from costs (height x width x 16 labels) to labels, the costs lying on the device. */
SdmStatus sdm_bench_add_bp_device(SdmBench *b, const SdmBenchCase *base, const SdmBpField *field,
                                  const SdmBpPlan *plan);

SdmGpu *sdm_bench_gpu(const SdmBench *b); /* NULL = no device */
const char *sdm_bench_device_name(const SdmBench *b, bool kernels); /* "cuda:0", "cuda:0 kernels" */

#endif
