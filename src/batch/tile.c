/* Memory budget and --tile -> edge of the blocks of the DEM. */
// SPDX-License-Identifier: Apache-2.0
#include "batch/unit.h"

static const int64_t FIXED = INT64_C(48) << 20; /* the program, GDAL and PROJ */
enum { COARSE_PIXEL_BYTES = 13 };               /* of the coarse surface and the terrain in it, kept through the run */

int64_t sdm_run_bytes(const SdmPrepared *p, const SdmGrid *g, int64_t tile)
{
    const int64_t base = (int64_t)p->coarse.win.w * p->coarse.win.h * COARSE_PIXEL_BYTES + FIXED;
    const int64_t w = tile < g->cols ? tile : g->cols, h = tile < g->rows ? tile : g->rows;
    return base + sdm_unit_bytes(p, g, sdm_grid_spacing_m(g), w, h);
}

SdmStatus sdm_tile_choose(SdmContext *ctx, const SdmPrepared *p, const SdmGrid *g, int64_t *tile, int64_t *across,
                          int64_t *down)
{
    enum { LEAST = 64 };
    const SdmOptions *const o = sdm_options(ctx);
    const int64_t room = o->memory_bytes / 10 * 8, longest = g->cols > g->rows ? g->cols : g->rows;
    *tile = o->tile > 0 ? o->tile : longest;
    for (int parts = 2; o->tile == 0 && sdm_run_bytes(p, g, *tile) > room; parts++) {
        *tile = (longest + parts - 1) / parts;
        if (*tile < LEAST)
            return sdm_fail(ctx, SDM_ERR_MEMORY, "--memory %lldM is too small for this pair: a block of %d cells needs %lldM; "
                            "give that or more", (long long)(o->memory_bytes >> 20), (int)LEAST,
                            (long long)(sdm_run_bytes(p, g, LEAST) / 8 * 10 >> 20) + 1);
    }
    *tile = *tile > longest ? longest : *tile;
    *across = (g->cols + *tile - 1) / *tile;
    *down = (g->rows + *tile - 1) / *tile;
    return SDM_OK;
}
