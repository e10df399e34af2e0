/* Two rectified images -> disparities by kernels of a device, the bytes of sdm_pair_match(). */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_PAIR_DEVICE_H
#define SDM_PAIR_DEVICE_H

#include "gpu/launch.h"
#include "rectified/pair.h"

/* As sdm_pair_match(): disparity: height x width on the host.  Images of any height go through in bands of
 * rows. */
SdmStatus sdm_pair_match_device(SdmContext *ctx, SdmGpu *g, const SdmPairImage *left,
                                const SdmPairImage *right, const SdmPairSettings *set, float *disparity);

/* Rows of two images on the device, int16, dense. */
typedef struct SdmGpuPair {
    int width, height;
    bool eight_bit;
    SdmBuffer *image[2];
} SdmGpuPair;
/* Disparities of rows y0..y1 - 1 into out (float, (y1 - y0) x width); rows beside them serve as surroundings.
 * Settings have passed sdm_pair_check_settings(). */
SdmStatus sdm_gpu_pair(SdmContext *ctx, SdmGpu *g, const SdmGpuPair *pair, const SdmPairSettings *set, int y0,
                       int y1, SdmBuffer *out);

/* A whole pair that lies on the device (borrowed, as the settings), by set->optimizer: its volume, labels and
 * disparities.  Closed before the device; accepts pointer to NULL. */
typedef struct SdmGpuPairLabels SdmGpuPairLabels;
SdmStatus sdm_gpu_pair_labels_open(SdmContext *ctx, SdmGpu *g, const SdmGpuPair *pair,
                                   const SdmPairSettings *set, SdmGpuPairLabels **out);
SdmStatus sdm_gpu_pair_labels(SdmContext *ctx, SdmGpu *g, SdmGpuPairLabels *c);
void sdm_gpu_pair_labels_close(SdmGpuPairLabels **c);

#endif
