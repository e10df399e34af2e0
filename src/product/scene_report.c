/* DEM of one stereo pair -> its product and the report on it. */
// SPDX-License-Identifier: Apache-2.0
#include "product/dem_report.h"
#include "core/options.h"
#include "product/picture.h"

#include <math.h>
#include <string.h>

static void add_scene(SdmReport *r, const SdmSceneReport *s)
{
    const SdmReportItem to = sdm_report_section(r, "scene", NULL, SDM_PAGE_NONE, SDM_STYLE_CARD);
    const SdmPrepared *const p = s->prepared;
    SDM_REPORT(to, SDM_FIELD("id", s->scene_id), SDM_FIELD("kind", s->scene_kind),
               SDM_FIELD("acquisition_time_utc", s->time_utc), SDM_FIELD("cost", p->settings.cost_name),
               SDM_FIELD("left", s->left), SDM_FIELD("right", s->right));
    for (int i = 0; i < 2; i++) {
        if (*p->camera[i].source)
            sdm_report_text(to, i ? "right_camera" : "left_camera", p->camera[i].source);
        if (p->camera[i].bin)
            sdm_report_number(to, i ? "right_bin" : "left_bin", p->camera[i].bin);
    }
    SDM_REPORT(to, SDM_FIELD("centre_lon_deg", p->frame.lon_deg),
               SDM_FIELD("centre_lat_deg", p->frame.lat_deg), SDM_FIELD("base_height", p->frame.base_height),
               SDM_FIELD("convergence_deg", p->frame.convergence_deg),
               SDM_FIELD("ground_sample_distance_m", p->frame.gsd_m));
    if (!p->prior.datum[0])
        return;
    const SdmReportItem prior = sdm_report_group(to, "prior_dem");
    SDM_REPORT(prior, SDM_FIELD("datum", p->prior.datum), SDM_FIELD("share_covered", p->prior.covered));
}

static void add_options(SdmReport *r, const SdmContext *ctx, const SdmSceneReport *s, const SdmProduct *p)
{
    const SdmPrepared *const q = s->prepared;
    const SdmEffective found = {.grid = p->request.grid,
                                .cost = q->settings.cost_name,
                                .hmin_m = q->frame.hmin_m,
                                .hmax_m = q->frame.hmax_m,
                                .threads = sdm_threads(ctx)};
    const SdmReportItem to = sdm_report_options(r, p->request.options, SDM_CMD_RUN, &found);
    for (int i = 0; i < s->file_count; i++)
        sdm_report_figure(to, NULL, s->files[i].path, (double)s->files[i].size_bytes, " bytes", 0);
    if (!p->request.keep) {
        char json[4 * SDM_PATH_SIZE];
        sdm_path_quote(p->files->path[SDM_FILE_JSON], json, sizeof json);
        sdm_report_note(to, "Once more: `stereodem run --options %s`", json);
    }
    for (int i = 0; i < 2; i++)
        if (*q->camera[i].source)
            sdm_report_note(to, "%s camera: RPC from %s.", i ? "Right" : "Left", q->camera[i].source);
    for (int i = 0; i < 2; i++)
        if (q->camera[i].bin)
            sdm_report_note(to, "%s image: the mean of %d x %d pixels, somewhat finer than the other's.",
                            i ? "Right" : "Left", q->camera[i].bin, q->camera[i].bin);
}

/* The last round of tie points; NULL: there was none. */
static const SdmPointRound *last_round(const SdmSceneReport *s)
{
    const SdmPointReport *const points = &s->prepared->points;
    return points->rounds ? &points->round[points->rounds - 1] : NULL;
}

