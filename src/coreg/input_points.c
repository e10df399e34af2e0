/* A vector file or a text table -> points with heights in the CRS of the DEM. */
// SPDX-License-Identifier: Apache-2.0
#include "core/path.h"
#include "coreg/input_raster.h"
#include "geo/first_band.h"
#include "geo/gdal_scope.h"

#include <cpl_conv.h>
#include <math.h>
#include <ogr_api.h>
#include <string.h>
#include <strings.h>

#define HEIGHT_NAMES "z, height, h, elevation, elev, altitude, alt, h_li, h_mean or h_te_best_fit"

static bool is_table(const char *path)
{
    return sdm_path_ends_in(path, ".csv") || sdm_path_ends_in(path, ".txt") || sdm_path_ends_in(path, ".tsv");
}

bool sdm_input_is_points(const char *path)
{
    if (is_table(path))
        return true;
    GDALDatasetH file = sdm_open_file(path, GDAL_OF_RASTER);
    const bool raster = file != NULL;
    if (!raster)
        file = sdm_open_file(path, GDAL_OF_VECTOR);
    const bool opened = file != NULL;
    if (file)
        GDALClose(file);
    return opened && !raster;
}

/* ---- columns ---- */

typedef struct Columns {
    int x, y, height; /* fields; x < 0: the geometry has the places; height < 0: the geometry's Z */
    bool degrees;     /* x and y are longitude and latitude by their names */
} Columns;

/* The field with a name, without regard to case and blanks around it; -1: none. */
static int find_field(OGRFeatureDefnH fields, const char *name)
{
    const size_t n = strlen(name);
    for (int i = 0; i < OGR_FD_GetFieldCount(fields); i++) {
        const char *have = OGR_Fld_GetNameRef(OGR_FD_GetFieldDefn(fields, i));
        have += strspn(have, " \t");
        if (strncasecmp(have, name, n) == 0 && have[n + strspn(have + n, " \t")] == '\0')
            return i;
    }
    return -1;
}

static Columns find_columns(OGRFeatureDefnH fields)
{
    static const char *const places[][2] = {{"x", "y"},     {"easting", "northing"},   {"east", "north"},
                                            {"lon", "lat"}, {"longitude", "latitude"}, {"long", "lat"},
                                            {"lng", "lat"}};
    static const char *const heights[] = {"z",        "height", "h",    "elevation", "elev",
                                          "altitude", "alt",    "h_li", "h_mean",    "h_te_best_fit"};
    Columns c = {.x = -1, .y = -1, .height = -1};
    for (int k = 0; k < 7 && c.x < 0; k++) {
        const int x = find_field(fields, places[k][0]), y = find_field(fields, places[k][1]);
        if (x >= 0 && y >= 0)
            c = (Columns){.x = x, .y = y, .height = -1, .degrees = k >= 3};
    }
    for (int k = 0; k < 10 && c.height < 0; k++)
        c.height = find_field(fields, heights[k]);
    return c;
}

static const char *field_name(OGRFeatureDefnH fields, int i)
{
    return OGR_Fld_GetNameRef(OGR_FD_GetFieldDefn(fields, i));
}

/* ---- features ---- */

typedef struct Reading {
    SdmContext *ctx;
    const char *path;
    Columns columns;
    OGRFeatureDefnH fields;
    SdmInputPoints *out;
    size_t room;
    int64_t features, without_height;
} Reading;

static SdmStatus push(Reading *r, double x, double y, double height_m)
{
    SdmInputPoints *const p = r->out;
    double **const array[3] = {&p->x, &p->y, &p->height_m};
    if (!isfinite(height_m) || !(fabs(height_m) <= 1e5) || !isfinite(x) || !isfinite(y)) {
        r->without_height++;
        return SDM_OK;
    }
    if ((size_t)p->count == r->room) {
        const size_t room = r->room ? 2 * r->room : 4096;
        for (int k = 0; k < 3; k++) {
            double *larger = NULL;
            PASS(sdm_alloc(r->ctx, &larger, room, sizeof *larger, "points"));
            if (p->count)
                memcpy(larger, *array[k], (size_t)p->count * sizeof *larger);
            sdm_free(array[k]);
            *array[k] = larger;
        }
        r->room = room;
    }
    p->x[p->count] = x;
    p->y[p->count] = y;
    p->height_m[p->count++] = height_m;
    return SDM_OK;
}

