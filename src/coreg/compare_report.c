/* A comparison -> text, JSON, the page NAME.html; its options. */
// SPDX-License-Identifier: Apache-2.0
#include "core/dense.h"
#include "core/path.h"
#include "coreg/comparison.h"
#include "product/fields.h"
#include "product/output_files.h"
#include "product/picture.h"
#include "product/report.h"

#include <cJSON.h>
#include <math.h>
#include <string.h>

/* ---- text and JSON ---- */

static cJSON *json_stats(const SdmErrorStats *s)
{
    cJSON *const o = cJSON_CreateObject();
    SDM_JSON(o, SDM_FIELD("n", s->count), SDM_FIELD("bias", s->bias_m), SDM_FIELD("median", s->median_m),
             SDM_FIELD("std", s->std_m), SDM_FIELD("nmad", s->nmad_m), SDM_FIELD("rmse", s->rmse_m),
             SDM_FIELD("le90", s->le90_m), SDM_FIELD("p99", s->p99_m), SDM_FIELD("over30", s->over30));
    return o;
}

static void json_class(cJSON *root, const char *name, const SdmCompareClass *k)
{
    if (k->cells == 0)
        return;
    cJSON *const o = cJSON_AddObjectToObject(root, name);
    SDM_JSON(o, SDM_FIELD("cells", k->cells), SDM_FIELD("filled", k->filled), SDM_FIELD("over10", k->over10),
             SDM_FIELD("over30", k->over30));
}

/* Figures of each range that has any; hi: NULL for classes, which are one value. */
static void json_ranges(cJSON *root, const char *key, const SdmCompareRange *range, int n, const char *lo,
                        const char *hi)
{
    cJSON *const list = cJSON_AddArrayToObject(root, key);
    for (int k = 0; k < n; k++) {
        if (range[k].aligned.count == 0 && n != SDM_COMPARE_SLOPES)
            continue;
        cJSON *const o = json_stats(&range[k].aligned);
        SDM_JSON(o, SDM_FIELD(lo, range[k].lo)); /* null: open */
        if (hi)
            SDM_JSON(o, SDM_FIELD(hi, range[k].hi));
        cJSON_AddItemToArray(list, o);
    }
}

static void json_lags(cJSON *root, const SdmCompareResult *r)
{
    cJSON *const lags = cJSON_AddArrayToObject(root, "distance");
    for (int k = 0; k < SDM_LAGS; k++) {
        const SdmErrorLag *const l = &r->lag[k];
        cJSON *const o = cJSON_CreateObject();
        SDM_JSON(o, SDM_FIELD("lag_m", l->lag_m), SDM_FIELD("pairs", l->pairs),
                 SDM_FIELD("semivariance_m2", l->semivariance_m2),
                 SDM_FIELD("error_m", sqrt(l->semivariance_m2)), SDM_FIELD("areas", l->areas),
                 SDM_FIELD("area_mean_error_m", l->area_error_m));
        cJSON_AddItemToArray(lags, o);
    }
}

static void json_tilt(cJSON *root, const SdmCompareResult *r)
{
    double tilt[2];
    cJSON *const o = cJSON_AddObjectToObject(root, "model");
    cJSON_AddStringToObject(o, "kind", r->tilt.fitted ? "tilt" : "shift");
    if (!r->tilt.fitted)
        return;
    sdm_tilt_slope(&r->tilt, tilt);
    cJSON_AddItemToObject(o, "centre", cJSON_CreateDoubleArray(r->centre_m, 2));
    cJSON_AddItemToObject(o, "tilt_m_per_m", cJSON_CreateDoubleArray(tilt, 2));
}

/* East, north, up: what to add to the DEM's place and heights. */
static void json_move(cJSON *root, const SdmShift *move)
{
    cJSON_AddItemToObject(root, "apply_m", cJSON_CreateDoubleArray(move->move_m, 3));
    cJSON_AddNumberToObject(root, "undetermined_directions", move->undetermined);
    if (!move->verdict)
        return;
    cJSON *const o = cJSON_AddObjectToObject(root, "not_applied");
    cJSON_AddStringToObject(o, "reason", sdm_shift_verdict_text(move->verdict));
    cJSON_AddItemToObject(o, "found_m", cJSON_CreateDoubleArray(move->found_m, 2));
    cJSON *const halves = cJSON_AddArrayToObject(o, "halves_m");
    for (int k = 0; k < 2; k++)
        cJSON_AddItemToArray(halves, cJSON_CreateDoubleArray(move->half_m[k], 2));
}

