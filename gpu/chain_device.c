/* Stages 5 to 7 on a device: images and the coarse surface go up, the surface of a window comes down; what
 * lies between is queued without waiting.  The order of the steps is that of src/match/fine.c and chain.c. */
// SPDX-License-Identifier: Apache-2.0
#include "chain_device.h"

#include "chain_inside.h"

static void swap(SdmBuffer **a, SdmBuffer **b)
{
    SdmBuffer *const t = *a;
    *a = *b;
    *b = t;
}

/* ---- steps of a level ---- */

/* The window of a level from the surface before, which becomes the prior's place. */
static SdmStatus refine(SdmDeviceChain *c, const SdmWindow *coarse, const SdmWindow *fine)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_gpu_refine(c->ctx, &c->gpu, coarse, c->a.now, fine, c->a.spare));
    swap(&c->a.now, &c->a.spare);
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

static SdmStatus warp_right(SdmDeviceChain *c, SdmBuffer *surface_m)
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
    swap(&a->flags, &a->spare_flags);
    TRY(sdm_gpu_median(c->ctx, &c->gpu, w, h, a->now, a->flags, a->spare));
    swap(&a->now, &a->spare);
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
    swap(&c->a.now, &c->a.spare);
done:
    return st;
}

/* The surface becomes the prior, for which the right view is warped. */
static SdmStatus begin_pass(SdmDeviceChain *c)
{
    swap(&c->a.now, &c->a.prior);
    return warp_right(c, c->a.prior);
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

/* ---- down ---- */

/* Copy an array of the window to new memory of the host. */
static SdmStatus receive(SdmDeviceChain *c, const SdmBuffer *from, size_t size, const char *what, void *out)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)c->win.w * (size_t)c->win.h;
    void **const slot = out;
    if (!*slot)
        TRY(sdm_alloc_raw(c->ctx, slot, n, size, what));
    TRY(sdm_download(c->ctx, from, 0, *slot, (int64_t)(n * size), c->gpu.queue, false));
done:
    return st;
}

/* The ground up, the last look: a->prior gets the ray gaps. */
static SdmStatus judge(SdmDeviceChain *c)
{
    SdmStatus st = SDM_OK;
    SdmDeviceArrays *const a = &c->a;
    const SdmMatchSettings *const set = c->in->settings;
    const SdmGround *const ground = c->in->ground;
    const SdmPass pass = sdm_judge_pass(set);
    if (ground) {
        const int64_t n = (int64_t)ground->win.w * ground->win.h;
        c->ground = (SdmGpuGround){.level = ground->win.level,
                                   .w = ground->win.w,
                                   .h = ground->win.h,
                                   .pixel_m = c->in->ground_pixel_m};
        TRY(sdm_buffer_new(c->ctx, c->gpu.device, n * 4, "the terrain", &c->ground.h_m));
        TRY(sdm_buffer_new(c->ctx, c->gpu.device, n * 2, "the terrain", &c->ground.away));
        TRY(sdm_upload(c->ctx, c->ground.h_m, 0, ground->h_m, n * 4, c->gpu.queue, false));
        TRY(sdm_upload(c->ctx, c->ground.away, 0, ground->away, n * 2, c->gpu.queue, false));
    }
    TRY(warp_right(c, a->now));
    TRY(sdm_gpu_gap(c->ctx, &c->gpu, c->cost, &pass, a->left, a->right, c->win.w, c->win.h, a->prior,
                    a->spare_flags));
    const SdmGpuJudge j = {.win = c->win,
                           .gap = a->prior,
                           .score0 = a->spare_flags,
                           .h_m = a->now,
                           .ground = c->ground,
                           .least = sdm_judge_least(set),
                           .gap_limit_px = set->gap_limit_px,
                           .flags = a->flags,
                           .score = a->score};
    TRY(sdm_gpu_judge(c->ctx, &c->gpu, &j));
done:
    return st;
}

/* Small holes: from the coarse surface, as fill_holes() of src/match/fine.c.  Uses all but surface and flags.
 */
