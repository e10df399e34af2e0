/* --bounds and --area -> the part of a grid that is asked for, and which of its cells lie inside. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/dem_block.h"
#include "geo/grid.h"

/* Bounds of the part in units of a CRS (xmin ymin xmax ymax), within those of the whole.  wkt: the CRS, of
 * traditional axis order.  tell: log how --bounds was read, and what is odd in the polygons of --area.
 * SDM_ERR_USAGE where --bounds lies outside or fits neither the CRS nor degrees; SDM_ERR_DATA where --area
 * lies outside. */
SdmStatus sdm_part_bounds(SdmContext *ctx, const SdmOptions *options, const char *wkt, const double whole[4],
                          bool tell, double out[4]);

/* Cut the grid to the part: whole cells, whose edges are those of the grid. */
SdmStatus sdm_part_cut(SdmContext *ctx, const SdmOptions *options, bool tell, SdmGrid *grid);

/* First column and row of the part, as cells of the whole grid. */
void sdm_part_at(const SdmGrid *grid, const SdmGrid *part, int64_t out[2]);

/* A block of the whole grid, all of it within the part, becomes one of the part: its cells are counted there,
 * and those whose centres lie outside of --area are cleared.  A cell does not depend on the block. */
SdmStatus sdm_part_take(SdmContext *ctx, const SdmOptions *options, const SdmGrid *grid, const SdmGrid *part,
                        SdmBlock *block);
