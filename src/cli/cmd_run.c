/* stereodem run: scene -> DEM and companions, in one process. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

SdmStatus sdm_command_run(SdmCall *call)
{
    SdmStatus st = SDM_OK;
    const char *const output = call->options.output;
    if (!output)
        return sdm_fail(call->ctx, SDM_ERR_USAGE, "-o is missing: give the DEM to write, such as -o dem.tif");
    TRY(sdm_run_scene(call->ctx, call->line.positional[0], call->line.count > 1 ? call->line.positional[1] : NULL));
    const double seconds = sdm_now_s() - call->screen.started_s;
    const double peak_mib = (double)sdm_memory_peak(call->ctx) / (1024.0 * 1024.0);
    sdm_screen_print(&call->screen, "%s: done in %.1f s, %.0f MiB of buffers at most", output, seconds,
                     peak_mib);
    if (call->summary)
        sdm_result_run(call->ctx, output, call->summary);
done:
    return st;
}
