/* The trend of a stack -> its figures, and the sections of the report. */
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"
#include "coreg/stack_trend.h"
#include "geo/grid_part.h"
#include "input/source.h"
#include "product/reference_section.h"

#include <math.h>
#include <string.h>

/* ---- figures, after the last block ---- */

/* Rate of the strongest colour: 1, 2 or 5 times a power of ten, beyond which
 * lie 2 % of the cells. */
static double choose_limit(const SdmStackTrend *t)
{
    const double most = fmax(fabs(sdm_trend_quantile(t, 0, 0.01)), fabs(sdm_trend_quantile(t, 0, 0.99))),
                 unit = pow(10.0, floor(log10(fmax(most, 0.01)))), part = most / unit;
    return unit * (part > 5.0 ? 10.0 : part > 2.0 ? 5.0 : part > 1.0 ? 2.0 : 1.0);
}

/* Is the middle of a pixel of the map stable ground? */
static bool is_stable(const SdmStack *s, const int64_t at[2], int64_t pixel)
{
    const SdmStackTrend *const t = s->trend;
    const int64_t half = t->cells_px / 2,
                  col = (at[0] + pixel % t->width * t->cells_px + half) / s->sample_step,
                  row = (at[1] + pixel / t->width * t->cells_px + half) / s->sample_step;
    return col < t->cols && row < t->rows && !t->moving[row * t->cols + col];
}

/* Errors of mean rates over squares of stable ground. */
static SdmStatus measure_areas(SdmStack *s)
{
    static const double side_m[SDM_TREND_AREAS] = {300.0, 1000.0, 3000.0, 10000.0};
    SdmStatus st = SDM_OK;
    SdmStackTrend *const t = s->trend;
    float *rate = NULL, *spare = NULL;
    int64_t at[2];
    const int64_t n = (int64_t)t->width * t->height;
    TRY(sdm_alloc(s->ctx, &rate, (size_t)n, sizeof *rate, "map of rates"));
    TRY(sdm_alloc(s->ctx, &spare, (size_t)n, sizeof *spare, "map of rates"));
    sdm_part_at(&s->grid, &s->part, at);
    for (int64_t i = 0; i < n; i++)
        rate[i] = 2 * t->count[i] > t->cells_px * t->cells_px && is_stable(s, at, i)
                      ? (float)sdm_trend_mean(t, i)
                      : NAN;
    for (int k = 0; k < SDM_TREND_AREAS; k++) {
        t->found.area[k].lag_m = side_m[k];
        sdm_error_lag_grid(rate, t->width, t->height, t->cells_px * s->dx_m, t->cells_px * s->dy_m, spare,
                           &t->found.area[k]);
    }
done:
    sdm_free(&spare);
    sdm_free(&rate);
    return st;
}

/* The first and the last date. */
static void set_dates(SdmStack *s)
{
    const SdmLayer *first = &s->layer[0], *last = first;
    for (int i = 1; i < s->count; i++) {
        first = s->layer[i].year < first->year ? &s->layer[i] : first;
        last = s->layer[i].year > last->year ? &s->layer[i] : last;
    }
    memcpy(s->trend->found.first, first->date, sizeof first->date);
    memcpy(s->trend->found.last, last->date, sizeof last->date);
}

const double *sdm_trend_limit(const SdmStackTrend *t)
{
    return &t->limit;
}

/* ---- curves ---- */

enum { FALLS, RISES, STAYS };

/* How well a sample serves as an example. */
static double fitness(const SdmStackTrend *t, int64_t i, int kind)
{
    const double ratio = (double)t->rate[i] / (double)t->error[i], dates = (double)t->dates[i];
    if (isnan(ratio) || (kind == STAYS && t->moving[i]))
        return -INFINITY;
    return kind == STAYS ? dates - fabs(ratio) : (kind == FALLS ? -ratio : ratio);
}

/* The best example of a kind; -1: none. */
static int64_t find_example(const SdmStackTrend *t, int kind)
{
    int64_t best = -1;
    double most = kind == STAYS ? -INFINITY : 3.0;
    for (int64_t i = 0; i < t->cols * t->rows; i++)
        if (fitness(t, i, kind) > most) {
            most = fitness(t, i, kind);
            best = i;
        }
    return best;
}

