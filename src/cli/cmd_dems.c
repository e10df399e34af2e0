/* stereodem run, info, compare, stack, match: the commands that end with their result. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"
#include "core/path.h"
#include "job/job_commands.h"
#include "scene/scene.h"
#include "views/run_views.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* ---- run: scene -> DEM and companions, in one process ---- */

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

/* Print the quality of the DEM.  alone: no reference shows where it lies. */
static void print_result(SdmScreen *screen, const SdmDemResult *r, bool alone)
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
        sdm_screen_print(screen, "doubts              none%s",
                         alone ? "; only a reference tells whether the whole DEM is off" : "");
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
        PASS(
            sdm_run_scene(call->ctx, call->line.positional[0], call->line.positional[1], NULL, NULL, &found));
    cJSON *const own = call->summary ? NULL : cJSON_CreateObject(), *const result = own ? own : call->summary;
    sdm_result_run(call->ctx, output, &found, result);
    sdm_screen_print(&call->screen, "%s: done in %.1f s, %.0f MiB of memory at most", output,
                     sdm_now_s() - call->screen.started_s,
                     (double)sdm_memory_resident(call->ctx) / (1024.0 * 1024.0));
    if (found.known) {
        print_result(&call->screen, &found, !call->options.reference);
        print_files(&call->screen, result);
    }
    cJSON_Delete(own);
    return sdm_check_doubts(call->ctx, output, found.doubt, found.doubts);
}

/* ---- info: what a scene is and what its DEM would be, before any matching ---- */

/* "%.<digits>f unit", "unknown" for NaN. */
static const char *figure(char out[64], double value, int digits, const char *unit)
{
    if (isnan(value))
        snprintf(out, 64, "unknown");
    else
        snprintf(out, 64, "%.*f%s%s", digits, value, *unit ? " " : "", unit);
    return out;
}

static void print_view(SdmScreen *screen, const SdmScene *scene, const SdmSceneInfo *info, int k)
{
    const SdmView *const v = &scene->view[k];
    char unusable[64], saturated[64];
    sdm_screen_print(screen, "%-16s %s", k ? "right" : "left", v->name);
    sdm_screen_print(screen, "  image          %" PRId64 " x %" PRId64 " px (columns x rows)",
                     v->image->width, v->image->height);
    if (v->note.bin)
        sdm_screen_print(screen, "  binned         each pixel is the mean of %d x %d of the file",
                         v->note.bin, v->note.bin);
    sdm_screen_print(screen, "  mask           %s", info->mask[k]);
    sdm_screen_print(screen, "  pixels         %s not usable, %s saturated",
                     figure(unusable, 100.0 * v->image->unusable, 2, "%"),
                     figure(saturated, 100.0 * v->image->saturated, 2, "%"));
    sdm_screen_print(screen, "  camera         %s%s%s", v->camera->kind, *v->note.source ? " from " : "",
                     v->note.source);
    if (*v->note.doubt)
        sdm_screen_print(screen, "  doubt          %s", v->note.doubt);
}

static void print_info(SdmScreen *screen, const SdmScene *scene, const SdmSceneInfo *info, int threads)
{
    const SdmFrame *const f = &info->frame;
    char a[64], b[64];
    sdm_screen_print(screen, "scene            %s", scene->id);
    sdm_screen_print(screen, "kind             %s (sensor %s)", scene->kind, scene->view[0].camera->kind);
    sdm_screen_print(screen, "time             %s", *scene->time_utc ? scene->time_utc : "unknown");
    print_view(screen, scene, info, 0);
    print_view(screen, scene, info, 1);
    sdm_screen_print(screen, "convergence      %s", figure(a, f->convergence_deg, 2, "deg"));
    sdm_screen_print(screen, "base/height      %s", figure(a, f->base_height, 4, ""));
    sdm_screen_print(screen, "ground sample    %s, right %s", figure(a, f->gsd_m, 2, "m"),
                     figure(b, f->right_gsd_m, 2, "m"));
    sdm_screen_print(screen, "centre           lon %s, lat %s", figure(a, f->lon_deg, 5, "deg"),
                     figure(b, f->lat_deg, 5, "deg"));
    for (int k = 0; k < 4; k++)
        sdm_screen_print(screen, "%s lon %s, lat %s", k == 0 ? "corners of left " : "                ",
                         figure(a, info->corner_deg[k][0], 5, "deg"),
                         figure(b, info->corner_deg[k][1], 5, "deg"));
    sdm_screen_print(screen, "overlap          %s of the left image, %s",
                     figure(a, 100.0 * info->overlap, 1, "%"),
                     figure(b, 1e-6 * info->footprint_m2, 1, "km2"));
    sdm_screen_print(screen, "heights          %s to %s above the ellipsoid", figure(a, f->hmin_m, 0, "m"),
                     figure(b, f->hmax_m, 0, "m"));
    sdm_screen_print(screen,
                     "DEM              %" PRId64 " x %" PRId64 " cells of %.9g, %s, %" PRId64 " tile%s",
                     info->grid.cols, info->grid.rows, info->grid.spacing, info->crs, info->tiles,
                     info->tiles == 1 ? "" : "s");
    sdm_screen_print(screen, "expected memory  %.0f MiB for run",
                     (double)info->memory_bytes / (1024.0 * 1024.0));
    sdm_screen_print(screen, "expected time    %s for run with %d thread%s", figure(a, info->seconds, 1, "s"),
                     threads, threads == 1 ? "" : "s");
}

