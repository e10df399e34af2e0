/* A coarse surface and a reference DEM -> samples of both at the same ground, and the 3-D shift between
 * them. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geo/height_raster.h"
#include "geo/outlines.h"
#include "geo/shift_fit.h"
#include "scene/prepare.h"

/* A pixel of the coarse surface. */
typedef struct SdmReferenceSample {
    float h_m;            /* as matched, with the correction in use */
    float place[2];       /* of that height: column and row of the plane */
    float place_per_m[2]; /* what a metre of height changes there */
    float px_per_m;       /* what a metre of height changes the right position by, px */
    float col, row[2];    /* column of the right image, rows of the right and of the left image */
    float d_m;            /* height minus reference; NaN: no reference there */
    float slope[2];       /* of the reference at the place, metres per metre east and north */
    int32_t point;        /* number of the small piece of ground it belongs to; -1: not to be used */
} SdmReferenceSample;

/* The reference over the scene, in metres east and north of its centre, averaged as the windows of the coarse
 * level average the ground. */
typedef struct SdmReferencePlane {
    SdmGrid grid;    /* transverse Mercator about the scene's centre, metres */
    float *height_m; /* rows x cols, NaN: none; owned */
    double cell_m;   /* of the file */
} SdmReferencePlane;

typedef struct SdmReferenceSamples {
    SdmReferencePlane plane;
    SdmLattice lattice;         /* of the coarse level, with the plane as its map; owned */
    SdmReferenceSample *sample; /* count; owned */
    size_t count, valid;        /* valid: of them, matched terrain of the coarse surface */
    int step, wide;             /* coarse pixels between samples; samples of a row */
    int points_wide, points_high;
    double point_m; /* side of a small piece of ground */
    double pixel_m; /* of the images: the shift must be known to half of it */
} SdmReferenceSamples;

/* Read the reference over the scene and place the samples.  p: prepared up to the pointing.  surface: of the
 * coarse level, matched with that pointing.  Frees nothing on
 * failure: call sdm_reference_samples_free() in any case. */
SdmStatus sdm_reference_samples_open(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p,
                                     const SdmSurface *surface, SdmHeightRaster *reference,
                                     SdmReferenceSamples *out);
void sdm_reference_samples_free(SdmReferenceSamples *s);

/* Compare every sample with the reference at its place moved by (east, north): d_m and slope.  @return how
 * many have a reference */
size_t sdm_reference_compare(const SdmReferenceSamples *s, const double shift_m[2], int threads);

#define SDM_REFERENCE_SHIFT_FLOATS(count) (3 * (count) + 16) /* at least 5 (count / 3 + 1) + 4 */

/* The move that lays the surface on the reference (geo/shift_fit.h), from *out on, by samples for which
 * use[point] is not 0 (NULL: all).  A direction that the ground does not determine to half a pixel of the
 * images is undetermined. work: SDM_REFERENCE_SHIFT_FLOATS(count) floats. */
SdmStatus sdm_reference_shift(SdmContext *ctx, const SdmReferenceSamples *s, const uint8_t *use, float *work,
                              int threads, SdmShift *out);

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
