/* Scene-wide levels on the processor: matched, matched again, filled; and the search at the coarsest
 * level, by matching about planes, level and tilted. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/coarse_match.h"

#include "matching/level_loop.h"
#include "matching/cpu_backend.h"

#include <math.h>
#include <string.h>

SdmStatus sdm_coarse_run_sequence(SdmContext *ctx, const SdmMatchInput *in, SdmSequence sequence,
                                  SdmSurface *s)
{
    const SdmWindow win = s->win;
    SDM_CLOSED_BY(sdm_processor_give) SdmProcessor p = {.ctx = ctx, .in = in};
    const SdmMatchBackend b = {.ops = &sdm_processor_ops, .state = &p};
    PASS(sdm_processor_take(&p, s));
    return sdm_run_sequence(ctx, in, &b, &win, sequence, NULL);
}

/* Heights and scores of `fresh` where both surfaces are valid and it matches no worse. */
static void take_better(const SdmSurface *fresh, int threads, SdmSurface *s)
{
    const size_t w = (size_t)s->win.w;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int y = 0; y < s->win.h; y++)
        for (size_t i = (size_t)y * w; i < (size_t)(y + 1) * w; i++)
            if (fresh->flags[i] & s->flags[i] & SDM_QA_VALID && fresh->score[i] >= s->score[i]) {
                s->h_m[i] = fresh->h_m[i];
                s->score[i] = fresh->score[i];
            }
}

/* Smoothed, since steps of the surface decorrelate what the warp stretches. */
SdmStatus sdm_sharpen_level(SdmContext *ctx, const SdmMatchInput *in, SdmSurface *s)
{
    const SdmPass pass = sdm_sharpen_pass(in->settings);
    SDM_CLOSED_BY(sdm_processor_give) SdmProcessor p = {.ctx = ctx, .in = in};
    SDM_CLOSED_BY(sdm_surface_free) SdmSurface fresh = {0};
    const SdmWindow win = s->win;
    PASS(sdm_processor_take(&p, s));
    PASS(sdm_surface_alloc(ctx, &win, &fresh));
    PASS(sdm_level_warp(ctx, &p.task, p.surface.h_m));
    PASS(sdm_level_match(ctx, &p.task, &pass, p.surface.h_m, false, &fresh));
    take_better(&fresh, sdm_threads(ctx), &p.surface);
    sdm_surface_free(&fresh);
    sdm_level_close(&p.task);
    PASS(sdm_processor_ops.step[SDM_STEP_MEDIAN](&p));
    return sdm_processor_ops.step[SDM_STEP_SMOOTH](&p);
}

/* Give every pixel a height: from the nearest circle of matches that is large enough. */
SdmStatus sdm_fill_everywhere(SdmContext *ctx, const SdmKernels *k, const float *prior, SdmSurface *s)
{
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    SDM_OWNED uint8_t *filled = NULL, *done_before = NULL;
    SDM_STAGE(ctx, 7);
    PASS(SDM_ALLOC(ctx, "the fill mask", SDM_ARRAY(filled, n), SDM_ARRAY(done_before, n)));
    for (int half = 2; half <= 128; half *= 4) {
        SDM_OWNED float *wide_m = NULL;
        PASS(sdm_copy_heights(ctx, s, &wide_m));
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
        for (size_t i = 0; i < n; i++)
            wide_m[i] = s->flags[i] & SDM_QA_VALID ? s->h_m[i] : prior[i];
        SdmSurface wide = *s;
        wide.h_m = wide_m;
        const SdmFill fill = {.half = half, .least = 1 + half};
        PASS(sdm_surface_fill(ctx, k, &wide, prior, &fill, NULL, filled));
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(static)
        for (size_t i = 0; i < n; i++) {
            if (filled[i] && !done_before[i])
                s->h_m[i] = wide_m[i];
            done_before[i] |= filled[i];
        }
    }
    return SDM_OK;
}

SdmStatus sdm_match_ray_error(SdmContext *ctx, const SdmMatchInput *in, const SdmSurface *s,
                              float *ray_error_v, uint8_t *score, int16_t *grey)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    SdmLevelTask task = sdm_level_task(in, &s->win);
    const SdmPass pass = sdm_ray_error_pass(in->settings);
    const int team = sdm_thread_limit_begin(ctx, (int64_t)n * SDM_PASS_UNITS);
    TRY(sdm_level_open(ctx, &task));
    TRY(sdm_level_warp(ctx, &task, s->h_m));
    TRY(sdm_level_ray_error(ctx, &task, &pass, ray_error_v, score));
    for (size_t i = 0; i < n; i++)
        if (!(s->flags[i] & SDM_QA_VALID))
            ray_error_v[i] = NAN;
    memcpy(grey, task.left, n * sizeof *grey);
done:
    sdm_level_close(&task);
    sdm_thread_limit_end(ctx, team);
    return st;
}

SdmStatus sdm_match_left_view(SdmContext *ctx, const SdmMatchInput *in, const SdmWindow *win, int16_t *out)
{
    SDM_CLOSED_BY(sdm_level_close) SdmLevelTask task = sdm_level_task(in, win);
    PASS(sdm_level_open(ctx, &task));
    memcpy(out, task.left, (size_t)win->w * (size_t)win->h * sizeof *out);
    return SDM_OK;
}

/* ---- the coarsest level ---- */

/* Slopes along u: a flat window cannot follow steeper ones than these leave. */
static const float tilts[] = {0.0f, 0.8f, -0.8f};
#define MIN_MARGIN 0.02f /* of the best score over that of another height */

