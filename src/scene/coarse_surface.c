/* The coarse surface: all heights at the coarsest level, then the levels down to the coarse one, with the
 * pointing fitted at each. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/coarse_surface.h"
#include "matching/coarse_match.h"

#include "pointing/coarse_pointing.h"
#include "scene/coarse_strips.h"
#include "scene/prior_dem.h"
#include "scene/window_input.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CLOUD_ROUNDS = 3,  /* of cloud removal and rematching, at most */
    SHARPEN_ROUNDS = 6, /* with the small window */
    LATTICE_NODES = 1 << 18, /* at most */
    AGAIN_STEP = 32,         /* of the lattice with the pointing of the full resolution: its profile bends */
    AGAIN_ROUNDS = 3
};

/* Share of the pixels that a round of rematching finds if another one is to follow. */
#define LEAST_FOUND 0.005

/* In use while the coarse surface is made. */
typedef struct Coarse {
    const SdmScene *scene;
    SdmPrepared *p;
    SdmLatticeRequest request;
    SdmLattice lattice;
    SdmPyramid left, right;
    SdmMatchInput in;
    SdmTerrainEvidence evidence; /* of the level in work */
} Coarse;

static void dump(const SdmSurface *s, const char *tag)
{
    char name[300];
    if (!getenv("XDUMP")) return;
    snprintf(name, sizeof name, "%s_%s_l%d.raw", getenv("XDUMP"), tag, s->win.level);
    FILE *f = fopen(name, "wb");
    int wh[2] = {s->win.w, s->win.h};
    size_t n = (size_t)s->win.w * (size_t)s->win.h;
    fwrite(wh, 4, 2, f); fwrite(s->h_m, 4, n, f); fwrite(s->flags, 2, n, f); fwrite(s->score, 1, n, f);
    fclose(f);
}
/* The coarsest level: prior heights where a DEM gives them, then the search for the offset. */
static SdmStatus search_coarsest(SdmContext *ctx, Coarse *c, SdmSurface *best)
{
    SdmStatus st = SDM_OK;
    const SdmFrame *const f = &c->p->frame;
    const int level = c->p->settings.coarsest_level;
    const bool known = c->scene->options->dem != NULL;
    const SdmWindow win = sdm_frame_level(f, level);
    SdmSurface prior = {0};
    int offset = 0;
    const int around = sdm_stage_enter(ctx, 2);
    if (known) {
        TRY(sdm_surface_alloc(ctx, &win, &prior));
        TRY(sdm_prior_surface(ctx, c->scene, &c->lattice, &prior, &c->p->prior));
    }
    const SdmOffsetSearch q = {.scene = c->scene,
                               .frame = f,
                               .in = &c->in,
                               .prior = known ? &prior : NULL,
                               .half_range_m = known ? SDM_PRIOR_RANGE_M : 0.5 * (f->hmax_m - f->hmin_m)};
    TRY(sdm_pointing_search_offset(ctx, &q, best, &offset));
    sdm_pointing_set_offset(f, &c->lattice, level, offset, &c->p->pointing);
done:
    sdm_surface_free(&prior);
    sdm_stage_leave(ctx, around);
    return st;
}

/* Separate terrain from clouds and false matches: *out is the mask, and heights outside the terrain are
 * interpolated from it. */
static SdmStatus find_terrain(SdmContext *ctx, const Coarse *c, SdmSurface *s, SdmTerrainMask *out)
{
    SdmStatus st = SDM_OK;
    const float pixel_m = (float)(c->p->frame.gsd_m * (double)(1 << s->win.level));
    const int around = sdm_stage_enter(ctx, 6);
    TRY(sdm_terrain_mask_find(ctx, s, pixel_m, &c->evidence, out));
    TRY(sdm_fill_everywhere(ctx, c->p->settings.kernels, out->h_m, s));
done:
    sdm_stage_leave(ctx, around);
    return st;
}

/* Replace the heights outside the terrain by interpolation from the terrain around. */
static SdmStatus remove_clouds(SdmContext *ctx, const Coarse *c, SdmSurface *s)
{
    SdmTerrainMask terrain = {0};
    const SdmStatus st = find_terrain(ctx, c, s, &terrain);
    sdm_terrain_mask_free(&terrain);
    return st;
}

