/* Stages 2 to 7 on the coarse levels of the whole scene. */
// SPDX-License-Identifier: Apache-2.0
#include "batch/prepare.h"
#include "batch/prior.h"
#include "batch/view_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TOP_SIDE = 72,            /* shortest side of the frame at the coarsest level, px */
    MAX_TOP = 7, MIN_COARSE = 2, MAX_COARSE = 4,
    COARSE_PIXELS = 6 << 20,  /* most pixels of the coarse surface */
    V_REACH = 32,             /* rows searched across the lines, full-resolution px */
    COARSE_STEP = 64          /* nodes of the coarse lattice, px */
};

void sdm_prepared_free(SdmPrepared *p)
{
    sdm_pointing_free(&p->pointing);
    sdm_point_report_free(&p->points);
    sdm_surface_free(&p->coarse);
    sdm_ground_free(&p->ground);
}

static SdmStatus open_pyramid(SdmContext *ctx, const SdmView *view, const SdmMatchSettings *set, int64_t b[4], int lmin,
                              int lmax, SdmPyramid *out)
{
    SdmStatus st = SDM_OK;
    const int64_t size[2] = {sdm_image_width(view->image), sdm_image_height(view->image)};
    SdmViewReader reader = {.image = view->image, .keep = lmin == 0};
    const int around = sdm_stage_enter(ctx, 4);
    for (int k = 0; k < 2; k++) { /* cut to the image and a little more */
        b[k] = b[k] < -64 ? -64 : b[k];
        b[2 + k] = b[2 + k] > size[k] + 64 ? size[k] + 64 : b[2 + k];
        b[k] = b[k] > size[k] ? size[k] : b[k];
        b[2 + k] = b[2 + k] < b[k] + 16 ? b[k] + 16 : b[2 + k];
        b[k] &= ~(int64_t)63;
        b[2 + k] = (b[2 + k] + 63) & ~(int64_t)63;
    }
    TRY(sdm_pyramid_build(ctx, set->kernels, sdm_view_read, &reader, b, lmin, lmax, out));
    out->saturated = reader.core;
    reader.core = NULL;
    if (set->cost == set->kernels->sad)
        TRY(sdm_pyramid_normalise(ctx, out, set->norm_floor));
done:
    sdm_free(&reader.core);
    sdm_stage_leave(ctx, around);
    return st;
}

SdmStatus sdm_open_pyramids(SdmContext *ctx, const SdmScene *scene, const SdmMatchSettings *set, const SdmLattice *lat,
                            const SdmWindow *win, double hmin_m, double hmax_m, int lmin, int lmax, SdmPyramid *left,
                            SdmPyramid *right)
{
    SdmStatus st = SDM_OK;
    int64_t b[4];
    const int margin = 24 << lmax;
    sdm_lattice_bounds(lat, win, SDM_LEFT, hmin_m, hmax_m, margin, b);
    TRY(open_pyramid(ctx, &scene->view[0], set, b, lmin, lmax, left));
    sdm_lattice_bounds(lat, win, SDM_RIGHT, hmin_m, hmax_m, margin, b);
    TRY(open_pyramid(ctx, &scene->view[1], set, b, lmin, lmax, right));
done:
    return st;
}

float sdm_noise_q(const SdmScene *scene)
{
    double scale, offset;
    sdm_image_stretch(scene->view[0].image, &scale, &offset);
    return scale == 16.0 ? 16.0f : 6.0f; /* 8 bit: a DN of noise at least */
}

int sdm_coarse_step(const SdmFrame *f, int level)
{
    const int64_t side = f->width < f->height ? f->width : f->height;
    int step = COARSE_STEP << (level > MIN_COARSE ? level - MIN_COARSE : 0);
    while (step > 16 && side / step < 16)
        step /= 2;
    return step;
}

