/* Files of a comparison, opened and checked: the values of rasters on a common grid; a vector file or a text
 * table -> points with heights in the CRS of the DEM. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/input_raster.h"
#include "core/math.h"
#include "core/path.h"
#include "geo/gdal_scope.h"
#include "geo/geodesy.h"
#include "geo/projector.h"

#include <cpl_conv.h>
#include <cpl_error.h>
#include <math.h>
#include <ogr_api.h>
#include <string.h>
#include <strings.h>

enum {
    MARGIN_CELLS = 8,     /* around what DEM and reference have in common */
    STRIP_CELLS = 1 << 20 /* that are read at once */
};
#define SAME_CELLS 1e-3 /* of a cell, over the whole grid */

/* Set srs and wkt to the horizontal part of a CRS. */
static SdmStatus set_srs(SdmContext *ctx, SdmInputRaster *raster, OGRSpatialReferenceH declared)
{
    OSRDestroySpatialReference(raster->srs);
    raster->srs = OSRClone(declared);
    OSRStripVertical(raster->srs);
    OSRDemoteTo2D(raster->srs, NULL);
    OSRSetAxisMappingStrategy(raster->srs, OAMS_TRADITIONAL_GIS_ORDER);
    const char *const form[] = {"FORMAT=WKT2", NULL};
    if (OSRExportToWktEx(raster->srs, &raster->wkt, form) == OGRERR_NONE)
        return SDM_OK;
    PASS(sdm_proj_check(ctx));
    return sdm_fail(ctx, SDM_ERR_INPUT, "%s %s: its coordinate reference system is not understood (%s)",
                    raster->role, raster->path, CPLGetLastErrorMsg());
}

SdmStatus sdm_input_raster_open(SdmContext *ctx, const char *path, const char *role, SdmInputRaster *out)
{
    const SdmHeightSource source = {.option = role,
                                    .path = path,
                                    .datum_option = *role == '-' ? NULL : "--dem-vertical", /* NULL: a mask */
                                    .keeps_datum = true};
    *out = (SdmInputRaster){.path = path, .role = role, .datum.vertical = SDM_VERTICAL_UNKNOWN};
    PASS(sdm_height_raster_open(ctx, &source, &out->reader));
    out->file = out->reader->ds;
    if (source.datum_option)
        out->datum = out->reader->datum;
    return set_srs(ctx, out, GDALGetSpatialRef(out->file));
}

SdmStatus sdm_input_areas_open(SdmContext *ctx, const SdmOutlineSource *source, SdmInputRaster *out)
{
    if (sdm_is_raster(source->path))
        return sdm_input_raster_open(ctx, source->path, source->option, out);
    *out = (SdmInputRaster){
        .path = source->path, .role = source->option, .datum.vertical = SDM_VERTICAL_UNKNOWN};
    const SdmStatus st = sdm_outlines_open(ctx, source, &out->outlines);
    out->file = out->outlines.file;
    return st;
}

void sdm_input_raster_close(SdmInputRaster *raster)
{
    if (raster->outlines.file || raster->reader)
        raster->file = NULL;
    sdm_outlines_close(&raster->outlines);
    sdm_height_raster_close(&raster->reader);
    if (raster->file)
        GDALClose(raster->file);
    OSRDestroySpatialReference(raster->srs);
    CPLFree(raster->wkt);
    *raster = (SdmInputRaster){0};
}

SdmStatus sdm_input_raster_check_dem(SdmContext *ctx, const SdmInputRaster *dem)
{
    double g[6];
    GDALGetGeoTransform(dem->file, g);
    if (!(g[1] > 0.0) || !(g[5] < 0.0) || g[2] != 0.0 || g[4] != 0.0)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "DEM %s: its grid is rotated or not north up; run gdalwarp on it first", dem->path);
    return SDM_OK;
}

/* Where the reference lies in the CRS of the DEM: x0, y0, x1, y1 of the places of a lattice over it that can
 * be transformed, and a step more; false: none can. */
