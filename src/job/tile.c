/* The command tile: units of a job folder, as many at a time as the back end takes. */
// SPDX-License-Identifier: Apache-2.0
#include "job/flow.h"
#include "job/job_commands.h"

typedef struct Tile {
    const SdmTileRequest *q;
    SdmTileSummary *out;
    SdmJob job;
    SdmStatus failed; /* the first failure */
    char first[1024];
} Tile;

/* A unit that fails costs itself alone, and is counted here; what ends all is returned. */
static SdmStatus count_unit(SdmContext *ctx, void *user, const SdmFlowUnit *u, SdmStatus st)
{
    Tile *const t = user;
    const SdmPlan *const plan = t->job.plan;
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
    if (t->q->count > 1)
        sdm_log(ctx, SDM_LOG_WARNING, 0, "unit %lld: %s", (long long)u->unit, sdm_error(ctx));
    if (t->out->failed++ == 0) {
        t->failed = st;
        snprintf(t->first, sizeof t->first, "%s", sdm_error(ctx));
    }
    return SDM_OK;
}

SdmStatus sdm_tile(SdmContext *ctx, const SdmTileRequest *q, SdmTileSummary *out)
{
    SdmStatus st = SDM_OK;
    Tile t = {.q = q, .out = out};
    SdmFlow *flow = NULL;
    SdmDevicePool *none = NULL;
    *out = (SdmTileSummary){0};
    TRY(sdm_job_open(ctx, q->job, sdm_options(ctx), &t.job));
    const SdmFlowRequest request = {.job = &t.job,
                                    .has_store = true,
                                    .is_shared = true,
                                    .wait_s = q->wait_s,
                                    .unit = q->unit,
                                    .first = q->first,
                                    .count = q->count,
                                    .word = "unit",
                                    .share = 1.0,
                                    .ended = count_unit,
                                    .user = &t};
    TRY(sdm_flow_open(ctx, &request, &none, &flow));
    TRY(sdm_flow_run(ctx, flow));
    st = t.failed;
    if (out->failed > 1)
        st = sdm_fail(ctx, st, "%lld of %lld units failed, the first because of this: %.800s",
                      (long long)out->failed, (long long)(out->done + out->failed), t.first);
    else if (out->failed)
        st = sdm_fail(ctx, st, "%s", t.first);
    else if (sdm_options(ctx)->strict && *sdm_flow_doubt(flow))
        st = sdm_fail(ctx, SDM_ERR_DATA, "--strict: the units are done, but doubtful: %s",
                      sdm_flow_doubt(flow));
done:
    sdm_flow_close(&flow);
    sdm_job_close(&t.job);
    return st;
}
