/* Places of matches in a block -> cleaned and smoothed ones, with their discontinuities kept. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_EDGE_FILTERS_H
#define SDM_EDGE_FILTERS_H

#include "geometry/surface.h"

/* A block of pixels of level 0; arrays height x width, owned. */
typedef struct SdmEdgeBlock {
    int width, height;
    float *place_px; /* of the match, px along u from where the base lies */
    uint16_t *flags; /* SDM_QA_VALID or the reason */
    uint8_t *score;  /* 250 x score of the match */
} SdmEdgeBlock;

enum {
    SDM_PIECE_PX = 20,         /* smaller pieces of surface are taken off */
    SDM_EDGE_FILTERS_REACH = 37, /* pixels around a pixel on which it depends: a median, a step's sides, a
                                  * piece or two means and a ridge's line, a gap's sides */
    SDM_EDGE_BLOCK_BYTES = 31  /* a pixel, with the filters' own arrays */
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
    int nearer;        /* where places fall along a row, the higher side of the step: 0 left, 1 right */
} SdmEdgeViews;

/* 3 x 3 median of the valid places.  Then pixels near a step of 2 px or more go to the side of the step that
 * they look like, of the two sides within 9 x 9 pixels (of 3 x 3 pixels the middle one's): to that whose mean
 * grey value in the left view is nearer, if the means differ by 2.5 times their standard deviations; else, at
 * steps of 3 px between whose sides nothing lies, to that from whose grey values, and from the right view's
 * at its place, the pixel's differs less.  Then pieces of fewer than SDM_PIECE_PX valid pixels, connected by
 * steps of at most 1 px, become SDM_QA_ISOLATED.  Then, twice, the mean of the valid places of 7 x 7 pixels
 * that differ by at most 1 px from the pixel's own (Lee 1983): noise goes, steps and roof edges stay, and
 * ridges are made sharp again (matching/ridges.h).  Then
 * pixels of a row without a match, between the sides of a step of 3 px or more and up to 8 px from a side,
 * become a part of that side if they look like it in both views; where ground may be hidden, of the higher
 * side alone.  Reach along columns SDM_EDGE_FILTERS_REACH. */
SdmStatus sdm_edge_filters(SdmContext *ctx, const SdmKernels *k, const SdmEdgeViews *views, SdmEdgeBlock *b);

#endif
