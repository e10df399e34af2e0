/* A plot of the report -> inline SVG. */
// SPDX-License-Identifier: Apache-2.0
#include "product/report.h"

#include <math.h>

enum { FEW = 100 }; /* points that are drawn larger */

typedef struct Box { /* where the axes lie, SVG units */
    const SdmPlot *plot;
    double left, right, top, bottom;
} Box;

static double at_x(const Box *b, double x)
{
    const SdmPlot *const p = b->plot;
    const double share = p->log_x ? log(x / p->x0) / log(p->x1 / p->x0) : (x - p->x0) / (p->x1 - p->x0);
    return b->left + share * (b->right - b->left);
}

static double at_y(const Box *b, double y)
{
    return b->bottom - (y - b->plot->y0) / (b->plot->y1 - b->plot->y0) * (b->bottom - b->top);
}

/* 1, 2 or 5 times a power of ten that cuts the range into at most n parts. */
static double tick_step(double range, int n)
{
    const double unit = pow(10.0, floor(log10(range / n)));
    for (int i = 0; i < 3; i++) {
        static const double step[] = {1.0, 2.0, 5.0};
        if (range / (step[i] * unit) <= n)
            return step[i] * unit;
    }
    return 10.0 * unit;
}

static void draw_tick(SdmText *t, const Box *b, double x)
{
    sdm_text_add(t, "<text class='t' x='%.1f' y='%.1f' text-anchor='middle'>%.6g</text>", at_x(b, x),
                 b->bottom + 18.0, x);
}

static void draw_axes(SdmText *t, const Box *b)
{
    const SdmPlot *const p = b->plot;
    const double sx = tick_step(p->x1 - p->x0, 8), sy = tick_step(p->y1 - p->y0, 6);
    for (double x = ceil(p->x0 / sx) * sx; !p->log_x && x <= p->x1; x += sx)
        draw_tick(t, b, fabs(x) < sx / 2.0 ? 0.0 : x);
    for (double x = pow(10.0, ceil(log10(p->x0))); p->log_x && x <= p->x1; x *= 10.0)
        draw_tick(t, b, x);
    for (double y = ceil(p->y0 / sy) * sy; !p->no_y_ticks && y <= p->y1; y += sy)
        sdm_text_add(t,
                     "<line class='g' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>"
                     "<text class='t' x='%.1f' y='%.1f' text-anchor='end'>%.6g</text>",
                     b->left, b->right, at_y(b, y), at_y(b, y), b->left - 6.0, at_y(b, y) + 4.0,
                     fabs(y) < sy / 2.0 ? 0.0 : y);
    sdm_text_add(t, "<line class='a' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>", b->left, b->right, b->bottom,
                 b->bottom);
    sdm_text_add(t, "<text class='n' x='%.1f' y='%.1f' text-anchor='middle'>%s</text>",
                 (b->left + b->right) / 2.0, b->bottom + 38.0, p->x_label);
    sdm_text_add(t, "<text class='n' x='%.1f' y='%.1f'>%s</text>", b->left, b->top - 6.0, p->y_label);
}

static void draw_bars(SdmText *t, const Box *b, const char *style, const double *y, int n)
{
    const double width = (b->right - b->left) / n;
    for (int i = 0; i < n; i++)
        sdm_text_add(t, "<rect class='%s' x='%.1f' y='%.1f' width='%.1f' height='%.1f'/>", style,
                     b->left + (b->right - b->left) * i / n, at_y(b, y[i]), width - 0.8,
                     b->bottom - at_y(b, y[i]));
}

static void draw_points(SdmText *t, const Box *b, const char *style, const double *x, const double *y, int n)
{
    sdm_text_add(t, "<path class='%s%s' d='", style, n < FEW ? " few" : "");
    for (int i = 0; i < n; i++)
        if (y[i] >= b->plot->y0 && y[i] <= b->plot->y1)
            sdm_text_add(t, "M%.1f %.1fh0", at_x(b, x[i]), at_y(b, y[i]));
    sdm_text_add(t, "'/>");
}

static void draw_line(SdmText *t, const Box *b, const char *style, const double *x, const double *y, int n)
{
    sdm_text_add(t, "<polyline class='%s' points='", style);
    for (int i = 0; i < n; i++)
        if (x[i] >= b->plot->x0 && x[i] <= b->plot->x1)
            sdm_text_add(t, "%.1f,%.1f ", at_x(b, x[i]), at_y(b, fmin(fmax(y[i], b->plot->y0), b->plot->y1)));
    sdm_text_add(t, "'/>");
}

/* The range of the series on one axis, with a twentieth more on both sides where it is y; what is given
 * stays. */
static void find_range(const SdmPlot *p, bool is_y, double *from, double *to)
{
    double low = INFINITY, high = -INFINITY;
    if (*to > *from)
        return;
    for (int k = 0; k < p->count; k++) {
        const double *const v = is_y ? p->series[k].y : p->series[k].x;
        for (int i = 0; v && i < p->series[k].n; i++) {
            low = fmin(low, v[i]);
            high = fmax(high, v[i]);
        }
        low = is_y && p->series[k].kind == SDM_SERIES_BARS ? fmin(low, 0.0) : low;
    }
    const double more = is_y ? fmax(0.05 * (high - low), 1e-6 * fmax(fabs(high), 1e-3)) : 0.0;
    *from = low < 0.0 || low > 0.0 || !is_y ? low - more : low;
    *to = high > *from ? high + more : *from + 1.0;
}

void sdm_plot_svg(SdmText *out, const SdmPlot *plot, const char *label)
{
    SdmPlot own = *plot;
    const SdmPlot *const p = &own;
    own.height = plot->height ? plot->height : 200;
    find_range(plot, false, &own.x0, &own.x1);
    find_range(plot, true, &own.y0, &own.y1);
    const Box b = {
        .plot = p, .left = p->no_y_ticks ? 20.0 : 60.0, .right = 700.0, .top = 24.0, .bottom = p->height};
    sdm_text_add(out, "<svg viewBox='0 0 720 %d' role='img' aria-label='%s'>", p->height + 48, label);
    draw_axes(out, &b);
    for (int i = 0; i < p->count; i++) {
        const char *const style = p->series[i].style;
        const double *const x = p->series[i].x, *const y = p->series[i].y;
        const int n = p->series[i].n;
        if (p->series[i].kind == SDM_SERIES_BARS)
            draw_bars(out, &b, style, y, n);
        else if (p->series[i].kind == SDM_SERIES_POINTS)
            draw_points(out, &b, style, x, y, n);
        else if (p->series[i].kind == SDM_SERIES_LINE)
            draw_line(out, &b, style, x, y, n);
        else
            for (int k = 0; k < n; k++)
                sdm_text_add(out, "<line class='%s' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>", style,
                             at_x(&b, x[k]), at_x(&b, x[k]), b.top, b.bottom);
    }
    sdm_text_add(out, "</svg>");
}
