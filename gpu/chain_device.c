/* Stages 4 to 8 on a device: images and the coarse surface go up, cells or the surface of a window come down;
 * what lies between is queued without waiting.  The order of the steps is that of src/matching/fine.c and
 * chain.c. */
// SPDX-License-Identifier: Apache-2.0
#include "chain_inside.h"

/* ---- steps of a level ---- */

/* The window of a level from the surface before, which becomes the prior's place. */
static SdmStatus refine(SdmDeviceChain *c, const SdmWindow *coarse, const SdmWindow *fine)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_gpu_refine(c->ctx, &c->gpu, coarse, c->a.now, fine, c->a.spare));
    sdm_buffer_swap(&c->a.now, &c->a.spare);
    c->win = *fine;
done:
    return st;
}

/* The left view of the window, and the cells of the right one. */
static SdmStatus open_level(SdmDeviceChain *c)
{
    SdmStatus st = SDM_OK;
    SdmGpuCells left;
    TRY(sdm_gpu_cells_new(c->ctx, &c->gpu, c->in->lattice, c->node, &c->win, SDM_LEFT, &left));
    TRY(sdm_gpu_warp(c->ctx, &c->gpu, &left, NULL, &c->image[SDM_LEFT][c->win.level], c->a.left));
    TRY(sdm_gpu_cells_new(c->ctx, &c->gpu, c->in->lattice, c->node, &c->win, SDM_RIGHT, &c->cells));
done:
    return st;
}

SdmStatus sdm_chain_device_warp_right(SdmDeviceChain *c, SdmBuffer *surface_m)
{
    return sdm_gpu_warp(c->ctx, &c->gpu, &c->cells, surface_m, &c->image[SDM_RIGHT][c->win.level],
                        c->a.right);
}

/* Match about the prior into the surface. */
static SdmStatus match(SdmDeviceChain *c, const SdmPass *pass, bool retry)
{
    const SdmDeviceArrays *const a = &c->a;
    const SdmGpuMatch m = {.cost = c->cost,
                           .w = c->win.w,
                           .h = c->win.h,
                           .left = a->left,
                           .right = a->right,
                           .pass = pass,
                           .retry = retry,
                           .right_cells = &c->cells,
                           .prior = a->prior,
                           .h_m = a->now,
                           .flags = a->flags,
                           .score = a->score};
    const SdmStatus st = sdm_check_stop(c->ctx);
    return st == SDM_OK ? sdm_gpu_match(c->ctx, &c->gpu, &m) : st;
}

/* As sdm_chain_clean(). */
static SdmStatus clean(SdmDeviceChain *c)
{
    SdmStatus st = SDM_OK;
    SdmDeviceArrays *const a = &c->a;
    const int w = c->win.w, h = c->win.h;
    TRY(sdm_gpu_reject(c->ctx, &c->gpu, w, h, a->now, a->prior, a->flags, SDM_REJECT_HALF,
                       sdm_metres_per_pixel(c->in, c->win.level), SDM_REJECT_SHARE, a->spare_flags));
    sdm_buffer_swap(&a->flags, &a->spare_flags);
    TRY(sdm_gpu_median(c->ctx, &c->gpu, w, h, a->now, a->flags, a->spare));
    sdm_buffer_swap(&a->now, &a->spare);
done:
    return st;
}

/* As sdm_chain_complete(). */
static SdmStatus complete(SdmDeviceChain *c)
{
    const SdmDeviceArrays *const a = &c->a;
    return sdm_gpu_fill(c->ctx, &c->gpu, c->win.w, c->win.h, a->now, a->prior, a->flags, &sdm_fill_far,
                        &sdm_fill_near, NULL);
}

static SdmStatus smooth(SdmDeviceChain *c)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_gpu_smooth(c->ctx, &c->gpu, c->win.w, c->win.h, c->a.now, c->a.spare));
    sdm_buffer_swap(&c->a.now, &c->a.spare);
done:
    return st;
}

/* The surface becomes the prior, for which the right view is warped. */
static SdmStatus begin_pass(SdmDeviceChain *c)
{
    sdm_buffer_swap(&c->a.now, &c->a.prior);
    return sdm_chain_device_warp_right(c, c->a.prior);
}

