/* A raster file or an array in memory -> SdmImage.  For src/input alone. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "input/hdf4_file.h"
#include "input/source.h"

enum { SDM_IMAGE_MIN_PX = 64 };

typedef struct SdmImageSource {
    const SdmScene *scene; /* whose options and depth hold */
    int view;              /* of the scene: which mask */
    const char *name;      /* GDAL's name */
    const char *label;     /* what to name in messages; NULL = name */
    const double *table;   /* ASTER: table_lines x 3 (C0 C1 C2), else NULL */
    int table_lines;
    const char *table_name;
    SdmUnpackedBand *unpacked;  /* ASTER in HDF4: samples, which are taken, or their size; NULL: files */
    const SdmImageArray *array; /* the image and its mask in memory; NULL: files */
} SdmImageSource;

SdmStatus sdm_image_open(SdmContext *ctx, const SdmImageSource *src, SdmImage **out);

/* Raw samples (float) of a window inside the image, and their flaws but for saturation, h x w each. */
SdmStatus sdm_image_raw(SdmContext *ctx, SdmImage *im, SdmImageWindow at, float *raw, uint8_t *flaws);

/* Sample the whole image: sets stretch, saturation and undeclared fill.  SDM_ERR_INPUT where no pixel is
 * usable or a block is cut off. */
SdmStatus sdm_image_measure(SdmContext *ctx, SdmImage *im);
