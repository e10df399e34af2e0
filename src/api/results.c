/* Results of the commands -> JSON, for the last line of the program's `--log json` and for the library's
 * callers. */
// SPDX-License-Identifier: Apache-2.0
#include "api/results.h"
#include "core/run_log.h"
#include "kernels.h"
#include "product/output_files.h"
#include "views/run_views.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

/* Add a number; NaN and infinity, which JSON lacks, become null. */
static void add_number(cJSON *to, const char *name, double value)
{
    if (isfinite(value))
        cJSON_AddNumberToObject(to, name, value);
    else
        cJSON_AddNullToObject(to, name);
}

static void add_pair(const SdmPairResult *p, cJSON *to)
{
    cJSON *const o = cJSON_CreateObject();
    cJSON_AddStringToObject(o, "left", p->left);
    cJSON_AddStringToObject(o, "right", p->right);
    cJSON_AddStringToObject(o, "names", p->names);
    cJSON_AddBoolToObject(o, "reference", p->reference);
    for (int i = 0; i < SDM_PAIR_FIGURES; i++) {
        const SdmPairFigure *const f = &sdm_pair_figures[i];
        if (i == SDM_PAIR_FIGURES_FIRST)
            cJSON_AddItemToObject(o, "apply_m", cJSON_CreateDoubleArray(p->apply_m, 3));
        add_number(o, f->key, *(const double *)(const void *)((const char *)p + f->offset));
    }
    cJSON_AddItemToArray(to, o);
}

static void add_doubts(const SdmDoubt *doubt, int count, cJSON *to)
{
    cJSON *const list = cJSON_AddArrayToObject(to, "doubts");
    for (int i = 0; i < count; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(doubt[i].text));
}

/* Add the quality of the DEM. */
static void add_quality(const SdmDemResult *r, cJSON *to)
{
    if (r->cols > 0) {
        add_number(to, "cols", (double)r->cols);
        add_number(to, "rows", (double)r->rows);
        add_number(to, "spacing", r->spacing);
        add_number(to, "coverage", r->coverage);
        add_number(to, "pointing_residual_px", r->pointing_residual_px);
        add_number(to, "tie_points", r->tie_points);
    }
    cJSON *const pairs = r->pair ? cJSON_AddArrayToObject(to, "pairs") : NULL;
    for (int i = 0; pairs && i < r->pairs; i++)
        add_pair(&r->pair[i], pairs);
    add_doubts(r->doubt, r->doubts, to);
}

/* The files of a DEM that are there. */
static void add_files(SdmContext *ctx, const char *output, cJSON *to)
{
    SDM_OWNED SdmOutputFiles *files = NULL;
    char log[SDM_PATH_SIZE];
    if (sdm_alloc(ctx, &files, 1, sizeof *files, "names") != SDM_OK ||
        sdm_output_files_name(ctx, output, files) != SDM_OK)
        return;
    cJSON *const list = cJSON_AddArrayToObject(to, "files");
    for (int i = SDM_FILES - 1; i >= 0; i--)
        if (access(files->path[i], F_OK) == 0)
            cJSON_AddItemToArray(list, cJSON_CreateString(files->path[i]));
    if (sdm_run_log_find(output, log, sizeof log))
        cJSON_AddItemToArray(list, cJSON_CreateString(log));
}

void sdm_result_run(SdmContext *ctx, const char *output, const SdmDemResult *result, cJSON *to)
{
    if (output) {
        cJSON_AddStringToObject(to, "output", output);
        add_files(ctx, output, to);
    }
    if (result->known)
        add_quality(result, to);
    cJSON_AddNumberToObject(to, "memory_peak_bytes", (double)sdm_memory_resident(ctx));
    cJSON *const stages = cJSON_AddObjectToObject(to, "stage_seconds");
    for (int i = 1; i < 10; i++)
        cJSON_AddNumberToObject(stages, sdm_stage_names[i], sdm_stage_time(ctx, i));
}

static void add_view(cJSON *to, const char *name, const SdmViewInfo *view)
{
    cJSON *const object = cJSON_AddObjectToObject(to, name);
    cJSON_AddStringToObject(object, "name", view->name);
    cJSON_AddStringToObject(object, "camera", view->camera);
    cJSON_AddStringToObject(object, "camera_source", view->camera_source);
    cJSON_AddStringToObject(object, "camera_doubt", view->camera_doubt);
    cJSON_AddStringToObject(object, "mask", view->mask);
    add_number(object, "unusable", view->unusable);
    add_number(object, "saturated", view->saturated);
    cJSON_AddNumberToObject(object, "width", (double)view->width);
    cJSON_AddNumberToObject(object, "height", (double)view->height);
    cJSON_AddNumberToObject(object, "bin", fmax(view->bin, 1.0));
}

void sdm_result_info(const SdmSceneInfo *info, cJSON *to)
{
    cJSON_AddStringToObject(to, "sensor", info->sensor);
    cJSON_AddStringToObject(to, "kind", info->kind);
    cJSON_AddStringToObject(to, "id", info->id);
    cJSON_AddStringToObject(to, "time_utc", info->time_utc);
    add_view(to, "left", &info->view[0]);
    add_view(to, "right", &info->view[1]);
    add_number(to, "convergence_deg", info->convergence_deg);
    add_number(to, "base_height", info->base_height);
    add_number(to, "gsd_m", info->gsd_m);
    add_number(to, "right_gsd_m", info->right_gsd_m);
    add_number(to, "centre_lon_deg", info->centre_lon_deg);
    add_number(to, "centre_lat_deg", info->centre_lat_deg);
    cJSON *const corners = cJSON_AddArrayToObject(to, "corners_deg");
    for (int k = 0; k < 4; k++)
        cJSON_AddItemToArray(corners, cJSON_CreateDoubleArray(info->corner_deg[k], 2));
    add_number(to, "overlap", info->overlap);
    add_number(to, "footprint_m2", info->footprint_m2);
    add_number(to, "hmin_m", info->hmin_m);
    add_number(to, "hmax_m", info->hmax_m);
    cJSON_AddStringToObject(to, "crs", info->crs);
    add_number(to, "spacing", info->spacing);
    add_number(to, "cols", (double)info->cols);
    add_number(to, "rows", (double)info->rows);
    add_number(to, "tiles", (double)info->tiles);
    add_number(to, "expected_memory_bytes", (double)info->memory_bytes);
    add_number(to, "expected_seconds", info->seconds);
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
        if (*d->date)
            cJSON_AddStringToObject(dem, "date", d->date);
        cJSON_AddItemToObject(dem, "apply_m", cJSON_CreateDoubleArray(d->move_m, 3));
        add_number(dem, "nmad_m", d->nmad_m);
        add_number(dem, "smooth_m", d->smooth_m);
        cJSON_AddNumberToObject(dem, "group", d->group);
        cJSON_AddItemToArray(dems, dem);
    }
    add_doubts(report->doubt, report->doubts, to);
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
    cJSON_AddNumberToObject(to, "row_offset_px", r->row_offset_px);
    cJSON_AddNumberToObject(to, "shrink_s", r->shrink_s);
    cJSON_AddNumberToObject(to, "engine_s", r->engine_s);
    cJSON_AddNumberToObject(to, "filter_s", r->filter_s);
    cJSON_AddNumberToObject(to, "write_s", r->write_s);
    cJSON_AddNumberToObject(to, "match_s", r->shrink_s + r->engine_s + r->filter_s);
}
