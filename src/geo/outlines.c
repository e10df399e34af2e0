/* Polygons of a vector file -> the cells of a grid whose centres lie inside. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/outlines.h"
#include "core/math.h"
#include "core/path.h"
#include "geo/gdal_scope.h"

#include <cpl_conv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAMES_SIZE = 400, /* of a list of names in a sentence */
    LATTICE = 33,     /* places a side at which the grid is looked up in the file's CRS */
    STEPS = 1024,     /* an edge is cut into pieces of this part of the grid's diagonal */
    STOP_EVERY = 1024 /* polygons */
};
static const char PARTLY[] = "OGR_ENABLE_PARTIAL_REPROJECTION";
static const double MARGIN = 1.0 / 16.0; /* of the grid's extent, on each side */

/* ---- the file ---- */

bool sdm_is_raster(const char *path)
{
    SDM_QUIET;
    SDM_CLOSED_BY(sdm_dataset_close) GDALDatasetH const file = sdm_open_file(path, GDAL_OF_RASTER);
    return file != NULL;
}

/* GDAL's last message as a part of a sentence. */
static void copy_reason(char *out, size_t size)
{
    snprintf(out, size, "%s", CPLGetLastErrorMsg());
    for (char *c = out; *c; c++)
        *c = *c == '\n' ? ' ' : *c;
    const size_t n = strlen(out);
    if (n && out[n - 1] == '.')
        out[n - 1] = '\0';
}

static SdmStatus open_file(SdmContext *ctx, SdmOutlines *o)
{
    static const char ZIP[] = "/vsizip/";
    const char *const path = o->source.path;
    SDM_OWNED char *inside = NULL;
    char reason[256];
    CPLErrorReset();
    o->file = sdm_open_file(path, GDAL_OF_VECTOR | GDAL_OF_VERBOSE_ERROR);
    copy_reason(reason, sizeof reason);
    const bool zip = sdm_path_ends_in(path, ".zip");
    if (!o->file && zip) {
        const size_t size = strlen(path) + sizeof ZIP;
        PASS(sdm_alloc(ctx, &inside, size, 1, "a name"));
        snprintf(inside, size, "%s%s", ZIP, path);
        o->file = GDALOpenEx(inside, GDAL_OF_VECTOR, NULL, NULL, NULL);
    }
    if (!o->file && sdm_is_raster(path))
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s %s is a raster, expected polygons", o->source.option, path);
    if (!o->file)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s %s cannot be opened as a raster or as polygons: %s%s",
                        o->source.option, path, reason,
                        zip ? "; name the file inside, /vsizip/FILE.zip/FOLDER/NAME.shp" : "");
    return SDM_OK;
}

static bool is_surface(OGRwkbGeometryType type)
{
    return OGR_GT_IsSubClassOf(type, wkbSurface) || OGR_GT_IsSubClassOf(type, wkbMultiSurface);
}

/* Can a layer of this type hold polygons? */
static bool may_hold_polygons(OGRLayerH layer)
{
    const OGRwkbGeometryType type = wkbFlatten(OGR_L_GetGeomType(layer));
    return is_surface(type) || type == wkbUnknown || type == wkbGeometryCollection;
}

static void add_name(char names[NAMES_SIZE], const char *name)
{
    const size_t used = strlen(names);
    snprintf(names + used, NAMES_SIZE - used, "%s%.60s", used ? ", " : "", name);
}

