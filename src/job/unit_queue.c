/* Units of a job in work, one scene at a time: claimed by a lease, computed, stored. */
// SPDX-License-Identifier: Apache-2.0
#include "job/unit_queue.h"
#include "job/tries.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* A unit in work. */
typedef struct UnitInWork {
    int64_t unit;
    bool resumed, is_block; /* was found done; is a block, to be stored at the end */
    double started_s, took_s[SDM_UNIT_STAGES];
    SdmLease *lease;        /* shows others that it is in work */
    SdmBlockWork work;
    SdmTryWork attempt;     /* what it uses; of a shared job */
} UnitInWork;

/* The scene in work. */
typedef struct SceneInWork {
    const SdmPlanScene *plan; /* NULL: none */
    SdmScene *images;
    bool is_prepared;
    SdmPrepared prepared;
    double prepared_s[SDM_UNIT_STAGES];
} SceneInWork;

struct SdmUnits {
    SdmContext *ctx;
    SdmUnitsRequest q;
    SdmDevicePool *queue;
    uint8_t *made; /* of each unit: made by this process? */
    int64_t resumed;
    SceneInWork scene;
    UnitInWork unit[SDM_MAX_SLOTS]; /* a ring */
    int first, count;
    SdmBlock last; /* kept in memory where it has cells */
    bool has_last;
    double last_s[SDM_UNIT_STAGES];
    SdmUsage mark;   /* what was used before is charged to a unit */
    double waited_s; /* for other processes, since the mark */
    char doubt[1200]; /* the first of a scene that was prepared here */
};

/* ---- open, close ---- */

SdmStatus sdm_units_open(SdmContext *ctx, const SdmUnitsRequest *request, SdmDevicePool **queue,
                         SdmUnits **out)
{
    SdmStatus st = SDM_OK;
    SdmUnits *u = NULL;
    *out = NULL;
    TRY(sdm_alloc(ctx, &u, 1, sizeof *u, "the units in work"));
    u->ctx = ctx;
    u->q = *request;
    TRY(sdm_alloc(ctx, &u->made, (size_t)request->job->plan->units + 1, 1, "the units"));
    u->queue = *queue;
    *queue = NULL;
    *out = u;
    u = NULL;
done:
    sdm_units_close(&u);
    return st;
}

static void leave_scene(SceneInWork *s)
{
    if (s->is_prepared)
        sdm_prepared_free(&s->prepared);
    sdm_scene_close(&s->images);
    *s = (SceneInWork){.plan = NULL};
}

void sdm_units_close(SdmUnits **units)
{
    SdmUnits *const u = units ? *units : NULL;
    if (!u)
        return;
    for (; u->count > 0; u->count--) {
        UnitInWork *const w = &u->unit[u->first];
        sdm_block_abandon(u->queue, &w->work);
        sdm_try_end(u->ctx, u->q.job, &w->attempt, SDM_ERR_STOPPED);
        sdm_lease_release(&w->lease);
        u->first = (u->first + 1) % SDM_MAX_SLOTS;
    }
    leave_scene(&u->scene);
    sdm_block_free(&u->last);
    sdm_free(&u->made);
    sdm_device_pool_close(&u->queue);
    sdm_free(units);
}

int sdm_units_in_work(const SdmUnits *u)
{
    return u->count;
}

SdmStatus sdm_units_finish(SdmContext *ctx, SdmUnits *u)
{
    const SdmStatus st = u->queue ? sdm_device_pool_ready(ctx, u->queue) : SDM_OK;
    sdm_device_pool_finish(u->queue);
    return st;
}

const char *sdm_units_device(const SdmUnits *u)
{
    return u->queue ? sdm_device_pool_name(u->queue) : NULL;
}

const char *sdm_units_doubt(const SdmUnits *u)
{
    return u->doubt;
}

int64_t sdm_units_resumed(const SdmUnits *u)
{
    return u->resumed;
}

bool sdm_units_is_full(const SdmUnits *u, int64_t unit)
{
    return u->count > 0 && (!u->queue || u->count >= sdm_device_pool_slots(u->queue) ||
                            sdm_plan_scene_of(u->q.job->plan, unit) != u->scene.plan->number);
}

