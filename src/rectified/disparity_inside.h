/* What the files of src/disparity share. */
#ifndef SDM_DISPARITY_INSIDE_H
#define SDM_DISPARITY_INSIDE_H

#include "rectified/disparity.h"

enum { SDM_NAME_BYTES = 4096 };

/* ---- images (samples.c) ---- */

/* Both images as samples of one scale; data of each: height x width, dense, owned. */
typedef struct SdmSamples {
    int width, height;
    bool eight_bit;
    int16_t *left, *right;
} SdmSamples;

/* Read a pair.  8-bit: 0..255 as they are, of colour images the luma 0.299 R + 0.587 G + 0.114 B, rounded.
 * Others: the 0.1 % and 99.9 % quantiles of both images together go to -2047 and 2047, linearly, beyond is
 * cut. SDM_PIXEL_NODATA: nodata values, masks, alpha 0, NaN and infinity; of a file that declares none of
 * these, fill as sdm_fill_find tells it (others), zeros at the edges (8-bit). */
SdmStatus sdm_samples_read(SdmContext *ctx, const char *left, const char *right, int band, SdmSamples *out);
void sdm_samples_free(SdmSamples *s);

/* ---- fill that a file does not declare (fill_left_out.c); role, path: for messages, such as "LEFT" ---- */

/* n grey values, NaN where there is none: fill becomes NaN, and is told. */
SdmStatus sdm_leave_out_fill(SdmContext *ctx, const char *role, const char *path, float *grey, int64_t n);
/* 8-bit samples, height x width: zeros that run 8 px or more from an edge inwards, along a row or a column,
 * become SDM_PIXEL_NODATA, as of images that were warped to rectified ones; told. */
void sdm_leave_out_border(SdmContext *ctx, const char *role, const char *path, int16_t *samples, int width,
                          int height);

/* ---- names (frames.c) ---- */

/* "left_%04d.png" -> before "left_", digits 4, after ".png"; a plain name has digits 0 and stands in before.
 * "%%" is a percent sign. */
typedef struct SdmPattern {
    char before[SDM_NAME_BYTES], after[SDM_NAME_BYTES];
    int digits; /* 0: plain; 1: %d; n: %0nd */
} SdmPattern;

/* option: for the sentence, such as "LEFT" or "-o". */
SdmStatus sdm_pattern_parse(SdmContext *ctx, const char *option, const char *text, SdmPattern *out);
SdmStatus sdm_pattern_name(SdmContext *ctx, const SdmPattern *p, int frame, char out[SDM_NAME_BYTES]);
/* Numbers of the files that a pattern names, ascending, first..last (-1: any); SDM_ERR_INPUT when there is
 * none. *frames: owned by the caller (sdm_free). */
SdmStatus sdm_pattern_frames(SdmContext *ctx, const SdmPattern *p, int first, int last, int **frames,
                             int *count);

typedef struct SdmPairNames { /* of one frame */
    char left[SDM_NAME_BYTES], right[SDM_NAME_BYTES], output[SDM_NAME_BYTES];
    char preview[SDM_NAME_BYTES]; /* "": none */
} SdmPairNames;

/* ---- outputs (disparity_write.c) ---- */

/* May output and preview be written?  Touches nothing. */
SdmStatus sdm_outputs_check(SdmContext *ctx, const SdmPairNames *names, const SdmDisparityOptions *opt);
/* Write them; disparity: height x width, px, NaN = none (PFM: inf).  Preview: 0 none, 1..255 for
 * min_disparity..max_disparity. */
SdmStatus sdm_outputs_write(SdmContext *ctx, const SdmPairNames *names, const SdmDisparityOptions *opt,
                            int width, int height, const float *disparity);
/* 32-bit floating-point PFM, little endian, bottom row first. */
SdmStatus sdm_pfm_write(SdmContext *ctx, const char *path, int width, int height, const float *disparity);

#endif
