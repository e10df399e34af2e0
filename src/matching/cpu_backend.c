/* The operations of the matching on the processor: passes, filters and validation of a window in memory. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/cpu_backend.h"

#include "core/math.h"

#include "matching/filters.h"
#include "matching/pyramid.h"
#include "matching/validation.h"
#include "matching/level_loop.h"
#include "matching/semi_global_surface.h"

#include <math.h>
#include <string.h>

/* ---- the window ---- */

SdmLevelTask sdm_level_task(const SdmMatchInput *in, const SdmWindow *win)
{
    return (SdmLevelTask){.kernels = in->settings->kernels,
                          .cost = in->settings->cost,
                          .lattice = in->lattice,
                          .win = *win,
                          .left_source = &in->left->level[win->level],
                          .right_source = &in->right->level[win->level]};
}

SdmStatus sdm_copy_heights(SdmContext *ctx, const SdmSurface *s, float **out)
{
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    PASS(sdm_alloc_raw(ctx, out, n, sizeof **out, "the prior surface"));
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
    for (int y = 0; y < s->win.h; y++)
        memcpy(*out + (size_t)y * (size_t)s->win.w, s->h_m + (size_t)y * (size_t)s->win.w,
               (size_t)s->win.w * sizeof **out);
    return SDM_OK;
}

/* Columns of a level's window on which pixels of the footprint depend, block by block of its rows. */
static SdmStatus find_extents(SdmContext *ctx, const SdmMatchInput *in, const SdmWindow *win,
                              SdmRowExtent **out)
{
    const SdmFootprint *const foot = in->footprint;
    const int blocks = (win->h + SDM_EXTENT_ROWS - 1) / SDM_EXTENT_ROWS, down = foot->level - win->level;
    const int64_t halo = sdm_match_halo(in->settings, win->level) >> win->level;
    PASS(sdm_alloc(ctx, out, (size_t)blocks, sizeof **out, "the columns that matter"));
    for (int b = 0; b < blocks; b++) {
        const int64_t v0 = win->v0 + (int64_t)b * SDM_EXTENT_ROWS, first = ((v0 - halo) >> down) - foot->v0,
                      last = ((v0 + SDM_EXTENT_ROWS + halo) >> down) - foot->v0;
        int64_t from = INT64_MAX, to = INT64_MIN;
        for (int64_t i = first > 0 ? first : 0; i <= last && i < foot->rows; i++)
            if (foot->from[i] < foot->to[i]) {
                from = foot->from[i] < from ? foot->from[i] : from;
                to = foot->to[i] > to ? foot->to[i] : to;
            }
        if (from >= to)
            continue;
        const int64_t x0 = ((from * ((int64_t)1 << down) - halo - win->u0) >> 4) * 16,
                      x1 = to * ((int64_t)1 << down) + halo - win->u0;
        const SdmRowExtent extent = {sdm_clamp((int)x0, 0, win->w), sdm_clamp((int)x1, 0, win->w)};
        if (extent.x0 < extent.x1)
            (*out)[b] = extent;
    }
    return SDM_OK;
}

static void close_level(SdmProcessor *p)
{
    sdm_level_close(&p->task);
    sdm_free(&p->prior);
    p->surface.extent = NULL;
    sdm_free(&p->extent);
    if (p->in_team)
        sdm_thread_limit_end(p->ctx, p->team);
    p->in_team = false;
}

/* Small windows are done before other threads have woken. */
static void enter_team(SdmProcessor *p)
{
    const SdmWindow *const win = &p->surface.win;
    p->team = sdm_thread_limit_begin(p->ctx, (int64_t)win->w * win->h * SDM_PASS_UNITS);
    p->in_team = true;
}

static SdmStatus open_level(void *state, const SdmWindow *win)
{
    SdmProcessor *const p = state;
    SdmSurface finer = {0};
    close_level(p);
    PASS(sdm_surface_alloc(p->ctx, win, &finer));
    sdm_surface_refine(p->ctx, p->in->settings->kernels, p->surface.h_m ? &p->surface : p->coarse, &finer);
    sdm_surface_free(&p->surface);
    p->surface = finer;
    if (p->in->footprint)
        PASS(find_extents(p->ctx, p->in, win, &p->extent));
    p->surface.extent = p->extent;
    p->task = sdm_level_task(p->in, win);
    p->task.extent = p->extent;
    if (win->level > 0)
        enter_team(p);
    PASS(sdm_level_open(p->ctx, &p->task));
    if (win->level == 0) /* the left view is warped */
        sdm_pyramid_free_pixels(p->in->spent[SDM_LEFT]);
    return SDM_OK;
}

