/* stereodem-lab simulate: a stereo pair with exact cameras over known terrain. */
// SPDX-License-Identifier: Apache-2.0
#include "program/lab.h"
#include "simulate/simulate.h"

SdmStatus sdm_command_simulate(SdmCall *call)
{
    SdmStatus st = SDM_OK;
    const SdmSimulateOptions *const opt = call->line.sets[1].opts;
    const char *const output = opt->output;
    if (!output)
        return sdm_fail(call->ctx, SDM_ERR_USAGE, "-o is missing: give the folder to make, such as -o scene");
    TRY(sdm_simulate(call->ctx, opt));
    sdm_screen_print(&call->screen, "%s: done in %.1f s", output, sdm_now_s() - call->screen.started_s);
    if (call->summary)
        cJSON_AddStringToObject(call->summary, "output", output);
done:
    return st;
}
