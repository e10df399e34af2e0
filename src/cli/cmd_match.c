/* stereodem match: disparities of rectified pairs. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include "kernels.h"

#include <string.h>

static bool has_energy(const SdmCall *call) { return strcmp(call->options.optimizer, "bp") == 0; }

static void print_text(SdmCall *call, const SdmDisparityResult *r)
{
    SdmScreen *const screen = &call->screen;
    const double share = 100.0 / (double)(r->pixels ? r->pixels : 1);
    const double match_s = r->shrink_s + r->engine_s + r->filter_s;
    sdm_screen_print(
        screen, "%s: %d x %d px%s, %.1f %% matched, %.1f %% with a disparity; matching %.4g s, in all %.4g s",
        call->own.match.output, r->width, r->height, r->frames > 1 ? " a frame" : "",
        share * (double)r->matched,
        share * (double)r->valid, match_s, sdm_now_s() - screen->started_s);
    if (has_energy(call))
        sdm_screen_print(screen, "energy %lld: costs %lld, steps %lld",
                         (long long)(r->energy[0] + r->energy[1]), (long long)r->energy[0],
                         (long long)r->energy[1]);
}

static void add_json(SdmCall *call, const SdmDisparityResult *r)
{
    cJSON *const to = call->summary;
    const double pixels = (double)(r->pixels ? r->pixels : 1);
    cJSON_AddStringToObject(to, "output", call->own.match.output);
    cJSON_AddNumberToObject(to, "frames", r->frames);
    cJSON_AddNumberToObject(to, "width", r->width);
    cJSON_AddNumberToObject(to, "height", r->height);
    cJSON_AddNumberToObject(to, "matched", (double)r->matched / pixels);
    cJSON_AddNumberToObject(to, "valid", (double)r->valid / pixels);
    if (has_energy(call)) {
        cJSON_AddNumberToObject(to, "energy_data", (double)r->energy[0]);
        cJSON_AddNumberToObject(to, "energy_smoothness", (double)r->energy[1]);
        cJSON_AddNumberToObject(to, "energy", (double)(r->energy[0] + r->energy[1]));
    }
    cJSON_AddStringToObject(to, "cpu_level", sdm_kernels_name(call->options.cpu_level));
    cJSON_AddNumberToObject(to, "threads", sdm_threads(call->ctx));
    cJSON_AddNumberToObject(to, "buffer_bytes_peak", (double)sdm_memory_peak(call->ctx));
    cJSON_AddNumberToObject(to, "read_s", r->read_s);
    cJSON_AddNumberToObject(to, "shrink_s", r->shrink_s);
    cJSON_AddNumberToObject(to, "engine_s", r->engine_s);
    cJSON_AddNumberToObject(to, "filter_s", r->filter_s);
    cJSON_AddNumberToObject(to, "write_s", r->write_s);
    cJSON_AddNumberToObject(to, "match_s", r->shrink_s + r->engine_s + r->filter_s);
    cJSON_AddNumberToObject(to, "total_s", sdm_now_s() - call->screen.started_s);
}

SdmStatus sdm_command_match(SdmCall *call)
{
    SdmStatus st = SDM_OK;
    SdmDisparityResult result;
    TRY(sdm_disparity_run(call->ctx, call->line.positional[0], call->line.positional[1], &call->options,
                          &call->own.match, &result));
    print_text(call, &result);
    if (call->summary)
        add_json(call, &result);
done:
    return st;
}
