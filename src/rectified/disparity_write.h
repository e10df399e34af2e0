/* Disparities -> their files: GeoTIFF or PFM, and a preview. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_DISPARITY_WRITE_H
#define SDM_DISPARITY_WRITE_H

#include "rectified/disparity.h"
#include "rectified/sequence.h"

typedef struct SdmPairFiles { /* of one pair */
    char left[SDM_PATH_SIZE], right[SDM_PATH_SIZE], output[SDM_PATH_SIZE];
    char preview[SDM_PATH_SIZE]; /* "": none */
} SdmPairFiles;

/* May output and preview be written?  Touches nothing.  Errors: SDM_ERR_USAGE, SDM_ERR_IO. */
SdmStatus sdm_outputs_check(SdmContext *ctx, const SdmPairFiles *files, const SdmDisparityOptions *opt);
/* Write them; each gets its name when it is whole.  disparity: height x width, px, NaN = none (PFM: inf).
 * Preview: 0 none, 1..255 for min_disparity..max_disparity.  Errors: SDM_ERR_IO, SDM_ERR_MEMORY. */
SdmStatus sdm_outputs_write(SdmContext *ctx, const SdmPairFiles *files, const SdmDisparityOptions *opt,
                            int width, int height, const float *disparity);
/* 32-bit floating-point PFM, little endian, bottom row first. */
SdmStatus sdm_pfm_write(SdmContext *ctx, const char *path, int width, int height, const float *disparity);

#endif
