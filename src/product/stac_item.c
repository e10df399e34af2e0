/* Grid, statistics and files of a product -> a STAC item with the extensions projection, raster and
 * processing; the footprint is the convex hull of the heights.  Items -> their collection. */
// SPDX-License-Identifier: Apache-2.0
#include "product/stac_item.h"

#include <cJSON.h>
#include <cpl_conv.h>
#include <math.h>
#include <ogr_srs_api.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EXTENSION "https://stac-extensions.github.io/"

/* ---- footprint ---- */

typedef struct Point {
    double x, y;
} Point;

static bool turns_left(Point a, Point b, Point c)
{
    return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x) > 0.0;
}

/* Corners of the convex hull of n points, which go round it against the clock from its top (Graham 1972), the
 * first once more at the end.  hull: room for n + 1. */
static size_t find_hull(const Point *p, size_t n, Point *hull)
{
    size_t k = 0;
    for (size_t i = 0; i <= n && n > 0; hull[k++] = p[i++ % n])
        while (k >= 2 && !turns_left(hull[k - 2], hull[k - 1], p[i % n]))
            k--;
    return k;
}

/* Left corners of the first preview pixel with a height in each row, down; right ones of the last, up. */
static size_t find_ends(const SdmStacItem *of, Point *out)
{
    const SdmDemStats *const s = of->stats;
    const double side = (double)s->factor * of->grid->spacing,
                 right = of->grid->x0 + (double)of->grid->cols * of->grid->spacing,
                 bottom = of->grid->y0 - (double)of->grid->rows * of->grid->spacing;
    size_t n = 0;
    for (int i = 0; i < 2 * s->rows; i++) {
        const bool up = i >= s->rows;
        const int r = up ? 2 * s->rows - 1 - i : i;
        const int32_t *const row = s->preview_count + (size_t)r * (size_t)s->cols;
        int at = up ? s->cols : 0;
        while (up ? at > 0 && !row[at - 1] : at < s->cols && !row[at])
            at += up ? -1 : 1;
        for (int k = 0; k < 2 && at != (up ? 0 : s->cols); k++)
            out[n++] = (Point){fmin(of->grid->x0 + at * side, right),
                               fmax(of->grid->y0 - (r + (up ? 1 - k : k)) * side, bottom)};
    }
    return n;
}

static double digits(double deg)
{
    return round(1e7 * deg) / 1e7;
}

static SdmStatus add_footprint(SdmContext *ctx, const SdmStacItem *of, cJSON *to)
{
    SDM_CLOSED_BY(sdm_projector_close) SdmProjector *projector = NULL;
    SDM_OWNED Point *ends = NULL, *hull = NULL;
    double box[4] = {INFINITY, INFINITY, -INFINITY, -INFINITY};
    PASS(sdm_alloc(ctx, &ends, 4 * (size_t)of->stats->rows, sizeof *ends, "the footprint"));
    PASS(sdm_alloc(ctx, &hull, 4 * (size_t)of->stats->rows + 1, sizeof *hull, "the footprint"));
    PASS(sdm_projector_open(ctx, of->grid->wkt, &projector));
    const size_t n = find_hull(ends, find_ends(of, ends), hull);
    cJSON *const geometry = cJSON_AddObjectToObject(to, "geometry");
    cJSON_AddStringToObject(geometry, "type", "Polygon");
    cJSON *const ring = cJSON_CreateArray();
    cJSON_AddItemToArray(cJSON_AddArrayToObject(geometry, "coordinates"), ring);
    for (size_t i = 0; i < n; i++) {
        double at[2] = {hull[i].x, hull[i].y};
        sdm_projector_inverse(projector, 1, &at[0], &at[1]);
        at[0] -= i && fabs(at[0] - box[0]) > 180.0 ? copysign(360.0, at[0] - box[0]) : 0.0;
        for (int k = 0; k < 2; k++) {
            at[k] = digits(at[k]);
            box[k] = fmin(box[k], at[k]);
            box[2 + k] = fmax(box[2 + k], at[k]);
        }
        cJSON_AddItemToArray(ring, cJSON_CreateDoubleArray(at, 2));
    }
    cJSON_AddItemToObject(to, "bbox", cJSON_CreateDoubleArray(box, 4));
    return SDM_OK;
}

