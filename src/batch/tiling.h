/* Cameras and budget -> tiles of a scene, before any pixel is read. */
#ifndef SDM_TILING_H
#define SDM_TILING_H

#include "batch/prepare.h"

/* Tiles cut the planned grid: all cells on which the frame can lie at any height to be searched.  The DEM's
 * grid, known once the scene is prepared, is a part of it; tiles at the rim stand for whatever lies outside,
 * too. */
typedef struct SdmTiling {
    SdmFrame frame;
    SdmGrid grid;
    bool tiled;           /* false: one unit, prepared and matched in one task */
    int64_t edge;         /* cells of a tile */
    int64_t across, down; /* tiles */
    int64_t prepare_bytes, fixed_bytes; /* of preparing; of every unit, besides its window and cells */
    double prepare_cpu_s;
    SdmLattice lattice;   /* ground of the frame */
    SdmMatchSettings settings;
} SdmTiling;

typedef struct SdmTilePlan {
    int64_t col0, row0, w, h;   /* cells of the planned grid */
    int64_t u0, v0, u1, v1;     /* frame pixels that can be needed, at any height, without the halo */
    int64_t memory_bytes;
    double cpu_s;
} SdmTilePlan;

/* Options used: memory, tile, tr, t_srs, hmin, hmax, cost.  SDM_ERR_MEMORY when the budget is too small. */
SdmStatus sdm_tiling_find(SdmContext *ctx, const SdmScene *scene, SdmTiling *out);
void sdm_tiling_free(SdmTiling *t);
void sdm_tiling_tile(const SdmTiling *t, int64_t i, SdmTilePlan *out);

/* Bytes that the process has for a unit's window and cells, of the budget; what the scene itself takes is
 * off. */
int64_t sdm_unit_room(const SdmContext *ctx, const SdmScene *scene, const SdmFrame *f, int coarse_level);

/* GDAL's block cache for a budget. */
int64_t sdm_cache_bytes(int64_t memory_bytes);

#endif
