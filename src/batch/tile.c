/* Bytes that a run needs, for info. */
// SPDX-License-Identifier: Apache-2.0
#include "batch/unit.h"

static const int64_t FIXED = INT64_C(48) << 20; /* the program, GDAL and PROJ */
enum { COARSE_PIXEL_BYTES = 13 }; /* of the coarse surface and the terrain in it, kept through the run */

int64_t sdm_run_bytes(const SdmPrepared *p, const SdmGrid *g, int64_t tile)
{
    const int64_t base = (int64_t)p->coarse.win.w * p->coarse.win.h * COARSE_PIXEL_BYTES + FIXED;
    const int64_t w = tile < g->cols ? tile : g->cols, h = tile < g->rows ? tile : g->rows;
    return base + sdm_unit_bytes(p, g, sdm_grid_spacing_m(g), w, h);
}
