/* An opened scene -> what all its tiles share. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/prepare.h"
#include "geo/geodesy.h"
#include "geo/grid.h"

#include "input/source.h"
#include "scene/coarse_surface.h"
#include "scene/reference_fit.h"
#include "scene/window_input.h"

#include "matching/semi_global_surface.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    COARSEST_SIDE = 72, /* shortest side of the frame at the coarsest level, px, at least */
    COARSEST_LEVEL = 7, /* at most */
    MIN_COARSE = 2,     /* level of the coarse surface */
    MAX_COARSE = 4,
    COARSE_PIXELS = 6 << 20, /* of the coarse surface, at most, up to level MAX_COARSE */
    LEAST_MATCHES = 100      /* pixels of the coarse surface */
};
static const double LATTICE_WARN_PX = 0.1;
static const double REPEATS_MOVE_PX = 6.0; /* the most that the passes after level 0 can move a height */

void sdm_prepared_free(SdmPrepared *p)
{
    sdm_pointing_free(&p->pointing);
    sdm_point_report_free(&p->points);
    sdm_reference_report_free(&p->reference);
    sdm_height_raster_close(&p->reference_dem);
    sdm_surface_free(&p->coarse);
    sdm_terrain_mask_free(&p->terrain);
}

static void choose_levels(const SdmFrame *f, SdmMeasured *s)
{
    const int64_t side = f->width < f->height ? f->width : f->height;
    s->coarse_level = MIN_COARSE;
    while (s->coarse_level < MAX_COARSE &&
           (f->width >> s->coarse_level) * (f->height >> s->coarse_level) > COARSE_PIXELS)
        s->coarse_level++;
    s->coarsest_level = s->coarse_level;
    while (s->coarsest_level < COARSEST_LEVEL && side >> (s->coarsest_level + 1) >= COARSEST_SIDE)
        s->coarsest_level++;
}

/* Sensor noise to expect, in units of the quantised left image. */
static float noise_q(const SdmRadiometry *left)
{
    return left->scale == 16.0 ? 16.0f : 7.5f; /* 8 bit: a DN of noise at least */
}

/* Share of saturated samples from which borders stay as the windows leave them: a saturated area lacks data,
 * too, and pixels beside it are of one grey value, of which windows that contain them tell nothing. */
#define SATURATED_SHARE 0.001

/* Share of a view's samples without data from which heights are moved by least squares twice: NMAD with 20 %
 * in specks is 1.05 to 1.12 times that without, else 1.07 to 1.14. */
#define HOLES_SHARE 0.05

/* Small pixels show roofs and walls: there one step that keeps their edges takes the place of the fine
 * levels. */
static bool is_semi_global(const SdmOptions *o, const SdmFrame *f)
{
    return strcmp(o->optimizer, "sgm") == 0 ||
           (strcmp(o->optimizer, "auto") == 0 && f->gsd_m < SDM_SEMI_GLOBAL_BELOW_M);
}

/* All settings but those that are measured follow from these, the frame and the options. */
static SdmStatus settle(SdmContext *ctx, const SdmOptions *o, const SdmFrame *f, const SdmRadiometry *left,
                        const SdmMeasured *measured, SdmMatchSettings *out)
{
    PASS(sdm_match_settings(ctx, o, measured->cost_name, o->cpu_level, noise_q(left), out));
    out->measured = *measured;
    out->min_score = fminf(out->min_score, out->final_score);
    out->semi_global = out->edges = is_semi_global(o, f);
    out->pixel_m = (float)f->gsd_m;
    out->px_per_m = (float)f->du_dh;
    out->threads = sdm_semi_global_threads(out, sdm_threads(ctx), o->memory_bytes);
    out->fill_limit.rise_m = sdm_fill_rise(o->fill, f->gsd_m, out->semi_global);
    for (int k = 0; k < 2; k++)
        out->fill_limit.slant_px[k] = (float)f->slant_px[k];
    return SDM_OK;
}

SdmStatus sdm_prepare_settings(SdmContext *ctx, const SdmScene *scene, const SdmFrame *f,
                               SdmMatchSettings *out)
{
    const SdmOptions *const o = scene->options;
    SdmMeasured m = {
        .discontinuity_px = (float)(SDM_DISCONTINUITY_M * fabs(f->du_dh)),
        .borders = fmax(scene->view[0].image->saturated, scene->view[1].image->saturated) < SATURATED_SHARE,
        .holes = fmax(scene->view[0].image->unusable, scene->view[1].image->unusable) >= HOLES_SHARE,
        .hide_above = {INT16_MAX, INT16_MAX}};
    m.ray_error_limit_px = is_semi_global(o, f) ? SDM_SEMI_GLOBAL_RAY_ERROR_PX : SDM_RAY_ERROR_LIMIT_PX;
    snprintf(m.cost_name, sizeof m.cost_name, "%s", sdm_cost_for(o->cost, f->gsd_m));
    m.final_score = sdm_final_score(m.cost_name);
    choose_levels(f, &m);
    PASS(settle(ctx, o, f, &scene->view[0].image->q, &m, out));
    out->label_range_px = sdm_semi_global_likely_range(out);
    out->threads = sdm_semi_global_threads(out, sdm_threads(ctx), o->memory_bytes);
    return SDM_OK;
}

