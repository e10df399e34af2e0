/* stereodem run: scene -> DEM and companions, in one process. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"
#include "core/path.h"
#include "job/job_commands.h"
#include "views/run_views.h"

#include <math.h>

/* The companions of the DEM, in lines of their own. */
static void print_files(SdmScreen *screen, const cJSON *result)
{
    char text[1024] = "";
    size_t n = 0;
    const cJSON *file = NULL;
    cJSON_ArrayForEach(file, cJSON_GetObjectItemCaseSensitive(result, "files"))
    {
        const int more =
            snprintf(text + n, sizeof text - n, "%s%s", n ? ", " : "", sdm_path_base(file->valuestring));
        n += more > 0 ? (size_t)more : 0;
        if (n >= sizeof text)
            return;
    }
    sdm_screen_print(screen, "files               %s", text);
}

/* Print the quality of the DEM. */
static void print_result(SdmScreen *screen, const SdmDemResult *r)
{
    sdm_screen_print(screen, "grid                %lld x %lld cells of %.9g", (long long)r->cols,
                     (long long)r->rows, r->spacing);
    sdm_screen_print(screen, "coverage            %.1f %% of the cells seen by %s views", 100.0 * r->coverage,
                     r->pair ? "two" : "both");
    for (int i = 0; i < r->pairs; i++) {
        const SdmPairResult *const p = &r->pair[i];
        sdm_screen_print(screen,
                         "pair                %s: base/height %.2f, weight %.0f %%, coverage %.1f %%, "
                         "moved by %.2f, %.2f, %.2f m",
                         p->names, p->base_height, 100.0 * p->weight, 100.0 * p->coverage, p->apply_m[0],
                         p->apply_m[1], p->apply_m[2]);
    }
    if (isnan(r->pointing_residual_px))
        sdm_screen_print(screen, "pointing residual   none: no correction was estimated");
    else
        sdm_screen_print(screen, "pointing residual   %.3f px (NMAD) of %.0f tie points",
                         r->pointing_residual_px, r->tie_points);
    if (r->doubts == 0)
        sdm_screen_print(screen, "doubts              none");
    for (int i = 0; i < r->doubts; i++)
        sdm_screen_print(screen, "doubts              %s", r->doubt[i].text);
}

SdmStatus sdm_command_run(SdmCall *call)
{
    SDM_CLOSED_BY(sdm_dem_result_free) SdmDemResult found = {.known = false};
    const char *const output = call->options.output;
    if (!output)
        return sdm_fail(call->ctx, SDM_ERR_USAGE, "-o is missing: give the DEM to write, such as -o dem.tif");
    if (call->line.count > 2)
        PASS(sdm_run_several(call->ctx, call->line.positional, call->line.count, NULL, &found));
    else
        PASS(sdm_run_scene(call->ctx, call->line.positional[0],
                           call->line.count > 1 ? call->line.positional[1] : NULL, &found));
    cJSON *const own = call->summary ? NULL : cJSON_CreateObject(), *const result = own ? own : call->summary;
    sdm_result_run(call->ctx, output, &found, result);
    sdm_screen_print(&call->screen, "%s: done in %.1f s, %.0f MiB of memory at most", output,
                     sdm_now_s() - call->screen.started_s,
                     (double)sdm_memory_resident(call->ctx) / (1024.0 * 1024.0));
    if (found.known) {
        print_result(&call->screen, &found);
        print_files(&call->screen, result);
    }
    cJSON_Delete(own);
    return sdm_check_doubts(call->ctx, output, found.doubt, found.doubts);
}
