/* Stages 5 to 7 at full resolution: a window from the coarse surface to heights with their reasons. */
// SPDX-License-Identifier: Apache-2.0
#include "match/chain.h"
#include "match/chain_parts.h"

#include <math.h>
#include <string.h>

/* The repeats at level 0: residuals are within a pixel by now, so windows shrink to what the texture bears. */
static const struct {
    int window, range;
} repeats[] = {{5, 1}, {5, 1}};
enum {
    REPEATS = sizeof repeats / sizeof *repeats,
 HOLE_HALF = 6, HOLE_LEAST = 42,
    GAP_WINDOW = 9, GAP_HALF = 5, GAP_UNIT = 1024, FIRST_RANGE = 3, FIRST_WINDOW = 9
};

void sdm_fine_result_free(SdmFineResult *r)
{
    sdm_surface_free(&r->surface);
    sdm_free(&r->gap_px);
    sdm_free(&r->left);
}

int sdm_chain_halo(const SdmMatchSettings *s)
{
    /* per level: windows, ranges, retry, rejection, median, far fill, smoothing, refinement */
    const int base = 9 / 2 + 2 * FIRST_RANGE + 13 / 2 + 2 * (3 + 1) + 16 + 2 + 2;
    int sum = REPEATS * (7 / 2 + 3 + 3 + 1 + 16) + 9 + GAP_HALF + HOLE_HALF;
    for (int l = 0; l < s->coarse_level; l++)
        sum += (base + 2 * sdm_chain_retry_range(s, l)) << l;
    const int unit = 1 << s->coarse_level;
    return (sum + 2 * unit + 15) / 16 * 16;
}

static SdmWindow window_at(const SdmWindow *win, int level)
{
    return (SdmWindow){.level = level, .u0 = win->u0 >> level, .v0 = win->v0 >> level, .w = win->w >> level,
                       .h = win->h >> level};
}

/* The repeats: match about the surface with small windows. */
static SdmStatus repeat(SdmContext *ctx, const SdmChainInput *in, SdmLevelTask *task, SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    float *prior = NULL;
    for (int i = 0; i < REPEATS; i++) {
        TRY(sdm_surface_smooth(ctx, in->settings->kernels, s)); /* noise of the surface would come back through the warp */
        const SdmPass pass = {.window = repeats[i].window, .range = repeats[i].range,
                              .min_score = in->settings->min_score, .min_margin = -1.0f, .max_mismatch = -1.0f,
                              .min_sigma = in->settings->min_sigma};
        TRY(sdm_copy_heights(ctx, s, &prior));
        TRY(sdm_level_warp(ctx, task, s->h_m));
        TRY(sdm_level_match(ctx, task, &pass, s));
        TRY(sdm_chain_clean(ctx, in, prior, s));
        TRY(sdm_chain_complete(ctx, in, prior, s));
        sdm_free(&prior);
    }
done:
    sdm_free(&prior);
    return st;
}

/* Can a pixel of the window have this height, seen from the nearest terrain that the scene is sure of? */
static bool near_ground(const SdmChainInput *in, const SdmWindow *win, size_t i, float h_m)
{
    const SdmGround *const g = in->ground;
    if (!g)
        return true;
    const int64_t u = (win->u0 + (int64_t)(i % (size_t)win->w)) >> g->win.level;
    const int64_t v = (win->v0 + (int64_t)(i / (size_t)win->w)) >> g->win.level;
    if (u >= g->win.w || v >= g->win.h)
        return false;
    const int64_t at = v * g->win.w + u;
    return fabsf(h_m - g->h_m[at]) <= sdm_ground_limit((float)g->away[at], in->ground_pixel_m);
}

/* Was this place matched, and found to be terrain, by the coarse surface? */
static bool on_terrain(const SdmChainInput *in, const SdmWindow *win, size_t i)
{
    const SdmGround *const g = in->ground;
    if (!g)
        return true;
    const int64_t u = (win->u0 + (int64_t)(i % (size_t)win->w)) >> g->win.level;
    const int64_t v = (win->v0 + (int64_t)(i / (size_t)win->w)) >> g->win.level;
    return u < g->win.w && v < g->win.h && g->away[v * g->win.w + u] == 0;
}