/* How good the DEM is, as far as the run itself can say, and what it cannot. */
static void add_summary(SdmReport *r, const SdmSceneReport *s, const SdmProduct *p)
{
    const SdmDemStats *const stats = &p->stats;
    const SdmFrame *const frame = &s->prepared->frame;
    const SdmPointRound *const last = last_round(s);
    const double seen = (double)(stats->cells - stats->unseen), valid = (double)stats->valid,
                 filled = (double)sdm_dem_stats_count(stats, SDM_QA_FILLED);
    static const SdmScale matched_well = {80.0, 50.0, "good from 80 %, poor below 50 %"},
                          small = {0.1, 0.25, "good up to 0.1 px, poor above 0.25 px"},
                          many = {1000.0, 200.0, "good from 1,000, poor below 200"},
                          wide = {0.3, 0.1, "good from 0.3, poor below 0.1"};
    const SdmReportItem to =
        sdm_report_section(r, NULL, "How good is it?", SDM_PAGE_SUMMARY, SDM_STYLE_FACTS);
    sdm_report_judged(to, "of the cells seen by both views have a height",
                      fmin(100.0 * valid / fmax(seen, 1.0), 100.0), " %", 1, &sdm_scale_seen);
    if (s->quality)
        sdm_report_judged(to, "of the cells with texture were matched", 100.0 * s->quality->matched_share,
                          " %", 1, &matched_well);
    sdm_report_judged(to, "of the heights were filled over small holes", 100.0 * filled / fmax(valid, 1.0),
                      " %", 1, &sdm_scale_filled);
    sdm_report_figure(to, NULL, "predicted standard error of a height (median)", sdm_product_error_m(p), " m",
                      2);
    sdm_report_figure(to, NULL, "median height", sdm_dem_stats_quantile_m(stats, 0.5), " m", 1);
    sdm_report_figure(to, NULL, "heights from the 1 % quantile", sdm_dem_stats_quantile_m(stats, 0.01), " m",
                      0);
    sdm_report_figure(to, NULL, "to the 99 % quantile", sdm_dem_stats_quantile_m(stats, 0.99), " m", 0);
    sdm_report_judged(to, "ray intersection error that the pointing correction leaves (NMAD)",
                      last ? last->after_nmad_px : NAN, " px", 3, &small);
    sdm_report_judged(to, "tie points behind it", last ? (double)last->inliers : (double)NAN, "", 0, &many);
    sdm_report_judged(to, "base to height ratio", frame->base_height, "", 2, &wide);
    sdm_report_figure(to, NULL, "from start to end", s->work.wall_s, " s", 1);
    sdm_report_note(
        to,
        "%s A residual of one pixel across the rays is %.1f m on the ground; along them it is %.1f m of "
        "height. Only a reference can tell the absolute error: `stereodem compare DEM REFERENCE`. The "
        "predicted standard error is band 7 of the QA raster: 68 %% of the heights lie within it after an "
        "alignment; errors of the cameras, such as jitter, are not in it.",
        sdm_report_grid_phrase(r, p), frame->gsd_m, frame->gsd_m / fmax(frame->base_height, 1e-3));
}

/* ---- pointing correction ---- */

static void add_correction(SdmReportItem to, const SdmPointing *p)
{
    sdm_report_numbers(to, "direction", p->dir, 2);
    sdm_report_numbers(to, "centre_px", p->centre, 2);
    sdm_report_numbers(to, "scale_px", p->scale, 2);
    sdm_report_number(to, "degree", p->degree);
    sdm_report_numbers(to, "coefficients_px", p->coef, p->terms);
    const SdmReportItem profile = sdm_report_group(to, "profile");
    SDM_REPORT(profile, SDM_FIELD("row0", p->profile_row0), SDM_FIELD("step_px", p->profile_step_px));
    sdm_report_numbers(profile, "values_px", p->profile_px, p->profile_count);
}

/* Jitter profile -> a line of at most some 800 points; without one of none. */
static SdmSeries profile_line(SdmReport *r, const SdmPointing *p)
{
    const int n = p->profile_count, skip = n / 800 + 1, shown = (n + skip - 1) / skip;
    double *const x = n >= 2 && p->profile_px ? sdm_report_room(r, 2 * shown) : NULL, *const y = x ? x + shown
                                                                                                   : NULL;
    for (int i = 0; x && i < shown; i++) {
        x[i] = (double)p->profile_row0 + (double)(i * skip) * p->profile_step_px;
        y[i] = p->profile_px[i * skip];
    }
    return (SdmSeries){SDM_SERIES_LINE, "p", x, y, x ? shown : 0, "jitter profile"};
}

/* Residuals of the tie points by row of the right image, before and after the correction, and the jitter
 * profile. */