/* Fit the pointing to the ray errors of a level's surface; the lattice follows it. */
static SdmStatus fit_level(SdmContext *ctx, Coarse *c, SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    SdmPrepared *const p = c->p;
    const bool last = s->win.level == p->settings.coarse_level;
    const SdmFitTask task = sdm_fit_task(c->scene, &p->frame);
    SdmTiePoints points = {0};
    const int around = sdm_stage_enter(ctx, 2);
    sdm_free(&c->evidence.grey);
    sdm_free(&c->evidence.ray_error_v);
    TRY(sdm_coarse_evidence(ctx, &c->in, c->scene->options->memory_bytes, s, &c->evidence));
    TRY(remove_clouds(ctx, c, s));
    dump(s, "c");
    const int block = sdm_pointing_block(last);
    const SdmTiePointSource from = {.lattice = &c->lattice, .in_use = &p->pointing, .surface = s,
                                    .ray_error_v = c->evidence.ray_error_v, .block = block};
    TRY(sdm_tie_points_alloc(ctx, (size_t)(s->win.w / block) * (size_t)(s->win.h / block) + 1, &points));
    sdm_tie_points_add(&from, &points);
    TRY(sdm_pointing_fit_level(ctx, &task, &points, &s->win, last, &p->pointing, &p->points));
    TRY(sdm_lattice_build(ctx, &c->request, &c->lattice));
done:
    sdm_tie_points_free(&points);
    sdm_stage_leave(ctx, around);
    return st;
}

/* The levels below the coarsest, down to the coarse one. */
static SdmStatus descend(SdmContext *ctx, Coarse *c, SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    SdmSurface finer = {0};
    const int around = sdm_stage_enter(ctx, 5);
    dump(s, "a");
    TRY(fit_level(ctx, c, s));
    for (int l = c->p->settings.coarsest_level - 1; l >= c->p->settings.coarse_level; l--) {
        finer.win = sdm_frame_level(&c->p->frame, l);
        TRY(sdm_coarse_level(ctx, &c->in, c->scene->options->memory_bytes, s, &finer));
        sdm_surface_free(s);
        *s = finer;
        finer = (SdmSurface){0};
        dump(s, "a");
        TRY(fit_level(ctx, c, s));
        sdm_progress(ctx, 2, 0.05 + 0.2 * ldexp(1.0, -2 * (l - c->p->settings.coarse_level)),
                     "coarse surface");
    }
done:
    sdm_surface_free(&finer);
    sdm_stage_leave(ctx, around);
    return st;
}

static double share_valid(const SdmSurface *s)
{
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    size_t valid = 0;
    for (size_t i = 0; i < n; i++)
        valid += s->flags[i] & SDM_QA_VALID;
    return (double)valid / (double)n;
}

/* Beside clouds, the levels started from heights between those of the cloud and of the terrain, too far
 * from the terrain to be matched.  Once the clouds are known, these pixels are matched again from the
 * terrain around them; each round reaches a few pixels further.
 *
 * Windows of 9 pixels blur slopes that are not much wider, by more than the finer levels can correct.
 * Matching again with windows of 5 pixels restores these slopes by and by.  It is done after the clouds
 * are removed: it would steepen the edges of clouds, too, and without the false heights along these edges,
 * clouds would be connected to mountains. */
static SdmStatus refine_terrain(SdmContext *ctx, const Coarse *c, SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    const int64_t memory = c->scene->options->memory_bytes;
    const int around = sdm_stage_enter(ctx, 5);
    double found = 1.0;
    for (int round = 0; round < CLOUD_ROUNDS && found >= LEAST_FOUND; round++) {
        TRY(remove_clouds(ctx, c, s));
        const double before = share_valid(s);
        TRY(sdm_coarse_rematch(ctx, &c->in, memory, s));
        found = share_valid(s) - before;
    }
    TRY(remove_clouds(ctx, c, s));
    dump(s, "t");
    for (int round = 0; round < SHARPEN_ROUNDS; round++)
        TRY(sdm_coarse_sharpen(ctx, &c->in, memory, s));
done:
    sdm_stage_leave(ctx, around);
    return st;
}

