/* The command run: a scene -> its products, in one process that can be stopped and taken up. */
// SPDX-License-Identifier: Apache-2.0
#include "core/lease.h"
#include "job/unit_queue.h"
#include "scene/reference_fit.h"

#include <string.h>

typedef struct Run {
    double started_s;
    SdmOptions options; /* the caller's, with the device that was chosen */
    SdmLease *lease;    /* of the output */
    char folder[SDM_PATH_SIZE]; /* of the job; "" before it is made */
    SdmJob job;
    SdmUnits *units;
    bool no_dem; /* the blocks make no DEM: not worth keeping */
} Run;

/* Share of the run's time when the products are left to be written. */
#define UNITS_DONE 0.87

/* Share of the run's time when unit i is done, of a scene in tiles; before: when it begins.  The first unit
 * is the preparation; then the cells of each tile are known, of which those at the rim may have none. */
static double share_done(const Run *r, int64_t i, double before)
{
    const SdmPlanScene *const s = &r->job.plan->scene[0];
    int64_t left = 0;
    if (!s->tiled)
        return UNITS_DONE;
    if (i == 0)
        return UNITS_DONE * sdm_plan_prepared_share(s, s->tile_count);
    for (int64_t k = i; k < s->unit_count; k++)
        left += sdm_units_cells(r->units, k);
    const int64_t own = sdm_units_cells(r->units, i);
    return left > 0 ? before + (UNITS_DONE - before) * (double)own / (double)left : before;
}

/* Job and plan name the device that auto has found; until then the processor, as every plan of auto does. */
static SdmStatus plan_device(SdmContext *ctx, Run *r)
{
    const char *const name = sdm_units_device(r->units);
    if (strcmp(name, "auto") == 0 || strcmp(name, r->job.options.device) == 0)
        return SDM_OK;
    r->job.options.device = r->job.plan->options.device = name;
    return sdm_plan_write(ctx, r->folder, r->job.plan);
}

static SdmStatus do_units(SdmContext *ctx, Run *r)
{
    SdmStatus st = SDM_OK;
    const int64_t n = r->job.plan->units;
    double share = 0.0;
    char what[64];
    SdmUnitDone done;
    for (int64_t i = 0; i < n; i++) {
        snprintf(what, sizeof what, "unit %lld of %lld", (long long)(i + 1), (long long)n);
        while (sdm_units_is_full(r->units, i))
            TRY(sdm_units_end(ctx, r->units, &done));
        const double begun = share;
        share = share_done(r, i, begun);
        const SdmProgressPart around = sdm_progress_enter(ctx, begun, share);
        if (i > 0)
            sdm_progress(ctx, 5, 0.0, what);
        st = sdm_units_begin(ctx, r->units, i);
        sdm_progress_leave(ctx, around);
        TRY(st);
        TRY(plan_device(ctx, r));
        if (sdm_units_resumed(r->units) == 1 && i == 0)
            sdm_log(ctx, SDM_LOG_INFO, 2, "going on from %s", r->folder);
    }
    while (sdm_units_in_work(r->units) > 0)
        TRY(sdm_units_end(ctx, r->units, &done));
    TRY(sdm_units_finish(ctx, r->units));
    TRY(plan_device(ctx, r));
done:
    return st == SDM_OK ? st : sdm_units_end_others(ctx, r->units, st);
}

/* The products are there: remove what they were made from, then let the output go. */
static SdmStatus leave(SdmContext *ctx, Run *r)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_lease_check(ctx, r->lease));
    if (!r->options.keep_job)
        sdm_job_remove(r->folder);
    sdm_lease_release(&r->lease);
done:
    return st;
}

static SdmStatus build(SdmContext *ctx, Run *r)
{
    SdmStatus st = SDM_OK;
    SdmProduct *product = NULL;
    SdmBuildInput in;
    TRY(sdm_units_result(ctx, r->units, 0, &in));
    in.started_s = r->started_s;
    in.lease = r->lease;
    const SdmProgressPart around = sdm_progress_enter(ctx, UNITS_DONE, 1.0);
    st = sdm_build_products(ctx, &in, &r->job.options, &product, &r->no_dem);
    sdm_progress_leave(ctx, around);
    TRY(st);
    TRY(leave(ctx, r));
done:
    sdm_product_close(&product); /* after the job is gone: see sdm_build_products() */
    return st;
}