static void plot_residuals(SdmReport *r, SdmReportItem to, const SdmPointing *pointing,
                           const SdmPointRound *round)
{
    const int n = round->sample_count;
    double row0 = INFINITY, row1 = -INFINITY, largest = 0.05;
    double *const x = sdm_report_room(r, 3 * n);
    if (!x)
        return;
    double *const before = x + n, *const after = before + n;
    for (int i = 0; i < n; i++) {
        const SdmPointSample *const s = &round->samples[i];
        x[i] = s->row;
        before[i] = s->residual_px;
        after[i] = s->corrected_px;
        row0 = fmin(row0, x[i]);
        row1 = fmax(row1, x[i]);
        largest = fmax(largest, fmax(fabs(before[i]), fabs(after[i])));
    }
    largest = fmin(largest, fmax(fabs(round->before_median_px) + 6.0 * round->before_nmad_px, 0.5));
    const SdmSeries profile = profile_line(r, pointing);
    const SdmPlot plot = {.x_label = "row of the right image (px)",
                          .y_label = "residual across the epipolar lines (px)",
                          .x0 = row0,
                          .x1 = row1,
                          .y0 = -largest,
                          .y1 = largest,
                          .height = 270,
                          .count = profile.n ? 3 : 2,
                          .series = {{SDM_SERIES_POINTS, "before", x, before, n, "before"},
                                     {SDM_SERIES_POINTS, "after", x, after, n, "after"},
                                     profile}};
    if (row1 > row0)
        sdm_report_plot(to, "pointing residuals by row", &plot);
}

static void add_round(SdmReportItem to, SdmReportItem rounds, const SdmPointRound *k, int number)
{
    const SdmReportItem item = sdm_report_group(rounds, NULL);
    SDM_REPORT(item, SDM_FIELD("level", k->level), SDM_FIELD("matches", k->matches),
               SDM_FIELD("inliers", k->inliers), SDM_FIELD("degree", k->degree),
               SDM_FIELD("before_median_px", k->before_median_px),
               SDM_FIELD("before_nmad_px", k->before_nmad_px), SDM_FIELD("after_nmad_px", k->after_nmad_px),
               SDM_FIELD("cross_validation_px", k->cross_validation_px),
               SDM_FIELD("profile_rms_px", k->profile_rms_px));
    sdm_report_row(
        to, "round %d: %d tie points, %d used, degree %d\t%.3f → %.3f px NMAD, median before %.2f px", number,
        k->matches, k->inliers, k->degree, k->before_nmad_px, k->after_nmad_px, k->before_median_px);
}

static void add_pointing(SdmReport *r, const SdmSceneReport *s)
{
    const SdmPointing *const pointing = &s->prepared->pointing;
    const SdmPointReport *const points = &s->prepared->points;
    const int n = points->rounds;
    const SdmReportItem to =
        sdm_report_section(r, "pointing", "Pointing", SDM_PAGE_ALIGNMENT, SDM_STYLE_HALF);
    add_correction(to, pointing);
    const SdmReportItem rounds = sdm_report_list(to, "rounds");
    if (n == 0)
        sdm_report_note(to, "No correction was estimated.");
    else
        plot_residuals(r, to, pointing, &points->round[n - 1]);
    for (int i = 0; i < n; i++)
        add_round(to, rounds, &points->round[i], i + 1);
}

/* ---- the product ---- */

SdmStatus sdm_scene_product_open(SdmContext *ctx, const SdmOptions *opt, const SdmGrid *grid,
                                 const SdmSceneReport *report, SdmProduct **out)
{
    const SdmPrepared *const q = report->prepared;
    const SdmReferenceReport *const fit = &q->reference;
    const SdmProductRequest request = {.options = opt,
                                       .keep = report->keep,
                                       .grid = grid,
                                       .qa = &sdm_qa_scene,
                                       .ortho = true,
                                       .error = {.gsd_m = q->frame.gsd_m,
                                                 .census = !strcmp(q->settings.cost_name, "census"),
                                                 .semi_global = q->settings.semi_global,
                                                 .metres_per_px = q->frame.gsd_m / q->frame.base_height,
                                                 .correction_m = sdm_reference_error_m(fit)},
                                       .id = report->scene_id,
                                       .kind = report->scene_kind,
                                       .time_utc = report->time_utc,
                                       .reference = sdm_reference_applied(fit) ? fit : NULL,
                                       .reference_dem = q->reference_dem,
                                       .lon_deg = q->frame.lon_deg,
                                       .lat_deg = q->frame.lat_deg,
                                       .job = report->job};
    return sdm_product_open(ctx, &request, out);
}

