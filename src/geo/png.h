/* Pixels of 8 bits -> a PNG image in memory. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

typedef struct SdmPng {
    unsigned char *data; /* the file's bytes; owned, GDAL's memory */
    size_t size;
    int width, height;
} SdmPng;

/* pixels: height x width x bands, bands interleaved: 1 grey, 3 RGB, 4 RGBA.  SDM_ERR_MEMORY.  Close *out in
 * any case. */
SdmStatus sdm_png_encode(SdmContext *ctx, const unsigned char *pixels, int width, int height, int bands,
                         SdmPng *out);
void sdm_png_close(SdmPng *png);
