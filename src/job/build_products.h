/* Blocks of a scene -> its DEM, companions and report. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/job.h"
#include "product/product.h"

/* The input of a build; all is borrowed. */
typedef struct SdmBuildInput {
    const SdmJob *job;
    const SdmPlanScene *scene;
    const SdmPrepared *prepared;
    const SdmUsage *prepared_used; /* by the preparation; NULL: counted already */
    const uint8_t
        *made; /* of each unit of the job: 1 = this process made it and counted its time; NULL: none */
    const SdmBlock *last; /* the block of the scene's last unit; NULL: in its file, like the others */
    const char *device, *device_why; /* the back end, such as "cuda:0", and why auto left a device; NULL:
                                      * unknown */
    double started_s;                /* when the work began, see sdm_now_s() */
    SdmLease *lease;                 /* of the output; NULL in memory */
    SdmKeptProduct *keep;            /* see SdmProductRequest */
    SdmUsage *used; /* gets what the preparation and each block have used, 1 + tile_count; or NULL */
} SdmBuildInput;

/* Is options->output free to be written, and none of the inputs of the scene? */
SdmStatus sdm_build_check_output(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene,
                                 const SdmOptions *options);

/* A product that is being built block by block: open, add each block, finish, close.  in and options are
 * borrowed until it is closed. */
typedef struct SdmBuild SdmBuild;
SdmStatus sdm_build_open(SdmContext *ctx, const SdmBuildInput *in, const SdmOptions *options, SdmBuild **out);
SdmStatus sdm_build_add(SdmContext *ctx, SdmBuild *build, const SdmBlock *block);
/* Judge the DEM and publish the product.  result and no_dem: as below. */
SdmStatus sdm_build_finish(SdmContext *ctx, SdmBuild *build, SdmDemResult *result, bool *no_dem);
void sdm_build_close(SdmBuild **build);

/* Build options->output and its companions of the blocks in the job.  *out: the finished product, to be
 * closed by the caller when its work is marked as done: until then a run that is stopped can tell that
 * nothing is left but tidying.
 * options: borrowed until then.
 * *result: what the report says of it, freed by the caller.
 * *no_dem: the blocks make no DEM (SDM_ERR_DATA), they are not worth keeping. */
SdmStatus sdm_build_products(SdmContext *ctx, const SdmBuildInput *in, const SdmOptions *options,
                             SdmProduct **out, SdmDemResult *result, bool *no_dem);