/* ---- the reference ---- */

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
    SDM_REPORT(to, SDM_FIELD("share_masked", s->masked), SDM_FIELD("px_per_m", s->px_per_m));
}

/* Error of cross-validation with a constant alone, and with the correction. */
static void add_gain(SdmReportItem to, const SdmReferenceReport *s)
{
    static const char *const key[SDM_ALONG_SCHEMES] = {"rows", "columns"};
    const SdmReportItem all = sdm_report_group(to, "cross_validation");
    for (int i = 0; i < SDM_ALONG_SCHEMES; i++) {
        const SdmReportItem one = sdm_report_group(all, key[i]);
        SDM_REPORT(one, SDM_FIELD("before_px", s->fit.constant_px[i]),
                   SDM_FIELD("after_px", s->fit.fitted_px[i]));
        if (!isfinite(s->fit.fitted_px[i]))
            continue;
        sdm_report_row(to, "error by row, cross-validated over blocks of %s\t%.3f → %.3f px (%.1f → %.1f m)",
                       key[i], s->fit.constant_px[i], s->fit.fitted_px[i],
                       s->fit.constant_px[i] / s->px_per_m, s->fit.fitted_px[i] / s->px_per_m);
    }
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
            SDM_REPORT(one, SDM_FIELD("view", VIEW[k]), SDM_FIELD("cycles_per_row", w->per_row),
                       SDM_FIELD("wavelength_rows", rows), SDM_FIELD("wavelength_km", rows * s->row_m * 1e-3),
                       SDM_FIELD("amplitude_px", amplitude_px),
                       SDM_FIELD("amplitude_m", amplitude_px / s->px_per_m), SDM_FIELD("cos_px", w->cos_px),
                       SDM_FIELD("sin_px", w->sin_px));
            sdm_report_row(to, "wave of the %s view\t%.0f rows (%.1f km), %.3f px (%.1f m)", VIEW[k], rows,
                           rows * s->row_m * 1e-3, amplitude_px, amplitude_px / s->px_per_m);
        }
}