void sdm_compare_json(const SdmCompareResult *r, cJSON *root)
{
    SDM_JSON(root, SDM_FIELD("reference", r->points ? "points" : "raster"),
             SDM_FIELD("sign", "DEM minus reference, metres"), SDM_FIELD("cells", r->cells),
             SDM_FIELD("coverage", r->coverage));
    if (!r->points)
        cJSON_AddNumberToObject(root, "footprint_coverage", r->footprint_coverage);
    cJSON_AddItemToObject(root, "raw", json_stats(&r->raw));
    json_move(root, &r->move);
    cJSON_AddItemToObject(root, "aligned", json_stats(&r->aligned));
    json_class(root, "water", &r->water);
    json_class(root, "cloud", &r->cloud);
    json_ranges(root, "slope", r->slope, SDM_COMPARE_SLOPES, "lo_deg", "hi_deg");
    json_ranges(root, "height", r->band, SDM_COMPARE_BANDS, "lo_m", "hi_m");
    if (r->unstable.aligned.count)
        cJSON_AddItemToObject(root, "unstable", json_stats(&r->unstable.aligned));
    json_ranges(root, "class", r->class, SDM_COMPARE_CLASSES, "class", NULL);
    json_lags(root, r);
    json_tilt(root, r);
    SDM_JSON(root, SDM_FIELD("source", *r->source ? r->source : NULL),
             SDM_FIELD("note", *r->note ? r->note : NULL));
}

static void add_stats(void *to, const char *name, const SdmErrorStats *s)
{
    SdmText *const t = to;
    if (s->count == 0)
        return;
    sdm_text_add(
        t,
        "%-12s n %lld  bias %.3f  median %.3f  std %.3f  nmad %.3f  rmse %.3f  le90 %.3f  p99 %.3f  over30 "
        "%.3f %%\n",
        name, (long long)s->count, s->bias_m, s->median_m, s->std_m, s->nmad_m, s->rmse_m, s->le90_m,
        s->p99_m, 100.0 * s->over30);
}

static void add_class(SdmText *t, const char *name, const SdmCompareClass *k)
{
    if (k->cells)
        sdm_text_add(
            t, "%-12s cells %lld, %.2f %% of them filled; off by over 10 m %.2f %%, over 30 m %.2f %%\n",
            name, (long long)k->cells, 100.0 * k->filled, 100.0 * k->over10, 100.0 * k->over30);
}

typedef void Each(void *of, const char *name, const SdmErrorStats *stats);

/* unit: "" of classes. */
static void each_range(const SdmCompareRange *range, int n, const char *unit, Each *each, void *of)
{
    char name[48];
    for (int k = 0; k < n; k++) {
        if (!*unit)
            snprintf(name, sizeof name, "class %d", k);
        else if (isinf(range[k].lo))
            snprintf(name, sizeof name, "< %.0f %s", range[k].hi, unit);
        else if (k + 1 == n)
            snprintf(name, sizeof name, "> %.0f %s", range[k].lo, unit);
        else
            snprintf(name, sizeof name, "%.0f-%.0f %s", range[k].lo, range[k].hi, unit);
        if (range[k].aligned.count)
            each(of, name, &range[k].aligned);
    }
}

/* Every set of figures that has cells. */
static void each_stats(const SdmCompareResult *r, Each *each, void *of)
{
    each(of, "raw", &r->raw);
    each(of, "aligned", &r->aligned);
    each_range(r->slope, SDM_COMPARE_SLOPES, "deg", each, of);
    each_range(r->band, SDM_COMPARE_BANDS, "m", each, of);
    each_range(r->class, SDM_COMPARE_CLASSES, "", each, of);
    if (r->unstable.aligned.count)
        each(of, "not stable", &r->unstable.aligned);
}

