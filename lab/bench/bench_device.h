/* Cases of `bench` on the device of --device; for lab/bench. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_BENCH_DEVICE_H
#define SDM_BENCH_DEVICE_H

#include "bench/bench.h"
#include "gpu/launch.h"

/* The device of --device, NULL for the processor (and for auto). Closed with the bench. */
SdmStatus sdm_bench_device_open(SdmBench *b);
void sdm_bench_device_close(SdmBench *b);

/* Let the call of a case, which launches kernels, be timed by the device's clock; its level is then "cuda:0
 * kernels". */
SdmStatus sdm_bench_clock(SdmBench *b, SdmGpu *gpu, SdmBenchCase *c);

/* Not added: the kernels that match a paper's pair on the device, both ways, by its clock. */
SdmStatus sdm_bench_pair_kernels(SdmBench *b, SdmBenchCase *out);

SdmGpu *sdm_bench_gpu(const SdmBench *b); /* NULL = no device */
const char *sdm_bench_device_name(const SdmBench *b, bool kernels); /* "cuda:0", "cuda:0 kernels" */

#endif
