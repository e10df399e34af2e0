/* Blocks of cells -> a DEM in memory, and what its callers read of it. */
// SPDX-License-Identifier: Apache-2.0
#include "api/memory_dem.h"
#include "geo/vertical_datum.h"
#include "matching/gridding.h"
#include "product/height_step.h"

#include <string.h>

/* A layer of the DEM: its cells and the bytes of one. */
typedef struct Layer {
    char *cells;
    size_t bytes;
} Layer;

static Layer layer_of(const SdmBlock *b, SdmDemLayer layer)
{
    switch (layer) {
    case SDM_LAYER_HEIGHT:
        return (Layer){(char *)b->height_m, sizeof(float)};
    case SDM_LAYER_SCORE:
        return (Layer){(char *)b->score, sizeof(float)};
    case SDM_LAYER_RAY_ERROR:
        return (Layer){(char *)b->ray_error_m, sizeof(float)};
    case SDM_LAYER_SPREAD:
        return (Layer){(char *)b->spread_m, sizeof(float)};
    case SDM_LAYER_ORTHO:
        return (Layer){(char *)b->ortho, sizeof(float)};
    case SDM_LAYER_COUNT:
        return (Layer){(char *)b->count, sizeof(uint16_t)};
    case SDM_LAYER_MASK:
        return (Layer){(char *)b->mask, sizeof(uint16_t)};
    }
    return (Layer){NULL, 0};
}

static SdmStatus open_layers(SdmContext *ctx, SdmBlock *b, SdmDemKind kind)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)b->w * (size_t)b->h;
    TRY(sdm_alloc(ctx, &b->height_m, n, sizeof(float), "heights of a DEM"));
    TRY(sdm_alloc(ctx, &b->spread_m, n, sizeof(float), "spreads of a DEM"));
    TRY(sdm_alloc(ctx, &b->count, n, sizeof(uint16_t), "counts of a DEM"));
    TRY(sdm_alloc(ctx, &b->mask, n, sizeof(uint16_t), "mask of a DEM"));
    if (kind == SDM_DEM_OF_STACK)
        return SDM_OK;
    TRY(sdm_alloc(ctx, &b->score, n, sizeof(float), "scores of a DEM"));
    TRY(sdm_alloc(ctx, &b->ray_error_m, n, sizeof(float), "ray errors of a DEM"));
    TRY(sdm_alloc(ctx, &b->ortho, n, sizeof(float), "orthoimage of a DEM"));
done:
    return st;
}

SdmStatus sdm_dem_open(SdmContext *ctx, const SdmGrid *grid, int vertical, SdmDemKind kind, SdmDem **out)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_alloc(ctx, out, 1, sizeof **out, "a DEM"));
    SdmDem *const dem = *out;
    dem->grid = *grid;
    dem->vertical = vertical;
    dem->cells = (SdmBlock){.w = grid->cols, .h = grid->rows};
    TRY(open_layers(ctx, &dem->cells, kind));
    if (vertical != SDM_VERTICAL_UNKNOWN)
        TRY(sdm_undulation_open(ctx, &dem->grid, vertical, &dem->undulation));
    if (dem->undulation.geoid)
        TRY(sdm_alloc(ctx, &dem->undulation_m, (size_t)grid->cols, sizeof(float), "a row of undulations"));
done:
    return st;
}

static SdmStatus convert_heights(SdmContext *ctx, SdmDem *dem, SdmBlock *b)
{
    SdmStatus st = SDM_OK;
    const float step = (float)sdm_height_step_m(sdm_grid_spacing_m(&dem->grid)), inverse = 1.0F / step;
    for (int64_t r = 0; r < b->h; r++) {
        float *const row = b->height_m + r * b->w;
        if (dem->undulation.geoid)
            TRY(sdm_undulation_window(ctx, &dem->undulation, b->col0, b->row0 + r, b->w, 1,
                                      dem->undulation_m));
        for (int64_t c = 0; c < b->w; c++) {
            const float h = dem->undulation.geoid ? row[c] - dem->undulation_m[c] : row[c];
            row[c] = sdm_round_height(h, step, inverse);
        }
    }
done:
    return st;
}

SdmStatus sdm_dem_add(SdmContext *ctx, SdmDem *dem, SdmBlock *block)
{
    SdmStatus st = SDM_OK;
    const SdmBlock *const all = &dem->cells, *const b = block;
    TRY(convert_heights(ctx, dem, block));
    for (int k = SDM_LAYER_HEIGHT; k <= SDM_LAYER_MASK; k++) {
        const Layer from = layer_of(b, (SdmDemLayer)k), to = layer_of(all, (SdmDemLayer)k);
        for (int64_t r = 0; to.cells && r < b->h; r++)
            memcpy(to.cells + (size_t)((b->row0 + r) * all->w + b->col0) * to.bytes,
                   from.cells + (size_t)(r * b->w) * from.bytes, (size_t)b->w * from.bytes);
    }
done:
    return st;
}

/* ---- what callers read ---- */

int64_t sdm_dem_cols(const SdmDem *dem)
{
    return dem->grid.cols;
}

int64_t sdm_dem_rows(const SdmDem *dem)
{
    return dem->grid.rows;
}

void sdm_dem_geotransform(const SdmDem *dem, double out[6])
{
    const double all[6] = {dem->grid.x0, dem->grid.spacing, 0.0, dem->grid.y0, 0.0, -dem->grid.spacing};
    memcpy(out, all, sizeof all);
}

const char *sdm_dem_crs(const SdmDem *dem)
{
    return dem->grid.wkt;
}

const char *sdm_dem_vertical(const SdmDem *dem)
{
    return dem->vertical == SDM_VERTICAL_UNKNOWN ? "" : sdm_vertical_word(dem->vertical);
}

SdmStatus sdm_dem_read(SdmContext *ctx, const SdmDem *dem, SdmDemLayer layer, void *cells, int64_t row_bytes)
{
    const Layer from = layer_of(&dem->cells, layer);
    const size_t row = (size_t)dem->cells.w * from.bytes, pitch = row_bytes ? (size_t)row_bytes : row;
    if (!from.cells || !cells || row_bytes < 0 || pitch < row)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "layer %d with rows of %lld bytes, expected a layer of the DEM and 0 or at "
                        "least %zu bytes",
                        (int)layer, (long long)row_bytes, row);
    for (size_t r = 0; r < (size_t)dem->cells.h; r++)
        memcpy((char *)cells + r * pitch, from.cells + r * row, row);
    return SDM_OK;
}

void sdm_dem_close(SdmDem **dem)
{
    if (!dem || !*dem)
        return;
    sdm_undulation_close(&(*dem)->undulation);
    sdm_free(&(*dem)->undulation_m);
    sdm_block_free(&(*dem)->cells);
    sdm_free(dem);
}
