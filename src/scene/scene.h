/* The pipeline in memory; start here to embed it: two images and two cameras in, blocks of a DEM out.  No
 * call needs a folder, a lock or a file of the program's own.
 *
 *   sdm_scene_open(), sdm_scene_open_arrays()     files, or arrays and cameras in memory -> SdmScene
 *   sdm_scene_prepare()                           -> SdmPrepared: frame, pointing, coarse surface, grid
 *   sdm_tiling_find(), sdm_tiling_tile()          -> tiles within a memory budget, with their expected cost
 *   sdm_block_begin(), sdm_block_end()            any rectangle of the DEM's cells -> SdmBlock; the next
 *                                                 window is read while a device matches this one
 *   sdm_quality_add(), sdm_quality_assess()       blocks -> quality of the DEM
 *   sdm_block_free(), sdm_prepared_free(), sdm_scene_close()
 *
 * A scene, its context and its options belong to one thread at a time; several scenes, each with a context of
 * its own, can be computed in several threads at once. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "input/scene_open.h"
#include "core/dem_block.h"
#include "geometry/epipolar_frame.h"
#include "matching/gridding.h"
#include "scene/prepare.h"
#include "scene/quality.h"
#include "scene/window_input.h"

/* ---- device_pool.c: the back end that matches windows, the processor, or devices ---- */

/* The processor, or devices, each with two windows in work at a time.  While a device matches one, the images
 * of the next are read and uploaded, and the cells of the last are downloaded. */
typedef struct SdmDevicePool SdmDevicePool;

enum { SDM_MAX_SLOTS = 64 };

/* device: as the option --device; without a number, all devices of its kind.  A device that was named and
 * cannot run fails with SDM_ERR_UNSUPPORTED or SDM_ERR_DEVICE; "auto" takes CUDA devices whose self test is
 * exact, else the processor, and logs why.  Where there may be a card, auto is still opening on return. */
SdmStatus sdm_device_pool_open(SdmContext *ctx, const char *device, SdmDevicePool **out);
/* Wait until the device is open; to be called before everything but name, log and close. */
SdmStatus sdm_device_pool_ready(SdmContext *ctx, SdmDevicePool *pool);
/* The back end as --device takes it: "cpu", "cuda:0"; of several devices "cuda"; "auto" until it is ready. */
const char *sdm_device_pool_name(const SdmDevicePool *pool);
/* Why a device was left or none was taken; "" where no device was expected.  Borrowed. */
const char *sdm_device_pool_why(const SdmDevicePool *pool);
/* Log the back end, as soon as it is ready. */
void sdm_device_pool_log(SdmContext *ctx, SdmDevicePool *pool);
/* After the last window: close the devices on a thread in the background, which frees their memory for other
 * programs.  Accepts NULL. */
void sdm_device_pool_finish(SdmDevicePool *pool);
void sdm_device_pool_close(SdmDevicePool **pool); /* accepts pointer to NULL */

/* How many windows will come; to be called before the first of them. */
void sdm_device_pool_expect(SdmDevicePool *pool, int64_t windows);
/* Windows that may be in work at a time: 1 on the processor, else 2 for each device, but no more than
 * come. */
int sdm_device_pool_slots(const SdmDevicePool *pool);

/* ---- for blocks ---- */

/* True if devices match the next windows; on the processor no window is begun again. */
bool sdm_device_pool_on_device(const SdmDevicePool *pool);

/* Can the slot that comes next take a window whose level 0 computes w x h pixels of an image window of
 * win_w x win_h? */
bool sdm_device_pool_has_room(SdmContext *ctx, SdmDevicePool *pool, const SdmMatchSettings *set, int64_t w,
                              int64_t h, int64_t win_w, int64_t win_h);

/* Does the back end make the levels of a window's images from the finest one by itself? */
bool sdm_device_pool_makes_levels(const SdmDevicePool *pool, const SdmMatchSettings *set);

/* Begin sdm_match_window(); a slot is free.  The processor does all of it here.  Data that the call
 * points to must stay where they are until the end.  call->block: its place is set; a device that grids,
 * too, gives it its arrays at the end.  *out: set at the end unless the block has its arrays; empty
 * after a failure.  *slot: for the end. */
SdmStatus sdm_device_pool_begin(SdmContext *ctx, SdmDevicePool *pool, const SdmMatchCall *call,
                                SdmFineResult *out, int *slot);
/* Wait for it.  After a failure the device is opened again and tries once more.  SDM_ERR_DEVICE: it failed
 * again, and a warning said so: begin the window again, the processor matches it and those that follow. */
