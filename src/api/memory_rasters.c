/* Rasters in memory: those that callers of the library give, as names that GDAL opens, and those of a
 * product, which they read. */
// SPDX-License-Identifier: Apache-2.0
#include "api/face.h"
#include "geo/gdal_scope.h"
#include "geo/vertical_datum.h"
#include "input/camera.h"
#include "input/source.h"
#include "product/qa_raster.h"

#include <cpl_string.h>
#include <cpl_vsi.h>
#include <inttypes.h>
#include <math.h>
#include <ogr_srs_api.h>
#include <stdlib.h>
#include <string.h>

/* ---- texts ---- */

const char *sdm_texts_keep(SdmTexts *list, const char *text)
{
    char **const more = realloc(list->item, (size_t)(list->count + 1) * sizeof *more);
    if (!more)
        return NULL;
    list->item = more;
    char *const copy = strdup(text);
    if (copy)
        list->item[list->count++] = copy;
    return copy;
}

void sdm_texts_free(SdmTexts *list)
{
    for (int i = 0; i < list->count; i++)
        free(list->item[i]);
    free(list->item);
}

/* ---- a raster -> a name that GDAL opens, for functions and options that take names of files ---- */

enum { QA_NAME = 80 };

/* "/vsimem/NAME.tif" -> "/vsimem/NAME_qa.tif". */
static void name_qa(const char *raster, char qa[QA_NAME])
{
    snprintf(qa, QA_NAME, "%.*s_qa.tif", (int)(strlen(raster) - strlen(".tif")), raster);
}

void sdm_face_remove_rasters(SdmFace *face)
{
    char qa[QA_NAME];
    for (int i = 0; i < face->rasters.count; i++) {
        VSIUnlink(face->rasters.item[i]);
        name_qa(face->rasters.item[i], qa);
        VSIUnlink(qa);
    }
}

static SdmStatus describe(SdmContext *ctx, GDALDatasetH to, const double geotransform[6], const char *crs)
{
    if (!crs)
        return SDM_OK;
    SDM_CLOSED_BY(sdm_srs_free) OGRSpatialReferenceH const srs = OSRNewSpatialReference(NULL);
    const bool good = OSRSetFromUserInput(srs, crs) == OGRERR_NONE;
    OSRSetAxisMappingStrategy(srs, OAMS_TRADITIONAL_GIS_ORDER);
    if (good)
        GDALSetSpatialRef(to, srs);
    GDALSetGeoTransform(to, (double *)(uintptr_t)geotransform);
    return good ? SDM_OK
                : sdm_fail(ctx, SDM_ERR_USAGE, "found the CRS '%.100s', expected one that GDAL understands",
                           crs);
}

/* A copy at a path, NULL where there was no memory for that; what: for the sentence. */
static SdmStatus copy_raster(SdmContext *ctx, GDALDatasetH from, const char *path, const char *what)
{
    SDM_CLOSED_BY(sdm_dataset_close) GDALDatasetH to = NULL;
    if (path)
        to = GDALCreateCopy(GDALGetDriverByName("GTiff"), path, from, false, NULL, NULL, NULL);
    return to ? SDM_OK
              : sdm_fail(ctx, SDM_ERR_MEMORY, "out of memory: a %s of %d x %d cells", what,
                         GDALGetRasterXSize(from), GDALGetRasterYSize(from));
}

SdmStatus sdm_add_raster(SdmContext *ctx, const SdmRasterShape *shape, const void *samples, const char **name)
{
    const SdmImageArray array = {.type = shape->type,
                                 .samples = samples,
                                 .width = shape->width,
                                 .height = shape->height,
                                 .row_bytes = shape->row_bytes,
                                 .has_nodata = !isnan(shape->nodata),
                                 .nodata = shape->nodata};
    *name = NULL;
    for (int i = 0; i < 6; i++)
        if (!isfinite(shape->geotransform[i]))
            return sdm_fail(ctx, SDM_ERR_USAGE,
                            "raster in memory: number %d of its geotransform is %g, expected a finite one",
                            i + 1, shape->geotransform[i]);
    sdm_gdal_register();
    SDM_QUIET;
    SDM_CLOSED_BY(sdm_dataset_close) GDALDatasetH from = NULL;
    PASS(sdm_array_open(ctx, "raster in memory", &array, &from));
    PASS(describe(ctx, from, shape->geotransform, shape->crs));
    SdmFace *const f = ctx->face;
    char own[64];
    snprintf(own, sizeof own, "/vsimem/stereodem_%" PRIxPTR "/raster_%d.tif", (uintptr_t)f,
             f->rasters.count + 1);
    *name = sdm_texts_keep(&f->rasters, own); /* NULL: out of memory */
    return copy_raster(ctx, from, *name, "raster");
}

