/* The order of passes, filters and validation, on any back end.  Source of the loop: Iwata et al. 2011,
 * fig. 1, with the surface as its state. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/level_loop.h"

#include "matching/gridding.h"
#include "matching/cpu_backend.h"

#include <math.h>
#include <stdio.h>

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

/* Small holes are filled with the coarse surface, moved as the matches around are.  Only where the coarse
 * surface is terrain, so that clouds and water stay open.  Between clouds, planes fill them instead. */
static SdmStatus run_step(const SdmMatchInput *in, const SdmMatchBackend *b, const SdmWindow *win,
                          const SdmStep *step)
{
    const SdmMatchOps *const ops = b->ops;
    const int finer =
        step->kind == SDM_STEP_FILL_HOLES && !sdm_hides_clouds(in->settings) ? in->settings->coarse_level : 0;
    for (int level = finer - 1; level >= 0; level--) {
        const SdmWindow part = window_at(win, level);
        PASS(ops->refine_coarse(b->state, &part));
    }
    switch (step->kind) {
    case SDM_STEP_REFINE:
        return ops->open_level(b->state, win);
    case SDM_STEP_MATCH:
    case SDM_STEP_RETRY:
    case SDM_STEP_REPEAT:
    case SDM_STEP_REMATCH:
        return ops->match(b->state, step);
    case SDM_STEP_BORDER:
        return ops->match_border(b->state, step);
    case SDM_STEP_REJECT:
        return ops->reject(b->state, step);
    case SDM_STEP_SEMI_GLOBAL:
        return ops->semi_global(b->state, win);
    default:
        return ops->step[step->kind](b->state);
    }
}

/* Work of a step on the pixels of a level. */
static double step_work(const SdmStep *step, int level)
{
    return ldexp((double)sdm_step_cost(step->kind), -2 * level);
}

SdmStatus sdm_run_sequence(SdmContext *ctx, const SdmMatchInput *in, const SdmMatchBackend *b,
                           const SdmWindow *win, SdmSequence sequence, SdmMatchProgress *progress)
{
    const SdmSteps steps = sdm_steps(sequence);
    char what[32];
    snprintf(what, sizeof what, "level %d", win->level);
    for (int i = 0; i < steps.count; i++) {
        const SdmStep *const step = &steps.step[i];
        const double done = progress ? fmin(progress->done / progress->all, 1.0) : 0.0;
        if (!sdm_step_applies(step, in->settings, win->level))
            continue;
        if (progress)
            progress->done += step_work(step, win->level);
        const double then = progress ? fmin(progress->done / progress->all, 1.0) : 0.0;
        PASS(sdm_check_stop(ctx));
        { /* for a step that tells of its own progress */
            SDM_PROGRESS(ctx, done, then);
            PASS(run_step(in, b, win, step));
        }
        if (progress)
            sdm_progress(ctx, 5, then, what);
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
    Part part[MOST_PARTS];
    const SdmMatchSettings *const set = call->in->settings;
    const int parts = list_parts(set, part);
    SdmMatchProgress progress = {.all = sequence_work(set, SDM_SEQUENCE_FINISH, 0)};
    for (int i = 0; i < parts; i++)
        progress.all += sequence_work(set, part[i].sequence, part[i].level);
    const int around = sdm_stage_enter(ctx, 5);
    *out = (SdmFineResult){.ray_error_px = NULL};
    sdm_progress(ctx, 5, 0.0, "matching");
    for (int i = 0; i < parts; i++) { /* the levels down to 0, the repeats there, and validation */
        win = sdm_level_part(call, part[i].level);
        TRY(sdm_run_sequence(ctx, call->in, b, &win, part[i].sequence, &progress));
    }
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
