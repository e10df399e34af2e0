/* A product -> the sections of its report that every DEM has. */
// SPDX-License-Identifier: Apache-2.0
#include "product/dem_report.h"
#include "core/options.h"
#include "geo/vertical_datum.h"
#include "product/picture.h"

#include <gdal.h>
#include <math.h>
#include <string.h>

void sdm_report_program(SdmReport *r, const SdmProduct *p)
{
    sdm_report_text(r->root, "program", "stereodem");
    sdm_report_text(r->root, "version", SDM_VERSION);
    sdm_report_text(r->root, "gdal", GDALVersionInfo("RELEASE_NAME"));
    sdm_report_text(r->root, "output", sdm_product_request(p)->options->output);
}

SdmReportItem *sdm_report_options(SdmReport *r, const SdmOptions *opt, unsigned command)
{
    SdmReportItem *const to =
        sdm_report_section(r, "options", "Parameters", SDM_PAGE_PARAMETERS, SDM_STYLE_HALF);
    char key[64], value[4096];
    for (const SdmOptionSpec *s = sdm_option_table; s->name; s++) {
        if (!(s->commands & command))
            continue;
        snprintf(key, sizeof key, "%s", s->name + strspn(s->name, "-"));
        for (char *c = key; *c; c++)
            *c = *c == '-' ? '_' : *c;
        sdm_option_print(s, opt, value, sizeof value);
        sdm_report_entry(to, key, s->name, value);
    }
    return to;
}

static const char *datum_of(const SdmProduct *p, const char *unknown, bool phrase)
{
    const SdmProductRequest *const request = sdm_product_request(p);
    const SdmVerticalDatum *const datum = sdm_vertical_datum(request->options->vertical);
    return request->datum_unknown ? unknown : phrase ? datum->phrase : datum->name;
}

SdmReportItem *sdm_report_grid(SdmReport *r, const SdmProduct *p)
{
    const SdmGrid *const g = sdm_product_request(p)->grid;
    SdmReportItem *const to = sdm_report_section(r, "grid", NULL, SDM_PAGE_NONE, SDM_STYLE_CARD);
    sdm_report_number(to, "x0", g->x0);
    sdm_report_number(to, "y0", g->y0);
    sdm_report_number(to, "spacing", g->spacing);
    sdm_report_text(to, "spacing_unit", g->geographic ? "degree" : "unit of the CRS");
    sdm_report_number(to, "cols", (double)g->cols);
    sdm_report_number(to, "rows", (double)g->rows);
    sdm_report_text(to, "crs_wkt", g->wkt);
    sdm_report_text(to, "vertical_datum", datum_of(p, "unknown", false));
    sdm_report_number(to, "height_step_m", sdm_product_stats(p)->step_m);
    return to;
}

const char *sdm_report_grid_phrase(SdmReport *r, const SdmProduct *p)
{
    const SdmGrid *const g = sdm_product_request(p)->grid;
    const char *const unit = g->geographic                         ? "degrees"
                             : sdm_grid_spacing_m(g) == g->spacing ? "m"
                                                                   : "units of the CRS";
    return sdm_report_printf(r, "Heights in metres above %s, cells of %.6g %s, %lld x %lld.",
                             datum_of(p, "a datum that the DEMs do not declare", true), g->spacing, unit,
                             (long long)g->cols, (long long)g->rows);
}

void sdm_report_maps(SdmReport *r, const SdmProduct *p)
{
    enum { STEPS = 12 };
    const SdmDemStats *const s = sdm_product_stats(p);
    SdmReportItem *to = sdm_report_section(r, NULL, "Relief", SDM_PAGE_MAPS, SDM_STYLE_CARD);
    sdm_report_picture(to, "shaded relief", sdm_product_relief(p));
    SdmReportItem *legend = sdm_report_legend(to);
    sdm_report_colour(legend, NULL, sdm_report_printf(r, "%.0f m", sdm_dem_stats_quantile_m(s, 0.01)));
    for (int i = 0; i < STEPS; i++) {
        double rgb[3];
        sdm_relief_colour(i / (STEPS - 1.0), rgb);
        const unsigned char bytes[3] = {(unsigned char)(rgb[0] + 0.5), (unsigned char)(rgb[1] + 0.5),
                                        (unsigned char)(rgb[2] + 0.5)};
        sdm_report_colour(legend, bytes, NULL);
    }
    sdm_report_colour(legend, NULL, sdm_report_printf(r, "%.0f m", sdm_dem_stats_quantile_m(s, 0.99)));
    to = sdm_report_section(r, NULL, "Coverage", SDM_PAGE_MAPS, SDM_STYLE_HALF);
    sdm_report_picture(to, "coverage", sdm_product_coverage(p));
    legend = sdm_report_legend(to);
    for (const SdmCoverageKind *k = sdm_coverage_kinds; k->bit; k++)
        if (k->bit & sdm_product_request(p)->qa->legend)
            sdm_report_colour(legend, k->rgb, sdm_qa_words[__builtin_ctz(k->bit)]);
}

void sdm_report_cells(SdmReport *r, const SdmProduct *p)
{
    const SdmDemStats *const s = sdm_product_stats(p);
    SdmReportItem *const to =
        sdm_report_section(r, "cells", "Cells by what they met", SDM_PAGE_MAPS, SDM_STYLE_HALF);
    sdm_report_number(to, "total", (double)s->cells);
    sdm_report_number(to, "with_height", (double)s->valid);
    sdm_report_number(to, "share_with_height", (double)s->valid / (double)s->cells);
    SdmReportItem *const mask = sdm_report_group(to, "mask_bits");
    for (int b = 0; b < sdm_product_request(p)->qa->mask_bits; b++) {
        const double n = (double)sdm_dem_stats_count(s, 1U << b);
        sdm_report_number(mask, sdm_qa_names[b], n);
        sdm_report_figure(mask, NULL, sdm_qa_words[b], 100.0 * n / (double)s->cells, " %", 2);
    }
}

