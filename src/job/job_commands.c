/* The commands run, plan and tile, and the progress of a job for status. */
// SPDX-License-Identifier: Apache-2.0
#include "job/job_commands.h"
#include "core/run_log.h"
#include "scene/reference_fit.h"

#include <string.h>
#include <unistd.h>

/* ---- run: a scene -> its products, in one process that can be stopped and taken up ---- */

typedef struct Run {
    SdmOptions options;         /* the caller's, with the device that was chosen */
    SdmKeptProduct *keep;       /* gets the product, of which nothing is written then; NULL: files */
    SdmLease *lease;            /* of the output */
    bool has_log;               /* NAME.log is this run's */
    char folder[SDM_PATH_SIZE]; /* of the job; "" before it is made */
    SdmScene *own, *scene;      /* opened once, for the plan and for all units; own: by the run */
    SdmJob job;
    SdmFlow *flow;
    SdmBuildInput input;
    SdmBuild *build; /* in memory, from the first block on */
    uint8_t *made;   /* of each unit: by this process? */
    SdmBlock last;   /* that of the last unit, kept in memory */
    bool has_last;
    SdmUsage last_used;
    bool no_dem; /* the blocks make no DEM: not worth keeping */
    SdmDemResult *result;
} Run;

/* Share of the run's time when the products are left to be written. */
static double units_done(const Run *r)
{
    return r->keep ? 0.97 : 0.87;
}

/* The prepared scene becomes part of the input; in memory blocks are taken from now on. */
static SdmStatus begin_build(SdmContext *ctx, Run *r)
{
    PASS(sdm_flow_prepared(ctx, r->flow, 0, &r->input.prepared, &r->input.prepared_used));
    r->input.device = sdm_device_pool_name(sdm_flow_queue(r->flow));
    r->input.device_why = sdm_device_pool_why(sdm_flow_queue(r->flow));
    return r->keep ? sdm_build_open(ctx, &r->input, &r->job.options, &r->build) : SDM_OK;
}

/* A unit has ended: in memory its block goes into the DEM, else the last one is kept. */
static SdmStatus take_unit(SdmContext *ctx, void *user, const SdmFlowUnit *u, SdmStatus st)
{
    Run *const r = user;
    r->made[u->unit] = st == SDM_OK && !u->resumed;
    if (st != SDM_OK || !u->block)
        return st;
    if (r->keep) {
        if (!r->build)
            PASS(begin_build(ctx, r));
        return sdm_build_add(ctx, r->build, u->block);
    }
    r->last = *u->block;
    r->last_used = *u->used;
    r->has_last = true;
    *u->block = (SdmBlock){.height_m = NULL};
    return SDM_OK;
}

/* The products are there: remove what they were made from, then let the output go. */
static SdmStatus leave(SdmContext *ctx, Run *r)
{
    PASS(sdm_lease_check(ctx, r->lease));
    if (!r->options.keep_job)
        sdm_job_remove(r->folder);
    sdm_lease_release(&r->lease);
    return SDM_OK;
}

static SdmStatus build(SdmContext *ctx, Run *r)
{
    SDM_CLOSED_BY(sdm_product_close)
    SdmProduct *product = NULL; /* closed after the job is gone: see sdm_build_products() */
    if (!r->build)
        PASS(begin_build(ctx, r));
    SDM_PROGRESS(ctx, units_done(r), 1.0);
    if (r->keep)
        return sdm_build_finish(ctx, r->build, r->result, &r->no_dem);
    r->input.last = r->has_last ? &r->last : NULL;
    PASS(sdm_build_products(ctx, &r->input, &r->job.options, &product, r->result, &r->no_dem));
    return leave(ctx, r);
}

