/* A comparison -> the page NAME.html. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/compare_steps.h"
#include "core/dense.h"
#include "core/path.h"
#include "product/output_files.h"
#include "product/picture.h"
#include "product/report.h"

#include <math.h>
#include <string.h>

enum { LEAST_IN_BIN = 20, LEAST_BINS = 12 };
static const double LEAST_SLOPE = 0.0875; /* tangent: 5 degrees */
static const double RANGE_NMADS = 5.0;    /* of a histogram */

SdmStatus sdm_compare_page_name(SdmContext *ctx, const char *output, char out[SDM_PATH_SIZE])
{
    static const char *const other[] = {".tif", ".tiff", ".json", ".png", ".qml"};
    const char *const base = sdm_path_base(output);
    bool is_page = base[strspn(base, ".")] != '\0'; /* else a folder */
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        is_page = is_page && !sdm_path_ends_in(output, other[i]);
    if (!is_page)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "-o %s: expected the name of the page, NAME or NAME.html; rasters are written by "
                        "--aligned and --difference",
                        output);
    return sdm_format(ctx, out, SDM_PATH_SIZE, "%s%s", output,
                      sdm_path_ends_in(output, ".html") ? "" : ".html");
}

/* ---- while the comparison runs ---- */

/* The aspect of a slope falls by (-east, -north); -1: too flat to have one. */
static int aspect_bin(const SdmResiduals *r, int64_t at)
{
    double slope[2];
    r->ground(r->of, at, slope);
    if (!(hypot(slope[0], slope[1]) >= LEAST_SLOPE))
        return -1;
    const double turn = atan2(-slope[0], -slope[1]) / (2.0 * 3.14159265358979323846);
    return (int)fmin((turn < 0.0 ? turn + 1.0 : turn) * SDM_ASPECTS, SDM_ASPECTS - 1);
}

void sdm_compare_page_add(const SdmResiduals *r, int view, const SdmErrorStats *stats)
{
    const double reach_m = fmax(RANGE_NMADS * stats->nmad_m, 1e-3), low_m = stats->median_m - reach_m;
    SdmComparePage *const p = &r->w->page;
    SdmCompareRange bin[SDM_ASPECTS];
    if (!r->w->opt->output)
        return;
    for (int64_t i = 0; i < r->count; i++) {
        const double at = ((double)r->residual_m[i] - low_m) / (2.0 * reach_m) * SDM_DIFFERENCE_BARS;
        if (at >= 0.0 && at < SDM_DIFFERENCE_BARS) /* not of NaN */
            p->view[view].bar[(int)at] += 100.0 / (double)stats->count;
    }
    p->view[view].low_m = low_m;
    p->view[view].high_m = low_m + 2.0 * reach_m;
    sdm_compare_stats_by(r, aspect_bin, SDM_ASPECTS, &stats->median_m, bin);
    for (int i = 0; i < SDM_ASPECTS; i++)
        p->view[view].aspect_m[i] =
            bin[i].aligned.count < LEAST_IN_BIN ? (double)NAN : bin[i].aligned.median_m;
}

double sdm_plotted_lag_m(int k)
{
    return sdm_lags_m[0] * pow(10.0, k / 4.0 - 2.0); /* 0.3 m to 30 km; every fourth is a power of ten */
}

/* ---- the page ---- */

static void add_summary(SdmReport *r, const SdmCompareResult *c)
{
    static const char *const where[] = {"moved east", "moved north", "moved up"};
    const SdmReportItem to =
        sdm_report_section(r, NULL, "How well does it fit?", SDM_PAGE_SUMMARY, SDM_STYLE_FACTS);
    SDM_CLOSED_BY(sdm_text_close) SdmText text = {.ctx = r->ctx};
    sdm_report_figure(to, NULL, "NMAD before", c->raw.nmad_m, " m", 3);
    sdm_report_figure(to, NULL, "NMAD aligned", c->aligned.nmad_m, " m", 3);
    sdm_report_figure(to, NULL, "median before: DEM minus reference", c->raw.median_m, " m", 3);
    sdm_report_figure(to, NULL, "standard deviation aligned", c->aligned.std_m, " m", 3);
    sdm_report_figure(to, NULL, "LE90 aligned", c->aligned.le90_m, " m", 3);
    for (int k = 0; k < 3; k++)
        sdm_report_figure(to, NULL, where[k], 0.0 + round(100.0 * c->move.move_m[k]) / 100.0, " m", 2);
    sdm_report_figure(to, NULL, c->points ? "of the points have a height of the DEM" : "coverage",
                      100.0 * c->coverage, " %", 2);
    sdm_compare_remarks(c, &text);
    for (char *line = text.data, *end; line && (end = strchr(line, '\n')) != NULL; line = end + 1) {
        *end = '\0';
        sdm_report_note(to, "%s", line);
    }
}

