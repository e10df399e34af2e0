/* The coarse surface: every height and shift at the top level, then down to the coarse level, pointing fitted
 * on the way. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/coarse_level.h"
#include "scene/prior_dem.h"

#include <math.h>
#include <stdlib.h>

enum {
    V_REACH = 32, /* rows searched across the lines, full-resolution px */
    CLOUD_ROUNDS = 3,
    SHARP_ROUNDS = 6
};

SdmWindow sdm_level_window(const SdmFrame *f, int level)
{
    const int64_t up = ((int64_t)1 << level) - 1;
    return (SdmWindow){
        .level = level, .w = (int)((f->width + up) >> level), .h = (int)((f->height + up) >> level)};
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
    const bool known = c->scene->options->dem != NULL;
    const double half =
        (known ? SDM_PRIOR_SLACK_M : 0.5 * (f->hmax_m - f->hmin_m)) * fabs(f->du_dh) / (double)(1 << l);
    const SdmWindow win = sdm_level_window(f, l);
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
        const SdmTopSearch q = {
            .half_range_px = half, .pixel_m = f->gsd_m * (double)(1 << l), .v_shift = shift};
        TRY(sdm_chain_top(ctx, &c->in, &q, &s, &share));
        sdm_log(ctx, SDM_LOG_VERBOSE, 2, "level %d, %d rows across: %.1f %% matched", l, shift,
                100.0 * share);
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
        st = sdm_fail(ctx, SDM_ERR_DATA,
                      "too few matches: %.1f %% of the overlap of %s and %s at 1/%d of the size, at "
                      "least 3 %% are needed; %s",
                      100.0 * best_share, c->scene->view[0].name, c->scene->view[1].name, 1 << l,
                      sdm_few_matches_hint(c->scene->options, sdm_frame_pixels(f)));
        goto done;
    }
done:
    sdm_surface_free(&prior);
    sdm_surface_free(&s);
    sdm_stage_leave(ctx, around);
    return st;
}

/* Chance makes a few matches anywhere; what it cannot do is let their rays meet, to the 0.15 px of the level
 * that the weakest correlation let pass may spread by noise alone (trust.c). */
static SdmStatus check_matches(SdmContext *ctx, const SdmSurface *s, const SdmFitTask *task,
                               const SdmPointRound *r)
{
    const double blocks = (double)(s->win.w / 8) * (double)(s->win.h / 8),
                 share = (double)task->count / fmax(blocks, 1.0);
    const double spread = r->after_nmad_px / (double)(1 << s->win.level);
    if (share >= 0.005 && (share >= 0.15 || spread <= 0.15))
        return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_DATA,
                    "too few matches between %s and %s: %zu of %.0f places at 1/%d of the size, their rays "
                    "miss each other by %.1f px; %s",
                    task->left, task->right, task->count, blocks, 1 << s->win.level, r->after_nmad_px,
                    sdm_few_matches_hint(task->options, task->overlap_px));
}

/* The v residual of a level's surface: refit the pointing. */
static SdmStatus fit_level(SdmContext *ctx, Coarse *c, const SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    SdmPrepared *const p = c->p;
    const int l = s->win.level;
    SdmFitSample *sample = NULL;
    size_t count = 0;
    const int64_t memory = c->scene->options->memory_bytes;
    const bool last = l == p->settings.coarse_level;
    SdmPointRound round = {.level = l};
    const int around = sdm_stage_enter(ctx, 2);
    TRY(sdm_coarse_ray_errors(ctx, &c->in, memory, s, last ? 8 : 4, &p->pointing, &sample, &count));
    const SdmFitTask task = {.sample = sample,
                             .count = count,
                             .max_degree = last          ? 4
                                           : count > 300 ? 1
                                                         : 0,
                             .options = c->scene->options,
                             .rows = sdm_image_height(c->scene->view[1].image),
                             .overlap_px = sdm_frame_pixels(&p->frame),
                             .left = c->scene->view[0].name,
                             .right = c->scene->view[1].name};
    if (count >= 60 || last)
        TRY(sdm_pointing_fit(ctx, &task, &p->pointing, &round));
    if (last)
        TRY(check_matches(ctx, s, &task, &round));
    sdm_log(ctx, SDM_LOG_VERBOSE, 2,
            "level %d: %zu matches, across %.3f px, spread %.3f -> %.3f px, degree %d", l, count,
            round.before_median_px, round.before_nmad_px, round.after_nmad_px, round.degree);
    if (last) {
        p->points.round[p->points.rounds++] = round;
        round.samples = NULL;
    }
    TRY(build_lattice(ctx, c));
done:
    sdm_free(&round.samples);
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
        finer.win = sdm_level_window(&c->p->frame, l);
        TRY(sdm_coarse_level(ctx, &c->in, c->scene->options->memory_bytes, s, &finer));
        sdm_surface_free(s);
        *s = finer;
        finer = (SdmSurface){0};
        TRY(fit_level(ctx, c, s));
    }
