/* Files of two rectified images -> their samples on one scale. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "input/scene_open.h"

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
