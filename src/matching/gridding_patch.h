/* A window and a grid -> weights by distance, and the ground positions of the window by cells of its lattice,
 * for gridding on the processor and on a device. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "matching/gridding.h"

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
