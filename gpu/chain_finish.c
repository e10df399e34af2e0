/* The end of the chain on a device: the last look, the last holes; then the cells of the DEM come down, or
 * the surface. */
// SPDX-License-Identifier: Apache-2.0
#include "chain_inside.h"
#include "steps_inside.h"

#include <string.h>

/* Copy an array of the window to *out, new memory of the host where it is NULL. */
static SdmStatus receive(SdmDeviceChain *c, const SdmBuffer *from, size_t size, const char *what,
                         void *out /* T ** */)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)c->win.w * (size_t)c->win.h;
    void *host;
    memcpy(&host, out, sizeof host);
    if (!host)
        TRY(sdm_alloc_raw(c->ctx, &host, n, size, what));
    memcpy(out, &host, sizeof host);
    TRY(sdm_download(c->ctx, from, 0, host, (int64_t)(n * size), c->gpu.queue, false));
done:
    return st;
}

/* The ground up, the last look: a->prior gets the ray gaps. */
static SdmStatus judge(SdmDeviceChain *c)
{
    SdmStatus st = SDM_OK;
    SdmDeviceArrays *const a = &c->a;
    const SdmMatchSettings *const set = c->in->settings;
    const SdmTerrainMask *const ground = c->in->terrain;
    const SdmPass pass = sdm_validation_pass(set);
    if (ground) {
        const int64_t n = (int64_t)ground->win.w * ground->win.h;
        c->terrain = (SdmGpuTerrainMask){.level = ground->win.level,
                                   .w = ground->win.w,
                                   .h = ground->win.h,
                                   .pixel_m = c->in->terrain_pixel_m};
        TRY(sdm_buffer_new(c->ctx, c->gpu.device, n * 4, "the terrain", &c->terrain.h_m));
        TRY(sdm_buffer_new(c->ctx, c->gpu.device, n * 2, "the terrain", &c->terrain.away));
        TRY(sdm_upload(c->ctx, c->terrain.h_m, 0, ground->h_m, n * 4, c->gpu.queue, false));
        TRY(sdm_upload(c->ctx, c->terrain.away, 0, ground->away, n * 2, c->gpu.queue, false));
    }
    TRY(sdm_chain_device_warp_right(c, a->now));
    TRY(sdm_gpu_ray_error(c->ctx, &c->gpu, c->cost, &pass, a->left, a->right, c->win.w, c->win.h, a->prior,
                    a->spare_flags));
    const SdmGpuValidation j = {.win = c->win,
                           .gap = a->prior,
                           .score0 = a->spare_flags,
                           .h_m = a->now,
                           .terrain = c->terrain,
                           .least = sdm_validation_min_score(set),
                           .ray_error_limit_px = set->ray_error_limit_px,
                           .flags = a->flags,
                           .score = a->score};
    TRY(sdm_gpu_validate(c->ctx, &c->gpu, &j));
done:
    return st;
}

/* Small holes: from the coarse surface, as fill_holes() of src/matching/fine.c. */
static SdmStatus fill_last(SdmDeviceChain *c, const SdmSurface *coarse)
{
    SdmStatus st = SDM_OK;
    SdmDeviceArrays *const a = &c->a;
    SdmWindow before = coarse->win;
    SdmBuffer *from, *to = a->spare; /* ray gaps stay in a->prior */
    TRY(sdm_gpu_scratch(c->ctx, &c->gpu, SDM_S_MEAN, c->pixels * (int64_t)sizeof(float), &from));
    TRY(sdm_upload(c->ctx, from, 0, coarse->h_m, (int64_t)before.w * before.h * 4, c->gpu.queue, false));
    for (int l = c->in->settings->coarse_level - 1; l >= 0; l--) {
        const SdmWindow w = sdm_window_at(&c->win, l);
        TRY(sdm_gpu_refine(c->ctx, &c->gpu, &before, from, &w, to));
        sdm_buffer_swap(&from, &to);
        before = w;
    }
    TRY(sdm_gpu_fill(c->ctx, &c->gpu, c->win.w, c->win.h, a->now, from, a->flags, &sdm_fill_hole, NULL,
                     a->spare_flags));
    TRY(sdm_gpu_accept(c->ctx, &c->gpu, &c->win, a->spare_flags, &c->terrain, a->flags));
done:
    return st;
}