/* GDAL's metadata domain RPC. */
static char **rpc_metadata(const SdmRpc *r)
{
    const double *const number = (const double *)(const void *)r;
    char **list = NULL;
    for (int i = 0; i < SDM_RPC_TAGS; i++) {
        char text[SDM_RPC_COEFFICIENTS * 26] = "";
        for (int k = 0, n = 0; k < sdm_rpc_count(i); k++)
            n += snprintf(text + n, sizeof text - (size_t)n, "%s%.17g", k ? " " : "",
                          number[sdm_rpc_place(i) + k]);
        list = CSLSetNameValue(list, sdm_rpc_tags[i], text);
    }
    return list;
}

/* Open a raster of sdm_add_raster() to add to it; the caller closes it. */
static SdmStatus open_raster(SdmContext *ctx, const char *name, GDALDatasetH *out)
{
    const SdmFace *const f = ctx->face;
    *out = NULL;
    for (int i = 0; name && i < f->rasters.count; i++)
        if (strcmp(f->rasters.item[i], name) == 0)
            *out = GDALOpen(name, GA_Update);
    return *out ? SDM_OK
                : sdm_fail(ctx, SDM_ERR_USAGE, "found the name '%.100s', expected that of a raster in memory",
                           name ? name : "");
}

static SdmStatus set_metadata(SdmContext *ctx, const char *name, const char *key, const char *value)
{
    SDM_QUIET;
    SDM_CLOSED_BY(sdm_dataset_close) GDALDatasetH raster = NULL;
    PASS(open_raster(ctx, name, &raster));
    GDALSetMetadataItem(raster, key, value, NULL);
    return SDM_OK;
}

SdmStatus sdm_set_raster_time(SdmContext *ctx, const char *name, const char *time_utc)
{
    char moment[32];
    const char *const end = time_utc ? sdm_date_read(time_utc, moment) : NULL;
    if (!end || *end)
        return sdm_fail(
            ctx, SDM_ERR_USAGE,
            "found the time '%.100s' of a raster, expected a date or a time in UTC, such as 2003-05-06 "
            "or 2003-05-06T10:11:12Z",
            time_utc ? time_utc : "");
    return set_metadata(ctx, name, "ACQUISITION_TIME_UTC", moment);
}

SdmStatus sdm_set_raster_vertical(SdmContext *ctx, const char *name, const char *datum)
{
    const int vertical = sdm_vertical_of_word(datum);
    if (vertical == SDM_VERTICAL_UNKNOWN)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "found the vertical datum '%.100s', expected ellipsoid, egm96 or egm2008",
                        datum ? datum : "");
    return set_metadata(ctx, name, "VERTICAL_DATUM", sdm_vertical_datum(vertical)->name);
}

SdmStatus sdm_set_raster_rpc(SdmContext *ctx, const char *name, const SdmRpc *rpc)
{
    SDM_QUIET;
    SDM_CLOSED_BY(sdm_dataset_close) GDALDatasetH raster = NULL;
    PASS(open_raster(ctx, name, &raster));
    SDM_CLOSED_BY(sdm_string_list_free) char **const metadata = rpc_metadata(rpc);
    if (GDALSetMetadata(raster, metadata, "RPC") != CE_None)
        return sdm_fail(ctx, SDM_ERR_MEMORY, "out of memory: the camera of a raster");
    return SDM_OK;
}

SdmStatus sdm_set_raster_mask(SdmContext *ctx, const char *name, const uint16_t *mask, int64_t row_bytes)
{
    SDM_QUIET;
    SDM_CLOSED_BY(sdm_dataset_close) GDALDatasetH raster = NULL, from = NULL;
    double transform[6];
    char qa[QA_NAME];
    PASS(open_raster(ctx, name, &raster));
    const SdmImageArray array = {.type = SDM_SAMPLE_UINT16,
                                 .samples = mask,
                                 .width = GDALGetRasterXSize(raster),
                                 .height = GDALGetRasterYSize(raster),
                                 .row_bytes = row_bytes};
    PASS(sdm_array_open(ctx, "mask in memory", &array, &from));
    GDALGetGeoTransform(raster, transform);
    GDALSetGeoTransform(from, transform);
    GDALSetDescription(GDALGetRasterBand(from, 1), "mask"); /* with its bits as in the QA raster of a stack */
    GDALSetMetadataItem(from, "MASK_BIT_1", sdm_qa_names[1], NULL);
    name_qa(name, qa);
    return copy_raster(ctx, from, qa, "mask");
}

/* ---- a product in memory -> what callers read of it ---- */

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
        return (Layer){.cells = NULL};
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
    return dem->vertical == SDM_VERTICAL_UNKNOWN ? "" : sdm_vertical_datum(dem->vertical)->word;
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
    const float *const value = from->cells;
    const uint16_t *const steps = from->cells;
    if (!from->floats && from->scale <= 0.0)
        memcpy(out, steps + first, n * sizeof *steps);
    else if (from->floats)
        for (size_t i = 0; i < n; i++)
            to[i] = value[first + i] == SDM_NODATA ? NAN : value[first + i];
    else
        for (size_t i = 0; i < n; i++)
            to[i] = steps[first + i] == SDM_QA_NODATA ? NAN : (float)(steps[first + i] * from->scale);
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