/* Compute and build what the plan says. */
static SdmStatus run_job(SdmContext *ctx, Run *r, SdmDevicePool **queue)
{
    const SdmPlanScene *const scene = &r->job.plan->scene[0];
    const SdmFlowRequest request = {.job = &r->job,
                                    .images = r->scene,
                                    .has_store = !r->keep,
                                    .keep_last = !r->options.keep_job,
                                    .output = r->lease,
                                    .count = r->job.plan->units,
                                    .word = "unit",
                                    .share = units_done(r),
                                    .ended = take_unit,
                                    .user = r};
    if (!r->keep && sdm_product_finished(ctx, r->options.output, scene->product_fingerprint)) {
        PASS(leave(ctx, r)); /* stopped when only tidying was left */
        sdm_product_tidy(ctx, r->options.output, scene->product_fingerprint);
        sdm_log(ctx, SDM_LOG_INFO, 9, "%s was finished already", r->options.output);
        return SDM_OK;
    }
    if (!r->keep) {
        PASS(sdm_build_check_output(ctx, &r->job, scene, &r->job.options));
        PASS(sdm_plan_write(ctx, r->folder, r->job.plan));
    }
    sdm_device_pool_log(ctx, *queue);
    PASS(sdm_alloc(ctx, &r->made, (size_t)r->job.plan->units, 1, "the units"));
    r->input.job = &r->job;
    r->input.scene = scene;
    r->input.made = r->made;
    r->input.lease = r->lease;
    PASS(sdm_flow_open(ctx, &request, queue, &r->flow));
    PASS(sdm_flow_run(ctx, r->flow));
    /* Job and plan name the device that auto has found; until then the processor, as every plan of auto
     * does. */
    const char *const device = sdm_device_pool_name(sdm_flow_queue(r->flow));
    if (strcmp(device, "auto") != 0 && strcmp(device, r->job.options.device) != 0) {
        r->job.options.device = r->job.plan->options.device = device;
        if (!r->keep)
            PASS(sdm_plan_write(ctx, r->folder, r->job.plan));
    }
    return build(ctx, r);
}

/* The sentence of a stopped run: which results the next call can use. */
static SdmStatus tell_stopped(SdmContext *ctx, const char *folder, int64_t blocks, int64_t prepared)
{
    if (blocks > 0)
        return sdm_fail(
            ctx, SDM_ERR_STOPPED,
            "stopped on request; %lld finished block%s kept in %s, give the same command to go on",
            (long long)blocks, blocks > 1 ? "s are" : " is", folder);
    if (prepared > 0)
        return sdm_fail(
            ctx, SDM_ERR_STOPPED,
            "stopped on request before the first block was finished; coarse surface and pointing are "
            "kept in %s, give the same command to go on",
            folder);
    return sdm_fail(
        ctx, SDM_ERR_STOPPED,
        "stopped on request before anything was finished; nothing is kept, give the same command to "
        "begin again");
}

/* After a failure: keep what can be taken up, else remove the folder. */
static SdmStatus leave_failed(SdmContext *ctx, Run *r, SdmStatus st)
{
    int64_t blocks = 0, prepared = 0;
    if (r->keep)
        return st;
    if (sdm_lease_check(NULL, r->lease) != SDM_OK) /* the reason for whatever failed; the folder is another
                                                    * run's */
        return sdm_lease_check(ctx, r->lease);
    if (r->has_last && !r->no_dem) /* or lost: no harm */
        (void)sdm_flow_store(NULL, r->flow, r->job.plan->units - 1, &r->last, &r->last_used);
    if (*r->folder)
        sdm_job_count(r->folder, &blocks, &prepared);
    if (st == SDM_ERR_STOPPED)
        (void)tell_stopped(ctx, r->folder, blocks, prepared);
    if (!*r->folder)
        return st;
    if (r->no_dem || blocks + prepared == 0) {
        sdm_job_remove(r->folder);
    } else if (st != SDM_ERR_STOPPED) {
        char why[1024];
        snprintf(why, sizeof why, "%s", sdm_error(ctx));
        (void)sdm_fail(ctx, st, "%s; finished work is kept in %s for the same command", why, r->folder);
    }
    return st;
}

