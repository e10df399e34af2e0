/* Stages 5 to 7 of a window at full resolution on a device: sdm_chain_fine() with the same bytes.  Internal;
 * not installed. */
#ifndef SDM_GPU_CHAIN_DEVICE_H
#define SDM_GPU_CHAIN_DEVICE_H

#include "device.h"
#include "match/chain.h"

/* Bytes of the device's memory that a window takes: w x h pixels of level 0 are computed, images pixels of
 * both views and all their levels lie there. */
int64_t sdm_device_chain_bytes(SdmDevice *device, const SdmMatchSettings *set, int64_t w, int64_t h,
                               int64_t images);

/* As sdm_chain_fine().  What only the device can tell fails with SDM_ERR_DEVICE, its memory with
 * SDM_ERR_MEMORY. */
SdmStatus sdm_device_chain_fine(SdmContext *ctx, SdmDevice *device, const SdmChainInput *in,
                                const SdmSurface *coarse, const SdmWindow *win, const SdmWindow *need,
                                SdmFineResult *out);

#endif
