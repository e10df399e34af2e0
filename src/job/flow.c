/* The loop over units: found in the store, or begun, ended, stored, handed on; one scene at a time. */
// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"
#include "geo/grid.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* A unit in work. */
typedef struct UnitInWork {
    int64_t unit;
    bool resumed, is_block; /* was found done; is a block, to be stored or handed on at the end */
    double started_s;
    SdmBlockWork work;
    SdmUsage used;
} UnitInWork;

/* The scene in work. */
typedef struct SceneInWork {
    const SdmPlanScene *plan; /* NULL: none */
    SdmScene *images;         /* owned, unless they are the caller's */
    bool is_prepared;
    SdmPrepared prepared;
    SdmUsage used; /* by its preparation */
} SceneInWork;

struct SdmFlow {
    SdmFlowRequest q;
    SdmDevicePool *queue;
    SceneInWork scene;
    UnitInWork unit[SDM_MAX_SLOTS]; /* a ring */
    int first, count;
    SdmUsage mark;    /* what was used before is charged to a unit */
    double share;     /* of the progress, by the units that were begun */
    char doubt[1200]; /* the first of a scene that was prepared here */
};

/* ---- open, close ---- */

SdmStatus sdm_flow_open(SdmContext *ctx, const SdmFlowRequest *request, SdmDevicePool **queue, SdmFlow **out)
{
    SdmFlow *f = NULL;
    *out = NULL;
    PASS(sdm_alloc(ctx, &f, 1, sizeof *f, "the units in work"));
    f->q = *request;
    f->queue = *queue;
    *queue = NULL;
    *out = f;
    return SDM_OK;
}

static void leave_scene(SdmFlow *f)
{
    SceneInWork *const s = &f->scene;
    if (s->is_prepared)
        sdm_prepared_free(&s->prepared);
    if (s->images != f->q.images)
        sdm_scene_close(&s->images);
    *s = (SceneInWork){.plan = NULL};
}

void sdm_flow_close(SdmFlow **flow)
{
    SdmFlow *const f = flow ? *flow : NULL;
    if (!f)
        return;
    for (; f->count > 0; f->count--) {
        sdm_block_abandon(f->queue, &f->unit[f->first].work);
        f->first = (f->first + 1) % SDM_MAX_SLOTS;
    }
    leave_scene(f);
    sdm_device_pool_close(&f->queue);
    sdm_free(flow);
}

const SdmDevicePool *sdm_flow_queue(const SdmFlow *f)
{
    return f->queue;
}

const char *sdm_flow_doubt(const SdmFlow *f)
{
    return f->doubt;
}

/* ---- the scene in work ---- */

static void use_scene(SdmFlow *f, int number)
{
    const SdmPlanScene *const plan = &f->q.job->plan->scene[number];
    if (f->scene.plan == plan)
        return;
    leave_scene(f);
    f->scene.plan = plan;
    f->scene.images = f->q.images;
}

static SdmStatus open_images(SdmContext *ctx, SdmFlow *f, SdmDepth depth)
{
    char left[SDM_PATH_SIZE], right[SDM_PATH_SIZE];
    SceneInWork *const s = &f->scene;
    const bool pair = s->plan->right.path != NULL;
    if (s->images && s->images->depth >= (int)depth)
        return SDM_OK;
    sdm_scene_close(&s->images);
    PASS(sdm_job_find(ctx, f->q.job, &s->plan->left, left));
    if (pair)
        PASS(sdm_job_find(ctx, f->q.job, &s->plan->right, right));
    return sdm_scene_open_to(ctx, &f->q.job->options, left, pair ? right : NULL, depth, &s->images);
}

/* A file is there but cannot be used: log the context's last error as the reason. */
static void tell_unusable(SdmContext *ctx, const char *path)
{
    if (access(path, F_OK) == 0)
        sdm_log(ctx, SDM_LOG_INFO, 0, "%s; it is computed again", sdm_error(ctx));
}

/* Is the scene prepared, here or in its file? */
static bool find_prepared(SdmContext *ctx, SdmFlow *f)
{
    SceneInWork *const s = &f->scene;
    if (!s->is_prepared && f->q.has_store)
        s->is_prepared = sdm_job_read_prepared(ctx, f->q.job, s->plan, &s->prepared, &s->used) == SDM_OK;
    return s->is_prepared;
}

/* Share of the preparation in a unit's time. */
static double prepared_share(const SdmPlanScene *s, int64_t unit)
{
    return sdm_plan_tile_of(s, unit) ? sdm_plan_prepared_share(s, 1) : 1.0;
}

