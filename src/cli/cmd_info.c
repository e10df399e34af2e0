/* stereodem info: what a scene is and what its DEM would be, before any matching. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"
#include "scene/scene.h"

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
    if (view->bin)
        sdm_screen_print(screen, "  binned         each pixel is the mean of %d x %d of the file", view->bin,
                         view->bin);
    char unusable[64], saturated[64];
    sdm_screen_print(screen, "  mask           %s", view->mask);
    sdm_screen_print(screen, "  pixels         %s not usable, %s saturated",
                     figure(unusable, 100.0 * view->unusable, 2, "%"),
                     figure(saturated, 100.0 * view->saturated, 2, "%"));
    sdm_screen_print(screen, "  camera         %s%s%s", view->camera, *view->camera_source ? " from " : "",
                     view->camera_source);
    if (*view->camera_doubt)
        sdm_screen_print(screen, "  doubt          %s", view->camera_doubt);
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
    sdm_screen_print(screen, "ground sample    %s, right %s", figure(a, info->gsd_m, 2, "m"),
                     figure(b, info->right_gsd_m, 2, "m"));
    sdm_screen_print(screen, "centre           lon %s, lat %s", figure(a, info->centre_lon_deg, 5, "deg"),
                     figure(b, info->centre_lat_deg, 5, "deg"));
    for (int k = 0; k < 4; k++)
        sdm_screen_print(screen, "%s lon %s, lat %s", k == 0 ? "corners of left " : "                ",
                         figure(a, info->corner_deg[k][0], 5, "deg"),
                         figure(b, info->corner_deg[k][1], 5, "deg"));
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

SdmStatus sdm_command_info(SdmCall *call)
{
    SDM_CLOSED_BY(sdm_scene_close) SdmScene *scene = NULL;
    SDM_OWNED SdmSceneInfo *info = NULL;
    const char *const right = call->line.count > 1 ? call->line.positional[1] : NULL;
    PASS(sdm_screen_refuse_views(call));
    PASS(sdm_alloc(call->ctx, &info, 1, sizeof *info, "scene description"));
    PASS(sdm_scene_open(call->ctx, &call->options, call->line.positional[0], right, &scene));
    PASS(sdm_scene_describe(call->ctx, scene, info));
    print_text(&call->screen, info, sdm_threads(call->ctx));
    if (call->summary)
        sdm_result_info(info, call->summary);
    return SDM_OK;
}
