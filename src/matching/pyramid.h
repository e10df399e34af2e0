/* Stage 4: an image window and its levels, each half the size; in the image's own geometry, on absolute
 * pixels. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"
#include "kernels.h"

enum { SDM_MAX_LEVELS = 12 };

/* One level: pixel (x0 + i, y0 + j) of the level's absolute grid at data[j * w + i]. */
typedef struct SdmLevelImage {
    int64_t x0, y0;
    int64_t w, h;
    int16_t *data; /* NULL where a level is not kept */
} SdmLevelImage;

/* Defects of a pixel. */
enum SdmDefect {
    SDM_DEFECT_SATURATED = 1 << 0, /* inside a saturated area; nodata */
    SDM_DEFECT_FILLED = 1 << 1,    /* no data: its value comes from the pixels around */
    SDM_DEFECT_BEYOND = 1 << 2,    /* of a filled one: less than half of 9 x 9 pixels around have data */
    SDM_DEFECT_MASKED = 1 << 3,    /* the user's mask leaves it out */
    SDM_DEFECT_BRIGHT = 1 << 4     /* as bright as the clouds that are hidden */
};

/* turned: of the image whose rows are the file's columns; places and sizes are that image's, as those of
 * SdmLattice.turned. */
typedef struct SdmPyramid {
    int lmin, lmax;
    bool turned;
    SdmLevelImage level[SDM_MAX_LEVELS];
    SdmLevelImage seen; /* level 0 of a left view with veils or clouds, as it is seen; else none */
    uint8_t *defect;    /* of level 0's pixels: SdmDefect; NULL where they have none or there is no level 0 */
} SdmPyramid;

/* Reads a window of the full-resolution image (see sdm_image_read); nodata outside. */
typedef SdmStatus sdm_read_fn(SdmContext *ctx, void *user, int64_t x0, int64_t y0, int64_t w, int64_t h,
                              int16_t *out);

/* Source of the levels. */
typedef struct SdmPyramidSource {
    const SdmKernels *kernels;
    sdm_read_fn *read;
    void *user; /* of read */
} SdmPyramidSource;

/* Levels lmin..lmax of the window [bounds[0], bounds[2]) x [bounds[1], bounds[3]) (full-resolution px); read
 * by strips, so that levels below lmin never lie in memory whole.  A level's pixel does not depend on the
 * window, except within 2 px of its edges. */
SdmStatus sdm_pyramid_build(SdmContext *ctx, const SdmPyramidSource *source, const int64_t bounds[4],
                            int lmin, int lmax, SdmPyramid *out);
/* Place and size of a level of that window. */
void sdm_level_place(const int64_t bounds[4], int level, SdmLevelImage *out);
/* Bytes that building takes at a time besides the levels, where lmin > 0, for an image of that width. */
int64_t sdm_pyramid_strip_bytes(int64_t width, int lmin);
void sdm_level_image_free(SdmLevelImage *im);
/* out: owned by the caller. */
SdmStatus sdm_level_image_copy(SdmContext *ctx, const SdmLevelImage *im, SdmLevelImage *out);
void sdm_pyramid_free(SdmPyramid *p);
/* Free the pixels alone; places and mask stay.  NULL is accepted. */
void sdm_pyramid_free_pixels(SdmPyramid *p);

/* Level 0 with 2047 where a pixel is filled, else -2047, so that a warp of it is positive where more than
 * half of a sample's weight is.  data: NULL where no pixel is; owned by the caller. */
SdmStatus sdm_pyramid_filled(SdmContext *ctx, const SdmPyramid *p, SdmLevelImage *out);

/* ---- bright areas of an image, clouds, or land beside water: bright_areas.c ---- */

/* The grey value above which pixels are of the brighter of two classes of least variance (Otsu 1979).
 * share: of the variance that lies between the classes; below 0 where all values are alike. */
int sdm_split_grey(const SdmLevelImage *image, double *share);

/* Subtract from each pixel the median of the medians of its rows within 9 x 9 pixels: rims of shadows, which
 * move, vanish, and texture stays.  Pixels above a grey value, and those beside them, take no part in the
 * medians and become noise that depends on the place and the view (side), so that windows correlate by their
 * other pixels alone: a constant would agree with that of the other view at any height. */
SdmStatus sdm_hide_bright(SdmContext *ctx, int above, int side, SdmLevelImage *image);

/* Subtract from each pixel the mean of the 9 x 9 pixels around that have data. */
SdmStatus sdm_take_veil_off(SdmContext *ctx, SdmLevelImage *image);
