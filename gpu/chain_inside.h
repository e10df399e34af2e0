/* What the files of the chain on a device share. */
#ifndef SDM_GPU_CHAIN_INSIDE_H
#define SDM_GPU_CHAIN_INSIDE_H

#include "match/chain_parts.h"
#include "steps.h"

/* Arrays of the level in work, large enough for every level.  Heights go round in three of them:
 * what is current, its prior, and what a filter writes. */
typedef struct SdmDeviceArrays {
    SdmBuffer *now, *prior, *spare; /* float */
    SdmBuffer *flags, *spare_flags; /* uint16 */
    SdmBuffer *score;               /* uint8 */
    SdmBuffer *left, *right;        /* int16, warped */
} SdmDeviceArrays;

typedef struct SdmDeviceChain {
    SdmContext *ctx;
    const SdmChainInput *in;
    enum SdmGpuCost cost;
    SdmGpu gpu;
    SdmBuffer *node;
    SdmGpuImage image[2][SDM_MAX_LEVELS];
    SdmWindow win; /* of the level in work */
    SdmGpuCells cells;
    SdmGpuGround ground;
    SdmDeviceArrays a;
} SdmDeviceChain;

enum SdmGpuCost sdm_chain_device_cost(const SdmMatchSettings *set);
/* Pixels of the largest level. */
int64_t sdm_chain_device_pixels(const SdmMatchSettings *set, const SdmSurface *coarse, const SdmWindow *win,
                                const SdmWindow *need);
/* Arrays of n pixels. */
SdmStatus sdm_chain_device_arrays(SdmDeviceChain *c, int64_t n);
/* Lattice and the coarse surface go up; places for the images. */
SdmStatus sdm_chain_device_send(SdmDeviceChain *c, const SdmSurface *coarse);
/* Images of a level go up in the other queue, while the device is at the level before; waits for the copies.
 */
SdmStatus sdm_chain_device_send_level(SdmDeviceChain *c, int level);
/* Waits, and frees all; may be called again. */
void sdm_chain_device_close(SdmDeviceChain *c);

#endif
