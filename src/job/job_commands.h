/* The commands run, plan, tile, merge and status: calls, and what becomes of them. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/job.h"
#include "product/dem_report.h"

/* Make the DEM opt->output and its companions (_qa.tif, _ortho.tif, .json, .html, .png) from a scene.
 * left   an ASTER scene (HDF, folder, zip), or the left image of a pair
 * right  the right image of a pair, NULL for an ASTER scene
 * scene  the same, open already to SDM_DEPTH_WHOLE; borrowed; NULL: opened
 * keep   gets the product, of which nothing is written then; NULL: files
 * result: what was made, freed by the caller, also after a failure
 * Finished blocks are kept in `<output>.job` until all is written, and taken up by the next call. */
SdmStatus sdm_run_scene(SdmContext *ctx, const char *left, const char *right, SdmScene *scene,
                        SdmKeptProduct *keep, SdmDemResult *result);

typedef struct SdmPlanSummary {
    int scenes, failed, tiled; /* scenes; those that cannot be opened; those cut into tiles */
    int64_t units;             /* units of work, 0 .. units - 1 */
    double cpu_s;              /* expected processor time of all units */
    double most_cpu_s;         /* of the unit that takes most */
    int64_t most_bytes;        /* expected peak of the unit that needs most */
} SdmPlanSummary;

/* Write JOB/plan.json: inputs, parameters and units of one or many scenes.  Opens cameras, reads no pixel.
 * A scene that cannot be opened is reported (log, plan.json) and skipped.
 * job          folder to make
 * list         file with a scene or a pair a line, relative to it; or NULL
 * left, right  as in sdm_run_scene(), or NULL */
SdmStatus sdm_plan(SdmContext *ctx, const char *job, const char *list, const char *left, const char *right,
                   SdmPlanSummary *out);

typedef struct SdmTileSummary {
    int64_t done;    /* finished units */
    int64_t skipped; /* of these, units that were finished before */
    int64_t failed;  /* units that failed */
} SdmTileSummary;

/* Compute units of a job with the parameters of its plan: unit[0 .. count - 1], or first .. first + count - 1
 * where unit is NULL.  A finished unit of this plan is skipped; after a unit that fails, the others are still
 * computed.  wait_s: longest wait for another task that prepares the scene. */
SdmStatus sdm_tile(SdmContext *ctx, const char *folder, const int64_t *unit, int64_t first, int64_t count,
                   double wait_s, SdmTileSummary *out);

typedef struct SdmMergeSummary {
    int scenes, merged, already, incomplete, failed; /* already: of merged; incomplete: units are missing */
    int permanent;                                   /* of failed: another try would end so, too */
    int doubtful;                                    /* of merged: their reports have doubts */
    int64_t missing;                                 /* units */
} SdmMergeSummary;

/* Build the products of every scene whose units are finished: FOLDER/NAME.tif and its companions.
 * Returns SDM_OK when every scene has its products; else the sentence names the missing units and how to
 * compute them.
 * folder  where the DEMs go; NULL = JOB/dem; of one scene, the name of its DEM, too
 * scene   number of the only scene to merge; -1 = all */
SdmStatus sdm_merge(SdmContext *ctx, const char *job, const char *folder, int scene, SdmMergeSummary *out);

/* Progress of a scene of a job. */
typedef struct SdmSceneProgress {
    int number;
    char name[320];
    /* "merged", "ready to merge", "merge failed", "failed", "begun", "not begun", "not planned" */
    const char *state;
    int64_t first_unit, units, done, failed, missing; /* units; missing: neither done nor failed */
    int64_t error_unit;                               /* the last unit that failed, -1 if none */
    char error[1024];                                 /* its sentence, or the scene's */
    bool is_permanent;  /* another try would end so, too; also of scenes that are not planned */
    bool is_unprepared; /* the preparation of its tiles failed so */
} SdmSceneProgress;

/* Expected and real work of the scenes that were looked at. */
typedef struct SdmJobWork {
    double done_cpu_s, done_expected_s, left_expected_s;
} SdmJobWork;
/* Progress of a scene of an open job; adds to the work. */
void sdm_job_progress_scene(const SdmJob *job, int scene, SdmJobWork *work, SdmSceneProgress *out);
/* Expected time that a single task would need for the rest, seconds. */
double sdm_job_work_left_s(const SdmJobWork *work);

/* ---- accounting.c: what each unit and each merge of a job has used, with sums by kind ---- */

typedef enum SdmAccountKind {
    SDM_ACCOUNT_PREPARATION,
    SDM_ACCOUNT_BLOCK,
    SDM_ACCOUNT_MERGE,
    SDM_ACCOUNT_KINDS
} SdmAccountKind;
extern const char *const sdm_account_kinds[SDM_ACCOUNT_KINDS]; /* "preparation", "block", "merge" */

/* A unit that is done, or the merge of a scene. */
typedef struct SdmAccount {
    const SdmPlanScene *scene;
    int64_t unit; /* of the plan; -1: a merge, or the preparation of a scene that is one unit */
    SdmAccountKind kind;
    SdmUsage used;
    bool is_slow, is_hungry;
} SdmAccount;

/* Sums; the peak is the largest. */
typedef struct SdmAccountSum {
    int64_t count;
    SdmUsage used;
} SdmAccountSum;

typedef struct SdmAccounting {
    const SdmJob *job;
    SdmAccount *item; /* owned; by scene, then unit, the merge last */
    int64_t count;
    SdmAccountSum all, kind[SDM_ACCOUNT_KINDS];
} SdmAccounting;

/* job: borrowed. */
SdmStatus sdm_accounting_open(SdmContext *ctx, const SdmJob *job, SdmAccounting **out);
void sdm_accounting_close(SdmAccounting **accounting);

/* May the file be written: .csv or .json, not there unless overwrite, no .json in the folder of the job?
 * SDM_ERR_USAGE, SDM_ERR_IO with a sentence. */
SdmStatus sdm_accounting_check(SdmContext *ctx, const char *job, const char *path, bool overwrite);
/* Write it, a row a unit: CSV, or by its ending JSON, with sums. */
SdmStatus sdm_accounting_write(SdmContext *ctx, const SdmAccounting *accounting, const char *path);
