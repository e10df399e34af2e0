/* A job folder: its plan, its options, its files. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_JOB_H
#define SDM_JOB_H

#include "job/plan.h"
#include "job/unit_file.h"

/* Files of the folder, named by the key of the scene, and units by their number in the scene, so that another
 * plan of the same scenes finds them.  Each is written under a temporary name and renamed; two tasks at the
 * same one do no harm. */
typedef enum SdmJobFile {
    SDM_JOB_PREPARED, /* scene_KEY.sdm: prepared scene */
    SDM_JOB_MERGED,   /* scene_KEY.merged: its products were built; holds the fingerprint of what they are
                         made of; size, time and hash of the DEM */
    SDM_JOB_MERGING,  /* scene_KEY.merging: lease of the process that merges it */
    SDM_JOB_FAILURE,  /* scene_KEY.err: why it could not be merged, one sentence */
    SDM_JOB_UNIT,     /* unit_KEY_000000.sdm: a block */
    SDM_JOB_ERROR,    /* unit_KEY_000000.err: why its last try failed, one sentence */
    SDM_JOB_RUNNING   /* unit_KEY_000000.run: lease of the task that computes it */
} SdmJobFile;

/* Stays where it was opened: the options point into it. */
typedef struct SdmJob {
    SdmContext *ctx;
    char folder[SDM_PATH_SIZE];
    SdmPlan *plan;      /* owned */
    SdmOptions options; /* the caller's, with those of the plan in their place */
    char input[SDM_PLAN_INPUTS][SDM_PATH_SIZE]; /* the files that options name, as they are found from here */
    int64_t budget_before; /* bytes, of the context, put back by sdm_job_close() */
    int64_t cache_before; /* bytes of GDAL's block cache, put back by sdm_job_close() */
} SdmJob;

/* Read the plan of the folder.  caller: options of this process; their strings are borrowed. */
SdmStatus sdm_job_open(SdmContext *ctx, const char *folder, const SdmOptions *caller, SdmJob *job);
/* The same for a plan just made; takes it over. */
SdmStatus sdm_job_start(SdmContext *ctx, const char *folder, const SdmOptions *caller, SdmPlan **plan,
                        SdmJob *job);
void sdm_job_close(SdmJob *job);

/* The name of a file of the folder; n: number of the scene or unit. */
SdmStatus sdm_job_file(SdmContext *ctx, const SdmJob *job, SdmJobFile kind, int64_t n,
                       char out[SDM_PATH_SIZE]);
/* A file of the plan, as it is found from here. */
SdmStatus sdm_job_find(SdmContext *ctx, const SdmJob *job, const SdmPlanPlace *place,
                       char out[SDM_PATH_SIZE]);
/* The scene as it was prepared, with kernels of this process, if its file is there, whole and of this plan
 * and build; else SDM_ERR_INPUT.  Freed with sdm_prepared_free(). */
SdmStatus sdm_job_read_prepared(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene,
                                SdmPrepared *out, double stage_s[SDM_UNIT_STAGES]);
/* Would another try end with this status on any machine?  What lies in the inputs does: not a disk that is
 * full, memory, a device, a driver or grid that this machine lacks, nor inputs that it does not see as they
 * were planned or cannot read to their end. */
bool sdm_job_is_final(const SdmJob *job, const SdmPlanScene *scene, SdmStatus st);
/* Keep why a unit or a merge of the scene failed (SDM_JOB_ERROR, SDM_JOB_FAILURE): the sentence, and whether
 * that is final; and read it: false, and "", where nothing is kept. */
void sdm_job_keep_failure(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene, const char *path,
                          SdmStatus st);
bool sdm_job_read_failure(const SdmJob *job, SdmJobFile kind, int64_t n, char *out, size_t size,
                          bool *is_final);
bool sdm_job_is_merged(const SdmJob *job, const SdmPlanScene *scene);
/* dem: the DEM that was written, by which it is known again. */
SdmStatus sdm_job_mark_merged(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene, const char *dem);
/* Is the file, which is there, another one than the DEM that the scene was merged to, or a copy of that?  By
 * size and time, then by its content; false where an older mark does not tell. */
bool sdm_job_is_other_dem(const SdmJob *job, const SdmPlanScene *scene, const char *path);

/* Numbers as "3,7-9"; cut with "..." when they do not fit. */
void sdm_job_ranges(const int64_t *number, int64_t count, char *out, size_t size);

/* ---- the folder as a whole ---- */
/* The scenes of a plan by their keys. */
typedef struct SdmJobKeys {
    const SdmPlanScene **scene; /* owned; sorted */
    int count;
} SdmJobKeys;
SdmStatus sdm_job_keys_open(SdmContext *ctx, const SdmPlan *plan, SdmJobKeys *out);
void sdm_job_keys_close(SdmJobKeys *keys);
/* The scene that a file of the folder belongs to, by its name; NULL: none of these.  *unit: of the plan, -1
 * for a file of the scene.  *end: ".sdm". */
const SdmPlanScene *sdm_job_keys_find(const SdmJobKeys *keys, const char *name, int64_t *unit,
                                      const char **end);

/* Of a file's name, "scene_KEY.END" or "unit_KEY_000000.END": the key, and ".END"; NULL: no such name. */
const char *sdm_job_ending(const char *name, char key[17]);

/* Remove the unit files of a scene. */
void sdm_job_sweep(const char *folder, const SdmPlanScene *scene);
/* After another plan took the place of one: remove the failures, and units that its scenes do not have.
 * Units that fit it stay good, and what scenes left that are not in the list now. */
SdmStatus sdm_job_renew(SdmContext *ctx, const char *folder, const SdmPlan *plan);
/* Finished files in it: blocks, and prepared scenes. */
void sdm_job_count(const char *folder, int64_t *blocks, int64_t *prepared);
/* Remove every file of ours, and the folder when it is empty then. */
void sdm_job_remove(const char *folder);

#endif