/* The layer that is asked for, else the only one that can hold polygons. */
static SdmStatus choose_layer(SdmContext *ctx, SdmOutlines *o)
{
    const SdmOutlineSource *const s = &o->source;
    const int count = GDALDatasetGetLayerCount(o->file);
    char all[NAMES_SIZE] = "", able[NAMES_SIZE] = "";
    int found = 0;
    for (int i = 0; i < count; i++) {
        OGRLayerH const layer = GDALDatasetGetLayer(o->file, i);
        add_name(all, OGR_L_GetName(layer));
        if (!may_hold_polygons(layer))
            continue;
        add_name(able, OGR_L_GetName(layer));
        o->layer = layer;
        found++;
    }
    if (count > 1 && s->layer) {
        o->layer = GDALDatasetGetLayerByName(o->file, s->layer);
        found = o->layer && may_hold_polygons(o->layer);
        if (!o->layer)
            return sdm_fail(ctx, SDM_ERR_INPUT, "--layer %s: %s %s has no such layer; it has %s", s->layer,
                            s->option, s->path, all);
    }
    if (found > 1)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s %s has %d layers that can hold polygons (%s); %s", s->option,
                        s->path, found, able,
                        s->is_single ? "give a file with one of them" : "name one with --layer");
    if (found < 1) {
        OGRLayerH const layer = o->layer ? o->layer : GDALDatasetGetLayer(o->file, 0);
        const OGRwkbGeometryType type = layer ? OGR_L_GetGeomType(layer) : wkbNone;
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s %s holds %s, expected polygons", s->option, s->path,
                        type == wkbNone ? "no geometry" : OGRGeometryTypeToName(type));
    }
    return SDM_OK;
}

static SdmStatus fail_filter(SdmContext *ctx, const SdmOutlines *o)
{
    OGRFeatureDefnH const fields = OGR_L_GetLayerDefn(o->layer);
    char names[NAMES_SIZE] = "", reason[256];
    copy_reason(reason, sizeof reason);
    for (int i = 0; i < OGR_FD_GetFieldCount(fields); i++)
        add_name(names, OGR_Fld_GetNameRef(OGR_FD_GetFieldDefn(fields, i)));
    return sdm_fail(ctx, SDM_ERR_INPUT, "--where %s: cannot be applied to %s %s (%s); its fields are %s",
                    o->source.where, o->source.option, o->source.path, reason, *names ? names : "none");
}

/* Set the filter, and look whether there is anything. */
static SdmStatus filter_layer(SdmContext *ctx, const SdmOutlines *o)
{
    const SdmOutlineSource *const s = &o->source;
    CPLErrorReset();
    if (s->where && OGR_L_SetAttributeFilter(o->layer, s->where) != OGRERR_NONE)
        return fail_filter(ctx, o);
    OGR_L_ResetReading(o->layer);
    OGRFeatureH const first = OGR_L_GetNextFeature(o->layer);
    OGR_F_Destroy(first);
    if (first)
        return SDM_OK;
    if (s->where && CPLGetLastErrorType() >= CE_Failure) /* some drivers tell it here */
        return fail_filter(ctx, o);
    if (s->where && OGR_L_SetAttributeFilter(o->layer, NULL) == OGRERR_NONE &&
        OGR_L_GetFeatureCount(o->layer, 1) > 0)
        return sdm_fail(ctx, SDM_ERR_INPUT, "--where %s: selects no polygon of %s %s", s->where, s->option,
                        s->path);
    return sdm_fail(ctx, SDM_ERR_INPUT, "%s %s: its layer %s is empty", s->option, s->path,
                    OGR_L_GetName(o->layer));
}

SdmStatus sdm_outlines_open(SdmContext *ctx, const SdmOutlineSource *source, SdmOutlines *out)
{
    *out = (SdmOutlines){.source = *source, .field = -1};
    SDM_QUIET;
    PASS(open_file(ctx, out));
    PASS(choose_layer(ctx, out));
    if (!OGR_L_GetSpatialRef(out->layer))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s %s: has no coordinate reference system; give it one with ogr2ogr -a_srs EPSG:... "
                        "NEW.gpkg FILE",
                        source->option, source->path);
    if (source->field)
        out->field = OGR_FD_GetFieldIndex(OGR_L_GetLayerDefn(out->layer), source->field);
    return filter_layer(ctx, out);
}

void sdm_outlines_close(SdmOutlines *outlines)
{
    if (outlines->file)
        GDALClose(outlines->file);
    *outlines = (SdmOutlines){.file = NULL};
}

/* ---- on a grid ---- */