static SdmStatus add_curve(SdmStack *s, int kind)
{
    static const double epoch = 2000.0;
    SdmStatus st = SDM_OK;
    SdmStackTrend *const t = s->trend;
    SdmTrendCurve *const to = &t->curve[t->curves];
    const int64_t at = find_example(t, kind), step = s->sample_step;
    const double shift = epoch - sdm_time_days("2000-01-01T00:00:00Z") / 365.25; /* years of the calendar */
    if (at < 0)
        return SDM_OK;
    TRY(sdm_alloc(s->ctx, &to->year, 2 * (size_t)s->count, sizeof *to->year, "curves"));
    to->height_m = to->year + s->count;
    for (int i = 0; i < s->count; i++) {
        const float h = sdm_trend_sample(s, &s->layer[i], at % t->cols, at / t->cols);
        if (isnan(h))
            continue;
        to->year[to->n] = s->layer[i].year + shift;
        to->height_m[to->n++] = (double)h;
    }
    to->rate = (double)t->rate[at];
    to->error = (double)t->error[at];
    to->level_m = (double)t->level_m[at];
    to->mid_year = t->mid_year + shift;
    to->x = s->grid.x0 + ((double)(at % t->cols * step + step / 2) + 0.5) * s->grid.spacing;
    to->y = s->grid.y0 - ((double)(at / t->cols * step + step / 2) + 0.5) * s->grid.spacing;
    t->curves++;
done:
    return st;
}

SdmStatus sdm_trend_finish(SdmStack *s)
{
    SdmStatus st = SDM_OK;
    SdmStackTrend *const t = s->trend;
    SdmTrendFigures *const f = &t->found;
    if (t->cells == 0)
        TRY(sdm_fail(s->ctx, SDM_ERR_DATA,
                     "--trend: no cell has heights of %d dates or more that lie "
                     "over five weeks apart",
                     SDM_TREND_LEAST));
    t->limit = choose_limit(t);
    f->stable = t->stable;
    f->cells = t->cells;
    f->certain = (double)t->certain / (double)t->cells;
    f->rate = sdm_trend_quantile(t, 0, 0.5);
    f->error = sdm_trend_quantile(t, 1, 0.5);
    set_dates(s);
    TRY(measure_areas(s));
    for (int kind = FALLS; kind <= STAYS; kind++)
        TRY(add_curve(s, kind));
    TRY(sdm_trend_picture(s->ctx, t, &t->map));
done:
    return st;
}

/* ---- the report ---- */

static void add_histogram(SdmReportItem *to, const SdmStackTrend *t)
{
    enum { BARS = 80 };
    double top = 1.0;
    SdmPlot *const plot = sdm_report_plot(to, "histogram of rates");
    double *const bar = plot ? sdm_report_room(to->report, BARS + 1) : NULL;
    if (!bar)
        return;
    for (int i = 0; i < SDM_TREND_BINS; i++) {
        const double rate = (i + 0.5 - SDM_TREND_BINS / 2) * SDM_TREND_STEP,
                     k = (rate / t->limit + 1.0) * 0.5 * BARS;
        if (k >= 0.0 && k < BARS)
            bar[(int)k] += (double)t->histogram[i];
    }
    for (int i = 0; i < BARS; i++)
        top = fmax(top, bar[i]);
    *plot = (SdmPlot){
        .x_label = "rate (m a year)",
        .y_label = "share of cells",
        .x0 = -t->limit,
        .x1 = t->limit,
        .y1 = top,
        .height = 200,
        .count = 2,
        .series = {{SDM_SERIES_BARS, "b", NULL, bar, BARS}, {SDM_SERIES_VERTICAL, "m", bar + BARS, NULL, 1}}};
}