/* Choose the device that the whole run takes, as the plan will say; take the output; plan. */
static SdmStatus prepare_run(SdmContext *ctx, Run *r, const char *left, const char *right,
                             SdmDevicePool **queue)
{
    SDM_CLOSED_BY(sdm_plan_close) SdmPlan *plan = NULL;
    char folder[SDM_PATH_SIZE] = ".";
    PASS(sdm_device_pool_open(ctx, r->options.device, queue));
    r->options.device = sdm_device_pool_name(*queue);
    if (!r->keep) {
        PASS(sdm_lease_take_output(ctx, r->options.output, &r->lease));
        r->has_log = sdm_run_log_begin(ctx, r->options.output, "run");
        PASS(sdm_format(ctx, folder, sizeof folder, "%s.job", r->options.output));
        PASS(sdm_file_make_folder(ctx, folder));
    }
    memcpy(r->folder, folder, sizeof folder);
    if (!r->scene)
        PASS(sdm_scene_open(ctx, &r->options, left, right, &r->own));
    r->scene = r->scene ? r->scene : r->own;
    /* the plan names the views as the report does: images in memory as their scene does */
    const SdmPlanInput input = {left ? left : r->scene->view[0].name, left ? right : r->scene->view[1].name};
    const SdmPlanSource from = {
        .options = &r->options, .folder = r->folder, .input = &input, .count = 1, .scene = r->scene};
    PASS(sdm_plan_make(ctx, &from, &plan));
    return sdm_job_start(ctx, r->folder, &r->options, &plan, &r->job);
}

SdmStatus sdm_run_scene(SdmContext *ctx, const char *left, const char *right, SdmScene *scene,
                        SdmKeptProduct *keep, SdmDemResult *result)
{
    SdmStatus st = SDM_OK;
    Run r = {.options = *sdm_options(ctx), .keep = keep, .scene = scene, .result = result};
    SDM_CLOSED_BY(sdm_device_pool_close) SdmDevicePool *queue = NULL;
    *result = (SdmDemResult){.known = false};
    r.input = (SdmBuildInput){.started_s = sdm_now_s(), .keep = keep};
    r.options.output = keep ? NULL : r.options.output;
    if (!keep && !r.options.output)
        return sdm_fail(ctx, SDM_ERR_USAGE, "no output; give -o DEM.tif");
    if (!scene && (!left || !*left || (right && !*right)))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "no input; give an ASTER level 1A scene, or the left and right image of a pair");
    if (!keep)
        TRY(sdm_product_check(ctx, &r.options, NULL, 0));
    TRY(sdm_reference_check(ctx, &r.options));
    TRY(prepare_run(ctx, &r, left, right, &queue));
    TRY(run_job(ctx, &r, &queue));
    sdm_progress(ctx, 9, 1.0, "done");
done:
    if (st != SDM_OK)
        st = leave_failed(ctx, &r, st);
    if (r.has_log)
        sdm_run_log_end(ctx, st);
    sdm_lease_release(&r.lease);
    sdm_build_close(&r.build);
    sdm_flow_close(&r.flow);
    sdm_scene_close(&r.own);
    sdm_block_free(&r.last);
    sdm_free(&r.made);
    sdm_job_close(&r.job);
    return st;
}

/* ---- plan: scenes -> a job folder with its plan.json ---- */

/* Keep an equal plan as it is; replace a different one with --overwrite alone. */
static SdmStatus store_plan(SdmContext *ctx, const char *folder, const SdmPlan *plan, bool overwrite)
{
    SDM_OWNED char *text = NULL, *old = NULL;
    char path[SDM_PATH_SIZE];
    size_t size;
    PASS(sdm_plan_print(ctx, plan, &text));
    PASS(sdm_path_join(ctx, folder, "plan.json", path));
    const bool there = access(path, F_OK) == 0;
    if (there && sdm_file_read(ctx, path, (size_t)1 << 28, &old, &size) == SDM_OK && strcmp(old, text) == 0)
        return SDM_OK;
    if (there && !overwrite)
        return sdm_fail(
            ctx, SDM_ERR_USAGE,
            "%s exists and is of another plan; give --overwrite to plan the job again, or another -o", path);
    PASS(sdm_file_write(ctx, path, text, strlen(text)));
    if (there)
        sdm_job_renew(folder, plan);
    return SDM_OK;
}