/* Height range of the coarse surface, and how far finer levels can move a height from it. */
static SdmStatus coarse_range(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p)
{
    const SdmSurface *const s = &p->coarse;
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    double lo = INFINITY, hi = -INFINITY;
    size_t valid = 0;
    for (size_t i = 0; i < n; i++) {
        const double h = (double)s->h_m[i]; /* gcc 12 for aarch64 does not compile fmin() here */
        lo = h < lo ? h : lo;
        hi = h > hi ? h : hi;
        valid += s->flags[i] & SDM_QA_VALID;
    }
    if (valid < LEAST_MATCHES)
        return sdm_fail(
            ctx, SDM_ERR_DATA,
            "too few matches between %s and %s: %zu at 1/%d of the size, at least %d are needed; %s",
            scene->view[0].name, scene->view[1].name, valid, 1 << s->win.level, (int)LEAST_MATCHES,
            sdm_few_matches_hint(scene->options, &p->frame, p->camera).text);
    if (sdm_has_labels(&p->settings))
        PASS(sdm_semi_global_range(ctx, s, &p->settings));
    p->settings.threads =
        sdm_semi_global_threads(&p->settings, sdm_threads(ctx), scene->options->memory_bytes);
    const double metre = 1.0 / fabs(p->frame.du_dh);
    p->max_update_m = metre * REPEATS_MOVE_PX;
    for (int l = 0; l < p->settings.coarse_level; l++)
        p->max_update_m += sdm_match_max_update(&p->settings, l) * metre * (double)(1 << l);
    p->hmin_m = floor(lo - p->max_update_m);
    p->hmax_m = ceil(hi + p->max_update_m);
    sdm_log(ctx, SDM_LOG_VERBOSE, 5, "coarse surface %.0f..%.0f m, %.1f %% matched", lo, hi,
            100.0 * (double)valid / (double)n);
    return SDM_OK;
}

/* The grid of the DEM covers the ground of the coarse surface where both views see it. */
static SdmStatus choose_grid(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p)
{
    SDM_CLOSED_BY(sdm_lattice_free) SdmLattice lat = {0};
    const SdmSurface *const s = &p->coarse;
    const double size = (double)(1 << s->win.level);
    double x0 = INFINITY, y0 = INFINITY, x1 = -INFINITY, y1 = -INFINITY;
    char crs[80];
    PASS(sdm_grid_choose(ctx, scene->options, p->frame.lon_deg, p->frame.lat_deg, p->frame.gsd_m, &p->grid));
    sdm_grid_name(&p->grid, crs, sizeof crs);
    sdm_log(ctx, SDM_LOG_VERBOSE, 8, "output CRS %s, cells of %.10g %s", crs, p->grid.spacing,
            p->grid.geographic ? "degrees" : "units of the CRS");
    const SdmLatticeRequest q = sdm_coarse_request(scene, p, 16);
    PASS(sdm_lattice_build(ctx, &q, &lat));
#pragma omp parallel for num_threads(sdm_threads(ctx)) reduction(min : x0, y0) reduction(max : x1, y1)
    for (int j = 0; j < s->win.h; j++)
        for (int i = 0; i < s->win.w; i++) {
            const size_t at = (size_t)j * (size_t)s->win.w + (size_t)i;
            double g[2];
            if (s->flags[at] & SDM_QA_OUTSIDE)
                continue;
            sdm_lattice_ground(&lat, (i + 0.5) * size - 0.5, (j + 0.5) * size - 0.5, (double)s->h_m[at], g);
            x0 = fmin(x0, g[0]);
            y0 = fmin(y0, g[1]);
            x1 = fmax(x1, g[0]);
            y1 = fmax(y1, g[1]);
        }
    const double more = 4.0 * size * p->frame.gsd_m / (p->grid.geographic ? SDM_METRES_PER_DEGREE : 1.0);
    const double b[4] = {x0 - more, y0 - more, x1 + more, y1 + more};
    PASS(sdm_grid_cover(ctx, b, &p->grid));
    p->part = p->grid;
    return sdm_part_cut(ctx, scene->options, false, &p->part);
}

