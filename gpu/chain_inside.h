/* What the files of the chain on a device share. */
#ifndef SDM_GPU_CHAIN_INSIDE_H
#define SDM_GPU_CHAIN_INSIDE_H

#include "chain_device.h"
#include "matching/chain_parts.h"
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
    bool there[2][SDM_MAX_LEVELS]; /* sent, or made, as far as the queues are concerned */
    SdmWindow win; /* of the level in work */
    SdmGpuCells cells;
    SdmGpuTerrainMask terrain;
    SdmDeviceArrays a;
    int64_t pixels; /* of the largest level: room of the arrays */
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
 * Levels that the host has not made go up as the one below that it has, and are made here. */
SdmStatus sdm_chain_device_send_level(SdmDeviceChain *c, int level);
/* The right view as the surface and the level's lattice place it. */
SdmStatus sdm_chain_device_warp_right(SdmDeviceChain *c, SdmBuffer *surface_m);

static inline void sdm_buffer_swap(SdmBuffer **a, SdmBuffer **b)
{
    SdmBuffer *const t = *a;
    *a = *b;
    *b = t;
}

/* Was anything saturated?  Then a device without doubles leaves it to the processor to say where, and to fill
 * the last holes: sdm_fine_finish(). */
bool sdm_chain_device_leaves(const SdmDeviceChain *c);
/* The last look and the way back: heights, flags, scores, ray gaps, the left view; waits. */
SdmStatus sdm_chain_device_surface(SdmDeviceChain *c, const SdmSurface *coarse, SdmFineResult *out);
/* The last look, stage 8, and the way back of the cells; waits.  *done: false where the device cannot, and
 * nothing was done. */
SdmStatus sdm_chain_device_cells(SdmDeviceChain *c, const SdmDeviceCall *call, bool *done);
/* Waits, and frees all; may be called again. */
void sdm_chain_device_close(SdmDeviceChain *c);

#endif