static void add_lags(SdmText *t, const SdmCompareResult *r)
{
    for (int k = 0; k < SDM_LAGS; k++) {
        const SdmErrorLag *const l = &r->lag[k];
        if (l->pairs == 0 && l->areas < 2)
            continue;
        sdm_text_add(t, "%.0f m%*s", l->lag_m, l->lag_m < 100.0 ? 9 : l->lag_m < 1000.0 ? 8 : 7, "");
        if (l->pairs)
            sdm_text_add(t, " semivariance %.3f m^2 (%.3f m, %lld pairs)", l->semivariance_m2,
                         sqrt(l->semivariance_m2), (long long)l->pairs);
        if (isfinite(l->area_error_m))
            sdm_text_add(t, "  error of a mean over %.0f m x %.0f m %.3f m (%lld areas)", l->lag_m, l->lag_m,
                         l->area_error_m, (long long)l->areas);
        sdm_text_add(t, "\n");
    }
}

static void add_tilt(SdmText *t, const SdmCompareResult *r)
{
    double tilt[2];
    if (!r->tilt.fitted)
        return;
    sdm_tilt_slope(&r->tilt, tilt);
    sdm_text_add(t, "tilt         %.4f m/km towards east, %.4f m/km towards north\n", 1000.0 * tilt[0],
                 1000.0 * tilt[1]);
}

enum { FEW = 10 };                    /* differences, the move is fitted to */
static const double OTHER_UNIT = 2.0; /* heights of one place are not so many times as large */

/* Why it may be wrong, and what was left out. */
static void add_doubts(SdmText *t, const SdmCompareResult *r)
{
    const SdmShift *const move = &r->move;
    const bool other = r->aligned.count >= FEW && r->aligned.nmad_m > SDM_OTHER_GROUND_M;
    const double ratio = r->height_ratio;
    if (ratio > OTHER_UNIT || ratio < 0.0 || (ratio > 0.0 && ratio < 1.0 / OTHER_UNIT))
        sdm_text_add(
            t,
            "the heights of the DEM are %.2f times those of the reference: is one of them upside down, or in "
            "feet?\n",
            ratio);
    else if (other)
        sdm_text_add(t,
                     "they differ by %.0f m (NMAD), more than heights of one place do: are both in metres?\n",
                     r->aligned.nmad_m);
    else if (move->undetermined)
        sdm_text_add(t, "moved %s: the heights of the %s %s\n",
                     move->undetermined > 1 ? "in height only" : "along one horizontal direction only",
                     r->points ? "DEM at the points" : "reference",
                     move->undetermined > 1 ? "are flat, a plane or of another place"
                                            : "do not change along the other");
    if (5 * r->aligned.count < r->raw.count)
        sdm_text_add(
            t,
            "only %lld of %lld %s have no voids around their place in the %s: the move and the figures after "
            "it are "
            "theirs\n",
            (long long)r->aligned.count, (long long)r->raw.count, r->points ? "points" : "cells",
            r->points ? "DEM" : "reference");
    if (r->aligned.count < FEW)
        sdm_text_add(
            t, "only %lld %s%s: after a move that was fitted to so few, the figures say nothing of the DEM\n",
            (long long)r->aligned.count, r->points ? "point" : "cell", r->aligned.count == 1 ? "" : "s");
    if (r->tilt.fitted && r->raw.count > 0 && r->aligned.nmad_m > 1.01 * r->raw.nmad_m)
        sdm_text_add(t, "the model raises the NMAD from %.3f to %.3f m: take --model shift\n", r->raw.nmad_m,
                     r->aligned.nmad_m);
    if (!move->verdict)
        return;
    sdm_text_add(t, "moved in height only: %s (found: %.2f m east, %.2f m north",
                 sdm_shift_verdict_text(move->verdict), move->found_m[0], move->found_m[1]);
    if (isfinite(move->half_m[0][0]) && isfinite(move->half_m[1][0]))
        sdm_text_add(t, "; halves: %.2f, %.2f and %.2f, %.2f m", move->half_m[0][0], move->half_m[0][1],
                     move->half_m[1][0], move->half_m[1][1]);
    sdm_text_add(t, ")\n");
}

