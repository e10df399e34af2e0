/* The command plan: scenes -> a job folder with its plan.json. */
// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"
#include "job/job_commands.h"
#include "scene/reference_fit.h"

#include <string.h>
#include <unistd.h>

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

SdmStatus sdm_plan(SdmContext *ctx, const SdmPlanRequest *q, SdmPlanSummary *out)
{
    SdmStatus st = SDM_OK;
    const SdmOptions options = *sdm_options(ctx);
    SDM_OWNED SdmPlanInput *input = NULL;
    SDM_CLOSED_BY(sdm_plan_close) SdmPlan *plan = NULL, *former = NULL;
    int count = 1;
    if (!q->job || !*q->job)
        return sdm_fail(ctx, SDM_ERR_USAGE, "no job folder; give -o JOB");
    if ((q->list != NULL) == (q->left != NULL))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "found %s, expected a scene, a left and a right image, or --list FILE",
                        q->list ? "both scenes and --list" : "no scene");
    TRY(q->list ? sdm_plan_list(ctx, q->list, &input, &count)
                : sdm_plan_single(ctx, q->left, q->right, &input));
    TRY(sdm_reference_check(ctx, &options));
    TRY(sdm_file_make_folder(ctx, q->job));
    (void)sdm_plan_read(NULL, q->job, &former); /* none, or of no use */
    TRY(sdm_plan_make(ctx, &options, q->job,
                      &(SdmPlanSource){.input = input, .count = count, .former = former}, &plan));
    TRY(store_plan(ctx, q->job, plan, options.overwrite));
    summarise(ctx, plan, out);
done:
    if (st != SDM_OK)
        rmdir(q->job); /* only when empty */
    return st;
}
