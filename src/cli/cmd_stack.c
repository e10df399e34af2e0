/* stereodem stack: DEMs of one place -> one DEM. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

SdmStatus sdm_command_stack(SdmCall *call)
{
    SDM_CLOSED_BY(sdm_stack_free) SdmStackResult result = {.dems = NULL};
    const char *const output = call->options.output;
    if (!output)
        return sdm_fail(call->ctx, SDM_ERR_USAGE,
                        "-o is missing: give the DEM to write, such as -o stacked.tif");
    PASS(sdm_stack_dems(call->ctx, &call->options, &call->own.stack, call->line.positional, call->line.count,
                        NULL, &result));
    sdm_screen_print(&call->screen, "%-40s %8s %8s %8s %8s", "moved by, m", "east", "north", "up", "NMAD");
    for (int i = 0; i < result.report.count; i++) {
        const SdmStackedDem *const d = &result.dems[i];
        sdm_screen_print(&call->screen, "%-40s %8.2f %8.2f %8.2f %8.2f", d->path, d->move_m[0], d->move_m[1],
                         d->move_m[2], d->nmad_m);
    }
    sdm_screen_print(
        &call->screen, "%s: %d DEMs on %lld x %lld cells, done in %.1f s, %.0f MiB of memory at most", output,
        result.report.count, (long long)result.grid.cols, (long long)result.grid.rows,
        sdm_now_s() - call->screen.started_s, (double)sdm_memory_resident(call->ctx) / (1024.0 * 1024.0));
    if (call->summary)
        sdm_result_stack(call->ctx, output, &result.report, call->summary);
    return sdm_check_doubts(call->ctx, output, result.doubt, result.report.doubts);
}
