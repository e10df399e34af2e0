/* Rectified matching with an optimizer: costs of both images -> volume -> labels -> disparities. */
#ifndef SDM_PAIR_VOLUME_H
#define SDM_PAIR_VOLUME_H

#include "matching/optimize.h"
#include "rectified/pair.h"

enum {
    SDM_PAIR_BAND = 256, /* rows whose labels are found at once, with SDM_OVERLAP more on each side */
    SDM_PAIR_EDGE_8 = 10, /* steps of the left image across which smoothness halves, by its bits */
    SDM_PAIR_EDGE_12 = 160
};

/* What a pixel costs, and how a window's sum is brought to a byte. */
typedef struct SdmPairTerms {
    int bits;       /* of the words, 0: none */
    int apart_most; /* the difference of two values counts so far */
    int shift;      /* halvings of a window's sum */
} SdmPairTerms;
SdmPairTerms sdm_pair_terms(const SdmPairSettings *set);

/* Cost of a label that cannot be looked at: half of the most, for half of the bits of two words that have
 * nothing to do with each other differ.  The most itself would speak against the match that lies there, for
 * whatever is seen beside it; 0 would outdo true matches when those of a right pixel are compared. */
static inline int sdm_pair_chance(int most) { return (most + 1) / 2; }

/* The volume's first, labels, most for these settings; label l is disparity dmax - l, so that right pixels
 * ascend. */
void sdm_pair_volume_shape(const SdmPairSettings *set, SdmVolume *v);
/* Costs of rows y0 .. y0 + v->height - 1: sums over window x window of what pixels cost (census: Hamming
 * distance of the words; sad: absolute difference in 8-bit levels, at most 63), halved until no sum is above
 * 127.  Off the image a window takes the nearest pixels.  Labels of pixels off the image or without data
 * cost as chance does.  Errors: SDM_ERR_MEMORY. */
SdmStatus sdm_pair_volume(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                          const SdmPairSettings *set, int y0, const SdmVolume *v);
/* Is the energy of the labels asked for? */
static inline bool sdm_pair_wants_energy(const SdmPairSettings *set)
{
    return set->energy && set->optimizer->kind == SDM_OPTIMIZER_BP;
}

/* As sdm_pair_match(), by set->optimizer; memory: bands of rows of the volume. */
SdmStatus sdm_pair_match_labels(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                                const SdmPairSettings *set, float *disparity);
/* Take off (NaN) disparities where the window about the left pixel, or about the right pixel nearest to its
 * match, has a standard deviation of at most set->min_sigma (> 0; else nothing is done): an optimizer gives a
 * label to everything.  Windows are set->window wide, at least 9; nodata does not count. */
SdmStatus sdm_pair_reject_flat(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                               const SdmPairSettings *set, float *disparity);

#endif