/* Seconds of each stage since `before`. */
static void stages_since(const SdmContext *ctx, const double before[SDM_UNIT_STAGES],
                         double out[SDM_UNIT_STAGES])
{
    for (int i = 0; i < SDM_UNIT_STAGES; i++)
        out[i] = sdm_stage_time(ctx, i) - before[i];
}

static void stages_now(const SdmContext *ctx, double out[SDM_UNIT_STAGES])
{
    const double zero[SDM_UNIT_STAGES] = {0};
    stages_since(ctx, zero, out);
}

/* ---- the scene in work ---- */

static void use_scene(SdmUnits *u, int number)
{
    const SdmPlanScene *const plan = &u->q.job->plan->scene[number];
    if (u->scene.plan == plan)
        return;
    leave_scene(&u->scene);
    u->scene.plan = plan;
}

static SdmStatus open_images(SdmContext *ctx, SdmUnits *u, SdmDepth depth)
{
    SdmStatus st = SDM_OK;
    char left[SDM_PATH_SIZE], right[SDM_PATH_SIZE];
    SceneInWork *const s = &u->scene;
    const bool pair = s->plan->right.path != NULL;
    if (s->images && s->images->depth >= (int)depth)
        return SDM_OK;
    sdm_scene_close(&s->images);
    TRY(sdm_job_find(ctx, u->q.job, &s->plan->left, left));
    if (pair)
        TRY(sdm_job_find(ctx, u->q.job, &s->plan->right, right));
    TRY(sdm_scene_open_to(ctx, &u->q.job->options, left, pair ? right : NULL, depth, &s->images));
done:
    return st;
}

/* A file is there but cannot be used: log the context's last error as the reason. */
static void tell_unusable(SdmContext *ctx, const char *path)
{
    if (access(path, F_OK) == 0)
        sdm_log(ctx, SDM_LOG_INFO, 0, "%s; it is computed again", sdm_error(ctx));
}

/* Is the scene prepared, here or in its file? */
static bool find_prepared(SdmContext *ctx, SdmUnits *u)
{
    SceneInWork *const s = &u->scene;
    if (!s->is_prepared)
        s->is_prepared = sdm_job_read_prepared(ctx, u->q.job, s->plan, &s->prepared, s->prepared_s) == SDM_OK;
    return s->is_prepared;
}

/* A file is put in place if this process still holds what it works for.  lease: of the unit, or NULL. */
static SdmUnitCommit commit_held(const SdmUnits *u, SdmLease *lease)
{
    return (SdmUnitCommit){.sync = u->q.is_shared, .output = u->q.output, .unit = lease};
}

/* Share of the preparation in a unit's time. */
static double prepared_share(const SdmPlanScene *s, int64_t unit)
{
    return sdm_plan_tile_of(s, unit) ? sdm_plan_prepared_share(s, 1) : 1.0;
}

static void keep_doubt(SdmUnits *u)
{
    SdmQuality q = {.count = 0};
    sdm_quality_warn_inputs(&u->scene.prepared, &q);
    if (q.count > 0 && !*u->doubt)
        snprintf(u->doubt, sizeof u->doubt, "%s", q.text[0]);
}

static SdmStatus prepare_now(SdmContext *ctx, SdmUnits *u, int64_t unit, SdmLease *lease)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE];
    double before[SDM_UNIT_STAGES];
    SceneInWork *const s = &u->scene;
    stages_now(ctx, before);
    TRY(open_images(ctx, u, SDM_DEPTH_WHOLE));
    const SdmProgressPart around = sdm_progress_enter(ctx, 0.0, prepared_share(s->plan, unit));
    sdm_progress(ctx, 2, 0.05, "coarse surface and pointing");
    s->prepared = (SdmPrepared){0};
    st = sdm_scene_prepare(ctx, s->images, &s->prepared);
    if (st == SDM_OK)
        sdm_progress(ctx, 2, 1.0, "prepared");
    sdm_progress_leave(ctx, around);
    TRY(st);
    stages_since(ctx, before, s->prepared_s);
    TRY(sdm_job_file(ctx, u->q.job, SDM_JOB_PREPARED, s->plan->number, path));
    const SdmUnitCommit commit = commit_held(u, lease);
    TRY(sdm_prepared_write(ctx, path, s->plan->fingerprint, &s->prepared, s->prepared_s, &commit));
    s->is_prepared = true;
    keep_doubt(u);
done:
    if (st != SDM_OK && !s->is_prepared) {
        sdm_prepared_free(&s->prepared);
        s->prepared = (SdmPrepared){0};
    }
    return st;
}

