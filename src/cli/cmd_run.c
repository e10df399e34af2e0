/* stereodem run: scene -> DEM and companions, in one process. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"
#include "core/path.h"

#include <math.h>

static double number(const cJSON *of, const char *name)
{
    const cJSON *const found = cJSON_GetObjectItemCaseSensitive(of, name);
    return cJSON_IsNumber(found) ? found->valuedouble : (double)NAN;
}

/* Name of a file without its folder. */
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

/* Of several views, a line for each pair. */
static void print_pairs(SdmScreen *screen, const cJSON *result)
{
    const cJSON *pair = NULL;
    cJSON_ArrayForEach(pair, cJSON_GetObjectItemCaseSensitive(result, "pairs"))
    {
        const cJSON *const shift = cJSON_GetObjectItemCaseSensitive(pair, "apply_m");
        double by[3];
        for (int k = 0; k < 3; k++)
            by[k] = cJSON_GetNumberValue(cJSON_GetArrayItem(shift, k));
        sdm_screen_print(screen,
                         "pair                %s: base/height %.2f, weight %.0f %%, coverage %.1f %%, "
                         "moved by %.2f, %.2f, %.2f m",
                         cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(pair, "names")),
                         number(pair, "base_height"), 100.0 * number(pair, "weight"),
                         100.0 * number(pair, "coverage"), by[0], by[1], by[2]);
    }
}

/* How good the DEM is, as its report says. */
static void print_result(SdmScreen *screen, const char *output, const cJSON *result, double seconds)
{
    const cJSON *const doubts = cJSON_GetObjectItemCaseSensitive(result, "doubts"), *doubt = NULL;
    sdm_screen_print(screen, "%s: done in %.1f s, %.0f MiB of memory at most", output, seconds,
                     number(result, "memory_peak_bytes") / (1024.0 * 1024.0));
    if (isnan(number(result, "cols")))
        return;
    sdm_screen_print(screen, "grid                %.0f x %.0f cells of %.9g", number(result, "cols"),
                     number(result, "rows"), number(result, "spacing"));
    sdm_screen_print(screen, "coverage            %.1f %% of the cells seen by %s views",
                     100.0 * number(result, "coverage"),
                     cJSON_HasObjectItem(result, "pairs") ? "two" : "both");
    print_pairs(screen, result);
    if (isnan(number(result, "pointing_residual_px")))
        sdm_screen_print(screen, "pointing residual   none: no correction was estimated");
    else
        sdm_screen_print(screen, "pointing residual   %.3f px (NMAD) of %.0f tie points",
                         number(result, "pointing_residual_px"), number(result, "tie_points"));
    if (cJSON_GetArraySize(doubts) == 0)
        sdm_screen_print(screen, "doubts              none");
    cJSON_ArrayForEach(doubt, doubts)
        sdm_screen_print(screen, "doubts              %s", doubt->valuestring);
    print_files(screen, result);
}

SdmStatus sdm_command_run(SdmCall *call)
{
    SdmStatus st = SDM_OK;
    cJSON *result = NULL;
    const char *const output = call->options.output;
    if (!output)
        return sdm_fail(call->ctx, SDM_ERR_USAGE, "-o is missing: give the DEM to write, such as -o dem.tif");
    if (call->line.count > 2)
        TRY(sdm_run_several(call->ctx, call->line.positional, call->line.count));
    else
        TRY(sdm_run_scene(call->ctx, call->line.positional[0],
                          call->line.count > 1 ? call->line.positional[1] : NULL));
    result = cJSON_CreateObject();
    sdm_result_run(call->ctx, output, result);
    print_result(&call->screen, output, result, sdm_now_s() - call->screen.started_s);
    st = sdm_result_check(call->ctx, output, result);
    if (call->summary) {
        sdm_json_move(call->summary, result);
        result = NULL;
    }
done:
    cJSON_Delete(result);
    return st;
}
