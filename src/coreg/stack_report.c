/* Median of several DEMs -> its product and the report on it. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/stack_report.h"
#include "core/options.h"
#include "core/stats.h"

#include <math.h>

static const char KIND[] = "median of DEMs";

static void add_title(SdmReport *r, const SdmStackReport *s, const char *output)
{
    sdm_report_title(r, output, "stack of %d DEMs · %s · stereodem %s", s->count, KIND, SDM_VERSION);
}

static void add_stack(SdmReport *r, const SdmStackReport *s)
{
    const SdmReportItem to = sdm_report_section(r, "stack", NULL, SDM_PAGE_NONE, SDM_STYLE_CARD);
    sdm_report_number(to, "count", s->count);
    sdm_report_number(to, "groups", s->groups);
    sdm_report_number(to, "pairs", s->pairs);
    sdm_report_text(to, "align", s->align);
    sdm_report_number(to, "disagree_m", s->disagree_m);
    const SdmReportItem dems = sdm_report_list(to, "dems");
    for (int i = 0; i < s->count; i++) {
        const SdmStackedDem *const d = &s->dems[i];
        const SdmReportItem dem = sdm_report_group(dems, NULL);
        sdm_report_text(dem, "path", d->path);
        if (*d->date)
            sdm_report_text(dem, "date", d->date);
        sdm_report_numbers(dem, "apply_m", d->move_m, 3);
        sdm_report_number(dem, "nmad_m", d->nmad_m);
        sdm_report_number(dem, "smooth_m", d->smooth_m);
        sdm_report_number(dem, "cells_compared", (double)d->samples);
        sdm_report_number(dem, "group", d->group);
        sdm_report_number(dem, "partners", d->partners);
    }
}

/* Median over the DEMs that were compared; NaN when none was. */
static double median_nmad_m(SdmReport *r, const SdmStackReport *s)
{
    double *const nmad_m = sdm_report_room(r, s->count);
    for (int i = 0; nmad_m && i < s->count; i++)
        nmad_m[i] = s->dems[i].nmad_m;
    return nmad_m ? sdm_median_f64(nmad_m, sdm_drop_nan_f64(nmad_m, s->count)) : NAN;
}

/* Quality of the stack, as the differences between its DEMs show it. */
static void add_summary(SdmReport *r, const SdmStackReport *s, const SdmProduct *p, double wall_s)
{
    const SdmDemStats *const stats = &p->stats;
    const double valid = fmax((double)stats->valid, 1.0);
    const double filled = (double)sdm_dem_stats_count(stats, SDM_QA_FILLED),
                 disagree = (double)sdm_dem_stats_count(stats, SDM_QA_DISAGREE);
    const SdmReportItem to =
        sdm_report_section(r, NULL, "How good is it?", SDM_PAGE_SUMMARY, SDM_STYLE_FACTS);
    sdm_report_figure(to, NULL, "DEMs", s->count, "", 0);
    sdm_report_figure(to, NULL, "groups of DEMs that overlap", s->groups, "", 0);
    sdm_report_figure(to, NULL, "of the cells have a height",
                      100.0 * (double)stats->valid / (double)stats->cells, " %", 1);
    sdm_report_figure(to, NULL, "of these are interpolated in every DEM", 100.0 * filled / valid, " %", 1);
    sdm_report_figure(to, NULL, "of these have only two DEMs, which disagree", 100.0 * disagree / valid, " %",
                      1);
    sdm_report_figure(to, NULL, "NMAD of a single DEM against the others (median)", median_nmad_m(r, s), " m",
                      2);
    sdm_report_figure(to, NULL, "median height", sdm_dem_stats_quantile_m(stats, 0.5), " m", 1);
    sdm_report_figure(to, NULL, "from start to end", wall_s, " s", 1);
    sdm_report_note(to,
                    "%s An error that all DEMs share cannot be seen here: `stereodem compare DEM REFERENCE`.",
                    sdm_report_grid_phrase(r, p));
}