static bool reference_box(const SdmInputRaster *reference, const SdmInputRaster *dem, double box[4])
{
    enum { SIDE = 33 };
    double g[6], own[6];
    int found = 0;
    OGRCoordinateTransformationH const t = OCTNewCoordinateTransformation(reference->srs, dem->srs);
    if (!t || GDALGetGeoTransform(reference->file, g) != CE_None) {
        OCTDestroyCoordinateTransformation(t);
        return false;
    }
    GDALGetGeoTransform(dem->file, own);
    const double w = GDALGetRasterXSize(reference->file), h = GDALGetRasterYSize(reference->file),
                 middle = own[0] + 0.5 * own[1] * GDALGetRasterXSize(dem->file);
    sdm_bounds_clear(box);
    for (int k = 0; k < SIDE * SIDE; k++) {
        const double col = w * (k % SIDE) / (SIDE - 1), row = h * (k / SIDE) / (SIDE - 1);
        double x = g[0] + col * g[1] + row * g[2], y = g[3] + col * g[4] + row * g[5];
        int good = FALSE;
        if (!OCTTransformEx(t, 1, &x, &y, NULL, &good) || !good || !isfinite(x) || !isfinite(y))
            continue;
        sdm_bounds_add(box, OSRIsGeographic(dem->srs) ? sdm_longitude_near(x, middle) : x, y);
        found++;
    }
    OCTDestroyCoordinateTransformation(t);
    /* between places of the lattice an edge may bend outwards; where some cannot be transformed, it may end
     * anywhere */
    const double share = OSRIsSame(reference->srs, dem->srs) ? 0.0 : found == SIDE * SIDE ? 0.01 : 1.0;
    const double more[2] = {share * (box[2] - box[0]), share * (box[3] - box[1])};
    for (int k = 0; k < 2; k++) {
        box[k] -= more[k];
        box[2 + k] += more[k];
    }
    return found > 0;
}

/* First and last + 1 cell of the DEM's axis that are used: those within lo..hi of the reference, and of each
 * raster some cells beyond the end of the other one, for the move and for support. */
static void cut_axis(double lo, double hi, int64_t size, bool whole, int64_t *first, int64_t *end)
{
    const double n = (double)size, from = floor(lo), to = ceil(hi);
    *first = (int64_t)(from > 0.0 ? fmax(from - MARGIN_CELLS, 0.0) : fmax(from, -MARGIN_CELLS));
    *end = (int64_t)(to < n ? fmin(to + MARGIN_CELLS, n) : fmin(to, n + MARGIN_CELLS));
    *first = whole && *first > 0 ? 0 : *first;
    *end = whole && *end < size ? size : *end;
}

SdmStatus sdm_raster_grid_common(SdmContext *ctx, const SdmInputRaster *dem, const SdmInputRaster *reference,
                                 bool whole_dem, SdmRasterGrid *out)
{
    double box[4];
    int64_t col[2], row[2];
    CPLErrorReset();
    PASS(sdm_raster_grid_own(ctx, dem, out));
    if (!reference_box(reference, dem, box))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "reference %s: cannot be brought to the DEM's coordinate reference system "
                        "(GDAL: %s)",
                        reference->path, CPLGetLastErrorMsg());
    const double *const g = out->transform;
    /* places of whole cells come back a little off them */
    const double left = (box[0] - g[0]) / g[1] + SAME_CELLS, right = (box[2] - g[0]) / g[1] - SAME_CELLS,
                 top = (box[3] - g[3]) / g[5] + SAME_CELLS, bottom = (box[1] - g[3]) / g[5] - SAME_CELLS;
    if (left >= (double)out->cols || right <= 0.0 || top >= (double)out->rows || bottom <= 0.0)
        return sdm_fail(ctx, SDM_ERR_DATA, "no cell in common: DEM %s and reference %s do not overlap",
                        dem->path, reference->path);
    cut_axis(left, right, out->cols, whole_dem, &col[0], &col[1]);
    cut_axis(top, bottom, out->rows, whole_dem, &row[0], &row[1]);
    out->transform[0] += (double)col[0] * out->transform[1];
    out->transform[3] += (double)row[0] * out->transform[5];
    out->cols = col[1] - col[0];
    out->rows = row[1] - row[0];
    return SDM_OK;
}

