/* A prepared scene and a rectangle of cells -> the block of the DEM. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/scene.h"

SdmStatus sdm_scene_block(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p, SdmDevicePool *queue,
                          SdmBlock *block)
{
    SdmStatus st = SDM_OK;
    SdmDevicePool *processor = NULL;
    SdmBlockWork *work = NULL;
    const int64_t room = sdm_block_room(ctx, scene, p) - SDM_BLOCK_CELL_BYTES * block->w * block->h;
    TRY(sdm_alloc(ctx, &work, 1, sizeof *work, "a block in work"));
    work->block = *block;
    if (!queue)
        TRY(sdm_device_pool_open(ctx, "cpu", &processor));
    TRY(sdm_block_begin(ctx, scene, p, queue ? queue : processor, room > 1 ? room : 1, work));
    TRY(sdm_block_end(ctx, queue ? queue : processor, work));
    *block = work->block;
done:
    sdm_device_pool_close(&processor);
    sdm_free(&work);
    return st;
}
