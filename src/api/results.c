/* Results of the commands -> JSON, for the last line of the program's `--log json` and for the library's
 * callers. */
// SPDX-License-Identifier: Apache-2.0
#include "api/command_options.h"
#include "core/run_log.h"
#include "kernels.h"
#include "product/output_files.h"
#include "views/run_views.h"
#include "product/fields.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

static void add_pair(const SdmPairResult *p, cJSON *to)
{
    SdmField figure[SDM_PAIR_FIGURES];
    cJSON *const o = cJSON_CreateObject();
    SDM_JSON(o, SDM_FIELD("left", p->left), SDM_FIELD("right", p->right), SDM_FIELD("names", p->names),
             SDM_FIELD("reference", p->reference));
    sdm_pair_figures(p, figure);
    sdm_json_add(o, figure, SDM_PAIR_FIGURES_FIRST);
    cJSON_AddItemToObject(o, "apply_m", cJSON_CreateDoubleArray(p->apply_m, 3));
    sdm_json_add(o, figure + SDM_PAIR_FIGURES_FIRST, SDM_PAIR_FIGURES - SDM_PAIR_FIGURES_FIRST);
    cJSON_AddItemToArray(to, o);
}

static void add_doubts(const SdmDoubt *doubt, int count, cJSON *to)
{
    cJSON *const list = cJSON_AddArrayToObject(to, "doubts");
    for (int i = 0; i < count; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(doubt[i].text));
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

void sdm_result_run(SdmContext *ctx, const char *output, const SdmDemResult *r, cJSON *to)
{
    if (output) {
        cJSON_AddStringToObject(to, "output", output);
        add_files(ctx, output, to);
    }
    if (r->known && r->cols > 0)
        SDM_JSON(to, SDM_FIELD("cols", r->cols), SDM_FIELD("rows", r->rows), SDM_FIELD("spacing", r->spacing),
                 SDM_FIELD("coverage", r->coverage),
                 SDM_FIELD("pointing_residual_px", r->pointing_residual_px),
                 SDM_FIELD("tie_points", r->tie_points));
    cJSON *const pairs = r->known && r->pair ? cJSON_AddArrayToObject(to, "pairs") : NULL;
    for (int i = 0; pairs && i < r->pairs; i++)
        add_pair(&r->pair[i], pairs);
    if (r->known)
        add_doubts(r->doubt, r->doubts, to);
    cJSON_AddNumberToObject(to, "memory_peak_bytes", (double)sdm_memory_resident(ctx));
    cJSON *const stages = cJSON_AddObjectToObject(to, "stage_seconds");
    for (int i = 1; i < 10; i++)
        cJSON_AddNumberToObject(stages, sdm_stage_names[i], sdm_stage_time(ctx, i));
}

static void add_view(cJSON *to, const SdmScene *scene, const SdmSceneInfo *info, int k)
{
    const SdmView *const v = &scene->view[k];
    cJSON *const object = cJSON_AddObjectToObject(to, k ? "right" : "left");
    SDM_JSON(object, SDM_FIELD("name", v->name), SDM_FIELD("camera", v->camera->kind),
             SDM_FIELD("camera_source", v->note.source), SDM_FIELD("camera_doubt", v->note.doubt),
             SDM_FIELD("mask", info->mask[k]), SDM_FIELD("unusable", v->image->unusable),
             SDM_FIELD("saturated", v->image->saturated), SDM_FIELD("width", v->image->width),
             SDM_FIELD("height", v->image->height), SDM_FIELD("bin", fmax(v->note.bin, 1.0)));
}

void sdm_result_info(const SdmScene *scene, const SdmSceneInfo *info, cJSON *to)
{
    const SdmFrame *const f = &info->frame;
    SDM_JSON(to, SDM_FIELD("sensor", scene->view[0].camera->kind), SDM_FIELD("kind", scene->kind),
             SDM_FIELD("id", scene->id), SDM_FIELD("time_utc", scene->time_utc));
    add_view(to, scene, info, 0);
    add_view(to, scene, info, 1);
    SDM_JSON(to, SDM_FIELD("convergence_deg", f->convergence_deg), SDM_FIELD("base_height", f->base_height),
             SDM_FIELD("gsd_m", f->gsd_m), SDM_FIELD("right_gsd_m", f->right_gsd_m),
             SDM_FIELD("centre_lon_deg", f->lon_deg), SDM_FIELD("centre_lat_deg", f->lat_deg));
    cJSON *const corners = cJSON_AddArrayToObject(to, "corners_deg");
    for (int k = 0; k < 4; k++)
        cJSON_AddItemToArray(corners, cJSON_CreateDoubleArray(info->corner_deg[k], 2));
    SDM_JSON(to, SDM_FIELD("overlap", info->overlap), SDM_FIELD("footprint_m2", info->footprint_m2),
             SDM_FIELD("hmin_m", f->hmin_m), SDM_FIELD("hmax_m", f->hmax_m), SDM_FIELD("crs", info->crs),
             SDM_FIELD("spacing", info->grid.spacing), SDM_FIELD("cols", info->grid.cols),
             SDM_FIELD("rows", info->grid.rows), SDM_FIELD("tiles", info->tiles),
             SDM_FIELD("expected_memory_bytes", info->memory_bytes),
             SDM_FIELD("expected_seconds", info->seconds));
}

void sdm_result_stack(const SdmContext *ctx, const char *output, const SdmStackResult *report, cJSON *to)
{
    SDM_JSON(to, SDM_FIELD("output", output),
             SDM_FIELD("memory_peak_bytes", (double)sdm_memory_resident(ctx)),
             SDM_FIELD("count", report->count), SDM_FIELD("groups", report->groups));
    cJSON *const dems = cJSON_AddArrayToObject(to, "dems");
    for (int i = 0; i < report->count; i++) {
        const SdmStackedDem *const d = &report->dems[i];
        cJSON *const dem = cJSON_CreateObject();
        SDM_JSON(dem, SDM_FIELD("path", d->path), SDM_FIELD("date", *d->date ? d->date : NULL));
        cJSON_AddItemToObject(dem, "apply_m", cJSON_CreateDoubleArray(d->move_m, 3));
        SDM_JSON(dem, SDM_FIELD("nmad_m", d->nmad_m), SDM_FIELD("smooth_m", d->smooth_m),
                 SDM_FIELD("group", d->group));
        cJSON_AddItemToArray(dems, dem);
    }
    add_doubts(report->doubt, report->doubts, to);
}

void sdm_result_match(const SdmContext *ctx, const SdmOptions *options, const char *output,
                      const SdmDisparityResult *r, cJSON *to)
{
    const double pixels = (double)(r->pixels ? r->pixels : 1);
    SDM_JSON(to, SDM_FIELD("output", output), SDM_FIELD("frames", r->frames), SDM_FIELD("width", r->width),
             SDM_FIELD("height", r->height), SDM_FIELD("matched", (double)r->matched / pixels),
             SDM_FIELD("valid", (double)r->valid / pixels));
    if (strcmp(options->optimizer, "bp") == 0)
        SDM_JSON(to, SDM_FIELD("energy_data", r->energy[0]), SDM_FIELD("energy_smoothness", r->energy[1]),
                 SDM_FIELD("energy", (double)(r->energy[0] + r->energy[1])));
    SDM_JSON(to, SDM_FIELD("cpu_level", sdm_kernels_name(options->cpu_level)),
             SDM_FIELD("threads", sdm_threads(ctx)),
             SDM_FIELD("memory_peak_bytes", (double)sdm_memory_resident(ctx)), SDM_FIELD("read_s", r->read_s),
             SDM_FIELD("row_offset_px", r->row_offset_px), SDM_FIELD("shrink_s", r->shrink_s),
             SDM_FIELD("engine_s", r->engine_s), SDM_FIELD("filter_s", r->filter_s),
             SDM_FIELD("write_s", r->write_s), SDM_FIELD("match_s", r->shrink_s + r->engine_s + r->filter_s));
}
