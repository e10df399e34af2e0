/* The coarsest level: a range of heights -> the surface, by matching about planes, level and tilted.  The
 * range is that of sdm_frame_find(), or SDM_PRIOR_RANGE_M about a prior DEM. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/coarse_match.h"

#include "matching/level_loop.h"
#include "matching/cpu_backend.h"

#include <math.h>

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
static void keep_better(const SdmSurface *fresh, float tol_m, SdmSurface *best, uint8_t *rival)
{
    const size_t n = (size_t)best->win.w * (size_t)best->win.h;
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
    const float metre = sdm_metres_per_pixel(p->in, s->win.level);
    SDM_OWNED float *plane = NULL;
    SDM_OWNED uint8_t *rival = NULL;
    PASS(sdm_alloc(p->ctx, &plane, n, sizeof *plane, "a plane"));
    PASS(sdm_alloc(p->ctx, &rival, n, 1, "scores"));
    for (size_t i = 0; i < n; i++) {
        s->flags[i] = SDM_QA_OUTSIDE;
        s->score[i] = 0;
    }
    PASS(sdm_surface_alloc(p->ctx, &s->win, &fresh));
    for (size_t t = 0; t < sizeof tilts / sizeof *tilts; t++)
        for (int k = -(planes / 2); k <= planes / 2; k++) {
            PASS(try_plane(p, &pass, (float)(k * step) * metre, tilts[t] * (float)q->pixel_m, plane, &fresh));
            keep_better(&fresh, 2.0f * metre, s, rival);
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
    PASS(sdm_fill_everywhere(ctx, in->settings->kernels, p.prior, &p.surface));
    return sdm_processor_ops.smooth(&p);
}