static void add_spread(SdmReportItem to, const char *key, const char *what, const SdmReferenceSpread *s)
{
    const SdmReportItem one = sdm_report_group(to, key);
    SDM_REPORT(one, SDM_FIELD("median_m", s->median_m), SDM_FIELD("nmad_m", s->nmad_m));
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
    double *const value = x + b->count, *const wave = value + b->count, first = 0.5 * b->step_px;
    double top = 0.05;
    int n = 0;
    for (int i = 0; i < b->count; i++) {
        x[i] = first + i * b->step_px;
        value[i] = (double)b->value_px[i];
        wave[i] = isnan(value[i]) ? value[i] : sdm_along_profile(a, view, x[i]);
        top = fmax(top, 1.1 * fmax(fabs(value[i]), fabs(wave[i])));
        n += !isnan(value[i]);
    }
    const SdmPlot plot = {.x_label = view == SDM_ALONG_RIGHT ? "row of the right image (px)"
                                                             : "row of the left image (px)",
                          .y_label = "difference from the reference along the lines (px)",
                          .y0 = -top,
                          .y1 = top,
                          .count = 2,
                          .series = {{SDM_SERIES_POINTS, "after", x, value, b->count, "means by row"},
                                     {SDM_SERIES_LINE, "p", x, wave, b->count, "waves"}}};
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

/* Figures, plots and the map of a reference; s: state other than NONE. */
static void add_reference(SdmReport *r, const SdmProduct *p, const SdmReferenceReport *s,
                          const SdmAlongCorrection *a)
{
    static const char *const state[] = {"none", "refused", "shift", "fitted"};
    add_map(r, p);
    const SdmReportItem to =
        sdm_report_section(r, "reference", "Reference", SDM_PAGE_ALIGNMENT, SDM_STYLE_HALF);
    SDM_REPORT(to, SDM_FIELD("state", state[s->state]), SDM_FIELD("datum", s->datum),
               SDM_FIELD("reason", s->reason), SDM_FIELD("question", s->question));
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
    if (sdm_reference_error_m(s) > 0.0) /* without its constant, which belongs to the vertical shift */
        sdm_report_figure(to, "correction_error_m", "standard error of the correction",
                          sdm_reference_error_m(s), " m", 2);
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

/* ---- the report ---- */

static void build(SdmContext *ctx, const SdmProduct *p, const void *what, SdmReport *r)
{
    const SdmSceneReport *const s = what;
    const SdmQuality *const q = s->quality;
    sdm_report_title(r, p->request.options->output, "%s · %s · %s · matched by %s · stereodem %s",
                     s->scene_id, s->scene_kind, s->time_utc[0] ? s->time_utc : "time unknown",
                     s->prepared->settings.cost_name, SDM_VERSION);
    sdm_report_program(r, p);
    add_scene(r, s);
    const SdmReportItem files = sdm_report_list(r->root, "inputs");
    for (int i = 0; i < s->file_count; i++)
        SDM_REPORT(sdm_report_group(files, NULL), SDM_FIELD("path", s->files[i].path),
                   SDM_FIELD("size_bytes", s->files[i].size_bytes),
                   SDM_FIELD("mtime_s", s->files[i].mtime_s));
    add_options(r, ctx, s, p);
    add_summary(r, s, p);
    const SdmReportItem grid = sdm_report_grid(r, p);
    SDM_REPORT(grid, SDM_FIELD("qa_score_step", SDM_SCORE_STEP), SDM_FIELD("qa_gap_step_m", p->metres_step),
               SDM_FIELD("qa_error_step_m", sdm_qa_scale(SDM_BAND_ERROR, p->metres_step)));
    sdm_report_maps(r, p);
    sdm_report_cells(r, p);
    const SdmReportItem heights = sdm_report_heights(r, p);
    SDM_REPORT(heights, SDM_FIELD("searched_min", s->prepared->frame.hmin_m),
               SDM_FIELD("searched_max", s->prepared->frame.hmax_m));
    if (q) {
        const SdmReportItem trust = sdm_report_doubts(r, q->text[0], sizeof q->text[0], q->count);
        SDM_REPORT(trust, SDM_FIELD("matched_share_of_texture", q->matched_share),
                   SDM_FIELD("ray_gap_median_px", q->ray_error_median_px));
    }
    add_pointing(r, s);
    if (s->prepared->reference.state != SDM_REFERENCE_NONE)
        add_reference(r, p, &s->prepared->reference, &s->prepared->along);
    sdm_report_work(r, ctx, p, &s->work);
}

static SdmStatus take_result(SdmContext *ctx, const SdmProduct *p, const SdmSceneReport *s, SdmDemResult *out)
{
    const SdmPointRound *const last = last_round(s);
    *out = (SdmDemResult){.pointing_residual_px = last ? last->after_nmad_px : (double)NAN,
                          .tie_points = last ? (double)last->inliers : (double)NAN,
                          .matched_share = s->quality ? s->quality->matched_share : (double)NAN};
    PASS(sdm_alloc(ctx, &out->file, (size_t)s->file_count + 1, sizeof *out->file, "the result"));
    PASS(sdm_alloc(ctx, &out->doubt, SDM_MAX_WARNINGS, sizeof *out->doubt, "the result"));
    out->files = s->file_count;
    if (s->file_count)
        memcpy(out->file, s->files, (size_t)s->file_count * sizeof *out->file);
    for (; s->quality && out->doubts < s->quality->count; out->doubts++)
        snprintf(out->doubt[out->doubts].text, sizeof out->doubt->text, "%s", s->quality->text[out->doubts]);
    sdm_dem_result_take(p, out);
    return SDM_OK;
}

SdmStatus sdm_scene_product_finish(SdmContext *ctx, SdmProduct *p, const SdmSceneReport *report,
                                   SdmLease *lease, SdmDemResult *result)
{
    SdmSceneReport complete = *report;
    PASS(take_result(ctx, p, report, result));
    PASS(sdm_report_publish(ctx, p, build, &complete, &complete.work, lease));
    result->wall_s = complete.work.wall_s;
    return SDM_OK;
}
