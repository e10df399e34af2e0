/* The command tile: units of a job folder, as many at a time as the back end takes. */
// SPDX-License-Identifier: Apache-2.0
#include "job/unit_queue.h"

typedef struct Tile {
    const SdmTileRequest *q;
    SdmTileSummary *out;
    SdmJob job;
    SdmUnits *units;
    SdmStatus failed; /* the first failure */
    char first[1024];
} Tile;

/* A unit that fails costs itself alone, and is counted here; what ends all is returned. */
static SdmStatus count_unit(SdmContext *ctx, Tile *t, int64_t unit, SdmStatus st)
{
    if (st == SDM_OK || st == SDM_ERR_USAGE || st == SDM_ERR_STOPPED)
        return st;
    if (t->q->count > 1)
        sdm_log(ctx, SDM_LOG_WARNING, 0, "unit %lld: %s", (long long)unit, sdm_error(ctx));
    if (t->out->failed++ == 0) {
        t->failed = st;
        snprintf(t->first, sizeof t->first, "%s", sdm_error(ctx));
    }
    return SDM_OK;
}

static SdmStatus end_unit(SdmContext *ctx, Tile *t)
{
    SdmUnitDone done;
    const SdmPlan *const plan = t->job.plan;
    const SdmStatus st = sdm_units_end(ctx, t->units, &done);
    if (st != SDM_OK)
        return count_unit(ctx, t, done.unit, st);
    t->out->done++;
    sdm_log(ctx, SDM_LOG_INFO, 0, "unit %lld of %s: %s", (long long)done.unit,
            plan->scene[sdm_plan_scene_of(plan, done.unit)].name, done.resumed ? "was done already" : "done");
    sdm_log(ctx, SDM_LOG_VERBOSE, 0, "unit %lld took %.1f s", (long long)done.unit, done.seconds);
    return SDM_OK;
}

static SdmStatus do_units(SdmContext *ctx, Tile *t)
{
    SdmStatus st = SDM_OK;
    const SdmTileRequest *const q = t->q;
    for (int64_t i = 0; i < q->count; i++) {
        const int64_t unit = q->unit ? q->unit[i] : q->first + i;
        if (i > 0 && unit >= t->job.plan->units && !q->unit)
            break; /* the last task has fewer */
        while (sdm_units_is_full(t->units, unit))
            TRY(end_unit(ctx, t));
        TRY(count_unit(ctx, t, unit, sdm_units_begin(ctx, t->units, unit)));
    }
    while (sdm_units_in_work(t->units) > 0)
        TRY(end_unit(ctx, t));
done:
    return st == SDM_OK ? st : sdm_units_end_others(ctx, t->units, st);
}

SdmStatus sdm_tile(SdmContext *ctx, const SdmTileRequest *q, SdmTileSummary *out)
{
    SdmStatus st = SDM_OK;
    Tile t = {.q = q, .out = out};
    SdmDevicePool *none = NULL;
    *out = (SdmTileSummary){0};
    TRY(sdm_job_open(ctx, q->job, sdm_options(ctx), &t.job));
    const SdmUnitsRequest request = {
        .job = &t.job, .is_shared = true, .wait_s = q->wait_s, .expected = q->count};
    TRY(sdm_units_open(ctx, &request, &none, &t.units));
    TRY(do_units(ctx, &t));
    st = t.failed;
    if (out->failed > 1)
        st = sdm_fail(ctx, st, "%lld of %lld units failed, the first because of this: %.800s",
                      (long long)out->failed, (long long)(out->done + out->failed), t.first);
    else if (out->failed)
        st = sdm_fail(ctx, st, "%s", t.first);
    else if (sdm_options(ctx)->strict && *sdm_units_doubt(t.units))
        st = sdm_fail(ctx, SDM_ERR_DATA, "--strict: the units are done, but doubtful: %s",
                      sdm_units_doubt(t.units));
done:
    out->skipped = t.units ? sdm_units_resumed(t.units) : 0;
    sdm_units_close(&t.units);
    sdm_job_close(&t.job);
    return st;
}