SdmStatus sdm_device_pool_end(SdmContext *ctx, SdmDevicePool *pool, int slot);
void sdm_device_pool_abandon(SdmDevicePool *pool, int slot); /* instead of the end: wait, drop the result */

/* ---- block.c: a rectangle of the DEM's cells ---- */

/* A block in work; not to be moved before its end. */
typedef struct SdmBlockWork {
    SdmBlock block;
    SdmWindowInput input;
    SdmGridding gridding;
    SdmFineResult fine;
    SdmWindow win, need;
    SdmFootprint shape;    /* of need; owned */
    int slot;              /* of the queue; -1: nothing is awaited */
    const SdmScene *scene; /* borrowed, as are the others: what the block was begun with */
    const SdmPrepared *prepared;
    int64_t room;
    bool is_last; /* to be set: the scene's images are not needed for another one, nor for one in work */
} SdmBlockWork;

/* Begin a block.  work->block: col0, row0, w, h are set, cells of p->grid.  room: bytes for its window; a
 * block that needs more, there or on the device, is computed in parts, at once; 0: no limit.  The queue
 * has a free slot.  After a failure the block may have arrays. */
SdmStatus sdm_block_begin(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p, SdmDevicePool *queue,
                          int64_t room, SdmBlockWork *work);
/* Wait for its window and grid it, where the device has not: work->block gets its arrays, the caller's to
 * free with sdm_block_free().  Everything else is freed; after a failure the block, too. */
SdmStatus sdm_block_end(SdmContext *ctx, SdmDevicePool *queue, SdmBlockWork *work);
void sdm_block_abandon(SdmDevicePool *queue, SdmBlockWork *work); /* instead of the end */

/* Bytes that a block on w x h pixels of the frame needs while it is matched, its cells apart. */
int64_t sdm_window_bytes(const SdmMatchSettings *set, int64_t w, int64_t h, int64_t frame_w, int64_t frame_h);
enum {
    SDM_BLOCK_CELL_BYTES = 24, /* of the arrays of a block */
    SDM_GRID_REACH = 20        /* cells beyond a block whose pixels gridding may use, with some to spare */
};

/* ---- tiling.c: cameras and budget -> tiles, before any pixel is read ---- */

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
    double (*footprint)[4]; /* of each of its nodes, over all heights: cells x0, y1, x1, y0; owned */
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

/* The cells of the prepared grid that a tile makes: col0, row0, w and h of the block, the rest is cleared.
 * Tiles at the border of the planned grid take what lies outside it.  corner: of that grid, x0 and y0, in
 * units of its CRS; tiles_end: where its tiles end, column and row; cells: of the tile: col0, row0, w, h. */
void sdm_tiling_place(const double corner[2], const int64_t tiles_end[2], const int64_t cells[4],
                      const SdmPrepared *p, SdmBlock *block);

/* All tiles and their merge in one process: the peak of the bytes, the sum of the time. */
SdmCost sdm_tiling_run_cost(const SdmContext *ctx, const SdmTiling *t);

/* Bytes of the budget that are left for the window and the cells of blocks in work. */
int64_t sdm_block_room(const SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p);

/* The share of a budget that is meant for GDAL's block cache. */
int64_t sdm_cache_bytes(int64_t memory_bytes);

/* ---- describe.c: a scene for people, before any matching ---- */

/* Description of a scene before any matching, besides what the scene itself has. */
typedef struct SdmSceneInfo {
    SdmFrame frame;
    SdmGrid grid;            /* of the DEM */
    char crs[128];           /* its CRS, such as "EPSG:32610" */
    char mask[2][600];       /* see sdm_image_describe(), of the left and the right image */
    double corner_deg[4][2]; /* lon, lat of the left image's: upper left, upper right, lower right,
                                        * lower left; at the middle of the heights */
    double overlap;          /* share of the left footprint that the right view sees, 0..1 */
    double footprint_m2;     /* area seen by both */
    int64_t tiles;           /* blocks that the DEM is made in */
    int64_t memory_bytes;    /* expected peak of the process (resident) */
    double seconds;          /* expected wall time of `stereodem run` on this machine */
} SdmSceneInfo;

/* Describe an opened scene: its cameras, their overlap, the DEM it would make; matches nothing. */
SdmStatus sdm_scene_describe(SdmContext *ctx, const SdmScene *scene, SdmSceneInfo *out);

/* The share of the left image's pixels, 0..1, whose ground the right one shows at the frame's height;
 * estimated. */
SdmStatus sdm_scene_overlap(SdmContext *ctx, const SdmScene *scene, const SdmFrame *frame, double *share);