SdmStatus sdm_command_info(SdmCall *call)
{
    SDM_CLOSED_BY(sdm_scene_close) SdmScene *scene = NULL;
    SdmSceneInfo info;
    PASS(sdm_screen_refuse_views(call));
    PASS(sdm_scene_open(call->ctx, &call->options, call->line.positional[0], call->line.positional[1],
                        &scene));
    PASS(sdm_scene_describe(call->ctx, scene, &info));
    print_info(&call->screen, scene, &info, sdm_threads(call->ctx));
    if (call->summary)
        sdm_result_info(scene, &info, call->summary);
    return SDM_OK;
}

/* ---- compare: error statistics of a DEM against a reference ---- */

/* --json: the result alone, one object; --log json: its fields in the last line. */
static SdmStatus print_json(SdmCall *call, const SdmCompareResult *result)
{
    SDM_CLOSED_BY(sdm_text_close) SdmText text = {.ctx = call->ctx};
    cJSON *const own = call->summary ? NULL : cJSON_CreateObject();
    sdm_compare_json(result, own ? own : call->summary);
    if (own)
        sdm_text_json(&text, own, true);
    if (text.data)
        fputs(text.data, stdout);
    cJSON_Delete(own);
    return text.st;
}

SdmStatus sdm_command_compare(SdmCall *call)
{
    SdmCompareResult result = {.cells = 0};
    SDM_CLOSED_BY(sdm_text_close) SdmText text = {.ctx = call->ctx};
    call->own.compare.memory_bytes = call->options.memory_bytes;
    call->own.compare.overwrite = call->options.overwrite;
    PASS(sdm_compare_dems(call->ctx, call->line.positional[0], call->line.positional[1], &call->own.compare,
                          &result));
    if (call->summary || call->own.compare.json)
        return print_json(call, &result);
    sdm_compare_text(&result, &text);
    PASS(text.st);
    sdm_screen_print(&call->screen, "%.*s", (int)text.size - 1, text.data);
    return SDM_OK;
}

/* ---- stack: DEMs of one place -> one DEM ---- */

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
    for (int i = 0; i < result.count; i++) {
        const SdmStackedDem *const d = &result.dems[i];
        sdm_screen_print(&call->screen, "%-40s %8.2f %8.2f %8.2f %8.2f", d->path, d->move_m[0], d->move_m[1],
                         d->move_m[2], d->nmad_m);
    }
    sdm_screen_print(
        &call->screen, "%s: %d DEMs on %lld x %lld cells, done in %.1f s, %.0f MiB of memory at most", output,
        result.count, (long long)result.grid.cols, (long long)result.grid.rows,
        sdm_now_s() - call->screen.started_s, (double)sdm_memory_resident(call->ctx) / (1024.0 * 1024.0));
    if (call->summary)
        sdm_result_stack(call->ctx, output, &result, call->summary);
    return sdm_check_doubts(call->ctx, output, result.doubt, result.doubts);
}

/* ---- match: disparities of rectified pairs ---- */

static void print_text(SdmCall *call, const SdmDisparityResult *r)
{
    SdmScreen *const screen = &call->screen;
    const double share = 100.0 / (double)(r->pixels ? r->pixels : 1);
    const double match_s = r->shrink_s + r->engine_s + r->filter_s;
    sdm_screen_print(
        screen, "%s: %d x %d px%s, %.1f %% matched, %.1f %% with a disparity; matching %.4g s, in all %.4g s",
        call->own.match.output, r->width, r->height, r->frames > 1 ? " a frame" : "",
        share * (double)r->matched, share * (double)r->valid, match_s, sdm_now_s() - screen->started_s);
    if (strcmp(call->options.optimizer, "bp") == 0)
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
