/* The order of passes, filters and validation, on any back end.  Source of the loop: Iwata et al. 2011,
 * fig. 1, with the surface as its state. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/level_loop.h"

#include "matching/gridding.h"
#include "matching/cpu_backend.h"

#include <math.h>
#include <stdio.h>

float sdm_metres_per_pixel(const SdmMatchInput *in, int level)
{
    const SdmLattice *const lat = in->lattice;
    if (in->settings->discontinuity_px > 0.0f)
        return (float)(1 << level) * (float)SDM_DISCONTINUITY_M / in->settings->discontinuity_px;
    const SdmNode *const n = &lat->node[(size_t)(lat->nv / 2) * (size_t)lat->nu + (size_t)(lat->nu / 2)];
    return (float)(1 << level) / fabsf(n->du_dh);
}

/* Residual for a metre of height at the scene's centre, with its sign. */
static float px_per_metre(const SdmMatchInput *in, int level)
{
    const SdmLattice *const lat = in->lattice;
    const float metres = sdm_metres_per_pixel(in, level);
    return lat->node[(size_t)(lat->nv / 2) * (size_t)lat->nu + (size_t)(lat->nu / 2)].du_dh < 0.0f
               ? -1.0f / metres
               : 1.0f / metres;
}

/* A window of level 0 on another level. */
static SdmWindow window_at(const SdmWindow *win, int level)
{
    return (SdmWindow){.level = level,
                       .u0 = win->u0 >> level,
                       .v0 = win->v0 >> level,
                       .w = win->w >> level,
                       .h = win->h >> level};
}

SdmWindow sdm_level_part(const SdmMatchCall *call, int level)
{
    const SdmWindow *const win = call->win, *const need = call->need;
    const int64_t halo = sdm_match_halo(call->in->settings, level), first[2] = {win->u0, win->v0};
    const int64_t end[2] = {win->u0 + win->w, win->v0 + win->h}, from[2] = {need->u0, need->v0};
    const int64_t to[2] = {need->u0 + need->w, need->v0 + need->h};
    int64_t a[2], b[2];
    for (int k = 0; k < 2; k++) {
        a[k] = ((from[k] - halo) >> 4) * 16;
        b[k] = ((to[k] + halo + 15) >> 4) * 16;
        a[k] = a[k] > first[k] ? a[k] : first[k];
        b[k] = b[k] < end[k] ? b[k] : end[k];
    }
    const SdmWindow part = {.u0 = a[0], .v0 = a[1], .w = (int)(b[0] - a[0]), .h = (int)(b[1] - a[1])};
    return window_at(&part, level);
}

/* ---- steps ---- */

typedef struct Loop {
    const SdmMatchInput *in;
    const SdmMatchOps *ops;
    void *state;
    const SdmWindow *win; /* of the level in work */
} Loop;

/* The surface becomes the prior, and its pixels are matched about it. */
static SdmStatus match_pass(const Loop *l, const SdmPass *pass, bool retry)
{
    const SdmStatus st = l->ops->begin_pass(l->state, retry);
    return st == SDM_OK ? l->ops->match(l->state, pass, retry) : st;
}

/* Small holes: the coarse surface, moved as the matches around are.  Only where the coarse surface is
 * terrain, so that clouds and water stay open.  Between clouds, planes fill them instead. */
static SdmStatus fill_holes(const Loop *l)
{
    const int levels = sdm_hides_clouds(l->in->settings) ? 0 : l->in->settings->coarse_level;
    for (int level = levels - 1; level >= 0; level--) {
        const SdmWindow win = window_at(l->win, level);
        PASS(l->ops->refine_coarse(l->state, &win));
    }
    return l->ops->fill_holes(l->state, &sdm_fill_hole);
}

