/* Reasons in the QA mask: why a pixel has a height or none; a cell has the bits of all its pixels. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

enum SdmQaBit {
    SDM_QA_VALID = 1 << 0,   /* has a height */
    SDM_QA_FILLED = 1 << 1,  /* height interpolated over a small hole */
    SDM_QA_OUTSIDE = 1 << 2, /* not seen by both views, masked or nodata */
    SDM_QA_SATURATED = 1 << 3,
    SDM_QA_TEXTURELESS = 1 << 4,
    SDM_QA_LOW_SCORE = 1 << 5,
    SDM_QA_AMBIGUOUS = 1 << 6,  /* runner-up too near, or winner at the end of the range */
    SDM_QA_LEFT_RIGHT = 1 << 7, /* left-right check failed */
    SDM_QA_RAY_ERROR = 1 << 8,  /* rays miss each other by too much */
    SDM_QA_ISOLATED = 1 << 9,   /* rejected as outlier among its neighbours */
    SDM_QA_FOLD = 1 << 10,      /* hidden by terrain in one view (the warp folds) */
    SDM_QA_SPARSE = 1 << 11,    /* too few points for a cell */
    SDM_QA_DISAGREE = 1 << 12,  /* of a stack: just two DEMs, and they are far apart; of several views: one
                                   * pair, and another one is far from it */
    SDM_QA_MASKED = 1 << 13,    /* left out by the user's mask */

    /* For pixels, which are never sparse: left out by the mask.  With VALID the pixel has a height,
     * which serves the cells around it, most of whose pixels are not masked.  Devices keep twelve bits
     * of a pixel. */
    SDM_PIXEL_MASKED = SDM_QA_SPARSE,
    /* The pixel has a height, while others are moved, but its samples come from no view. */
    SDM_PIXEL_ASIDE = 1 << 14
};
enum { SDM_QA_BITS = 14 };
