/* A job folder: its plan, its options, its files. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/plan.h"
#include "job/unit_file.h"

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
