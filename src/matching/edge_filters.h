/* Places of matches in a block -> cleaned and smoothed ones, with their discontinuities kept. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "geometry/surface.h"

/* A block of pixels of level 0; arrays height x width, owned. */
typedef struct SdmEdgeBlock {
    int width, height;
    float *place_px; /* of the match, px along u from where the base lies */
    uint16_t *flags; /* SDM_QA_VALID or the reason */
    uint8_t *score;  /* 250 x score of the match */
} SdmEdgeBlock;

enum {
    SDM_PIECE_PX = 20,           /* smaller pieces of surface are taken off */
    SDM_EDGE_FILTERS_REACH = 48, /* pixels around a pixel on which it depends: a median, a step's sides twice,
                                  * a piece or three means and a ridge's line, a gap's sides */
    SDM_EDGE_BLOCK_BYTES = 31    /* a pixel, with the filters' own arrays */
};

SdmStatus sdm_edge_block_open(SdmContext *ctx, int width, int height, SdmEdgeBlock *out);
void sdm_edge_block_close(SdmEdgeBlock *b);

/* The views of the block from its first pixel on; the right one warped, so that a pixel's match lies at its
 * place. */
typedef struct SdmEdgeViews {
    const int16_t *left, *right;
    ptrdiff_t stride;  /* samples a row of both */
    int width;         /* of the block */
    int before, after; /* columns of the right view that may be read beside it */
    float slant[2]; /* px along rows and columns from the top of a wall to its foot, for 1 px of parallax */
    float px_per_m; /* how far a metre of height moves a match */
    float base_height;   /* parallax over height */
    const float *base_m; /* heights from which places count, at the same pixels; plain areas alone */
    int first, labels;   /* places first .. first + labels - 1, px; plain areas alone */
} SdmEdgeViews;

/* 3 x 3 median of the valid places.  Then, twice, pixels near a step of 2 px or more go to the side of
 * the step that they look like, of the two sides within 9 x 9 pixels (of 3 x 3 pixels the middle one's),
 * where the step is one of 2.5 px and nine tenths of these pixels are on a side, or the sides' grey
 * values in the left view differ clearly (2.5 times their standard deviations).  Three things tell the
 * side.  The right view: its differences from the left one at either side's place, less what that side's
 * own pixels differ by, averaged over 3 x 3 pixels; of the nine such windows that hold the pixel the
 * best one counts.  Where the pixel's grey value lies between the sides' means.  And the side that it is
 * on.  Then pieces of fewer than SDM_PIECE_PX valid pixels, connected by steps of at most 1 px, become
 * SDM_QA_ISOLATED.  Then, twice, the mean of the valid places of 7 x 7 pixels that differ by at most 1
 * px from the pixel's own (Lee 1983): noise goes, steps and roof edges stay, and ridges are made sharp
 * again (matching/ridges.h).  Then the mean of the places of 11 x 11 pixels that differ by at most 0.3
 * px takes its part, by Wiener's rule: noise / (noise + relief), where the relief of ground makes a
 * parallax in proportion to base/height.  Then pixels of a row without a match, between the sides of a
 * step of 3 px or more and up to 8 px from a side, become a part of that side if they look like it in
 * both views.  Where the step hides ground, the edge of the side that hides it is placed where it is
 * likeliest, from 3 px before to 5 px behind its last match: by how well the right view agrees with the
 * side, and by where the grey value lies between the side's and that of the far end of the gap; the
 * pixels behind it become SDM_QA_FOLD.  Reach along columns SDM_EDGE_FILTERS_REACH.
 * edges: false leaves the edges as they are matched: medians, pieces and means alone. */
SdmStatus sdm_edge_filters(SdmContext *ctx, const SdmKernels *k, bool edges, const SdmEdgeViews *views,
                           SdmEdgeBlock *b);
