/* Median of several DEMs -> its product and the report on it. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/stack.h"
#include "core/options.h"
#include "core/stats.h"
#include "coreg/stack_trend.h"
#include "input/source.h"
#include "product/picture.h"
#include "product/report.h"

#include <math.h>
#include <string.h>

/* ---- the trend: map, figures, histogram, curves of three places ---- */

enum { FALLS, RISES, STAYS, KINDS };

static void add_histogram(SdmReport *r, const SdmStackTrend *t)
{
    enum { BARS = 80 };
    double bar[BARS + 1] = {0.0}; /* and the rate 0 */
    for (int64_t i = 0; i < t->cols * t->rows; i++) {
        const double k = ((double)t->line[i].rate / t->limit + 1.0) * 0.5 * BARS;
        if (k >= 0.0 && k < BARS)
            bar[(int)k] += 1.0;
    }
    const SdmPlot plot = {.x_label = "rate (m a year)",
                          .y_label = "places",
                          .x0 = -t->limit,
                          .x1 = t->limit,
                          .height = 200,
                          .count = 2,
                          .series = {{SDM_SERIES_BARS, "b", NULL, bar, BARS, NULL},
                                     {SDM_SERIES_VERTICAL, "m", bar + BARS, NULL, 1, NULL}}};
    sdm_report_plot(sdm_report_section(r, NULL, "Rates", SDM_PAGE_HEIGHTS, SDM_STYLE_HALF),
                    "histogram of rates", &plot);
}

/* ---- curves ---- */

/* The best example of a kind among the samples; -1: none that is certain. */
static int64_t find_example(const SdmStackTrend *t, int kind)
{
    int64_t best = -1;
    double most = kind == STAYS ? -INFINITY : 3.0;
    for (int64_t i = 0; i < t->cols * t->rows; i++) {
        const double ratio = (double)t->line[i].rate / (double)t->line[i].error;
        const double good = kind == FALLS   ? -ratio
                            : kind == RISES ? ratio
                                            : (double)t->line[i].dates - fabs(ratio);
        if (good > most && (kind != STAYS || !t->moving[i])) {
            most = good;
            best = i;
        }
    }
    return best;
}

/* year: room for 3 x count + 4. */
static void add_curve(SdmReport *r, const SdmStack *s, int64_t at, double *year)
{
    const SdmStackTrend *const t = s->trend;
    const SdmTrendLine *const l = &t->line[at];
    const int64_t col = at % t->cols * s->sample_step + s->sample_step / 2,
                  row = at / t->cols * s->sample_step + s->sample_step / 2;
    const double shift =
        2000.0 - sdm_time_days("2000-01-01T00:00:00Z") / 365.25; /* to years of the calendar */
    const SdmReportItem to =
        sdm_report_section(r, NULL, "Heights of a cell", SDM_PAGE_HEIGHTS, SDM_STYLE_HALF);
    double *const height_m = year + s->count, *const off_m = height_m + s->count,
                  *const line = off_m + s->count;
    int n = 0;
    line[0] = INFINITY;
    line[1] = -INFINITY;
    for (int i = 0; i < s->count; i++) {
        const double h = (double)sdm_layer_level(s, &s->layer[i], at % t->cols, at / t->cols);
        if (isnan(h))
            continue;
        height_m[n] = h;
        off_m[n] = fabs(h - (double)l->level_m - (double)l->rate * (s->layer[i].year - t->mid_year));
        year[n++] = s->layer[i].year + shift;
        line[0] = fmin(line[0], year[n - 1]);
        line[1] = fmax(line[1], year[n - 1]);
    }
    for (int k = 0; k < 2; k++)
        line[2 + k] = (double)l->level_m + (double)l->rate * (line[k] - shift - t->mid_year);
    const double reach_m = 4.0 * fmax(1.4826 * sdm_median_f64(off_m, n), 0.5);
    const SdmPlot plot = {.x_label = "year",
                          .y_label = "height (m)",
                          .x0 = line[0] - 0.3,
                          .x1 = line[1] + 0.3,
                          .y0 = fmin(line[2], line[3]) - reach_m,
                          .y1 = fmax(line[2], line[3]) + reach_m,
                          .count = 2,
                          .series = {{SDM_SERIES_POINTS, "after", year, height_m, n, NULL},
                                     {SDM_SERIES_LINE, "p", line, line + 2, 2, NULL}}};
    sdm_report_plot(to, "heights by date", &plot);
    sdm_report_note(to, "%+.2f ± %.2f m a year at %.9g, %.9g; heights of %d dates.",
                    round(100.0 * (double)l->rate) / 100.0 + 0.0, /* no -0.00 */
                    (double)l->error, s->grid.x0 + ((double)col + 0.5) * s->grid.spacing,
                    s->grid.y0 - ((double)row + 0.5) * s->grid.spacing, n);
}

/* ---- figures ---- */

