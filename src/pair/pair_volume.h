/* Rectified matching with an optimizer: costs of both images -> volume -> labels -> disparities. */
#ifndef SDM_PAIR_VOLUME_H
#define SDM_PAIR_VOLUME_H

#include "optimize/optimize.h"
#include "pair/pair.h"

/* The volume's first, labels, most for these settings; label l is disparity dmax - l, so that right pixels
 * ascend. */
void sdm_pair_volume_shape(const SdmPairSettings *set, SdmVolume *v);
/* Costs of rows y0 .. y0 + v->height - 1: sums over window x window of what pixels cost (census: Hamming
 * distance of the words; sad: absolute difference in 8-bit levels, at most 63), halved until no sum is above
 * 127.  Off the image a window takes the nearest pixels; a window's middle on nodata has no cost.  Errors:
 * SDM_ERR_MEMORY. */
SdmStatus sdm_pair_volume(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                          const SdmPairSettings *set, int y0, const SdmVolume *v);
/* As sdm_pair_match(), by set->optimizer; memory: bands of rows of the volume. */
SdmStatus sdm_pair_match_labels(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                                const SdmPairSettings *set, float *disparity);

#endif
