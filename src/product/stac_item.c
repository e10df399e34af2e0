/* Grid, statistics and files of a product -> a STAC item with the extensions projection, raster and
 * processing; the footprint is the convex hull of the heights.  Items -> their collection. */
// SPDX-License-Identifier: Apache-2.0
#include "product/product.h"
#include "core/file.h"
#include "core/math.h"
#include "geo/projector.h"
#include "geo/vertical_datum.h"

#include <cJSON.h>
#include <cpl_conv.h>
#include <cpl_string.h>
#include <math.h>
#include <ogr_srs_api.h>
#include <string.h>

#define EXTENSION "https://stac-extensions.github.io/"

/* ---- footprint ---- */

typedef struct Point {
    double x, y;
} Point;

/* Corners of the convex hull of n points, which go round it against the clock from its top (Graham 1972), the
 * first once more at the end.  hull: room for n + 1. */
static size_t find_hull(const Point *p, size_t n, Point *hull)
{
    size_t k = 0;
    for (size_t i = 0; i <= n && n > 0; hull[k++] = p[i++ % n])
        while (k >= 2 && (hull[k - 1].x - hull[k - 2].x) * (p[i % n].y - hull[k - 2].y) <=
                             (hull[k - 1].y - hull[k - 2].y) * (p[i % n].x - hull[k - 2].x))
            k--; /* no turn to the left */
    return k;
}

/* Left corners of the first preview pixel with a height in each row, down; right ones of the last, up. */
static size_t find_ends(const SdmProduct *p, Point *out)
{
    const SdmDemStats *const s = &p->stats;
    const SdmGrid *const g = &p->grid;
    const double side = (double)s->factor * g->spacing, right = g->x0 + (double)g->cols * g->spacing,
                 bottom = g->y0 - (double)g->rows * g->spacing;
    size_t n = 0;
    for (int i = 0; i < 2 * s->rows; i++) {
        const bool up = i >= s->rows;
        const int r = up ? 2 * s->rows - 1 - i : i;
        const int32_t *const row = s->preview_count + (size_t)r * (size_t)s->cols;
        int at = up ? s->cols : 0;
        while (up ? at > 0 && !row[at - 1] : at < s->cols && !row[at])
            at += up ? -1 : 1;
        for (int k = 0; k < 2 && at != (up ? 0 : s->cols); k++)
            out[n++] =
                (Point){fmin(g->x0 + at * side, right), fmax(g->y0 - (r + (up ? 1 - k : k)) * side, bottom)};
    }
    return n;
}

static SdmStatus add_footprint(SdmContext *ctx, const SdmProduct *p, cJSON *to)
{
    SDM_CLOSED_BY(sdm_projector_close) SdmProjector *projector = NULL;
    SDM_OWNED Point *ends = NULL, *hull = NULL;
    double box[4] = SDM_NO_BOUNDS;
    const size_t most = 4 * (size_t)p->stats.rows + 1;
    PASS(SDM_ALLOC(ctx, "the footprint", SDM_ARRAY(ends, most), SDM_ARRAY(hull, most)));
    PASS(sdm_projector_open(ctx, p->grid.wkt, &projector));
    const size_t n = find_hull(ends, find_ends(p, ends), hull);
    cJSON *const geometry = cJSON_AddObjectToObject(to, "geometry");
    cJSON_AddStringToObject(geometry, "type", "Polygon");
    cJSON *const ring = cJSON_CreateArray();
    cJSON_AddItemToArray(cJSON_AddArrayToObject(geometry, "coordinates"), ring);
    for (size_t i = 0; i < n; i++) {
        double at[2] = {hull[i].x, hull[i].y};
        sdm_projector_inverse(projector, 1, &at[0], &at[1]);
        at[0] -= i && fabs(at[0] - box[0]) > 180.0 ? copysign(360.0, at[0] - box[0]) : 0.0;
        for (int k = 0; k < 2; k++)
            at[k] = round(1e7 * at[k]) / 1e7;
        sdm_bounds_add(box, at[0], at[1]);
        cJSON_AddItemToArray(ring, cJSON_CreateDoubleArray(at, 2));
    }
    cJSON_AddItemToObject(to, "bbox", cJSON_CreateDoubleArray(box, 4));
    return SDM_OK;
}