/* Number in a field; NaN where it is empty. */
static SdmStatus read_number(const Reading *r, OGRFeatureH feature, int field, double *out)
{
    *out = NAN;
    if (!OGR_F_IsFieldSetAndNotNull(feature, field))
        return SDM_OK;
    const char *const text = OGR_F_GetFieldAsString(feature, field);
    char *end = NULL;
    const double value = CPLStrtod(text, &end);
    if (text[strspn(text, " \t")] == '\0')
        return SDM_OK;
    if (end == text || end[strspn(end, " \t")] != '\0')
        return sdm_fail(r->ctx, SDM_ERR_INPUT,
                        "reference %s: line %lld, column %s is '%.40s', expected a number", r->path,
                        (long long)r->features + 1, field_name(r->fields, field), text);
    *out = value;
    return SDM_OK;
}

static SdmStatus read_geometry(Reading *r, OGRGeometryH geometry, double height_m)
{
    const OGRwkbGeometryType type = geometry ? wkbFlatten(OGR_G_GetGeometryType(geometry)) : wkbUnknown;
    if (type == wkbPoint && !OGR_G_IsEmpty(geometry)) {
        const double z = OGR_G_Is3D(geometry) ? OGR_G_GetZ(geometry, 0) : (double)NAN;
        return push(r, OGR_G_GetX(geometry, 0), OGR_G_GetY(geometry, 0),
                    r->columns.height < 0 ? z : height_m);
    }
    for (int k = 0; type == wkbMultiPoint && k < OGR_G_GetGeometryCount(geometry); k++)
        PASS(read_geometry(r, OGR_G_GetGeometryRef(geometry, k), height_m));
    return SDM_OK;
}

static SdmStatus read_feature(Reading *r, OGRFeatureH feature)
{
    const Columns *const c = &r->columns;
    double x, y, height_m = NAN;
    r->features++;
    if (c->height >= 0)
        PASS(read_number(r, feature, c->height, &height_m));
    if (c->x < 0)
        return read_geometry(r, OGR_F_GetGeometryRef(feature), height_m);
    PASS(read_number(r, feature, c->x, &x));
    PASS(read_number(r, feature, c->y, &y));
    return push(r, x, y, height_m);
}

/* Which columns hold places and heights. */
static SdmStatus choose_columns(Reading *r, OGRLayerH layer)
{
    const OGRwkbGeometryType type = OGR_L_GetGeomType(layer);
    r->fields = OGR_L_GetLayerDefn(layer);
    r->columns = find_columns(r->fields);
    if (type != wkbNone) {
        r->columns.x = r->columns.y = -1;
        r->columns.degrees = false;
        if (OGR_GT_HasZ(type))
            r->columns.height = -1;
        return SDM_OK;
    }
    if (r->columns.x < 0 || r->columns.height < 0)
        return sdm_fail(r->ctx, SDM_ERR_INPUT,
                        "reference %s: its first line names no column of %s; expected x and y, or lon and "
                        "lat, and one of "
                        "" HEIGHT_NAMES "",
                        r->path, r->columns.x < 0 ? "places" : "heights");
    return SDM_OK;
}

static SdmStatus read_features(Reading *r, OGRLayerH layer)
{
    OGR_L_ResetReading(layer);
    for (OGRFeatureH feature; (feature = OGR_L_GetNextFeature(layer)) != NULL;) {
        const SdmStatus st = read_feature(r, feature);
        OGR_F_Destroy(feature);
        PASS(st);
        if (r->features % 65536 == 0)
            PASS(sdm_check_stop(r->ctx));
    }
    if (r->out->count == 0 && r->without_height > 0)
        return sdm_fail(
            r->ctx, SDM_ERR_INPUT,
            "reference %s: its points have no heights; expected a Z coordinate, or a column " HEIGHT_NAMES,
            r->path);
    if (r->out->count == 0)
        return sdm_fail(r->ctx, SDM_ERR_INPUT, "reference %s: its first layer has no points", r->path);
    return SDM_OK;
}

/* ---- CRS ---- */

