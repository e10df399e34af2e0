/* A job folder: its plan, its options, its files; the flow of its units, and their products. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/plan.h"
#include "job/unit_file.h"
#include "product/product.h"

/* Stays where it was opened: the options point into it. */
typedef struct SdmJob {
    SdmContext *ctx;
    char folder[SDM_PATH_SIZE];
    SdmPlan *plan;                              /* owned */
    SdmOptions options;                         /* the caller's, with those of the plan in their place */
    char input[SDM_PLAN_INPUTS][SDM_PATH_SIZE]; /* the files that options name, as they are found from here */
    int64_t budget_before;                      /* bytes, of the context, put back by sdm_job_close() */
    int64_t cache_before;                       /* bytes of GDAL's block cache, put back by sdm_job_close() */
} SdmJob;

/* Read the plan of the folder.  caller: options of this process; their strings are borrowed. */
SdmStatus sdm_job_open(SdmContext *ctx, const char *folder, const SdmOptions *caller, SdmJob *job);
/* The same for a plan just made; takes it over. */
SdmStatus sdm_job_start(SdmContext *ctx, const char *folder, const SdmOptions *caller, SdmPlan **plan,
                        SdmJob *job);
void sdm_job_close(SdmJob *job);

/* A file of the plan, as it is found from here. */
SdmStatus sdm_job_find(SdmContext *ctx, const SdmJob *job, const SdmPlanPlace *place,
                       char out[SDM_PATH_SIZE]);
/* Files of the folder are named by the key of the scene, and units by their number in the scene, so that
 * another plan of the same scenes finds them: scene_KEY.sdm (the prepared scene), unit_KEY_000000.sdm (a
 * block), product_KEY.sdm (the record of its products), and with .err why a unit's last try, or the merge of
 * the scene, failed.  The header of an .sdm says what it was made from and by.  Each is written under a
 * temporary name and renamed; two tasks at the same one do no harm.
 *
 * The name of an .sdm of the scene, with what it must be made from.  unit: of the plan, for a block. */
SdmStatus sdm_job_unit(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene, SdmUnitKind kind,
                       int64_t unit, SdmUnitName *out);
/* The same for unit `unit`: a block, or the preparation of a scene in tiles. */
SdmStatus sdm_job_unit_of(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene, int64_t unit,
                          SdmUnitName *out);
/* The scene as it was prepared, with kernels of this process, if its file is there, whole and of this plan
 * and build; else SDM_ERR_INPUT.  Freed with sdm_prepared_free(). */
SdmStatus sdm_job_read_prepared(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene,
                                SdmPrepared *out, SdmUsage *usage);
/* True if another try would fail with this status on any machine: the cause lies in the inputs.  False for a
 * full disk, memory, a device, a driver or grid that this machine lacks, and for inputs that this machine
 * cannot read or that differ from the plan. */
bool sdm_job_is_final(const SdmJob *job, const SdmPlanScene *scene, SdmStatus st);
/* Keep why a unit of the scene, or its merge (unit < 0), failed: the sentence, and whether that is final;
 * after SDM_OK the failure of an earlier try is removed, after a stop it stays. */
void sdm_job_keep_failure(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene, int64_t unit,
                          SdmStatus st);
/* Read it: false, and "", where nothing is kept. */
bool sdm_job_read_failure(const SdmJob *job, const SdmPlanScene *scene, int64_t unit, char *out, size_t size,
                          bool *is_final);
bool sdm_job_is_merged(const SdmJob *job, const SdmPlanScene *scene);
/* Know the DEM that was written again: its size, time and hash. */
void sdm_product_record_dem(SdmProductRecord *record, const char *dem);
/* True if an existing file differs from the DEM of the record, by size and time, then by its content. */
bool sdm_product_record_is_other(const SdmProductRecord *record, const char *path);

