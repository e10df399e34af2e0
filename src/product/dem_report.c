/* A product -> the sections of its report that every DEM has. */
// SPDX-License-Identifier: Apache-2.0
#include "product/dem_report.h"
#include "core/options.h"
#include "core/path.h"
#include "core/secrets.h"
#include "geo/vertical_datum.h"

#include <gdal.h>
#include <math.h>
#include <string.h>

const SdmScale sdm_scale_seen = {90.0, 70.0,
                                 "good from 90 %, poor below 70 %; clouds and water remain without heights"};
const SdmScale sdm_scale_filled = {2.0, 10.0, "good up to 2 %, poor above 10 %"};

void sdm_report_program(SdmReport *r, const SdmProduct *p)
{
    SDM_REPORT(r->root, SDM_FIELD("program", "stereodem"), SDM_FIELD("version", SDM_VERSION),
               SDM_FIELD("gdal", GDALVersionInfo("RELEASE_NAME")));
    if (p->request.options->output)
        sdm_report_text(r->root, "output", p->request.options->output);
}

/* Effective value of an option that was not given: the value that was found, else its default in words. */
static const char *effective(SdmReport *r, const SdmOptionSpec *spec, const SdmOptions *opt,
                             const SdmEffective *found, const char *value)
{
    const char *const name = spec->name;
    if (!strcmp(name, "--threads"))
        return sdm_report_printf(r, "%d", found->threads);
    if (!strcmp(name, "--tr"))
        return sdm_report_printf(r, "%.6g %s", found->grid->spacing,
                                 found->grid->geographic ? "degrees" : "m");
    if (!strcmp(name, "--t_srs")) { /* the name stands first in the WKT, in quotes */
        const char *const quote = strchr(found->grid->wkt, '"');
        return quote ? sdm_report_printf(r, "%.*s", (int)strcspn(quote + 1, "\""), quote + 1) : value;
    }
    if (!strcmp(name, "--cost") && found->cost)
        return found->cost;
    if (!strcmp(name, "--hmin") && !isnan(found->hmin_m) && isnan(opt->hmin_m))
        return sdm_report_printf(r, "%.0f m, searched", found->hmin_m);
    if (!strcmp(name, "--hmax") && !isnan(found->hmax_m) && isnan(opt->hmax_m))
        return sdm_report_printf(r, "%.0f m, searched", found->hmax_m);
    const bool unset = !*value || (spec->fallback && !strcmp(value, "0") && spec->lo > 0.0);
    return unset ? spec->fallback ? spec->fallback : "none" : value;
}

enum { VALUE = 4096 }; /* length of a value as text */

/* The value as --options reads it. */
static void put_value(SdmReportItem to, const char *key, const SdmOptionSpec *spec, const SdmOptions *opt,
                      const char *value)
{
    char shown[VALUE];
    const char *const *pair = (const char *const *)(const void *)((const char *)opt + spec->offset);
    if (spec->type != SDM_OPT_KEY_VALUES)
        sdm_report_text(to, key, value);
    else
        for (const SdmReportItem list = sdm_report_list(to, key); *pair; pair++) {
            snprintf(shown, sizeof shown, "%s", *pair);
            sdm_hide_secrets(shown, true);
            sdm_report_text(list, NULL, shown);
        }
}

SdmReportItem sdm_report_options(SdmReport *r, const SdmOptions *opt, unsigned command,
                                 const SdmEffective *found)
{
    const SdmReportItem to =
        sdm_report_section(r, "options", "Parameters", SDM_PAGE_PARAMETERS, SDM_STYLE_HALF);
    const SdmReportItem values =
        sdm_report_section(r, "effective_options", NULL, SDM_PAGE_NONE, SDM_STYLE_HALF);
    SdmOptions usual;
    char key[64], value[VALUE];
    sdm_options_default(&usual);
    for (int folded = 0; folded < 2; folded++) { /* those that were given, then the others */
        sdm_report_fold(to, folded ? "options that were not given" : NULL);
        for (const SdmOptionSpec *s = sdm_option_table; s->name; s++) {
            if (!(s->commands & command))
                continue;
            sdm_option_plain_name(s, key, sizeof key);
            const bool given = sdm_option_show_other(s, opt, &usual, value, sizeof value);
            const char *const meant = effective(r, s, opt, found, value);
            if (!folded) {
                put_value(to, key, s, opt, value);
                sdm_report_text(values, key, meant);
            }
            if (given == !folded && (folded || *value))
                sdm_report_row(to, "%s\t%s", s->name, meant);
        }
    }
    sdm_report_fold(to, NULL);
    return to;
}

