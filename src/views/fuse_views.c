/* DEMs of the pairs -> one DEM, its QA raster with the number of pairs, the orthoimage, and the report.
 * Cells are fused by src/coreg/stack_fuse.c. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/stack_layer.h"
#include "geo/gdal_scope.h"
#include "product/dem_report.h"
#include "scene/quality.h"
#include "views/views.h"

#include <math.h>
#include <string.h>

static const double LEAST_GSD =
    0.2; /* ground sample distances by which heights may always differ, times a few */

/* The pairs that have a DEM, to be fused. */
typedef struct Fusing {
    SdmViews *views;
    const SdmViewPair *pair[SDM_MAX_VIEW_PAIRS];
    const char *dem[SDM_MAX_VIEW_PAIRS];
    SdmFusedDem fused[SDM_MAX_VIEW_PAIRS];
    int count, place, ortho_view; /* place: the pair that keeps its place */
    char kind[64];
    SdmReportWork work;
    SdmDemResult *result;
} Fusing;

/* ---- what is fused ---- */

/* The pair of largest weight whose left view is that of most pairs and was not moved: these all lie where the
 * camera of that view says, and need not be resampled. */
static int find_place(const Fusing *f)
{
    int place = 0, most = 0;
    for (int k = 0; k < f->count; k++) {
        int n = 0;
        for (int i = 0; i < f->count; i++)
            n += f->pair[i]->left == f->pair[k]->left;
        if (n > most && !(sdm_views_move_m(f->views, f->pair[k]->left) > 0.0)) {
            most = n;
            place = k;
        }
    }
    return place;
}

/* The first view where it is the left one of a pair, else that of the place. */
static int find_ortho_view(const Fusing *f)
{
    for (int k = 0; k < f->count; k++)
        if (f->pair[k]->left == f->views->first)
            return f->views->first;
    return f->pair[f->place]->left;
}

/* Weight of a pair's vote: slanted views and views of other seasons match worse and hide more, and the share
 * of the textured cells that were matched tells how well these two agree. */
static double trust_of(const SdmViewPair *p)
{
    const double share = p->result.matched_share;
    return isnan(share) ? 0.0 : share * share * share * sqrt(p->trust);
}

/* The view, or the first one of the same camera. */
static int camera_of(const SdmViews *v, int view)
{
    int first = view;
    for (int k = 0; k < v->pairs; k++)
        if (v->pair[k].same_camera && (v->pair[k].left == view || v->pair[k].right == view)) {
            const int other = v->pair[k].left + v->pair[k].right - view;
            first = other < first ? other : first;
        }
    return first;
}

static void gather(SdmViews *v, Fusing *f)
{
    f->views = v;
    for (int k = 0; k < v->chosen_count; k++)
        if (v->chosen[k]->has_dem) {
            const SdmViewPair *const p = f->pair[f->count] = v->chosen[k];
            f->dem[f->count] = p->dem;
            f->fused[f->count++] = (SdmFusedDem){.sigma_m = p->sigma_m,
                                                 .trust = trust_of(p),
                                                 .view = {camera_of(v, p->left), camera_of(v, p->right)}};
        }
    f->place = find_place(f);
    f->ortho_view = find_ortho_view(f);
    for (int k = 0; k < f->count; k++)
        f->fused[k].ortho = f->pair[k]->left == f->ortho_view;
    snprintf(f->kind, sizeof f->kind, "%d views with RPC, %d pairs", v->joined, f->count);
}

/* ---- result ---- */

static double share_of(const Fusing *f, int k)
{
    double sum = 0.0;
    for (int i = 0; i < f->count; i++)
        sum += 1.0 / (f->fused[i].sigma_m * f->fused[i].sigma_m);
    return 1.0 / (f->fused[k].sigma_m * f->fused[k].sigma_m * sum);
}