static SdmStatus run_step(const Loop *l, const SdmStep *step)
{
    const SdmMatchSettings *const set = l->in->settings;
    const SdmMatchOps *const ops = l->ops;
    const SdmPass search = sdm_search_pass(set, step->window, step->range), repeat = sdm_repeat_pass(set),
                  retry = sdm_retry_pass(set, l->win->level), ray_error = sdm_ray_error_pass(set);
    const SdmRejection rejection = sdm_rejection(step, sdm_metres_per_pixel(l->in, l->win->level));
    switch (step->kind) {
    case SDM_STEP_REFINE:
        return ops->open_level(l->state, l->win);
    case SDM_STEP_MATCH:
        return match_pass(l, &search, false);
    case SDM_STEP_RETRY:
        return ops->match(l->state, &retry, true);
    case SDM_STEP_REPEAT:
        return match_pass(l, &repeat, false);
    case SDM_STEP_REMATCH:
        return match_pass(l, &search, true);
    case SDM_STEP_BORDER:
        return ops->match_border(l->state, step->window / 2);
    case SDM_STEP_REJECT:
        return ops->reject(l->state, &rejection);
    case SDM_STEP_MEDIAN:
        return ops->median(l->state);
    case SDM_STEP_FILL:
        return ops->fill(l->state, &sdm_fill_far, &sdm_fill_near);
    case SDM_STEP_SMOOTH:
        return ops->smooth(l->state);
    case SDM_STEP_WIENER:
        return ops->wiener(l->state, sdm_metres_per_pixel(l->in, l->win->level));
    case SDM_STEP_LEAST_SQUARES:
        return ops->least_squares(l->state, px_per_metre(l->in, l->win->level));
    case SDM_STEP_SEMI_GLOBAL:
        return ops->semi_global(l->state, l->win);
    case SDM_STEP_WARP:
        return ops->warp(l->state);
    case SDM_STEP_RAY_ERROR:
        return ops->ray_error(l->state, &ray_error);
    case SDM_STEP_VALIDATE:
        return ops->validate(l->state);
    case SDM_STEP_DEFECTS:
        return ops->defects(l->state);
    case SDM_STEP_FILL_HIDDEN:
        return ops->fill_hidden(l->state);
    case SDM_STEP_FILL_HOLES:
        return fill_holes(l);
    }
    return SDM_OK;
}

/* Work of a step on the pixels of a level. */
static double step_work(const SdmStep *step, int level)
{
    return ldexp((double)sdm_step_cost(step->kind), -2 * level);
}

/* Share of the progress when `more` is done. */
static double share_done(const SdmMatchProgress *progress, double more)
{
    return progress ? fmin((progress->done + more) / progress->all, 1.0) : 0.0;
}

static void tell_step(SdmContext *ctx, SdmMatchProgress *progress, const SdmStep *step, int level)
{
    char what[32];
    snprintf(what, sizeof what, "level %d", level);
    progress->done += step_work(step, level);
    sdm_progress(ctx, 5, share_done(progress, 0.0), what);
}

SdmStatus sdm_run_sequence(SdmContext *ctx, const SdmMatchInput *in, const SdmMatchBackend *b,
                           const SdmWindow *win, SdmSequence sequence, SdmMatchProgress *progress)
{
    const Loop l = {in, b->ops, b->state, win};
    const SdmSteps steps = sdm_steps(sequence);
    for (int i = 0; i < steps.count; i++)
        if (sdm_step_applies(&steps.step[i], in->settings, win->level)) {
            PASS(sdm_check_stop(ctx));
            { /* for a step that tells of its own progress */
                const double more = step_work(&steps.step[i], win->level);
                SDM_PROGRESS(ctx, share_done(progress, 0.0), share_done(progress, more));
                PASS(run_step(&l, &steps.step[i]));
            }
            if (progress)
                tell_step(ctx, progress, &steps.step[i], win->level);
        }
    return SDM_OK;
}

/* ---- a window ---- */

static double sequence_work(const SdmMatchSettings *set, SdmSequence sequence, int level)
{
    double work = 0.0;
    const SdmSteps steps = sdm_steps(sequence);
    for (int i = 0; i < steps.count; i++)
        if (sdm_step_applies(&steps.step[i], set, level))
            work += step_work(&steps.step[i], level);
    return work;
}

/* A sequence of a window, and its level. */
typedef struct Part {
    SdmSequence sequence;
    int level;
} Part;
enum { MOST_PARTS = 40 };

