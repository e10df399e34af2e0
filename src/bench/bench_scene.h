/* The chain's main processing (all levels below the coarse one) on the synthetic scene, as a case to time. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_BENCH_SCENE_H
#define SDM_BENCH_SCENE_H

#include "bench/bench.h"
#include "bench/synthetic.h"

typedef struct SdmBenchScene SdmBenchScene;

/* Make the scene of width x height frame pixels, rounded down to multiples of 16; lives as long as *b, which
 * has one: asked for again, it is the same. */
SdmStatus sdm_bench_scene_open(SdmBench *b, int width, int height, SdmBenchScene **out);
const SynScene *sdm_bench_scene_data(const SdmBenchScene *scene);
/* Add the case for every instruction set and, where the bench has a device, for it; cost "zncc" or "census".
 * name, published: borrowed. */
SdmStatus sdm_bench_scene_add(SdmBench *b, SdmBenchScene *scene, const char *name, const char *cost,
                              const char *published);
/* The device's work in a run: images of full resolution are uploaded, their levels made there, cells of two pixels a side
 * downloaded.  Nothing without a device. */
SdmStatus sdm_bench_scene_add_cells(SdmBench *b, SdmBenchScene *scene, const char *name, const char *cost);

/* Seconds by the device's clock of one run with that cost. */
struct SdmDevice;
SdmStatus sdm_bench_scene_device_s(SdmBench *b, SdmBenchScene *scene, struct SdmDevice *device,
                                   const char *cost, double *seconds);

#endif
