/* Cameras and budget -> tiles of a scene, before any pixel is read. */
#ifndef SDM_TILING_H
#define SDM_TILING_H

#include "scene/prepare.h"

/* What something is expected to take: bytes of the process at their peak, processor time of one thread. */
typedef struct SdmCost {
    int64_t bytes;
    double cpu_s;
} SdmCost;

/* Tiles cut the planned grid: all cells on which the frame can lie at any height to be searched.  The DEM's
 * grid, known once the scene is prepared, is a part of it; tiles at the rim stand for whatever lies outside,
 * too. */
typedef struct SdmTiling {
    const SdmOptions *options; /* of the scene, borrowed */
    SdmFrame frame;
    SdmGrid grid;
    bool tiled;           /* false: one unit, prepared and matched in one task */
    int64_t edge;         /* cells of a tile */
    int64_t across, down; /* tiles */
    int64_t fixed_bytes;  /* of every unit, besides its window and cells */
    int64_t image_bytes;  /* of the strips by which an image is made smaller */
    SdmCost prepare;
    SdmLattice lattice;   /* ground of the frame */
    double (*ground)[4];  /* of each of its nodes, over all heights: cells x0, x1, y0, y1; owned */
    SdmMatchSettings settings;
} SdmTiling;

typedef struct SdmTilePlan {
    int64_t col0, row0, w, h;   /* cells of the planned grid */
    int64_t u0, v0, u1, v1;     /* frame pixels that can be needed, at any height, without the halo */
    SdmCost cost; /* with the preparation where the scene is one unit */
} SdmTilePlan;

/* Options used: memory, tile, tr, t_srs, hmin, hmax, cost.  SDM_ERR_BUDGET when the budget is too small. */
SdmStatus sdm_tiling_find(SdmContext *ctx, const SdmScene *scene, SdmTiling *out);
void sdm_tiling_free(SdmTiling *t);
void sdm_tiling_tile(const SdmTiling *t, int64_t i, SdmTilePlan *out);

/* ---- estimate.c: one source for info, plan and run ---- */
void sdm_tiling_begin(const SdmScene *scene, SdmTiling *t); /* fixed_bytes, prepare */
/* A block of cells of the planned grid; a square one in the middle of the frame; the scene as one unit. */
SdmCost sdm_tiling_block_cost(const SdmTiling *t, int64_t col, int64_t row, int64_t w, int64_t h);
SdmCost sdm_tiling_edge_cost(const SdmTiling *t, int64_t edge);
SdmCost sdm_tiling_whole_cost(const SdmTiling *t);
/* The largest unit, and all of them with the merge, in one process. */
SdmCost sdm_tiling_run_cost(const SdmContext *ctx, const SdmTiling *t);
/* Bytes of the budget that no unit may count on. */
int64_t sdm_tiling_reserve(int64_t memory_bytes);
/* Bytes that the preparation takes within a budget: its strips grow with it. */
int64_t sdm_tiling_prepare_bytes(const SdmTiling *t, int64_t memory_bytes);

/* Bytes that the process has for a unit's window and cells, of the budget; what the scene itself takes is
 * off. */
int64_t sdm_unit_room(const SdmContext *ctx, const SdmScene *scene, const SdmFrame *f, int coarse_level);

/* GDAL's block cache for a budget. */
int64_t sdm_cache_bytes(int64_t memory_bytes);

#endif
