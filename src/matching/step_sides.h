/* Statistics of both sides of a step, for step_moves.c and step_gaps.c, which move steps and close gaps
 * beside them. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/edge_filters.h"

#include <math.h>

#define STEP_PX 1.0f     /* larger ones are discontinuities */
#define FAR_PX 1e6f      /* place of a pixel without a match: differs from all others */
#define UNKNOWN 1e9f     /* difference to the right view where that has no value */
#define GREY 126.0       /* of 12 bits: what grey values of one side may differ by */
#define MOST_DIFFER 4.0f /* x GREY: of the right view's differences in small windows */
#define DIFFER_NOISE 0.1 /* x GREY: smaller ones tell nothing */
#define CLEAR_GREY 6.25  /* (difference of two sides' mean grey values)^2 over the sum of their variances */
enum {
    SIDE_HALF = 4,  /* px about a pixel: the window in which sides are looked for */
    SIDE_LEAST = 5, /* pixels of a side */
    SMALL = 3       /* px: side of the windows that are moved about a pixel */
};

/* Pixels of a window on one side of a step: their places, grey values, and what these differ by from the
 * right view's at their places. */
typedef struct SdmStepSide {
    int count, known;
    float place_px;
    double grey, square, differ;
} SdmStepSide;

/* A block and the arrays of the filters that move its steps. */
typedef struct SdmStepBlock {
    const SdmEdgeViews *views;
    const SdmEdgeBlock *b;
    uint8_t *inner;    /* 1 where a valid place is within STEP_PX of all eight neighbours' */
    float *low, *high; /* the lowest place of the inner pixels of (2 SIDE_HALF + 1)^2, and minus the
                         * highest */
    float *differ;     /* left minus right value at an inner pixel's place */
    float *out;        /* places */
} SdmStepBlock;

/* As `inner` above. */
void sdm_mark_inner(const SdmEdgeBlock *b, uint8_t *inner);

/* Left minus right value of pixel x, y if it lies at place_px; UNKNOWN where the right one has none. */
static inline float difference(const SdmEdgeViews *v, int x, int y, float place_px)
{
    const float at = (float)x + place_px;
    const int whole = (int)at, i = whole - ((float)whole > at); /* floor, without a call */
    const float from = (float)i;
    if (i < -v->before || i + 1 >= v->width + v->after)
        return UNKNOWN;
    const int16_t *const right = v->right + y * v->stride + i, left = v->left[y * v->stride + x];
    if (left == SDM_PIXEL_NODATA || right[0] == SDM_PIXEL_NODATA || right[1] == SDM_PIXEL_NODATA)
        return UNKNOWN;
    return (float)left - ((float)right[0] + (at - from) * (float)(right[1] - right[0]));
}

/* A side's mean grey value and the variance of its grey values. */
static inline double mean_grey(const SdmStepSide *side)
{
    return side->grey / side->count;
}

static inline double variance_grey(const SdmStepSide *side)
{
    return side->square / side->count - mean_grey(side) * mean_grey(side);
}

static inline bool clearly_differ(const SdmStepSide side[2])
{
    const double apart = mean_grey(&side[1]) - mean_grey(&side[0]);
    return apart * apart >= CLEAR_GREY * (variance_grey(&side[0]) + variance_grey(&side[1]) + 1.0);
}

/* Windows carry steps over the edge of a roof; pixels near the step go to the side that they look like, at
 * most SDM_MOVE_REACH pixels away. */
SdmStatus sdm_move_steps(SdmContext *ctx, const SdmEdgeViews *views, SdmEdgeBlock *b);
/* Semi-global matching carries a roof's places over its edge, where walls or hidden ground are of one grey
 * value: they have no true match, and the ground's places would meet the roof in the right view.  Such pixels
 * become SDM_QA_FOLD.  The roof ends at the edge of the view before the end of its places, or at one before
 * it that is twice as steep if what follows looks like the ground; the wall is as wide as the left camera
 * shows it, hidden ground as wide as the places fall. */
SdmStatus sdm_drop_walls(SdmContext *ctx, const SdmEdgeViews *views, SdmEdgeBlock *b);
/* Windows lose matches beside steps, where the views differ; the pixels that look like the surface beside
 * them are a part of it, and roofs end where that is likeliest. */
SdmStatus sdm_close_gaps(SdmContext *ctx, const SdmEdgeViews *views, SdmEdgeBlock *b);
enum { SDM_MOVE_REACH = 1 + SIDE_HALF + 1 };
