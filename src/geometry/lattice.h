/* The lattice: cameras sampled on a grid over the frame, with their change over height.  Nothing
 * above the lattice sees a camera. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"
#include "kernels.h"

#define SDM_FIX 65536.0 /* image positions are kept in 1/65536 px */

/* A node: positions at height0, and their first and second differences over t = h - height0 (metres). */
typedef struct SdmNode {
    int64_t left[2],
        right[2]; /* col, row of the full-resolution images, 1/65536 px; of turned images row, col; left does
                   * not depend on h */
    float right_b[2], right_c[2]; /* px / m, px / m^2 */
    double ground[2];             /* x, y in the output CRS */
    float ground_b[2], ground_c[2];
    float du_dh; /* frame pixels along u for a metre of height */
} SdmNode;

/* Nodes at frame pixels (u0 + i * step, v0 + j * step); u0, v0 and step are multiples of 16, step a power of
 * two. */
typedef struct SdmLattice {
    int64_t u0, v0;
    int step, nu, nv;
    double height0_m;
    double hmin_m, hmax_m; /* range for which it was made */
    bool turned[2]; /* left, right image: taken as one whose rows are its columns, so that rows of the frame
                     * run along rows in memory */
    SdmNode *node;  /* nv x nu */
    double *sample; /* nv x nu x SDM_NODE_SAMPLES, from the cameras without the pointing; NULL: not kept */
} SdmLattice;

enum { SDM_NODE_SAMPLES = 8 }; /* left, right at three heights; col and row each */

void sdm_lattice_free(SdmLattice *lat);

/* A window of a level: pixel (i, j) of level l has its centre at frame pixel (i + 0.5) 2^l - 0.5. */
typedef struct SdmWindow {
    int level;
    int64_t u0, v0;
    int w, h;
} SdmWindow;

/* The corners of a cell, the same for all rows between two rows of nodes: for its left and its right side, by
 * axis. top: position (px of the full image, from the level's pixel `origin`), its first and second
 * difference over t, and a 0, on the upper row of nodes.  delta: the lower row's values minus the upper
 * row's. */
typedef struct SdmCellCorners {
    float top[2][8], delta[2][8];
    int32_t origin[2];
} SdmCellCorners;

typedef struct SdmRowKey {
    const SdmNode *node, *row; /* the lattice's first one; the first of the row of nodes above */
    int64_t u0, lattice_u0;
    int step, level, w, side;
} SdmRowKey;

/* A row of the cells of a window for the warp kernel; arrays are for `width` pixels. */
typedef struct SdmRowCells {
    SdmWarpCell *cells; /* NULL: not needed */
    int32_t *begin;
    float *fraction;
    float *du_dh; /* level pixels along u for a metre, per pixel; NULL: not needed */
    int count;
    SdmCellCorners *corners;
    int32_t *column;     /* of the lattice, for each cell */
    float *corner_du_dh; /* of each cell's upper left node, lower minus upper; the same on the right */
    SdmRowKey key;       /* the rows for which begin, fraction, column and corners hold */
} SdmRowCells;

/* Bytes of scratch for sdm_row_cells_cut(). */
size_t sdm_row_cells_bytes(int width);
void sdm_row_cells_cut(SdmRowCells *r, void *scratch, int width);
/* Fill for row j (0..win->h-1) of the window. The window must lie within the lattice's nodes. */
void sdm_lattice_row(const SdmLattice *lat, const SdmWindow *win, int j, enum SdmSide side, SdmRowCells *r);

/* Right position (col, row; full-resolution px) of frame position (u, v) at height h, in double: for products
 * of the whole scene alone, since other machines may round otherwise. */
void sdm_lattice_right(const SdmLattice *lat, double u, double v, double h_m, double right[2]);

/* Left position (col, row; full-resolution px) of frame position (u, v), in double. */
void sdm_lattice_left(const SdmLattice *lat, double u, double v, double left[2]);

/* Ground x, y (output CRS) of frame position (u, v) at height h, in double. */
void sdm_lattice_ground(const SdmLattice *lat, double u, double v, double h_m, double ground[2]);

/* Bounds (col0, row0 to col1 - 1, row1 - 1; of a turned image row0, col0 ...; full-resolution px, with
 * `margin`) of a window in an image for the heights hmin..hmax. */
void sdm_lattice_bounds(const SdmLattice *lat, const SdmWindow *win, enum SdmSide side, double hmin_m,
                        double hmax_m, int margin, int64_t bounds[4]);