static SdmStatus prepare_now(SdmContext *ctx, SdmFlow *f, int64_t unit)
{
    SdmStatus st = SDM_OK;
    SdmUnitName name;
    SdmQuality q = {.count = 0};
    SceneInWork *const s = &f->scene;
    TRY(open_images(ctx, f, SDM_DEPTH_WHOLE));
    const SdmProgressPart around = sdm_progress_enter(ctx, 0.0, prepared_share(s->plan, unit));
    sdm_progress(ctx, 2, 0.05, "coarse surface and pointing");
    s->prepared = (SdmPrepared){0};
    st = sdm_scene_prepare(ctx, s->images, &s->prepared);
    if (st == SDM_OK)
        sdm_progress(ctx, 2, 1.0, "prepared");
    sdm_progress_leave(&around);
    TRY(st);
    s->used = (SdmUsage){.wall_s = 0.0};
    sdm_usage_add(ctx, &f->mark, &s->used);
    if (f->q.has_store) {
        TRY(sdm_job_unit(ctx, f->q.job, s->plan, SDM_UNIT_PREPARED, unit, &name));
        TRY(sdm_unit_write(ctx, &name, &s->prepared, &s->used, f->q.is_shared, f->q.output));
    }
    s->is_prepared = true;
    sdm_quality_warn_inputs(&s->prepared, &q);
    if (q.count > 0 && !*f->doubt)
        snprintf(f->doubt, sizeof f->doubt, "%s", q.text[0]);
done:
    if (st != SDM_OK) {
        sdm_prepared_free(&s->prepared);
        s->prepared = (SdmPrepared){0};
    }
    return st;
}

/* Read the prepared scene, wait for another process that prepares it, or prepare it here.  The process that
 * prepares holds a lease on the file of the prepared scene, so tasks that begin together prepare it once. */
static SdmStatus need_prepared(SdmContext *ctx, SdmFlow *f, int64_t unit)
{
    SdmUnitName name;
    SDM_CLOSED_BY(sdm_lease_release) SdmLease *lease = NULL;
    if (find_prepared(ctx, f))
        return SDM_OK;
    if (f->q.has_store) {
        PASS(sdm_job_unit(ctx, f->q.job, f->scene.plan, SDM_UNIT_PREPARED, unit, &name));
        tell_unusable(ctx, name.path);
    }
    if (f->q.is_shared) {
        const double since_s = sdm_now_s();
        PASS(sdm_lease_wait_output(ctx, name.path, "the preparation of the scene", f->q.wait_s, &lease));
        f->mark.wall_s += sdm_now_s() - since_s; /* waiting is no work of a unit */
        if (find_prepared(ctx, f))
            return SDM_OK;
    }
    return prepare_now(ctx, f, unit);
}

SdmStatus sdm_flow_prepared(SdmContext *ctx, SdmFlow *f, int scene, const SdmPrepared **prepared,
                            const SdmUsage **used)
{
    use_scene(f, scene);
    PASS(need_prepared(ctx, f, f->scene.plan->first_unit));
    *prepared = &f->scene.prepared;
    *used = &f->scene.used;
    return SDM_OK;
}

/* ---- a block ---- */

/* The cells of a tile on the grid of the prepared scene. */
static void place_block(const SdmFlow *f, const SdmPlanTile *tile, SdmBlock *b)
{
    const SdmPlanScene *const s = f->scene.plan;
    sdm_tiling_place((const double[]){s->x0, s->y0}, s->tiles_end, tile->cells, &f->scene.prepared, b);
}

static bool is_last(const SdmFlow *f, int64_t unit)
{
    const SdmPlanScene *const s = f->scene.plan;
    return f->q.keep_last && unit == s->first_unit + s->unit_count - 1;
}

static SdmStatus begin_block(SdmContext *ctx, SdmFlow *f, UnitInWork *w, const SdmPlanTile *tile)
{
    SceneInWork *const s = &f->scene;
    const SdmPrepared *const p = &s->prepared;
    SdmBlock *const b = &w->work.block;
    if (!f->queue)
        PASS(sdm_device_pool_open(ctx, f->q.job->options.device, &f->queue));
    PASS(need_prepared(ctx, f, w->unit));
    PASS(sdm_device_pool_ready(ctx, f->queue)); /* it may be opening while the scene is prepared */
    if (f->count == 0)
        sdm_device_pool_expect(f->queue, f->q.count);
    PASS(open_images(ctx, f, SDM_DEPTH_WINDOWS));
    for (int i = 0; i < 2; i++)
        s->images->view[i].image->q = p->radiometry[i];
    place_block(f, tile, b);
    const int64_t room = sdm_block_room(ctx, s->images, p) / sdm_device_pool_slots(f->queue) -
                         SDM_BLOCK_CELL_BYTES * b->w * b->h;
    w->is_block = true;
    w->work.is_last =
        is_last(f, w->unit) && f->count == 0; /* a block in work may be begun again, if its device is lost */
    const double from = w->unit == s->plan->first_unit ? prepared_share(s->plan, w->unit) : 0.0;
    SDM_PROGRESS(ctx, from, 1.0);
    return sdm_block_begin(ctx, s->images, p, f->queue, room > 1 ? room : 1, &w->work);
}

