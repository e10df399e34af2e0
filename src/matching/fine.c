/* Stages 5 to 7 at full resolution: a window from the coarse surface to heights with their reasons. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/chain.h"
#include "matching/chain_parts.h"

#include <math.h>
#include <string.h>

/* The repeats at level 0: residuals are within a pixel by now, so windows shrink to what the texture bears.
 */
static const struct {
    int window, range;
} repeats[SDM_REPEATS] = {{5, 1}, {5, 1}};
enum {
    HOLE_HALF = 6, HOLE_LEAST = 42,
    SATURATED_HALF = 3 /* of a repeat's window, and what the warp reaches further */
};

const SdmFill sdm_fill_hole = {.half = HOLE_HALF, .least = HOLE_LEAST, .else_prior = true};

void sdm_fine_result_free(SdmFineResult *r)
{
    sdm_surface_free(&r->surface);
    sdm_free(&r->ray_error_px);
    sdm_free(&r->left);
}

int sdm_chain_halo(const SdmMatchSettings *s, int level)
{
    /* per level: windows, ranges, retry, rejection, median, far fill, smoothing, refinement */
    const int base = 9 / 2 + 2 * SDM_FIRST_RANGE + 13 / 2 + 2 * (3 + 1) + 16 + 2 + 2;
    int sum = SDM_REPEATS * (7 / 2 + 3 + 3 + 1 + 16) + 9 + SDM_RAY_ERROR_HALF + HOLE_HALF;
    for (int l = 0; l <= level && l < s->coarse_level; l++)
        sum += (base + 2 * sdm_chain_retry_range(s, l)) << l;
    const int unit = 1 << s->coarse_level;
    return (sum + 2 * unit + 15) / 16 * 16;
}

SdmWindow sdm_fine_part(const SdmMatchSettings *s, const SdmWindow *win, const SdmWindow *need, int level)
{
    const int64_t halo = sdm_chain_halo(s, level), first[2] = {win->u0, win->v0};
    const int64_t end[2] = {win->u0 + win->w, win->v0 + win->h}, from[2] = {need->u0, need->v0};
    const int64_t to[2] = {need->u0 + need->w, need->v0 + need->h};
    int64_t a[2], b[2];
    for (int k = 0; k < 2; k++) {
        a[k] = ((from[k] - halo) >> 4) * 16;
        b[k] = ((to[k] + halo + 15) >> 4) * 16;
        a[k] = a[k] > first[k] ? a[k] : first[k];
        b[k] = b[k] < end[k] ? b[k] : end[k];
    }
    return (SdmWindow){.u0 = a[0], .v0 = a[1], .w = (int)(b[0] - a[0]), .h = (int)(b[1] - a[1])};
}

SdmWindow sdm_window_at(const SdmWindow *win, int level)
{
    return (SdmWindow){.level = level, .u0 = win->u0 >> level, .v0 = win->v0 >> level, .w = win->w >> level,
                       .h = win->h >> level};
}

SdmPass sdm_repeat_pass(const SdmMatchSettings *set, int i)
{
    return (SdmPass){.window = repeats[i].window,
                     .range = repeats[i].range,
                     .min_score = set->min_score,
                     .min_margin = -1.0f,
                     .max_mismatch = -1.0f,
                     .min_sigma = set->min_sigma,
                     .score_sigma = set->score_sigma,
                     .bears_score = set->small_score};
}

/* The column of the window, 0 to its width, that is nearest to x. */
static int column_in(const SdmWindow *win, int64_t x)
{
    return (int)(x < 0 ? 0 : x > win->w ? win->w : x);
}

