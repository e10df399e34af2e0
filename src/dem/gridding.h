/* Stage 8: surface of a window -> cells of the DEM.  Integer sums, so any order and any tile give the same
 * cell. */
#ifndef SDM_GRIDDING_H
#define SDM_GRIDDING_H

#include "dem/product.h"
#include "match/chain.h"

/* Gaussian of sigma 0.6 cell (0.5 pixel of the frame where that is larger), cut at 2.5 sigma, over the points
 * of `fine` (level 0, ground positions from `lattice`) into `block` (arrays allocated, block->col0.. set).
 * gsd_m: frame spacing; metres_per_unit of the grid's CRS (1, or metres of a degree for a geographic one);
 * scale, offset: stretch of the left image, for the ortho image. */
typedef struct SdmGridding {
    const SdmKernels *kernels;
    const SdmLattice *lattice;
    const SdmFineResult *fine;
    const SdmGrid *grid;
    double gsd_m, spacing_m;
    double scale, offset;
    double gap_m_per_px; /* ray gap in metres for a pixel of v residual */
} SdmGridding;
SdmStatus sdm_gridding_run(SdmContext *ctx, const SdmGridding *g, SdmBlock *block);

SdmStatus sdm_block_alloc(SdmContext *ctx, int64_t col0, int64_t row0, int64_t w, int64_t h, SdmBlock *out);
void sdm_block_free(SdmBlock *b);

#endif
