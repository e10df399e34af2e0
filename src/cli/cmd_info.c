/* stereodem info: what a scene is and what its DEM would be, before any matching. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include <inttypes.h>
#include <math.h>

/* "%.<digits>f unit", "unknown" for NaN. */
static const char *figure(char out[64], double value, int digits, const char *unit)
{
    if (isnan(value))
        snprintf(out, 64, "unknown");
    else
        snprintf(out, 64, "%.*f%s%s", digits, value, *unit ? " " : "", unit);
    return out;
}

static void print_view(SdmScreen *screen, const char *title, const SdmViewInfo *view)
{
    sdm_screen_print(screen, "%-16s %s", title, view->name);
    sdm_screen_print(screen, "  image          %" PRId64 " x %" PRId64 " px (columns x rows)", view->width,
                     view->height);
    char unusable[64], saturated[64];
    sdm_screen_print(screen, "  mask           %s", view->mask);
    sdm_screen_print(screen, "  pixels         %s not usable, %s saturated",
                     figure(unusable, 100.0 * view->unusable, 2, "%"),
                     figure(saturated, 100.0 * view->saturated, 2, "%"));
    sdm_screen_print(screen, "  camera         %s", view->camera);
}

static void print_text(SdmScreen *screen, const SdmSceneInfo *info, int threads)
{
    char a[64], b[64];
    sdm_screen_print(screen, "scene            %s", info->id);
    sdm_screen_print(screen, "kind             %s (sensor %s)", info->kind, info->sensor);
    sdm_screen_print(screen, "time             %s", *info->time_utc ? info->time_utc : "unknown");
    print_view(screen, "left", &info->view[0]);
    print_view(screen, "right", &info->view[1]);
    sdm_screen_print(screen, "convergence      %s", figure(a, info->convergence_deg, 2, "deg"));
    sdm_screen_print(screen, "base/height      %s", figure(a, info->base_height, 4, ""));
    sdm_screen_print(screen, "ground sample    %s", figure(a, info->gsd_m, 2, "m"));
    sdm_screen_print(screen, "centre           lon %s, lat %s", figure(a, info->centre_lon_deg, 5, "deg"),
                     figure(b, info->centre_lat_deg, 5, "deg"));
    sdm_screen_print(screen, "overlap          %s of the left image, %s",
                     figure(a, 100.0 * info->overlap, 1, "%"),
                     figure(b, 1e-6 * info->footprint_m2, 1, "km2"));
    sdm_screen_print(screen, "heights          %s to %s above the ellipsoid", figure(a, info->hmin_m, 0, "m"),
                     figure(b, info->hmax_m, 0, "m"));
    sdm_screen_print(
        screen, "DEM              %" PRId64 " x %" PRId64 " cells of %.9g, %s, %" PRId64 " tile%s",
        info->cols, info->rows, info->spacing, info->crs, info->tiles, info->tiles == 1 ? "" : "s");
    sdm_screen_print(screen, "expected memory  %.0f MiB for run",
                     (double)info->memory_bytes / (1024.0 * 1024.0));
    sdm_screen_print(screen, "expected time    %s for run with %d thread%s", figure(a, info->seconds, 1, "s"),
                     threads, threads == 1 ? "" : "s");
}

static void add_view(cJSON *summary, const char *name, const SdmViewInfo *view)
{
    cJSON *const object = cJSON_AddObjectToObject(summary, name);
    cJSON_AddStringToObject(object, "name", view->name);
    cJSON_AddStringToObject(object, "camera", view->camera);
    cJSON_AddStringToObject(object, "mask", view->mask);
    sdm_json_number(object, "unusable", view->unusable);
    sdm_json_number(object, "saturated", view->saturated);
    cJSON_AddNumberToObject(object, "width", (double)view->width);
    cJSON_AddNumberToObject(object, "height", (double)view->height);
}

static void add_json(cJSON *summary, const SdmSceneInfo *info)
{
    cJSON_AddStringToObject(summary, "sensor", info->sensor);
    cJSON_AddStringToObject(summary, "kind", info->kind);
    cJSON_AddStringToObject(summary, "id", info->id);
    cJSON_AddStringToObject(summary, "time_utc", info->time_utc);
    add_view(summary, "left", &info->view[0]);
    add_view(summary, "right", &info->view[1]);
    sdm_json_number(summary, "convergence_deg", info->convergence_deg);
    sdm_json_number(summary, "base_height", info->base_height);
    sdm_json_number(summary, "gsd_m", info->gsd_m);
    sdm_json_number(summary, "centre_lon_deg", info->centre_lon_deg);
    sdm_json_number(summary, "centre_lat_deg", info->centre_lat_deg);
    sdm_json_number(summary, "overlap", info->overlap);
    sdm_json_number(summary, "footprint_m2", info->footprint_m2);
    sdm_json_number(summary, "hmin_m", info->hmin_m);
    sdm_json_number(summary, "hmax_m", info->hmax_m);
    cJSON_AddStringToObject(summary, "crs", info->crs);
    sdm_json_number(summary, "spacing", info->spacing);
    sdm_json_number(summary, "cols", (double)info->cols);
    sdm_json_number(summary, "rows", (double)info->rows);
    sdm_json_number(summary, "tiles", (double)info->tiles);
    sdm_json_number(summary, "expected_memory_bytes", (double)info->memory_bytes);
    sdm_json_number(summary, "expected_seconds", info->seconds);
}

SdmStatus sdm_command_info(SdmCall *call)
{
    SdmStatus st = SDM_OK;
    SdmSceneInfo *info = NULL;
    const char *const right = call->line.count > 1 ? call->line.positional[1] : NULL;
    TRY(sdm_alloc(call->ctx, &info, 1, sizeof *info, "scene description"));
    TRY(sdm_describe(call->ctx, call->line.positional[0], right, info));
    print_text(&call->screen, info, sdm_threads(call->ctx));
    if (call->summary)
        add_json(call->summary, info);
done:
    sdm_free(&info);
    return st;
}
