/* Stage 2, second round: strips along u at full resolution -> v residuals -> polynomial and jitter profile. */
// SPDX-License-Identifier: Apache-2.0
#include "batch/prepare.h"

#include <math.h>

enum { STRIPS = 5, STRIP_ROWS = 128, STRIP_HALO = 64, SAMPLE = 8, LENGTH = 8192, LATTICE_STEP = 16 };

/* One piece of a strip: the fine chain on it, its residuals collected. */
static SdmStatus look(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p, const SdmWindow *win,
                      SdmFitSample **sample, size_t *count, size_t room)
{
    SdmStatus st = SDM_OK;
    SdmLattice lat = {0};
    SdmPyramid left = {0}, right = {0};
    SdmFineResult fine = {0};
    const SdmLatticeRequest q = {.scene = scene, .frame = &p->frame, .pointing = &p->pointing, .u0 = win->u0,
                                 .v0 = win->v0, .u1 = win->u0 + win->w, .v1 = win->v0 + win->h, .step = LATTICE_STEP,
                                 .hmin_m = p->hmin_m, .hmax_m = p->hmax_m};
    const SdmChainInput in = {.settings = &p->settings, .lattice = &lat, .left = &left, .right = &right,
                              .ground = &p->ground,
                              .ground_pixel_m = (float)(p->frame.gsd_m * (double)(1 << p->coarse.win.level))};
    TRY(sdm_lattice_build(ctx, &q, &lat));
    TRY(sdm_open_pyramids(ctx, scene, &p->settings, &lat, win, p->hmin_m, p->hmax_m, 0, p->settings.coarse_level, &left,
                          &right));
    TRY(sdm_chain_fine(ctx, &in, &p->coarse, win, &fine));
    TRY(sdm_collect_samples(ctx, &lat, &fine.surface, fine.gap_px, SAMPLE, &p->pointing, sample, count, room));
done:
    sdm_fine_result_free(&fine);
    sdm_pyramid_free(&left);
    sdm_pyramid_free(&right);
    sdm_lattice_free(&lat);
    return st;
}

SdmStatus sdm_refine_pointing(SdmContext *ctx, const SdmScene *scene, SdmPrepared *p)
{
    SdmStatus st = SDM_OK;
    SdmFitSample *sample = NULL;
    size_t count = 0;
    const SdmFrame *const f = &p->frame;
    const int unit = 16 << (p->settings.coarse_level > 4 ? p->settings.coarse_level - 4 : 0);
    const int rows = STRIP_ROWS + 2 * STRIP_HALO;
    const size_t room = (size_t)STRIPS * ((size_t)(f->width / SAMPLE) + 64) * (size_t)(rows / SAMPLE) + 64;
    SdmPointRound round = {.level = 0};
    const double t0 = sdm_now_s();
    for (int i = 0; i < STRIPS; i++) {
        int64_t v0 = (int64_t)((i + 0.5) / STRIPS * (double)f->height) - rows / 2;
        v0 = v0 < 0 ? 0 : v0 / unit * unit;
        const int64_t v1 = v0 + rows < f->height ? v0 + rows : f->height;
        for (int64_t u0 = 0; u0 < f->width; u0 += LENGTH) {
            const int64_t u1 = u0 + LENGTH < f->width ? u0 + LENGTH : f->width;
            const SdmWindow win = {.u0 = u0, .v0 = v0, .w = (int)(u1 - u0), .h = (int)((v1 - v0) / unit * unit)};
            sdm_progress(ctx, 2, 0.2 + 0.1 * (i + (double)u0 / (double)f->width) / STRIPS, "pointing at full resolution");
            if (win.w >= unit && win.h >= unit)
                TRY(look(ctx, scene, p, &win, &sample, &count, room));
        }
    }
    if (count < 200) {
        sdm_log(ctx, SDM_LOG_WARNING, 2, "pointing: only %zu matches at full resolution; that of the coarse levels stays",
                count);
        goto done;
    }
    TRY(sdm_pointing_fit(ctx, sample, count, 6, true, sdm_image_height(scene->view[1].image), &p->pointing, &round));
    sdm_log(ctx, SDM_LOG_VERBOSE, 2, "full resolution: %zu matches, across %.3f px, spread %.3f -> %.3f px, degree %d, "
            "jitter %.3f px rms", count, round.before_median_px, round.before_nmad_px, round.after_nmad_px, round.degree,
            round.profile_rms_px);
    p->points.round[p->points.rounds++] = round;
    round.samples = NULL;
done:
    sdm_free(&round.samples);
    sdm_free(&sample);
    sdm_add_time(ctx, 2, sdm_now_s() - t0);
    return st;
}