static void choose_levels(const SdmFrame *f, SdmMatchSettings *s)
{
    const int64_t side = f->width < f->height ? f->width : f->height;
    s->coarse_level = MIN_COARSE;
    while (s->coarse_level < MAX_COARSE && (f->width >> s->coarse_level) * (f->height >> s->coarse_level) > COARSE_PIXELS)
        s->coarse_level++;
    s->top_level = s->coarse_level;
    while (s->top_level < MAX_TOP && side >> (s->top_level + 1) >= TOP_SIDE)
        s->top_level++;
}

static SdmWindow whole(const SdmFrame *f, int level)
{
    const int64_t up = ((int64_t)1 << level) - 1;
    return (SdmWindow){.level = level, .w = (int)((f->width + up) >> level), .h = (int)((f->height + up) >> level)};
}

/* What is in use while the coarse surface grows. */
typedef struct Coarse {
    const SdmScene *scene;
    SdmPrepared *p;
    SdmLatticeRequest request;
    SdmLattice lattice;
    SdmPyramid left, right;
    SdmChainInput in;
} Coarse;

static SdmStatus build_lattice(SdmContext *ctx, Coarse *c)
{
    sdm_lattice_free(&c->lattice);
    return sdm_lattice_build(ctx, &c->request, &c->lattice);
}

/* Try every shift across the lines at the coarsest level; keep the one that matches most. */
static SdmStatus search_top(SdmContext *ctx, Coarse *c, SdmSurface *best, int *best_shift)
{
    SdmStatus st = SDM_OK;
    const SdmFrame *const f = &c->p->frame;
    const int l = c->p->settings.top_level, reach = (V_REACH + (1 << l) - 1) >> l;
    const bool known = sdm_options(ctx)->dem != NULL;
    const double half = (known ? SDM_PRIOR_SLACK_M : 0.5 * (f->hmax_m - f->hmin_m)) * fabs(f->du_dh) / (double)(1 << l);
    const SdmWindow win = whole(f, l);
    double best_share = -1.0;
    SdmSurface s = {0}, prior = {0};
    const int around = sdm_stage_enter(ctx, 2);
    if (known) {
        TRY(sdm_surface_alloc(ctx, &win, &prior));
        TRY(sdm_prior_surface(ctx, c->scene, &c->lattice, &prior));
    }
    for (int i = 0; i <= 2 * reach; i++) {
        const int shift = i & 1 ? (i + 1) / 2 : -(i / 2); /* 0, 1, -1, 2, ... */
        double share = 0.0;
        TRY(sdm_surface_alloc(ctx, &win, &s));
        for (size_t k = 0; k < (size_t)win.w * (size_t)win.h; k++)
            s.h_m[k] = prior.h_m ? prior.h_m[k] : (float)c->lattice.height0_m;
        const SdmTopSearch q = {.half_range_px = half, .pixel_m = f->gsd_m * (double)(1 << l), .v_shift = shift};
        TRY(sdm_chain_top(ctx, &c->in, &q, &s, &share));
        sdm_log(ctx, SDM_LOG_VERBOSE, 2, "level %d, %d rows across: %.1f %% matched", l, shift, 100.0 * share);
        if (share > best_share * 1.02 + 1e-9) {
            best_share = share;
            *best_shift = shift;
            sdm_surface_free(best);
            *best = s;
            s = (SdmSurface){0};
        }
        sdm_surface_free(&s);
    }
    if (best_share < 0.03) {
        st = sdm_fail(ctx, SDM_ERR_DATA, "too few matches: %.1f %% of the overlap of %s and %s at 1/%d of the size, at "
                      "least 3 %% are needed; clouds, water or snow, images of different places, or one mirrored: give others",
                      100.0 * best_share, c->scene->view[0].name, c->scene->view[1].name, 1 << l);
        goto done;
    }
done:
    sdm_surface_free(&prior);
    sdm_surface_free(&s);
    sdm_stage_leave(ctx, around);
    return st;
}