bool sdm_chain_device_leaves(const SdmDeviceChain *c)
{
    return (c->in->left->saturated || c->in->right->saturated) && !sdm_device_info(c->gpu.device)->doubles;
}

/* As sdm_fine_finish(). */
static SdmStatus finish_surface(SdmDeviceChain *c, const SdmSurface *coarse)
{
    SdmStatus st = SDM_OK;
    const SdmPyramid *const views[2] = {c->in->left, c->in->right};
    for (int side = 0; side < 2; side++) {
        const SdmLevelImage *const im = &views[side]->level[0];
        SdmBuffer *const mask = c->image[side][0].data; /* no warp is left that needs the image */
        if (!views[side]->saturated)
            continue;
        TRY(sdm_upload(c->ctx, mask, 0, views[side]->saturated, im->w * im->h, c->gpu.queue, false));
        TRY(sdm_gpu_saturated(c->ctx, &c->gpu, c->in->lattice, c->node, &c->win, (enum SdmSide)side, mask, im,
                              c->a.now, c->a.flags));
    }
    TRY(fill_last(c, coarse));
done:
    return st;
}

SdmStatus sdm_chain_device_surface(SdmDeviceChain *c, const SdmSurface *coarse, SdmFineResult *out)
{
    SdmStatus st = SDM_OK;
    SdmDeviceArrays *const a = &c->a;
    SdmSurface *const s = &out->surface;
    TRY(sdm_surface_alloc(c->ctx, &c->win, s));
    TRY(judge(c));
    if (!sdm_chain_device_leaves(c))
        TRY(finish_surface(c, coarse));
    TRY(receive(c, a->left, sizeof *out->left, "the rectified left view", &out->left));
    TRY(receive(c, a->score, sizeof *s->score, "the surface's scores", &s->score));
    TRY(receive(c, a->prior, sizeof *out->ray_error_px, "ray gaps", &out->ray_error_px));
    TRY(receive(c, a->now, sizeof *s->h_m, "the surface", &s->h_m));
    TRY(receive(c, a->flags, sizeof *s->flags, "the surface's flags", &s->flags));
    TRY(sdm_finish(c->ctx, c->gpu.device, c->gpu.queue));
done:
    if (st != SDM_OK) /* memory that a copy may still write to */
        (void)sdm_finish(NULL, c->gpu.device, c->gpu.queue);
    return st;
}

SdmStatus sdm_chain_device_cells(SdmDeviceChain *c, const SdmDeviceCall *call, bool *done)
{
    SdmStatus st = SDM_OK;
    const SdmDeviceArrays *const a = &c->a;
    SdmBlock *const b = call->block;
    SdmDevice *const device = c->gpu.device;
    const int64_t cells = b->w * b->h, real = cells * (int64_t)sizeof(float), whole = cells * 2;
    const SdmGpuGrid q = {.gridding = call->gridding, .win = c->win, .block = b, .h_m = a->now,
                          .flags = a->flags, .score = a->score, .ray_error_px = a->prior, .left = a->left};
    SdmBuffer *from[2];
    *done = sdm_gpu_can_grid(&c->gpu, &q) &&
            sdm_gpu_grid_bytes(&q) <= sdm_device_budget(device) - sdm_device_used(device);
    if (!*done)
        return SDM_OK;
    TRY(sdm_block_alloc(c->ctx, b->col0, b->row0, b->w, b->h, b));
    TRY(judge(c));
    TRY(finish_surface(c, call->coarse));
    SdmGpuGrid now = q; /* filters have swapped the arrays */
    now.h_m = a->now;
    now.flags = a->flags;
    now.ray_error_px = a->prior;
    TRY(sdm_gpu_grid(c->ctx, &c->gpu, &now, &from[0], &from[1]));
    float *const reals[] = {b->height_m, b->score, b->ray_error_m, b->spread_m, b->ortho};
    uint16_t *const wholes[] = {b->count, b->mask};
    for (int i = 0; i < 5; i++)
        TRY(sdm_download(c->ctx, from[0], i * real, reals[i], real, c->gpu.queue, false));
    for (int i = 0; i < 2; i++)
        TRY(sdm_download(c->ctx, from[1], i * whole, wholes[i], whole, c->gpu.queue, false));
    TRY(sdm_finish(c->ctx, device, c->gpu.queue));
done:
    if (st != SDM_OK) /* memory that a copy may still write to */
        (void)sdm_finish(NULL, device, c->gpu.queue);
    return st;
}
