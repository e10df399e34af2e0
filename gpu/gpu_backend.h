/* The back end of the matching on a device, stages 4 to 8: images and the coarse surface of a window go up,
 * cells of the DEM or its surface come down, with the bytes of the processor.  Internal; not installed. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_GPU_BACKEND_H
#define SDM_GPU_BACKEND_H

#include "device.h"
#include "matching/gridding.h"
#include "matching/level_loop.h"

/* Bytes of the device's memory that a window takes: w x h pixels of level 0 are computed, images pixels of
 * both views and all their levels lie there. */
int64_t sdm_device_match_bytes(SdmDevice *device, const SdmMatchSettings *set, int64_t w, int64_t h,
                               int64_t images);

/* As sdm_match_window(); images may end at their finest level, the others are made of it on the device.  With
 * call->gridding as that and sdm_gridding_run() where the device can: then the block's arrays are allocated
 * (the caller's to free) and of *out no more than device_s is set.  Failures of the device: SDM_ERR_DEVICE,
 * lack of its memory: SDM_ERR_MEMORY; then out and block are empty. */
SdmStatus sdm_device_match(SdmContext *ctx, SdmDevice *device, const SdmMatchCall *call, SdmFineResult *out);

#endif
