/* Parts of matching a rectified pair by an optimizer, on the processor and on devices: costs of both images
 * -> volume -> labels -> disparities. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rectified/pair.h"

enum {
    SDM_PAIR_BAND = 256,  /* rows whose labels are found together, with SDM_OVERLAP more on each side */
    SDM_PAIR_EDGE_8 = 10, /* steps between neighbours of the left image, of 8 bits and of 12, that halve the
                           * way from penalty P2 to P1 */
    SDM_PAIR_EDGE_12 = 160
};

/* Cost of a pixel: bits of the census words that differ, and the absolute difference of the values, up to
 * difference_max.  Sums over a window are halved `shift` times and are then at most cost_max. */
typedef struct SdmPairTerms {
    int bits;           /* of a census word; 0: no words */
    int difference_max; /* 0: no differences */
    int shift, cost_max;
} SdmPairTerms;
SdmPairTerms sdm_pair_terms(const SdmPairSettings *set);

/* Cost of a label that cannot be looked at: half of the largest, since half of the bits of two unrelated
 * words differ.  The largest cost would count against true matches beside the place; 0 would beat them
 * where the best left pixel of a right pixel is looked for. */
static inline int sdm_pair_chance(int most)
{
    return (most + 1) / 2;
}

/* Set first, labels and most of the volume, nothing else.  Label l is disparity dmax - l: right pixels
 * ascend. */
void sdm_pair_volume_shape(const SdmPairSettings *set, SdmVolume *v);
/* Costs of rows y0 .. y0 + v->height - 1.  Windows take the nearest pixel off the image; labels whose
 * pixel lies off the image or has no data get the cost of chance.  Errors: SDM_ERR_MEMORY. */
SdmStatus sdm_pair_volume(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                          const SdmPairSettings *set, int y0, const SdmVolume *v);
static inline bool sdm_pair_wants_energy(const SdmPairSettings *set)
{
    return set->energy && set->optimizer->kind == SDM_OPTIMIZER_BP;
}

/* Remove (NaN) disparities of rows y0..y1 - 1, (y1 - y0) x width, where the window around the left pixel, or
 * around the nearest right pixel of the match, has a standard deviation of at most set->min_sigma: an
 * optimizer gives a label to every pixel.  Windows are set->window wide, at least 9; nodata does not count.
 * min_sigma 0 removes nothing. */
SdmStatus sdm_pair_reject_flat(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                               const SdmPairSettings *set, int y0, int y1, float *disparity);
