/* The trend of a stack -> sections of the report: map, figures, histogram, curves of three places. */
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"
#include "coreg/stack_trend.h"
#include "input/source.h"
#include "product/picture.h"
#include "product/report.h"

#include <math.h>
#include <string.h>

enum { FALLS, RISES, STAYS, KINDS };

static void add_histogram(SdmReport *r, const SdmStackTrend *t)
{
    enum { BARS = 80 };
    double top = 1.0;
    double bar[BARS + 1] = {0.0}; /* and the rate 0 */
    for (int64_t i = 0; i < t->cols * t->rows; i++) {
        const double k = ((double)t->line[i].rate / t->limit + 1.0) * 0.5 * BARS;
        if (k >= 0.0 && k < BARS)
            bar[(int)k] += 1.0;
    }
    for (int i = 0; i < BARS; i++)
        top = fmax(top, bar[i]);
    const SdmPlot plot = {
        .x_label = "rate (m a year)",
        .y_label = "places",
        .x0 = -t->limit,
        .x1 = t->limit,
        .y1 = top,
        .height = 200,
        .count = 2,
        .series = {{SDM_SERIES_BARS, "b", NULL, bar, BARS}, {SDM_SERIES_VERTICAL, "m", bar + BARS, NULL, 1}}};
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
        const double h = (double)sdm_trend_sample(s, &s->layer[i], at % t->cols, at / t->cols);
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
                          .series = {{SDM_SERIES_POINTS, "after", year, height_m, n},
                                     {SDM_SERIES_LINE, "p", line, line + 2, 2}}};
    sdm_report_plot(to, "heights by date", &plot);
    sdm_report_note(to, "%+.2f ± %.2f m a year at %.9g, %.9g; heights of %d dates.", (double)l->rate,
                    (double)l->error, s->grid.x0 + ((double)col + 0.5) * s->grid.spacing,
                    s->grid.y0 - ((double)row + 0.5) * s->grid.spacing, n);
}

/* ---- figures ---- */

/* Median of the standard errors of the samples; error: room for them. */
static double usual_error(const SdmStackTrend *t, double *error)
{
    int64_t n = 0;
    for (int64_t i = 0; i < t->cols * t->rows; i++)
        if (!isnan(t->line[i].rate))
            error[n++] = (double)t->line[i].error;
    return sdm_median_f64(error, n);
}

const double *sdm_trend_limit(const SdmStack *s)
{
    return &s->trend->limit;
}

void sdm_trend_report(SdmReport *r, const SdmStack *s, double cell_m)
{
    const SdmStackTrend *const t = s->trend;
    const SdmLayer *first = &s->layer[0], *last = first;
    const SdmReportItem to =
        sdm_report_section(r, "trend", "Rate of the heights", SDM_PAGE_MAPS, SDM_STYLE_CARD);
    double *room = NULL;
    if (sdm_alloc(s->ctx, &room, (size_t)(t->cols * t->rows + 3 * s->count + 4), sizeof *room,
                  "the report") != SDM_OK)
        return;
    for (int i = 1; i < s->count; i++) {
        first = s->layer[i].year < first->year ? &s->layer[i] : first;
        last = s->layer[i].year > last->year ? &s->layer[i] : last;
    }
    sdm_report_text(to, "first", first->date);
    sdm_report_text(to, "last", last->date);
    sdm_report_picture(to, "rate", &t->map, cell_m * t->factor * t->width / t->map.width);
    sdm_report_ramp(to, sdm_change_ramp, -t->limit, t->limit, "m a year", 2);
    sdm_report_figure(to, "error_median", "standard error of the rate (median)", usual_error(t, room),
                      " m a year", 3);
    sdm_report_figure(to, "stable_percent", "of the ground is stable: its rate is taken for 0",
                      100.0 * t->stable, " %", 1);
    sdm_report_note(to,
                    "Heights of %.10s to %.10s. Errors are those of a cell; neighbours share most of them.",
                    first->date, last->date);
    add_histogram(r, t);
    for (int kind = 0; kind < KINDS; kind++) {
        const int64_t at = find_example(t, kind);
        if (at >= 0)
            add_curve(r, s, at, room);
    }
    sdm_free(&room);
}