/* The CRS of the points: the layer's, else EPSG:4326 for longitude and latitude, else the DEM's. */
static SdmStatus choose_srs(Reading *r, OGRLayerH layer, const SdmInputRaster *dem, SdmInputRaster *raster)
{
    OGRSpatialReferenceH const declared = OGR_L_GetSpatialRef(layer);
    SDM_CLOSED_BY(sdm_srs_free) OGRSpatialReferenceH degrees = NULL;
    const Columns *const c = &r->columns;
    char places[64] = "their geometry", height[64] = "Z";
    SdmDatumFound *const datum = &raster->datum;
    datum->vertical = sdm_vertical_of_srs(declared, NULL, datum->name, sizeof datum->name);
    if (declared) {
        PASS(sdm_input_raster_set_srs(r->ctx, raster, declared));
    } else if (c->degrees) {
        degrees = OSRNewSpatialReference(NULL);
        OSRImportFromEPSG(degrees, 4326);
        PASS(sdm_input_raster_set_srs(r->ctx, raster, degrees));
    } else {
        PASS(sdm_input_raster_set_srs(r->ctx, raster, dem->srs));
    }
    if (c->x >= 0)
        snprintf(places, sizeof places, "columns %.20s and %.20s", field_name(r->fields, c->x),
                 field_name(r->fields, c->y));
    if (c->height >= 0)
        snprintf(height, sizeof height, "column %.20s", field_name(r->fields, c->height));
    snprintf(r->out->source, sizeof r->out->source, "places from %s in %.60s, heights from %s", places,
             declared     ? OSRGetName(raster->srs)
             : c->degrees ? "EPSG:4326 (assumed)"
                          : "the DEM's CRS (assumed)",
             height);
    return SDM_OK;
}

/* Bring the points to the DEM's CRS; NaN where that is impossible. */
static SdmStatus transform(SdmContext *ctx, const SdmInputRaster *dem, const SdmInputRaster *raster,
                           SdmInputPoints *p)
{
    enum { CHUNK = 4096 };
    int good[CHUNK];
    if (OSRIsSame(dem->srs, raster->srs))
        return SDM_OK;
    OGRCoordinateTransformationH const change = OCTNewCoordinateTransformation(raster->srs, dem->srs);
    for (int64_t i = 0; change && i < p->count; i += CHUNK) {
        const int n = p->count - i < CHUNK ? (int)(p->count - i) : CHUNK;
        OCTTransformEx(change, n, p->x + i, p->y + i, NULL, good);
        for (int k = 0; k < n; k++)
            if (!good[k])
                p->x[i + k] = p->y[i + k] = NAN;
    }
    if (!change)
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                        "reference %s: its points in '%s' cannot be brought to the CRS of the DEM (PROJ: %s)",
                        raster->path, OSRGetName(raster->srs), CPLGetLastErrorMsg());
    OCTDestroyCoordinateTransformation(change);
    return SDM_OK;
}

SdmStatus sdm_input_points_open(SdmContext *ctx, const char *path, const SdmInputRaster *dem,
                                SdmInputRaster *raster, SdmInputPoints *out)
{
    Reading r = {.ctx = ctx, .path = path, .out = out};
    *out = (SdmInputPoints){.count = 0};
    *raster = (SdmInputRaster){.path = path, .role = "reference", .datum.vertical = SDM_VERTICAL_UNKNOWN};
    CPLErrorReset();
    const char *const dot = strrchr(path, '.');
    const char *const name = dot && strcasecmp(dot, ".txt") == 0 ? CPLSPrintf("CSV:%s", path) : path;
    raster->file = sdm_open_file(name, GDAL_OF_VECTOR | GDAL_OF_VERBOSE_ERROR);
    OGRLayerH const layer = raster->file ? GDALDatasetGetLayer(raster->file, 0) : NULL;
    if (!layer)
        return sdm_fail(
            ctx, SDM_ERR_INPUT,
            "reference %s: GDAL finds neither a raster nor points in it (%s); give a DEM, a vector "
            "file with Z, or a table whose first line names its columns",
            path, raster->file ? "it has no layer" : CPLGetLastErrorMsg());
    PASS(choose_columns(&r, layer));
    PASS(read_features(&r, layer));
    PASS(choose_srs(&r, layer, dem, raster));
    return transform(ctx, dem, raster, out);
}

void sdm_input_points_close(SdmInputPoints *points)
{
    SDM_FREE(&points->x, &points->y, &points->height_m);
}
