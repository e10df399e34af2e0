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

/* ---- weights by distance, and the ground positions of a window by cells of its lattice: of devices, too
 * ---- */

enum {
    SDM_GRIDDING_UNIT = 256,        /* positions in 1/256 cell */
    SDM_GRIDDING_HEIGHT_UNIT = 256, /* heights in 1/256 m */
    SDM_GRIDDING_MAX_REACH = 16,    /* cells */
    SDM_GRIDDING_TABLE = SDM_GRIDDING_MAX_REACH * SDM_GRIDDING_UNIT + 1
};

/* Weights, and the cells of the lattice that the window touches. */
typedef struct SdmGriddingSetup {
    const SdmGridding *g;
    SdmWindow win;
    int reach;                         /* cells that a point touches: cell - reach .. cell + reach */
    int radius;                        /* in 1/256 cell */
    int32_t table[SDM_GRIDDING_TABLE]; /* Gaussian by distance on one axis, 0..2^12 */
    int side_radius;                   /* as radius and table, for the choice between two sides of a
                                             * cell */
    int32_t side_table[SDM_GRIDDING_TABLE];
    int64_t least;  /* smallest sum of weights of a cell with a height */
    int nu, nv;     /* lattice cells of the window */
    int64_t i0, j0; /* first lattice cell (node index) */
} SdmGriddingSetup;
/* win: of level 0, inside the lattice. */
void sdm_gridding_setup(const SdmGridding *g, const SdmWindow *win, SdmGriddingSetup *out);

/* One lattice cell: ground positions in cells of the grid, relative to an integer cell. */
typedef struct SdmGriddingPatch {
    int64_t base[2];
    float a[2][4], b[2], c[2]; /* corners (00 10 01 11), per metre, per metre^2 (of the first node) */
    int u0, v0, u1, v1;        /* pixels of the window */
    double u_node, v_node;     /* frame position of the first node relative to the window's first pixel */
} SdmGriddingPatch;
void sdm_gridding_patch(const SdmGriddingSetup *s, int ci, int cj, SdmGriddingPatch *p);
