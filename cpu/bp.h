/* Tiled belief propagation: costs of labels -> labels of low energy.  cpu/bp_reference.c is the
 * definition; cpu/bp_tile.c gives the same labels with the messages of a tile in cache.
 *
 * Energy of a labelling: sum over pixels of data(label) + sum over pairs of 4-neighbours of weight x
 * min(|difference of labels|, truncation).  Min-sum messages of BP-M (Tappen and Freeman 2003) in the
 * order right, left, down, up; tiles as in Liang et al. 2011 and Kotsifakou 2019: the messages inside a
 * tile are forgotten after a visit, those that cross its border are kept.
 *
 * Messages are 16 bit and cannot overflow: with K = weight x truncation, a message is the truncated
 * minimum minus the least value, so it lies in 0..K.  A belief is data plus four messages, at most 255 + 4
 * K; intermediate values are data, three messages and at most K more.  SDM_BP_PENALTY_MAX keeps 255 + 4 K
 * below 65535, the value of labels that do not exist. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_BP_H
#define SDM_BP_H

#include "core/optimizer_limits.h"
#include "kernels.h"

/* Directions in which messages travel, in the order of their sweeps. */
enum { SDM_BP_RIGHT, SDM_BP_LEFT, SDM_BP_DOWN, SDM_BP_UP, SDM_BP_WAYS };

typedef struct SdmBpField {
    int width, height, labels; /* labels: 1..SDM_BP_LABELS_MAX */
    int pitch;                 /* bytes from pixel to pixel, a multiple of 16, labels or more */
    const uint8_t *data;       /* height x width x pitch: cost of each label; padding is not read */
    int weight, truncation;    /* both >= 1; product at most SDM_BP_PENALTY_MAX */
} SdmBpField;

/* Costs of the labels of a pixel. */
static inline const uint8_t *sdm_bp_data(const SdmBpField *f, int x, int y)
{
    return f->data + ((size_t)y * (size_t)f->width + (size_t)x) * (size_t)f->pitch;
}

/* An outer iteration visits all tiles in raster order and back; a visit makes `inner` iterations. */
typedef struct SdmBpPlan {
    int tile;         /* side, px */
    int outer, inner; /* >= 1 */
} SdmBpPlan;

/* label: height x width; of labels of equal belief the smallest.  scratch: sdm_bp_reference_scratch()
 * bytes. */
size_t sdm_bp_reference_scratch(const SdmBpField *f);
void sdm_bp_reference(const SdmBpField *f, const SdmBpPlan *plan, void *scratch, uint16_t *label);
/* BP-M without tiles: `iterations` of four sweeps over the whole image. */
void sdm_bp_untiled_reference(const SdmBpField *f, int iterations, void *scratch, uint16_t *label);

/* Both sums of the energy: [0] of data, [1] of smoothness. */
void sdm_bp_energy(const SdmBpField *f, const uint16_t *label, int64_t sums[2]);
/* The part of rows y0..y1 - 1: their data, and the steps to the left and up. */
void sdm_bp_energy_rows(const SdmBpField *f, const uint16_t *label, int y0, int y1, int64_t sums[2]);

/* One visit of a tile.  A border's messages: of each pixel of that side, labels rounded up to
 * the kernel's lanes (lanes / 2 of SdmPairKernels). */
typedef struct SdmBpTile {
    const SdmBpField *field;
    int x0, y0, width, height; /* px */
    int inner;
    const uint16_t *in[SDM_BP_WAYS]; /* messages that arrive over the border, by way */
    uint16_t *out[SDM_BP_WAYS];      /* messages that leave */
    void *scratch;                   /* sdm_bp_scratch_fn bytes, aligned to 64 */
    uint16_t *label;                 /* of the image; NULL = not the last visit */
} SdmBpTile;
typedef void sdm_bp_tile_fn(const SdmBpTile *tile);

/* Bytes of SdmBpTile.scratch for tiles of at most this size. */
typedef size_t sdm_bp_scratch_fn(int labels, int width, int height);

#endif