static void add_dem(SdmReportItem to, const SdmStackReport *s, const SdmStackedDem *d)
{
    char group[32], figure[2][24];
    const double figure_m[2] = {d->nmad_m, d->smooth_m};
    for (int k = 0; k < 2; k++)
        snprintf(figure[k], sizeof figure[k], isnan(figure_m[k]) ? k ? "left in" : "none" : "%.2f m",
                 figure_m[k]);
    snprintf(group, sizeof group, s->groups > 1 ? " (group %d)" : "", d->group + 1);
    sdm_report_row(to, "%s%s\t%.2f, %.2f, %.2f m\t%s\t%s", d->path,
                   d->partners ? group : " (overlaps no other: not moved)", d->move_m[0], d->move_m[1],
                   d->move_m[2], figure[0], figure[1]);
}

static void add_dems(SdmReport *r, const SdmStackReport *s)
{
    const SdmReportItem to =
        sdm_report_section(r, NULL, "DEMs and their moves", SDM_PAGE_ALIGNMENT, SDM_STYLE_HALF);
    sdm_report_row(to, "DEM\tmoved east, north, up\tNMAD\tsmooth error");
    for (int i = 0; i < s->count; i++)
        add_dem(to, s, &s->dems[i]);
}

SdmStatus sdm_stack_product_open(SdmContext *ctx, const SdmOptions *opt, const SdmGrid *grid,
                                 const SdmStackReport *report, SdmKeptProduct *keep, SdmProduct **out)
{
    char id[64];
    SdmProductRequest request = {.options = opt,
                                 .keep = keep,
                                 .grid = grid,
                                 .qa = &sdm_qa_stack,
                                 .trend = report->trend ? sdm_trend_limit(report->trend) : NULL,
                                 .datum_unknown = report->datum_unknown,
                                 .id = id,
                                 .kind = KIND};
    snprintf(id, sizeof id, "stack of %d DEMs", report->count);
    for (int i = 0; i < report->count && report->trend; i++) { /* ISO 8601: sorted as texts */
        const char *const date = report->dems[i].date;
        if (!request.first_utc || strcmp(date, request.first_utc) < 0)
            request.first_utc = date;
        if (!request.last_utc || strcmp(date, request.last_utc) > 0)
            request.last_utc = date;
    }
    return sdm_product_open(ctx, &request, out);
}

typedef struct StackDone {
    const SdmStackReport *report;
    SdmReportWork work;
} StackDone;

static void build(SdmContext *ctx, const SdmProduct *p, const void *what, SdmReport *r)
{
    const SdmStackReport *const s = ((const StackDone *)what)->report;
    const SdmReportWork *const work = &((const StackDone *)what)->work;
    const SdmOptions *const opt = p->request.options;
    add_title(r, s, opt->output);
    sdm_report_program(r, p);
    add_stack(r, s);
    const SdmEffective found = {
        .grid = p->request.grid, .hmin_m = NAN, .hmax_m = NAN, .threads = sdm_threads(ctx)};
    (void)sdm_report_options(r, opt, SDM_CMD_STACK, &found);
    add_summary(r, s, p, work->wall_s);
    sdm_report_number(sdm_report_grid(r, p), "qa_nmad_step_m", p->metres_step);
    if (s->trend)
        sdm_trend_report(r, s->trend, sdm_report_pixel_m(p, (int)p->request.grid->cols));
    sdm_report_maps(r, p);
    sdm_report_cells(r, p);
    (void)sdm_report_heights(r, p);
    add_dems(r, s);
    sdm_report_work(r, ctx, p, work);
}

SdmStatus sdm_stack_product_finish(SdmContext *ctx, SdmProduct *p, const SdmStackReport *report,
                                   const SdmReportWork *work, SdmLease *lease)
{
    StackDone done = {.report = report, .work = *work};
    return sdm_report_publish(ctx, p, build, &done, &done.work, lease);
}
