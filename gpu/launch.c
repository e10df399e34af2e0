/* Tables, scratch and launches of the steps on a device, see launch.h. */
// SPDX-License-Identifier: Apache-2.0
#include "launch.h"

#include "kernels.h"

SdmStatus sdm_gpu_open(SdmContext *ctx, SdmDevice *device, int queue, SdmGpu *out)
{
    SdmStatus st = SDM_OK;
    int32_t weights[256][4]; /* of 32 bits, so that an item need not take them apart */
    *out = (SdmGpu){.device = device, .queue = queue};
    for (int i = 0; i < 256; i++)
        for (int k = 0; k < 4; k++)
            weights[i][k] = sdm_cubic_weights[i][k];
    TRY(sdm_buffer_new(ctx, device, sizeof weights, "cubic weights", &out->cubic));
    TRY(sdm_upload(ctx, out->cubic, 0, weights, sizeof weights, queue, true));
done:
    if (st != SDM_OK)
        sdm_gpu_close(out);
    return st;
}

void sdm_gpu_close(SdmGpu *g)
{
    sdm_buffer_free(&g->cubic);
    for (int i = 0; i < SDM_GPU_SCRATCH; i++)
        sdm_buffer_free(&g->scratch[i]);
    *g = (SdmGpu){.device = NULL};
}

SdmStatus sdm_gpu_scratch(SdmContext *ctx, SdmGpu *g, int slot, int64_t bytes, SdmBuffer **out)
{
    SdmStatus st = SDM_OK;
    if (g->scratch_bytes[slot] < bytes) {
        if (g->scratch[slot])
            TRY(sdm_finish(ctx, g->device, g->queue));
        sdm_buffer_free(&g->scratch[slot]);
        g->scratch_bytes[slot] = 0;
        TRY(sdm_buffer_new(ctx, g->device, bytes, "scratch of a step", &g->scratch[slot]));
        g->scratch_bytes[slot] = bytes;
    }
    *out = g->scratch[slot];
done:
    return st;
}

SdmStatus sdm_gpu_run(SdmContext *ctx, SdmGpu *g, const char *name, const int groups[3], const int group[3],
                      int count, const SdmArg *args)
{
    const SdmLaunch launch = {.name = name,
                              .groups = {groups[0], groups[1], groups[2]},
                              .group = {group[0], group[1], group[2]},
                              .arg_count = count,
                              .args = args};
    return sdm_launch(ctx, g->device, g->queue, &launch);
}