SdmStatus sdm_processor_take(SdmProcessor *p, SdmSurface *s)
{
    p->surface = *s;
    p->taken = s;
    s->h_m = NULL;
    s->flags = NULL;
    s->score = NULL;
    p->task = sdm_level_task(p->in, &p->surface.win);
    p->task.extent = p->surface.extent;
    enter_team(p);
    return sdm_level_open(p->ctx, &p->task);
}

static void close_all(void *state)
{
    SdmProcessor *const p = state;
    close_level(p);
    sdm_surface_free(&p->surface);
    sdm_surface_free(&p->refined);
    SDM_FREE(&p->ray_error_px, &p->score0, &p->agreed_m);
}

void sdm_processor_give(SdmProcessor *p)
{
    SdmSurface *const s = p->taken;
    const SdmRowExtent *const extent = s->extent;
    *s = p->surface;
    s->extent = extent;
    p->surface = (SdmSurface){0};
    close_all(p);
}

/* ---- passes ---- */

static SdmStatus begin_pass(SdmProcessor *p, bool keep)
{
    SdmSurface *const s = &p->surface;
    float *fresh = NULL;
    sdm_free(&p->prior);
    if (keep)
        PASS(sdm_copy_heights(p->ctx, s, &fresh));
    else
        PASS(
            sdm_alloc_raw(p->ctx, &fresh, (size_t)s->win.w * (size_t)s->win.h, sizeof *fresh, "the surface"));
    p->prior = s->h_m;
    s->h_m = fresh;
    return sdm_level_warp(p->ctx, &p->task, p->prior);
}

static SdmStatus match(void *state, const SdmStep *step)
{
    SdmProcessor *const p = state;
    const bool again = step->kind == SDM_STEP_RETRY || step->kind == SDM_STEP_REMATCH;
    const SdmPass pass = sdm_step_pass(step, p->in->settings, p->surface.win.level);
    if (step->kind != SDM_STEP_RETRY)
        PASS(begin_pass(p, again));
    return sdm_level_match(p->ctx, &p->task, &pass, p->prior, again, &p->surface);
}

static SdmStatus match_border(void *state, const SdmStep *step)
{
    SdmProcessor *const p = state;
    const SdmBorderWindows in = {
        .left = p->task.left, .right = p->task.right, .prior_m = p->prior, .half = step->window / 2};
    return sdm_match_border(p->ctx, &in, &p->surface);
}

/* ---- filters ---- */

static SdmStatus reject(void *state, const SdmStep *step)
{
    SdmProcessor *const p = state;
    SdmSurface *const s = &p->surface;
    const SdmRejection r =
        sdm_rejection(step, sdm_metres_per_pixel(p->in->settings, p->in->lattice, s->win.level));
    SDM_OWNED uint16_t *flags = NULL;
    SDM_STAGE(p->ctx, 6);
    PASS(sdm_alloc_raw(p->ctx, &flags, (size_t)s->win.w * (size_t)s->win.h, sizeof *flags, "flags"));
    PASS(sdm_surface_reject(p->ctx, p->in->settings->kernels, s, p->prior, &r, flags));
    sdm_free(&s->flags);
    s->flags = flags;
    flags = NULL;
    return SDM_OK;
}

static SdmStatus median(void *state)
{
    SdmProcessor *const p = state;
    SDM_STAGE(p->ctx, 6);
    return sdm_surface_median(p->ctx, p->in->settings->kernels, &p->surface);
}

/* Flags stay as they are: the pixels are matched again on the next level. */
static SdmStatus fill(void *state)
{
    SdmProcessor *const p = state;
    SDM_STAGE(p->ctx, 7);
    PASS(sdm_surface_fill(p->ctx, p->in->settings->kernels, &p->surface, p->prior, &sdm_fill_near,
                          &sdm_fill_far, NULL));
    sdm_free(&p->prior); /* of the next pass, another */
    return SDM_OK;
}

static SdmStatus smooth(void *state)
{
    SdmProcessor *const p = state;
    return sdm_surface_smooth(p->ctx, p->in->settings->kernels, &p->surface);
}

static SdmStatus wiener(void *state)
{
    SdmProcessor *const p = state;
    const SdmMatchSettings *const set = p->in->settings;
    float ratio[256];
    SDM_STAGE(p->ctx, 6);
    sdm_wiener_ratios(set, ratio);
    return sdm_surface_wiener(p->ctx, set->kernels, &p->surface, p->task.left, ratio,
                              sdm_metres_per_pixel(p->in->settings, p->in->lattice, p->surface.win.level));
}