/* Compute and build what the plan says. */
static SdmStatus run_job(SdmContext *ctx, Run *r, SdmDevicePool **queue)
{
    SdmStatus st = SDM_OK;
    const SdmPlanScene *const scene = &r->job.plan->scene[0];
    const SdmUnitsRequest request = {.job = &r->job,
                                     .output = r->lease,
                                     .keep_last = !r->options.keep_job,
                                     .expected = r->job.plan->units};
    if (sdm_product_finished(ctx, r->options.output,
                             scene->product_fingerprint)) { /* stopped when only tidying was left */
        TRY(leave(ctx, r));
        sdm_product_tidy(ctx, r->options.output, scene->product_fingerprint);
        sdm_log(ctx, SDM_LOG_INFO, 9, "%s was finished already", r->options.output);
        return SDM_OK;
    }
    TRY(sdm_build_check_output(ctx, &r->job, scene, &r->job.options));
    TRY(sdm_plan_write(ctx, r->folder, r->job.plan));
    sdm_device_pool_log(ctx, *queue);
    TRY(sdm_units_open(ctx, &request, queue, &r->units));
    TRY(do_units(ctx, r));
    TRY(build(ctx, r));
done:
    return st;
}

/* What is there for the next call to go on from. */
static SdmStatus tell_stopped(SdmContext *ctx, const char *folder)
{
    int64_t blocks = 0, prepared = 0;
    if (*folder)
        sdm_job_count(folder, &blocks, &prepared);
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
    if (sdm_lease_check(NULL, r->lease) != SDM_OK) /* the reason for whatever failed; the folder is another
                                                    * run's */
        return sdm_lease_check(ctx, r->lease);
    if (r->units && !r->no_dem)
        sdm_units_store_last(r->units);
    if (st == SDM_ERR_STOPPED)
        (void)tell_stopped(ctx, r->folder);
    if (!*r->folder)
        return st;
    sdm_job_count(r->folder, &blocks, &prepared);
    if (r->no_dem || blocks + prepared == 0)
        sdm_job_remove(r->folder);
    return st;
}

/* Choose the device that the whole run takes, as the plan will say; take the output; plan. */
static SdmStatus prepare_run(SdmContext *ctx, Run *r, const SdmPlanInput *input, SdmDevicePool **queue)
{
    SdmStatus st = SDM_OK;
    SdmPlan *plan = NULL;
    char folder[SDM_PATH_SIZE];
    TRY(sdm_device_pool_open(ctx, r->options.device, queue));
    r->options.device = sdm_device_pool_name(*queue);
    TRY(sdm_lease_take_output(ctx, r->options.output, &r->lease));
    TRY(sdm_format(ctx, folder, sizeof folder, "%s.job", r->options.output));
    TRY(sdm_file_make_folder(ctx, folder));
    memcpy(r->folder, folder, sizeof folder);
    sdm_crash_leftover(ctx, sdm_lease_path(r->lease), r->folder);
    TRY(sdm_plan_make(ctx, &r->options, r->folder, input, 1, NULL, &plan));
    TRY(sdm_job_start(ctx, r->folder, &r->options, &plan, &r->job));
done:
    sdm_plan_close(&plan);
    return st;
}

SdmStatus sdm_run_scene(SdmContext *ctx, const char *left, const char *right)
{
    SdmStatus st = SDM_OK;
    const SdmOptions caller = *sdm_options(ctx);
    Run r = {.started_s = sdm_now_s(), .options = caller};
    SdmPlanInput *input = NULL;
    SdmDevicePool *queue = NULL;
    if (!caller.output)
        return sdm_fail(ctx, SDM_ERR_USAGE, "no output; give -o DEM.tif");
    if (!left || !*left || (right && !*right))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "no input; give an ASTER level 1A scene, or the left and right image of a pair");
    TRY(sdm_product_check(ctx, &caller, NULL, 0));
    TRY(sdm_reference_check(ctx, &caller));
    TRY(sdm_plan_single(ctx, left, right, &input));
    TRY(prepare_run(ctx, &r, input, &queue));
    TRY(run_job(ctx, &r, &queue));
    sdm_progress(ctx, 9, 1.0, "done");
done:
    if (st != SDM_OK)
        st = leave_failed(ctx, &r, st);
    sdm_crash_leftover(ctx, NULL, NULL);
    sdm_lease_release(&r.lease);
    sdm_units_close(&r.units);
    sdm_job_close(&r.job);
    sdm_device_pool_close(&queue);
    sdm_free(&input);
    return st;
}