/* ---- properties ---- */

static void add_projection(const SdmGrid *g, cJSON *to)
{
    char name[80];
    char *wkt = NULL;
    static const char *const format[] = {"FORMAT=WKT2_2019", NULL};
    const double shape[2] = {(double)g->rows, (double)g->cols},
                 transform[6] = {g->spacing, 0.0, g->x0, 0.0, -g->spacing, g->y0},
                 box[4] = {g->x0, g->y0 - shape[0] * g->spacing, g->x0 + shape[1] * g->spacing, g->y0};
    sdm_grid_name(g, name, sizeof name);
    OGRSpatialReferenceH const srs = OSRNewSpatialReference(g->wkt);
    if (strncmp(name, "EPSG:", 5) == 0)
        cJSON_AddStringToObject(to, "proj:code", name);
    else
        cJSON_AddNullToObject(to, "proj:code");
    if (strncmp(name, "EPSG:", 5) != 0 && OSRExportToWktEx(srs, &wkt, format) == OGRERR_NONE)
        cJSON_AddStringToObject(to, "proj:wkt2", wkt);
    OSRDestroySpatialReference(srs);
    CPLFree(wkt);
    cJSON_AddItemToObject(to, "proj:shape", cJSON_CreateDoubleArray(shape, 2));
    cJSON_AddItemToObject(to, "proj:transform", cJSON_CreateDoubleArray(transform, 6));
    cJSON_AddItemToObject(to, "proj:bbox", cJSON_CreateDoubleArray(box, 4));
}

static void add_properties(const SdmStacItem *of, cJSON *to)
{
    char now[32] = "", text[256];
    struct tm tm;
    const time_t s = time(NULL);
    if (gmtime_r(&s, &tm))
        strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", &tm);
    snprintf(text, sizeof text, "Heights in metres above %s, from %s",
             of->datum ? of->datum : "a datum that is not known",
             of->kind && *of->kind ? of->kind : "a stack of DEMs");
    cJSON *const p = cJSON_AddObjectToObject(to, "properties");
    if (of->first_utc && of->last_utc) {
        cJSON_AddNullToObject(p, "datetime");
        cJSON_AddStringToObject(p, "start_datetime", of->first_utc);
        cJSON_AddStringToObject(p, "end_datetime", of->last_utc);
    } else {
        cJSON_AddStringToObject(p, "datetime", of->time_utc && *of->time_utc ? of->time_utc : now);
    }
    cJSON_AddStringToObject(p, "created", now);
    cJSON_AddStringToObject(p, "description", text);
    cJSON_AddNumberToObject(p, "gsd", sdm_grid_spacing_m(of->grid));
    if (of->kind && strncmp(of->kind, "ASTER", 5) == 0) {
        cJSON_AddStringToObject(p, "platform", "terra");
        cJSON_AddItemToArray(cJSON_AddArrayToObject(p, "instruments"), cJSON_CreateString("aster"));
    }
    add_projection(of->grid, p);
    cJSON_AddStringToObject(cJSON_AddObjectToObject(p, "processing:software"), "stereodem", sdm_version());
    snprintf(text, sizeof text, "stereo matching; %.200s holds parameters and inputs",
             sdm_path_base(of->files->path[SDM_FILE_JSON]));
    cJSON_AddStringToObject(p, "processing:lineage", text);
}

/* ---- assets ---- */