static void plot_curve(SdmReport *r, const SdmTrendCurve *c)
{
    SdmReportItem *const to =
        sdm_report_section(r, NULL, "Heights of a cell", SDM_PAGE_HEIGHTS, SDM_STYLE_HALF);
    SdmPlot *const plot = to ? sdm_report_plot(to, "heights by date") : NULL;
    double *const line = plot ? sdm_report_room(r, 4) : NULL;
    double first = INFINITY, last = -INFINITY, low = INFINITY, high = -INFINITY;
    double *const off_m = line ? sdm_report_room(r, c->n + 1) : NULL;
    if (!off_m)
        return;
    for (int i = 0; i < c->n; i++) {
        first = fmin(first, c->year[i]);
        last = fmax(last, c->year[i]);
        off_m[i] = fabs(c->height_m[i] - c->level_m - c->rate * (c->year[i] - c->mid_year));
    }
    const double reach_m = 4.0 * fmax(1.4826 * sdm_median_f64(off_m, c->n), 0.5);
    for (int k = 0; k < 2; k++) {
        line[k] = k ? last : first;
        line[2 + k] = c->level_m + c->rate * (line[k] - c->mid_year);
        low = fmin(low, line[2 + k] - reach_m);
        high = fmax(high, line[2 + k] + reach_m);
    }
    *plot = (SdmPlot){.x_label = "year",
                      .y_label = "height (m)",
                      .x0 = first - 0.3,
                      .x1 = last + 0.3,
                      .y0 = low,
                      .y1 = high,
                      .height = 200,
                      .y_ticks = true,
                      .count = 2,
                      .series = {{SDM_SERIES_POINTS, "after", c->year, c->height_m, c->n},
                                 {SDM_SERIES_LINE, "p", line, line + 2, 2}}};
    sdm_report_note(to, "%+.2f ± %.2f m a year at %.8g, %.8g, heights of %d dates.", c->rate, c->error, c->x,
                    c->y, c->n);
}

static void add_areas(SdmReportItem *to, const SdmTrendFigures *f)
{
    SdmReportItem *const list = sdm_report_list(to, "area_errors");
    for (int k = 0; k < SDM_TREND_AREAS; k++) {
        const SdmErrorLag *const a = &f->area[k];
        SdmReportItem *const item = sdm_report_group(list, NULL);
        sdm_report_number(item, "side_m", a->lag_m);
        sdm_report_number(item, "areas", (double)a->areas);
        sdm_report_number(item, "error", a->area_error_m);
        if (isfinite(a->area_error_m))
            sdm_report_figure(to, NULL,
                              sdm_report_printf(to->report, "error of the mean rate of %.4g km x %.4g km",
                                                a->lag_m / 1000.0, a->lag_m / 1000.0),
                              a->area_error_m, " m a year", 3);
    }
}

void sdm_trend_report(SdmReport *r, const SdmStackTrend *t, double cell_m)
{
    const SdmTrendFigures *const f = &t->found;
    SdmReportItem *to = sdm_report_section(r, "trend", "Rate of the heights", SDM_PAGE_MAPS, SDM_STYLE_CARD);
    if (!to)
        return;
    sdm_report_text(to, "first", f->first);
    sdm_report_text(to, "last", f->last);
    sdm_report_number(to, "cells", (double)f->cells);
    sdm_report_number(to, "rate_median", f->rate);
    sdm_report_picture(to, "rate", &t->map, cell_m * t->cells_px * t->width / t->map.width);
    sdm_report_change_key(to, t->limit, "m a year");
    sdm_report_figure(to, "error_median", "standard error of the rate (median cell)", f->error, " m a year",
                      3);
    sdm_report_figure(to, "certain", "of the rates are beyond two standard errors", 100.0 * f->certain, " %",
                      1);
    sdm_report_figure(to, "stable", "of the ground is stable: its rate is taken for 0", 100.0 * f->stable,
                      " %", 1);
    add_areas(to, f);
    sdm_report_note(to,
                    "Heights of %.10s to %.10s. Errors of areas are those of "
                    "stable ground; half of the ground "
                    "must be stable, or `--align none` be given.",
                    f->first, f->last);
    to = sdm_report_section(r, NULL, "Rates", SDM_PAGE_HEIGHTS, SDM_STYLE_HALF);
    if (to)
        add_histogram(to, t);
    for (int i = 0; i < t->curves; i++)
        plot_curve(r, &t->curve[i]);
}