/* ---- properties ---- */

static void add_projection(const SdmGrid *g, cJSON *to)
{
    char name[80];
    const double shape[2] = {(double)g->rows, (double)g->cols},
                 transform[6] = {g->spacing, 0.0, g->x0, 0.0, -g->spacing, g->y0},
                 box[4] = {g->x0, g->y0 - shape[0] * g->spacing, g->x0 + shape[1] * g->spacing, g->y0};
    sdm_grid_name(g, name, sizeof name);
    const bool has_code = strncmp(name, "EPSG:", 5) == 0;
    cJSON_AddItemToObject(to, "proj:code", has_code ? cJSON_CreateString(name) : cJSON_CreateNull());
    if (!has_code) {
        static const char *const format[] = {"FORMAT=WKT2_2019", NULL};
        char *wkt = NULL;
        OGRSpatialReferenceH const srs = OSRNewSpatialReference(g->wkt);
        if (OSRExportToWktEx(srs, &wkt, format) == OGRERR_NONE)
            cJSON_AddStringToObject(to, "proj:wkt2", wkt);
        OSRDestroySpatialReference(srs);
        CPLFree(wkt);
    }
    cJSON_AddItemToObject(to, "proj:shape", cJSON_CreateDoubleArray(shape, 2));
    cJSON_AddItemToObject(to, "proj:transform", cJSON_CreateDoubleArray(transform, 6));
    cJSON_AddItemToObject(to, "proj:bbox", cJSON_CreateDoubleArray(box, 4));
}

static void add_properties(const SdmProduct *product, cJSON *to)
{
    const SdmProductRequest *const request = &product->request;
    const char *const time = CSLFetchNameValue(product->metadata, "ACQUISITION_TIME_UTC"),
                      *const kind = CSLFetchNameValue(product->metadata, "SCENE_KIND");
    char now[24];
    const char *const datum = request->datum_unknown ? "a datum that is not known"
                                                     : sdm_vertical_datum(request->options->vertical)->phrase,
                      *const source = kind ? kind : "a stack of DEMs";
    sdm_time_now(now);
    cJSON *const p = cJSON_AddObjectToObject(to, "properties");
    if (request->first_utc && request->last_utc) {
        cJSON_AddNullToObject(p, "datetime");
        SDM_JSON(p, SDM_FIELD("start_datetime", request->first_utc),
                 SDM_FIELD("end_datetime", request->last_utc));
    } else {
        cJSON_AddStringToObject(p, "datetime", time ? time : now);
    }
    SDM_JSON(p, SDM_FIELD("created", now),
             SDM_FIELD("description", CPLSPrintf("Heights in metres above %s, from %s", datum, source)),
             SDM_FIELD("gsd", sdm_grid_spacing_m(&product->grid)));
    if (kind && strncmp(kind, "ASTER", 5) == 0) {
        cJSON_AddStringToObject(p, "platform", "terra");
        cJSON_AddItemToArray(cJSON_AddArrayToObject(p, "instruments"), cJSON_CreateString("aster"));
    }
    add_projection(&product->grid, p);
    cJSON_AddStringToObject(cJSON_AddObjectToObject(p, "processing:software"), "stereodem", sdm_version());
    cJSON_AddStringToObject(p, "processing:lineage",
                            CPLSPrintf("stereo matching; %.200s holds parameters and inputs",
                                       sdm_path_base(product->files->path[SDM_FILE_JSON])));
}

/* ---- assets ---- */

