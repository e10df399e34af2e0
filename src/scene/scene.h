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
#include "scene/block.h"
#include "scene/describe.h"
#include "scene/device_pool.h"
#include "scene/prepare.h"
#include "scene/quality.h"
#include "scene/tiling.h"
