/* The resources that the process has used so far: wall and processor time, time of each stage, memory. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

enum { SDM_USAGE_STAGES = 10 };

/* Times in seconds. */
typedef struct SdmUsage {
    double wall_s, user_s, system_s;
    double stage_s[SDM_USAGE_STAGES]; /* wall, of this process: sdm_stage_time() less what sdm_stage_add()
                                         added; 0: not used */
    double peak_bytes;                /* resident, since sdm_memory_resident_restart() */
    double ended_s;                   /* since 1970, by this machine's clock */
    char host[64];                    /* this machine */
} SdmUsage;

/* Since the context was opened; processor time, of all threads, since the process began. */
void sdm_usage_now(const SdmContext *ctx, SdmUsage *out);
/* Add the use since *mark to *to, and set the mark to now. */
void sdm_usage_add(const SdmContext *ctx, SdmUsage *mark, SdmUsage *to);
/* Wall time of the stages. */
double sdm_usage_stages_s(const SdmUsage *usage);