static void add_bands(const SdmProduct *p, int file, cJSON *asset)
{
    const bool is_qa = file == SDM_FILE_QA;
    cJSON *const bands = cJSON_AddArrayToObject(asset, "bands");
    for (int k = 0; k < sdm_product_bands(p, file); k++) {
        const SdmProductBand band = sdm_product_band(p, file, k);
        cJSON *const b = cJSON_CreateObject();
        cJSON_AddItemToArray(bands, b);
        SDM_JSON(b, SDM_FIELD("name", band.name), SDM_FIELD("data_type", is_qa ? "uint16" : "float32"),
                 SDM_FIELD("nodata", is_qa ? SDM_QA_NODATA : (double)SDM_NODATA),
                 SDM_FIELD("raster:sampling", "area"),
                 SDM_FIELD("raster:spatial_resolution", sdm_grid_spacing_m(&p->grid)));
        if (is_qa)
            cJSON_AddNumberToObject(b, "raster:scale", band.scale > 0.0 ? band.scale : 1.0);
        if (*band.unit)
            cJSON_AddStringToObject(b, "unit", band.unit);
        if (file != SDM_FILE_DEM)
            continue;
        const SdmDemStats *const s = &p->stats;
        SDM_JSON(cJSON_AddObjectToObject(b, "statistics"), SDM_FIELD("minimum", (double)s->low * s->step_m),
                 SDM_FIELD("maximum", (double)s->high * s->step_m),
                 SDM_FIELD("mean", sdm_dem_stats_mean_m(s)), SDM_FIELD("stddev", sdm_dem_stats_std_m(s)),
                 SDM_FIELD("valid_percent", 100.0 * (double)s->valid / (double)s->cells));
    }
}

static void add_assets(const SdmProduct *p, cJSON *to)
{
#define COG "image/tiff; application=geotiff; profile=cloud-optimized"
    static const struct {
        int file;
        const char *key, *type, *role, *title;
    } known[] = {{SDM_FILE_DEM, "dem", COG, "data", "Heights"},
                 {SDM_FILE_QA, "quality", COG, "metadata", "Quality of each cell"},
                 {SDM_FILE_ORTHO, "ortho", COG, "data", "Orthoimage"},
                 {SDM_FILE_CHANGE, "change", COG, "data", "Height minus reference"},
                 {SDM_FILE_TREND, "trend", COG, "data", "Rate of the heights, and its error"},
                 {SDM_FILE_LAS, "points", "application/vnd.las", "data", "Point cloud"},
                 {SDM_FILE_LAZ, "points", "application/vnd.laszip", "data", "Point cloud"},
                 {SDM_FILE_JSON, "report", "application/json", "metadata", "Report"},
                 {SDM_FILE_HTML, "page", "text/html", "overview", "Report as a web page"},
                 {SDM_FILE_PNG, "relief", "image/png", "thumbnail", "Shaded relief"}};
    cJSON *const assets = cJSON_AddObjectToObject(to, "assets");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!p->files->made[known[i].file])
            continue;
        const char *const name = CPLSPrintf("./%s", sdm_path_base(p->files->path[known[i].file]));
        cJSON *const a = cJSON_AddObjectToObject(assets, known[i].key);
        SDM_JSON(a, SDM_FIELD("href", name), SDM_FIELD("type", known[i].type),
                 SDM_FIELD("title", known[i].title));
        cJSON_AddItemToArray(cJSON_AddArrayToObject(a, "roles"), cJSON_CreateString(known[i].role));
        if (strcmp(known[i].type, COG) == 0 && known[i].file != SDM_FILE_ORTHO)
            add_bands(p, known[i].file, a);
    }
#undef COG
}