static void take_pair(const Fusing *f, const SdmLayer *l, SdmPairResult *out)
{
    const SdmViews *const v = f->views;
    const SdmViewPair *const p = f->pair[l->given];
    *out = (SdmPairResult){.left = v->path[p->left],
                           .right = v->path[p->right],
                           .reference = l->given == 0,
                           .base_height = p->base_height,
                           .days_apart = p->days,
                           .overlap = p->overlap,
                           .sigma_m = p->sigma_m,
                           .weight = share_of(f, l->given),
                           .agreement = p->look.share,
                           .trust = f->fused[l->given].trust / fmax(f->fused[0].trust, 1e-12),
                           .smooth_m = l->bias_nmad_m,
                           .coverage = p->result.coverage,
                           .pointing_residual_px = p->result.pointing_residual_px,
                           .tie_points = p->result.tie_points,
                           .wall_s = p->result.wall_s};
    for (int k = 0; k < 3; k++)
        out->apply_m[k] = 0.0 - l->shift_m[k]; /* no -0 */
    snprintf(out->names, sizeof out->names, "%s, %s", sdm_view_name(v, p->left), sdm_view_name(v, p->right));
    sdm_log(v->ctx, SDM_LOG_INFO, 8, "pair %d: moved by %.2f, %.2f, %.2f m east, north and up%s", p->number,
            out->apply_m[0], out->apply_m[1], out->apply_m[2],
            isnan(out->smooth_m) ? "" : ", with smooth differences");
}

static bool is_named(const SdmViews *v, int view, const char *text)
{
    const char *const name = sdm_view_name(v, view); /* with its folder where another one is called so, too */
    return *name && strstr(text, name);
}

/* A doubt about one of the images is said once, without the pair. */
static void add_pair_doubt(const SdmViews *v, const SdmViewPair *p, const char *text, SdmDemResult *out)
{
    const bool of_image = is_named(v, p->left, text) || is_named(v, p->right, text);
    char *const to = out->doubt[out->doubts].text;
    for (int i = 0; i < out->doubts && of_image; i++)
        if (strcmp(out->doubt[i].text, text) == 0)
            return;
    if (of_image)
        snprintf(to, sizeof out->doubt->text, "%s", text);
    else
        snprintf(to, sizeof out->doubt->text, "%s and %s: %.1300s", sdm_view_name(v, p->left),
                 sdm_view_name(v, p->right), text);
    out->doubts++;
}

/* Views of one exposure, moved and left out, the doubts of the pairs, and pairs that failed. */
static SdmStatus take_doubts(const SdmViews *v, SdmDemResult *out)
{
    PASS(sdm_alloc(v->ctx, &out->doubt,
                   (size_t)(v->pairs + v->count) + (size_t)v->chosen_count * (SDM_MAX_WARNINGS + 1),
                   sizeof *out->doubt, "the result"));
    for (int k = 0; k < v->pairs; k++)
        if (v->pair[k].same_camera)
            snprintf(out->doubt[out->doubts++].text, sizeof out->doubt->text,
                     "%s and %s have one camera: the same exposure counts twice; leave one of them out",
                     sdm_view_name(v, v->pair[k].left), sdm_view_name(v, v->pair[k].right));
    for (int i = 0; i < v->count; i++) {
        if (*v->left_out[i])
            snprintf(out->doubt[out->doubts++].text, sizeof out->doubt->text, "%s is left out: %s",
                     sdm_view_name(v, i), v->left_out[i]);
        else if (sdm_views_move_m(v, i) > 0.0)
            snprintf(out->doubt[out->doubts++].text, sizeof out->doubt->text,
                     "the camera of %s is %.0f m off those of other views, and was moved to them%s",
                     sdm_view_name(v, i), sdm_views_move_m(v, i),
                     v->is_guess ? ": these views do not tell which of them are right, so the DEM may lie as "
                                   "far off, and farther in height"
                                 : "");
    }
    for (int k = 0; k < v->chosen_count; k++) {
        const SdmViewPair *const p = v->chosen[k];
        if (!p->has_dem)
            snprintf(out->doubt[out->doubts++].text, sizeof out->doubt->text, "%s and %s are left out: %s",
                     sdm_view_name(v, p->left), sdm_view_name(v, p->right), p->why);
        for (int i = 0; i < p->result.doubts; i++)
            if (k == 0 || strncmp(p->result.doubt[i].text, SDM_BASE_DOUBT, strlen(SDM_BASE_DOUBT)) != 0)
                add_pair_doubt(v, p, p->result.doubt[i].text, out);
    }
    for (int i = 0; i < out->doubts; i++)
        sdm_log(v->ctx, SDM_LOG_WARNING, 9, "%s", out->doubt[i].text);
    return SDM_OK;
}