static void summarise(SdmContext *ctx, const SdmPlan *plan, SdmPlanSummary *out)
{
    *out = (SdmPlanSummary){.scenes = plan->count, .units = plan->units};
    for (int i = 0; i < plan->count; i++) {
        const SdmPlanScene *const s = &plan->scene[i];
        out->tiled += s->tiled;
        out->failed += s->error != NULL;
        if (s->error)
            sdm_log(ctx, SDM_LOG_WARNING, 1, "not planned: %s", s->error);
        for (int64_t unit = s->first_unit; unit < s->first_unit + s->unit_count; unit++) {
            const SdmPlanTile *const t = sdm_plan_tile_of(s, unit);
            const int64_t bytes = t ? t->memory_bytes : s->prepare_bytes;
            const double cpu_s = sdm_plan_unit_s(s, unit);
            out->cpu_s += cpu_s;
            out->most_cpu_s = cpu_s > out->most_cpu_s ? cpu_s : out->most_cpu_s;
            out->most_bytes = bytes > out->most_bytes ? bytes : out->most_bytes;
        }
    }
}

SdmStatus sdm_plan(SdmContext *ctx, const char *job, const char *list, const char *left, const char *right,
                   SdmPlanSummary *out)
{
    SdmStatus st = SDM_OK;
    const SdmOptions options = *sdm_options(ctx);
    SDM_OWNED SdmPlanInput *listed = NULL;
    const SdmPlanInput given = {left, right};
    SDM_CLOSED_BY(sdm_plan_close) SdmPlan *plan = NULL, *former = NULL;
    int count = 1;
    if (!job || !*job)
        return sdm_fail(ctx, SDM_ERR_USAGE, "no job folder; give -o JOB");
    if ((list != NULL) == (left != NULL))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "found %s, expected a scene, a left and a right image, or --list FILE",
                        list ? "both scenes and --list" : "no scene");
    if (list)
        TRY(sdm_plan_list(ctx, list, &listed, &count));
    TRY(sdm_reference_check(ctx, &options));
    TRY(sdm_file_make_folder(ctx, job));
    (void)sdm_plan_read(NULL, job, &former); /* none, or of no use */
    TRY(sdm_plan_make(ctx,
                      &(SdmPlanSource){.options = &options,
                                       .folder = job,
                                       .input = list ? listed : &given,
                                       .count = count,
                                       .former = former},
                      &plan));
    TRY(store_plan(ctx, job, plan, options.overwrite));
    summarise(ctx, plan, out);
done:
    if (st != SDM_OK)
        rmdir(job); /* only when empty */
    return st;
}

/* ---- tile: units of a job folder, as many at a time as the back end takes ---- */

typedef struct Tile {
    SdmTileSummary *out;
    const SdmPlan *plan;
    int64_t count;    /* of the units to do */
    SdmStatus failed; /* the first failure */
    char first[1024];
} Tile;

/* A unit that fails costs itself alone, and is counted here; what ends all is returned. */
static SdmStatus count_unit(SdmContext *ctx, void *user, const SdmFlowUnit *u, SdmStatus st)
{
    Tile *const t = user;
    const SdmPlan *const plan = t->plan;
    if (st == SDM_ERR_USAGE || st == SDM_ERR_STOPPED)
        return st;
    if (st == SDM_OK) {
        t->out->done++;
        t->out->skipped += u->resumed;
        sdm_log(ctx, SDM_LOG_INFO, 0, "unit %lld of %s: %s", (long long)u->unit,
                plan->scene[sdm_plan_scene_of(plan, u->unit)].name, u->resumed ? "was done already" : "done");
        sdm_log(ctx, SDM_LOG_VERBOSE, 0, "unit %lld took %.1f s", (long long)u->unit, u->seconds);
        return SDM_OK;
    }
    if (t->count > 1)
        sdm_log(ctx, SDM_LOG_WARNING, 0, "unit %lld: %s", (long long)u->unit, sdm_error(ctx));
    if (t->out->failed++ == 0) {
        t->failed = st;
        snprintf(t->first, sizeof t->first, "%s", sdm_error(ctx));
    }
    return SDM_OK;
}

