/* Figures, plots and the map of a reference. */
// SPDX-License-Identifier: Apache-2.0
#include "product/reference_section.h"
#include "product/dem_report.h"
#include "product/picture.h"

#include <math.h>

static const char *const VIEW[2] = {"right", "left"};

static void add_shift(SdmReportItem to, const SdmReferenceReport *s)
{
    sdm_report_numbers(to, "apply_m", s->shift_m, 3);
    sdm_report_figure(to, NULL, "moved east", s->shift_m[0], " m", 2);
    sdm_report_figure(to, NULL, "moved north", s->shift_m[1], " m", 2);
    sdm_report_figure(to, NULL, "moved up", s->shift_m[2], " m", 2);
    sdm_report_figure(to, "cell_m", "cells of the reference", s->cell_m, " m", 0);
    sdm_report_figure(to, NULL, "terrain with heights of the reference", 100.0 * s->covered, " %", 1);
    sdm_report_number(to, "share_covered", s->covered);
    sdm_report_figure(to, NULL, "of it was left out of the fit", 100.0 * s->masked, " %", 1);
    sdm_report_number(to, "share_masked", s->masked);
    sdm_report_number(to, "px_per_m", s->px_per_m);
}

/* Error of cross-validation with a constant alone, and with the correction. */
static void add_gain(SdmReportItem to, const SdmReferenceReport *s)
{
    static const char *const key[SDM_ALONG_SCHEMES] = {"rows", "columns"};
    const SdmReportItem all = sdm_report_group(to, "cross_validation");
    for (int i = 0; i < SDM_ALONG_SCHEMES; i++) {
        const SdmReportItem one = sdm_report_group(all, key[i]);
        sdm_report_number(one, "before_px", s->fit.constant_px[i]);
        sdm_report_number(one, "after_px", s->fit.fitted_px[i]);
        if (!isfinite(s->fit.fitted_px[i]))
            continue;
        sdm_report_row(to, "error by row, cross-validated over blocks of %s\t%.3f → %.3f px (%.1f → %.1f m)",
                       key[i], s->fit.constant_px[i], s->fit.fitted_px[i],
                       s->fit.constant_px[i] / s->px_per_m, s->fit.fitted_px[i] / s->px_per_m);
    }
}

/* Standard error of the correction without its constant, which belongs to the vertical shift. */
static void add_standard_error(SdmReportItem to, const SdmReferenceReport *s)
{
    const double error_m = sdm_reference_error_m(s);
    if (error_m > 0.0)
        sdm_report_figure(to, "correction_error_m", "standard error of the correction", error_m, " m", 2);
}

static void add_waves(SdmReportItem to, const SdmReferenceReport *s, const SdmAlongCorrection *a)
{
    sdm_report_number(to, "degree", a->degree);
    sdm_report_numbers(to, "coefficients_px", a->coef, sdm_terms(a->degree));
    const SdmReportItem list = sdm_report_list(to, "waves");
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < a->waves[k]; i++) {
            const SdmAlongWave *const w = &a->wave[k][i];
            const double amplitude_px = hypot(w->cos_px, w->sin_px), rows = 1.0 / w->per_row;
            const SdmReportItem one = sdm_report_group(list, NULL);
            sdm_report_text(one, "view", VIEW[k]);
            sdm_report_number(one, "cycles_per_row", w->per_row);
            sdm_report_number(one, "wavelength_rows", rows);
            sdm_report_number(one, "wavelength_km", rows * s->row_m * 1e-3);
            sdm_report_number(one, "amplitude_px", amplitude_px);
            sdm_report_number(one, "amplitude_m", amplitude_px / s->px_per_m);
            sdm_report_number(one, "cos_px", w->cos_px);
            sdm_report_number(one, "sin_px", w->sin_px);
            sdm_report_row(to, "wave of the %s view\t%.0f rows (%.1f km), %.3f px (%.1f m)", VIEW[k], rows,
                           rows * s->row_m * 1e-3, amplitude_px, amplitude_px / s->px_per_m);
        }
}

static void add_spread(SdmReportItem to, const char *key, const char *what, const SdmReferenceSpread *s)
{
    const SdmReportItem one = sdm_report_group(to, key);
    sdm_report_number(one, "median_m", s->median_m);
    sdm_report_number(one, "nmad_m", s->nmad_m);
    if (!isnan(s->nmad_m))
        sdm_report_row(to, "%s\tmedian %.2f m, NMAD %.2f m", what, s->median_m, s->nmad_m);
}

