/* A raster of several bands -> one band with the mask that the raster gives it. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

#include <gdal.h>

/* Open a file or an address (https://, s3:// ...), of which only what is needed is read where its server
 * gives parts.  flags: GDAL_OF_...; NULL: GDAL says why. */
GDALDatasetH sdm_open_file(const char *name, unsigned flags);

/* Samples in memory: where each pixel, row and band begins, in bytes. */
typedef struct SdmSamples {
    const void *first;
    int width, height, bands;
    GDALDataType type;
    int64_t pixel_bytes, row_bytes, band_bytes;
} SdmSamples;
/* A raster of GDAL's over them, which stay the caller's; NULL: no memory. */
GDALDatasetH sdm_wrap_samples(const SdmSamples *s);

/* The band that holds the opacity of the others, whatever its type, where the band has no nodata value nor
 * mask of its own; NULL: none.  GDAL itself takes an alpha band as a mask only beside one or three bands, and
 * of bytes or 16 bits. */
GDALRasterBandH sdm_alpha_band(GDALDatasetH file, GDALRasterBandH band);
/* A band alone, as a virtual raster, its alpha band as its mask; the file itself when it has one band; NULL:
 * it cannot be read. */
GDALDatasetH sdm_one_band(GDALDatasetH file, int number);
/* The mask of a band, 0 where it has no value; NULL: all pixels have one, or its nodata value tells them. */
GDALRasterBandH sdm_band_mask(GDALRasterBandH band);

/* Is it one of this program's rasters that holds no heights: NAME_qa.tif, NAME_ortho.tif, NAME_change.tif, a
 * difference? */
bool sdm_is_companion(GDALDatasetH file);
/* Before the first band is taken for heights: SDM_ERR_INPUT where the raster is a companion of a DEM, or an
 * image in colours; a warning where it has other bands beside the first.  role: "DEM", "--reference". */
SdmStatus sdm_check_heights(SdmContext *ctx, const char *role, const char *path, GDALDatasetH file);