/* Columns of a level's window that pixels of the shape depend on, block by block. */
static SdmStatus find_spans(SdmContext *ctx, const SdmChainInput *in, const SdmWindow *win, SdmSpan **out)
{
    SdmStatus st = SDM_OK;
    const SdmShape *const shape = in->shape;
    const int blocks = (win->h + SDM_SPAN_ROWS - 1) / SDM_SPAN_ROWS, down = shape->level - win->level;
    const int64_t halo = sdm_chain_halo(in->settings, win->level) >> win->level;
    TRY(sdm_alloc(ctx, out, (size_t)blocks, sizeof **out, "the columns that matter"));
    for (int b = 0; b < blocks; b++) {
        const int64_t v0 = win->v0 + (int64_t)b * SDM_SPAN_ROWS, first = ((v0 - halo) >> down) - shape->v0,
                      last = ((v0 + SDM_SPAN_ROWS + halo) >> down) - shape->v0;
        int64_t from = INT64_MAX, to = INT64_MIN;
        for (int64_t i = first > 0 ? first : 0; i <= last && i < shape->rows; i++)
            if (shape->from[i] < shape->to[i]) {
                from = shape->from[i] < from ? shape->from[i] : from;
                to = shape->to[i] > to ? shape->to[i] : to;
            }
        if (from >= to)
            continue;
        const int64_t x0 = ((from * ((int64_t)1 << down) - halo - win->u0) >> 4) * 16,
                      x1 = to * ((int64_t)1 << down) + halo - win->u0;
        const SdmSpan span = {column_in(win, x0), column_in(win, x1)};
        if (span.x0 < span.x1)
            (*out)[b] = span;
    }
done:
    return st;
}

/* The repeats: match about the surface with small windows what bears them. */
static SdmStatus repeat(SdmContext *ctx, const SdmChainInput *in, SdmLevelTask *task, SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    float *prior = NULL;
    for (int i = 0; i < SDM_REPEATS; i++) {
        TRY(sdm_surface_smooth(ctx, in->settings->kernels,
                               s)); /* noise of the surface would come back through the warp */
        const SdmPass pass = sdm_repeat_pass(in->settings, i);
        TRY(sdm_copy_heights(ctx, s, &prior));
        TRY(sdm_level_warp(ctx, task, s->h_m));
        TRY(sdm_level_match(ctx, task, &pass, prior, s));
        TRY(sdm_chain_clean(ctx, in, prior, s));
        TRY(sdm_chain_complete(ctx, in, prior, s));
        sdm_free(&prior);
    }
done:
    sdm_free(&prior);
    return st;
}

/* Was this place matched, and found to be terrain, by the coarse surface? */
static bool on_terrain(const SdmChainInput *in, const SdmWindow *win, size_t i)
{
    const SdmTerrainMask *const g = in->terrain;
    if (!g)
        return true;
    const int64_t u = (win->u0 + (int64_t)(i % (size_t)win->w)) >> g->win.level;
    const int64_t v = (win->v0 + (int64_t)(i / (size_t)win->w)) >> g->win.level;
    return u < g->win.w && v < g->win.h && g->away[v * g->win.w + u] == 0;
}

/* Does the window around an image position (px) touch a saturated area? */
static bool saturated_at(const SdmPyramid *p, const double at[2])
{
    const SdmLevelImage *const im = &p->level[0];
    const int64_t x = (int64_t)floor(at[0] + 0.5) - im->x0, y = (int64_t)floor(at[1] + 0.5) - im->y0;
    for (int64_t j = y - SATURATED_HALF; j <= y + SATURATED_HALF; j++)
        for (int64_t i = x - SATURATED_HALF; i <= x + SATURATED_HALF; i++)
            if (i >= 0 && j >= 0 && i < im->w && j < im->h && p->saturated[j * im->w + i])
                return true;
    return false;
}

/* Pixels that found no data because a view is saturated there say so. */
static void tell_saturated(SdmContext *ctx, const SdmChainInput *in, SdmSurface *s)
{
    if (!in->left->saturated && !in->right->saturated)
        return;
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int y = 0; y < s->win.h; y++)
        for (int x = 0; x < s->win.w; x++) {
            const size_t i = (size_t)y * (size_t)s->win.w + (size_t)x;
            const double u = (double)(s->win.u0 + x), v = (double)(s->win.v0 + y);
            double left[2], right[2];
            if (!(s->flags[i] & SDM_QA_OUTSIDE))
                continue;
            sdm_lattice_left(in->lattice, u, v, left);
            sdm_lattice_right(in->lattice, u, v, (double)s->h_m[i], right);
            if ((in->left->saturated && saturated_at(in->left, left)) ||
                (in->right->saturated && saturated_at(in->right, right)))
                s->flags[i] = SDM_QA_SATURATED;
        }
}

