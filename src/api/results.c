/* Results of the commands -> JSON, for the last line of the program's `--log json` and for the library's
 * callers. */
// SPDX-License-Identifier: Apache-2.0
#include "api/results.h"
#include "job/json_fields.h"
#include "kernels.h"
#include "product/output_files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void sdm_json_number(cJSON *to, const char *name, double value)
{
    if (isfinite(value))
        cJSON_AddNumberToObject(to, name, value);
    else
        cJSON_AddNullToObject(to, name);
}

/* What a report says of how good its DEM is. */
static void add_quality(const cJSON *report, cJSON *to)
{
    const double seen = sdm_json_number_at(report, "cells", "seen"),
                 valid = sdm_json_number_at(report, "cells", "with_height");
    const cJSON *const rounds = sdm_json_member(report, "pointing", "rounds"),
                *const last = cJSON_GetArrayItem(rounds, cJSON_GetArraySize(rounds) - 1),
                *const warnings = sdm_json_member(report, "trust", "warnings");
    sdm_json_number(to, "cols", sdm_json_number_at(report, "grid", "cols"));
    sdm_json_number(to, "rows", sdm_json_number_at(report, "grid", "rows"));
    sdm_json_number(to, "spacing", sdm_json_number_at(report, "grid", "spacing"));
    sdm_json_number(to, "coverage", fmin(valid / fmax(seen, 1.0), 1.0));
    sdm_json_number(to, "pointing_residual_px", sdm_json_number_at(last, "after_nmad_px", NULL));
    sdm_json_number(to, "tie_points", sdm_json_number_at(last, "inliers", NULL));
    if (sdm_json_member(report, "pairs", NULL))
        cJSON_AddItemToObject(to, "pairs", cJSON_Duplicate(sdm_json_member(report, "pairs", NULL), true));
    cJSON_AddItemToObject(to, "doubts", warnings ? cJSON_Duplicate(warnings, true) : cJSON_CreateArray());
}

/* The files of a DEM, and what its report says. */
static void add_product(SdmContext *ctx, const char *output, cJSON *to)
{
    SdmOutputFiles *files = NULL;
    if (sdm_alloc(ctx, &files, 1, sizeof *files, "names") != SDM_OK ||
        sdm_output_files_name(ctx, output, files) != SDM_OK) {
        sdm_free(&files);
        return;
    }
    cJSON *const report = sdm_json_read(ctx, files->path[SDM_FILE_JSON]),
                *const list = cJSON_AddArrayToObject(to, "files");
    for (int i = SDM_FILES - 1; i >= 0; i--)
        if (access(files->path[i], F_OK) == 0)
            cJSON_AddItemToArray(list, cJSON_CreateString(files->path[i]));
    if (report)
        add_quality(report, to);
    cJSON_Delete(report);
    sdm_free(&files);
}

void sdm_result_run(SdmContext *ctx, const char *output, cJSON *to)
{
    if (output) {
        cJSON_AddStringToObject(to, "output", output);
        add_product(ctx, output, to);
    }
    cJSON_AddNumberToObject(to, "memory_peak_bytes", (double)sdm_memory_resident(ctx));
    cJSON *const stages = cJSON_AddObjectToObject(to, "stage_seconds");
    for (int i = 1; i < 10; i++)
        cJSON_AddNumberToObject(stages, sdm_stage_names[i], sdm_stage_time(ctx, i));
}

SdmStatus sdm_result_check(SdmContext *ctx, const char *output, const cJSON *result)
{
    const cJSON *const doubts = cJSON_GetObjectItemCaseSensitive(result, "doubts"),
                *const first = cJSON_GetArrayItem(doubts, 0);
    const int count = cJSON_GetArraySize(doubts);
    if (!sdm_options(ctx)->strict || count == 0)
        return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_DATA, "--strict: %s is made, but doubtful (%d doubt%s): %s", output, count,
                    count == 1 ? "" : "s", cJSON_GetStringValue(first));
}

static void add_view(cJSON *to, const char *name, const SdmViewInfo *view)
{
    cJSON *const object = cJSON_AddObjectToObject(to, name);
    cJSON_AddStringToObject(object, "name", view->name);
    cJSON_AddStringToObject(object, "camera", view->camera);
    cJSON_AddStringToObject(object, "camera_source", view->camera_source);
    cJSON_AddStringToObject(object, "camera_doubt", view->camera_doubt);
    cJSON_AddStringToObject(object, "mask", view->mask);
    sdm_json_number(object, "unusable", view->unusable);
    sdm_json_number(object, "saturated", view->saturated);
    cJSON_AddNumberToObject(object, "width", (double)view->width);
    cJSON_AddNumberToObject(object, "height", (double)view->height);
}