/* Prepare the scene for that unit: from its file, from another process that is at it, or here.  own: lease of
 * the unit, or NULL. */
static SdmStatus need_prepared(SdmContext *ctx, SdmUnits *u, int64_t unit, SdmLease *own)
{
    SdmStatus st = SDM_OK;
    char running[SDM_PATH_SIZE], path[SDM_PATH_SIZE];
    SdmLease *lease = NULL;
    const SdmPlanScene *const s = u->scene.plan;
    if (find_prepared(ctx, u))
        return SDM_OK;
    if (sdm_job_file(NULL, u->q.job, SDM_JOB_PREPARED, s->number, path) == SDM_OK)
        tell_unusable(ctx, path);
    if (unit != s->first_unit && u->q.is_shared) { /* the first unit of the scene prepares it */
        TRY(sdm_job_file(ctx, u->q.job, SDM_JOB_RUNNING, s->first_unit, running));
        TRY(sdm_job_file(ctx, u->q.job, SDM_JOB_PREPARED, s->number, path));
        const double since_s = sdm_now_s();
        st = sdm_lease_wait_result(ctx, running, path, u->q.wait_s, unit - s->first_unit);
        u->waited_s += sdm_now_s() - since_s;
        TRY(st);
        if (find_prepared(ctx, u))
            return SDM_OK;
        sdm_log(ctx, SDM_LOG_INFO, 0, "no task has prepared %s: it is prepared here", s->name);
        lease = sdm_lease_announce(running);
    }
    st = prepare_now(ctx, u, unit, lease ? lease : own);
done:
    sdm_lease_release(&lease);
    return st;
}

/* ---- a block ---- */

/* The back end, which may be opening while the scene is prepared, made ready for the units that will come. */
static SdmStatus ready_queue(SdmContext *ctx, SdmUnits *u)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_device_pool_ready(ctx, u->queue));
    if (u->count == 0)
        sdm_device_pool_expect(u->queue, u->q.expected);
done:
    return st;
}

/* The cells of a tile on the grid of the prepared scene. */
static void place_block(const SdmUnits *u, const SdmPlanTile *tile, SdmBlock *b)
{
    const SdmPlanScene *const s = u->scene.plan;
    const SdmTilesOf of = {s->x0, s->y0, {s->tiles_end[0], s->tiles_end[1]}};
    sdm_tiling_place(&of, tile->cells, &u->scene.prepared.grid, b);
}

int64_t sdm_units_cells(const SdmUnits *u, int64_t unit)
{
    SdmBlock b = {.height_m = NULL};
    const SdmPlanScene *const s = u->scene.plan;
    if (!s || !u->scene.is_prepared || sdm_plan_scene_of(u->q.job->plan, unit) != s->number ||
        !sdm_plan_tile_of(s, unit))
        return 0;
    place_block(u, sdm_plan_tile_of(s, unit), &b);
    return b.w > 0 && b.h > 0 ? b.w * b.h : 0;
}

static int64_t last_unit(const SdmPlanScene *s)
{
    return s->first_unit + s->unit_count - 1;
}

static SdmStatus begin_block(SdmContext *ctx, SdmUnits *u, UnitInWork *w, const SdmPlanTile *tile)
{
    SdmStatus st = SDM_OK;
    double before[SDM_UNIT_STAGES];
    SceneInWork *const s = &u->scene;
    const SdmPrepared *const p = &s->prepared;
    SdmBlock *const b = &w->work.block;
    if (!u->queue)
        TRY(sdm_device_pool_open(ctx, u->q.job->options.device, &u->queue));
    TRY(need_prepared(ctx, u, w->unit, w->lease));
    TRY(ready_queue(ctx, u));
    TRY(open_images(ctx, u, SDM_DEPTH_WINDOWS));
    for (int i = 0; i < 2; i++)
        sdm_image_set_radiometry(s->images->view[i].image, &p->radiometry[i]);
    stages_now(ctx, before);
    place_block(u, tile, b);
    const int64_t room = sdm_block_room(ctx, s->images, p) / sdm_device_pool_slots(u->queue) -
                         SDM_BLOCK_CELL_BYTES * b->w * b->h;
    w->is_block = true;
    w->work.is_last = u->q.keep_last && w->unit == last_unit(s->plan) &&
                      u->count == 0; /* a block in work may be begun again, if its device is lost */
    const double from = w->unit == s->plan->first_unit ? prepared_share(s->plan, w->unit) : 0.0;
    const SdmProgressPart around = sdm_progress_enter(ctx, from, 1.0);
    st = sdm_block_begin(ctx, s->images, p, u->queue, room > 1 ? room : 1, &w->work);
    sdm_progress_leave(ctx, around);
    TRY(st);
    stages_since(ctx, before, w->took_s);
done:
    return st;
}

