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

#define STEP_PX 1.0f /* larger steps of places are discontinuities */
#define FAR_PX 1e6f  /* place of a pixel without a match: differs from all others */
enum {
    SIDE_HALF = 4, /* px about a pixel: the window in which sides of a step are looked for */
    SDM_MOVE_REACH = 1 + SIDE_HALF + 1, /* of sdm_move_steps() */
    SDM_RIDGE_REACH = 19,               /* of sdm_sharpen_ridges() */
    SDM_PIECE_PX = 20,                  /* smaller pieces of surface are taken off */
    SDM_EDGE_FILTERS_REACH = 48, /* pixels around a pixel on which it depends: a median, a step's sides twice,
                                  * a piece or three means and a ridge's line, a gap's sides */
    SDM_EDGE_BLOCK_BYTES = 31    /* a pixel, with the filters' own arrays */
};

/* The next pixels of a row without a match that lie between two with one, from column *x on: returns the
 * first one, and *x becomes the end; -1: there are none. */
static inline int sdm_next_gap(const uint16_t *flags, int width, int *x)
{
    int i = *x, first;
    while (i < width && !(flags[i] & SDM_QA_VALID))
        i++;
    while (i < width && (flags[i] & SDM_QA_VALID))
        i++;
    for (first = i; i < width && !(flags[i] & SDM_QA_VALID);)
        i++;
    *x = i;
    return i < width ? first : -1;
}

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
 * again (matching/ridges.c).  Then the mean of the places of 11 x 11 pixels that differ by at most 0.3
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

/* ---- the parts ---- */

/* Semi-global matching carries a roof's places over its edge, where walls or hidden ground are of one grey
 * value: they have no true match, and the ground's places would meet the roof in the right view.  Such pixels
 * become SDM_QA_FOLD.  The roof ends at the edge of the view before the end of its places, or at one before
 * it that is twice as steep if what follows looks like the ground; the wall is as wide as the left camera
 * shows it, hidden ground as wide as the places fall. */
SdmStatus sdm_drop_walls(SdmContext *ctx, const SdmEdgeViews *views, SdmEdgeBlock *b);
/* Windows and means see both slopes of a ridge and put it too low, by less than the noise of one place;
 * along a line the noise averages out. For every second pixel of every second row the line of 29 px is
 * looked for, of 16 directions, across which the surface bends most: by the mean of its points' second
 * differences over 12 px on either side. Points whose neighbours 6 px on differ by more than 1 px, at
 * walls, do not count. Such a line is a ridge if it bends down by 0.5 px and 3 times the standard deviation
 * of its points (more where points are missing); twice as much as over 6 px and evenly on both sides, so
 * that both are slopes, as they are not at steps and hedges; and itself by less than 0.4 of it. Its pixels
 * rise by the mean along it of what the means took off (before_px: the places before them, height x width),
 * and by 3/8 of the second difference over 4 px: census words and sums of 5 x 5 take off 1/2 of it of a
 * roof, 1/8 of a parabola; at most by a fifth of the second difference over 12 px. All other pixels keep
 * their places. up: 1 where places grow with height, else -1. */
SdmStatus sdm_sharpen_ridges(SdmContext *ctx, const float *before_px, float up, SdmEdgeBlock *b);

/* ---- before the filters ---- */

/* A flat roof without texture has no census words that tell its place, but its outline does.  For each
 * connected area whose windows of 5 x 5 pixels have little texture, which is noise, the height, or the height
 * above the base, is looked for at which most of its pixels have one grey value in the right view, too
 * (glass: another one than in the left view), and the right view has an edge where the left one has, at the
 * ends of the area's rows.  Where there is just one, all its pixels get it, for their matches are of noise:
 * they become SDM_QA_VALID | SDM_QA_FILLED, with 250 x the share that fits as score.  The place's part of a
 * pixel comes from the edges of both views, halfway between the grey values of their sides: the mean of the
 * most ends that agree within 0.6 px.  Source: after the intensity consistent selection of Hirschmueller
 * 2008, with constant heights and outlines. */
SdmStatus sdm_plain_areas(SdmContext *ctx, const SdmEdgeViews *views, SdmEdgeBlock *b);
