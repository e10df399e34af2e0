/* Memory of the chain on a device: arrays of its levels, images, lattice; what they take. */
// SPDX-License-Identifier: Apache-2.0
#include "chain_inside.h"

#include "matching/labels.h"
#include "optimize_device.h"

bool sdm_device_makes_levels(const SdmMatchSettings *set)
{
    return sdm_chain_device_cost(set) != SDM_GPU_SAD;
}

enum SdmGpuCost sdm_chain_device_cost(const SdmMatchSettings *set)
{
    return set->cost == set->kernels->census ? SDM_GPU_CENSUS
           : set->cost == set->kernels->sad  ? SDM_GPU_SAD
                                             : SDM_GPU_ZNCC;
}

void sdm_chain_device_close(SdmDeviceChain *c)
{
    SdmDeviceArrays *const a = &c->a;
    SdmBuffer **const all[] = {&a->now,  &a->prior, &a->spare, &a->flags,      &a->spare_flags, &a->score,
                               &a->left, &a->right, &c->node,  &c->terrain.h_m, &c->terrain.away};
    if (!c->gpu.device)
        return;
    (void)sdm_finish(NULL, c->gpu.device, c->gpu.queue); /* nothing of ours is in use any more */
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        sdm_buffer_free(all[i]);
    for (int side = 0; side < 2; side++)
        for (int l = 0; l < SDM_MAX_LEVELS; l++)
            sdm_buffer_free(&c->image[side][l].data);
    sdm_gpu_close(&c->gpu);
}

SdmStatus sdm_chain_device_arrays(SdmDeviceChain *c, int64_t n)
{
    SdmStatus st = SDM_OK;
    SdmDeviceArrays *const a = &c->a;
    c->pixels = n;
    const struct {
        SdmBuffer **buffer;
        int64_t size;
        const char *what;
    } all[] = {{&a->now, 4, "the surface"},
               {&a->prior, 4, "the prior surface"},
               {&a->spare, 4, "a filtered surface"},
               {&a->flags, 2, "the surface's flags"},
               {&a->spare_flags, 2, "flags"},
               {&a->score, 1, "the surface's scores"},
               {&a->left, 2, "the rectified left view"},
               {&a->right, 2, "the warped right view"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        TRY(sdm_buffer_new(c->ctx, c->gpu.device, n * all[i].size, all[i].what, all[i].buffer));
    TRY(sdm_gpu_reserve(c->ctx, &c->gpu, n, (int64_t)c->in->lattice->nu * c->in->lattice->nv,
                        c->cost == SDM_GPU_CENSUS));
done:
    return st;
}

/* Room for a level of a view. */
static SdmStatus take_image(SdmDeviceChain *c, int side, int level)
{
    const SdmLevelImage *const first = &(side == SDM_RIGHT ? c->in->right : c->in->left)->level[0];
    const int64_t bounds[4] = {first->x0, first->y0, first->x0 + first->w, first->y0 + first->h};
    SdmLevelImage at;
    SdmGpuImage *const to = &c->image[side][level];
    sdm_level_place(bounds, level, &at);
    *to = (SdmGpuImage){.x0 = at.x0, .y0 = at.y0, .w = at.w, .h = at.h};
    return sdm_buffer_new(c->ctx, c->gpu.device, at.w * at.h * (int64_t)sizeof *at.data,
                          "a level of an image", &to->data);
}

static SdmStatus send_image(SdmDeviceChain *c, int side, int level, const int16_t *data)
{
    SdmStatus st = SDM_OK;
    const SdmGpuImage *const to = &c->image[side][level];
    if (!c->there[side][level]) {
        TRY(sdm_device_pause(c->ctx, c->gpu.device, c->gpu.queue));
        TRY(sdm_upload(c->ctx, to->data, 0, data, to->w * to->h * (int64_t)sizeof *data, 1 - c->gpu.queue,
                       true));
    }
    c->there[side][level] = true;
done:
    return st;
}

SdmStatus sdm_chain_device_send_level(SdmDeviceChain *c, int level)
{
    SdmStatus st = SDM_OK;
    const SdmPyramid *const views[2] = {c->in->left, c->in->right};
    for (int side = 0; side < 2; side++) {
        const int have = views[side]->lmax < level ? views[side]->lmax : level;
        TRY(send_image(c, side, have, views[side]->level[have].data));
        for (int l = have + 1; l <= level; l++) {
            if (!c->there[side][l])
                TRY(sdm_gpu_half(c->ctx, &c->gpu, &c->image[side][l - 1], &c->image[side][l]));
            c->there[side][l] = true;
        }
    }
done:
    return st;
}

SdmStatus sdm_chain_device_send(SdmDeviceChain *c, const SdmSurface *coarse)
{
    SdmStatus st = SDM_OK;
    const SdmLattice *const lat = c->in->lattice;
    const int64_t nodes = (int64_t)lat->nu * lat->nv * (int64_t)sizeof *lat->node;
    for (int l = c->in->settings->coarse_level - 1; l >= 0; l--)
        for (int side = 0; side < 2; side++)
            TRY(take_image(c, side, l));
    TRY(sdm_buffer_new(c->ctx, c->gpu.device, nodes, "lattice nodes", &c->node));
    TRY(sdm_upload(c->ctx, c->node, 0, lat->node, nodes, c->gpu.queue, false));
    TRY(sdm_upload(c->ctx, c->a.now, 0, coarse->h_m, (int64_t)coarse->win.w * coarse->win.h * 4, c->gpu.queue,
                   false));
done:
    return st;
}

int64_t sdm_chain_device_pixels(const SdmMatchSettings *set, const SdmSurface *coarse, const SdmWindow *win,
                                const SdmWindow *need)
{
    int64_t most = (int64_t)coarse->win.w * coarse->win.h;
    for (int l = 0; l < set->coarse_level; l++) {
        const SdmWindow part = sdm_fine_part(set, win, need, l), w = sdm_window_at(&part, l);
        const int64_t n = (int64_t)w.w * w.h;
        most = n > most ? n : most;
    }
    return most;
}

/* Bytes a pixel of what the steps keep for themselves: means and textures of both views (16), sums and counts
 * of the filling (12), lattice cells (2), lists of the gridding for cells of two pixels a side (2); census
 * words. */
enum { ARRAY_BYTES = 21, STEP_BYTES = 32, CENSUS_BYTES = 16 };

int64_t sdm_device_chain_bytes(SdmDevice *device, const SdmMatchSettings *set, int64_t w, int64_t h,
                               int64_t images)
{
    const int64_t pixel =
        ARRAY_BYTES + STEP_BYTES + (sdm_chain_device_cost(set) == SDM_GPU_CENSUS ? CENSUS_BYTES : 0) + 1;
    const SdmGpu g = {.device = device};
    const int range = sdm_chain_retry_range(set, 0), most = range > SDM_FIRST_RANGE ? range : SDM_FIRST_RANGE;
    return w * h * pixel + images * 2 * 4 / 3 + sdm_gpu_most_scores(&g, w) +
           sdm_gpu_optimize_bytes(&g, &set->optimizer, w, h, 2 * most + 1, SDM_LABELS_MOST, SDM_LABELS_BAND) +
           ((int64_t)2 << 20);
}
