/* Every option, declared once. */
// SPDX-License-Identifier: Apache-2.0
#include "core/options.h"

#include <math.h>

void sdm_options_default(SdmOptions *opt)
{
    *opt = (SdmOptions){
        .size = sizeof *opt,
        .cost = "zncc",
        .optimizer = "local",
        .device = "auto",
        .cpu_level = "auto",
        .memory_bytes = INT64_C(2) << 30,
        .hmin_m = NAN,
        .hmax_m = NAN,
        .dem_vertical = "auto",
        .base_height = NAN,
        .log = "text",
    };
}

SdmStatus sdm_options_check(SdmContext *ctx, const SdmOptions *opt)
{
    if (opt->size != sizeof *opt)
        return sdm_fail(ctx, SDM_ERR_USAGE, "options were not filled by sdm_options_default()");
    return SDM_OK;
}
