/* Wall time of each stage of the chain. */
// SPDX-License-Identifier: Apache-2.0
#include "core/context.h"

#include <time.h>

const char *const sdm_stage_names[10] = {"",      "read",   "point",       "frame", "pyramid",
                                         "match", "filter", "interpolate", "grid",  "write"};

double sdm_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void sdm_time_now(char out[24])
{
    const time_t now = time(NULL);
    struct tm tm;
    *out = '\0';
    if (gmtime_r(&now, &tm))
        strftime(out, 24, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

void sdm_stage_leave(SdmContext *ctx, int around)
{
    if (!ctx || around < 0 || around >= SDM_STAGES)
        return;
    const double now = sdm_now_s();
    ctx->stage_s[ctx->stage] += ctx->stage_since_s > 0.0 ? now - ctx->stage_since_s : 0.0;
    ctx->stage = around;
    ctx->stage_since_s = now;
}

void sdm_stage_close(const SdmStage *stage)
{
    sdm_stage_leave(stage->ctx, stage->around);
}

int sdm_stage_enter(SdmContext *ctx, int stage)
{
    enum { POINT = 2 };
    const int around = ctx ? ctx->stage : 0;
    sdm_stage_leave(ctx, around == POINT ? POINT : stage);
    return around;
}

void sdm_stage_add(SdmContext *ctx, int stage, double seconds)
{
    if (stage <= 0 || stage >= SDM_STAGES)
        return;
    ctx->stage_s[stage] += seconds;
    ctx->stage_added_s[stage] += seconds;
}

double sdm_stage_time(const SdmContext *ctx, int stage)
{
    if (stage < 0 || stage >= SDM_STAGES)
        return 0.0;
    return ctx->stage_s[stage] + (stage > 0 && stage == ctx->stage ? sdm_now_s() - ctx->stage_since_s : 0.0);
}