static void add_row(void *to, const char *name, const SdmErrorStats *s)
{
    sdm_report_row(*(SdmReportItem *)to, "%s\t%lld\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f %%", name,
                   (long long)s->count, s->bias_m, s->median_m, s->std_m, s->nmad_m, s->rmse_m, s->le90_m,
                   s->p99_m, 100.0 * s->over30);
}

static SdmStatus add_map(SdmReport *r, const SdmComparison *w, int view)
{
    SDM_CLOSED_BY(sdm_png_close) SdmPng png = {0};
    const SdmMeanMap *const map = &w->page.view[view].map;
    const double limit_m = sdm_difference_limit_m(&w->out->aligned);
    PASS(sdm_mean_map_draw(w->ctx, map, -limit_m, limit_m, sdm_change_ramp, &png));
    const SdmReportItem to =
        sdm_report_section(r, NULL, view ? "Aligned DEM minus reference" : "DEM minus reference, before",
                           SDM_PAGE_MAPS, SDM_STYLE_HALF);
    sdm_report_picture(to, view ? "map after" : "map before", &png, w->g.dx_m * map->factor);
    sdm_report_ramp(to, sdm_change_ramp, -limit_m, limit_m, "m", 2);
    return SDM_OK;
}

static double gauss(double x, double middle, double spread, double width)
{
    const double z = (x - middle) / spread;
    return 100.0 * width / (spread * 2.5066282746310002) * exp(-0.5 * z * z);
}

static void add_histogram(SdmReport *r, const SdmComparePage *p, int view, const SdmErrorStats *s)
{
    enum { POINTS = 201 };
    const double low = p->view[view].low_m, high = p->view[view].high_m,
                 width = (high - low) / SDM_DIFFERENCE_BARS;
    double x[POINTS], mean[POINTS], median[POINTS];
    if (s->count < 2)
        return;
    for (int i = 0; i < POINTS; i++) {
        x[i] = low + (high - low) * i / (POINTS - 1.0);
        mean[i] = gauss(x[i], s->bias_m, fmax(s->std_m, 1e-9), width);
        median[i] = gauss(x[i], s->median_m, fmax(s->nmad_m, 1e-9), width);
    }
    const SdmReportItem to = sdm_report_section(r, NULL, view ? "Histogram, aligned" : "Histogram, before",
                                                SDM_PAGE_HEIGHTS, SDM_STYLE_HALF);
    sdm_report_plot(
        to, view ? "histogram after" : "histogram before",
        &(SdmPlot){.x_label = "DEM minus reference (m)",
                   .y_label = "share (%)",
                   .x0 = low,
                   .x1 = high,
                   .count = 3,
                   .series = {{SDM_SERIES_BARS, "b", NULL, p->view[view].bar, SDM_DIFFERENCE_BARS, NULL},
                              {SDM_SERIES_LINE, "before", x, mean, POINTS,
                               "Gauss curve of mean and standard deviation"},
                              {SDM_SERIES_LINE, "p", x, median, POINTS, "Gauss curve of median and NMAD"}}});
}

/* Least squares of A cos + B sin + C in the medians of the bins; out: zeros before. */
static bool fit_cosine(const double *aspect_m, double out[3])
{
    double a[9] = {0.0};
    int n = 0;
    for (int i = 0; i < SDM_ASPECTS; i++) {
        const double turn = (i + 0.5) * 2.0 * 3.14159265358979323846 / SDM_ASPECTS,
                     term[3] = {cos(turn), sin(turn), 1.0};
        if (isnan(aspect_m[i]))
            continue;
        n++;
        sdm_add_equation(3, term, 1.0, aspect_m[i], a, out);
    }
    return n >= LEAST_BINS && sdm_solve_cholesky(3, a, out);
}