done:
    sdm_surface_free(&finer);
    sdm_stage_leave(ctx, around);
    return st;
}

SdmStatus sdm_coarse_terrain_mask(SdmContext *ctx, const SdmPrepared *p, SdmSurface *s, SdmTerrainMask *out)
{
    SdmStatus st = SDM_OK;
    const float pixel_m = (float)(p->frame.gsd_m * (double)(1 << s->win.level));
    const int around = sdm_stage_enter(ctx, 6);
    TRY(sdm_terrain_mask_find(ctx, s, pixel_m, out));
    TRY(sdm_chain_fill_all(ctx, p->settings.kernels, out->h_m, s));
done:
    sdm_stage_leave(ctx, around);
    return st;
}

/* What is no terrain loses its heights to the terrain around it. */
static SdmStatus set_clouds_aside(SdmContext *ctx, const Coarse *c, SdmSurface *s)
{
    SdmTerrainMask ground = {0};
    const SdmStatus st = sdm_coarse_terrain_mask(ctx, c->p, s, &ground);
    sdm_terrain_mask_free(&ground);
    return st;
}

/* Beside clouds the levels went down from heights between the cloud's and the terrain's, too far off to be
 * mended. Once the clouds are known: again, from the terrain around them, a few pixels further in each round.
 *
 * Then windows of 9 pixels blur slopes that are not much wider, by more than the levels below can mend;
 * windows of 5 come nearer to them in each round.  Only on terrain: they would sharpen the rims of clouds,
 * too, and with these gone from false heights in between, clouds would hang together with mountains. */
static SdmStatus mend_terrain(SdmContext *ctx, const Coarse *c, SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    const int64_t memory = c->scene->options->memory_bytes;
    const int around = sdm_stage_enter(ctx, 5);
    for (int round = 0; round < CLOUD_ROUNDS; round++) {
        TRY(set_clouds_aside(ctx, c, s));
        TRY(sdm_coarse_rematch(ctx, &c->in, memory, s));
    }
    TRY(set_clouds_aside(ctx, c, s));
    for (int round = 0; round < SHARP_ROUNDS; round++)
        TRY(sdm_coarse_sharpen(ctx, &c->in, memory, s));
done:
    sdm_stage_leave(ctx, around);
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

SdmStatus sdm_coarse_find(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p)
{
    SdmStatus st = SDM_OK;
    SdmSurface s = {0};
    int shift = 0;
    Coarse c = {.scene = scene, .p = p};
    const SdmMatchSettings *const set = &p->settings;
    c.request = (SdmLatticeRequest){.scene = scene,
                                    .frame = &p->frame,
                                    .pointing = &p->pointing,
                                    .u1 = p->frame.width + ((int64_t)1 << set->top_level),
                                    .v1 = p->frame.height + ((int64_t)1 << set->top_level),
                                    .step = sdm_coarse_step(&p->frame, 0),
                                    .hmin_m = p->frame.hmin_m,
                                    .hmax_m = p->frame.hmax_m};
    while ((p->frame.width / c.request.step) * (p->frame.height / c.request.step) > 1 << 18)
        c.request.step *= 2;
    TRY(build_lattice(ctx, &c));
    c.in = (SdmChainInput){.settings = set, .lattice = &c.lattice, .left = &c.left, .right = &c.right};
    const SdmWindow all = sdm_level_window(&p->frame, 0);
    TRY(sdm_open_pyramids(ctx, scene, set, &c.lattice, &all, p->frame.hmin_m, p->frame.hmax_m,
                          set->coarse_level, set->top_level, &c.left, &c.right));
    TRY(search_top(ctx, &c, &s, &shift));
    apply_shift(&c, shift);
    TRY(build_lattice(ctx, &c));
    TRY(descend(ctx, &c, &s));
    TRY(mend_terrain(ctx, &c, &s));
    p->coarse = s;
    s = (SdmSurface){0};
done:
    sdm_surface_free(&s);
    sdm_pyramid_free(&c.left);
    sdm_pyramid_free(&c.right);
    sdm_lattice_free(&c.lattice);
    return st;
}