typedef struct Burn {
    SdmContext *ctx;
    const SdmOutlines *from;
    const SdmOutlineGrid *grid;
    OGRCoordinateTransformationH to_grid, to_file;
    double box[4];      /* x and y, from and to, about the grid in the CRS of the file */
    double step;        /* of the pieces of edges, there */
    double turn;        /* a full circle there; 0: not geographic */
    double shift;       /* to be added to x: turns */
    uint8_t *odd;       /* rows x cols: an edge passes between the cell before and this one */
    int64_t touched[4]; /* columns and rows, from and to */
    double *bounds;     /* of the rings so far, in the CRS of the grid; then no cell is marked; else NULL */
    uint8_t *out, value;
    int64_t polygons, others, crossed, covered; /* features, and cells */
} Burn;

static OGRSpatialReferenceH in_xy_order(OGRSpatialReferenceH srs)
{
    OGRSpatialReferenceH const out = srs ? OSRClone(srs) : OSRNewSpatialReference(NULL);
    OSRSetAxisMappingStrategy(out, OAMS_TRADITIONAL_GIS_ORDER);
    return out;
}

static SdmStatus open_transformations(Burn *b)
{
    const SdmOutlineSource *const s = &b->from->source;
    SDM_CLOSED_BY(sdm_srs_free)
    OGRSpatialReferenceH const from = in_xy_order(OGR_L_GetSpatialRef(b->from->layer)),
                               to = in_xy_order(NULL);
    OSRStripVertical(from);
    OSRDemoteTo2D(from, NULL);
    if (OSRSetFromUserInput(to, b->grid->wkt) == OGRERR_NONE) {
        b->to_grid = OCTNewCoordinateTransformation(from, to);
        b->to_file = OCTNewCoordinateTransformation(to, from);
    }
    if (OSRIsGeographic(from))
        b->turn = 6.283185307179586 / OSRGetAngularUnits(from, NULL);
    if (!b->to_grid || !b->to_file)
        return sdm_fail(b->ctx, SDM_ERR_UNSUPPORTED,
                        "%s %s: its polygons in '%s' cannot be brought to the CRS of the DEM (PROJ: %s)",
                        s->option, s->path, OSRGetName(from), CPLGetLastErrorMsg());
    return SDM_OK;
}

/* The grid's surroundings in the CRS of the file. */
static SdmStatus find_box(Burn *b)
{
    enum { PLACES = LATTICE * LATTICE };
    const double *const t = b->grid->transform;
    double x[PLACES], y[PLACES], about = NAN;
    int good[PLACES];
    for (int i = 0; i < PLACES; i++) {
        x[i] = t[0] + t[1] * (double)b->grid->cols * (i % LATTICE) / (LATTICE - 1);
        y[i] = t[3] + t[5] * (double)b->grid->rows * ((int)(i / LATTICE)) / (LATTICE - 1);
    }
    OCTTransformEx(b->to_file, PLACES, x, y, NULL, good);
    double *const box = b->box;
    sdm_bounds_clear(box);
    for (int k = 0; k < PLACES; k++) {
        const int i = (k + PLACES / 2) % PLACES; /* the middle first: other longitudes are counted about it */
        if (!good[i] || !isfinite(x[i]) || !isfinite(y[i]))
            continue;
        about = isnan(about) ? x[i] : about;
        sdm_bounds_add(box, b->turn > 0.0 ? x[i] - b->turn * round((x[i] - about) / b->turn) : x[i], y[i]);
    }
    const double size[2] = {box[2] - box[0], box[3] - box[1]};
    if (!(size[0] > 0.0) || !(size[1] > 0.0))
        return sdm_fail(b->ctx, SDM_ERR_DATA,
                        "%s %s: the DEM lies where the CRS of its polygons does not reach",
                        b->from->source.option, b->from->source.path);
    for (int k = 0; k < 2; k++) {
        box[k] -= MARGIN * size[k];
        box[2 + k] += MARGIN * size[k];
    }
    b->step = hypot(size[0], size[1]) / STEPS;
    return SDM_OK;
}

/* ---- rings ---- */