/* The residual of the pointing is that of the pair where it is largest. */
static SdmStatus take_pairs(const Fusing *f, const SdmStack *s)
{
    SdmDemResult *const out = f->result;
    *out = (SdmDemResult){.pointing_residual_px = (double)NAN, .tie_points = (double)NAN, .pairs = f->count};
    PASS(sdm_alloc(s->ctx, &out->pair, (size_t)f->count, sizeof *out->pair, "the result"));
    for (int i = 0; i < s->count; i++) {
        const SdmLayer *const l = &s->layer[i];
        take_pair(f, l, &out->pair[l->given]);
    }
    for (int k = 0; k < f->count; k++) {
        const SdmPairResult *const one = &out->pair[k];
        if (!isnan(one->pointing_residual_px) && !(one->pointing_residual_px <= out->pointing_residual_px)) {
            out->pointing_residual_px = one->pointing_residual_px;
            out->tie_points = one->tie_points;
        }
    }
    return SDM_OK;
}

/* ---- report ---- */

static void add_scene(SdmReport *r, const Fusing *f)
{
    const SdmViews *const v = f->views;
    const SdmReportItem to = sdm_report_section(r, "scene", NULL, SDM_PAGE_NONE, SDM_STYLE_CARD);
    SDM_REPORT(to, SDM_FIELD("id", v->id[v->first]), SDM_FIELD("kind", f->kind),
               SDM_FIELD("acquisition_time_utc", v->time_utc[v->first]),
               SDM_FIELD("base_height", f->pair[0]->base_height),
               SDM_FIELD("ground_sample_distance_m", f->pair[0]->gsd_m),
               SDM_FIELD("centre_lon_deg", f->pair[0]->lon_deg),
               SDM_FIELD("centre_lat_deg", f->pair[0]->lat_deg), SDM_FIELD("ortho", v->path[f->ortho_view]));
    const SdmReportItem views = sdm_report_list(to, "views");
    for (int i = 0; i < v->count; i++)
        SDM_REPORT(sdm_report_group(views, NULL), SDM_FIELD("path", v->path[i]),
                   SDM_FIELD("acquisition_time_utc", v->time_utc[i]));
}

/* Does a pair before this one name the file? */
static bool is_listed(const Fusing *f, int pair, const char *path)
{
    bool found = false;
    for (int k = 0; k < pair; k++)
        for (int n = 0; n < f->pair[k]->result.files; n++)
            found = found || strcmp(f->pair[k]->result.file[n].path, path) == 0;
    return found;
}

/* Files of the pairs, each once. */
static void add_inputs(SdmReport *r, const Fusing *f)
{
    const SdmReportItem files = sdm_report_list(r->root, "inputs");
    for (int k = 0; k < f->count; k++)
        for (int n = 0; n < f->pair[k]->result.files; n++) {
            const SdmInputFile *const file = &f->pair[k]->result.file[n];
            if (!is_listed(f, k, file->path))
                SDM_REPORT(sdm_report_group(files, NULL), SDM_FIELD("path", file->path),
                           SDM_FIELD("size_bytes", file->size_bytes), SDM_FIELD("mtime_s", file->mtime_s));
        }
}

void sdm_pair_figures(const SdmPairResult *p, SdmField out[SDM_PAIR_FIGURES])
{
    const SdmField field[SDM_PAIR_FIGURES] = {SDM_FIELD("base_height", p->base_height),
                                              SDM_FIELD("days_apart", p->days_apart),
                                              SDM_FIELD("overlap", p->overlap),
                                              SDM_FIELD("sigma_m", p->sigma_m),
                                              SDM_FIELD("weight", p->weight),
                                              SDM_FIELD("agreement", p->agreement),
                                              SDM_FIELD("trust", p->trust),
                                              SDM_FIELD("smooth_m", p->smooth_m),
                                              SDM_FIELD("coverage", p->coverage),
                                              SDM_FIELD("pointing_residual_px", p->pointing_residual_px),
                                              SDM_FIELD("tie_points", p->tie_points),
                                              SDM_FIELD("wall_s", p->wall_s)};
    memcpy(out, field, sizeof field);
}