/* Chance makes a few matches anywhere; what it cannot do is let their rays meet. */
static SdmStatus check_matches(SdmContext *ctx, const SdmSurface *s, const SdmFitTask *task, const SdmPointRound *r)
{
    const double blocks = (double)(s->win.w / 8) * (double)(s->win.h / 8), share = (double)task->count / fmax(blocks, 1.0);
    const double spread = r->after_nmad_px / (double)(1 << s->win.level);
    if (share >= 0.005 && (share >= 0.15 || spread <= 0.2))
        return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_DATA, "too few matches between %s and %s: %zu of %.0f places at 1/%d of the size, their rays "
                    "miss each other by %.1f px; clouds, water or snow, images of different places, or one mirrored: give "
                    "others", task->left, task->right, task->count, blocks, 1 << s->win.level, r->after_nmad_px);
}

/* The v residual of a level's surface: refit the pointing. */
static SdmStatus fit_level(SdmContext *ctx, Coarse *c, const SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    SdmPrepared *const p = c->p;
    const int l = s->win.level;
    float *gap = NULL;
    SdmFitSample *sample = NULL;
    size_t count = 0;
    const bool last = l == p->settings.coarse_level;
    SdmPointRound round = {.level = l};
    const int around = sdm_stage_enter(ctx, 2);
    TRY(sdm_alloc(ctx, &gap, (size_t)s->win.w * (size_t)s->win.h, sizeof *gap, "ray gaps"));
    TRY(sdm_chain_gap(ctx, &c->in, s, 9, gap));
    TRY(sdm_collect_samples(ctx, &c->lattice, s, gap, last ? 8 : 4, &p->pointing, &sample, &count, 0));
    const SdmFitTask task = {.sample = sample, .count = count, .max_degree = last ? 4 : count > 300 ? 1 : 0,
                             .rows = sdm_image_height(c->scene->view[1].image), .left = c->scene->view[0].name,
                             .right = c->scene->view[1].name};
    if (count >= 60 || last)
        TRY(sdm_pointing_fit(ctx, &task, &p->pointing, &round));
    if (last)
        TRY(check_matches(ctx, s, &task, &round));
    sdm_log(ctx, SDM_LOG_VERBOSE, 2, "level %d: %zu matches, across %.3f px, spread %.3f -> %.3f px, degree %d", l, count,
            round.before_median_px, round.before_nmad_px, round.after_nmad_px, round.degree);
    if (last) {
        p->points.round[p->points.rounds++] = round;
        round.samples = NULL;
    }
    TRY(build_lattice(ctx, c));
done:
    sdm_free(&round.samples);
    sdm_free(&gap);
    sdm_free(&sample);
    sdm_stage_leave(ctx, around);
    return st;
}

/* Levels below the top, down to the coarse one. */
static SdmStatus descend(SdmContext *ctx, Coarse *c, SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    SdmSurface finer = {0};
    const int around = sdm_stage_enter(ctx, 5);
    TRY(fit_level(ctx, c, s));
    for (int l = c->p->settings.top_level - 1; l >= c->p->settings.coarse_level; l--) {
        const SdmWindow win = whole(&c->p->frame, l);
        TRY(sdm_surface_alloc(ctx, &win, &finer));
        sdm_surface_refine(ctx, c->p->settings.kernels, s, &finer);
        sdm_surface_free(s);
        *s = finer;
        finer = (SdmSurface){0};
        TRY(sdm_chain_level(ctx, &c->in, 4, 9, s));
        TRY(sdm_chain_level(ctx, &c->in, 2, 9, s));
        TRY(fit_level(ctx, c, s));
    }
done:
    sdm_surface_free(&finer);
    sdm_stage_leave(ctx, around);
    return st;
}