bool sdm_raster_grid_of_reference(const SdmInputRaster *reference, const SdmRasterGrid *grid,
                                  SdmRasterGrid *out, double phase[2])
{
    double q[6];
    const double *const g = grid->transform;
    const double size = (double)(grid->cols > grid->rows ? grid->cols : grid->rows);
    phase[0] = phase[1] = 0.0;
    if (GDALGetGeoTransform(reference->file, q) != CE_None || fabs(q[2]) > 0.0 || fabs(q[4]) > 0.0 ||
        !(fabs(q[1] - g[1]) * size < SAME_CELLS * g[1]) || !(fabs(q[5] - g[5]) * size < -SAME_CELLS * g[5]) ||
        !OSRIsSame(reference->srs, grid->dem->srs))
        return false;
    for (int k = 0; k < 2; k++) {
        const double cells = (q[3 * k] - g[3 * k]) / g[k ? 5 : 1];
        phase[k] = fabs(cells - round(cells)) < SAME_CELLS ? 0.0 : cells - round(cells);
    }
    *out = *grid;
    out->transform[0] += phase[0] * g[1];
    out->transform[3] += phase[1] * g[5];
    return true;
}

/* The grid as geo/ takes it, with a spacing between those of columns and rows. */
static SdmStatus describe_grid(SdmContext *ctx, const SdmRasterGrid *grid, SdmGrid *out)
{
    const double *const t = grid->transform;
    *out = (SdmGrid){.x0 = t[0],
                     .y0 = t[3],
                     .spacing = sqrt(-t[1] * t[5]),
                     .cols = grid->cols,
                     .rows = grid->rows,
                     .geographic = OSRIsGeographic(grid->dem->srs) != 0};
    return sdm_format(ctx, out->wkt, sizeof out->wkt, "%s", grid->dem->wkt);
}

/* Metres on the ground for one on the map, in the middle of a grid in a projected CRS; see
 * sdm_grid_ground_m().  1 where PROJ cannot bring the CRS to WGS 84. */
static SdmStatus ground_scale(SdmContext *ctx, const SdmRasterGrid *grid, double *out)
{
    SDM_CLOSED_BY(sdm_projector_close) SdmProjector *to = NULL;
    SdmGrid cells;
    double x = grid->transform[0] + 0.5 * (double)grid->cols * grid->transform[1],
           y = grid->transform[3] + 0.5 * (double)grid->rows * grid->transform[5];
    PASS(describe_grid(ctx, grid, &cells));
    const SdmStatus st = sdm_projector_open(ctx, cells.wkt, &to);
    *out = 1.0;
    if (st != SDM_OK)
        return st == SDM_ERR_UNSUPPORTED ? SDM_OK : st;
    sdm_projector_inverse(to, 1, &x, &y);
    *out = sdm_grid_ground_by(to, &cells, x, y) / sdm_grid_spacing_m(&cells);
    return SDM_OK;
}

SdmStatus sdm_raster_grid_own(SdmContext *ctx, const SdmInputRaster *dem, SdmRasterGrid *out)
{
    *out = (SdmRasterGrid){
        .cols = GDALGetRasterXSize(dem->file), .rows = GDALGetRasterYSize(dem->file), .dem = dem};
    GDALGetGeoTransform(dem->file, out->transform);
    const double *const t = out->transform;
    double unit_m[2], scale;
    if (OSRIsGeographic(
            dem->srs)) { /* radii of the ellipsoid's parallel and meridian in the middle of the DEM */
        const double unit = OSRGetAngularUnits(dem->srs, NULL), a = OSRGetSemiMajor(dem->srs, NULL),
                     b = OSRGetSemiMinor(dem->srs, NULL),
                     lat = unit * (t[3] + 0.5 * (double)out->rows * t[5]);
        const double e2 = 1.0 - b * b / (a * a), v = sqrt(1.0 - e2 * sin(lat) * sin(lat));
        unit_m[0] = unit * a / v * cos(lat);
        unit_m[1] = unit * a * (1.0 - e2) / (v * v * v);
    } else {
        PASS(ground_scale(ctx, out, &scale));
        unit_m[0] = unit_m[1] = scale * OSRGetLinearUnits(dem->srs, NULL);
    }
    out->dx_m = t[1] * unit_m[0];
    out->dy_m = -t[5] * unit_m[1];
    return SDM_OK;
}

/* Values of polygons; NaN outside. */
static SdmStatus load_outlines(SdmContext *ctx, const SdmInputRaster *raster, const SdmRasterGrid *grid,
                               float *out)
{
    SDM_OWNED uint8_t *value = NULL;
    const int64_t cells = grid->cols * grid->rows;
    SdmOutlineGrid on = {.wkt = grid->dem->wkt, .cols = grid->cols, .rows = grid->rows};
    memcpy(on.transform, grid->transform, sizeof on.transform);
    PASS(sdm_alloc_raw(ctx, &value, (size_t)cells, 1, "cells inside of polygons"));
    PASS(sdm_outlines_burn(ctx, &raster->outlines, &on, value));
    for (int64_t i = 0; i < cells; i++)
        out[i] = value[i] ? (float)value[i] : NAN;
    return SDM_OK;
}