static void add_pair(SdmReportItem list, SdmReportItem page, const SdmPairResult *p)
{
    SdmField figure[SDM_PAIR_FIGURES];
    const double days = p->days_apart;
    const char *const apart = isnan(days)  ? "unknown"
                              : days < 1.0 ? sdm_report_printf(page.report, "%.0f s", 86400.0 * days)
                                           : sdm_report_printf(page.report, "%.1f days", days);
    const SdmReportItem pair = sdm_report_group(list, NULL);
    SDM_REPORT(pair, SDM_FIELD("left", p->left), SDM_FIELD("right", p->right), SDM_FIELD("names", p->names),
               SDM_FIELD("reference", p->reference));
    sdm_pair_figures(p, figure);
    sdm_report_add(pair, figure, SDM_PAIR_FIGURES_FIRST);
    sdm_report_numbers(pair, "apply_m", p->apply_m, 3);
    sdm_report_add(pair, figure + SDM_PAIR_FIGURES_FIRST, SDM_PAIR_FIGURES - SDM_PAIR_FIGURES_FIRST);
    sdm_report_row(page, "%s%s\t%.2f\t%s\t%.0f %%\t%.2f, %.2f, %.2f m\t%.1f %%\t%.3f px", p->names,
                   p->reference ? " (reference)" : "", p->base_height, apart, 100.0 * p->weight,
                   p->apply_m[0], p->apply_m[1], p->apply_m[2], 100.0 * p->coverage, p->pointing_residual_px);
}

static void add_pairs(SdmReport *r, const Fusing *f)
{
    const SdmViews *const v = f->views;
    int spare = 0;
    const SdmReportItem list = sdm_report_list(r->root, "pairs");
    const SdmReportItem page =
        sdm_report_section(r, NULL, "Pairs and their moves", SDM_PAGE_ALIGNMENT, SDM_STYLE_CARD);
    sdm_report_row(page, "pair\tbase/height\tapart\tweight\tmoved east, north, up\tcoverage\tpointing");
    for (int k = 0; k < f->count; k++)
        add_pair(list, page, &f->result->pair[k]);
    for (int k = 0; k < v->pairs; k++) {
        if (*v->pair[k].why)
            sdm_report_note(page, "%s and %s were not used: %s.", sdm_view_name(v, v->pair[k].left),
                            sdm_view_name(v, v->pair[k].right), v->pair[k].why);
        spare += !*v->pair[k].why && !v->pair[k].has_dem;
    }
    if (spare)
        sdm_report_note(page, "%d other pairs were not used: these are better.", spare);
    sdm_report_note(page,
                    "Offsets were taken out: heights are those of the reference, places those of %s and %s.",
                    sdm_view_name(v, f->pair[f->place]->left), sdm_view_name(v, f->pair[f->place]->right));
}

static void add_pointing(SdmReport *r, const Fusing *f)
{
    const SdmReportItem to = sdm_report_section(r, "pointing", NULL, SDM_PAGE_NONE, SDM_STYLE_CARD);
    const SdmReportItem rounds = sdm_report_list(to, "rounds");
    if (isnan(f->result->pointing_residual_px))
        return;
    const SdmReportItem item = sdm_report_group(rounds, NULL);
    sdm_report_number(item, "after_nmad_px", f->result->pointing_residual_px);
    sdm_report_number(item, "inliers", f->result->tie_points);
}

static void add_summary(SdmReport *r, const Fusing *f, const SdmProduct *p)
{
    const SdmDemStats *const stats = &p->stats;
    const double seen = (double)(stats->cells - stats->unseen), valid = (double)stats->valid,
                 filled = (double)sdm_dem_stats_count(stats, SDM_QA_FILLED),
                 alone = (double)sdm_dem_stats_count(stats, SDM_QA_DISAGREE);
    const SdmReportItem to =
        sdm_report_section(r, NULL, "How good is it?", SDM_PAGE_SUMMARY, SDM_STYLE_FACTS);
    sdm_report_figure(to, NULL, "views", f->views->joined, "", 0);
    sdm_report_figure(to, NULL, "pairs", f->count, "", 0);
    sdm_report_judged(to, "of the cells seen by two views have a height",
                      fmin(100.0 * valid / fmax(seen, 1.0), 100.0), " %", 1, &sdm_scale_seen);
    sdm_report_judged(to, "of the heights were filled in every pair", 100.0 * filled / fmax(valid, 1.0), " %",
                      1, &sdm_scale_filled);
    sdm_report_judged(to, "of the heights have one pair, against others", 100.0 * alone / fmax(valid, 1.0),
                      " %", 1, &sdm_scale_filled);
    sdm_report_figure(to, NULL, "predicted standard error of a height (median)", sdm_product_error_m(p), " m",
                      2);
    sdm_report_figure(to, NULL, "median height", sdm_dem_stats_quantile_m(stats, 0.5), " m", 1);
    sdm_report_figure(to, NULL, "base to height ratio of the reference", f->pair[0]->base_height, "", 2);
    sdm_report_figure(to, NULL, "from start to end", f->work.wall_s, " s", 1);
    sdm_report_note(
        to, "%s An error that all pairs share cannot be seen here: `stereodem compare DEM REFERENCE`.",
        sdm_report_grid_phrase(r, p));
}