void sdm_result_info(const SdmSceneInfo *info, cJSON *to)
{
    cJSON_AddStringToObject(to, "sensor", info->sensor);
    cJSON_AddStringToObject(to, "kind", info->kind);
    cJSON_AddStringToObject(to, "id", info->id);
    cJSON_AddStringToObject(to, "time_utc", info->time_utc);
    add_view(to, "left", &info->view[0]);
    add_view(to, "right", &info->view[1]);
    sdm_json_number(to, "convergence_deg", info->convergence_deg);
    sdm_json_number(to, "base_height", info->base_height);
    sdm_json_number(to, "gsd_m", info->gsd_m);
    sdm_json_number(to, "right_gsd_m", info->right_gsd_m);
    sdm_json_number(to, "centre_lon_deg", info->centre_lon_deg);
    sdm_json_number(to, "centre_lat_deg", info->centre_lat_deg);
    sdm_json_number(to, "overlap", info->overlap);
    sdm_json_number(to, "footprint_m2", info->footprint_m2);
    sdm_json_number(to, "hmin_m", info->hmin_m);
    sdm_json_number(to, "hmax_m", info->hmax_m);
    cJSON_AddStringToObject(to, "crs", info->crs);
    sdm_json_number(to, "spacing", info->spacing);
    sdm_json_number(to, "cols", (double)info->cols);
    sdm_json_number(to, "rows", (double)info->rows);
    sdm_json_number(to, "tiles", (double)info->tiles);
    sdm_json_number(to, "expected_memory_bytes", (double)info->memory_bytes);
    sdm_json_number(to, "expected_seconds", info->seconds);
}

void sdm_result_stack(const SdmContext *ctx, const char *output, const SdmStackReport *report, cJSON *to)
{
    if (output)
        cJSON_AddStringToObject(to, "output", output);
    cJSON_AddNumberToObject(to, "memory_peak_bytes", (double)sdm_memory_resident(ctx));
    cJSON_AddNumberToObject(to, "count", report->count);
    cJSON_AddNumberToObject(to, "groups", report->groups);
    cJSON *const dems = cJSON_AddArrayToObject(to, "dems");
    for (int i = 0; i < report->count; i++) {
        const SdmStackedDem *const d = &report->dems[i];
        cJSON *const dem = cJSON_CreateObject();
        cJSON_AddStringToObject(dem, "path", d->path);
        cJSON_AddItemToObject(dem, "apply_m", cJSON_CreateDoubleArray(d->move_m, 3));
        sdm_json_number(dem, "nmad_m", d->nmad_m);
        sdm_json_number(dem, "smooth_m", d->smooth_m);
        cJSON_AddNumberToObject(dem, "group", d->group);
        cJSON_AddItemToArray(dems, dem);
    }
}

void sdm_result_match(const SdmContext *ctx, const SdmOptions *options, const char *output,
                      const SdmDisparityResult *r, cJSON *to)
{
    const double pixels = (double)(r->pixels ? r->pixels : 1);
    if (output)
        cJSON_AddStringToObject(to, "output", output);
    cJSON_AddNumberToObject(to, "frames", r->frames);
    cJSON_AddNumberToObject(to, "width", r->width);
    cJSON_AddNumberToObject(to, "height", r->height);
    cJSON_AddNumberToObject(to, "matched", (double)r->matched / pixels);
    cJSON_AddNumberToObject(to, "valid", (double)r->valid / pixels);
    if (strcmp(options->optimizer, "bp") == 0) {
        cJSON_AddNumberToObject(to, "energy_data", (double)r->energy[0]);
        cJSON_AddNumberToObject(to, "energy_smoothness", (double)r->energy[1]);
        cJSON_AddNumberToObject(to, "energy", (double)(r->energy[0] + r->energy[1]));
    }
    cJSON_AddStringToObject(to, "cpu_level", sdm_kernels_name(options->cpu_level));
    cJSON_AddNumberToObject(to, "threads", sdm_threads(ctx));
    cJSON_AddNumberToObject(to, "memory_peak_bytes", (double)sdm_memory_resident(ctx));
    cJSON_AddNumberToObject(to, "read_s", r->read_s);
    cJSON_AddNumberToObject(to, "shrink_s", r->shrink_s);
    cJSON_AddNumberToObject(to, "engine_s", r->engine_s);
    cJSON_AddNumberToObject(to, "filter_s", r->filter_s);
    cJSON_AddNumberToObject(to, "write_s", r->write_s);
    cJSON_AddNumberToObject(to, "match_s", r->shrink_s + r->engine_s + r->filter_s);
}