SdmStatus sdm_input_raster_load(SdmContext *ctx, const SdmInputRaster *raster, const SdmRasterGrid *grid,
                                SdmHeightKernel kernel, float *out)
{
    SDM_CLOSED_BY(sdm_heights_on_grid_close) SdmHeightsOnGrid on = {.raster = NULL};
    SdmGrid cells;
    const int64_t strip = STRIP_CELLS / grid->cols + 16;
    if (raster->outlines.file)
        return load_outlines(ctx, raster, grid, out);
    PASS(describe_grid(ctx, grid, &cells));
    PASS(sdm_heights_on_grid_open(ctx, raster->reader, &cells, NAN, NAN, &on));
    on.dx = grid->transform[1];
    on.dy = -grid->transform[5];
    sdm_heights_on_grid_set_kernel(&on, kernel);
    for (int64_t row = 0; row < grid->rows; row += strip) {
        const int64_t rows = grid->rows - row < strip ? grid->rows - row : strip;
        PASS(sdm_check_stop(ctx));
        PASS(sdm_heights_on_grid(ctx, &on, (const int64_t[4]){0, row, grid->cols, rows}, NULL,
                                 out + row * grid->cols));
    }
    GDALFlushCache(raster->file); /* its blocks are not needed again */
    return SDM_OK;
}

/* ---- vertical datums ---- */

enum { SOURCE_SIZE = 160 };

SdmStatus sdm_input_raster_set_datum(SdmContext *ctx, SdmInputRaster *raster, const char *option,
                                     const char *word)
{
    if (!word || strcmp(word, "auto") == 0)
        return SDM_OK;
    if (sdm_vertical_of_word(word) == SDM_VERTICAL_UNKNOWN)
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s is '%s', expected auto, ellipsoid, egm96 or egm2008", option,
                        word);
    sdm_vertical_give(&raster->datum, option, word);
    return SDM_OK;
}

/* Add sign x the undulation at points. */
static SdmStatus add_at_points(SdmContext *ctx, const SdmRasterGrid *grid, SdmUndulation *u, double sign,
                               const SdmInputPoints *points)
{
    SDM_OWNED double *col = NULL, *row = NULL, *undulation_m = NULL;
    const size_t n = (size_t)points->count;
    const double *const t = grid->transform;
    PASS(SDM_ALLOC(ctx, "undulations", SDM_ARRAY(col, n), SDM_ARRAY(row, n), SDM_ARRAY(undulation_m, n)));
    for (size_t i = 0; i < n; i++) {
        col[i] = (points->x[i] - t[0]) / t[1];
        row[i] = (points->y[i] - t[3]) / t[5];
    }
    PASS(sdm_undulation_cells(ctx, u, n, col, row, undulation_m));
    for (size_t i = 0; i < n; i++)
        points->height_m[i] += sign * undulation_m[i];
    return SDM_OK;
}

/* Add sign x the undulation of a raster's datum to heights of points or (NULL) on the grid, some rows at a
 * time.  source: where the undulations are from. */
static SdmStatus add_undulation(SdmContext *ctx, const SdmRasterGrid *grid, const SdmInputRaster *raster,
                                float sign, const SdmInputPoints *points, float *height_m,
                                char source[SOURCE_SIZE])
{
    enum { ROWS = 64 };
    const SdmHeightSource from = {.option = raster->role,
                                  .path = raster->path,
                                  .datum_option = "--dem-vertical and --reference-vertical"};
    const size_t used = strlen(source);
    SdmGrid cells;
    SDM_CLOSED_BY(sdm_undulation_close) SdmUndulation u = {.geoid = NULL};
    SdmGeoid *geoid = NULL;
    SDM_OWNED float *undulation_m = NULL;
    PASS(describe_grid(ctx, grid, &cells));
    PASS(sdm_datum_open_geoid(ctx, &from, raster->file, &raster->datum, &geoid));
    PASS(sdm_undulation_of(ctx, &cells, geoid, &u));
    if (!u.geoid)
        return SDM_OK;
    snprintf(source + used, SOURCE_SIZE - used, "%s%s", used ? " and " : "", sdm_geoid_source(geoid));
    u.dx = grid->transform[1];
    u.dy = -grid->transform[5];
    if (points)
        return add_at_points(ctx, grid, &u, (double)sign, points);
    PASS(sdm_alloc(ctx, &undulation_m, (size_t)grid->cols * ROWS, sizeof *undulation_m, "undulation"));
    for (int64_t row = 0; row < grid->rows; row += ROWS) {
        const int64_t rows = grid->rows - row < ROWS ? grid->rows - row : ROWS;
        PASS(sdm_undulation_window(ctx, &u, (const int64_t[]){0, row, grid->cols, rows}, undulation_m));
        for (int64_t i = 0; i < rows * grid->cols; i++)
            height_m[row * grid->cols + i] += sign * undulation_m[i];
    }
    return SDM_OK;
}

