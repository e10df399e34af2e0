/* Clocks of the system -> what the process has used. */
// SPDX-License-Identifier: Apache-2.0
#include "core/usage.h"
#include "core/context.h"

#include <sys/resource.h>

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

void sdm_usage_now(const SdmContext *ctx, SdmUsage *out)
{
    struct rusage used = {.ru_maxrss = 0};
    (void)getrusage(RUSAGE_SELF, &used);
    *out = (SdmUsage){.wall_s = sdm_now_s() - ctx->started_s,
                      .user_s = seconds(used.ru_utime),
                      .system_s = seconds(used.ru_stime)};
    for (int i = 1; i < SDM_USAGE_STAGES; i++)
        out->stage_s[i] = sdm_stage_time(ctx, i) - ctx->stage_added_s[i];
}

void sdm_usage_add(const SdmContext *ctx, SdmUsage *mark, SdmUsage *to)
{
    SdmUsage now;
    sdm_usage_now(ctx, &now);
    to->wall_s += now.wall_s - mark->wall_s;
    to->user_s += now.user_s - mark->user_s;
    to->system_s += now.system_s - mark->system_s;
    for (int i = 0; i < SDM_USAGE_STAGES; i++)
        to->stage_s[i] += now.stage_s[i] - mark->stage_s[i];
    *mark = now;
}