static const char *datum_of(const SdmProduct *p, const char *unknown, bool phrase)
{
    const SdmProductRequest *const request = &p->request;
    const SdmVerticalDatum *const datum = sdm_vertical_datum(request->options->vertical);
    return request->datum_unknown ? unknown : phrase ? datum->phrase : datum->name;
}

SdmReportItem sdm_report_grid(SdmReport *r, const SdmProduct *p)
{
    const SdmGrid *const g = p->request.grid;
    const SdmReportItem to = sdm_report_section(r, "grid", NULL, SDM_PAGE_NONE, SDM_STYLE_CARD);
    SDM_REPORT(to, SDM_FIELD("x0", g->x0), SDM_FIELD("y0", g->y0), SDM_FIELD("spacing", g->spacing),
               SDM_FIELD("spacing_unit", g->geographic ? "degree" : "unit of the CRS"),
               SDM_FIELD("cols", g->cols), SDM_FIELD("rows", g->rows), SDM_FIELD("crs_wkt", g->wkt),
               SDM_FIELD("vertical_datum", datum_of(p, "unknown", false)));
    if (*p->geoid)
        sdm_report_text(to, "geoid_from", p->geoid);
    sdm_report_number(to, "height_step_m", p->stats.step_m);
    return to;
}

const char *sdm_report_grid_phrase(SdmReport *r, const SdmProduct *p)
{
    const SdmGrid *const g = p->request.grid;
    const char *const unit = g->geographic                         ? "degrees"
                             : sdm_grid_spacing_m(g) == g->spacing ? "m"
                                                                   : "units of the CRS";
    return sdm_report_printf(r, "Heights in metres above %s, cells of %.6g %s, %lld x %lld.",
                             datum_of(p, "a datum that the DEMs do not declare", true), g->spacing, unit,
                             (long long)g->cols, (long long)g->rows);
}

double sdm_report_pixel_m(const SdmProduct *p, int cols)
{
    const SdmGrid *const g = p->request.grid;
    const double middle_deg = g->y0 - 0.5 * (double)g->rows * g->spacing;
    const double narrower = g->geographic ? cos(middle_deg * (3.14159265358979323846 / 180.0)) : 1.0;
    return sdm_grid_spacing_m(g) * narrower * (double)g->cols / cols;
}

void sdm_report_maps(SdmReport *r, const SdmProduct *p)
{
    const SdmDemStats *const s = &p->stats;
    const SdmPng *const relief = &p->page_relief, *const coverage = &p->coverage;
    SdmReportItem to = sdm_report_section(r, NULL, "Relief", SDM_PAGE_MAPS, SDM_STYLE_CARD);
    sdm_report_picture(to, "shaded relief", relief, sdm_report_pixel_m(p, relief->width));
    sdm_report_ramp(to, sdm_relief_ramp, sdm_dem_stats_quantile_m(s, 0.01), sdm_dem_stats_quantile_m(s, 0.99),
                    "m", 4);
    to = sdm_report_section(r, NULL, "Coverage", SDM_PAGE_MAPS, SDM_STYLE_HALF);
    sdm_report_picture(to, "coverage", coverage, sdm_report_pixel_m(p, coverage->width));
    const SdmQaLayout *const qa = p->request.qa;
    for (int i = 0; i < SDM_QA_REASONS; i++)
        if (sdm_qa_reasons[i].bit & qa->legend)
            sdm_report_colour(to, sdm_qa_reasons[i].rgb, sdm_qa_words(qa, sdm_qa_reasons[i].bit));
    static const char *const title[SDM_BAND_MAPS][2] = {
        [SDM_MAP_ERROR] = {"Predicted standard error", "predicted standard error of the heights"},
        [SDM_MAP_RAY_ERROR] = {"Ray intersection error", "ray intersection error"}};
    const double step_m[SDM_BAND_MAPS] = {
        [SDM_MAP_ERROR] = sdm_qa_scale(SDM_BAND_ERROR, p->metres_step), [SDM_MAP_RAY_ERROR] = p->metres_step};
    for (int k = 0; k < SDM_BAND_MAPS; k++) {
        const SdmBandMap *const map = &p->band[k];
        if (!map->png.data)
            continue;
        to = sdm_report_section(r, NULL, title[k][0], SDM_PAGE_MAPS, SDM_STYLE_HALF);
        sdm_report_picture(to, title[k][1], &map->png, sdm_report_pixel_m(p, map->png.width));
        sdm_report_ramp(to, sdm_error_ramp, 0.0, map->high * step_m[k], "m", 2);
    }
}