/* Say what a name or the cells of a raster told. */
static void add_guess(const SdmInputRaster *raster, char note[SDM_DATUM_NOTE])
{
    const size_t used = strlen(note);
    char phrase[360];
    if (raster->datum.by < SDM_DATUM_NAMED || raster->datum.vertical == SDM_VERTICAL_UNKNOWN)
        return;
    sdm_vertical_phrase(&raster->datum, phrase, sizeof phrase);
    snprintf(note + used, SDM_DATUM_NOTE - used, "%sthe %s's heights are above %s", used ? "; " : "",
             raster->role, phrase);
}

/* Compare both datums: the note, and whether the reference's heights must be converted. */
static void compare_datums(const SdmInputRaster *dem, const SdmInputRaster *reference,
                           char note[SDM_DATUM_NOTE], bool *convert)
{
    const SdmDatumFound *const a = &dem->datum, *const b = &reference->datum;
    const bool dem_known = a->vertical != SDM_VERTICAL_UNKNOWN,
               reference_known = b->vertical != SDM_VERTICAL_UNKNOWN;
    note[0] = '\0';
    *convert = false;
    add_guess(dem, note);
    add_guess(reference, note);
    const size_t used = strlen(note);
    if (!dem_known && !reference_known) {
        snprintf(note, SDM_DATUM_NOTE,
                 "neither the DEM nor the reference declares a vertical datum: assumed to be the same; "
                 "otherwise give --dem-vertical and --reference-vertical");
    } else if (!dem_known || !reference_known) {
        snprintf(note + used, SDM_DATUM_NOTE - used,
                 "%sthe %s declares no vertical datum: assumed to be %s, as that of the %s; otherwise give "
                 "--%s-vertical",
                 used ? "; " : "", dem_known ? "reference" : "DEM", dem_known ? a->name : b->name,
                 dem_known ? "DEM" : "reference", dem_known ? "reference" : "dem");
    } else {
        *convert = a->vertical != b->vertical ||
                   (a->vertical == SDM_VERTICAL_OTHER && strcmp(a->name, b->name) != 0);
    }
}

static const char *name_of(const SdmInputRaster *raster)
{
    const int vertical = raster->datum.vertical;
    return vertical == SDM_VERTICAL_OTHER ? raster->datum.name : sdm_vertical_datum(vertical)->name;
}

SdmStatus sdm_input_raster_match_datum(SdmContext *ctx, const SdmRasterGrid *grid,
                                       const SdmInputRaster *reference, const SdmInputPoints *points,
                                       float *reference_m, char note[SDM_DATUM_NOTE])
{
    char source[SOURCE_SIZE] = "";
    bool convert = false;
    compare_datums(grid->dem, reference, note, &convert);
    if (!convert)
        return SDM_OK;
    PASS(add_undulation(ctx, grid, reference, 1.0f, points, reference_m, source));
    PASS(add_undulation(ctx, grid, grid->dem, -1.0f, points, reference_m, source));
    const size_t used = strlen(note);
    snprintf(note + used, SDM_DATUM_NOTE - used,
             "%sthe reference's heights were converted from %s to %s, undulation of %s", used ? "; " : "",
             name_of(reference), name_of(grid->dem), source);
    return SDM_OK;
}

/* ---- points ---- */

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
    if (!declared && c->degrees) {
        degrees = OSRNewSpatialReference(NULL);
        OSRImportFromEPSG(degrees, 4326);
    }
    PASS(set_srs(r->ctx, raster, declared ? declared : degrees ? degrees : dem->srs));
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