static void add_differences(SdmReportItem to, const SdmProduct *p, const SdmReferenceReport *s)
{
    static const char *const key[2][2] = {{"before_used", "before_left_out"},
                                          {"after_used", "after_left_out"}};
    static const char *const what[2][2] = {
        {"coarse surface minus reference before, ground of the fit", "before, left out of the fit"},
        {"coarse surface minus reference after, ground of the fit", "after, left out of the fit"}};
    static const char *const dem[2] = {"DEM minus reference, ground of the fit",
                                       "DEM minus reference, left out of the fit"};
    const SdmReportItem all = sdm_report_group(to, "coarse_surface");
    for (int i = 0; i < 4; i++)
        add_spread(all, key[i / 2][i % 2], what[i / 2][i % 2], &s->spread[i / 2][i % 2]);
    const SdmChangeRaster *const change = p->request.reference ? &p->change : NULL;
    if (!change)
        return;
    const SdmReportItem cells = sdm_report_group(to, "dem");
    for (int k = 0; k < 2; k++) {
        const SdmReferenceSpread spread = sdm_change_spread(change, k);
        add_spread(cells, k ? "left_out" : "used", dem[k], &spread);
        sdm_report_number(cells, k ? "left_out_cells" : "used_cells", (double)sdm_change_count(change, k));
    }
}

/* Means by row of what is left without the waves of a view, and these waves. */
static void plot_view(SdmReport *r, SdmReportItem to, const SdmReferenceReport *s,
                      const SdmAlongCorrection *a, int view)
{
    const SdmReferenceBins *const b = &s->bins[view];
    double *const x = b->count > 1 ? sdm_report_room(r, 3 * b->count) : NULL;
    if (!x)
        return;
    double *const value = x + b->count, *const wave = value + b->count, first = 0.5 * b->step_px,
                  largest = 0.05;
    double top = largest;
    int n = 0;
    for (int i = 0; i < b->count; i++) {
        if (isnan(b->value_px[i]))
            continue;
        x[n] = first + i * b->step_px;
        value[n] = (double)b->value_px[i];
        wave[n] = sdm_along_profile(a, view, x[n]);
        top = fmax(top, 1.1 * fmax(fabs(value[n]), fabs(wave[n])));
        n++;
    }
    const SdmPlot plot = {.x_label = view == SDM_ALONG_RIGHT ? "row of the right image (px)"
                                                             : "row of the left image (px)",
                          .y_label = "difference from the reference along the lines (px)",
                          .y0 = -top,
                          .y1 = top,
                          .count = 2,
                          .series = {{SDM_SERIES_POINTS, "after", x, value, n, "means by row"},
                                     {SDM_SERIES_LINE, "p", x, wave, n, "waves"}}};
    if (n > 1)
        sdm_report_plot(to, "jitter along the lines by row", &plot);
}

static void add_map(SdmReport *r, const SdmProduct *p)
{
    if (!p->request.reference)
        return;
    const SdmReportItem to =
        sdm_report_section(r, NULL, "Height minus reference", SDM_PAGE_MAPS, SDM_STYLE_HALF);
    const SdmPng *const map = &p->change_map;
    sdm_report_picture(to, "height minus reference", map, sdm_report_pixel_m(p, map->width));
    sdm_report_ramp(to, sdm_change_ramp, -SDM_CHANGE_MAP_M, SDM_CHANGE_MAP_M, "m", 2);
    sdm_report_note(to, "The raster's second band marks what was left out of the fit: blocks that differ, "
                        "blocks beside them, and "
                        "what the masks leave out. It is no map of change.");
}

void sdm_report_reference(SdmReport *r, const SdmProduct *p, const SdmReferenceReport *s,
                          const SdmAlongCorrection *a)
{
    static const char *const state[] = {"none", "refused", "shift", "fitted"};
    add_map(r, p);
    const SdmReportItem to =
        sdm_report_section(r, "reference", "Reference", SDM_PAGE_ALIGNMENT, SDM_STYLE_HALF);
    sdm_report_text(to, "state", state[s->state]);
    sdm_report_text(to, "datum", s->datum);
    sdm_report_text(to, "reason", s->reason);
    sdm_report_text(to, "question", s->question);
    if (s->datum[0])
        sdm_report_note(to, "Its heights were taken as above %s.", s->datum);
    if (!sdm_reference_applied(s)) {
        sdm_report_note(to, "The reference was not used: %s. The cameras are those of a run without it.",
                        s->reason);
        return;
    }
    if (s->state == SDM_REFERENCE_SHIFT)
        sdm_report_note(to, "The 3-D shift alone is corrected: %s.", s->reason);
    if (s->question[0])
        sdm_report_note(to, "Please check the reference: %s", s->question);
    add_shift(to, s);
    add_gain(to, s);
    add_standard_error(to, s);
    add_waves(to, s, a);
    add_differences(to, p, s);
    for (int k = 0; k < 2; k++)
        plot_view(r, to, s, a, k);
    const int terms = sdm_terms(a->degree), waves = a->waves[0] + a->waves[1];
    sdm_report_note(to,
                    "The cameras were corrected, not the heights: a shift, %d number%s of low order and %d "
                    "wave%s are all that the DEM has of the reference.",
                    terms, terms == 1 ? "" : "s", waves, waves == 1 ? "" : "s");
}
