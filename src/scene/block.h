/* A rectangle of the DEM's cells: find the window of the frame that it needs, run stages 3 to 8 there. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dem_block.h"
#include "matching/gridding.h"
#include "scene/device_pool.h"
#include "scene/window_input.h"

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
