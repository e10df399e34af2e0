/* Compressed image bands of an HDF4 file -> memory, both at once.  For src/input alone. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_HDF4_BANDS_H
#define SDM_HDF4_BANDS_H

#include "core/core.h"

typedef struct SdmUnpackedBand {
    uint8_t *sample; /* rows without gaps; NULL: none was found, or it is not stored so */
    size_t bytes;
} SdmUnpackedBand;

/* The largest field of each of two swaths ("VNIR_Band3N", "VNIR_Band3B") that is one deflated stream.  GDAL
 * and the HDF4 library unpack one band after the other with zlib; this takes a fifth of their time.  It reads
 * no more of the format than it needs: the list of descriptors, groups, linked blocks.  What it does not
 * understand, or what a checksum refuses, is left to GDAL, which says what is wrong.  Fails with
 * SDM_ERR_MEMORY alone.  The caller frees the samples.  Source: HDF4 Specification and Developer's Guide,
 * chapters 2, 9 and 10. */
SdmStatus sdm_hdf4_unpack(SdmContext *ctx, const char *path, const char *const swath[2],
                          SdmUnpackedBand out[2]);

#endif
