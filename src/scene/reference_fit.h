/* A reference DEM (--reference) -> the correction of the cameras that a pair cannot show, and a report on
 * it. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scene/reference_samples.h"

/* The files of the options, opened; zeros without --reference. */
typedef struct SdmReferenceFiles {
    SdmHeightRaster *dem;
    SdmReferenceMask mask;
} SdmReferenceFiles;

/* Open the reference and its masks.  SDM_ERR_INPUT where one cannot be used; SDM_ERR_USAGE for --where or
 * --layer without polygons.  To be closed, also after a failure. */
SdmStatus sdm_reference_open(SdmContext *ctx, const SdmOptions *options, SdmReferenceFiles *out);
void sdm_reference_close(SdmReferenceFiles *files);
/* Before any work: can they be opened, and the prior DEM?  Errors as above. */
SdmStatus sdm_reference_check(SdmContext *ctx, const SdmOptions *options);
/* Before any matching: log the datum of the reference (there may be none), and read cells of it all over the
 * frame.  SDM_ERR_INPUT where one cannot be read: the file is cut short. */
SdmStatus sdm_reference_read_some(SdmContext *ctx, const SdmFrame *frame, SdmReferenceFiles *files);

/* Fit the correction to the coarse surface of p, which is prepared up to the pointing, put it into p->along,
 * and move the heights of the coarse surface and of the terrain mask with it, so that every pixel keeps its
 * match.  p->reference says what was found.  images: of sdm_coarse_find(); where the reference does not
 * serve, why, and nothing is changed. */
SdmStatus sdm_reference_correct(SdmContext *ctx, const SdmScene *scene, const SdmReferenceFiles *files,
                                const SdmPyramid images[2], SdmPrepared *p);
/* Leave the reference open for the raster of changes, as p->reference_dem, where it serves and GDAL's cache
 * holds it. */
void sdm_reference_keep(SdmReferenceFiles *files, SdmPrepared *p);
