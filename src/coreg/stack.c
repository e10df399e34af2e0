/* The steps of a stack in their order: open, choose the grid, sample, align, combine, write; its report. */
// SPDX-License-Identifier: Apache-2.0
#include "core/lease.h"
#include "core/run_log.h"
#include "core/stats.h"
#include "coreg/stack_trend.h"
#include "geo/gdal_scope.h"
#include "input/source.h"
#include "product/picture.h"
#include "product/report.h"

#include <math.h>
#include <string.h>

#define FIELD(name) offsetof(SdmStackOptions, name)

const SdmOptionSpec sdm_stack_options[] = {
    {"--list", "FILE", SDM_OPT_TEXT, FIELD(list), SDM_NO_RANGE, NULL, SDM_CMD_STACK,
     "Text file with one DEM per line, relative to that file; empty lines and lines with # are skipped."},
    {"--align", "AXES", SDM_OPT_CHOICE, FIELD(align), 0.0, 0.0, "z|xyz|none", "z", SDM_CMD_STACK,
     "Shift each DEM to the others over stable cells: z in height; xyz horizontally, too, by Nuth & Kaab "
     "(2011); none takes them as they are."},
    {"--bias", "MODE", SDM_OPT_CHOICE, FIELD(bias), 0.0, 0.0, "auto|keep", "auto", SDM_CMD_STACK,
     "auto: with three or more DEMs, the smooth error of each (jitter, tilt), seen in its differences from "
     "the others, is reduced to the mean of all before the median is taken, where it is a third of the NMAD "
     "or more; keep: it is left in. Needs --align z or xyz."},
    {"--dem-vertical", "DATUM", SDM_OPT_CHOICE, FIELD(dem_vertical), 0.0, 0.0, "auto|" SDM_VERTICAL_WORDS,
     "auto", SDM_CMD_STACK, "Vertical datum of DEMs that declare none; auto assumes nothing."},
    {"--trend", NULL, SDM_OPT_BOOL, FIELD(trend), SDM_NO_RANGE, NULL, SDM_CMD_STACK,
     "Fit a robust line to the heights of each cell by date: NAME_trend.tif has its rate (m a year), "
     "standard error, dates, span and residual NMAD. Takes DEMs of three dates or more."},
    {"--dates", "FILE", SDM_OPT_TEXT, FIELD(dates), SDM_NO_RANGE, NULL, SDM_CMD_STACK,
     "Text file for --trend with a DEM and its date per line (dem.tif 2003-05-06), which go before those of "
     "metadata, NAME.json and names."},
    {"--no-filled", NULL, SDM_OPT_BOOL, FIELD(no_filled), SDM_NO_RANGE, NULL, SDM_CMD_STACK,
     "Leave out cells that NAME_qa.tif beside a DEM marks as filled; otherwise they are used where no DEM "
     "has a measured height."},
    {.name = NULL},
};

void sdm_stack_default(SdmStackOptions *opt)
{
    *opt = (SdmStackOptions){.align = "z", .bias = "auto", .dem_vertical = "auto"};
}

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