/* Small holes: the coarse surface, moved by what the matches around say.  Only where the coarse surface is
 * terrain, so clouds and water stay open.  Filled pixels are VALID and FILLED. */
static SdmStatus fill_holes(SdmContext *ctx, const SdmChainInput *in, const SdmSurface *coarse, SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    SdmSurface a = {0}, b = {0};
    uint8_t *filled = NULL;
    const int around = sdm_stage_enter(ctx, 7);
    for (int l = in->settings->coarse_level - 1; l >= 0; l--) {
        const SdmWindow w = sdm_window_at(&s->win, l);
        b.win = w; /* of heights alone */
        TRY(sdm_alloc_raw(ctx, &b.h_m, (size_t)w.w * (size_t)w.h, sizeof *b.h_m, "the coarse surface"));
        sdm_surface_refine(ctx, in->settings->kernels, a.h_m ? &a : coarse, &b);
        sdm_surface_free(&a);
        a = b;
        b = (SdmSurface){0};
    }
    TRY(sdm_alloc(ctx, &filled, n, 1, "the fill mask"));
    TRY(sdm_surface_fill(ctx, in->settings->kernels, s, a.h_m, &sdm_fill_hole, filled));
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (size_t i = 0; i < n; i++) {
        const bool can = filled[i] && !(s->flags[i] & (SDM_QA_OUTSIDE | SDM_QA_SATURATED | SDM_QA_VALID)) &&
                         on_terrain(in, &s->win, i);
        if (can)
            s->flags[i] = SDM_QA_VALID | SDM_QA_FILLED;
    }
done:
    sdm_surface_free(&b);
    sdm_surface_free(&a);
    sdm_free(&filled);
    sdm_stage_leave(ctx, around);
    return st;
}

SdmStatus sdm_fine_finish(SdmContext *ctx, const SdmChainInput *in, const SdmSurface *coarse, SdmSurface *s)
{
    tell_saturated(ctx, in, s);
    return fill_holes(ctx, in, coarse, s);
}

SdmStatus sdm_chain_fine(SdmContext *ctx, const SdmChainInput *in, const SdmSurface *coarse,
                         const SdmWindow *win, const SdmWindow *need, SdmFineResult *out)
{
    SdmStatus st = SDM_OK;
    SdmSurface s = {0}, finer = {0};
    SdmLevelTask task = {0};
    SdmWindow part = *win;
    SdmSpan *span = NULL;
    const bool spans = in->shape && in->settings->optimizer.kind == SDM_OPTIMIZER_LOCAL;
    const int around = sdm_stage_enter(ctx, 5);
    *out = (SdmFineResult){0};
    for (int l = in->settings->coarse_level - 1; l >= 0; l--) {
        part = sdm_fine_part(in->settings, win, need, l);
        const SdmWindow w = sdm_window_at(&part, l);
        TRY(sdm_surface_alloc(ctx, &w, &finer));
        sdm_surface_refine(ctx, in->settings->kernels, s.h_m ? &s : coarse, &finer);
        sdm_surface_free(&s);
        s = finer;
        finer = (SdmSurface){0};
        sdm_free(&span);
        if (spans)
            TRY(find_spans(ctx, in, &w, &span));
        s.span = span;
        if (l > 0)
            TRY(sdm_chain_level(ctx, in, SDM_FIRST_RANGE, SDM_FIRST_WINDOW, &s));
    }
    task = sdm_level_task(in, &part); /* of level 0 */
    task.span = span;
    TRY(sdm_level_open(ctx, &task));
    TRY(sdm_chain_level_in(ctx, in, &task, SDM_FIRST_RANGE, SDM_FIRST_WINDOW, &s));
    TRY(repeat(ctx, in, &task, &s));
    out->surface = s;
    s = (SdmSurface){0};
    TRY(sdm_validate(ctx, in, &task, out));
    sdm_free(&task.right);
    TRY(sdm_fine_finish(ctx, in, coarse, &out->surface));
    out->left = task.left;
    task.left = NULL;
done:
    out->surface.span = NULL;
    sdm_free(&span);
    sdm_surface_free(&s);
    sdm_surface_free(&finer);
    sdm_level_close(&task);
    sdm_stage_leave(ctx, around);
    if (st != SDM_OK)
        sdm_fine_result_free(out);
    return st;
}