static SdmStatus store_block(SdmContext *ctx, SdmUnits *u, int64_t unit, const SdmBlock *b,
                             const double *took_s, SdmLease *lease)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE];
    TRY(sdm_job_file(ctx, u->q.job, SDM_JOB_UNIT, unit, path));
    const SdmUnitCommit commit = commit_held(u, lease);
    TRY(sdm_unit_write(ctx, path, sdm_plan_unit_fingerprint(u->scene.plan, unit), b, took_s, &commit));
done:
    return st;
}

static SdmStatus end_block(SdmContext *ctx, SdmUnits *u, UnitInWork *w)
{
    SdmStatus st = SDM_OK;
    SdmBlock *const b = &w->work.block;
    double before[SDM_UNIT_STAGES], took[SDM_UNIT_STAGES];
    stages_now(ctx, before);
    TRY(sdm_block_end(ctx, u->queue, &w->work));
    stages_since(ctx, before, took);
    for (int i = 0; i < SDM_UNIT_STAGES; i++)
        w->took_s[i] += took[i];
    if (u->q.keep_last && w->unit == last_unit(u->scene.plan)) {
        u->last = *b;
        u->has_last = true;
        memcpy(u->last_s, w->took_s, sizeof u->last_s);
        *b = (SdmBlock){.height_m = NULL};
    } else {
        TRY(store_block(ctx, u, w->unit, b, w->took_s, w->lease));
    }
done:
    sdm_block_free(b);
    return st;
}

void sdm_units_store_last(SdmUnits *u)
{
    if (u->has_last)
        /* or lost: no harm */
        (void)store_block(NULL, u, last_unit(u->scene.plan), &u->last, u->last_s, NULL);
}

/* ---- any unit ---- */

/* Is the unit there, or was its scene merged and the unit removed? */
static bool is_done(SdmContext *ctx, SdmUnits *u, int64_t unit, const SdmPlanTile *tile)
{
    char path[SDM_PATH_SIZE];
    const SdmPlanScene *const s = u->scene.plan;
    const bool merged = u->q.is_shared && sdm_job_is_merged(u->q.job, s);
    if (!tile)
        return find_prepared(ctx, u) || merged;
    if (sdm_job_file(NULL, u->q.job, SDM_JOB_UNIT, unit, path) != SDM_OK)
        return false;
    if (access(path, F_OK) != 0)
        return merged;
    if (sdm_unit_check(ctx, path, sdm_plan_unit_fingerprint(s, unit)) == SDM_OK)
        return true;
    tell_unusable(ctx, path);
    return false;
}

static SdmStatus begin_unit(SdmContext *ctx, SdmUnits *u, UnitInWork *w)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE];
    const SdmJob *const job = u->q.job;
    const SdmPlanTile *const tile = sdm_plan_tile_of(u->scene.plan, w->unit);
    TRY(sdm_plan_check_files(ctx, job->folder, u->scene.plan, true));
    w->resumed = is_done(ctx, u, w->unit, tile);
    u->resumed += w->resumed;
    if (w->resumed) {
        sdm_usage_now(ctx, &u->mark); /* looking is no work of the next unit */
        goto done;
    }
    if (access(job->folder, W_OK | X_OK) != 0)
        return sdm_fail(ctx, SDM_ERR_IO,
                        "the job folder %s cannot be written: %s; let it be written, or move it", job->folder,
                        strerror(errno));
    TRY(sdm_job_file(ctx, job, SDM_JOB_RUNNING, w->unit, path));
    w->lease = sdm_lease_announce(path);
    if (u->q.is_shared) {
        if (u->count == 0)
            sdm_memory_resident_restart(ctx);
        sdm_try_begin(ctx, job, u->scene.plan, w->unit, &w->attempt);
    }
    TRY(tile ? begin_block(ctx, u, w, tile) : need_prepared(ctx, u, w->unit, w->lease));