static void add_stack(SdmReport *r, const SdmStackResult *s, const char *align)
{
    const SdmReportItem to = sdm_report_section(r, "stack", NULL, SDM_PAGE_NONE, SDM_STYLE_CARD);
    SDM_REPORT(to, SDM_FIELD("count", s->count), SDM_FIELD("groups", s->groups), SDM_FIELD("pairs", s->pairs),
               SDM_FIELD("align", align), SDM_FIELD("disagree_m", s->disagree_m));
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
static double median_nmad_m(SdmReport *r, const SdmStackResult *s)
{
    double *const nmad_m = sdm_report_room(r, s->count);
    for (int i = 0; nmad_m && i < s->count; i++)
        nmad_m[i] = s->dems[i].nmad_m;
    return nmad_m ? sdm_median_f64(nmad_m, sdm_drop_nan_f64(nmad_m, s->count)) : NAN;
}

/* Quality of the stack, as the differences between its DEMs show it. */
static void add_summary(SdmReport *r, const SdmStackResult *s, const SdmProduct *p, double wall_s)
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

static void add_dems(SdmReport *r, const SdmStackResult *s)
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

typedef struct Made {
    const SdmStack *stack;
    const SdmStackResult *result;
    SdmReportWork work;
} Made;

static void build(SdmContext *ctx, const SdmProduct *p, const void *what, SdmReport *r)
{
    const Made *const made = what;
    const SdmStackResult *const s = made->result;
    const SdmOptions *const opt = p->request.options;
    sdm_report_title(r, opt->output, "stack of %d DEMs · %s · stereodem %s", s->count, KIND, SDM_VERSION);
    sdm_report_program(r, p);
    add_stack(r, s, made->stack->opt->align);
    const SdmEffective found = {
        .grid = p->request.grid, .hmin_m = NAN, .hmax_m = NAN, .threads = sdm_threads(ctx)};
    (void)sdm_report_options(r, opt, SDM_CMD_STACK, &found);
    (void)sdm_report_doubts(r, s->doubt->text, sizeof *s->doubt, s->doubts);
    add_summary(r, s, p, made->work.wall_s);
    sdm_report_number(sdm_report_grid(r, p), "qa_nmad_step_m", p->metres_step);
    if (made->stack->trend)
        report_trend(r, made->stack, sdm_report_pixel_m(p, (int)p->request.grid->cols));
    sdm_report_maps(r, p);
    sdm_report_cells(r, p);
    (void)sdm_report_heights(r, p);
    add_dems(r, s);
    sdm_report_work(r, ctx, p, &made->work);
}

/* ---- the steps ---- */

/* Layers -> result, for the report and the caller. */
static SdmStatus make_result(SdmStack *s, SdmStackResult *out)
{
    const size_t n = (size_t)s->count;
    *out = (SdmStackResult){.groups = s->groups,
                            .pairs = s->pairs,
                            .disagree_m = s->disagree_m,
                            .datum_unknown = s->datum_unknown,
                            .grid = s->part};
    PASS(SDM_ALLOC(s->ctx, "result", SDM_ARRAY(out->dems, n), SDM_ARRAY(out->doubt, n)));
    for (; out->count < s->count; out->count++) {
        const SdmLayer *const l = &s->layer[out->count];
        SdmStackedDem *const dem = &out->dems[out->count];
        const size_t size = strlen(l->path) + 1;
        *dem = (SdmStackedDem){.nmad_m = l->nmad_m,
                               .samples = l->compared,
                               .smooth_m = l->bias_nmad_m,
                               .group = l->group,
                               .partners = l->partners};
        PASS(sdm_alloc(s->ctx, &dem->path, size, 1, "result"));
        memcpy(dem->path, l->path, size);
        memcpy(dem->date, l->date, sizeof l->date);
        for (int k = 0; k < 3; k++)
            dem->move_m[k] = 0.0 - l->shift_m[k]; /* no -0 */
        if (*l->doubt)
            snprintf(out->doubt[out->doubts++].text, sizeof out->doubt->text, "%s %s", l->path, l->doubt);
    }
    return SDM_OK;
}

SdmStatus sdm_stack_prepare(SdmStack *s)
{
    SDM_STAGE(s->ctx, 1);
    PASS(sdm_stack_choose_grid(s));
    PASS(sdm_stack_sample(s));
    if (!s->opt->fusion)
        PASS(sdm_stack_drop_copies(s));
    if (s->opt->trend)
        PASS(sdm_stack_check_dates(s));
    sdm_stack_sort(s);
    PASS(sdm_stack_align(s));
    if (s->opt->trend)
        return sdm_stack_trend(s);
    return strcmp(s->opt->align, "none") != 0 && strcmp(s->opt->bias, "auto") == 0 ? sdm_stack_bias(s)
                                                                                   : SDM_OK;
}

static SdmStatus make_products(SdmStack *s, const SdmStackResult *result, double started_s, SdmLease *lease)
{
    SDM_STAGE(s->ctx, 8);
    SDM_CLOSED_BY(sdm_product_close) SdmProduct *product = NULL;
    SdmStackTrend *const trend = s->trend;
    Made made = {.stack = s, .result = result};
    char id[64];
    const SdmProductRequest request = {.options = s->options,
                                       .keep = s->keep,
                                       .grid = &s->part,
                                       .qa = &sdm_qa_stack,
                                       .trend = trend ? &trend->limit : NULL,
                                       .first_utc = trend ? trend->first->date : NULL,
                                       .last_utc = trend ? trend->last->date : NULL,
                                       .datum_unknown = s->datum_unknown,
                                       .id = id,
                                       .kind = KIND};
    snprintf(id, sizeof id, "stack of %d DEMs", s->count);
    PASS(sdm_lease_check(s->ctx, lease)); /* opening removes temporary files of earlier runs */
    PASS(sdm_product_open(s->ctx, &request, &product));
    PASS(sdm_stack_combine(s, product, &made.work.blocks));
    if (trend)
        PASS(sdm_mean_map_draw(s->ctx, &trend->mean, -trend->limit / SDM_TREND_STEP,
                               trend->limit / SDM_TREND_STEP, sdm_change_ramp, &trend->map));
    sdm_progress(s->ctx, 9, 0.9, "write");
    made.work.wall_s = sdm_now_s() - started_s;
    SDM_PROGRESS(s->ctx, 0.9, 1.0);
    return sdm_report_publish(s->ctx, product, build, &made, &made.work, lease);
}

SdmStatus sdm_stack_dems(SdmContext *ctx, const SdmOptions *options, const SdmStackOptions *opt,
                         const char *const *dems, int count, SdmKeptProduct *keep, SdmStackResult *out)
{
    SdmStatus st = SDM_OK;
    sdm_gdal_register();
    SDM_QUIET;
    SDM_CLOSED_BY(sdm_lease_release) SdmLease *lease = NULL;
    bool has_log = false;
    SDM_CLOSED_BY(sdm_stack_close)
    SdmStack s = {.ctx = ctx, .options = options, .opt = opt, .threads = sdm_threads(ctx), .keep = keep};
    const double started_s = sdm_now_s();
    *out = (SdmStackResult){.dems = NULL};
    TRY(sdm_stack_open(&s, dems, count));
    if (!keep) {
        TRY(sdm_lease_take_output(ctx, options->output, &lease));
        has_log = sdm_run_log_begin(ctx, options->output, "stack");
    }
    TRY(sdm_stack_prepare(&s));
    TRY(make_result(&s, out));
    TRY(make_products(&s, out, started_s, lease));
done:
    if (st == SDM_ERR_STOPPED)
        (void)sdm_fail(ctx, st,
                       "stopped on request; nothing was written, give the same command to start over");
    if (has_log)
        sdm_run_log_end(ctx, st);
    return st;
}

void sdm_stack_free(SdmStackResult *r)
{
    for (int i = 0; i < r->count; i++)
        sdm_free(&r->dems[i].path);
    SDM_FREE(&r->dems, &r->doubt);
}
