/* The folder of a product, or one of its tiles -> the file by which GDAL opens the whole image. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

/* name: a folder with a DIM_*.XML (Pleiades, Pleiades Neo, SPOT) or a .TIL (WorldView, GeoEye), at most three
 * levels down; a tile that one of these beside it lists (..._R1C1.TIF); or any other name, which is copied.
 * out: size bytes, that file's name.  Every tile that it lists is there.  SDM_ERR_INPUT: several such files
 * in the folder, a missing tile, a tile without it; SDM_ERR_USAGE: no such file in the folder, or a name that
 * is too long. */
SdmStatus sdm_product_find(SdmContext *ctx, const char *name, char *out, size_t size);

/* The row and the column, from 1, of a tile by the name of its file, "..._R1C2..."; false, and neither, where
 * it is no such name. */
bool sdm_product_tile(const char *base, int *row, int *column);