done:
    return st;
}

/* What was used since the last call is the unit's. */
static void charge(SdmContext *ctx, SdmUnits *u, UnitInWork *w)
{
    sdm_try_charge(ctx, &u->mark, &w->attempt);
    w->attempt.waited_s += u->waited_s;
    u->waited_s = 0.0;
}

/* Keep a unit's failure beside it, or remove that of the try before; not when another task has the unit by
 * now. */
static SdmStatus record(SdmContext *ctx, SdmUnits *u, UnitInWork *w, SdmStatus st)
{
    char path[SDM_PATH_SIZE];
    const SdmPlan *const plan = u->q.job->plan;
    const bool held =
        sdm_lease_check(NULL, u->q.output) == SDM_OK && sdm_lease_check(NULL, w->lease) == SDM_OK;
    if (!w->resumed)
        charge(ctx, u, w);
    sdm_try_end(ctx, u->q.job, &w->attempt, st);
    sdm_lease_release(&w->lease);
    if (!held || sdm_job_file(NULL, u->q.job, SDM_JOB_ERROR, w->unit, path) != SDM_OK)
        return st;
    if (st == SDM_OK)
        unlink(path);
    else if (st != SDM_ERR_STOPPED && u->q.is_shared)
        sdm_job_keep_failure(ctx, u->q.job, &plan->scene[sdm_plan_scene_of(plan, w->unit)], path, st);
    return st;
}

SdmStatus sdm_units_begin(SdmContext *ctx, SdmUnits *u, int64_t unit)
{
    SdmStatus st = SDM_OK;
    const SdmPlan *const plan = u->q.job->plan;
    if (unit < 0 || unit >= plan->units)
        return sdm_fail(ctx, SDM_ERR_USAGE, "unit %lld does not exist; %s has %lld units, from 0 to %lld",
                        (long long)unit, u->q.job->folder, (long long)plan->units,
                        (long long)plan->units - 1);
    TRY(sdm_check_stop(ctx));
    use_scene(u, sdm_plan_scene_of(plan, unit));
    UnitInWork *const w = &u->unit[(u->first + u->count) % SDM_MAX_SLOTS];
    *w = (UnitInWork){.unit = unit, .work = {.slot = -1}, .started_s = sdm_now_s()};
    st = begin_unit(ctx, u, w);
    if (st != SDM_OK) {
        (void)record(ctx, u, w, st);
        goto done;
    }
    if (!w->resumed)
        charge(ctx, u, w);
    u->count++;
done:
    return st;
}

SdmStatus sdm_units_end(SdmContext *ctx, SdmUnits *u, SdmUnitDone *done)
{
    UnitInWork *const w = &u->unit[u->first];
    u->first = (u->first + 1) % SDM_MAX_SLOTS;
    u->count--;
    const SdmStatus st = w->is_block ? end_block(ctx, u, w) : SDM_OK;
    if (st == SDM_OK && !w->resumed)
        u->made[w->unit] = 1;
    *done = (SdmUnitDone){.unit = w->unit, .resumed = w->resumed, .seconds = sdm_now_s() - w->started_s};
    return record(ctx, u, w, st);
}

SdmStatus sdm_units_end_others(SdmContext *ctx, SdmUnits *u, SdmStatus st)
{
    SdmUnitDone done;
    char why[1024];
    snprintf(why, sizeof why, "%s", sdm_error(ctx));
    while (st != SDM_ERR_STOPPED && u->count > 0)
        (void)sdm_units_end(ctx, u, &done);
    return sdm_fail(ctx, st, "%s", why);
}

SdmStatus sdm_units_result(SdmContext *ctx, SdmUnits *u, int scene, SdmBuildInput *out)
{
    SdmStatus st = SDM_OK;
    use_scene(u, scene);
    TRY(need_prepared(ctx, u, u->scene.plan->first_unit, NULL));
    *out = (SdmBuildInput){.job = u->q.job,
                           .scene = u->scene.plan,
                           .prepared = &u->scene.prepared,
                           .prepared_s = u->scene.prepared_s,
                           .made = u->made,
                           .device = sdm_units_device(u),
                           .device_why = u->queue ? sdm_device_pool_why(u->queue) : NULL,
                           .last = u->has_last ? &u->last : NULL};
done:
    return st;
}
