/* Raster files, opened and checked -> their values on a common grid. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/input_raster.h"
#include "core/math.h"
#include "geo/geodesy.h"
#include "geo/projector.h"

#include <cpl_conv.h>
#include <cpl_error.h>
#include <math.h>
#include <string.h>

enum {
    MARGIN_CELLS = 8, /* around what DEM and reference have in common */
    WINDOW = 1024     /* cells a side that are read at once */
};
#define SAME_CELLS 1e-3 /* of a cell, over the whole grid */

SdmStatus sdm_input_raster_set_srs(SdmContext *ctx, SdmInputRaster *raster, OGRSpatialReferenceH declared)
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
    out->file = sdm_height_raster_file(out->reader);
    if (source.datum_option)
        out->datum = *sdm_height_raster_datum(out->reader);
    return sdm_input_raster_set_srs(ctx, out, GDALGetSpatialRef(out->file));
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

/* A window of the grid -> its cells of out. */
static SdmStatus load_window(SdmContext *ctx, SdmHeightsOnGrid *on, const int64_t window[4], float *room,
                             float *out)
{
    PASS(sdm_check_stop(ctx));
    PASS(sdm_heights_on_grid(ctx, on, window, NULL, room));
    for (int64_t r = 0; r < window[3]; r++)
        memcpy(out + (window[1] + r) * on->grid->cols + window[0], room + r * window[2],
               (size_t)window[2] * sizeof *out);
    return SDM_OK;
}

SdmStatus sdm_input_raster_load(SdmContext *ctx, const SdmInputRaster *raster, const SdmRasterGrid *grid,
                                SdmHeightKernel kernel, float *out)
{
    SDM_CLOSED_BY(sdm_heights_on_grid_close) SdmHeightsOnGrid on = {.raster = NULL};
    SdmGrid cells;
    SDM_OWNED float *room = NULL;
    if (raster->outlines.file)
        return load_outlines(ctx, raster, grid, out);
    PASS(describe_grid(ctx, grid, &cells));
    PASS(sdm_heights_on_grid_open(ctx, raster->reader, &cells, NAN, NAN, &on));
    on.dx = grid->transform[1];
    on.dy = -grid->transform[5];
    sdm_heights_on_grid_set_kernel(&on, kernel);
    PASS(sdm_alloc_raw(ctx, &room, (size_t)WINDOW * WINDOW, sizeof *room, "a window of a raster"));
    for (int64_t row = 0; row < grid->rows; row += WINDOW)
        for (int64_t col = 0; col < grid->cols; col += WINDOW) {
            const int64_t w = grid->cols - col, h = grid->rows - row;
            PASS(load_window(ctx, &on,
                             (const int64_t[4]){col, row, w < WINDOW ? w : WINDOW, h < WINDOW ? h : WINDOW},
                             room, out));
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
        col[i] = (points->x[i] - t[0]) / t[1] - 0.5;
        row[i] = (points->y[i] - t[3]) / t[5] - 0.5;
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
        PASS(sdm_undulation_window(ctx, &u, 0, row, grid->cols, rows, undulation_m));
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
    return vertical == SDM_VERTICAL_OTHER ? raster->datum.name : sdm_vertical_name(vertical);
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