static void add_aspect(SdmReport *r, const SdmComparison *w)
{
    const SdmReportItem to =
        sdm_report_section(r, NULL, "Differences by aspect", SDM_PAGE_ALIGNMENT, SDM_STYLE_HALF);
    double cosine[3] = {0.0}, deg[SDM_ASPECTS], line[SDM_ASPECTS];
    if (!fit_cosine(w->page.view[0].aspect_m, cosine)) {
        sdm_report_note(to, "Too little ground is steeper than 5 degrees for the curve of Nuth and Kääb.");
        return;
    }
    for (int i = 0; i < SDM_ASPECTS; i++) {
        deg[i] = (i + 0.5) * 360.0 / SDM_ASPECTS;
        const double turn = deg[i] / 57.295779513082321;
        line[i] = cosine[0] * cos(turn) + cosine[1] * sin(turn) + cosine[2];
    }
    sdm_report_plot(
        to, "differences by aspect",
        &(SdmPlot){
            .x_label = "aspect, clockwise from north (degrees)",
            .y_label = "difference by tangent of slope (m)",
            .x1 = 360.0,
            .height = 270,
            .count = 3,
            .series = {{SDM_SERIES_POINTS, "before", deg, w->page.view[0].aspect_m, SDM_ASPECTS, "before"},
                       {SDM_SERIES_POINTS, "after", deg, w->page.view[1].aspect_m, SDM_ASPECTS, "aligned"},
                       {SDM_SERIES_LINE, "p", deg, line, SDM_ASPECTS, "fitted cosine"}}});
    sdm_report_note(to,
                    "Curve of Nuth and Kääb (2011): medians of the differences, less their median, divided "
                    "by the tangent of the slope, where the ground is steeper than 5 degrees. The cosine "
                    "asks for a move by %.2f m east, %.2f m north; found: %.2f m east, %.2f m north.",
                    -cosine[1], -cosine[0], w->out->move.move_m[0], w->out->move.move_m[1]);
}

/* Median and NMAD by range; half: from an end of a range to where it is drawn, 0 of classes, which no line
 * joins. */
static void add_ranges(SdmReport *r, const char *title, const char *x_label, const SdmCompareRange *range,
                       int n, double half)
{
    const SdmSeriesKind kind = half > 0.0 ? SDM_SERIES_LINE : SDM_SERIES_POINTS;
    double *const x = sdm_report_room(r, 4 * n);
    int known = 0;
    for (int i = 0; x && i < n; i++) {
        const SdmErrorStats *const s = &range[i].aligned;
        if (s->count == 0)
            continue;
        x[known] = isinf(range[i].lo) ? range[i].hi - half : range[i].lo + half;
        x[n + known] = s->median_m;
        x[2 * n + known] = s->median_m - s->nmad_m;
        x[3 * n + known++] = s->median_m + s->nmad_m;
    }
    if (known < 2)
        return;
    sdm_report_plot(sdm_report_section(r, NULL, title, SDM_PAGE_ALIGNMENT, SDM_STYLE_HALF), title,
                    &(SdmPlot){.x_label = x_label,
                               .y_label = "aligned DEM minus reference (m)",
                               .whole_x = kind == SDM_SERIES_POINTS,
                               .count = 4,
                               .series = {{SDM_SERIES_POINTS, "after", x, x + n, known, NULL},
                                          {kind, "after", x, x + n, known, "median"},
                                          {kind, "p", x, x + 2 * n, known, "median ± NMAD"},
                                          {kind, "p", x, x + 3 * n, known, NULL}}});
}