/* The sequences of a window in their order, but for SDM_SEQUENCE_FINISH. */
static int list_parts(const SdmMatchSettings *set, Part *part)
{
    int n = 0;
    for (int l = set->coarse_level - 1; l >= 0 && !sdm_has_labels(set); l--)
        part[n++] = (Part){SDM_SEQUENCE_FINE_LEVEL, l};
    if (sdm_has_labels(set))
        part[n++] = (Part){SDM_SEQUENCE_SEMI_GLOBAL, 0};
    if (sdm_has_labels(set) && !set->semi_global)
        part[n++] = (Part){SDM_SEQUENCE_COARSE_SECOND, 0};
    for (int i = 0; i < set->repeats && !set->semi_global; i++)
        part[n++] = (Part){SDM_SEQUENCE_REPEAT, 0};
    if (!set->semi_global)
        part[n++] = (Part){SDM_SEQUENCE_RESTORE, 0};
    part[n++] = (Part){SDM_SEQUENCE_VALIDATE, 0};
    return n;
}

static SdmMatchProgress expect_work(const SdmMatchSettings *set)
{
    Part part[MOST_PARTS];
    const int count = list_parts(set, part);
    double all = sequence_work(set, SDM_SEQUENCE_FINISH, 0);
    for (int i = 0; i < count; i++)
        all += sequence_work(set, part[i].sequence, part[i].level);
    return (SdmMatchProgress){.all = all};
}

/* The levels down to 0, the repeats there, and validation. */
static SdmStatus match_levels(SdmContext *ctx, const SdmMatchBackend *b, const SdmMatchCall *call,
                              SdmWindow *win, SdmMatchProgress *progress)
{
    Part part[MOST_PARTS];
    const int count = list_parts(call->in->settings, part);
    for (int i = 0; i < count; i++) {
        *win = sdm_level_part(call, part[i].level);
        PASS(sdm_run_sequence(ctx, call->in, b, win, part[i].sequence, progress));
    }
    return SDM_OK;
}

/* The last steps, on the processor. */
static SdmStatus finish_here(SdmContext *ctx, const SdmMatchCall *call, SdmFineResult *out)
{
    SDM_CLOSED_BY(sdm_processor_give)
    SdmProcessor p = {
        .ctx = ctx, .in = call->in, .coarse = call->coarse, .surface = out->surface, .taken = &out->surface};
    const SdmMatchBackend b = {.ops = &sdm_processor_ops, .state = &p};
    return sdm_run_sequence(ctx, call->in, &b, &out->surface.win, SDM_SEQUENCE_FINISH, NULL);
}

SdmStatus sdm_match_window_on(SdmContext *ctx, const SdmMatchBackend *b, const SdmMatchCall *call,
                              SdmFineResult *out)
{
    SdmStatus st = SDM_OK;
    SdmWindow win = *call->win;
    SdmMatchProgress progress = expect_work(call->in->settings);
    const int around = sdm_stage_enter(ctx, 5);
    *out = (SdmFineResult){.ray_error_px = NULL};
    sdm_progress(ctx, 5, 0.0, "matching");
    TRY(match_levels(ctx, b, call, &win, &progress));
    const bool finishes = b->ops->can_finish(b->state);
    const bool grids = finishes && call->gridding && b->ops->can_grid && b->ops->can_grid(b->state, call);
    if (finishes)
        TRY(sdm_run_sequence(ctx, call->in, b, &win, SDM_SEQUENCE_FINISH, &progress));
    if (grids)
        TRY(b->ops->grid(b->state, call, out));
    else
        TRY(b->ops->surface(b->state, out));
    b->ops->close(b->state); /* before the processor's part, which may need its memory */
    if (!finishes)
        TRY(finish_here(ctx, call, out));
done:
    b->ops->close(b->state);
    sdm_stage_leave(ctx, around);
    if (st != SDM_OK) {
        sdm_fine_result_free(out);
        if (call->gridding)
            sdm_block_free(call->block);
    }
    return st;
}

SdmStatus sdm_match_window(SdmContext *ctx, const SdmMatchCall *call, SdmFineResult *out)
{
    SdmMatchCall ungridded = *call;
    ungridded.gridding = NULL;
    SdmProcessor p = {.ctx = ctx, .in = call->in, .coarse = call->coarse};
    const SdmMatchBackend b = {.ops = &sdm_processor_ops, .state = &p};
    return sdm_match_window_on(ctx, &b, &ungridded, out);
}

void sdm_fine_result_free(SdmFineResult *r)
{
    sdm_surface_free(&r->surface);
    SDM_FREE(&r->ray_error_px, &r->left);
}