void sdm_report_cells(SdmReport *r, const SdmProduct *p)
{
    const SdmDemStats *const s = &p->stats;
    const SdmReportItem to = sdm_report_section(r, "cells", "Cells by status", SDM_PAGE_MAPS, SDM_STYLE_HALF);
    SDM_REPORT(to, SDM_FIELD("total", s->cells), SDM_FIELD("seen", (double)(s->cells - s->unseen)),
               SDM_FIELD("with_height", s->valid),
               SDM_FIELD("share_with_height", (double)s->valid / (double)s->cells));
    const SdmReportItem mask = sdm_report_group(to, "mask_bits");
    for (int b = 0; b < SDM_QA_BITS; b++) {
        if (!(p->request.qa->bits >> b & 1U))
            continue;
        const double n = (double)sdm_dem_stats_count(s, 1U << b);
        sdm_report_number(mask, sdm_qa_names[b], n);
        if (n > 0.0)
            sdm_report_figure(mask, NULL, sdm_qa_words(p->request.qa, 1U << b), 100.0 * n / (double)s->cells,
                              " %", 2);
    }
}

static void add_histogram(SdmReport *r, SdmReportItem to, const SdmDemStats *s)
{
    enum { BARS = 96 };
    const double low = sdm_dem_stats_quantile_m(s, 0.001),
                 high = fmax(sdm_dem_stats_quantile_m(s, 0.999), low + 4.0 * s->bin_m);
    double *const bar = s->valid ? sdm_report_room(r, BARS + 1) : NULL;
    if (!bar)
        return;
    double *const median = bar + BARS;
    for (int i = 0; i < SDM_HISTOGRAM; i++) {
        const double k = (SDM_HISTOGRAM_FLOOR_M + (i + 0.5) * s->bin_m - low) / (high - low) * BARS;
        if (k >= 0.0 && k < BARS)
            bar[(int)k] += (double)s->histogram[i];
    }
    *median = sdm_dem_stats_quantile_m(s, 0.5);
    sdm_report_plot(to, "histogram of heights",
                    &(SdmPlot){.x_label = "height (m)",
                               .y_label = "share of cells",
                               .x0 = low,
                               .x1 = high,
                               .no_y_ticks = true,
                               .count = 2,
                               .series = {{SDM_SERIES_BARS, "b", NULL, bar, BARS, NULL},
                                          {SDM_SERIES_VERTICAL, "m", median, NULL, 1, NULL}}});
}

SdmReportItem sdm_report_heights(SdmReport *r, const SdmProduct *p)
{
    static const int percent[] = {1, 5, 25, 50, 75, 95, 99};
    const SdmDemStats *const s = &p->stats;
    const SdmReportItem to = sdm_report_section(r, "height_m", "Heights", SDM_PAGE_HEIGHTS, SDM_STYLE_HALF);
    SDM_REPORT(to, SDM_FIELD("min", s->valid ? (double)s->low * s->step_m : NAN),
               SDM_FIELD("max", s->valid ? (double)s->high * s->step_m : NAN),
               SDM_FIELD("mean", sdm_dem_stats_mean_m(s)), SDM_FIELD("std", sdm_dem_stats_std_m(s)),
               SDM_FIELD("median", sdm_dem_stats_quantile_m(s, 0.5)));
    for (int i = 0; i < 7; i++)
        sdm_report_number(to, sdm_report_printf(r, "p%02d", percent[i]),
                          sdm_dem_stats_quantile_m(s, percent[i] / 100.0));
    if (p->band[SDM_MAP_ERROR].map.sum)
        sdm_report_number(to, "predicted_error_median", sdm_product_error_m(p));
    add_histogram(r, to, s);
    return to;
}

