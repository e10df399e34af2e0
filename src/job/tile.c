/* The command tile: units of a job folder, as many at a time as the worker takes. */
// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"

#include <string.h>

typedef struct Tiling {
    const SdmTileRequest *q;
    SdmTileSummary *out;
    SdmStatus failed; /* the first failure */
    char first[1024];
} Tiling;

/* A unit that fails costs itself alone, and is counted here; what ends all is returned. */
static SdmStatus count_unit(SdmContext *ctx, Tiling *t, int64_t unit, SdmStatus st)
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

static SdmStatus end_tile_unit(SdmContext *ctx, SdmJob *job, Tiling *t)
{
    SdmJobDone done;
    const SdmStatus st = sdm_job_end(ctx, job, &done);
    if (st != SDM_OK)
        return count_unit(ctx, t, done.unit, st);
    t->out->done++;
    sdm_log(ctx, SDM_LOG_INFO, 0, "unit %lld of %s: %s", (long long)done.unit, job->scene.name,
            done.resumed ? "was done already" : "done");
    sdm_log(ctx, SDM_LOG_VERBOSE, 0, "unit %lld took %.1f s", (long long)done.unit, done.seconds);
    return SDM_OK;
}

SdmStatus sdm_tile(SdmContext *ctx, const SdmTileRequest *q, SdmTileSummary *out)
{
    SdmStatus st = SDM_OK;
    SdmJob job;
    Tiling t = {.q = q, .out = out};
    *out = (SdmTileSummary){0};
    TRY(sdm_job_open(ctx, q->job, &job));
    job.wait_s = q->wait_s;
    job.expected = q->count;
    for (int64_t i = 0; i < q->count; i++) {
        const int64_t unit = q->unit ? q->unit[i] : q->first + i;
        if (i > 0 && unit >= job.plan->units && !q->unit)
            break; /* the last task has fewer */
        while (sdm_job_is_full(&job, unit))
            TRY(end_tile_unit(ctx, &job, &t));
        TRY(count_unit(ctx, &t, unit, sdm_job_begin(ctx, &job, unit)));
    }
    while (sdm_job_flights(&job) > 0)
        TRY(end_tile_unit(ctx, &job, &t));
    st = t.failed;
    if (out->failed > 1)
        st = sdm_fail(ctx, st, "%lld of %lld units failed, the first because of this: %.800s",
                      (long long)out->failed, (long long)(out->done + out->failed), t.first);
    else if (out->failed)
        st = sdm_fail(ctx, st, "%s", t.first);
done:
    st = st == SDM_OK ? st : sdm_job_save_others(ctx, &job, st);
    out->skipped = job.resumed;
    sdm_job_close(ctx, &job);
    return st;
}
