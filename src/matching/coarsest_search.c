/* The coarsest level: which heights, from a sweep of planes. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/chain.h"
#include "matching/chain_parts.h"

#include <math.h>

enum { TOP_RANGE = 10, TOP_WINDOW = 9 }; /* of a plane's pass */

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

/* Keep, pixel by pixel, the better of two matched surfaces; `rival` remembers the best score of those that
 * lost by more than tol_m of height. */
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

/* One hypothesis of the sweep: a plane through the prior, `step_m` higher and tilted along u. */
static SdmStatus try_plane(SdmContext *ctx, SdmLevelTask *task, const SdmPass *pass, const float *prior,
                           float offset_m, float tilt_m_per_px, float *plane, SdmSurface *s)
{
    SdmStatus st = SDM_OK;
    const int w = s->win.w, h = s->win.h;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++) {
            const size_t i = (size_t)y * (size_t)w + (size_t)x;
            plane[i] = prior[i] + offset_m + tilt_m_per_px * ((float)x - 0.5f * (float)w);
        }
    TRY(sdm_level_warp(ctx, task, plane));
    TRY(sdm_level_match(ctx, task, pass, plane, s));
done:
    return st;
}

SdmStatus sdm_chain_top(SdmContext *ctx, const SdmChainInput *in, const SdmTopSearch *q, SdmSurface *s,
                        double *matched)
{
    static const float tilts[] = {0.0f, 0.8f, -0.8f}; /* slopes along u: what a flat window cannot follow */
    SdmStatus st = SDM_OK;
    const SdmMatchSettings *const set = in->settings;
    const float metre = sdm_metres_per_pixel(in, s->win.level);
    const int range = q->half_range_px < TOP_RANGE ? (int)ceil(q->half_range_px) + 1 : TOP_RANGE;
    const int planes = (int)ceil(2.0 * q->half_range_px / (2 * range - 2)) | 1;
    const SdmPass pass = {.window = TOP_WINDOW,
                          .range = range,
                          .min_score = set->min_score,
                          .min_margin = 0.02f,
                          .max_mismatch = 1.0f,
                          .min_sigma = set->min_sigma,
                          .score_sigma = set->score_sigma};
    const size_t n = (size_t)s->win.w * (size_t)s->win.h;
    SdmLevelTask task = sdm_level_task(in, &s->win);
    SdmSurface fresh = {0};
    float *prior = NULL, *plane = NULL;
    uint8_t *rival = NULL;
    const int team = sdm_level_team(ctx, &s->win);
    task.v_shift = q->v_shift;
    TRY(sdm_level_open(ctx, &task));
    TRY(sdm_copy_heights(ctx, s, &prior));
    TRY(sdm_alloc(ctx, &plane, n, sizeof *plane, "a plane"));
    TRY(sdm_alloc(ctx, &rival, n, 1, "scores"));
    for (size_t i = 0; i < n; i++)
        s->flags[i] = SDM_QA_OUTSIDE;
    TRY(sdm_surface_alloc(ctx, &s->win, &fresh));
    for (int t = 0; t < 3; t++)
        for (int k = -(planes / 2); k <= planes / 2; k++) {
            TRY(try_plane(ctx, &task, &pass, prior, (float)(k * (2 * range - 2)) * metre,
                          tilts[t] * (float)q->pixel_m, plane, &fresh));
            keep_better(&fresh, 2.0f * metre, s, rival);
        }
    for (size_t i = 0; i < n; i++)
        if ((s->flags[i] & SDM_QA_VALID) && (float)s->score[i] - (float)rival[i] < 0.02f * 250.0f)
            s->flags[i] = SDM_QA_AMBIGUOUS;
    TRY(sdm_chain_clean(ctx, in, prior, s));
    *matched = share_matched(s);
    TRY(sdm_chain_fill_all(ctx, set->kernels, prior, s));
    TRY(sdm_surface_smooth(ctx, in->settings->kernels, s));
done:
    sdm_free(&prior);
    sdm_free(&plane);
    sdm_free(&rival);
    sdm_surface_free(&fresh);
    sdm_level_close(&task);
    sdm_team_leave(ctx, team);
    return st;
}
