/* The pipeline in memory; start here to embed it: two images and two cameras in, blocks of a DEM out.  No
 * call needs a folder, a lock or a file of the program's own.
 *
 *   sdm_scene_open(), sdm_scene_open_arrays()     files, or arrays and cameras in memory -> SdmScene
 *   sdm_scene_prepare()                           -> SdmPrepared: frame, pointing, coarse surface, grid
 *   sdm_tiling_find(), sdm_tiling_tile()          -> tiles within a memory budget, with their expected cost
 *   sdm_scene_block()                             any rectangle of the DEM's cells -> SdmBlock
 *   sdm_block_begin(), sdm_block_end()            the same, with the next window read while one is matched
 *   sdm_quality_add(), sdm_quality_assess()       blocks -> quality of the DEM
 *   sdm_block_free(), sdm_prepared_free(), sdm_scene_close()
 *
 * A scene, its context and its options belong to one thread at a time; several scenes, each with a context of
 * its own, can be computed in several threads at once. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_SCENE_H
#define SDM_SCENE_H

#include "input/scene_open.h"
#include "scene/block.h"
#include "scene/describe.h"
#include "scene/device_pool.h"
#include "scene/prepare.h"
#include "scene/quality.h"
#include "scene/tiling.h"

/* Compute a block of the DEM within the memory budget of the scene's options.  block: col0, row0, w, h are
 * set, cells of p->grid; its arrays become the caller's, to be freed with sdm_block_free() before ctx is
 * closed.  queue: the back end, or NULL for the processor. */
SdmStatus sdm_scene_block(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p, SdmDevicePool *queue,
                          SdmBlock *block);

#endif