static void add_variogram(SdmReport *r, const SdmComparison *w)
{
    const double nmad_m = w->out->aligned.nmad_m;
    double x[SDM_PLOTTED_LAGS], y[SDM_PLOTTED_LAGS];
    int n = 0;
    for (int k = 0; k < SDM_PLOTTED_LAGS; k++)
        if (w->page.lag[k].pairs >= LEAST_IN_BIN) {
            x[n] = w->page.lag[k].lag_m;
            y[n++] = w->page.lag[k].semivariance_m2;
        }
    if (n < 2)
        return;
    const double ends[2] = {x[0], x[n - 1]}, sill[2] = {nmad_m * nmad_m, nmad_m * nmad_m};
    const SdmReportItem to = sdm_report_section(r, NULL, "Semivariogram", SDM_PAGE_ALIGNMENT, SDM_STYLE_HALF);
    sdm_report_plot(to, "semivariogram",
                    &(SdmPlot){.x_label = "distance (m)",
                               .y_label = "semivariance (m²)",
                               .log_x = true,
                               .height = 270,
                               .count = 3,
                               .series = {{SDM_SERIES_POINTS, "after", x, y, n, NULL},
                                          {SDM_SERIES_LINE, "after", x, y, n, "aligned"},
                                          {SDM_SERIES_LINE, "p", ends, sill, 2, "square of the NMAD"}}});
    sdm_report_note(to, "Robust, by the estimator of Dowd (1984): half the squared NMAD of the differences "
                        "of two errors that far apart.");
    for (int k = 0; k < SDM_LAGS; k++) {
        const SdmErrorLag *const l = &w->out->lag[k];
        if (isfinite(l->area_error_m))
            sdm_report_row(to, "error of a mean over %.0f m x %.0f m\t%.3f m", l->lag_m, l->lag_m,
                           l->area_error_m);
    }
}

static void add_inputs(SdmReport *r, const SdmComparison *w)
{
    SdmCompareOptions usual;
    char value[4096];
    const SdmReportItem to = sdm_report_section(r, NULL, "Inputs", SDM_PAGE_PARAMETERS, SDM_STYLE_CARD);
    sdm_compare_default(&usual);
    sdm_report_row(to, "DEM\t%s", w->in[SDM_IN_DEM].path);
    sdm_report_row(to, "reference\t%s", w->in[SDM_IN_REFERENCE].path);
    for (const SdmOptionSpec *s = sdm_compare_options; s->name; s++)
        if (sdm_option_show_other(s, w->opt, &usual, value, sizeof value))
            sdm_report_row(to, "%s\t%s", s->name, value);
}

SdmStatus sdm_compare_page_write(const SdmComparison *w)
{
    SDM_CLOSED_BY(sdm_report_close) SdmReport r;
    SDM_CLOSED_BY(sdm_text_close) SdmText html = {.ctx = w->ctx};
    char path[SDM_PATH_SIZE];
    sdm_report_open(w->ctx, &r);
    sdm_report_title(&r, w->opt->output, "%s against %s · stereodem %s",
                     sdm_path_base(w->in[SDM_IN_DEM].path), sdm_path_base(w->in[SDM_IN_REFERENCE].path),
                     SDM_VERSION);
    add_summary(&r, w->out);
    for (int k = 0; k < 2; k++) {
        PASS(add_map(&r, w, k));
        add_histogram(&r, &w->page, k, k ? &w->out->aligned : &w->out->raw);
    }
    add_aspect(&r, w);
    add_variogram(&r, w);
    add_ranges(&r, "Differences by slope", "slope of the reference (degrees)", w->out->slope,
               SDM_COMPARE_SLOPES, 5.0);
    add_ranges(&r, "Differences by height", "height of the reference (m)", w->out->band, SDM_COMPARE_BANDS,
               0.5 * (w->out->band[1].hi - w->out->band[1].lo));
    add_ranges(&r, "Differences by class", "value of --class", w->out->class, SDM_COMPARE_CLASSES, 0.0);
    SdmReportItem to = sdm_report_section(&r, NULL, "Differences in metres", SDM_PAGE_TIME, SDM_STYLE_WIDE);
    sdm_report_row(to, "\tn\tbias\tmedian\tstd\tNMAD\tRMSE\tLE90\t99 %%\tover 30 m");
    sdm_compare_each(w->out, add_row, &to);
    add_inputs(&r, w);
    PASS(sdm_report_html(&r, &html));
    PASS(sdm_compare_page_name(w->ctx, w->opt->output, path));
    sdm_file_sweep(path); /* of a comparison that was killed */
    return sdm_file_write(w->ctx, path, html.data, html.size);
}