/* Share of valid pixels among those that both views see. */
static double share_matched(const SdmSurface *s)
{
    int64_t valid = 0, seen = 0;
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    for (size_t i = 0; i < n; i++) {
        valid += s->flags[i] & SDM_QA_VALID;
        seen += !(s->flags[i] & SDM_QA_OUTSIDE);
    }
    return seen > 0 ? (double)valid / (double)seen : 0.0;
}

/* Keep, pixel by pixel, the better of two matched surfaces; `rival` keeps the best score of the heights that
 * lost and differ by more than tol_m. */
static void keep_better(const SdmSurface *fresh, float tol_m, int threads, SdmSurface *best, uint8_t *rival)
{
    const size_t n = (size_t)best->win.w * (size_t)best->win.h;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (size_t i = 0; i < n; i++) {
        const bool same = fabsf(fresh->h_m[i] - best->h_m[i]) <= tol_m;
        const bool wins = (fresh->flags[i] & SDM_QA_VALID) &&
                          (!(best->flags[i] & SDM_QA_VALID) || fresh->score[i] > best->score[i]);
        if (wins) {
            if ((best->flags[i] & SDM_QA_VALID) && !same && best->score[i] > rival[i])
                rival[i] = best->score[i];
            best->h_m[i] = fresh->h_m[i];
            best->flags[i] = fresh->flags[i];
            best->score[i] = fresh->score[i];
        } else if ((fresh->flags[i] & SDM_QA_VALID) && !same && fresh->score[i] > rival[i]) {
            rival[i] = fresh->score[i];
        }
        if (!(best->flags[i] & (SDM_QA_VALID | SDM_QA_OUTSIDE)) ||
            (fresh->flags[i] & ~(SDM_QA_VALID | SDM_QA_OUTSIDE)))
            best->flags[i] =
                (uint16_t)(best->flags[i] & SDM_QA_VALID ? best->flags[i] : fresh->flags[i] & ~SDM_QA_VALID);
    }
}

/* Match about a plane through the prior, `offset_m` higher and tilted along u. */
static SdmStatus try_plane(SdmProcessor *p, const SdmPass *pass, float offset_m, float tilt_m_per_px,
                           float *plane, SdmSurface *s)
{
    const int w = s->win.w, h = s->win.h;
#pragma omp parallel for num_threads(sdm_threads(p->ctx)) schedule(static)
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const size_t i = (size_t)y * (size_t)w + (size_t)x;
            plane[i] = p->prior[i] + offset_m + tilt_m_per_px * ((float)x - 0.5f * (float)w);
        }
    PASS(sdm_level_warp(p->ctx, &p->task, plane));
    return sdm_level_match(p->ctx, &p->task, pass, plane, false, s);
}

/* The best of all planes for each pixel; ambiguous where another height scores as well. */
static SdmStatus sweep_planes(SdmProcessor *p, const SdmCoarsestSearch *q)
{
    const int range = q->half_range_px < SDM_PLANE_RANGE ? (int)ceil(q->half_range_px) + 1 : SDM_PLANE_RANGE,
              step = 2 * range - 2, planes = (int)ceil(2.0 * q->half_range_px / step) | 1;
    const SdmPass pass = sdm_plane_pass(p->in->settings, range);
    SdmSurface *const s = &p->surface;
    SDM_CLOSED_BY(sdm_surface_free) SdmSurface fresh = {0};
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    const float metre = sdm_metres_per_pixel(p->in->settings, p->in->lattice, s->win.level);
    SDM_OWNED float *plane = NULL;
    SDM_OWNED uint8_t *rival = NULL;
    PASS(sdm_alloc(p->ctx, &plane, n, sizeof *plane, "a plane"));
    PASS(sdm_alloc(p->ctx, &rival, n, 1, "scores"));
    for (size_t i = 0; i < n; i++) {
        s->flags[i] = SDM_QA_OUTSIDE;
        s->score[i] = 0;
    }
    PASS(sdm_surface_alloc(p->ctx, &s->win, &fresh));
    for (size_t t = 0; t < (q->level ? 1 : sizeof tilts / sizeof *tilts); t++)
        for (int k = -(planes / 2); k <= planes / 2; k++) {
            PASS(try_plane(p, &pass, (float)(k * step) * metre, tilts[t] * (float)q->pixel_m, plane, &fresh));
            keep_better(&fresh, 2.0f * metre, sdm_threads(p->ctx), s, rival);
        }
    for (size_t i = 0; i < n; i++)
        if ((s->flags[i] & SDM_QA_VALID) && (float)s->score[i] - (float)rival[i] < MIN_MARGIN * 250.0f)
            s->flags[i] = SDM_QA_AMBIGUOUS;
    return SDM_OK;
}

SdmStatus sdm_coarsest_search(SdmContext *ctx, const SdmMatchInput *in, const SdmCoarsestSearch *q,
                              SdmSurface *s, double *matched)
{
    const SdmWindow win = s->win;
    SDM_CLOSED_BY(sdm_processor_give) SdmProcessor p = {.ctx = ctx, .in = in};
    const SdmMatchBackend b = {.ops = &sdm_processor_ops, .state = &p};
    PASS(sdm_processor_take(&p, s));
    p.task.v_shift = q->v_shift;
    PASS(sdm_copy_heights(ctx, &p.surface, &p.prior));
    PASS(sweep_planes(&p, q));
    PASS(sdm_run_sequence(ctx, in, &b, &win, SDM_SEQUENCE_CLEAN, NULL));
    *matched = share_matched(&p.surface);
    if (q->level)
        return SDM_OK;
    PASS(sdm_fill_everywhere(ctx, in->settings->kernels, p.prior, &p.surface));
    return sdm_processor_ops.step[SDM_STEP_SMOOTH](&p);
}