/* The sections on a trend.  cell_m: side of a cell from west to east. */
static void report_trend(SdmReport *r, const SdmStack *s, double cell_m)
{
    const SdmStackTrend *const t = s->trend;
    const SdmReportItem to =
        sdm_report_section(r, "trend", "Rate of the heights", SDM_PAGE_MAPS, SDM_STYLE_CARD);
    double *const room = sdm_report_room(r, 3 * s->count + 4);
    if (!room)
        return;
    SDM_REPORT(to, SDM_FIELD("first", t->first->date), SDM_FIELD("last", t->last->date));
    sdm_report_picture(to, "rate", &t->map, cell_m * t->mean.factor * t->mean.cols / t->map.width);
    sdm_report_ramp(to, sdm_change_ramp, -t->limit, t->limit, "m a year", 2);
    sdm_report_figure(to, "error_median", "standard error of the rate (median)", t->usual_error, " m a year",
                      3);
    sdm_report_figure(to, "stable_percent", "of the ground is stable: its rate is taken for 0",
                      100.0 * t->stable, " %", 1);
    sdm_report_note(to,
                    "Heights of %.10s to %.10s. Errors are those of a cell; neighbours share most of them.",
                    t->first->date, t->last->date);
    add_histogram(r, t);
    for (int kind = 0; kind < KINDS; kind++) {
        const int64_t at = find_example(t, kind);
        if (at >= 0)
            add_curve(r, s, at, room);
    }
}

static const char KIND[] = "median of DEMs";

static void add_stack(SdmReport *r, const SdmStackReport *s)
{
    const SdmReportItem to = sdm_report_section(r, "stack", NULL, SDM_PAGE_NONE, SDM_STYLE_CARD);
    SDM_REPORT(to, SDM_FIELD("count", s->count), SDM_FIELD("groups", s->groups), SDM_FIELD("pairs", s->pairs),
               SDM_FIELD("align", s->align), SDM_FIELD("disagree_m", s->disagree_m));
    const SdmReportItem dems = sdm_report_list(to, "dems");
    for (int i = 0; i < s->count; i++) {
        const SdmStackedDem *const d = &s->dems[i];
        const SdmReportItem dem = sdm_report_group(dems, NULL);
        sdm_report_text(dem, "path", d->path);
        if (*d->date)
            sdm_report_text(dem, "date", d->date);
        sdm_report_numbers(dem, "apply_m", d->move_m, 3);
        SDM_REPORT(dem, SDM_FIELD("nmad_m", d->nmad_m), SDM_FIELD("smooth_m", d->smooth_m),
                   SDM_FIELD("cells_compared", d->samples), SDM_FIELD("group", d->group),
                   SDM_FIELD("partners", d->partners));
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

static void add_dems(SdmReport *r, const SdmStackReport *s)
{
    const SdmReportItem to =
        sdm_report_section(r, NULL, "DEMs and their moves", SDM_PAGE_ALIGNMENT, SDM_STYLE_WIDE);
    sdm_report_row(to, "DEM\tmoved east, north, up\tNMAD\tsmooth error");
    for (int i = 0; i < s->count; i++) {
        const SdmStackedDem *const d = &s->dems[i];
        char group[32] = "", figure[2][24];
        for (int k = 0; k < 2; k++)
            snprintf(figure[k], sizeof figure[k],
                     isnan(k ? d->smooth_m : d->nmad_m) ? k ? "left in" : "none" : "%.2f m",
                     k ? d->smooth_m : d->nmad_m);
        if (s->groups > 1)
            snprintf(group, sizeof group, " (group %d)", d->group + 1);
        sdm_report_row(to, "%s%s\t%.2f, %.2f, %.2f m\t%s\t%s", d->path,
                       d->partners ? group : " (overlaps no other: not moved)", d->move_m[0], d->move_m[1],
                       d->move_m[2], figure[0], figure[1]);
    }
}

SdmStatus sdm_stack_product_open(SdmContext *ctx, const SdmOptions *opt, const SdmGrid *grid,
                                 const SdmStackReport *report, SdmKeptProduct *keep, SdmProduct **out)
{
    char id[64];
    const SdmStackTrend *const trend = report->trend ? report->trend->trend : NULL;
    const SdmProductRequest request = {.options = opt,
                                       .keep = keep,
                                       .grid = grid,
                                       .qa = &sdm_qa_stack,
                                       .trend = trend ? &trend->limit : NULL,
                                       .first_utc = trend ? trend->first->date : NULL,
                                       .last_utc = trend ? trend->last->date : NULL,
                                       .datum_unknown = report->datum_unknown,
                                       .id = id,
                                       .kind = KIND};
    snprintf(id, sizeof id, "stack of %d DEMs", report->count);
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
    sdm_report_title(r, opt->output, "stack of %d DEMs · %s · stereodem %s", s->count, KIND, SDM_VERSION);
    sdm_report_program(r, p);
    add_stack(r, s);
    const SdmEffective found = {
        .grid = p->request.grid, .hmin_m = NAN, .hmax_m = NAN, .threads = sdm_threads(ctx)};
    (void)sdm_report_options(r, opt, SDM_CMD_STACK, &found);
    (void)sdm_report_doubts(r, s->doubt->text, sizeof *s->doubt, s->doubts);
    add_summary(r, s, p, work->wall_s);
    sdm_report_number(sdm_report_grid(r, p), "qa_nmad_step_m", p->metres_step);
    if (s->trend)
        report_trend(r, s->trend, sdm_report_pixel_m(p, (int)p->request.grid->cols));
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