static void add_histogram(SdmReportItem *to, const SdmDemStats *s)
{
    enum { BARS = 96 };
    double top = 1.0;
    const double low = sdm_dem_stats_quantile_m(s, 0.001),
                 high = fmax(sdm_dem_stats_quantile_m(s, 0.999), low + 4.0 * s->bin_m);
    SdmPlot *const plot = s->valid && to ? sdm_report_plot(to, "histogram of heights") : NULL;
    double *const bar = plot ? sdm_report_room(to->report, BARS + 1) : NULL;
    if (!bar)
        return;
    double *const median = bar + BARS;
    for (int i = 0; i < SDM_HISTOGRAM; i++) {
        const double k = (SDM_HISTOGRAM_FLOOR_M + (i + 0.5) * s->bin_m - low) / (high - low) * BARS;
        if (k >= 0.0 && k < BARS)
            bar[(int)k] += (double)s->histogram[i];
    }
    for (int i = 0; i < BARS; i++)
        top = fmax(top, bar[i]);
    *median = sdm_dem_stats_quantile_m(s, 0.5);
    *plot = (SdmPlot){
        .x_label = "height (m)",
        .y_label = "share of cells",
        .x0 = low,
        .x1 = high,
        .y1 = top,
        .height = 200,
        .count = 2,
        .series = {{SDM_SERIES_BARS, "b", NULL, bar, BARS}, {SDM_SERIES_VERTICAL, "m", median, NULL, 1}}};
}

SdmReportItem *sdm_report_heights(SdmReport *r, const SdmProduct *p)
{
    static const int percent[] = {1, 5, 25, 50, 75, 95, 99};
    const SdmDemStats *const s = sdm_product_stats(p);
    char name[24];
    SdmReportItem *const to = sdm_report_section(r, "height_m", "Heights", SDM_PAGE_HEIGHTS, SDM_STYLE_HALF);
    sdm_report_number(to, "min", s->valid ? (double)s->low * s->step_m : NAN);
    sdm_report_number(to, "max", s->valid ? (double)s->high * s->step_m : NAN);
    sdm_report_number(to, "mean", sdm_dem_stats_mean_m(s));
    sdm_report_number(to, "std", sdm_dem_stats_std_m(s));
    sdm_report_number(to, "median", sdm_dem_stats_quantile_m(s, 0.5));
    for (int i = 0; i < 7; i++) {
        snprintf(name, sizeof name, "p%02d", percent[i]);
        sdm_report_number(to, name, sdm_dem_stats_quantile_m(s, percent[i] / 100.0));
    }
    add_histogram(to, s);
    return to;
}

void sdm_report_work(SdmReport *r, SdmContext *ctx, const SdmProduct *p, const SdmReportWork *work)
{
    double longest = 1e-9;
    SdmReportItem *const to = sdm_report_section(r, "work", "Time", SDM_PAGE_TIME, SDM_STYLE_HALF);
    sdm_report_number(to, "wall_s", work->wall_s);
    SdmReportItem *const stages = sdm_report_group(to, "stage_s");
    for (int i = 1; i < 10; i++)
        longest = fmax(longest, sdm_stage_time(ctx, i));
    for (int i = 1; i < 10; i++) {
        const double seconds = sdm_stage_time(ctx, i);
        SdmReportItem *const bar =
            sdm_report_figure(stages, sdm_stage_names[i],
                              sdm_report_printf(r, "%d %s", i, sdm_stage_names[i]), seconds, " s", 2);
        if (bar)
            bar->share = seconds / longest;
    }
    sdm_report_number(to, "threads", sdm_threads(ctx));
    sdm_report_number(to, "memory_peak_bytes", (double)sdm_memory_peak(ctx));
    sdm_report_number(to, "memory_budget_bytes", (double)sdm_product_request(p)->options->memory_bytes);
    sdm_report_number(to, "blocks", work->blocks);
    sdm_report_number(to, "blocks_resumed", work->blocks_resumed);
    sdm_report_number(to, "frame_cols", (double)work->frame_cols);
    sdm_report_number(to, "frame_rows", (double)work->frame_rows);
    sdm_report_number(to, "lattice_error_px", work->lattice_error_px);
    sdm_report_note(
        to, "%.1f s in all, %d threads, %.0f MB at most, %d blocks (%d taken up from an earlier run).",
        work->wall_s, sdm_threads(ctx), (double)sdm_memory_peak(ctx) * 1e-6, work->blocks,
        work->blocks_resumed);
}

SdmStatus sdm_report_publish(SdmContext *ctx, SdmProduct *p,
                             void (*build)(SdmContext *ctx, const SdmProduct *p, const void *what, SdmReport *r),
                             const void *what, SdmReportWork *work, SdmLease *lease)
{
    SdmStatus st = SDM_OK;
    SdmReport r = {0};
    const double start = sdm_now_s();
    TRY(sdm_product_complete(ctx, p));
    work->wall_s += sdm_now_s() - start;
    sdm_report_open(ctx, &r);
    build(ctx, p, what, &r);
    TRY(sdm_product_publish(ctx, p, &r, lease));
done:
    sdm_report_close(&r);
    return st;
}