SdmStatus sdm_flow_store(SdmContext *ctx, SdmFlow *f, int64_t unit, const SdmBlock *b, const SdmUsage *used)
{
    SdmUnitName name;
    PASS(sdm_job_unit(ctx, f->q.job, f->scene.plan, SDM_UNIT_BLOCK, unit, &name));
    return sdm_unit_write(ctx, &name, b, used, f->q.is_shared, f->q.output);
}

/* ---- any unit ---- */

/* Is the unit there, or was its scene merged and the unit removed? */
static bool is_done(SdmContext *ctx, SdmFlow *f, int64_t unit)
{
    SdmUnitName name;
    const SdmPlanScene *const s = f->scene.plan;
    if (!f->q.has_store || sdm_job_unit_of(NULL, f->q.job, s, unit, &name) != SDM_OK)
        return false;
    if (name.kind == SDM_UNIT_PREPARED ? find_prepared(ctx, f) : sdm_unit_check(ctx, &name) == SDM_OK)
        return true;
    if (f->q.is_shared && sdm_job_is_merged(f->q.job, s) && access(name.path, F_OK) != 0)
        return true;
    if (name.kind == SDM_UNIT_BLOCK)
        tell_unusable(ctx, name.path);
    return false;
}

/* Charge the unit with the resources used since the last call. */
static void charge(SdmContext *ctx, SdmFlow *f, UnitInWork *w)
{
    if (w->resumed)
        sdm_usage_now(ctx, &f->mark); /* looking is no work of the next unit */
    else
        sdm_usage_add(ctx, &f->mark, &w->used);
}

static SdmStatus begin_unit(SdmContext *ctx, SdmFlow *f, UnitInWork *w)
{
    const SdmJob *const job = f->q.job;
    const SdmPlanTile *const tile = sdm_plan_tile_of(f->scene.plan, w->unit);
    PASS(sdm_plan_check_files(ctx, job->folder, f->scene.plan, true));
    w->resumed = is_done(ctx, f, w->unit);
    if (!w->resumed) {
        if (f->q.has_store && access(job->folder, W_OK | X_OK) != 0)
            return sdm_fail(ctx, SDM_ERR_IO,
                            "the job folder %s cannot be written: %s; let it be written, or move it",
                            job->folder, strerror(errno));
        if (f->q.is_shared && f->count == 0)
            sdm_memory_resident_restart(ctx);
        PASS(tile ? begin_block(ctx, f, w, tile) : need_prepared(ctx, f, w->unit));
    }
    charge(ctx, f, w);
    return SDM_OK;
}

/* A unit has ended, or failed: record it, hand it on. */
static SdmStatus leave_unit(SdmContext *ctx, SdmFlow *f, UnitInWork *w, SdmStatus st)
{
    SdmBlock *const b = st == SDM_OK && w->is_block ? &w->work.block : NULL;
    const SdmFlowUnit done = {w->unit, w->resumed, sdm_now_s() - w->started_s, b, &w->used};
    if (f->q.is_shared)
        sdm_job_keep_failure(ctx, f->q.job, f->scene.plan, w->unit, st);
    if (f->q.ended)
        st = f->q.ended(ctx, f->q.user, &done, st);
    sdm_block_free(&w->work.block);
    return st;
}

/* End the unit that began first: wait, grid, store. */
static SdmStatus end_unit(SdmContext *ctx, SdmFlow *f)
{
    UnitInWork *const w = &f->unit[f->first];
    const SdmPrepared *const p = &f->scene.prepared;
    SdmStatus st = SDM_OK;
    f->first = (f->first + 1) % SDM_MAX_SLOTS;
    f->count--;
    if (w->is_block) {
        TRY(sdm_block_end(ctx, f->queue, &w->work));
        TRY(sdm_part_take(ctx, &f->q.job->options, &p->grid, &p->part, &w->work.block));
        charge(ctx, f, w);
        if (f->q.has_store && !is_last(f, w->unit)) {
            TRY(sdm_flow_store(ctx, f, w->unit, &w->work.block, &w->used));
            sdm_block_free(&w->work.block);
            w->is_block = false;
        }
    }
done:
    return leave_unit(ctx, f, w, st);
}

