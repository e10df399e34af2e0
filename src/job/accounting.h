/* Records of tries -> what each unit and each merge of a job has used, sums by kind and in all, and those
 * that used far more than others of their kind; as CSV and JSON. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_ACCOUNTING_H
#define SDM_ACCOUNTING_H

#include "job/tries.h"

/* Slow: its longest finished try took more than SLOW_TIMES the median of its kind, and SLOW_S more.  Hungry:
 * its peak is more than HUNGRY_TIMES the median of its kind, and HUNGRY_MIB more.  Of kinds with at least
 * three units. */
enum { SDM_SLOW_TIMES = 3, SDM_SLOW_S = 1, SDM_HUNGRY_TIMES = 2, SDM_HUNGRY_MIB = 32 };

/* Sums of tries.  A killed try counts as a try; what it used is not known. */
typedef struct SdmAccount {
    int64_t units, tries, failed, killed; /* failed, killed: of the tries; running ones are neither */
    int64_t wall_ms, user_ms, system_ms, waited_ms, stage_ms[SDM_USAGE_STAGES],
        peak_bytes; /* peak: the largest */
} SdmAccount;

/* All tries of a unit, or of the merge of a scene. */
typedef struct SdmUnitAccount {
    const SdmTry *first; /* of its tries, in the order of time */
    SdmAccount sum;
    int scene;         /* number in the plan; -1: it is not listed now */
    int64_t unit;      /* number in the plan; -1: a merge, or it is not planned so now */
    const char *state; /* "done" when a try was, else of the last: "running", "failed", "stopped", "killed" */
    int64_t longest_ms; /* of the finished tries, without waiting */
    bool is_slow, is_hungry;
} SdmUnitAccount;

typedef struct SdmAccounting {
    char folder[SDM_PATH_SIZE];
    SdmTries tries;
    bool *running; /* of each try */
    SdmUnitAccount *unit;
    int64_t units, recorded; /* recorded: units of the plan that are done by their records */
    SdmAccount all, kind[SDM_TRY_KINDS];
} SdmAccounting;

SdmStatus sdm_accounting_open(SdmContext *ctx, const char *folder, SdmAccounting **out);
void sdm_accounting_close(SdmAccounting **accounting);

/* May the file be written: .csv or .json, not there unless overwrite, no .json in the folder of the job?
 * SDM_ERR_USAGE, SDM_ERR_IO with a sentence. */
SdmStatus sdm_accounting_check(SdmContext *ctx, const char *job, const char *path, bool overwrite);
/* Write it, a row a unit: CSV, or by its ending JSON, with sums and single tries. */
SdmStatus sdm_accounting_write(SdmContext *ctx, const SdmAccounting *accounting, const char *path);

#endif
