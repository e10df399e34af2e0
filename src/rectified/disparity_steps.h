/* Steps of rectified pairs: names and images, rows that are off, the files of disparities. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/file.h"
#include "core/lease.h"
#include "input/scene_open.h"
#include "rectified/disparity.h"
#include "rectified/pair.h"

#include <stdio.h>

/* ---- sequence.c: a name with a number in it -> the files of a sequence of images ---- */

/* "left_%04d.png" -> before "left_", digits 4, after ".png"; a plain name has digits 0 and stands in before.
 * "%%" is a percent sign. */
typedef struct SdmPattern {
    char before[SDM_PATH_SIZE], after[SDM_PATH_SIZE];
    int digits; /* 0: plain; 1: %d; n: %0nd */
} SdmPattern;

/* option: for the sentence, such as "LEFT" or "-o".  Errors: SDM_ERR_USAGE. */
SdmStatus sdm_pattern_parse(SdmContext *ctx, const char *option, const char *text, SdmPattern *out);
/* The name with a number; SDM_ERR_USAGE where it is too long. */
SdmStatus sdm_pattern_name(SdmContext *ctx, const SdmPattern *p, int number, char out[SDM_PATH_SIZE]);
/* Numbers of the files that a pattern names, ascending, first..last (-1: any).  *numbers: owned by the caller
 * (sdm_free).  Errors: SDM_ERR_INPUT where there is none, SDM_ERR_MEMORY. */
SdmStatus sdm_pattern_numbers(SdmContext *ctx, const SdmPattern *p, int first, int last, int **numbers,
                              int *count);

/* ---- image_load.c: files of two rectified images -> their samples on one scale ---- */

/* Both images: height x width each, dense, owned. */
typedef struct SdmImagePair {
    int width, height;
    bool eight_bit;
    int16_t *samples[2]; /* left, right */
    uint8_t *bytes[2];   /* in place of samples; see sdm_image_pair_load() */
} SdmImagePair;

/* Read the images.  8-bit ones: 0..255 as they are, of colour images the luma 0.299 R + 0.587 G + 0.114 B,
 * rounded. Others: the 0.1 % and 99.9 % quantiles of both images together go to -2047 and 2047, linearly;
 * what lies beyond is cut.  band: 0 for grey, or colour's luma.  SDM_PIXEL_NODATA stands for nodata
 * values, masks, alpha 0, NaN and infinity; where a file declares none of these, for what looks like fill
 * (sdm_fill_find(); of 8 bits zeros along the edges), which is logged as a warning.  Errors:
 * SDM_ERR_INPUT, _USAGE, _DATA (no usable pixel), _MEMORY, _STOPPED.
 * as_bytes: 8-bit images of one band without masks, in which all pixels have data, come as bytes; both or
 * none. */
SdmStatus sdm_image_pair_load(SdmContext *ctx, const char *left, const char *right, int band, bool as_bytes,
                              SdmImagePair *out);
/* The same from arrays, whose masks are not looked at. */
SdmStatus sdm_image_pair_take(SdmContext *ctx, const SdmImageArray array[2], SdmImagePair *out);
void sdm_image_pair_free(SdmImagePair *pair);

/* ---- row_offset.c: by how much the rows of the right image are off; its rows moved ---- */

/* The match of left pixel (x, y) lies in row y + constant + slope_x x + slope_y y of the right image. */
typedef struct SdmRowOffset {
    double constant, slope_x, slope_y; /* px; per px of the left image */
    double largest;                    /* px, at a corner of the image */
    int matches;                       /* that the plane was fitted to; 0: too few, all is 0 */
} SdmRowOffset;

/* Windows of 9 x 9 pixels at 400 places of the left image are looked for in the same row and, as long as the
 * best zero-mean normalised cross-correlation over all disparities grows, in rows up to 3 px off.  A plane is
 * fitted to the rows of those of 0.8 or more (Tukey's biweight).  Where less than a third of the windows lie
 * on it, a quarter of them is looked for in all rows up to 32 px off first. */
void sdm_row_offset_find(SdmContext *ctx, const SdmPairImage *left, const SdmPairImage *right, int dmin,
                         int dmax, SdmRowOffset *out);

/* Move the rows of the right image along columns, with the weights of warps (sdm_cubic_weights); the offset
 * is taken at the right pixel.  Where one of the four samples has no data there is SDM_PIXEL_NODATA.  out:
 * height x width. */
void sdm_row_offset_remove(SdmContext *ctx, const SdmRowOffset *offset, const SdmPairImage *right,
                           int16_t *out);

/* ---- disparity_write.c: disparities -> GeoTIFF or PFM, and a preview ---- */

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
