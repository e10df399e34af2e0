/* The lattice: cameras sampled on a grid over the frame, with their change over height.  No camera beyond
 * this point. */
#ifndef SDM_LATTICE_H
#define SDM_LATTICE_H

#include "core/core.h"
#include "kernels.h"

#define SDM_FIX 65536.0 /* image positions are kept in 1/65536 px */

/* A node: positions at height0, and their first and second differences over t = h - height0 (metres). */
typedef struct SdmNode {
    int64_t left[2],
        right[2]; /* col, row of the full-resolution images, 1/65536 px; left does not depend on h */
    float right_b[2], right_c[2];  /* px / m, px / m^2 */
    double ground[2];              /* x, y in the output CRS */
    float ground_b[2], ground_c[2];
    float du_dh;                   /* frame pixels along u for a metre of height */
} SdmNode;

/* Nodes at frame pixels (u0 + i * step, v0 + j * step); u0, v0 and step are multiples of 16, step a power of
 * two. */
typedef struct SdmLattice {
    int64_t u0, v0;
    int step, nu, nv;
    double height0_m;
    double hmin_m, hmax_m; /* range for which it was made */
    SdmNode *node;         /* nv x nu */
} SdmLattice;

void sdm_lattice_free(SdmLattice *lat);

/* A window of a level: pixel (i, j) of level l has its centre at frame pixel (i + 0.5) 2^l - 0.5. */
typedef struct SdmWindow {
    int level;
    int64_t u0, v0;
    int w, h;
} SdmWindow;

/* A cell's corners: the same for all rows between two rows of nodes.  By axis, and for its left and its right
 * side: position (px of the full image from the level's pixel `origin`), its first and second difference over
 * t, and a 0, on the upper row of nodes; and by how much the lower row's are more. */
typedef struct SdmCellCorners {
    float top[2][2][4], more[2][2][4];
    int32_t origin[2];
} SdmCellCorners;

typedef struct SdmRowKey {
    const SdmNode *node, *row; /* the lattice's first one; the first of the row of nodes above */
    int64_t u0, lattice_u0;
    int step, level, w, side;
} SdmRowKey;

/* Row of cells of a window, ready for the warp kernel; arrays are for `width` pixels. */
typedef struct SdmRowCells {
    SdmWarpCell *cells; /* NULL = not asked for */
    int32_t *begin;
    float *fraction;
    float *du_dh; /* level pixels along u for a metre, per pixel; NULL = not asked for */
    int count;
    SdmCellCorners *corners;
    int32_t *column;   /* of the lattice, for each cell */
    float *rise; /* du_dh of each cell's upper left node, how much more the lower has; upper right, ... */
    SdmRowKey key;     /* what begin, fraction, column and corners are of */
} SdmRowCells;
enum SdmSide { SDM_LEFT, SDM_RIGHT };

/* Bytes of scratch for sdm_row_cells_cut(). */
size_t sdm_row_cells_bytes(int width);
void sdm_row_cells_cut(SdmRowCells *r, void *scratch, int width);
/* Fill for row j (0..win->h-1) of the window. The window must lie within the lattice's nodes. */
void sdm_lattice_row(const SdmLattice *lat, const SdmWindow *win, int j, enum SdmSide side, SdmRowCells *r);

/* Right position (full-resolution px) of frame position (u, v) at height h, in double; for scene products
 * only. */
void sdm_lattice_right(const SdmLattice *lat, double u, double v, double h_m, double right[2]);

/* Left position (full-resolution px) of frame position (u, v), in double. */
void sdm_lattice_left(const SdmLattice *lat, double u, double v, double left[2]);

/* Ground x, y (output CRS) of frame position (u, v) at height h, in double. */
void sdm_lattice_ground(const SdmLattice *lat, double u, double v, double h_m, double ground[2]);

/* Bounds (col0, row0, col1, row1: inclusive-exclusive, full-resolution px, with `margin`) that the window
 * reaches in an image for heights hmin..hmax. */
void sdm_lattice_bounds(const SdmLattice *lat, const SdmWindow *win, enum SdmSide side, double hmin_m,
                        double hmax_m, int margin, int64_t bounds[4]);

#endif
