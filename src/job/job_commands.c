/* The commands plan and tile, and the progress of a job for status. */
// SPDX-License-Identifier: Apache-2.0
#include "job/job_commands.h"
#include "job/flow.h"
#include "job/job.h"
#include "scene/reference_fit.h"

#include <string.h>
#include <unistd.h>

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
    TRY(sdm_plan_make(ctx, &options, job,
                      &(SdmPlanSource){.input = list ? listed : &given, .count = count, .former = former},
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
