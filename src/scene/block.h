/* One unit of work and its file: a block of the DEM. */
#ifndef SDM_UNIT_H
#define SDM_UNIT_H

#include "scene/prepare.h"
#include "scene/worker.h"
#include "core/block.h"
#include "core/qa.h"
#include "matching/gridding.h"

enum { SDM_UNIT_STAGES = 10 }; /* seconds of each stage that a file's making took, see sdm_stage_time() */

/* A block of the DEM in work; stays where it is while its window is matched. */
typedef struct SdmUnitWork {
    SdmBlock block;
    SdmFineInput input;
    SdmGridding gridding;
    SdmFineResult fine;
    SdmWindow win, need;
    SdmShape shape; /* of need; owned */
    int lane; /* of the worker; -1: nothing is awaited */
} SdmUnitWork;

/* Begin to compute a block (work->block: its place is given) in at most `room` bytes: a block whose window
 * needs more, there or in the worker's memory, is computed in parts, at once.  room = 0: whatever it takes.
 * The worker has a lane free. */
SdmStatus sdm_unit_begin(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p, SdmWorker *worker,
                         int64_t room, SdmUnitWork *work);
/* Wait for its window and grid it, where the worker has not: work->block gets its arrays, the caller's to
 * free.  All else is freed, after a failure the block, too. */
SdmStatus sdm_unit_end(SdmContext *ctx, SdmWorker *worker, SdmUnitWork *work);
void sdm_unit_abandon(SdmWorker *worker, SdmUnitWork *work); /* instead of the end */

/* Bytes that a block on w x h pixels of the frame needs while it is matched, its cells apart. */
int64_t sdm_window_bytes(const SdmMatchSettings *set, int64_t w, int64_t h, int64_t frame_w, int64_t frame_h);
enum { SDM_CELL_BYTES = 24 }; /* of a block */
enum { SDM_PLANNED_THREADS = 4 }; /* that a plan reckons with, wherever its units run */

/* Unit files: header with fingerprint and sizes, seven arrays, checksum of all. Written aside and renamed.
 * sync: down to the disk, so that a full one or a quota is met here; without it the file outlives the process
 * but perhaps not the machine, and its checksum tells.
 * read: SDM_OK (block allocated for the caller to free); SDM_ERR_INPUT when absent, damaged or of another job
 * (to be computed again).  stage_s: SDM_UNIT_STAGES, or NULL. */
SdmStatus sdm_unit_write(SdmContext *ctx, const char *path, uint64_t fingerprint, const SdmBlock *block,
                         const double *stage_s, bool sync);
SdmStatus sdm_unit_read(SdmContext *ctx, const char *path, uint64_t fingerprint, SdmBlock *block,
                        double *stage_s);
SdmStatus sdm_unit_check(SdmContext *ctx, const char *path,
                         uint64_t fingerprint); /* read, but nothing is kept */
/* By header and length alone: is it there, and of this job? */
bool sdm_unit_peek(const char *path, uint64_t fingerprint, bool prepared, double stage_s[SDM_UNIT_STAGES]);

/* The scene products in one file of the same kind. */
SdmStatus sdm_prepared_write(SdmContext *ctx, const char *path, uint64_t fingerprint, const SdmPrepared *p,
                             const double *stage_s, bool sync);
SdmStatus sdm_prepared_read(SdmContext *ctx, const char *path, uint64_t fingerprint, SdmPrepared *p,
                            double *stage_s);

#endif
