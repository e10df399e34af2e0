/* The files of a job folder -> done, failed and missing units of each scene.  Changes nothing. */
// SPDX-License-Identifier: Apache-2.0
#include "job/job_commands.h"

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