/* Numbers as "3,7-9"; cut with "..." when they do not fit. */
void sdm_job_ranges(const int64_t *number, int64_t count, char *out, size_t size);

/* ---- the folder as a whole ---- */
/* Remove the unit files of a scene. */
void sdm_job_sweep(const char *folder, const SdmPlanScene *scene);
/* After another plan took the place of one: remove the failures, and units that its scenes do not have.
 * Units that fit it stay good. */
void sdm_job_renew(const char *folder, const SdmPlan *plan);
/* Finished files in it: blocks, and prepared scenes. */
void sdm_job_count(const char *folder, int64_t *blocks, int64_t *prepared);
/* Remove every file of ours, and the folder when it is empty then. */
void sdm_job_remove(const char *folder);

/* ---- flow.c: blocks of scenes flow from their source through a store into a sink: units of a job are found
 * finished in its folder, or computed and kept there; each block that is not kept goes to the caller.  run,
 * tile, merge and a DEM in memory are this loop with a store, a sink, or both ---- */

typedef struct SdmFlow SdmFlow;

/* A unit that has ended. */
typedef struct SdmFlowUnit {
    int64_t unit; /* of the plan */
    bool resumed; /* it was found done */
    double seconds;
    SdmBlock *block; /* where it is in memory and in no file: freed after the call, unless the callee takes
                      * the arrays; NULL: there is none */
    const SdmUsage *used; /* by making it, without the preparation of its scene */
} SdmFlowUnit;

typedef struct SdmFlowRequest {
    const SdmJob *job;   /* borrowed, as all below */
    SdmScene *images;    /* the scene of a job of one, open to SDM_DEPTH_WHOLE; NULL: opened when needed */
    bool has_store;      /* units are kept in the job's folder */
    bool is_shared;      /* other processes work on the job: wait for their preparations, keep failures */
    bool keep_last;      /* the last block of a scene goes to the caller, not into the store */
    double wait_s;       /* longest wait for another process that prepares a scene */
    SdmLease *output;    /* of the products that the units are for; NULL: none */
    const int64_t *unit; /* those to do; NULL: first .. first + count - 1 */
    int64_t first, count;
    const char *word; /* of a unit, for the progress */
    double share;     /* of the progress when all units have ended */
    /* Called for each unit that has ended, in their order, and for one that failed; returns what ends all, or
     * SDM_OK to go on with the others.  NULL: a failure ends all. */
    SdmStatus (*ended)(SdmContext *ctx, void *user, const SdmFlowUnit *unit, SdmStatus st);
    void *user;
} SdmFlowRequest;

/* queue: the back end, taken over; pointer to NULL: opened when a unit needs it. */
SdmStatus sdm_flow_open(SdmContext *ctx, const SdmFlowRequest *request, SdmDevicePool **queue, SdmFlow **out);
/* Compute the units, as many at a time as the back end takes.  After a failure that ends the flow, units that
 * were begun are finished, if possible, and stored. */
SdmStatus sdm_flow_run(SdmContext *ctx, SdmFlow *flow);
void sdm_flow_close(SdmFlow **flow); /* abandons what is in work */

/* The prepared scene, borrowed, and what its preparation has used; prepares it where that was not done. */
SdmStatus sdm_flow_prepared(SdmContext *ctx, SdmFlow *flow, int scene, const SdmPrepared **prepared,
                            const SdmUsage **used);
/* Keep a block in the store that the caller has had. */
SdmStatus sdm_flow_store(SdmContext *ctx, SdmFlow *flow, int64_t unit, const SdmBlock *block,
                         const SdmUsage *used);
/* The back end; NULL: none was opened yet. */
const SdmDevicePool *sdm_flow_queue(const SdmFlow *flow);
/* The first doubt of the scenes prepared by this flow; "": none. */
const char *sdm_flow_doubt(const SdmFlow *flow);

/* ---- build_products.c: blocks of a scene -> its DEM, companions and report ---- */

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