SdmReportItem sdm_report_doubts(SdmReport *r, const char *text, size_t pitch, int count)
{
    const SdmReportItem to = sdm_report_section(
        r, "trust", "This DEM is doubtful", count > 0 ? SDM_PAGE_WARNINGS : SDM_PAGE_NONE, SDM_STYLE_ALERT);
    SDM_REPORT(to, SDM_FIELD("doubtful", (bool)(count > 0)));
    const SdmReportItem list = sdm_report_list(to, "warnings");
    for (int i = 0; i < count; i++) {
        sdm_report_text(list, NULL, text + (size_t)i * pitch);
        sdm_report_bullet(to, text + (size_t)i * pitch);
    }
    return to;
}

void sdm_report_work(SdmReport *r, SdmContext *ctx, const SdmProduct *p, const SdmReportWork *work)
{
    double longest = 1e-9;
    const SdmReportItem to = sdm_report_section(r, "work", "Time", SDM_PAGE_TIME, SDM_STYLE_HALF);
    sdm_report_number(to, "wall_s", work->wall_s);
    const SdmReportItem stages = sdm_report_group(to, "stage_s");
    for (int i = 1; i < 10; i++)
        longest = fmax(longest, sdm_stage_time(ctx, i));
    for (int i = 1; i < 10; i++) {
        const double seconds = sdm_stage_time(ctx, i);
        sdm_report_number(stages, sdm_stage_names[i], seconds);
        if (seconds < 0.005)
            continue;
        sdm_report_bar(to, sdm_report_printf(r, "%d %s", i, sdm_stage_names[i]), seconds, " s", 2,
                       seconds / longest);
    }
    SDM_REPORT(to, SDM_FIELD("threads", sdm_threads(ctx)),
               SDM_FIELD("memory_peak_bytes", (double)sdm_memory_resident(ctx)),
               SDM_FIELD("memory_budget_bytes", p->request.options->memory_bytes),
               SDM_FIELD("blocks", work->blocks), SDM_FIELD("blocks_resumed", work->blocks_resumed),
               SDM_FIELD("frame_cols", work->frame_cols), SDM_FIELD("frame_rows", work->frame_rows),
               SDM_FIELD("lattice_error_px", work->lattice_error_px));
    sdm_report_note(to,
                    "%.1f s in all, %d threads, %.0f MiB of memory at most, %d block%s (%d taken up from an "
                    "earlier run).",
                    work->wall_s, sdm_threads(ctx), (double)sdm_memory_resident(ctx) / 1048576.0,
                    work->blocks, work->blocks == 1 ? "" : "s", work->blocks_resumed);
    if (work->device)
        sdm_report_text(to, "device", work->device);
    if (work->device_why && work->device_why[0]) {
        sdm_report_text(to, "device_why", work->device_why);
        sdm_report_note(to, "Devices: %s.", work->device_why);
    }
}

SdmStatus sdm_report_publish(SdmContext *ctx, SdmProduct *p,
                             void (*build)(SdmContext *ctx, const SdmProduct *p, const void *what,
                                           SdmReport *r),
                             const void *what, SdmReportWork *work, SdmLease *lease)
{
    SDM_CLOSED_BY(sdm_report_close) SdmReport r = {0};
    const double start = sdm_now_s();
    PASS(sdm_product_complete(ctx, p));
    work->wall_s += sdm_now_s() - start;
    sdm_report_open(ctx, &r);
    build(ctx, p, what, &r);
    return sdm_product_publish(ctx, p, &r, lease);
}
