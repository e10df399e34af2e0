/* stereodem match: disparities of rectified pairs. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include <string.h>

static bool has_energy(const SdmCall *call)
{
    return strcmp(call->options.optimizer, "bp") == 0;
}

static void print_text(SdmCall *call, const SdmDisparityResult *r)
{
    SdmScreen *const screen = &call->screen;
    const double share = 100.0 / (double)(r->pixels ? r->pixels : 1);
    const double match_s = r->shrink_s + r->engine_s + r->filter_s;
    sdm_screen_print(
        screen, "%s: %d x %d px%s, %.1f %% matched, %.1f %% with a disparity; matching %.4g s, in all %.4g s",
        call->own.match.output, r->width, r->height, r->frames > 1 ? " a frame" : "",
        share * (double)r->matched, share * (double)r->valid, match_s, sdm_now_s() - screen->started_s);
    if (has_energy(call))
        sdm_screen_print(screen, "energy %lld: costs %lld, steps %lld",
                         (long long)(r->energy[0] + r->energy[1]), (long long)r->energy[0],
                         (long long)r->energy[1]);
}

SdmStatus sdm_command_match(SdmCall *call)
{
    SdmDisparityResult result;
    PASS(sdm_disparity_run(call->ctx, call->line.positional[0], call->line.positional[1], &call->options,
                           &call->own.match, &result));
    print_text(call, &result);
    if (call->summary) {
        sdm_result_match(call->ctx, &call->options, call->own.match.output, &result, call->summary);
        cJSON_AddNumberToObject(call->summary, "total_s", sdm_now_s() - call->screen.started_s);
    }
    return SDM_OK;
}
