/* What each try of a unit, or of a scene's merge, has used: measured, kept in the job folder, read.
 *
 * A try writes its record when it begins and again when it ends: unit_KEY_000000.try-ID, of a merge
 * scene_KEY.try-ID, a line of JSON.  A try that is killed leaves the record of its beginning.  Merging a
 * scene gathers its records in scene_KEY.tries, a line each.  ID: 16 digits that no other try has, so a
 * record that is found twice counts once. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_TRIES_H
#define SDM_TRIES_H

#include "core/usage.h"
#include "job/job.h"

typedef enum SdmTryKind {
    SDM_TRY_SCENE,
    SDM_TRY_PREPARATION,
    SDM_TRY_TILE,
    SDM_TRY_MERGE,
    SDM_TRY_KINDS
} SdmTryKind;
typedef enum SdmTryState {
    SDM_TRY_BEGUN, /* it runs, or was killed: what it used is not known */
    SDM_TRY_DONE,
    SDM_TRY_FAILED,
    SDM_TRY_STOPPED, /* on request */
    SDM_TRY_STATES
} SdmTryState;
const char *sdm_try_kind_name(int kind);   /* "scene", "preparation", "tile", "merge" */
const char *sdm_try_state_name(int state); /* "begun", "done", "failed", "stopped" */

/* A record.  Times in milliseconds: whole numbers, whose sums are exact. */
typedef struct SdmTry {
    char id[17], key[17], fingerprint[17]; /* key: of the scene; fingerprint: of what the try makes */
    char name[320], host[64];              /* of the scene, of the machine */
    int kind, state;                       /* SdmTryKind, SdmTryState */
    int64_t unit;                          /* its number in the scene; 0 for a merge */
    int64_t process, threads;
    int64_t started_ms, ended_ms;        /* since 1970 by the machine's clock */
    int64_t wall_ms, user_ms, system_ms; /* user, system: of all threads */
    int64_t waited_ms;                   /* of wall_ms, for another task that prepares the scene */
    int64_t peak_bytes;                  /* resident */
    int64_t stage_ms[SDM_USAGE_STAGES];  /* of wall_ms */
} SdmTry;

/* A try in work. */
typedef struct SdmTryWork {
    SdmTry record; /* id "": none */
    SdmUsage used;
    double waited_s; /* of used.wall_s */
} SdmTryWork;

/* Begin a try: write its record.  unit: of the plan; -1: the merge of the scene.  The records tell about the
 * work, they are not part of it: one that cannot be written is left out. */
void sdm_try_begin(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene, int64_t unit,
                   SdmTryWork *out);
/* Charge the try with what the process has used since *mark; sets the mark to now. */
void sdm_try_charge(const SdmContext *ctx, SdmUsage *mark, SdmTryWork *work);
/* End it, charged, with what became of it; nothing for none. */
void sdm_try_end(SdmContext *ctx, const SdmJob *job, SdmTryWork *work, SdmStatus st);

/* Gather the records of a scene in one file. */
void sdm_tries_gather(const SdmJob *job, const SdmPlanScene *scene);

/* All records of the folder, also of scenes and units that are not in the plan now; sorted by scene (key),
 * kind, unit, fingerprint and beginning. */
typedef struct SdmTries {
    SdmTry *item; /* owned */
    int64_t count, room;
    int64_t damaged; /* records that cannot be read */
} SdmTries;
SdmStatus sdm_tries_read(SdmContext *ctx, const SdmJob *job, SdmTries *out);
void sdm_tries_close(SdmTries *tries);

#endif