static void add_notes(SdmText *t, const SdmCompareResult *r)
{
    if (r->source[0])
        sdm_text_add(t, "points: %s\n", r->source);
    if (r->note[0])
        sdm_text_add(t, "note: %s\n", r->note);
}

void sdm_compare_text(const SdmCompareResult *r, SdmText *t)
{
    double move_m[3];
    sdm_text_add(t, "%s %lld  coverage %.2f %%", r->points ? "points" : "cells", (long long)r->cells,
                 100.0 * r->coverage);
    if (!r->points)
        sdm_text_add(t, "  within the DEM's footprint %.2f %%", 100.0 * r->footprint_coverage);
    for (int k = 0; k < 3; k++)
        move_m[k] = 0.0 + round(100.0 * r->move.move_m[k]) / 100.0; /* no -0.00 */
    sdm_text_add(t, "\nmove the DEM by %.2f m east, %.2f m north, %.2f m up\n", move_m[0], move_m[1],
                 move_m[2]);
    add_doubts(t, r);
    sdm_text_add(t,
                 "DEM minus reference: the DEM is %.3f m %s the reference (median); all figures in metres\n",
                 fabs(r->raw.median_m), r->raw.median_m < 0.0 ? "below" : "above");
    add_tilt(t, r);
    add_class(t, "water", &r->water);
    add_class(t, "cloud", &r->cloud);
    each_stats(r, add_stats, t);
    add_lags(t, r);
    add_notes(t, r);
}

/* ---- the name of the page ---- */

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

/* ---- the page, while the comparison runs ---- */

/* The aspect of a slope falls by (-east, -north); -1: too flat to have one. */
static int aspect_bin(const SdmComparison *w, int64_t at)
{
    double slope[2];
    sdm_compare_ground(w, at, slope);
    if (!(hypot(slope[0], slope[1]) >= LEAST_SLOPE))
        return -1;
    const double turn = atan2(-slope[0], -slope[1]) / (2.0 * 3.14159265358979323846);
    return (int)fmin((turn < 0.0 ? turn + 1.0 : turn) * SDM_ASPECTS, SDM_ASPECTS - 1);
}

void sdm_compare_page_add(SdmComparison *w, int view, const SdmErrorStats *stats)
{
    const double reach_m = fmax(RANGE_NMADS * stats->nmad_m, 1e-3), low_m = stats->median_m - reach_m;
    SdmComparePage *const p = &w->page;
    SdmCompareRange bin[SDM_ASPECTS];
    if (!w->opt->output)
        return;
    for (int64_t i = 0; i < w->at.count; i++) {
        const double at = ((double)w->at.residual_m[i] - low_m) / (2.0 * reach_m) * SDM_DIFFERENCE_BARS;
        if (at >= 0.0 && at < SDM_DIFFERENCE_BARS) /* not of NaN */
            p->view[view].bar[(int)at] += 100.0 / (double)stats->count;
    }
    p->view[view].low_m = low_m;
    p->view[view].high_m = low_m + 2.0 * reach_m;
    sdm_compare_stats_by(w, aspect_bin, SDM_ASPECTS, &stats->median_m, bin);
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
    add_doubts(&text, c);
    add_tilt(&text, c);
    add_class(&text, "water", &c->water);
    add_class(&text, "cloud", &c->cloud);
    add_notes(&text, c);
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
    each_stats(w->out, add_row, &to);
    add_inputs(&r, w);
    PASS(sdm_report_html(&r, &html));
    PASS(sdm_compare_page_name(w->ctx, w->opt->output, path));
    sdm_file_sweep(path); /* of a comparison that was killed */
    return sdm_file_write(w->ctx, path, html.data, html.size);
}

/* ---- options ---- */

#define FIELD(name) offsetof(SdmCompareOptions, name)
#define DATUMS "auto|" SDM_VERTICAL_WORDS