static cJSON *add_band(cJSON *bands, const SdmStacItem *of, const char *name, bool is_float)
{
    cJSON *const b = cJSON_CreateObject();
    cJSON_AddItemToArray(bands, b);
    cJSON_AddStringToObject(b, "name", name);
    cJSON_AddStringToObject(b, "data_type", is_float ? "float32" : "uint16");
    cJSON_AddNumberToObject(b, "nodata", is_float ? (double)SDM_NODATA : SDM_QA_NODATA);
    cJSON_AddStringToObject(b, "raster:sampling", "area");
    cJSON_AddNumberToObject(b, "raster:spatial_resolution", sdm_grid_spacing_m(of->grid));
    return b;
}

static void add_heights(const SdmStacItem *of, cJSON *bands)
{
    const SdmDemStats *const s = of->stats;
    cJSON *const b = add_band(bands, of, "height", true);
    cJSON_AddStringToObject(b, "unit", "m");
    cJSON *const figures = cJSON_AddObjectToObject(b, "statistics");
    cJSON_AddNumberToObject(figures, "minimum", (double)s->low * s->step_m);
    cJSON_AddNumberToObject(figures, "maximum", (double)s->high * s->step_m);
    cJSON_AddNumberToObject(figures, "mean", sdm_dem_stats_mean_m(s));
    cJSON_AddNumberToObject(figures, "stddev", sdm_dem_stats_std_m(s));
    cJSON_AddNumberToObject(figures, "valid_percent", 100.0 * (double)s->valid / (double)s->cells);
}

static void add_bands(const SdmStacItem *of, int file, cJSON *asset)
{
    cJSON *const bands = cJSON_AddArrayToObject(asset, "bands");
    if (file == SDM_FILE_DEM)
        add_heights(of, bands);
    for (int k = 0; file == SDM_FILE_QA && k < of->qa->bands; k++)
        cJSON_AddNumberToObject(add_band(bands, of, of->qa->band[k].name, false), "raster:scale",
                                of->qa_scale[k]);
    if (file == SDM_FILE_CHANGE)
        (void)add_band(bands, of, "height minus reference", true);
    if (file == SDM_FILE_CHANGE)
        (void)add_band(bands, of, "left out of the fit", true);
    for (int k = 0; file == SDM_FILE_TREND && k < SDM_TREND_BANDS; k++)
        cJSON_AddStringToObject(add_band(bands, of, sdm_trend_bands[k][0], true), "unit",
                                sdm_trend_bands[k][1]);
}

static void add_assets(const SdmStacItem *of, cJSON *to)
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
#undef COG
    cJSON *const assets = cJSON_AddObjectToObject(to, "assets");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char name[SDM_PATH_SIZE + 2];
        if (!of->files->made[known[i].file])
            continue;
        snprintf(name, sizeof name, "./%s", sdm_path_base(of->files->path[known[i].file]));
        cJSON *const a = cJSON_AddObjectToObject(assets, known[i].key);
        cJSON_AddStringToObject(a, "href", name);
        cJSON_AddStringToObject(a, "type", known[i].type);
        cJSON_AddStringToObject(a, "title", known[i].title);
        cJSON_AddItemToArray(cJSON_AddArrayToObject(a, "roles"), cJSON_CreateString(known[i].role));
        if (known[i].file >= SDM_FILE_QA && known[i].file != SDM_FILE_ORTHO)
            add_bands(of, known[i].file, a);
    }
}

SdmStatus sdm_stac_item(SdmContext *ctx, const SdmStacItem *of, char **out)
{
    static const char *const extension[] = {EXTENSION "projection/v2.0.0/schema.json",
                                            EXTENSION "raster/v2.0.0/schema.json",
                                            EXTENSION "processing/v1.2.0/schema.json"};
    SdmStatus st = SDM_OK;
    const char *const dem = sdm_path_base(of->files->path[SDM_FILE_DEM]);
    char id[SDM_PATH_SIZE];
    cJSON *const root = cJSON_CreateObject();
    snprintf(id, sizeof id, "%.*s", (int)sdm_path_stem(dem), dem);
    cJSON_AddStringToObject(root, "type", "Feature");
    cJSON_AddStringToObject(root, "stac_version", "1.1.0");
    cJSON_AddItemToObject(root, "stac_extensions", cJSON_CreateStringArray(extension, 3));
    cJSON_AddStringToObject(root, "id", id);
    TRY(add_footprint(ctx, of, root));
    add_properties(of, root);
    cJSON_AddArrayToObject(root, "links");
    add_assets(of, root);
    *out = cJSON_Print(root);
    if (!*out)
        st = sdm_fail(ctx, SDM_ERR_MEMORY, "out of memory: the STAC item");
done:
    cJSON_Delete(root);
    return st;
}

