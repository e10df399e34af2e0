/* Stage 8: surface of a window -> cells of the DEM.  Integer sums, so any order and any tile give the same
 * cell. */
#ifndef SDM_GRIDDING_H
#define SDM_GRIDDING_H

#include "core/block.h"
#include "matching/backend.h"

/* How: a Gaussian of sigma 0.6 cell (0.5 pixel of the frame where that is larger), cut at 2.5 sigma, over the
 * points of a window, whose ground positions come from the lattice. */
typedef struct SdmGridding {
    const SdmKernels *kernels;
    const SdmLattice *lattice;
    double x0, y0, spacing; /* of the grid: corner of its first cell, side of a cell; units of its CRS */
    double gsd_m;           /* pixels of the frame */
    double spacing_m;       /* side of a square as large as a cell on the ground: sdm_grid_ground_m() */
    double scale, offset;   /* stretch of the left image, for the ortho image */
    double ray_error_m_per_px;    /* ray gap in metres for a pixel of v residual */
} SdmGridding;

/* The points of `fine` (level 0; ray gaps within +-2 px) into `block` (arrays allocated, col0.. set). */
SdmStatus sdm_gridding_run(SdmContext *ctx, const SdmGridding *g, const SdmFineResult *fine, SdmBlock *block);

SdmStatus sdm_block_alloc(SdmContext *ctx, int64_t col0, int64_t row0, int64_t w, int64_t h, SdmBlock *out);
void sdm_block_free(SdmBlock *b);

#endif