/* Part terrain from clouds and false matches; the surface under what is rejected comes from the terrain around. */
static SdmStatus find_ground(SdmContext *ctx, SdmPrepared *p)
{
    SdmStatus st = SDM_OK;
    SdmSurface *const s = &p->coarse;
    const float pixel_m = (float)(p->frame.gsd_m * (double)(1 << s->win.level));
    const int around = sdm_stage_enter(ctx, 6);
    TRY(sdm_ground_find(ctx, s, pixel_m, &p->ground));
    TRY(sdm_chain_fill_all(ctx, p->settings.kernels, p->ground.h_m, s));
done:
    sdm_stage_leave(ctx, around);
    return st;
}

/* Range of the coarse surface where it was matched, and how far finer levels can go from it. */
static SdmStatus coarse_range(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p)
{
    const SdmSurface *const s = &p->coarse;
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    double lo = INFINITY, hi = -INFINITY;
    size_t valid = 0;
    for (size_t i = 0; i < n; i++) {
        lo = fmin(lo, (double)s->h_m[i]);
        hi = fmax(hi, (double)s->h_m[i]);
        valid += s->flags[i] & SDM_QA_VALID;
    }
    if (valid < 100)
        return sdm_fail(ctx, SDM_ERR_DATA, "too few matches between %s and %s: %zu at 1/%d of the size, at least 100 are "
                        "needed; clouds, water or snow, images of different places, or one mirrored: give others",
                        scene->view[0].name, scene->view[1].name, valid, 1 << s->win.level);
    const double metre = 1.0 / fabs(p->frame.du_dh);
    p->slack_m = metre * 6.0; /* the repeats */
    for (int l = 0; l < p->settings.coarse_level; l++)
        p->slack_m += sdm_chain_travel(&p->settings, l) * metre * (double)(1 << l);
    p->hmin_m = floor(lo - p->slack_m);
    p->hmax_m = ceil(hi + p->slack_m);
    sdm_log(ctx, SDM_LOG_VERBOSE, 5, "coarse surface %.0f..%.0f m, %.1f %% matched", lo, hi,
            100.0 * (double)valid / (double)n);
    return SDM_OK;
}

/* The DEM's grid: around all that the coarse surface saw in both views. */
static SdmStatus choose_grid(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p)
{
    SdmStatus st = SDM_OK;
    SdmLattice lat = {0};
    const SdmSurface *const s = &p->coarse;
    const double size = (double)(1 << s->win.level);
    double b[4] = {INFINITY, INFINITY, -INFINITY, -INFINITY};
    TRY(sdm_grid_choose(ctx, p->frame.lon_deg, p->frame.lat_deg, p->frame.gsd_m, &p->grid));
    const SdmLatticeRequest q = {.scene = scene, .frame = &p->frame, .pointing = &p->pointing, .grid = &p->grid,
                                 .u1 = p->frame.width + 16, .v1 = p->frame.height + 16,
                                 .step = sdm_coarse_step(&p->frame, s->win.level), .hmin_m = p->hmin_m,
                                 .hmax_m = p->hmax_m};
    TRY(sdm_lattice_build(ctx, &q, &lat));
    for (int j = 0; j < s->win.h; j++)
        for (int i = 0; i < s->win.w; i++) {
            const size_t at = (size_t)j * (size_t)s->win.w + (size_t)i;
            double g[2];
            if (s->flags[at] & SDM_QA_OUTSIDE)
                continue;
            sdm_lattice_ground(&lat, (i + 0.5) * size - 0.5, (j + 0.5) * size - 0.5, (double)s->h_m[at], g);
            for (int k = 0; k < 2; k++) {
                b[k] = fmin(b[k], g[k]);
                b[2 + k] = fmax(b[2 + k], g[k]);
            }
        }
    const double more = 4.0 * size * p->frame.gsd_m / (p->grid.geographic ? 111320.0 : 1.0);
    for (int k = 0; k < 2; k++) {
        b[k] -= more;
        b[2 + k] += more;
    }
    TRY(sdm_grid_cover(ctx, b, &p->grid));
done:
    sdm_lattice_free(&lat);
    return st;
}

