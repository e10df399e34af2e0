/* Places at every few cells of a grid -> places of all cells of a row, by bilinear interpolation. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

/* Nodes at multiples of `step` cells of the whole grid, so that a window of any size has the same places. */
typedef struct SdmPlaceNodes {
    int step;       /* cells between nodes, a power of two */
    int64_t i0, j0; /* column and row of the first node, in steps */
    size_t nx, ny;
    double *x, *y; /* ny rows of nx: the place of each node */
} SdmPlaceNodes;

/* The nodes that a window of cells (column, row, width, height) lies between, at the middles of their cells;
 * x and y are the caller's to free, after failure, too. */
SdmStatus sdm_place_nodes_open(SdmContext *ctx, const int64_t window[4], int step, SdmPlaceNodes *n);
/* Places of n cells of a row of the grid from column `first` on -> x, y. */
void sdm_cell_places(const SdmPlaceNodes *nodes, int64_t first, int64_t row, int64_t n, double *x, double *y);