SdmStatus sdm_tile(SdmContext *ctx, const char *folder, const int64_t *unit, int64_t first, int64_t count,
                   double wait_s, SdmTileSummary *out)
{
    SDM_CLOSED_BY(sdm_job_close) SdmJob job = {0};
    SDM_CLOSED_BY(sdm_flow_close) SdmFlow *flow = NULL;
    SdmDevicePool *none = NULL;
    *out = (SdmTileSummary){0};
    PASS(sdm_job_open(ctx, folder, sdm_options(ctx), &job));
    Tile t = {.out = out, .plan = job.plan, .count = count};
    const SdmFlowRequest request = {.job = &job,
                                    .has_store = true,
                                    .is_shared = true,
                                    .wait_s = wait_s,
                                    .unit = unit,
                                    .first = first,
                                    .count = count,
                                    .word = "unit",
                                    .share = 1.0,
                                    .ended = count_unit,
                                    .user = &t};
    PASS(sdm_flow_open(ctx, &request, &none, &flow));
    PASS(sdm_flow_run(ctx, flow));
    if (out->failed > 1)
        return sdm_fail(ctx, t.failed, "%lld of %lld units failed, the first because of this: %.800s",
                        (long long)out->failed, (long long)(out->done + out->failed), t.first);
    if (out->failed)
        return sdm_fail(ctx, t.failed, "%s", t.first);
    if (sdm_options(ctx)->strict && *sdm_flow_doubt(flow))
        return sdm_fail(ctx, SDM_ERR_DATA, "--strict: the units are done, but doubtful: %s",
                        sdm_flow_doubt(flow));
    return SDM_OK;
}

/* ---- the files of a job folder -> done, failed and missing units of each scene; changes nothing ---- */

static void look_at_unit(const SdmJob *job, const SdmPlanScene *s, int64_t unit, SdmJobWork *work,
                         SdmSceneProgress *out)
{
    SdmUnitName name;
    SdmUsage used;
    bool is_final;
    const double expected = sdm_plan_unit_s(s, unit);
    if (sdm_job_unit_of(NULL, job, s, unit, &name) == SDM_OK && sdm_unit_peek(&name, &used)) {
        out->done++;
        work->done_cpu_s += sdm_usage_stages_s(&used);
        work->done_expected_s += expected;
        return;
    }
    work->left_expected_s += expected;
    if (sdm_job_read_failure(job, s, unit, out->error, sizeof out->error, &is_final)) {
        out->is_permanent = is_final && (out->is_permanent || out->failed == 0);
        out->failed++;
        out->error_unit = unit;
        out->is_unprepared = out->is_unprepared || (is_final && s->tiled && unit == s->first_unit);
    } else {
        out->missing++;
    }
}

void sdm_job_progress_scene(const SdmJob *job, int i, SdmJobWork *work, SdmSceneProgress *out)
{
    *out = (SdmSceneProgress){.number = i, .error_unit = -1};
    const SdmPlanScene *const s = &job->plan->scene[i];
    snprintf(out->name, sizeof out->name, "%s", s->name);
    out->first_unit = s->first_unit;
    out->units = s->unit_count;
    if (s->error) {
        out->state = "not planned";
        out->is_permanent = true;
        snprintf(out->error, sizeof out->error, "%s", s->error);
        return;
    }
    if (sdm_job_is_merged(job, s)) {
        out->state = "merged";
        out->done = out->units;
        return;
    }
    for (int64_t unit = s->first_unit; unit < s->first_unit + s->unit_count; unit++)
        look_at_unit(job, s, unit, work, out);
    if (out->error_unit < 0)
        (void)sdm_job_read_failure(job, s, -1, out->error, sizeof out->error, &out->is_permanent);
    out->is_permanent = (out->is_permanent && !out->missing) || out->is_unprepared;
    out->state = out->done == out->units ? (*out->error ? "merge failed" : "ready to merge")
                 : out->failed           ? "failed"
                 : out->done             ? "begun"
                                         : "not begun";
}

/* Expected seconds, put right by what the units done took. */
double sdm_job_work_left_s(const SdmJobWork *work)
{
    const double ratio = work->done_expected_s > 0.0 && work->done_cpu_s > 0.0
                             ? work->done_cpu_s / work->done_expected_s
                             : 1.0;
    return work->left_expected_s * ratio;
}