/* Pixels that a view shows only by what fills its holes. */
static SdmStatus set_aside(SdmProcessor *p, enum SdmSide side)
{
    const size_t n = (size_t)p->surface.win.w * (size_t)p->surface.win.h;
    uint16_t *const flags = p->surface.flags;
    SdmLevelTask task = p->task;
    SDM_CLOSED_BY(sdm_level_image_free) SdmLevelImage filled = {.data = NULL};
    SDM_OWNED int16_t *warped = NULL;
    PASS(sdm_pyramid_filled(p->ctx, side == SDM_LEFT ? p->in->left : p->in->right, &filled));
    if (!filled.data)
        return SDM_OK;
    task.left_source = task.right_source = &filled;
    PASS(sdm_alloc_raw(p->ctx, &warped, n, sizeof *warped, "filled pixels"));
    PASS(sdm_warp_view(p->ctx, &task, side, side == SDM_LEFT ? NULL : p->surface.h_m, warped));
    for (size_t i = 0; i < n; i++)
        if (flags[i] & SDM_QA_VALID && warped[i] > 0)
            flags[i] = SDM_PIXEL_ASIDE;
    return SDM_OK;
}

static void bring_back(SdmProcessor *p)
{
    const size_t n = (size_t)p->surface.win.w * (size_t)p->surface.win.h;
    for (size_t i = 0; i < n; i++)
        if (p->surface.flags[i] & SDM_PIXEL_ASIDE)
            p->surface.flags[i] = SDM_QA_VALID;
}

static SdmStatus least_squares(void *state)
{
    SdmProcessor *const p = state;
    const bool holes = p->in->left->defect || p->in->right->defect;
    SDM_STAGE(p->ctx, 6);
    PASS(sdm_level_warp(p->ctx, &p->task, p->surface.h_m));
    for (int side = 0; side < 2 && holes; side++)
        PASS(set_aside(p, (enum SdmSide)side));
    PASS(sdm_surface_least_squares(p->ctx, p->in->settings->kernels, &p->surface, p->task.left, p->task.right,
                                   sdm_px_per_metre(p->in->settings, p->in->lattice, p->surface.win.level)));
    if (holes)
        bring_back(p);
    return SDM_OK;
}

/* ---- one step instead of passes ---- */

/* Keep the heights on which both views agree, by pixels or by areas; the passes, which measure them, begin
 * with planes elsewhere. */
static SdmStatus search_between_clouds(SdmProcessor *p, const SdmWindow *win)
{
    SDM_CLOSED_BY(sdm_surface_free) SdmSurface areas = {0};
    {
        SDM_PROGRESS(p->ctx, 0.0, 0.5);
        PASS(sdm_semi_global_surface(p->ctx, p->in, &p->task, p->coarse, false, &p->surface));
    }
    PASS(sdm_keep_agreed(p->ctx, p->in, 0, &p->surface));
    PASS(sdm_surface_alloc(p->ctx, win, &areas));
    {
        SDM_PROGRESS(p->ctx, 0.5, 1.0);
        PASS(sdm_semi_global_surface(p->ctx, p->in, &p->task, p->coarse, true, &areas));
    }
    PASS(sdm_keep_agreed(p->ctx, p->in, SDM_AREA_SCORE, &areas));
    PASS(sdm_join_agreed(p->ctx, &areas, &p->surface, &p->agreed_m));
    return sdm_fill_gaps(p->ctx, p->in, p->agreed_m, &p->surface, NULL);
}

static SdmStatus semi_global(void *state, const SdmWindow *win)
{
    SdmProcessor *const p = state;
    close_level(p);
    PASS(sdm_surface_alloc(p->ctx, win, &p->surface));
    p->task = sdm_level_task(p->in, win);
    PASS(sdm_level_open(p->ctx, &p->task));
    if (sdm_hides_clouds(p->in->settings))
        return search_between_clouds(p, win);
    return sdm_semi_global_surface(p->ctx, p->in, &p->task, p->coarse, false, &p->surface);
}

static SdmStatus fill_hidden(void *state)
{
    SdmProcessor *const p = state;
    SDM_STAGE(p->ctx, 7);
    return sdm_fill_hidden(p->ctx, p->in, &p->surface);
}

/* ---- validation ---- */

static SdmStatus warp(void *state)
{
    SdmProcessor *const p = state;
    return sdm_level_warp(p->ctx, &p->task, p->surface.h_m);
}

