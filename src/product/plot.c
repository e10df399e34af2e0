/* Heights and pointing residuals -> inline SVG. */
// SPDX-License-Identifier: Apache-2.0
#include "product/plot.h"

#include <math.h>

typedef struct Axes { /* data range and the box it is drawn in, in SVG units */
    double x0, x1, y0, y1;
    double left, right, top, bottom;
} Axes;

static double at_x(const Axes *a, double x)
{
    return a->left + (x - a->x0) / (a->x1 - a->x0) * (a->right - a->left);
}

static double at_y(const Axes *a, double y)
{
    return a->bottom - (y - a->y0) / (a->y1 - a->y0) * (a->bottom - a->top);
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

static void draw_axes(SdmText *t, const Axes *a, const char *xname, const char *yname, int yticks)
{
    const double sx = tick_step(a->x1 - a->x0, 8), sy = tick_step(a->y1 - a->y0, 6);
    for (double x = ceil(a->x0 / sx) * sx; x <= a->x1; x += sx)
        sdm_text_add(t, "<text class='t' x='%.1f' y='%.1f' text-anchor='middle'>%.6g</text>", at_x(a, x),
                     a->bottom + 18.0, fabs(x) < sx / 2.0 ? 0.0 : x);
    for (double y = ceil(a->y0 / sy) * sy; yticks && y <= a->y1; y += sy)
        sdm_text_add(t,
                     "<line class='g' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>"
                     "<text class='t' x='%.1f' y='%.1f' text-anchor='end'>%.6g</text>",
                     a->left, a->right, at_y(a, y), at_y(a, y), a->left - 6.0, at_y(a, y) + 4.0,
                     fabs(y) < sy / 2.0 ? 0.0 : y);
    sdm_text_add(t, "<line class='a' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/>", a->left, a->right, a->bottom,
                 a->bottom);
    sdm_text_add(t, "<text class='n' x='%.1f' y='%.1f' text-anchor='middle'>%s</text>",
                 (a->left + a->right) / 2.0, a->bottom + 38.0, xname);
    sdm_text_add(t, "<text class='n' x='%.1f' y='%.1f'>%s</text>", a->left, a->top - 6.0, yname);
}

void sdm_plot_histogram(SdmText *t, const SdmSurvey *s)
{
    enum { BARS = 96 };
    int64_t bar[BARS] = {0}, top = 1;
    const double low = sdm_survey_quantile_m(s, 0.001),
                 high = fmax(sdm_survey_quantile_m(s, 0.999), low + 4.0 * s->bin_m);
    if (!s->valid)
        return;
    for (int i = 0; i < SDM_HISTOGRAM; i++) {
        const double k = (SDM_HISTOGRAM_FLOOR_M + (i + 0.5) * s->bin_m - low) / (high - low) * BARS;
        if (k >= 0.0 && k < BARS)
            bar[(int)k] += s->histogram[i];
    }
    for (int i = 0; i < BARS; i++)
        top = bar[i] > top ? bar[i] : top;
    const Axes a = {low, high, 0.0, (double)top, 20.0, 700.0, 24.0, 200.0};
    sdm_text_add(t, "<svg viewBox='0 0 720 248' role='img' aria-label='histogram of heights'>");
    draw_axes(t, &a, "height (m)", "share of cells", 0);
    for (int i = 0; i < BARS; i++) {
        const double x0 = a.left + (a.right - a.left) * i / BARS, y = at_y(&a, (double)bar[i]);
        sdm_text_add(t, "<rect class='b' x='%.1f' y='%.1f' width='%.1f' height='%.1f'/>", x0, y,
                     (a.right - a.left) / BARS - 0.8, a.bottom - y);
    }
    const double median = at_x(&a, sdm_survey_quantile_m(s, 0.5));
    sdm_text_add(t, "<line class='m' x1='%.1f' x2='%.1f' y1='%.1f' y2='%.1f'/></svg>", median, median, a.top,
                 a.bottom);
}

static void draw_profile(SdmText *t, const Axes *a, const SdmPointing *p)
{
    const int n = p->profile_count, skip = n / 800 + 1; /* enough for 600 pixels of width */
    if (n < 2 || !p->profile_px)
        return;
    sdm_text_add(t, "<polyline class='p' points='");
    for (int i = 0; i < n; i += skip) {
        const double row = (double)p->profile_row0 + (double)i * p->profile_step_px;
        if (row >= a->x0 && row <= a->x1)
            sdm_text_add(t, "%.1f,%.1f ", at_x(a, row), at_y(a, fmin(fmax(p->profile_px[i], a->y0), a->y1)));
    }
    sdm_text_add(t, "'/>");
}

void sdm_plot_pointing(SdmText *t, const SdmPointing *pointing, const SdmPointRound *round)
{
    double row0 = INFINITY, row1 = -INFINITY, most = 0.05;
    for (int i = 0; i < round->sample_count; i++) {
        const SdmPointSample *const s = &round->samples[i];
        row0 = fmin(row0, s->row);
        row1 = fmax(row1, s->row);
        most = fmax(most, fmax(fabs(s->residual_px), fabs(s->corrected_px)));
    }
    if (!(row1 > row0))
        return;
    most = fmin(most, fmax(fabs(round->before_median_px) + 6.0 * round->before_nmad_px, 0.5));
    const Axes a = {row0, row1, -most, most, 60.0, 700.0, 24.0, 270.0};
    sdm_text_add(t, "<svg viewBox='0 0 720 318' role='img' aria-label='pointing residuals by row'>");
    draw_axes(t, &a, "row of the right image (px)", "residual across the epipolar lines (px)", 1);
    for (int pass = 0; pass < 2; pass++) {
        sdm_text_add(t, "<path class='%s' d='", pass ? "after" : "before");
        for (int i = 0; i < round->sample_count; i++) {
            const SdmPointSample *const s = &round->samples[i];
            const double y = pass ? s->corrected_px : s->residual_px;
            if (fabs(y) <= most)
                sdm_text_add(t, "M%.1f %.1fh0", at_x(&a, s->row), at_y(&a, y));
        }
        sdm_text_add(t, "'/>");
    }
    if (pointing)
        draw_profile(t, &a, pointing);
    sdm_text_add(t, "</svg>");
}