/* ---- the loop ---- */

/* Cells of the DEM that a unit makes; 0: it is a preparation, or its scene is not prepared yet. */
static int64_t cells_of(const SdmFlow *f, int64_t unit)
{
    SdmBlock b = {.height_m = NULL};
    const SdmPlanTile *const tile = sdm_plan_tile_of(f->scene.plan, unit);
    if (!tile || !f->scene.is_prepared)
        return 0;
    place_block(f, tile, &b);
    return b.w > 0 && b.h > 0 ? b.w * b.h : 0;
}

/* Share of the progress when the i-th unit is done.  The first unit of a scene in tiles is the preparation;
 * then the cells of each tile are known, of which those at the rim may have none.  Units of a shared job take
 * the same share each. */
static double share_done(const SdmFlow *f, int64_t i)
{
    const SdmPlanScene *const s = &f->q.job->plan->scene[0];
    int64_t left = 0;
    if (f->q.is_shared || !s->tiled)
        return f->q.share * (double)(i + 1) / (double)f->q.count;
    if (i == 0)
        return f->q.share * sdm_plan_prepared_share(s, s->tile_count);
    for (int64_t k = i; k < s->unit_count; k++)
        left += cells_of(f, k);
    return left > 0 ? f->share + (f->q.share - f->share) * (double)cells_of(f, i) / (double)left : f->share;
}

static SdmStatus begin(SdmContext *ctx, SdmFlow *f, int64_t i, int64_t unit)
{
    char what[64];
    const SdmPlan *const plan = f->q.job->plan;
    if (unit < 0 || unit >= plan->units)
        return sdm_fail(ctx, SDM_ERR_USAGE, "unit %lld does not exist; %s has %lld unit%s, from 0 to %lld",
                        (long long)unit, f->q.job->folder, (long long)plan->units,
                        plan->units == 1 ? "" : "s", (long long)plan->units - 1);
    PASS(sdm_check_stop(ctx));
    use_scene(f, sdm_plan_scene_of(plan, unit));
    UnitInWork *const w = &f->unit[(f->first + f->count) % SDM_MAX_SLOTS];
    *w = (UnitInWork){.unit = unit, .work = {.slot = -1}, .started_s = sdm_now_s()};
    const double share = share_done(f, i);
    SDM_PROGRESS(ctx, f->share, share);
    snprintf(what, sizeof what, "%s %lld of %lld", f->q.word, (long long)(i + 1), (long long)f->q.count);
    if (i > 0)
        sdm_progress(ctx, 5, 0.0, what);
    const SdmStatus st = begin_unit(ctx, f, w);
    f->share = share;
    if (st != SDM_OK)
        return leave_unit(ctx, f, w, st);
    f->count++;
    if (w->resumed && i == 0 && !f->q.is_shared)
        sdm_log(ctx, SDM_LOG_INFO, 2, "going on from %s", f->q.job->folder);
    return SDM_OK;
}

SdmStatus sdm_flow_run(SdmContext *ctx, SdmFlow *f)
{
    SdmStatus st = SDM_OK;
    char why[1024];
    for (int64_t i = 0; i < f->q.count; i++) {
        const int64_t unit = f->q.unit ? f->q.unit[i] : f->q.first + i;
        if (i > 0 && unit >= f->q.job->plan->units && !f->q.unit)
            break; /* the last task has fewer */
        /* units in work share a scene and the slots of the back end */
        while (f->count > 0 && (!f->queue || f->count >= sdm_device_pool_slots(f->queue) ||
                                sdm_plan_scene_of(f->q.job->plan, unit) != f->scene.plan->number))
            TRY(end_unit(ctx, f));
        TRY(begin(ctx, f, i, unit));
    }
    while (f->count > 0)
        TRY(end_unit(ctx, f));
    if (!f->q.is_shared && f->queue) { /* none comes: devices close meanwhile */
        TRY(sdm_device_pool_ready(ctx, f->queue));
        sdm_device_pool_finish(f->queue);
    }
done:
    if (st == SDM_OK)
        return st;
    snprintf(why, sizeof why, "%s", sdm_error(ctx));
    while (st != SDM_ERR_STOPPED && f->count > 0) /* those in work are kept where they can be finished */
        (void)end_unit(ctx, f);
    return sdm_fail(ctx, st, "%s", why);
}
