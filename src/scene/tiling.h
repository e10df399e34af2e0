/* Cameras and budget -> tiles of a scene, before any pixel is read, and what each is expected to take. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dem_block.h"
#include "scene/prepare.h"

/* Expected cost of a task: peak memory of the process, processor time of one thread. */
typedef struct SdmCost {
    int64_t bytes;
    double cpu_s;
} SdmCost;

/* Tiles of the planned grid: all cells on which the frame can lie at any height to be searched.  The grid
 * of the DEM, known once the scene is prepared, is a part of it; border tiles also take cells of the DEM
 * outside the planned grid. */
typedef struct SdmTiling {
    const SdmOptions *options; /* of the scene, borrowed */
    SdmFrame frame;
    SdmGrid grid;
    bool tiled;           /* false: one tile, prepared and matched in one task */
    int64_t edge;         /* cells of a tile */
    int64_t across, down; /* tiles */
    int64_t fixed_bytes;  /* of every tile, besides its window and cells */
    int64_t image_bytes;  /* of the strips by which an image is made smaller */
    SdmCost prepare;
    SdmLattice lattice;     /* ground of the frame */
    double (*footprint)[4]; /* of each of its nodes, over all heights: cells x0, x1, y0, y1; owned */
    SdmMatchSettings settings;
} SdmTiling;

typedef struct SdmTile {
    int64_t col0, row0, w, h; /* cells of the planned grid */
    int64_t u0, v0, u1, v1;   /* frame pixels that can be needed, at any height, without the halo */
    SdmCost cost;             /* with the preparation where the scene is one tile */
} SdmTile;

/* Plan the tiles.  Options used: memory, tile, tr, t_srs, hmin, hmax, cost.  SDM_ERR_BUDGET when the
 * budget is too small. */
SdmStatus sdm_tiling_find(SdmContext *ctx, const SdmScene *scene, SdmTiling *out);
void sdm_tiling_free(SdmTiling *t);
/* Tile i of across x down, row by row. */
void sdm_tiling_tile(const SdmTiling *t, int64_t i, SdmTile *out);

/* The planned grid: its corner, in units of its CRS, and where its tiles end, in cells. */
typedef struct SdmTilesOf {
    double x0, y0;
    int64_t end[2]; /* column, row */
} SdmTilesOf;
/* The cells of the prepared grid that a tile makes: col0, row0, w and h of the block, the rest is cleared.
 * Tiles at the border of the planned grid take what lies outside it.  cells: of the tile: col0, row0, w, h.
 */
void sdm_tiling_place(const SdmTilesOf *tiles, const int64_t cells[4], const SdmPrepared *p, SdmBlock *block);

/* All tiles and their merge in one process: the peak of the bytes, the sum of the time. */
SdmCost sdm_tiling_run_cost(const SdmContext *ctx, const SdmTiling *t);

/* Bytes of the budget that are left for the window and the cells of blocks in work. */
int64_t sdm_block_room(const SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p);

/* The share of a budget that is meant for GDAL's block cache. */
int64_t sdm_cache_bytes(int64_t memory_bytes);
