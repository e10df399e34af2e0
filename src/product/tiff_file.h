/* A raster with its overviews -> a GeoTIFF in the order of a Cloud-Optimised GeoTIFF. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_TIFF_FILE_H
#define SDM_TIFF_FILE_H

#include "core/core.h"

#include <gdal.h>

/* Write a GeoTIFF of deflated tiles of 512 x 512 cells.  GDAL writes the tags that georeference it, libtiff
 * the directories, and ISA-L compresses the tiles, three times as fast as GDAL does.  The directories come
 * first, then the tiles of the smallest overview, and so on up to those of the raster.  A file of one band
 * stores differences along the rows (TIFF's predictors) and has GDAL's mark LAYOUT=COG; several bands lie
 * apart. dataset: Byte, UInt16 or Float32, all bands alike; threads: that compress, of
 * the parallel region that the caller is in, if it is in one; go_on: called in this
 * thread with the share that is done; where it returns false, the file ends early and the status is SDM_OK.
 * SDM_ERR_IO, _MEMORY. */
SdmStatus sdm_tiff_write(SdmContext *ctx, GDALDatasetH dataset, const char *path, int threads,
                         GDALProgressFunc go_on, void *watch);

#endif