static SdmStatus ray_error(void *state)
{
    SdmProcessor *const p = state;
    const size_t n = (size_t)p->surface.win.w * (size_t)p->surface.win.h;
    const SdmPass pass = sdm_ray_error_pass(p->in->settings);
    PASS(sdm_alloc_raw(p->ctx, &p->ray_error_px, n, sizeof *p->ray_error_px, "ray intersection errors"));
    PASS(sdm_alloc_raw(p->ctx, &p->score0, n, 1, "scores"));
    PASS(sdm_level_ray_error(p->ctx, &p->task, &pass, p->ray_error_px, p->score0));
    for (size_t i = 0; i < n && p->in->settings->semi_global; i++) /* no matches: no error of the cameras */
        if ((p->surface.flags[i] & (SDM_QA_VALID | SDM_QA_FILLED)) != SDM_QA_VALID)
            p->ray_error_px[i] = NAN;
    return SDM_OK;
}

static SdmStatus validate(void *state)
{
    SdmProcessor *const p = state;
    const SdmStatus st = sdm_validate_pixels(p->ctx, p->in, p->ray_error_px, p->score0, &p->surface);
    sdm_free(&p->score0);
    sdm_free(&p->task.right); /* no pass follows */
    sdm_pyramid_free_pixels(p->in->spent[SDM_RIGHT]);
    return st;
}

static SdmStatus defects(void *state)
{
    SdmProcessor *const p = state;
    sdm_mark_defects(p->ctx, p->in, &p->surface);
    return SDM_OK;
}

static SdmStatus refine_coarse(void *state, const SdmWindow *win)
{
    SdmProcessor *const p = state;
    SdmSurface finer = {.win = *win}; /* of heights alone */
    SDM_STAGE(p->ctx, 7);
    PASS(sdm_alloc_raw(p->ctx, &finer.h_m, (size_t)win->w * (size_t)win->h, sizeof *finer.h_m,
                       "the coarse surface"));
    sdm_surface_refine(p->ctx, p->in->settings->kernels, p->refined.h_m ? &p->refined : p->coarse, &finer);
    sdm_surface_free(&p->refined);
    p->refined = finer;
    return SDM_OK;
}

static SdmStatus fill_holes(void *state)
{
    SdmProcessor *const p = state;
    SdmSurface *const s = &p->surface;
    SDM_OWNED uint8_t *filled = NULL;
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    SDM_STAGE(p->ctx, 7);
    PASS(sdm_alloc_raw(p->ctx, &filled, n, 1, "the fill mask"));
    if (sdm_hides_clouds(p->in->settings))
        PASS(sdm_fill_gaps(p->ctx, p->in, p->agreed_m, s, filled));
    else
        PASS(sdm_surface_fill(p->ctx, p->in->settings->kernels, s, p->refined.h_m, &sdm_fill_hole, NULL,
                              filled));
    sdm_surface_free(&p->refined);
    return sdm_accept_filled(p->ctx, p->in, filled, s);
}

/* ---- the end ---- */

static bool can_finish(const void *state)
{
    (void)state;
    return true;
}

static SdmStatus surface(void *state, SdmFineResult *out)
{
    SdmProcessor *const p = state;
    *out = (SdmFineResult){.surface = p->surface, .ray_error_px = p->ray_error_px, .left = p->task.left};
    out->surface.extent = NULL;
    p->surface = (SdmSurface){0};
    p->ray_error_px = NULL;
    p->task.left = NULL;
    return SDM_OK;
}

const SdmMatchOps sdm_processor_ops = {.open_level = open_level,
                                       .match = match,
                                       .match_border = match_border,
                                       .reject = reject,
                                       .semi_global = semi_global,
                                       .step = {[SDM_STEP_MEDIAN] = median,
                                                [SDM_STEP_FILL] = fill,
                                                [SDM_STEP_SMOOTH] = smooth,
                                                [SDM_STEP_WIENER] = wiener,
                                                [SDM_STEP_LEAST_SQUARES] = least_squares,
                                                [SDM_STEP_WARP] = warp,
                                                [SDM_STEP_RAY_ERROR] = ray_error,
                                                [SDM_STEP_VALIDATE] = validate,
                                                [SDM_STEP_DEFECTS] = defects,
                                                [SDM_STEP_FILL_HIDDEN] = fill_hidden,
                                                [SDM_STEP_FILL_HOLES] = fill_holes},
                                       .refine_coarse = refine_coarse,
                                       .can_finish = can_finish,
                                       .surface = surface,
                                       .close = close_all};