static int compare_numbers(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Add an edge from p, or without p its first point q.  Points outside of the box move to the box's border,
 * which changes nothing inside. */
static void add_edge(const Burn *b, const double p[2], const double q[2], OGRGeometryH out)
{
    double cut[5];
    int cuts = 0;
    for (int k = 0; k < 4 && !isnan(p[0]); k++) { /* where the edge passes a side of the box */
        const double at = (b->box[k] - p[k % 2]) / (q[k % 2] - p[k % 2]);
        if (at > 0.0 && at < 1.0)
            cut[cuts++] = at;
    }
    cut[cuts++] = 1.0;
    qsort(cut, (size_t)cuts, sizeof *cut, compare_numbers);
    for (int i = 0; i < cuts; i++) {
        const double end[2] = {p[0] + cut[i] * (q[0] - p[0]), p[1] + cut[i] * (q[1] - p[1])};
        const double *const to = cut[i] < 1.0 ? end : q;
        OGR_G_AddPoint_2D(out, fmin(fmax(to[0], b->box[0]), b->box[2]),
                          fmin(fmax(to[1], b->box[1]), b->box[3]));
    }
}

/* A ring, closed and within the box, in the CRS of the grid; to be destroyed. */
static OGRGeometryH read_ring(const Burn *b, OGRGeometryH ring)
{
    OGRGeometryH const out = OGR_G_CreateGeometry(wkbLinearRing);
    const int n = OGR_G_GetPointCount(ring);
    double before[2] = {NAN, NAN};
    for (int i = 0; i <= n && n > 2; i++) {
        const double at[2] = {OGR_G_GetX(ring, i % n) + b->shift, OGR_G_GetY(ring, i % n)};
        if (!isfinite(at[0]) || !isfinite(at[1]))
            continue;
        add_edge(b, before, at, out);
        memcpy(before, at, sizeof before);
    }
    OGR_G_Segmentize(out, b->step);
    if (OGR_G_Transform(out, b->to_grid) != OGRERR_NONE)
        OGR_G_Empty(out);
    OGR_G_CloseRings(out);
    return out;
}

/* ---- cells ---- */

/* The first cell of a row, or row, whose centre is not before a place, 0 .. n. */
static int64_t first_from(double place, int64_t n)
{
    return (int64_t)fmin(fmax(ceil(place - 0.5), 0.0), (double)n);
}

/* Where an edge passes between the centres of two cells of a row, what is to the right changes sides. */
static void mark_edge(Burn *b, const double p[2], const double q[2])
{
    const int64_t cols = b->grid->cols, rows = b->grid->rows;
    const bool falls = p[1] < q[1];
    const double *const high = falls ? p : q, *const low = falls ? q : p;
    const int64_t first = first_from(high[1], rows), end = first_from(low[1], rows);
    for (int64_t r = first; r < end; r++) {
        const double share = ((double)r + 0.5 - high[1]) / (low[1] - high[1]);
        const int64_t col = first_from(high[0] + share * (low[0] - high[0]), cols);
        if (col < cols)
            b->odd[r * cols + col] ^= 1;
        b->touched[0] = col < b->touched[0] ? col : b->touched[0];
        b->touched[2] = col > b->touched[2] ? col : b->touched[2];
    }
    if (first < end) {
        b->touched[1] = first < b->touched[1] ? first : b->touched[1];
        b->touched[3] = end > b->touched[3] ? end : b->touched[3];
    }
}

static void mark_ring(Burn *b, OGRGeometryH ring)
{
    const double *const t = b->grid->transform;
    double before[2], at[2];
    for (int i = 0; i < OGR_G_GetPointCount(ring); i++) {
        at[0] = (OGR_G_GetX(ring, i) - t[0]) / t[1];
        at[1] = (OGR_G_GetY(ring, i) - t[3]) / t[5];
        if (i > 0)
            mark_edge(b, before, at);
        memcpy(before, at, sizeof before);
    }
}

/* Give the cells inside of the marked rings the value, and clear the marks. */
static void fill_cells(Burn *b)
{
    const int64_t *const part = b->touched, cols = b->grid->cols;
    for (int64_t r = part[1]; r < part[3]; r++) {
        uint8_t inside = 0;
        for (int64_t c = part[0]; c < part[2]; c++) {
            inside ^= b->odd[r * cols + c];
            b->odd[r * cols + c] = 0;
            if (inside)
                b->out[r * cols + c] = b->value;
        }
        if (part[2] < cols)
            b->odd[r * cols + part[2]] = 0;
    }
}

static void extend_bounds(Burn *b, OGRGeometryH ring)
{
    OGREnvelope e;
    if (OGR_G_IsEmpty(ring))
        return;
    OGR_G_GetEnvelope(ring, &e);
    sdm_bounds_add(b->bounds, e.MinX, e.MinY);
    sdm_bounds_add(b->bounds, e.MaxX, e.MaxY);
    b->covered++;
}

static void burn_polygon(Burn *b, OGRGeometryH polygon)
{
    b->touched[0] = b->grid->cols;
    b->touched[1] = b->grid->rows;
    b->touched[2] = b->touched[3] = 0;
    for (int i = 0; i < OGR_G_GetGeometryCount(polygon); i++) {
        OGRGeometryH const ring = read_ring(b, OGR_G_GetGeometryRef(polygon, i));
        (b->bounds ? extend_bounds : mark_ring)(b, ring);
        OGR_G_DestroyGeometry(ring);
    }
    if (!b->bounds)
        fill_cells(b);
}

/* @return how many polygons there were */
static int64_t burn_geometry(Burn *b, OGRGeometryH geometry)
{
    const OGRwkbGeometryType type = wkbFlatten(OGR_G_GetGeometryType(geometry));
    int64_t polygons = 0;
    if (type == wkbPolygon || type == wkbTriangle) {
        burn_polygon(b, geometry);
        return 1;
    }
    for (int i = 0;
         (is_surface(type) || type == wkbGeometryCollection) && i < OGR_G_GetGeometryCount(geometry); i++)
        polygons += burn_geometry(b, OGR_G_GetGeometryRef(geometry, i));
    return polygons;
}

/* ---- features ---- */

static SdmStatus read_value(Burn *b, OGRFeatureH feature)
{
    const SdmOutlineSource *const s = &b->from->source;
    b->value = 1;
    if (b->from->field < 0)
        return SDM_OK;
    const char *const text = OGR_F_GetFieldAsString(feature, b->from->field);
    char *end = NULL;
    const double value = CPLStrtod(text, &end);
    b->value = 0; /* of an empty field */
    if (!OGR_F_IsFieldSetAndNotNull(feature, b->from->field) || *text == '\0')
        return SDM_OK;
    if (*end != '\0' || !(value >= 0.0 && value <= 255.0) || value != floor(value))
        return sdm_fail(b->ctx, SDM_ERR_INPUT,
                        "%s %s: feature %lld has %s '%.40s', expected a whole number from 0 to 255",
                        s->option, s->path, (long long)OGR_F_GetFID(feature), s->field, text);
    b->value = (uint8_t)value;
    return SDM_OK;
}

static SdmStatus burn_feature(Burn *b, OGRFeatureH feature)
{
    SdmStatus st = SDM_OK;
    OGRGeometryH const given = OGR_F_GetGeometryRef(feature);
    OGRGeometryH const plain =
        given && OGR_G_HasCurveGeometry(given, 0) ? OGR_G_GetLinearGeometry(given, 0.0, NULL) : NULL;
    OGRGeometryH const geometry = plain ? plain : given;
    TRY(read_value(b, feature));
    const int64_t polygons = geometry ? burn_geometry(b, geometry) : 0;
    b->polygons += polygons > 0;
    b->others += polygons == 0;
    b->crossed += polygons > 0 && OGRGetGEOSVersion(NULL, NULL, NULL) && !OGR_G_IsValid(geometry);
    if ((b->polygons + b->others) % STOP_EVERY == 0)
        TRY(sdm_check_stop(b->ctx));
done:
    OGR_G_DestroyGeometry(plain);
    return st;
}

/* The features near the grid whose longitudes are some turns from the grid's. */
static SdmStatus burn_turn(Burn *b, int turns)
{
    SdmStatus st = SDM_OK;
    OGRLayerH const layer = b->from->layer;
    const double *const box = b->box;
    b->shift = turns * b->turn;
    OGR_L_SetSpatialFilterRect(layer, box[0] - b->shift, box[1], box[2] - b->shift, box[3]);
    OGR_L_ResetReading(layer);
    CPLErrorReset();
    for (OGRFeatureH feature; (feature = OGR_L_GetNextFeature(layer)) != NULL; CPLErrorReset()) {
        st = burn_feature(b, feature);
        OGR_F_Destroy(feature);
        TRY(st);
    }
    if (CPLGetLastErrorType() >= CE_Failure)
        st = sdm_fail(b->ctx, SDM_ERR_INPUT, "%s %s cannot be read to its end: %s", b->from->source.option,
                      b->from->source.path, CPLGetLastErrorMsg());
done:
    OGR_L_SetSpatialFilter(layer, NULL);
    return st;
}

/* Say what was found that is not as expected. */
static SdmStatus judge(Burn *b)
{
    const SdmOutlineSource *const s = &b->from->source;
    static const char NONE[] = "%s %s: none of its polygons%s covers the centre of a cell of the DEM%s";
    const char *const chosen = s->where ? " that --where selects" : "",
                      *const what = b->others ? "; what lies there are no polygons" : "";
    if (s->quiet)
        return SDM_OK;
    if (b->covered == 0 && !s->may_miss)
        return sdm_fail(b->ctx, SDM_ERR_DATA, NONE, s->option, s->path, chosen, what);
    if (b->covered == 0)
        sdm_log(b->ctx, SDM_LOG_WARNING, 0, NONE, s->option, s->path, chosen, what);
    else if (b->others)
        sdm_log(b->ctx, SDM_LOG_WARNING, 0,
                "%s %s: %lld of %lld features near the DEM are no polygons and are ignored", s->option,
                s->path, (long long)b->others, (long long)(b->others + b->polygons));
    if (b->covered && b->crossed)
        sdm_log(b->ctx, SDM_LOG_WARNING, 0,
                "%s %s: %lld of %lld polygons near the DEM cross themselves or are not closed; what an odd "
                "number of edges encloses is inside (ogr2ogr -makevalid mends them)",
                s->option, s->path, (long long)b->crossed, (long long)b->polygons);
    return SDM_OK;
}

/* All polygons near the grid. */
static SdmStatus burn_all(Burn *b)
{
    SdmStatus st = SDM_OK;
    SDM_QUIET;
    CPLSetThreadLocalConfigOption(PARTLY, "YES"); /* places about the grid may lie beyond its CRS */
    TRY(open_transformations(b));
    TRY(find_box(b));
    for (int turns = b->turn > 0.0 ? -1 : 0; turns <= (b->turn > 0.0 ? 1 : 0); turns++)
        TRY(burn_turn(b, turns));
    for (int64_t i = 0; b->out && i < b->grid->cols * b->grid->rows; i++)
        b->covered += b->out[i] != 0;
    TRY(judge(b));
done:
    CPLSetThreadLocalConfigOption(PARTLY, NULL);
    OCTDestroyCoordinateTransformation(b->to_grid);
    OCTDestroyCoordinateTransformation(b->to_file);
    return st;
}

SdmStatus sdm_outlines_burn(SdmContext *ctx, const SdmOutlines *outlines, const SdmOutlineGrid *grid,
                            uint8_t *out)
{
    const size_t cells = (size_t)(grid->cols * grid->rows);
    SDM_OWNED uint8_t *odd = NULL;
    memset(out, 0, cells);
    PASS(sdm_alloc(ctx, &odd, cells, 1, "cells inside of polygons"));
    return burn_all(&(Burn){.ctx = ctx, .from = outlines, .grid = grid, .out = out, .odd = odd});
}

SdmStatus sdm_outlines_bounds(SdmContext *ctx, const SdmOutlines *outlines, const SdmOutlineGrid *grid,
                              double out[4])
{
    Burn b = {.ctx = ctx, .from = outlines, .grid = grid, .bounds = out};
    sdm_bounds_clear(out);
    return burn_all(&b);
}
