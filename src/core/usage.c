/* Clocks of the system -> time and memory of the process. */
// SPDX-License-Identifier: Apache-2.0
#include "core/usage.h"
#include "core/context.h"
#include "core/system.h"

#include <string.h>
#include <time.h>

void sdm_usage_now(const SdmContext *ctx, SdmUsage *out)
{
    *out = (SdmUsage){.wall_s = sdm_now_s() - ctx->started_s,
                      .peak_bytes = (double)sdm_memory_resident_since(ctx),
                      .ended_s = (double)time(NULL)};
    sdm_system_times(&out->user_s, &out->system_s);
    sdm_system_host(out->host, sizeof out->host);
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
    to->peak_bytes = now.peak_bytes;
    to->ended_s = now.ended_s;
    memcpy(to->host, now.host, sizeof to->host);
    *mark = now;
}

double sdm_usage_stages_s(const SdmUsage *usage)
{
    double sum = 0.0;
    for (int i = 0; i < SDM_USAGE_STAGES; i++)
        sum += usage->stage_s[i];
    return sum;
}
