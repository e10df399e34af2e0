/* What a run did -> NAME.json: program, options, inputs, grid, results, pointing, timings. */
// SPDX-License-Identifier: Apache-2.0
#include "core/options.h"
#include "product/product_inside.h"
#include "geo/vertical.h"

#include <cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As many digits as it takes to come back the same: cJSON's own numbers may lose the last. */
static cJSON *exact(double value)
{
    char text[40] = "null";
    for (int digits = 15; digits <= 17 && isfinite(value); digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return cJSON_CreateRaw(text);
}

static void number(cJSON *to, const char *name, double value)
{
    cJSON_AddItemToObject(to, name, exact(value));
}

static void numbers(cJSON *to, const char *name, const double *values, int n)
{
    cJSON *const array = cJSON_AddArrayToObject(to, name);
    for (int i = 0; values && i < n; i++)
        cJSON_AddItemToArray(array, exact(values[i]));
}

static void add_options(cJSON *root, const SdmOptions *opt, unsigned command)
{
    cJSON *const to = cJSON_AddObjectToObject(root, "options");
    char name[64], value[4096];
    for (const SdmOptionSpec *s = sdm_option_table; s->name; s++) {
        if (!(s->commands & command))
            continue;
        snprintf(name, sizeof name, "%s", s->name + strspn(s->name, "-"));
        for (char *c = name; *c; c++)
            *c = *c == '-' ? '_' : *c;
        sdm_option_print(s, opt, value, sizeof value);
        cJSON_AddStringToObject(to, name, value);
    }
}

static void add_inputs(cJSON *root, const SdmReport *r)
{
    cJSON *const scene = cJSON_AddObjectToObject(root, "scene");
    cJSON_AddStringToObject(scene, "id", r->scene_id);
    cJSON_AddStringToObject(scene, "kind", r->scene_kind);
    cJSON_AddStringToObject(scene, "acquisition_time_utc", r->time_utc);
    cJSON_AddStringToObject(scene, "cost", r->cost);
    cJSON_AddStringToObject(scene, "left", r->left);
    cJSON_AddStringToObject(scene, "right", r->right);
    number(scene, "centre_lon_deg", r->centre_lon_deg);
    number(scene, "centre_lat_deg", r->centre_lat_deg);
    number(scene, "base_height", r->base_height);
    number(scene, "convergence_deg", r->convergence_deg);
    number(scene, "ground_sample_distance_m", r->gsd_m);
    cJSON *const files = cJSON_AddArrayToObject(root, "inputs");
    for (int i = 0; i < r->file_count; i++) {
        cJSON *const file = cJSON_CreateObject();
        cJSON_AddStringToObject(file, "path", r->files[i].path);
        number(file, "size_bytes", (double)r->files[i].size_bytes);
        number(file, "mtime_s", (double)r->files[i].mtime_s);
        cJSON_AddItemToArray(files, file);
    }
}

static void add_grid(cJSON *root, const SdmProduct *p, int vertical)
{
    const bool unknown = p->report.stack && p->report.stack->datum_unknown;
    const SdmGrid *const g = &p->grid;
    cJSON *const to = cJSON_AddObjectToObject(root, "grid");
    number(to, "x0", g->x0);
    number(to, "y0", g->y0);
    number(to, "spacing", g->spacing);
    cJSON_AddStringToObject(to, "spacing_unit", g->geographic ? "degree" : "unit of the CRS");
    number(to, "cols", (double)g->cols);
    number(to, "rows", (double)g->rows);
    cJSON_AddStringToObject(to, "crs_wkt", g->wkt);
    cJSON_AddStringToObject(to, "vertical_datum", unknown ? "unknown" : sdm_vertical_name(vertical));
    number(to, "height_step_m", p->survey.step_m);
    if (!p->report.stack)
        number(to, "qa_score_step", SDM_SCORE_STEP);
    number(to, p->report.stack ? "qa_nmad_step_m" : "qa_gap_step_m", p->ray_error_step_m);
}

static void add_result(cJSON *root, const SdmProduct *p)
{
    static const int percent[] = {1, 5, 25, 50, 75, 95, 99};
    const SdmSurvey *const s = &p->survey;
    char name[24];
    cJSON *const cells = cJSON_AddObjectToObject(root, "cells");
    number(cells, "total", (double)s->cells);
    number(cells, "with_height", (double)s->valid);
    number(cells, "share_with_height", (double)s->valid / (double)s->cells);
    cJSON *const mask = cJSON_AddObjectToObject(cells, "mask_bits");
    for (int b = 0; b < sdm_qa_bits(&p->report); b++)
        number(mask, sdm_qa_names[b], (double)s->mask_bits[b]);
    cJSON *const h = cJSON_AddObjectToObject(root, "height_m");
    number(h, "min", s->valid ? (double)s->low * s->step_m : NAN);
    number(h, "max", s->valid ? (double)s->high * s->step_m : NAN);
    number(h, "mean", sdm_survey_mean_m(s));
    number(h, "std", sdm_survey_std_m(s));
    number(h, "median", sdm_survey_quantile_m(s, 0.5));
    for (int i = 0; i < 7; i++) {
        snprintf(name, sizeof name, "p%02d", percent[i]);
        number(h, name, sdm_survey_quantile_m(s, percent[i] / 100.0));
    }
    if (!p->report.stack) {
        number(h, "searched_min", p->report.hmin_m);
        number(h, "searched_max", p->report.hmax_m);
    }
}

static void add_rounds(cJSON *to, const SdmPointReport *points)
{
    cJSON *const rounds = cJSON_AddArrayToObject(to, "rounds");
    for (int i = 0; points && i < points->rounds; i++) {
        const SdmPointRound *const r = &points->round[i];
        cJSON *const round = cJSON_CreateObject();
        number(round, "level", r->level);
        number(round, "matches", r->matches);
        number(round, "inliers", r->inliers);
        number(round, "degree", r->degree);
        number(round, "before_median_px", r->before_median_px);
        number(round, "before_nmad_px", r->before_nmad_px);
        number(round, "after_nmad_px", r->after_nmad_px);
        number(round, "cross_validation_px", r->cross_validation_px);
        number(round, "profile_rms_px", r->profile_rms_px);
        cJSON_AddItemToArray(rounds, round);
    }
}

static void add_pointing(cJSON *root, const SdmReport *report)
{
    const SdmPointing *const p = report->pointing;
    cJSON *const to = cJSON_AddObjectToObject(root, "pointing");
    if (p) {
        numbers(to, "direction", p->dir, 2);
        numbers(to, "centre_px", p->centre, 2);
        numbers(to, "scale_px", p->scale, 2);
        number(to, "degree", p->degree);
        numbers(to, "coefficients_px", p->coef, p->terms);
        cJSON *const profile = cJSON_AddObjectToObject(to, "profile");
        number(profile, "row0", (double)p->profile_row0);
        number(profile, "step_px", p->profile_step_px);
        numbers(profile, "values_px", p->profile_px, p->profile_count);
    }
    add_rounds(to, report->points);
}

static void add_trust(cJSON *root, const SdmQuality *d)
{
    cJSON *const to = cJSON_AddObjectToObject(root, "trust");
    cJSON_AddBoolToObject(to, "doubtful", d->count > 0);
    cJSON *const list = cJSON_AddArrayToObject(to, "warnings");
    for (int i = 0; i < d->count; i++)
        cJSON_AddItemToArray(list, cJSON_CreateString(d->text[i]));
    number(to, "matched_share_of_texture", d->matched_share);
    number(to, "ray_gap_median_px", d->ray_error_median_px);
}

static void add_work(cJSON *root, SdmContext *ctx, const SdmReport *r)
{
    cJSON *const to = cJSON_AddObjectToObject(root, "work");
    number(to, "wall_s", r->wall_s);
    cJSON *const stages = cJSON_AddObjectToObject(to, "stage_s");
    for (int i = 1; i < 10; i++)
        number(stages, sdm_stage_names[i], sdm_stage_time(ctx, i));
    number(to, "threads", sdm_threads(ctx));
    number(to, "memory_peak_bytes", (double)sdm_memory_peak(ctx));
    number(to, "memory_budget_bytes", (double)sdm_options(ctx)->memory_bytes);
    number(to, "blocks", r->blocks);
    number(to, "blocks_resumed", r->blocks_resumed);
    number(to, "frame_cols", (double)r->frame_cols);
    number(to, "frame_rows", (double)r->frame_rows);
    number(to, "lattice_error_px", r->lattice_error_px);
}

/* Names of files may hold bytes that are no UTF-8: replaced, as JSON has no others. */
static void add_utf8(SdmText *t, const char *json)
{
    const char *from = json;
    while (*json) {
        const int n = sdm_utf8_length(json);
        json += n ? n : 1;
        if (n && *json)
            continue;
        sdm_text_raw(t, from, (size_t)(json - from) - (n ? 0 : 1));
        if (!n)
            sdm_text_raw(t, "\\ufffd", 6);
        from = json;
    }
    sdm_text_raw(t, "\n", 1);
}

SdmStatus sdm_report_write(SdmContext *ctx, const SdmProduct *p)
{
    SdmStatus st = SDM_OK;
    SdmText text = {.ctx = ctx};
    cJSON *const root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "program", "stereodem");
    cJSON_AddStringToObject(root, "version", SDM_VERSION);
    cJSON_AddStringToObject(root, "gdal", GDALVersionInfo("RELEASE_NAME"));
    cJSON_AddStringToObject(root, "output", p->names->path[SDM_FILE_DEM]);
    if (p->report.stack)
        sdm_stack_json(root, p->report.stack);
    else
        add_inputs(root, &p->report);
    add_options(root, sdm_options(ctx), p->report.stack ? SDM_CMD_STACK : SDM_CMD_RUN);
    add_grid(root, p, sdm_options(ctx)->vertical);
    add_result(root, p);
    if (p->report.doubts)
        add_trust(root, p->report.doubts);
    if (!p->report.stack)
        add_pointing(root, &p->report);
    add_work(root, ctx, &p->report);
    char *const json = cJSON_Print(root);
    cJSON_Delete(root);
    if (!json)
        return sdm_fail(ctx, SDM_ERR_MEMORY, "out of memory while the report was written");
    add_utf8(&text, json);
    cJSON_free(json);
    st = sdm_text_write(&text, p->names->part[SDM_FILE_JSON]);
    sdm_text_close(&text);
    return st;
}