static void build(SdmContext *ctx, const SdmProduct *p, const void *what, SdmReport *r)
{
    const Fusing *const f = what;
    const SdmViews *const v = f->views;
    sdm_report_title(r, v->options.output, "%s · %s · %s · stereodem %s", v->id[v->first], f->kind,
                     v->time_utc[v->first][0] ? v->time_utc[v->first] : "time unknown", SDM_VERSION);
    sdm_report_program(r, p);
    add_scene(r, f);
    add_inputs(r, f);
    const SdmEffective found = {
        .grid = p->request.grid, .hmin_m = NAN, .hmax_m = NAN, .threads = sdm_threads(ctx)};
    (void)sdm_report_options(r, &v->options, SDM_CMD_RUN, &found);
    add_summary(r, f, p);
    const SdmReportItem grid = sdm_report_grid(r, p);
    SDM_REPORT(grid, SDM_FIELD("qa_score_step", SDM_SCORE_STEP), SDM_FIELD("qa_gap_step_m", p->metres_step),
               SDM_FIELD("qa_error_step_m", sdm_qa_scale(SDM_BAND_ERROR, p->metres_step)));
    sdm_report_maps(r, p);
    sdm_report_cells(r, p);
    (void)sdm_report_heights(r, p);
    (void)sdm_report_doubts(r, f->result->doubt->text, sizeof *f->result->doubt, f->result->doubts);
    add_pairs(r, f);
    add_pointing(r, f);
    sdm_report_work(r, ctx, p, &f->work);
}

/* ---- fuse ---- */

static SdmStatus write_product(Fusing *f, SdmStack *s)
{
    SDM_CLOSED_BY(sdm_product_close) SdmProduct *product = NULL;
    SdmViews *const v = f->views;
    const SdmProductRequest request = {.options = &v->options,
                                       .keep = v->keep,
                                       .grid = &s->part,
                                       .qa = &sdm_qa_views,
                                       .ortho = true,
                                       .id = v->id[v->first],
                                       .kind = f->kind,
                                       .time_utc = v->time_utc[v->first],
                                       .job = v->fingerprint};
    SDM_STAGE(s->ctx, 8);
    PASS(sdm_lease_check(s->ctx, v->lease)); /* opening removes temporary files of earlier runs */
    PASS(sdm_product_open(s->ctx, &request, &product));
    PASS(sdm_stack_combine(s, product, &f->work.blocks));
    sdm_progress(s->ctx, 9, 0.9, "write");
    f->work.wall_s = sdm_now_s() - v->started_s;
    PASS(take_doubts(v, f->result));
    sdm_dem_result_take(product, f->result);
    return sdm_report_publish(s->ctx, product, build, f, &f->work, v->lease);
}

SdmStatus sdm_views_fuse(SdmViews *v, SdmDemResult *result)
{
    Fusing f = {.result = result};
    SdmOptions options = v->options;
    SdmStackOptions stack;
    gather(v, &f);
    const SdmStackFusion fusion = {.dem = f.fused, .least_m = LEAST_GSD * f.pair[0]->gsd_m, .place = f.place};
    sdm_stack_default(&stack);
    stack.align = "xyz";
    stack.fusion = &fusion;
    options.t_srs = v->t_srs;
    options.tr = v->grid.spacing;
    SDM_QUIET;
    SDM_CLOSED_BY(sdm_stack_close)
    SdmStack s = {
        .ctx = v->ctx, .options = &options, .opt = &stack, .threads = sdm_threads(v->ctx), .keep = v->keep};
    SDM_PROGRESS(v->ctx, SDM_VIEWS_FUSING, 1.0);
    sdm_log(v->ctx, SDM_LOG_INFO, 8, "fuse the DEMs of %d pairs", f.count);
    PASS(sdm_stack_open(&s, f.dem, f.count));
    PASS(sdm_stack_prepare(&s));
    PASS(take_pairs(&f, &s));
    return write_product(&f, &s);
}
