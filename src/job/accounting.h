/* Headers of finished units, and records of products -> what each unit and each merge of a job has used, with
 * sums by kind; as CSV and JSON. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "job/job.h"

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
