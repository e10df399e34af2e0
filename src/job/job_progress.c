/* The files of a job folder -> done, failed and missing units of each scene.  Changes nothing. */
// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"
#include "job/job_commands.h"

struct SdmJobProgress {
    SdmJob job;
    double done_cpu_s, done_expected_s, left_expected_s;
};

SdmStatus sdm_job_progress_open(SdmContext *ctx, const char *folder, SdmJobProgress **out)
{
    SDM_CLOSED_BY(sdm_job_progress_close) SdmJobProgress *r = NULL;
    *out = NULL;
    PASS(sdm_alloc(ctx, &r, 1, sizeof *r, "the progress of the job"));
    PASS(sdm_job_open(ctx, folder, sdm_options(ctx), &r->job));
    *out = r;
    r = NULL;
    return SDM_OK;
}

void sdm_job_progress_close(SdmJobProgress **out)
{
    SdmJobProgress *const r = out ? *out : NULL;
    if (!r)
        return;
    sdm_job_close(&r->job);
    sdm_free(out);
}

int sdm_job_progress_scenes(const SdmJobProgress *r)
{
    return r->job.plan->count;
}

static void look_at_unit(SdmJobProgress *r, const SdmPlanScene *s, int64_t unit, SdmSceneProgress *out)
{
    SdmUnitName name;
    SdmUsage used;
    bool is_final;
    const double expected = sdm_plan_unit_s(s, unit);
    if (sdm_job_unit_of(NULL, &r->job, s, unit, &name) == SDM_OK && sdm_unit_peek(&name, &used)) {
        out->done++;
        r->done_cpu_s += sdm_usage_stages_s(&used);
        r->done_expected_s += expected;
        return;
    }
    r->left_expected_s += expected;
    if (sdm_job_read_failure(&r->job, s, unit, out->error, sizeof out->error, &is_final)) {
        out->is_permanent = is_final && (out->is_permanent || out->failed == 0);
        out->failed++;
        out->error_unit = unit;
        out->is_unprepared = out->is_unprepared || (is_final && s->tiled && unit == s->first_unit);
    } else {
        out->missing++;
    }
}

SdmStatus sdm_job_progress_scene(SdmContext *ctx, SdmJobProgress *r, int i, SdmSceneProgress *out)
{
    *out = (SdmSceneProgress){.number = i, .error_unit = -1};
    if (i < 0 || i >= r->job.plan->count)
        return sdm_fail(ctx, SDM_ERR_USAGE, "scene %d does not exist; %s has %d scenes", i, r->job.folder,
                        r->job.plan->count);
    const SdmPlanScene *const s = &r->job.plan->scene[i];
    snprintf(out->name, sizeof out->name, "%s", s->name);
    out->first_unit = s->first_unit;
    out->units = s->unit_count;
    if (s->error) {
        out->state = "not planned";
        out->is_permanent = true;
        snprintf(out->error, sizeof out->error, "%s", s->error);
        return SDM_OK;
    }
    if (sdm_job_is_merged(&r->job, s)) {
        out->state = "merged";
        out->done = out->units;
        return SDM_OK;
    }
    for (int64_t unit = s->first_unit; unit < s->first_unit + s->unit_count; unit++)
        look_at_unit(r, s, unit, out);
    if (out->error_unit < 0)
        (void)sdm_job_read_failure(&r->job, s, -1, out->error, sizeof out->error, &out->is_permanent);
    out->is_permanent = (out->is_permanent && !out->missing) || out->is_unprepared;
    out->state = out->done == out->units ? (*out->error ? "merge failed" : "ready to merge")
                 : out->failed           ? "failed"
                 : out->done             ? "begun"
                                         : "not begun";
    return SDM_OK;
}

/* Expected seconds, put right by what the units done took. */
double sdm_job_progress_work_s(const SdmJobProgress *r)
{
    const double ratio =
        r->done_expected_s > 0.0 && r->done_cpu_s > 0.0 ? r->done_cpu_s / r->done_expected_s : 1.0;
    return r->left_expected_s * ratio;
}