/* Last word on every pixel: score over a larger window at the final surface, ray gap, filling. */
static SdmStatus judge_all(SdmContext *ctx, const SdmChainInput *in, SdmLevelTask *task, SdmFineResult *out)
{
    SdmStatus st = SDM_OK;
    const SdmMatchSettings *const set = in->settings;
    SdmSurface *const s = &out->surface;
    const int w = s->win.w, h = s->win.h;
    const size_t n = (size_t)w * (size_t)h;
    uint8_t *score = NULL;
    uint16_t *gap = NULL, *mean = NULL, *known = NULL;
    TRY(sdm_alloc(ctx, &out->gap_px, n, sizeof *out->gap_px, "ray gaps"));
    TRY(sdm_alloc(ctx, &score, n, 1, "scores"));
    TRY(sdm_alloc(ctx, &gap, n, sizeof *gap, "ray gaps"));
    TRY(sdm_alloc(ctx, &mean, n, sizeof *mean, "mean ray gaps"));
    TRY(sdm_alloc(ctx, &known, n, sizeof *known, "known ray gaps"));
    TRY(sdm_level_warp(ctx, task, s->h_m));
    TRY(sdm_level_gap(ctx, task, GAP_WINDOW, set->min_sigma, out->gap_px, score));
    for (size_t i = 0; i < n; i++)
        gap[i] = (uint16_t)(isfinite(out->gap_px[i]) ? fminf(fabsf(out->gap_px[i]), 1.0f) * GAP_UNIT : 0.0f);
    TRY(sdm_box_mean(ctx, gap, w, h, GAP_HALF, mean));
    for (size_t i = 0; i < n; i++)
        gap[i] = isfinite(out->gap_px[i]) ? GAP_UNIT : 0;
    TRY(sdm_box_mean(ctx, gap, w, h, GAP_HALF, known));
    for (size_t i = 0; i < n; i++) {
        uint16_t f = s->flags[i];
        if (isfinite(out->gap_px[i])) /* else the last match's own score, near the edge of the images */
            s->score[i] = score[i];
        if ((f & SDM_QA_VALID) && !near_ground(in, &s->win, i, s->h_m[i]))
            f = SDM_QA_ISOLATED;
        if ((f & SDM_QA_VALID) && s->score[i] < (uint8_t)(set->final_score * 250.0f))
            f = SDM_QA_LOW_SCORE;
        else if ((f & SDM_QA_VALID) && (float)mean[i] > set->gap_limit_px * (float)known[i])
            f = SDM_QA_RAY_GAP;
        s->flags[i] = f;
    }
done:
    sdm_free(&score);
    sdm_free(&gap);
    sdm_free(&mean);
    sdm_free(&known);
    return st;
}

/* Small holes: the coarse surface, moved by what the matches around say.  Only where the coarse surface is terrain, so
 * clouds and water stay open.  Filled pixels are VALID and FILLED. */
static SdmStatus fill_holes(SdmContext *ctx, const SdmChainInput *in, const SdmSurface *coarse, SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    static const SdmFill hole = {.half = HOLE_HALF, .least = HOLE_LEAST, .else_prior = true};
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    SdmSurface a = {0}, b = {0};
    uint8_t *filled = NULL;
    for (int l = in->settings->coarse_level - 1; l >= 0; l--) {
        const SdmWindow w = window_at(&s->win, l);
        TRY(sdm_surface_alloc(ctx, &w, &b));
        sdm_surface_refine(ctx, a.h_m ? &a : coarse, &b);
        sdm_surface_free(&a);
        a = b;
        b = (SdmSurface){0};
    }
    TRY(sdm_alloc(ctx, &filled, n, 1, "the fill mask"));
    TRY(sdm_surface_fill(ctx, in->settings->kernels, s, a.h_m, &hole, filled));
    for (size_t i = 0; i < n; i++) {
        const bool can = filled[i] && !(s->flags[i] & (SDM_QA_OUTSIDE | SDM_QA_VALID)) && on_terrain(in, &s->win, i);
        if (can)
            s->flags[i] = SDM_QA_VALID | SDM_QA_FILLED;
    }
done:
    sdm_surface_free(&b);
    sdm_surface_free(&a);
    sdm_free(&filled);
    return st;
}

SdmStatus sdm_chain_fine(SdmContext *ctx, const SdmChainInput *in, const SdmSurface *coarse, const SdmWindow *win,
                         SdmFineResult *out)
{
    SdmStatus st = SDM_OK;
    SdmSurface s = {0}, finer = {0};
    SdmLevelTask task = {0};
    *out = (SdmFineResult){0};
    for (int l = in->settings->coarse_level - 1; l >= 0; l--) {
        const SdmWindow w = window_at(win, l);
        TRY(sdm_surface_alloc(ctx, &w, &finer));
        sdm_surface_refine(ctx, s.h_m ? &s : coarse, &finer);
        sdm_surface_free(&s);
        s = finer;
        finer = (SdmSurface){0};
        TRY(sdm_chain_level(ctx, in, FIRST_RANGE, FIRST_WINDOW, &s));
    }
    task = sdm_level_task(in, win);
    TRY(sdm_level_open(ctx, &task));
    TRY(repeat(ctx, in, &task, &s));
    out->surface = s;
    s = (SdmSurface){0};
    TRY(judge_all(ctx, in, &task, out));
    TRY(fill_holes(ctx, in, coarse, &out->surface));
    out->left = task.left;
    task.left = NULL;
done:
    sdm_surface_free(&s);
    sdm_surface_free(&finer);
    sdm_level_close(&task);
    if (st != SDM_OK)
        sdm_fine_result_free(out);
    return st;
}
