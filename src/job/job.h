/* A job folder in use: the plan, one scene at a time, its units and their merge.  run, tile and merge are
 * loops over it. */
#ifndef SDM_JOB_H
#define SDM_JOB_H

#include "core/lease.h"
#include "job/plan.h"
#include "job/unit_file.h"
#include "product/product.h"
#include "scene/scene.h"

/* Files of the folder.  Each is written aside and renamed; two tasks at the same one do no harm. */
typedef enum SdmJobFile {
    SDM_JOB_PREPARED, /* scene_000000.sdm: scene products */
    SDM_JOB_MERGED, /* scene_000000.merged: its product was built; holds the hash of what it was built from */
    SDM_JOB_MERGING, /* scene_000000.merging: there while a process merges it; changes every few seconds */
    SDM_JOB_FAILURE, /* scene_000000.err: why it could not be merged, one sentence */
    SDM_JOB_UNIT,    /* unit_000000.sdm: a block */
    SDM_JOB_ERROR,   /* unit_000000.err: why its last try failed, one sentence */
    SDM_JOB_HEARTBEAT     /* unit_000000.run: there while a task is at it, changes every few seconds */
} SdmJobFile;

enum { SDM_MOST_FLIGHTS = SDM_MAX_SLOTS };
/* A unit in work. */
typedef struct SdmFlight {
    int64_t unit;
    bool resumed, is_block; /* was found done; is a block, to be written at the end */
    uint64_t fingerprint;
    double started_s, took_s[SDM_UNIT_STAGES];
    SdmLease *at_work; /* shows others that it is in work */
    SdmBlockWork work;
} SdmFlight;

typedef struct SdmJob {
    char folder[SDM_PATH_SIZE];
    SdmPlan *plan;
    SdmPlanPaths paths;
    SdmOptions before;       /* of the context, put back by sdm_job_close() */
    bool alone;              /* run: one process does everything, nobody is waited for */
    double started_s;        /* of run */
    bool hopeless;           /* run: all is computed and makes no DEM; would only lead there again */
    SdmLease *lease;         /* run: of the output */
    bool redo;               /* merge: --overwrite was given, so merged scenes are merged again */
    bool elsewhere;          /* merge: -o was given */
    double wait_s;           /* longest wait for somebody else who prepares a scene */
    int64_t resumed;         /* units that were found done */
    uint8_t *made;           /* of each unit: made by this process? */
    /* run: the last block, handed to the merge without a file */
    bool is_kept;
    SdmBlock kept;
    double kept_s[SDM_UNIT_STAGES];
    SdmMatchQueue *worker;       /* who matches; NULL: nothing was to be matched yet */
    int64_t expected;        /* units that will be asked for */
    SdmFlight *flight;       /* a ring of SDM_MOST_FLIGHTS, NULL before the first */
    int first_flight, flights;
    /* the scene in use */
    int number;              /* -1: none */
    SdmPlanScene scene;
    SdmScene *open;
    bool is_prepared;
    SdmPrepared prepared;
    double prepared_s[SDM_UNIT_STAGES];
} SdmJob;

/* Open the folder for tile or merge; the context gets the planned options. */
SdmStatus sdm_job_open(SdmContext *ctx, const char *folder, SdmJob *job);
/* The same for a plan just made; takes it over. */
SdmStatus sdm_job_start(SdmContext *ctx, const char *folder, SdmPlan **plan, SdmJob *job);
void sdm_job_close(SdmContext *ctx, SdmJob *job);

SdmStatus sdm_job_file(SdmContext *ctx, const SdmJob *job, SdmJobFile kind, int64_t n,
                       char out[SDM_PATH_SIZE]);
SdmStatus sdm_job_use(SdmContext *ctx, SdmJob *job, int number); /* make it the scene in use */

/* Begin a unit; it is found done when it is there, whole and of this plan.  Its failure is kept beside it,
 * for status. Not while sdm_job_is_full(). */
SdmStatus sdm_job_begin(SdmContext *ctx, SdmJob *job, int64_t unit);
/* Must units end before this one can begin?  Those in work are of one scene, as many as the worker takes. */
bool sdm_job_is_full(const SdmJob *job, int64_t unit);
int sdm_job_flights(const SdmJob *job); /* units in work */
/* End the one that began first: wait, grid, write.  *done: what it was, also after a failure. */
typedef struct SdmJobDone {
    int64_t unit;
    bool resumed;
    double seconds;
} SdmJobDone;
SdmStatus sdm_job_end(SdmContext *ctx, SdmJob *job, SdmJobDone *done);
/* After a failure, which is returned: the units in work are finished where they can be, and kept. */
SdmStatus sdm_job_save_others(SdmContext *ctx, SdmJob *job, SdmStatus st);
void sdm_job_abandon(SdmJob *job); /* all that are in work */

/* The scene products of the scene in use, for that unit: from their file, from somebody who is at them, or
 * made here. */
SdmStatus sdm_job_need_prepared(SdmContext *ctx, SdmJob *job, int64_t unit);
/* Seconds of the stages since `before`. */
void sdm_job_stages_since(const SdmContext *ctx, const double before[SDM_UNIT_STAGES],
                          double out[SDM_UNIT_STAGES]);

/* run stopped before its DEM was whole: write the block that is kept, so that the next run finds it. */
void sdm_job_store_kept(SdmJob *job);

/* What the bytes of a unit's file depend on. */
SdmStatus sdm_job_tile(SdmContext *ctx, const SdmPlanScene *scene, int64_t unit, int64_t cells[4],
                       uint64_t *fingerprint);

/* Scene products of the scene in use into job->prepared, if they are there, whole and of this plan. */
SdmStatus sdm_job_read_prepared(SdmContext *ctx, SdmJob *job);

/* Numbers as "3,7-9"; cut with "..." when they do not fit. */
void sdm_job_ranges(const int64_t *number, int64_t count, char *out, size_t size);

/* Build the products of a scene.  missing: gets the numbers of its units that are not there or damaged (room
 * for unit_count), then SDM_ERR_DATA.  output: the DEM to write.  *already: nothing was to be done. */
SdmStatus sdm_job_merge(SdmContext *ctx, SdmJob *job, int number, const char *output, int64_t *missing,
                        int64_t *missing_count, bool *already);
/* Can the options' output be written, and is it none of the inputs of the scene in use? */
SdmStatus sdm_job_check_output(SdmContext *ctx, const SdmJob *job);
bool sdm_job_is_merged(const SdmJob *job, const SdmPlanScene *scene);
/* Remove all of a scene's unit files. */
void sdm_job_sweep(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene);
/* After another plan took the place of one: remove the failures of the old one, and what lies beyond its
 * numbers.  Units that fit the new one stay good. */
void sdm_job_renew(const char *folder, int64_t units, int64_t scenes);
int64_t sdm_job_blocks(const char *folder); /* finished blocks in it */
bool sdm_job_has_work(const char *folder); /* is any finished file in it? */
/* Remove every file of ours in a folder, and the folder when it is empty then. */
void sdm_job_remove(const char *folder);

#endif