/* As sdm_chain_level_in(). */
static SdmStatus do_level(SdmDeviceChain *c)
{
    SdmStatus st = SDM_OK;
    const SdmMatchSettings *const set = c->in->settings;
    const int level = c->win.level;
    const SdmPass first = sdm_search_pass(set, SDM_FIRST_RANGE, SDM_FIRST_WINDOW),
                  second = sdm_retry_pass(set, level);
    TRY(open_level(c));
    TRY(begin_pass(c));
    TRY(match(c, &first, false));
    TRY(clean(c));
    if (sdm_level_retries(set, level)) {
        TRY(match(c, &second, true));
        TRY(clean(c));
    }
    TRY(complete(c));
    if (level > 0)
        TRY(smooth(c));
done:
    return st;
}

/* The repeats of level 0. */
static SdmStatus repeat(SdmDeviceChain *c)
{
    SdmStatus st = SDM_OK;
    for (int i = 0; i < SDM_REPEATS; i++) {
        const SdmPass pass = sdm_repeat_pass(c->in->settings, i);
        TRY(smooth(c));
        TRY(begin_pass(c));
        TRY(match(c, &pass, false));
        TRY(clean(c));
        TRY(complete(c));
    }
done:
    return st;
}

/* ---- a window ---- */

static SdmStatus tell_time(SdmDeviceChain *c, bool gridded, double *device_s)
{
    SdmStatus st = SDM_OK;
    const SdmDeviceInfo *const info = sdm_device_info(c->gpu.device);
    TRY(sdm_device_seconds(c->ctx, c->gpu.device, c->gpu.queue, device_s));
    sdm_log(c->ctx, SDM_LOG_VERBOSE, 5,
            "%d x %d px on %s:%d, %s: %.3f s by its clock, %lld MiB of its memory; %s came down", c->win.w,
            c->win.h, sdm_api_name(info->api), info->index, info->name, *device_s,
            (long long)(sdm_device_peak(c->gpu.device) >> 20), gridded ? "cells" : "the surface");
done:
    return st;
}

/* Levels coarse_level - 1 .. 0, and the repeats. */
static SdmStatus match_levels(SdmDeviceChain *c, const SdmDeviceCall *call)
{
    SdmStatus st = SDM_OK;
    const SdmMatchSettings *const set = c->in->settings;
    for (int l = set->coarse_level - 1; l >= 0; l--) {
        const SdmWindow part = sdm_fine_part(set, call->win, call->need, l), fine = sdm_window_at(&part, l),
                        before = c->win;
        TRY(sdm_chain_device_send_level(c, l));
        TRY(refine(c, &before, &fine));
        TRY(do_level(c));
    }
    TRY(repeat(c));
done:
    return st;
}

SdmStatus sdm_device_chain(SdmContext *ctx, SdmDevice *device, const SdmDeviceCall *call, SdmFineResult *out)
{
    SdmStatus st = SDM_OK;
    const SdmChainInput *const in = call->in;
    const SdmMatchSettings *const set = in->settings;
    SdmDeviceChain c = {
        .ctx = ctx, .in = in, .cost = sdm_chain_device_cost(set), .win = call->coarse->win};
    const int around = sdm_stage_enter(ctx, 5);
    bool gridded = false;
    *out = (SdmFineResult){.ray_error_px = NULL};
    TRY(sdm_gpu_open(ctx, device, 0, &c.gpu));
    TRY(sdm_chain_device_arrays(&c, sdm_chain_device_pixels(set, call->coarse, call->win, call->need)));
    TRY(sdm_chain_device_send(&c, call->coarse));
    TRY(match_levels(&c, call));
    if (call->gridding && !sdm_chain_device_leaves(&c))
        TRY(sdm_chain_device_cells(&c, call, &gridded));
    if (!gridded)
        TRY(sdm_chain_device_surface(&c, call->coarse, out));
    TRY(tell_time(&c, gridded, &out->device_s));
    const bool unfinished = sdm_chain_device_leaves(&c);
    sdm_chain_device_close(&c); /* before the host's part, whose memory it may need */
    if (unfinished)
        TRY(sdm_fine_finish(ctx, in, call->coarse, &out->surface));
done:
    sdm_chain_device_close(&c);
    sdm_stage_leave(ctx, around);
    if (st != SDM_OK) {
        sdm_fine_result_free(out);
        if (call->gridding)
            sdm_block_free(call->block);
    }
    return st;
}

SdmStatus sdm_device_chain_fine(SdmContext *ctx, SdmDevice *device, const SdmChainInput *in,
                                const SdmSurface *coarse, const SdmWindow *win, const SdmWindow *need,
                                SdmFineResult *out)
{
    const SdmDeviceCall call = {.in = in, .coarse = coarse, .win = win, .need = need};
    return sdm_device_chain(ctx, device, &call, out);
}
