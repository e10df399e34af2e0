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
    SDM_EDGE_FILTERS_REACH = 30, /* pixels around a pixel on which it depends: a median, a step's sides, a piece,
                                  * two means */
    SDM_EDGE_BLOCK_BYTES = 27  /* a pixel, with the filters' own arrays */
};

SdmStatus sdm_edge_block_open(SdmContext *ctx, int width, int height, SdmEdgeBlock *out);
void sdm_edge_block_close(SdmEdgeBlock *b);

/* 3 x 3 median of the valid places.  Then pixels near a step of 2 px or more go to the side of the step whose grey
 * value in the left view (stride samples a row) they have; the means of the two sides within 7 x 7 pixels must differ by
 * 2.5 times their standard deviations.  Then pieces of fewer than SDM_PIECE_PX valid pixels, connected by steps of at
 * most 1 px, become SDM_QA_ISOLATED.  Then, twice, the mean of the valid places of 7 x 7 pixels that differ by at most
 * 1 px from the pixel's own (Lee 1983): noise goes, steps and roof edges stay.  Reach SDM_EDGE_FILTERS_REACH. */
SdmStatus sdm_edge_filters(SdmContext *ctx, const SdmKernels *k, const int16_t *left, ptrdiff_t stride,
                           SdmEdgeBlock *b);

#endif
