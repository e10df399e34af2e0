/* A queue of a device with the tables and the scratch of the steps: launches by the name of a kernel.
 * Internal; not installed. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_GPU_LAUNCH_H
#define SDM_GPU_LAUNCH_H

#include "device.h"

enum SdmGpuScratch { /* slots of SdmGpu.scratch */
                     SDM_S_VOLUME,
                     SDM_S_MEAN,
                     SDM_S_MEAN_R,
                     SDM_S_TEXTURE,
                     SDM_S_TEXTURE_R,
                     SDM_S_WORD,
                     SDM_S_WORD_R,
                     SDM_S_SUM,
                     SDM_S_COUNT,
                     SDM_S_CELLS,
                     SDM_S_CELLS_R,
                     SDM_S_BANDS,
                     SDM_S_PENALTIES,
                     SDM_S_PATHS,  /* of semi-global matching; messages inside tiles */
                     SDM_S_BORDERS, /* messages between tiles; sums of the energy */
                     SDM_S_PATCHES, /* of the gridding, its weights, heads of its lists */
                     SDM_S_WEIGHTS,
                     SDM_S_HEADS,
                     SDM_GPU_SCRATCH
};

/* The scratch grows when it must. */
typedef struct SdmGpu {
    SdmDevice *device;
    int queue;
    SdmBuffer *cubic; /* sdm_cubic_weights, as int32 */
    SdmBuffer *scratch[SDM_GPU_SCRATCH];
    int64_t scratch_bytes[SDM_GPU_SCRATCH];
} SdmGpu;
SdmStatus sdm_gpu_open(SdmContext *ctx, SdmDevice *device, int queue, SdmGpu *out);
void sdm_gpu_close(SdmGpu *g);

/* At least `bytes` in slot; its contents are lost when it grows. */
SdmStatus sdm_gpu_scratch(SdmContext *ctx, SdmGpu *g, int slot, int64_t bytes,
                          SdmBuffer **out);

static inline int sdm_gpu_groups(int64_t items, int group)
{
    return (int)((items + group - 1) / group);
}

static inline const SdmTuning *sdm_gpu_tuning(const SdmGpu *g)
{
    return sdm_device_tuning(g->device);
}

/* Launch a kernel over w x h items in groups of gx x gy. */
#define SDM_GPU_RUN(ctx, g, name, w, h, gx, gy, ...) \
    sdm_gpu_run((ctx), (g), (name), (const int[3]){sdm_gpu_groups((w), (gx)), sdm_gpu_groups((h), (gy)), 1}, \
                (const int[3]){(gx), (gy), 1}, SDM_GPU_ARGS(__VA_ARGS__))
/* Number and array of arguments. */
#define SDM_GPU_ARGS(...) (int)(sizeof((SdmArg[]){__VA_ARGS__}) / sizeof(SdmArg)), (SdmArg[]){__VA_ARGS__}
/* The same with an item for each of w x h pixels, in groups of the size that the device's tuning gives. */
#define SDM_GPU_PIXELS(ctx, g, name, w, h, ...)                                                              \
    SDM_GPU_RUN((ctx), (g), (name), (w), (h), sdm_gpu_tuning(g)->pixel_w, sdm_gpu_tuning(g)->pixel_h,        \
                __VA_ARGS__)
SdmStatus sdm_gpu_run(SdmContext *ctx, SdmGpu *g, const char *name, const int groups[3], const int group[3],
                      int count, const SdmArg *args);

#endif
