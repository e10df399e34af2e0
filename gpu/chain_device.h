/* Stages 4 to 8 of a window at full resolution on a device: sdm_chain_fine() and sdm_gridding_run() with the
 * same bytes.  Internal; not installed. */
#ifndef SDM_GPU_CHAIN_DEVICE_H
#define SDM_GPU_CHAIN_DEVICE_H

#include "device.h"
#include "matching/chain.h"
#include "matching/gridding.h"

/* Bytes of the device's memory that a window takes: w x h pixels of level 0 are computed, images pixels of
 * both views and all their levels lie there. */
int64_t sdm_device_chain_bytes(SdmDevice *device, const SdmMatchSettings *set, int64_t w, int64_t h,
                               int64_t images);

/* Images may end at their finest level, the others are made of it on the device: not with sad, whose levels
 * are normalised. */
bool sdm_device_makes_levels(const SdmMatchSettings *set);

/* What sdm_chain_fine() takes, and what is to become of the surface. */
typedef struct SdmDeviceCall {
    const SdmChainInput *in;
    const SdmSurface *coarse;
    const SdmWindow *win, *need;
    const SdmGridding *gridding; /* with its block: stage 8, too, where the device can; NULL: no */
    SdmBlock *block;             /* place set */
} SdmDeviceCall;

/* As sdm_chain_fine(), or as that and sdm_gridding_run(): then the block's arrays are allocated (the caller's
 * to free) and of *out no more than device_s is set.  What only the device can tell fails with
 * SDM_ERR_DEVICE, its memory with SDM_ERR_MEMORY; then out and block are empty. */
SdmStatus sdm_device_chain(SdmContext *ctx, SdmDevice *device, const SdmDeviceCall *call, SdmFineResult *out);
/* Without gridding. */
SdmStatus sdm_device_chain_fine(SdmContext *ctx, SdmDevice *device, const SdmChainInput *in,
                                const SdmSurface *coarse, const SdmWindow *win, const SdmWindow *need,
                                SdmFineResult *out);

#endif
