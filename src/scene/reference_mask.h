/* Files of --reference-mask and --exclude, rasters or polygons -> the places that the fit to the reference
 * may use. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geo/height_raster.h"
#include "geo/outlines.h"

enum { SDM_REFERENCE_MASKS = 2 };

/* The files of the options, opened; zeros: neither is given. */
typedef struct SdmReferenceMask {
    SdmHeightRaster *raster[SDM_REFERENCE_MASKS]; /* NULL: not given, or polygons */
    SdmOutlines outlines[SDM_REFERENCE_MASKS];
} SdmReferenceMask;

/* Open the files.  Close after failure, too.  SDM_ERR_INPUT with a sentence where one cannot be used;
 * SDM_ERR_USAGE for --where or --layer without polygons. */
SdmStatus sdm_reference_mask_open(SdmContext *ctx, const SdmOptions *options, SdmReferenceMask *out);
void sdm_reference_mask_close(SdmReferenceMask *mask);

/* Clear allowed[i] where a file leaves the place out.  place: column and row of each, from the centre of the
 * first cell of the grid.  SDM_ERR_INPUT where a file cannot be read. */
SdmStatus sdm_reference_mask_apply(SdmContext *ctx, const SdmReferenceMask *mask, const SdmGrid *grid,
                                   const float *place, size_t count, uint8_t *allowed);
