/* The chain's main processing (all levels below the coarse one) on the synthetic scene, as a case to time. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_BENCH_SCENE_H
#define SDM_BENCH_SCENE_H

#include "bench/bench.h"

/* Make the scene of width x height frame pixels, rounded down to multiples of 16.  It lives as long as *b,
 * which has one: asked for again, it stays. */
SdmStatus sdm_bench_scene_open(SdmBench *b, int width, int height);

/* Main processing as a case. */
typedef struct SdmBenchSceneCase {
    const char *name, *published; /* of SdmBenchCase; borrowed */
    const char *cost;             /* "zncc" or "census" */
    bool turned;                  /* frame rows run down the images: with the time of turning both */
    bool cells; /* on the device alone, and all that a run does there: images of full resolution are uploaded,
                   their levels made there, cells of two pixels a side downloaded */
} SdmBenchSceneCase;
/* Add the case for every instruction set and, where the bench has a device, for it. */
SdmStatus sdm_bench_scene_add(SdmBench *b, const SdmBenchSceneCase *what);
/* Seconds by the device's clock of one run with that cost. */
SdmStatus sdm_bench_scene_device_s(SdmBench *b, const char *cost, double *seconds);

#endif
