/* Memory of the chain on a device: arrays of its levels, images, lattice; what they take. */
// SPDX-License-Identifier: Apache-2.0
#include "chain_inside.h"

#include "chain_device.h"
#include "match/labels.h"
#include "optimize_device.h"

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
                               &a->left, &a->right, &c->node,  &c->ground.h_m, &c->ground.away};
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

static SdmStatus take_image(SdmDeviceChain *c, const SdmLevelImage *from, SdmGpuImage *to)
{
    *to = (SdmGpuImage){.x0 = from->x0, .y0 = from->y0, .w = from->w, .h = from->h};
    return sdm_buffer_new(c->ctx, c->gpu.device, from->w * from->h * (int64_t)sizeof *from->data,
                          "a level of an image", &to->data);
}

/* Images of a level go up in the other queue, while the device is at the level before; waits for the copies.
 */
SdmStatus sdm_chain_device_send_level(SdmDeviceChain *c, int level)
{
    SdmStatus st = SDM_OK;
    const SdmPyramid *const views[2] = {c->in->left, c->in->right};
    for (int side = 0; side < 2; side++) {
        const SdmLevelImage *const from = &views[side]->level[level];
        TRY(sdm_upload(c->ctx, c->image[side][level].data, 0, from->data,
                       from->w * from->h * (int64_t)sizeof *from->data, 1 - c->gpu.queue, true));
    }
done:
    return st;
}

SdmStatus sdm_chain_device_send(SdmDeviceChain *c, const SdmSurface *coarse)
{
    SdmStatus st = SDM_OK;
    const SdmLattice *const lat = c->in->lattice;
    const int64_t nodes = (int64_t)lat->nu * lat->nv * (int64_t)sizeof *lat->node;
    for (int l = c->in->settings->coarse_level - 1; l >= 0; l--) {
        TRY(take_image(c, &c->in->left->level[l], &c->image[SDM_LEFT][l]));
        TRY(take_image(c, &c->in->right->level[l], &c->image[SDM_RIGHT][l]));
    }
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
 * of the filling (12), lattice cells (2); census words. */
enum { ARRAY_BYTES = 21, STEP_BYTES = 30, CENSUS_BYTES = 16 };

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
