/* Disparities -> their files: GeoTIFF or PFM, and a preview. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/lease.h"
#include "rectified/disparity.h"
#include "rectified/sequence.h"

#include <stdio.h>

typedef struct SdmPairFiles { /* of one pair */
    char left[SDM_PATH_SIZE], right[SDM_PATH_SIZE], output[SDM_PATH_SIZE];
    char preview[SDM_PATH_SIZE]; /* "": none */
} SdmPairFiles;

/* May output and preview be written?  Touches nothing.  Errors: SDM_ERR_USAGE, SDM_ERR_IO. */
SdmStatus sdm_outputs_check(SdmContext *ctx, const SdmPairFiles *files, const SdmDisparityOptions *opt);
/* The output files of a pair while they are written. */
typedef struct SdmOutput {
    const SdmPairFiles *files; /* borrowed */
    const SdmDisparityOptions *opt;
    int width, height;
    SdmLease *owner;                    /* of the output, from open to close */
    char temporary[SDM_PATH_SIZE + 32]; /* from here on for disparity_write.c; zeros at first */
    void *tif;                          /* GDALDatasetH */
    FILE *pfm;
    int header;          /* bytes before the rows of a PFM */
    float *row;          /* of the PFM */
    unsigned char *grey; /* the preview */
} SdmOutput;
/* Rows are written from the top in bands; y0, and all rows of a band but the last one's, are multiples of
 * SDM_PAIR_ROWS.  close: always, once; st: of the work before it; the files get their names if it is SDM_OK,
 * else nothing is left behind.  Errors: SDM_ERR_IO, SDM_ERR_MEMORY. */
SdmStatus sdm_output_open(SdmContext *ctx, SdmOutput *o);
SdmStatus sdm_output_rows(SdmContext *ctx, SdmOutput *o, int y0, int y1, const float *rows);
SdmStatus sdm_output_close(SdmContext *ctx, SdmOutput *o, SdmStatus st);

/* Write them; each gets its name when it is whole.  disparity: height x width, px, NaN = none (PFM: inf).
 * Preview: 0 none, 1..255 for min_disparity..max_disparity.  Errors: SDM_ERR_IO, SDM_ERR_MEMORY. */
SdmStatus sdm_outputs_write(SdmContext *ctx, const SdmPairFiles *files, const SdmDisparityOptions *opt,
                            int width, int height, const float *disparity);