const SdmOptionSpec sdm_compare_options[] = {
    {"--output", "FILE.html", SDM_OPT_TEXT, FIELD(output), SDM_NO_RANGE, "none",
     SDM_CMD_COMPARE | SDM_SHOWN_FIRST,
     "Write a page with maps and histograms before and after alignment, differences by aspect (the curve of "
     "Nuth and Kaab), slope, height and class, and a semivariogram."},
    {"--class", "FILE", SDM_OPT_TEXT, FIELD(class_raster), SDM_NO_RANGE, NULL,
     SDM_CMD_COMPARE | SDM_NAMES_AREAS,
     "Score only the cells of class 1 (land) of this raster, or of these polygons by their field class "
     "(without one: 1); 2 (water) and 3 (cloud) are reported apart."},
    {"--within", "FILE", SDM_OPT_TEXT, FIELD(within), SDM_NO_RANGE, NULL, SDM_CMD_COMPARE | SDM_NAMES_AREAS,
     "Compare only where this raster is valid, too, or inside of these polygons: coverage is counted there, "
     "not over all of the reference."},
    {"--dem-vertical", "DATUM", SDM_OPT_CHOICE, FIELD(dem_vertical), 0.0, 0.0, DATUMS, "auto",
     SDM_CMD_COMPARE, "Vertical datum of the DEM's heights; auto reads its vertical CRS or VERTICAL_DATUM."},
    {"--reference-vertical", "DATUM", SDM_OPT_CHOICE, FIELD(reference_vertical), 0.0, 0.0, DATUMS, "auto",
     SDM_CMD_COMPARE,
     "Vertical datum of the reference's heights; auto reads its vertical CRS or VERTICAL_DATUM."},
    {"--mask", "FILE", SDM_OPT_TEXT, FIELD(mask), SDM_NO_RANGE, NULL, SDM_CMD_COMPARE | SDM_NAMES_AREAS,
     "Stable ground: only cells where this raster is not 0, or inside of these polygons, are used for the "
     "shift and are scored; the others are reported apart."},
    {"--exclude", "FILE", SDM_OPT_TEXT, FIELD(exclude), SDM_NO_RANGE, NULL, SDM_CMD_COMPARE | SDM_NAMES_AREAS,
     "Unstable ground, such as outlines of glaciers: cells inside of these polygons, or where this raster is "
     "not 0, are not used for the shift and are reported apart."},
    {"--where", "SQL", SDM_OPT_TEXT, FIELD(where), SDM_NO_RANGE, NULL, SDM_CMD_COMPARE,
     "Take only the polygons that this attribute filter selects, as behind WHERE in SQL: 'area_km2 > 1'. It "
     "holds for every file of polygons that is given."},
    {"--layer", "NAME", SDM_OPT_TEXT, FIELD(layer), SDM_NO_RANGE, "the only one of polygons", SDM_CMD_COMPARE,
     "Layer of the polygons, for a file that has several."},
    {"--aligned", "FILE.tif", SDM_OPT_TEXT, FIELD(aligned), SDM_NO_RANGE, NULL, SDM_CMD_COMPARE,
     "Write the DEM without the shift and the systematic error of --model: on the same cells, resampled once "
     "from the original by cubic spline."},
    {"--difference", "FILE.tif", SDM_OPT_TEXT, FIELD(difference), SDM_NO_RANGE, NULL, SDM_CMD_COMPARE,
     "Write the aligned DEM minus the reference in metres, in stable and other places, with statistics as "
     "metadata."},
    {"--model", "MODEL", SDM_OPT_CHOICE, FIELD(model), 0.0, 0.0, "shift|tilt", "shift", SDM_CMD_COMPARE,
     "Systematic error that is estimated and removed: shift: a 3-D shift; tilt: also a plane."},
    {"--json", NULL, SDM_OPT_BOOL, FIELD(json), SDM_NO_RANGE, NULL, SDM_CMD_COMPARE | SDM_OF_SCREEN,
     "Print the figures as one line of JSON (metres, shares 0..1)."},
    {.name = NULL},
};

void sdm_compare_default(SdmCompareOptions *opt)
{
    *opt = (SdmCompareOptions){.dem_vertical = "auto", .reference_vertical = "auto", .model = "shift"};
}
