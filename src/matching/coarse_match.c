/* Scene-wide levels on the processor: matched, matched again, filled. */
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
    PASS(sdm_processor_ops.median(&p));
    return sdm_processor_ops.smooth(&p);
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
