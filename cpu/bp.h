/* Tiled belief propagation: costs of labels -> labels of low energy.  cpu/bp_reference.c defines what comes
 * out; cpu/bp_tile.c gives the same labels with a tile's messages in cache.  Internal; not installed.
 *
 * Energy of a labelling: sum over pixels of data(label) + sum over pairs of 4-neighbours of
 * weight x min(|difference of labels|, truncation).  Min-sum messages of BP-M (Tappen and Freeman 2003) in
 * the order right, left, down, up; tiles as in Liang et al. 2011 and Kotsifakou 2019: a tile forgets its
 * inner messages when it is left and keeps those that cross its border.
 *
 * Messages are 16 bit and cannot overflow: with K = weight x truncation, a message is the truncated minimum
 * less the least value, so it lies in 0..K.  A belief is data and four messages, at most 255 + 4 K; what is
 * computed on the way is data, three messages and at most K more.  SDM_BP_PENALTY_MAX keeps 255 + 4 K below 65535,
 * which is left for labels that do not exist. */
#ifndef SDM_BP_H
#define SDM_BP_H

#include "core/limits.h"
#include "kernels.h"

/* Directions in which messages travel, in the order of their sweeps. */
enum { SDM_BP_RIGHT, SDM_BP_LEFT, SDM_BP_DOWN, SDM_BP_UP, SDM_BP_WAYS };

typedef struct SdmBpField {
    int width, height, labels; /* labels: 1..SDM_BP_LABELS_MAX */
    int pitch;                 /* bytes from pixel to pixel, a multiple of 16, labels or more */
    const uint8_t *data; /* height x width x pitch: cost of each label; what pads them is not looked at */
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

/* label: height x width; of labels of equal belief the smallest.  scratch: sdm_bp_reference_scratch bytes. */
size_t sdm_bp_reference_scratch(const SdmBpField *f);
void sdm_bp_reference(const SdmBpField *f, const SdmBpPlan *plan, void *scratch, uint16_t *label);
/* BP-M without tiles: `iterations` of four sweeps over the whole image. */
void sdm_bp_untiled_reference(const SdmBpField *f, int iterations, void *scratch, uint16_t *label);

/* Both sums of the energy: [0] of data, [1] of smoothness. */
void sdm_bp_energy(const SdmBpField *f, const uint16_t *label, int64_t sums[2]);
/* The part of rows y0..y1 - 1 and of their steps to the left and up. */
void sdm_bp_energy_rows(const SdmBpField *f, const uint16_t *label, int y0, int y1, int64_t sums[2]);

/* One visit of a tile.  A border's messages: of each pixel of that side, labels rounded up to
 * the kernel's lanes (lanes / 2 of SdmPairKernels). */
typedef struct SdmBpTile {
    const SdmBpField *field;
    int x0, y0, width, height; /* px */
    int inner;
    const uint16_t *in[SDM_BP_WAYS]; /* what arrives over the border, by its way */
    uint16_t *out[SDM_BP_WAYS];      /* what leaves */
    void *scratch;                   /* as the kernel's scratch function says, aligned to 64 */
    uint16_t *label;                 /* of the image; NULL = not the last visit */
} SdmBpTile;
typedef void sdm_bp_tile_fn(const SdmBpTile *tile);

/* Bytes of SdmBpTile.scratch for tiles of at most this size. */
typedef size_t sdm_bp_scratch_fn(int labels, int width, int height);

#endif