SdmStatus sdm_prepared_kernels(SdmContext *ctx, const SdmOptions *o, SdmPrepared *p)
{
    const SdmMeasured measured = p->settings.measured;
    return settle(ctx, o, &p->frame, &p->radiometry[0], &measured, &p->settings);
}

SdmStatus sdm_prepare_frame(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p)
{
    PASS(sdm_frame_find(ctx, scene, &p->frame));
    PASS(sdm_prepare_settings(ctx, scene, &p->frame, &p->settings));
    for (int i = 0; i < 2; i++) {
        p->camera[i] = scene->view[i].note;
        p->radiometry[i] = scene->view[i].image->q;
    }
    p->coarse.win = sdm_frame_level(&p->frame, p->settings.coarse_level);
    return SDM_OK;
}

/* How well the lattices of windows follow the cameras: the worst of 3 x 3 windows spread over the frame. */
static SdmStatus measure_lattice(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p)
{
    enum { SIDE = 3, WINDOW_PX = 256 };
    SDM_CLOSED_BY(sdm_lattice_free) SdmLattice lat = {0};
    const int64_t w = p->frame.width, h = p->frame.height;
    const int64_t pw = w < WINDOW_PX ? w : WINDOW_PX, ph = h < WINDOW_PX ? h : WINDOW_PX;
    SDM_STAGE(ctx, 2);
    p->lattice_error_px = NAN;
    for (int i = 0; i < SIDE * SIDE; i++) {
        const int64_t u0 = (w - pw) * (i % SIDE) / (SIDE - 1), v0 = (h - ph) * (i / SIDE) / (SIDE - 1);
        const SdmWindow win = {.u0 = u0, .v0 = v0, .w = (int)pw, .h = (int)ph};
        const SdmLatticeRequest q = sdm_window_request(scene, p, &win);
        PASS(sdm_lattice_build(ctx, &q, &lat));
        p->lattice_error_px = fmax(p->lattice_error_px, sdm_lattice_error(&q, &lat));
        sdm_lattice_free(&lat);
    }
    if (p->lattice_error_px > LATTICE_WARN_PX)
        sdm_log(ctx, SDM_LOG_WARNING, 3,
                "the cameras and their correction bend by up to %.2f px within %d px, over which they are "
                "taken as straight, so heights may be off by %.1f m; a camera that is not smooth, or "
                "strong jitter",
                p->lattice_error_px, (int)SDM_LATTICE_STEP, p->lattice_error_px / fabs(p->frame.du_dh));
    else
        sdm_log(ctx, SDM_LOG_VERBOSE, 3,
                "lattice of %d px: at most %.5f px from the cameras and their correction",
                (int)SDM_LATTICE_STEP, p->lattice_error_px);
    return SDM_OK;
}

static void close_images(SdmPyramid (*images)[2])
{
    sdm_pyramid_free(&(*images)[0]);
    sdm_pyramid_free(&(*images)[1]);
}

SdmStatus sdm_scene_prepare(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p)
{
    SDM_CLOSED_BY(sdm_gdal_config_end) SdmGdalConfig config = {.changed = false};
    SDM_CLOSED_BY(sdm_reference_close) SdmReferenceFiles reference = {.dem = NULL};
    SDM_CLOSED_BY(close_images) SdmPyramid images[2] = {{0}};
    *p = (SdmPrepared){0};
    PASS(sdm_gdal_config_begin(ctx, scene->options, &config));
    PASS(sdm_reference_open(ctx, scene->options, &reference));
    PASS(sdm_prepare_frame(ctx, scene, p));
    PASS(sdm_reference_read_some(ctx, &p->frame, &reference));
    PASS(sdm_coarse_find(ctx, scene, p, reference.dem ? images : NULL));
    PASS(sdm_prepared_kernels(ctx, scene->options, p)); /* where clouds are hidden */
    PASS(coarse_range(ctx, scene, p));
    PASS(sdm_check_exposures(ctx, scene, p));
    PASS(sdm_pointing_at_full_resolution(ctx, scene, p));
    PASS(sdm_prepared_kernels(ctx, scene->options, p)); /* of the final score */
    PASS(sdm_check_exchanged(ctx, scene, p));
    if (reference.dem) {
        PASS(sdm_reference_correct(ctx, scene, &reference, images, p));
        sdm_reference_keep(&reference, p);
        PASS(coarse_range(ctx, scene, p));
    }
    PASS(choose_grid(ctx, scene, p));
    return measure_lattice(ctx, scene, p);
}
