/* Matching of a rectified pair: rows of the two images are epipolar lines, x_right = x_left - d. */
#ifndef SDM_PAIR_H
#define SDM_PAIR_H

#include "matching/optimize.h"

typedef enum SdmPairCost { SDM_PAIR_SAD, SDM_PAIR_ZNCC, SDM_PAIR_CENSUS, SDM_PAIR_AD_CENSUS } SdmPairCost;

/* Samples are int16: of 8-bit images 0..255 (`eight_bit` true), of others signed 12 bit, -2047..2047;
 * SDM_PIXEL_NODATA where there is none. */
typedef struct SdmPairImage {
    int width, height;
    ptrdiff_t stride;    /* samples from row to row */
    const int16_t *data; /* borrowed */
    bool eight_bit;
} SdmPairImage;

typedef struct SdmPairSettings {
    SdmPairCost cost;
    int window;     /* side, px: 3..21 odd; SAD 2..32, even ones reach from -window / 2 to window / 2 - 1 */
    int dmin, dmax; /* disparities, inclusive, any sign */
    int census_width, census_height; /* of the census word: 5x5, 7x7, 9x7, 9x9 */
    float lr_threshold; /* px: |d - d of the right pixel it meets| above is rejected; < 0 = not asked */
    float uniqueness;   /* share by which the best must beat the rest (more than 1 px away); 0 = not asked */
    float min_sigma;    /* standard deviation of a window below which it is without texture; 0 = not asked */
    bool subpixel;
    const char *cpu_level; /* as --cpu-level */
    const SdmOptimizer *optimizer; /* NULL or local: the best of each pixel */
    int64_t *
        energy; /* bp: what the labels cost is added to [0], what their steps cost to [1]; NULL = not asked */
} SdmPairSettings;

/* SDM_ERR_USAGE with a sentence for images or settings that cannot be matched. */
SdmStatus sdm_pair_check(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                         const SdmPairSettings *set);
/* The optimizer that the options ask for, with penalties for this cost unless they give them. */
SdmStatus sdm_pair_optimizer(SdmContext *ctx, SdmPairCost cost, SdmOptimizer *out);

/* disparity: height x width floats, px, NaN where there is no match.  Memory: rows in flight of each thread,
 * whatever the height.  Errors: SDM_ERR_USAGE for settings out of range, SDM_ERR_MEMORY, SDM_ERR_STOPPED. */
SdmStatus sdm_pair_match(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right,
                         const SdmPairSettings *set, float *disparity);

#endif
