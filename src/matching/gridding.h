/* Stage 8: surface of a window -> cells of the DEM.  Sums are integers, so that any order and any tile give
 * the same cell. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dem_block.h"
#include "matching/backend.h"

/* The grid and the settings.  A cell is the mean of the points around it, weighted by a Gaussian of sigma
 * `sharpest` cells (0.5 pixel of the frame where that is larger), cut at 2.5 sigma; their ground positions
 * come from the lattice. */
typedef struct SdmGridding {
    const SdmKernels *kernels;
    const SdmLattice *lattice;
    double x0, y0, spacing; /* of the grid: corner of its first cell, side of a cell; units of its CRS */
    double gsd_m;           /* pixels of the frame */
    double spacing_m;       /* side of a square as large as a cell on the ground: sdm_grid_ground_m() */
    double scale, offset;   /* stretch of the left image, for the ortho image */
    double sharpest;        /* least sigma of the weights, cells */
    int hidden_px;          /* ground up to so many pixels wide that a step hides from the left view gets the
                             * lower side's height; at most SDM_HIDDEN_ALL; 0: none */
    double step_m;          /* a cell whose heights have half of this as standard deviation or more lies at a
                             * step and gets the mean of the points of one side: of that of most of the points
                             * around, by a Gaussian of 1.3 px, and whose grey value the left view has there;
                             * 0: the mean of all */
    int32_t middle;         /* a height near those of the scene, 1/256 m: squares are of what heights
                                * differ from it */
    double ray_error_m_per_px; /* ray intersection error in metres for a pixel of v residual */
} SdmGridding;

/* Sigma of the weights where pixels show edges, and elsewhere, cells. */
enum { SDM_HIDDEN_GENTLE = 16, SDM_HIDDEN_ALL = 64 }; /* with --fill gentle and all */
#define SDM_GRIDDING_SHARP 0.45
#define SDM_GRIDDING_SMOOTH 0.6

/* A cell has no height where its points have less than a quarter of the full weight (where hidden ground is
 * filled a fifth, with SDM_HIDDEN_ALL 0.001), or where more of the pixels that
 * lie in it were refused by sdm_accept_filled() than have a height. */

/* Add the points of `fine` (level 0; ray intersection errors within +-2 px) to `block` (arrays allocated,
 * col0.. set). */
SdmStatus sdm_gridding_run(SdmContext *ctx, const SdmGridding *g, const SdmFineResult *fine, SdmBlock *block);

SdmStatus sdm_block_alloc(SdmContext *ctx, int64_t col0, int64_t row0, int64_t w, int64_t h, SdmBlock *out);
void sdm_block_free(SdmBlock *b);
