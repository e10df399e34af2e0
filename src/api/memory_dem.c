/* A product in memory -> what callers of the library read of it. */
// SPDX-License-Identifier: Apache-2.0
#include "api/face.h"
#include "geo/vertical_datum.h"

#include <math.h>
#include <string.h>

/* A layer: a band of a raster of the product. */
typedef struct Layer {
    const void *cells; /* rows x cols; NULL: the DEM has no such layer */
    double scale;      /* of a band of steps; 0: the cells are taken as they are */
    bool floats;       /* SDM_NODATA where there is no value */
} Layer;

static Layer layer_of(const SdmKeptProduct *k, SdmDemLayer layer)
{
    static const struct {
        uint8_t file, band; /* of the QA raster: its kind */
    } place[] = {[SDM_LAYER_HEIGHT] = {SDM_FILE_DEM, 0},
                 [SDM_LAYER_ORTHO] = {SDM_FILE_ORTHO, 0},
                 [SDM_LAYER_SCORE] = {SDM_FILE_QA, SDM_BAND_SCORE},
                 [SDM_LAYER_RAY_ERROR] = {SDM_FILE_QA, SDM_BAND_RAY_ERROR},
                 [SDM_LAYER_SPREAD] = {SDM_FILE_QA, SDM_BAND_SPREAD},
                 [SDM_LAYER_COUNT] = {SDM_FILE_QA, SDM_BAND_COUNT},
                 [SDM_LAYER_MASK] = {SDM_FILE_QA, SDM_BAND_MASK},
                 [SDM_LAYER_REASON] = {SDM_FILE_QA, SDM_BAND_REASON},
                 [SDM_LAYER_ERROR] = {SDM_FILE_QA, SDM_BAND_ERROR},
                 [SDM_LAYER_PAIRS] = {SDM_FILE_QA, SDM_BAND_PAIRS},
                 [SDM_LAYER_CHANGE] = {SDM_FILE_CHANGE, 0},
                 [SDM_LAYER_LEFT_OUT] = {SDM_FILE_CHANGE, 1},
                 [SDM_LAYER_RATE] = {SDM_FILE_TREND, 0},
                 [SDM_LAYER_RATE_ERROR] = {SDM_FILE_TREND, 1},
                 [SDM_LAYER_DATES] = {SDM_FILE_TREND, 2},
                 [SDM_LAYER_SPAN] = {SDM_FILE_TREND, 3},
                 [SDM_LAYER_TREND_NMAD] = {SDM_FILE_TREND, 4}};
    const size_t plane = (size_t)k->grid.cols * (size_t)k->grid.rows;
    if ((unsigned)layer >= sizeof place / sizeof *place)
        return (Layer){NULL, 0.0, false};
    const char *const cells = k->raster[place[layer].file].cells;
    size_t band = place[layer].band;
    if (place[layer].file != SDM_FILE_QA)
        return (Layer){cells ? cells + band * plane * sizeof(float) : NULL, 0.0, true};
    for (int i = 0; i < k->qa->bands; i++)
        if ((size_t)k->qa->band[i].kind == band)
            return (Layer){cells + (size_t)i * plane * sizeof(uint16_t),
                           sdm_qa_scale(k->qa->band[i].kind, k->metres_step), false};
    return (Layer){NULL, 0.0, false};
}

SdmStatus sdm_dem_open(SdmContext *ctx, int vertical, SdmDem **out)
{
    PASS(sdm_alloc(ctx, out, 1, sizeof **out, "a DEM"));
    (*out)->vertical = vertical;
    return SDM_OK;
}

int64_t sdm_dem_cols(const SdmDem *dem)
{
    return dem->kept.grid.cols;
}

int64_t sdm_dem_rows(const SdmDem *dem)
{
    return dem->kept.grid.rows;
}

void sdm_dem_geotransform(const SdmDem *dem, double out[6])
{
    const SdmGrid *const g = &dem->kept.grid;
    const double all[6] = {g->x0, g->spacing, 0.0, g->y0, 0.0, -g->spacing};
    memcpy(out, all, sizeof all);
}

const char *sdm_dem_crs(const SdmDem *dem)
{
    return dem->kept.grid.wkt;
}

const char *sdm_dem_vertical(const SdmDem *dem)
{
    return dem->vertical == SDM_VERTICAL_UNKNOWN ? "" : sdm_vertical_word(dem->vertical);
}

const char *sdm_dem_report_json(const SdmDem *dem)
{
    return dem->kept.json.data;
}

const char *sdm_dem_report_html(const SdmDem *dem)
{
    return dem->kept.html.data;
}

int sdm_dem_has_layer(const SdmDem *dem, SdmDemLayer layer)
{
    return layer_of(&dem->kept, layer).cells != NULL;
}

/* A row of n cells from cell `first` of the layer on. */
static void read_row(const Layer *from, size_t first, size_t n, void *out)
{
    float *const to = out;
    if (!from->floats && from->scale <= 0.0) {
        memcpy(out, (const uint16_t *)from->cells + first, n * sizeof(uint16_t));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const float value = from->floats ? ((const float *)from->cells)[first + i] : 0.0F;
        const uint16_t steps = from->floats ? 0 : ((const uint16_t *)from->cells)[first + i];
        if (from->floats)
            to[i] = value == SDM_NODATA ? NAN : value;
        else
            to[i] = steps == SDM_QA_NODATA ? NAN : (float)(steps * from->scale);
    }
}

SdmStatus sdm_dem_read(SdmContext *ctx, const SdmDem *dem, SdmDemLayer layer, void *cells, int64_t row_bytes)
{
    const Layer from = layer_of(&dem->kept, layer);
    const size_t cols = (size_t)dem->kept.grid.cols,
                 row = cols * (from.floats || from.scale > 0.0 ? sizeof(float) : sizeof(uint16_t)),
                 pitch = row_bytes ? (size_t)row_bytes : row;
    if (!from.cells || !cells || row_bytes < 0 || pitch < row)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "layer %d with rows of %lld bytes, expected a layer of the DEM and 0 or at "
                        "least %zu bytes",
                        (int)layer, (long long)row_bytes, row);
    for (size_t r = 0; r < (size_t)dem->kept.grid.rows; r++)
        read_row(&from, r * cols, cols, (char *)cells + r * pitch);
    return SDM_OK;
}

void sdm_dem_close(SdmDem **dem)
{
    if (!dem || !*dem)
        return;
    sdm_kept_product_free(&(*dem)->kept);
    sdm_free(dem);
}
