/* The command tile: units of a job folder, as many at a time as the back end takes. */
// SPDX-License-Identifier: Apache-2.0
#include "job/flow.h"
#include "job/job_commands.h"

typedef struct Tile {
    const SdmTileRequest *q;
    SdmTileSummary *out;
    const SdmPlan *plan;
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
    SDM_CLOSED_BY(sdm_job_close) SdmJob job = {0};
    SDM_CLOSED_BY(sdm_flow_close) SdmFlow *flow = NULL;
    SdmDevicePool *none = NULL;
    *out = (SdmTileSummary){0};
    PASS(sdm_job_open(ctx, q->job, sdm_options(ctx), &job));
    Tile t = {.q = q, .out = out, .plan = job.plan};
    const SdmFlowRequest request = {.job = &job,
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
