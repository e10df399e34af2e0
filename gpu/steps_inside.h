/* What the files of the steps share: launches, scratch. */
#ifndef SDM_GPU_STEPS_INSIDE_H
#define SDM_GPU_STEPS_INSIDE_H

#include "steps.h"

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
                     SDM_S_PATHS,  /* of semi-global matching; messages inside tiles */
                     SDM_S_COSTS,  /* of labels, and the labels themselves */
                     SDM_S_LABELS,
                     SDM_S_BORDERS, /* messages between tiles; sums of the energy */
                     SDM_S_PATCHES, /* of the gridding, its weights, heads of its lists */
                     SDM_S_WEIGHTS,
                     SDM_S_HEADS
};
enum { SDM_WARP_PIXELS = 4, SDM_REJECT_ROWS = 4 }; /* of an item: gpu/warp.cl, gpu/filter.cl */
enum { SDM_CELL_BYTES = 32 * 4, SDM_PATCH_BYTES = 64 };
int64_t sdm_gpu_volume_bytes(const SdmGpu *g); /* of scores in flight */

/* At least `bytes` in slot; what was there is lost when it grows. */
SdmStatus sdm_gpu_scratch(SdmContext *ctx, SdmGpu *g, enum SdmGpuScratch slot, int64_t bytes,
                          SdmBuffer **out);

static inline int sdm_gpu_groups(int64_t items, int group)
{
    return (int)((items + group - 1) / group);
}

static inline const SdmTuning *sdm_gpu_tuning(const SdmGpu *g)
{
    return sdm_device_tuning(g->device);
}

/* Launch over w x h items in groups of gx x gy. */
#define SDM_GPU_RUN(ctx, g, name, w, h, gx, gy, ...) \
    sdm_gpu_run((ctx), (g), (name), (const int[3]){sdm_gpu_groups((w), (gx)), sdm_gpu_groups((h), (gy)), 1}, \
                (const int[3]){(gx), (gy), 1}, (int)(sizeof((SdmArg[]){__VA_ARGS__}) / sizeof(SdmArg)), \
                (SdmArg[]){__VA_ARGS__})
/* The same where each of w x h items has a pixel, in groups as the device likes them. */
#define SDM_GPU_PIXELS(ctx, g, name, w, h, ...)                                                              \
    SDM_GPU_RUN((ctx), (g), (name), (w), (h), sdm_gpu_tuning(g)->pixel_w, sdm_gpu_tuning(g)->pixel_h,        \
                __VA_ARGS__)
SdmStatus sdm_gpu_run(SdmContext *ctx, SdmGpu *g, const char *name, const int groups[3], const int group[3],
                      int count, const SdmArg *args);

#endif