/* ---- collection ---- */

static const char *text_of(const cJSON *of, const char *name)
{
    const char *const text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(of, name));
    return text ? text : "";
}

static void add_link(cJSON *links, const char *relation, const char *path, const char *type)
{
    char name[SDM_PATH_SIZE + 2];
    cJSON *const link = cJSON_CreateObject();
    snprintf(name, sizeof name, "./%s", sdm_path_base(path));
    cJSON_AddStringToObject(link, "rel", relation);
    cJSON_AddStringToObject(link, "href", name);
    cJSON_AddStringToObject(link, "type", type);
    cJSON_AddItemToArray(links, link);
}

void sdm_stac_collect(SdmStacCollection *c, const char *path)
{
    enum { LARGEST = 4 << 20 };
    SDM_OWNED char *text = NULL;
    size_t size;
    if (sdm_file_read(NULL, path, LARGEST, &text, &size) != SDM_OK)
        return;
    cJSON *const item = cJSON_Parse(text);
    const cJSON *const box = cJSON_GetObjectItemCaseSensitive(item, "bbox"),
                       *const of = cJSON_GetObjectItemCaseSensitive(item, "properties");
    const char *const time = text_of(of, "datetime");
    for (int k = 0; k < 4; k++) {
        const double v = cJSON_GetNumberValue(cJSON_GetArrayItem(box, k));
        c->box[k] = c->items == 0 ? v : k < 2 ? fmin(c->box[k], v) : fmax(c->box[k], v);
    }
    if (c->items == 0 || strcmp(time, c->first) < 0)
        snprintf(c->first, sizeof c->first, "%s", time);
    if (c->items == 0 || strcmp(time, c->last) > 0)
        snprintf(c->last, sizeof c->last, "%s", time);
    if (!c->links)
        c->links = cJSON_CreateArray();
    add_link(c->links, "item", path, "application/geo+json");
    c->items++;
    cJSON_Delete(item);
}

SdmStatus sdm_stac_collection_close(SdmContext *ctx, SdmStacCollection *c, const char *path)
{
    SdmStatus st = SDM_OK;
    const char *const span[2] = {c->first, c->last};
    char *text = NULL;
    cJSON *const root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "type", "Collection");
    cJSON_AddStringToObject(root, "stac_version", "1.1.0");
    cJSON_AddStringToObject(root, "id", "dems");
    cJSON_AddStringToObject(root, "description", "Digital elevation models by stereo matching");
    cJSON_AddStringToObject(root, "license", "other");
    cJSON *const extent = cJSON_AddObjectToObject(root, "extent");
    cJSON_AddItemToArray(cJSON_AddArrayToObject(cJSON_AddObjectToObject(extent, "spatial"), "bbox"),
                         cJSON_CreateDoubleArray(c->box, 4));
    cJSON_AddItemToArray(cJSON_AddArrayToObject(cJSON_AddObjectToObject(extent, "temporal"), "interval"),
                         cJSON_CreateStringArray(span, 2));
    cJSON_AddItemToObject(root, "links", c->links);
    text = c->items > 1 ? cJSON_Print(root) : NULL;
    if (text)
        st = sdm_file_write(ctx, path, text, strlen(text));
    cJSON_free(text);
    cJSON_Delete(root);
    *c = (SdmStacCollection){0};
    return st;
}