SdmStatus sdm_coarse_find(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p, SdmPyramid images[2])
{
    SdmStatus st = SDM_OK;
    SdmSurface s = {0};
    Coarse c = {.scene = scene, .p = p};
    SdmMatchSettings robust = p->settings;
    const SdmMatchSettings *set = &p->settings;
    if (getenv("XCENSUS")) {
        SdmMatchSettings t;
        TRY(sdm_match_settings(ctx, scene->options, "census", scene->options->cpu_level, 16.0f, &t));
        robust.cost = t.cost; robust.min_score = t.min_score; robust.final_score = t.final_score;
        robust.min_small_window_score = t.min_small_window_score; robust.score_sigma = t.score_sigma;
        set = &robust;
    }
    c.request = (SdmLatticeRequest){.scene = scene,
                                    .frame = &p->frame,
                                    .pointing = &p->pointing,
                                    .u1 = p->frame.width + ((int64_t)1 << set->coarsest_level),
                                    .v1 = p->frame.height + ((int64_t)1 << set->coarsest_level),
                                    .step = sdm_frame_lattice_step(&p->frame, 0),
                                    .hmin_m = p->frame.hmin_m,
                                    .hmax_m = p->frame.hmax_m,
                                    .again = true};
    while ((p->frame.width / c.request.step) * (p->frame.height / c.request.step) > LATTICE_NODES)
        c.request.step *= 2;
    TRY(sdm_lattice_build(ctx, &c.request, &c.lattice));
    c.in = (SdmMatchInput){.settings = set, .lattice = &c.lattice, .left = &c.left, .right = &c.right};
    const SdmWindow all = sdm_frame_level(&p->frame, 0);
    const SdmPyramidRequest request = {.scene = scene, .settings = set, .lattice = &c.lattice, .win = &all,
                                      .hmin_m = p->frame.hmin_m, .hmax_m = p->frame.hmax_m,
                                      .lmin = set->coarse_level, .lmax = set->coarsest_level};
    TRY(sdm_pyramids_open(ctx, &request, &c.left, &c.right));
    TRY(search_coarsest(ctx, &c, &s));
    TRY(sdm_lattice_build(ctx, &c.request, &c.lattice));
    TRY(descend(ctx, &c, &s));
    TRY(refine_terrain(ctx, &c, &s));
    TRY(find_terrain(ctx, &c, &s, &p->terrain));
    p->coarse = s;
    s = (SdmSurface){0};
    for (int k = 0; k < 2 && images; k++) {
        images[k] = k ? c.right : c.left;
        *(k ? &c.right : &c.left) = (SdmPyramid){0};
    }
done:
    sdm_free(&c.evidence.grey);
    sdm_free(&c.evidence.ray_error_v);
    sdm_surface_free(&s);
    sdm_pyramid_free(&c.left);
    sdm_pyramid_free(&c.right);
    sdm_lattice_free(&c.lattice);
    return st;
}

SdmStatus sdm_coarse_match_again(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p,
                                 const SdmPyramid images[2], SdmSurface *out)
{
    SdmStatus st = SDM_OK;
    SdmLattice lattice = {0};
    const SdmSurface *const s = &p->coarse;
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    SdmLatticeRequest q = {.scene = scene,
                           .frame = &p->frame,
                           .pointing = &p->pointing,
                           .u1 = p->frame.width + ((int64_t)1 << p->settings.coarsest_level),
                           .v1 = p->frame.height + ((int64_t)1 << p->settings.coarsest_level),
                           .step = AGAIN_STEP,
                           .hmin_m = p->hmin_m,
                           .hmax_m = p->hmax_m};
    *out = (SdmSurface){0};
    while ((p->frame.width / q.step) * (p->frame.height / q.step) > LATTICE_NODES)
        q.step *= 2;
    TRY(sdm_lattice_build(ctx, &q, &lattice));
    TRY(sdm_surface_alloc(ctx, &s->win, out));
    memcpy(out->h_m, s->h_m, n * sizeof *s->h_m);
    memcpy(out->flags, s->flags, n * sizeof *s->flags);
    memset(out->score, 0, n * sizeof *out->score); /* those of another pointing: what it matched must not win
                                                    * by them */
    const SdmMatchInput in = {
        .settings = &p->settings, .lattice = &lattice, .left = &images[0], .right = &images[1]};
    for (int round = 0; round < AGAIN_ROUNDS; round++)
        TRY(sdm_coarse_sharpen(ctx, &in, scene->options->memory_bytes, out));
done:
    sdm_lattice_free(&lattice);
    return st;
}