SdmStatus sdm_prepare_frame(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p)
{
    SdmStatus st = SDM_OK;
    const SdmOptions *const o = sdm_options(ctx);
    TRY(sdm_frame_find(ctx, scene, &p->frame));
    TRY(sdm_match_settings(ctx, o->cost, o->cpu_level, sdm_noise_q(scene), &p->settings));
    p->settings.jump_px = (float)(SDM_JUMP_M * fabs(p->frame.du_dh));
    choose_levels(&p->frame, &p->settings);
    p->coarse.win = whole(&p->frame, p->settings.coarse_level);
done:
    return st;
}

static SdmStatus start(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_prepare_frame(ctx, scene, p));
    SdmPointing *const q = &p->pointing;
    const double size[2] = {(double)sdm_image_width(scene->view[1].image), (double)sdm_image_height(scene->view[1].image)};
    for (int k = 0; k < 2; k++) {
        q->dir[k] = p->frame.across[k];
        q->centre[k] = 0.5 * (size[k] - 1.0);
        q->scale[k] = 0.5 * size[k];
    }
    q->terms = 1;
done:
    return st;
}

/* The shift found at the top level becomes the first constant of the pointing. */
static void apply_shift(const Coarse *c, int shift)
{
    SdmPrepared *const p = c->p;
    const double u = 0.5 * (double)p->frame.width, v = 0.5 * (double)p->frame.height;
    double at[2], next[2];
    sdm_lattice_right(&c->lattice, u, v, c->lattice.height0_m, at);
    sdm_lattice_right(&c->lattice, u, v + 1.0, c->lattice.height0_m, next);
    const double per_px = (next[0] - at[0]) * p->pointing.dir[0] + (next[1] - at[1]) * p->pointing.dir[1];
    p->pointing.coef[0] = per_px * shift * (double)(1 << p->settings.top_level);
}

SdmStatus sdm_prepare(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p)
{
    SdmStatus st = SDM_OK;
    SdmSurface s = {0};
    int shift = 0;
    *p = (SdmPrepared){0};
    Coarse c = {.scene = scene, .p = p};
    TRY(start(ctx, scene, p));
    const SdmMatchSettings *const set = &p->settings;
    c.request = (SdmLatticeRequest){.scene = scene, .frame = &p->frame, .pointing = &p->pointing,
                                    .u1 = p->frame.width + ((int64_t)1 << set->top_level),
                                    .v1 = p->frame.height + ((int64_t)1 << set->top_level), .step = sdm_coarse_step(&p->frame, 0),
                                    .hmin_m = p->frame.hmin_m, .hmax_m = p->frame.hmax_m};
    while ((p->frame.width / c.request.step) * (p->frame.height / c.request.step) > 1 << 18)
        c.request.step *= 2;
    TRY(build_lattice(ctx, &c));
    c.in = (SdmChainInput){.settings = set, .lattice = &c.lattice, .left = &c.left, .right = &c.right};
    const SdmWindow all = whole(&p->frame, 0);
    TRY(sdm_open_pyramids(ctx, scene, set, &c.lattice, &all, p->frame.hmin_m, p->frame.hmax_m, set->coarse_level,
                          set->top_level, &c.left, &c.right));
    TRY(search_top(ctx, &c, &s, &shift));
    apply_shift(&c, shift);
    TRY(build_lattice(ctx, &c));
    TRY(descend(ctx, &c, &s));
    p->coarse = s;
    s = (SdmSurface){0};
    TRY(find_ground(ctx, p));
    TRY(coarse_range(ctx, scene, p));
    TRY(choose_grid(ctx, scene, p));
done:
    sdm_surface_free(&s);
    sdm_pyramid_free(&c.left);
    sdm_pyramid_free(&c.right);
    sdm_lattice_free(&c.lattice);
    return st;
}