static SdmStatus fill_last(SdmDeviceChain *c, const SdmSurface *coarse)
{
    SdmStatus st = SDM_OK;
    SdmDeviceArrays *const a = &c->a;
    SdmWindow before = coarse->win;
    TRY(sdm_upload(c->ctx, a->prior, 0, coarse->h_m, (int64_t)before.w * before.h * 4, c->gpu.queue, false));
    for (int l = c->in->settings->coarse_level - 1; l >= 0; l--) {
        const SdmWindow w = sdm_window_at(&c->win, l);
        TRY(sdm_gpu_refine(c->ctx, &c->gpu, &before, a->prior, &w, a->spare));
        swap(&a->prior, &a->spare);
        before = w;
    }
    TRY(sdm_gpu_fill(c->ctx, &c->gpu, c->win.w, c->win.h, a->now, a->prior, a->flags, &sdm_fill_hole, NULL,
                     a->spare_flags));
    TRY(sdm_gpu_accept(c->ctx, &c->gpu, &c->win, a->spare_flags, &c->ground, a->flags));
done:
    return st;
}

/* Was anything saturated?  Then the processor says where, before holes are filled. */
static bool has_saturated(const SdmChainInput *in)
{
    return in->left->saturated || in->right->saturated;
}

/* The last look and the way back: heights, flags, scores, ray gaps, the left view; waits. */
static SdmStatus receive_all(SdmDeviceChain *c, const SdmSurface *coarse, SdmFineResult *out)
{
    SdmStatus st = SDM_OK;
    SdmDeviceArrays *const a = &c->a;
    SdmSurface *const s = &out->surface;
    TRY(sdm_surface_alloc(c->ctx, &c->win, s));
    TRY(receive(c, a->left, sizeof *out->left, "the rectified left view", &out->left));
    TRY(judge(c));
    TRY(receive(c, a->score, sizeof *s->score, "the surface's scores", &s->score));
    TRY(receive(c, a->prior, sizeof *out->gap_px, "ray gaps", &out->gap_px));
    if (!has_saturated(c->in))
        TRY(fill_last(c, coarse));
    TRY(receive(c, a->now, sizeof *s->h_m, "the surface", &s->h_m));
    TRY(receive(c, a->flags, sizeof *s->flags, "the surface's flags", &s->flags));
    TRY(sdm_finish(c->ctx, c->gpu.device, c->gpu.queue));
done:
    if (st != SDM_OK) /* memory that a copy may still write to */
        (void)sdm_finish(NULL, c->gpu.device, c->gpu.queue);
    return st;
}

static SdmStatus tell_time(SdmDeviceChain *c, double *device_s)
{
    SdmStatus st = SDM_OK;
    const SdmDeviceInfo *const info = sdm_device_info(c->gpu.device);
    TRY(sdm_device_seconds(c->ctx, c->gpu.device, c->gpu.queue, device_s));
    sdm_log(c->ctx, SDM_LOG_VERBOSE, 5,
            "%d x %d px on %s:%d, %s: %.3f s by its clock, %lld MiB of its memory", c->win.w, c->win.h,
            sdm_api_name(info->api), info->index, info->name, *device_s,
            (long long)(sdm_device_peak(c->gpu.device) >> 20));
done:
    return st;
}

SdmStatus sdm_device_chain_fine(SdmContext *ctx, SdmDevice *device, const SdmChainInput *in,
                                const SdmSurface *coarse, const SdmWindow *win, const SdmWindow *need,
                                SdmFineResult *out)
{
    SdmStatus st = SDM_OK;
    const SdmMatchSettings *const set = in->settings;
    SdmDeviceChain c = {.ctx = ctx, .in = in, .cost = sdm_chain_device_cost(set), .win = coarse->win};
    const int around = sdm_stage_enter(ctx, 5);
    *out = (SdmFineResult){0};
    TRY(sdm_gpu_open(ctx, device, 0, &c.gpu));
    TRY(sdm_chain_device_arrays(&c, sdm_chain_device_pixels(set, coarse, win, need)));
    TRY(sdm_chain_device_send(&c, coarse));
    for (int l = set->coarse_level - 1; l >= 0; l--) {
        const SdmWindow part = sdm_fine_part(set, win, need, l), fine = sdm_window_at(&part, l),
                        before = c.win;
        TRY(sdm_chain_device_send_level(&c, l));
        TRY(refine(&c, &before, &fine));
        TRY(do_level(&c));
    }
    TRY(repeat(&c));
    TRY(receive_all(&c, coarse, out));
    TRY(tell_time(&c, &out->device_s));
    sdm_chain_device_close(&c); /* before the host's part, whose memory it may need */
    if (has_saturated(in))
        TRY(sdm_fine_finish(ctx, in, coarse, &out->surface));
done:
    sdm_chain_device_close(&c);
    sdm_stage_leave(ctx, around);
    if (st != SDM_OK)
        sdm_fine_result_free(out);
    return st;
}