void sdm_stac_item(const SdmProduct *p, SdmText *out)
{
    static const char *const extension[] = {EXTENSION "projection/v2.0.0/schema.json",
                                            EXTENSION "raster/v2.0.0/schema.json",
                                            EXTENSION "processing/v1.2.0/schema.json"};
    const char *const dem = sdm_path_base(p->files->path[SDM_FILE_DEM]);
    cJSON *const root = cJSON_CreateObject();
    SDM_JSON(root, SDM_FIELD("type", "Feature"), SDM_FIELD("stac_version", "1.1.0"));
    cJSON_AddItemToObject(root, "stac_extensions", cJSON_CreateStringArray(extension, 3));
    cJSON_AddStringToObject(root, "id", CPLSPrintf("%.*s", (int)sdm_path_stem(dem), dem));
    out->st = add_footprint(out->ctx, p, root);
    add_properties(p, root);
    cJSON_AddArrayToObject(root, "links");
    add_assets(p, root);
    sdm_text_json(out, root, false);
    cJSON_Delete(root);
}

/* ---- collection ---- */

void sdm_stac_collect(SdmStacCollection *c, const char *path)
{
    enum { LARGEST = 4 << 20 };
    SDM_OWNED char *text = NULL;
    size_t size;
    if (sdm_file_read(NULL, path, LARGEST, &text, &size) != SDM_OK)
        return;
    cJSON *const item = cJSON_Parse(text), *const link = cJSON_CreateObject();
    const cJSON *const box = cJSON_GetObjectItemCaseSensitive(item, "bbox"),
                       *const of = cJSON_GetObjectItemCaseSensitive(item, "properties");
    const char *const told = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(of, "datetime")),
                      *const time = told ? told : "";
    if (c->items == 0) {
        sdm_bounds_clear(c->box);
        c->links = cJSON_CreateArray();
    }
    for (int k = 0; k < 4; k += 2)
        sdm_bounds_add(c->box, cJSON_GetNumberValue(cJSON_GetArrayItem(box, k)),
                       cJSON_GetNumberValue(cJSON_GetArrayItem(box, k + 1)));
    if (c->items == 0 || strcmp(time, c->first) < 0)
        snprintf(c->first, sizeof c->first, "%s", time);
    if (c->items == 0 || strcmp(time, c->last) > 0)
        snprintf(c->last, sizeof c->last, "%s", time);
    SDM_JSON(link, SDM_FIELD("rel", "item"), SDM_FIELD("href", CPLSPrintf("./%s", sdm_path_base(path))),
             SDM_FIELD("type", "application/geo+json"));
    cJSON_AddItemToArray(c->links, link);
    c->items++;
    cJSON_Delete(item);
}

SdmStatus sdm_stac_collection_close(SdmContext *ctx, SdmStacCollection *c, const char *path)
{
    SDM_CLOSED_BY(sdm_text_close) SdmText text = {.ctx = ctx};
    const char *const span[2] = {c->first, c->last};
    const bool many = c->items > 1;
    cJSON *const root = cJSON_CreateObject();
    SDM_JSON(root, SDM_FIELD("type", "Collection"), SDM_FIELD("stac_version", "1.1.0"),
             SDM_FIELD("id", "dems"), SDM_FIELD("description", "Digital elevation models by stereo matching"),
             SDM_FIELD("license", "other"));
    cJSON *const extent = cJSON_AddObjectToObject(root, "extent");
    cJSON_AddItemToArray(cJSON_AddArrayToObject(cJSON_AddObjectToObject(extent, "spatial"), "bbox"),
                         cJSON_CreateDoubleArray(c->box, 4));
    cJSON_AddItemToArray(cJSON_AddArrayToObject(cJSON_AddObjectToObject(extent, "temporal"), "interval"),
                         cJSON_CreateStringArray(span, 2));
    cJSON_AddItemToObject(root, "links", c->links);
    sdm_text_json(&text, root, false);
    cJSON_Delete(root);
    *c = (SdmStacCollection){0};
    PASS(text.st);
    return many ? sdm_file_write(ctx, path, text.data, text.size) : SDM_OK;
}
