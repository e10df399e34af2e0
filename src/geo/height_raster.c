/* GDAL raster -> its values at points and over the cells of a grid. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/height_raster.h"
#include "core/file.h"
#include "core/math.h"
#include "core/vector_loops.h"
#include "geo/bicubic.h"
#include "geo/cell_places.h"
#include "geo/gdal_scope.h"
#include "geo/geodesy.h"
#include "geo/vertical_datum.h"

#include <cpl_conv.h>
#include <float.h>
#include <gdal_utils.h>
#include <math.h>
#include <string.h>

static const double HIGHEST_M = 12000.0; /* no ground lies farther from the ellipsoid, up or down */
enum { NODE_STEP = 16, TOGETHER = 128 /* cells of a row */ };
static const double ON_CENTRE = 1e-5; /* of a cell: so near to a cell's centre a place takes its value */
enum { SAMPLED_SIDE = 96 /* cells a side of a grid that are looked at for voids */ };
static const double ZERO_GAP_M = 50.0, LOW_SHARE = 0.0005; /* of other heights, nearer to 0 than that */
enum { KEPT_BYTES = 64 << 20 };                            /* of GDAL's cache, at most half of it */
/* Cells of the raster to a cell of the grid, a side: from which on means of them are interpolated, and the
 * mean over a cell is taken. */
static const double LEAST_SHRINK = 3.0, LEAST_RATIO = 1.5;

SdmStatus sdm_datum_open_geoid(SdmContext *ctx, const SdmHeightSource *source, GDALDatasetH file,
                               const SdmDatumFound *datum, SdmGeoid **out)
{
    SdmStatus st = SDM_OK;
    char who[SDM_PATH_SIZE + 128], *crs = NULL;
    *out = NULL;
    if (datum->vertical == SDM_ELLIPSOID || datum->vertical == SDM_VERTICAL_UNKNOWN)
        return SDM_OK;
    if (datum->vertical != SDM_VERTICAL_OTHER)
        return sdm_geoid_open(ctx, datum->vertical, out);
    snprintf(who, sizeof who, "%s %s (above '%s')", source->option, source->path, datum->name);
    crs = file && GDALGetSpatialRef(file) ? sdm_vertical_crs(file, datum) : NULL;
    if (crs)
        st = sdm_geoid_open_crs(ctx, crs, who, out);
    else
        st = sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                      "%s %s: its heights are above '%s', %s, which cannot be brought to the WGS 84 "
                      "ellipsoid; run gdalwarp -t_srs EPSG:4979 on it with its compound CRS as -s_srs, or "
                      "give %s",
                      source->option, source->path, datum->name, datum->why, source->datum_option);
    CPLFree(crs);
    return st;
}

/* The datum of the heights, its undulation, and the phrase that says which it is. */
static SdmStatus open_datum(SdmContext *ctx, SdmHeightRaster *r)
{
    char phrase[360];
    sdm_vertical_find(r->ds, &r->datum);
    sdm_vertical_give(&r->datum, r->source.datum_option, r->source.datum);
    if (!r->source.keeps_datum)
        PASS(sdm_datum_open_geoid(ctx, &r->source, r->ds, &r->datum, &r->geoid));
    sdm_vertical_phrase(&r->datum, phrase, sizeof phrase);
    snprintf(r->phrase, sizeof r->phrase, "%s%s%s", phrase, r->geoid ? "; undulation of " : "",
             r->geoid ? sdm_geoid_source(r->geoid) : "");
    return SDM_OK;
}

void sdm_height_raster_tell_datum(SdmContext *ctx, const SdmHeightRaster *r)
{
    const int by = r->datum.by;
    const bool guessed = by == SDM_DATUM_NAMED || by == SDM_DATUM_ASSUMED;
    sdm_log(ctx,
            by == SDM_DATUM_ASSUMED ? SDM_LOG_WARNING
            : by == SDM_DATUM_NAMED ? SDM_LOG_INFO
                                    : SDM_LOG_VERBOSE,
            2, "%s %s: heights above %s%s%s%s", r->source.option, r->source.path, r->phrase,
            guessed ? " (" : "", guessed ? r->source.datum_option : "", guessed ? " says otherwise)" : "");
}

/* The first band, its scale to metres, and its nodata value. */
static SdmStatus open_band(SdmContext *ctx, SdmHeightRaster *r)
{
    const SdmHeightSource *const s = &r->source;
    int has = 0;
    if (GDALGetRasterCount(r->ds) < 1)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s %s has no raster band; give one of its subdatasets (see gdalinfo)", s->option,
                        s->path);
    if (s->datum_option && sdm_check_heights(ctx, s->option, s->path, r->ds) != SDM_OK)
        return SDM_ERR_INPUT;
    r->first = sdm_one_band(r->ds, s->band ? s->band : 1);
    if (!r->first)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s %s: its first band cannot be read: %s", s->option, s->path,
                        CPLGetLastErrorMsg());
    r->band = GDALGetRasterBand(r->first, 1);
    r->mask = sdm_band_mask(r->band);
    const char *const unit = GDALGetRasterUnitType(r->band);
    if (s->datum_option && (strstr(unit, "ft") || strstr(unit, "foot") || strstr(unit, "feet")))
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s %s: heights are in '%s'; give metres", s->option, s->path,
                        unit);
    const GDALDataType type = GDALGetRasterDataType(r->band);
    if (GDALDataTypeIsComplex(type))
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s %s: its pixels are complex numbers, expected heights",
                        s->option, s->path);
    r->cols = GDALGetRasterBandXSize(r->band);
    r->rows = GDALGetRasterBandYSize(r->band);
    r->nodata = GDALGetRasterNoDataValue(r->band, &has);
    r->has_nodata = r->declares_voids = has != 0;
    r->declares_voids |= r->mask != NULL || s->declares_voids;
    if (!has && s->datum_option && type >= GDT_Int16) { /* the usual values of voids that are not declared */
        r->nodata = type == GDT_Int16 ? -32768.0 : -9999.0;
        r->has_nodata = true;
    }
    r->scale = GDALGetRasterScale(r->band, &has);
    r->scale = has ? r->scale : 1.0;
    r->offset = GDALGetRasterOffset(r->band, &has);
    r->offset = has ? r->offset : 0.0;
    return SDM_OK;
}

static void close_file(SdmHeightRaster *r)
{
    if (r->first && r->first != r->ds)
        GDALClose(r->first);
    if (r->under)
        GDALClose(r->under);
    if (r->ds)
        GDALClose(r->ds);
    OSRDestroySpatialReference(r->srs);
}

/* The file, its georeference and its first band. */
static SdmStatus open_file(SdmContext *ctx, const SdmHeightSource *source, SdmHeightRaster *r)
{
    const char *const option = source->option, *const path = source->path;
    r->source = *source;
    {
        SDM_QUIET;
        r->ds = sdm_open_file(path, GDAL_OF_RASTER | GDAL_OF_VERBOSE_ERROR);
    }
    if (!r->ds)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s %s cannot be opened as a raster: %s", option, path,
                        CPLGetLastErrorMsg());
    const OGRSpatialReferenceH declared = GDALGetSpatialRef(r->ds);
    OGRSpatialReferenceH const srs = r->srs = declared      ? OSRClone(declared)
                                              : source->wkt ? OSRNewSpatialReference(source->wkt)
                                                            : NULL;
    if (!srs || GDALGetGeoTransform(r->ds, r->forward) != CE_None ||
        !GDALInvGeoTransform(r->forward, r->inverse))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s %s has no %s; give a %s with a CRS and a place (gdal_edit.py -a_srs, -a_ullr)",
                        option, path, srs ? "georeference" : "coordinate reference system",
                        source->datum_option ? "DEM" : "raster");
    if (!OSRIsProjected(srs) && !OSRIsGeographic(srs))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s %s: its coordinate system is neither projected nor geographic; warp it with "
                        "gdalwarp -t_srs EPSG:4326",
                        option, path);
    r->geographic = OSRIsGeographic(srs) != 0;
    return open_band(ctx, r);
}

/* The horizontal CRS. */
static SdmStatus find_crs(SdmContext *ctx, SdmHeightRaster *r)
{
    static const char *const form[] = {"FORMAT=WKT2", NULL};
    const bool good = OSRDemoteTo2D(r->srs, NULL) == OGRERR_NONE &&
                      OSRExportToWktEx(r->srs, &r->wkt, r->source.keeps_datum ? form : NULL) == OGRERR_NONE;
    return good ? SDM_OK
                : sdm_fail(ctx, SDM_ERR_INPUT,
                           "%s %s: its coordinate system cannot be used; warp it with gdalwarp -t_srs "
                           "EPSG:4326",
                           r->source.option, r->source.path);
}

SdmStatus sdm_height_raster_open(SdmContext *ctx, const SdmHeightSource *source, SdmHeightRaster **out)
{
    SDM_CLOSED_BY(sdm_height_raster_close) SdmHeightRaster *r = NULL;
    *out = NULL;
    PASS(sdm_alloc(ctx, &r, 1, sizeof *r, "a raster of heights"));
    PASS(open_file(ctx, source, r));
    PASS(find_crs(ctx, r));
    if (!source->keeps_datum)
        PASS(sdm_projector_open(ctx, r->wkt, &r->proj));
    if (source->datum_option)
        PASS(open_datum(ctx, r));
    *out = r;
    r = NULL;
    return SDM_OK;
}

void sdm_height_raster_close(SdmHeightRaster **out)
{
    SdmHeightRaster *const r = out ? *out : NULL;
    if (!r)
        return;
    close_file(r);
    CPLFree(r->wkt);
    sdm_projector_close(&r->proj);
    sdm_geoid_close(&r->geoid);
    sdm_free(out);
}

SdmStatus sdm_height_raster_check(SdmContext *ctx, const SdmHeightRaster *r)
{
    return !r->unread
               ? SDM_OK
               : sdm_fail(ctx, SDM_ERR_INPUT,
                          "%s %s cannot be read where the scene lies (%.300s); it, or a source of it, is "
                          "missing, cut short or damaged: fetch it again",
                          r->source.option, r->source.path, CPLGetLastErrorMsg());
}

bool sdm_height_raster_is_cached(const SdmHeightRaster *r)
{
    const int64_t half = GDALGetCacheMax64() / 2;
    const int64_t bytes = r->read_cells * GDALGetDataTypeSizeBytes(GDALGetRasterDataType(r->band));
    return bytes <= (half < KEPT_BYTES ? half : KEPT_BYTES);
}

/* A sample as stored -> its value; NaN for none. */
static double value_of(SdmHeightRaster *r, float v)
{
    if (!isfinite(v) || (r->has_nodata && v == (float)r->nodata))
        return NAN;
    const double value = (double)v * r->scale + r->offset;
    if (r->source.datum_option && fabs(value) > HIGHEST_M) {
        r->absurd_m = value;
        return NAN;
    }
    return value;
}

/* Columns that are 360 degrees; 0: the raster is not in degrees, or rotated. */
static double turn_of(const SdmHeightRaster *r)
{
    return r->geographic && r->forward[2] == 0.0 && r->forward[4] == 0.0 ? 360.0 / fabs(r->forward[1]) : 0.0;
}

/* Does the last column lie beside the first one? */
static bool is_closed(const SdmHeightRaster *r)
{
    return fabs(turn_of(r) - (double)r->cols) < 0.01;
}

/* Coordinates of its CRS -> column, row counted from the corner of the first cell.  A raster of longitudes
 * 0..360 is met where it lies: longitudes are those within 180 degrees of its middle. */
static void map_to_cell(const SdmHeightRaster *r, size_t n, double *x, double *y)
{
    const double *const g = r->inverse;
    for (size_t i = 0; i < n; i++) {
        const double west = r->forward[0] + 0.5 * (double)r->cols * r->forward[1] - 180.0;
        const double lon = r->geographic ? x[i] - 360.0 * floor((x[i] - west) / 360.0) : x[i];
        x[i] = g[0] + lon * g[1] + y[i] * g[2];
        y[i] = g[3] + lon * g[4] + y[i] * g[5];
    }
}

/* The same of longitude and latitude. */
static void to_cell(SdmHeightRaster *r, size_t n, double *x, double *y)
{
    sdm_projector_forward(r->proj, n, x, y);
    map_to_cell(r, n, x, y);
}

double sdm_height_raster_at(SdmContext *ctx, SdmHeightRaster *r, double lon_deg, double lat_deg)
{
    double x = lon_deg, y = lat_deg, n = 0.0;
    float v = 0.0f;
    uint8_t masked = 255;
    to_cell(r, 1, &x, &y);
    if (!(x >= 0.0 && y >= 0.0 && x < (double)r->cols && y < (double)r->rows))
        return NAN;
    if (GDALRasterIO(r->band, GF_Read, (int)x, (int)y, 1, 1, &v, 1, 1, GDT_Float32, 0, 0) != CE_None ||
        (r->mask &&
         GDALRasterIO(r->mask, GF_Read, (int)x, (int)y, 1, 1, &masked, 1, 1, GDT_Byte, 0, 0) != CE_None)) {
        r->unread = true;
        return NAN;
    }
    const double h = masked ? value_of(r, v) : (double)NAN;
    if (!isnan(h) && r->geoid && sdm_geoid_undulation(ctx, r->geoid, 1, &lon_deg, &lat_deg, &n) != SDM_OK)
        return NAN;
    return h + n;
}

double sdm_height_raster_cell_m(SdmHeightRaster *r, double lon_deg, double lat_deg)
{
    const double step = 1e-3, east = step * SDM_METRES_PER_DEGREE * cos(lat_deg * SDM_DEG),
                 north = step * SDM_METRES_PER_DEGREE;
    double x[3] = {lon_deg, lon_deg + step, lon_deg}, y[3] = {lat_deg, lat_deg, lat_deg + step};
    const double turn = turn_of(r);
    to_cell(r, 3, x, y);
    for (int i = 1; i < 3 && turn > 0.0; i++)
        x[i] -= turn * round((x[i] - x[0]) / turn);
    const double area = fabs((x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0]));
    return sqrt(east * north / area);
}

/* ---- voids that are not declared ---- */

/* Columns and rows of a grid, from its corner -> those of the raster, from its corner. */
static void place_in_raster(const SdmHeightsOnGrid *g, size_t n, double *x, double *y)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = g->grid->x0 + x[i] * g->dx;
        y[i] = g->grid->y0 - y[i] * g->dy;
    }
    if (g->projector) {
        sdm_projector_inverse(g->projector, n, x, y);
        sdm_projector_forward(g->raster->proj, n, x, y);
    }
    map_to_cell(g->raster, n, x, y);
}

/* Values of a sample over a grid that may stand for voids. */
typedef struct Sampled {
    int64_t zeros, low, high, absurd; /* 0; nearer to it than ZERO_GAP_M; farther; no heights */
    double value;                     /* of the absurd ones, the last */
} Sampled;

static void sample_values(const SdmHeightsOnGrid *g, Sampled *s)
{
    SdmHeightRaster *const r = g->raster;
    SDM_QUIET;
    for (int k = 0; k < SAMPLED_SIDE * SAMPLED_SIDE; k++) {
        const double across = (k % SAMPLED_SIDE + 0.5) / SAMPLED_SIDE,
                     down = (k / SAMPLED_SIDE + 0.5) / SAMPLED_SIDE;
        double x = across * (double)g->grid->cols, y = down * (double)g->grid->rows;
        float v = 0.0f;
        place_in_raster(g, 1, &x, &y);
        if (!(x >= 0.0 && y >= 0.0 && x < (double)r->cols && y < (double)r->rows) ||
            GDALRasterIO(r->band, GF_Read, (int)x, (int)y, 1, 1, &v, 1, 1, GDT_Float32, 0, 0) != CE_None ||
            !isfinite(v))
            continue;
        const double h = fabs((double)v * r->scale + r->offset);
        s->zeros += v == 0.0f;
        s->low += v != 0.0f && h < ZERO_GAP_M;
        s->high += h >= ZERO_GAP_M && h <= HIGHEST_M;
        s->absurd += h > HIGHEST_M;
        s->value = h > HIGHEST_M ? (double)v : s->value;
    }
}

/* Read cells of this value as voids. */
static bool declare_voids(SdmHeightRaster *r, double voids)
{
    char of[] = "-of", vrt[] = "VRT", nodata[] = "-a_nodata", value[32];
    char *arguments[] = {of, vrt, nodata, value, NULL};
    CPLsnprintf(value, sizeof value, "%.9g", voids);
    GDALTranslateOptions *const options = GDALTranslateOptionsNew(arguments, NULL);
    GDALDatasetH const with = options ? GDALTranslate("", r->first, options, NULL) : NULL;
    GDALTranslateOptionsFree(options);
    if (!with)
        return false;
    r->under = r->first != r->ds ? r->first : NULL; /* `with` reads from it */
    r->first = with;
    r->band = GDALGetRasterBand(with, 1);
    r->has_nodata = r->declares_voids = r->hides_voids = true;
    r->nodata = voids;
    return true;
}

/* See sdm_heights_on_grid_open(). */
static void find_voids(SdmContext *ctx, const SdmHeightsOnGrid *g)
{
    SdmHeightRaster *const r = g->raster;
    Sampled s = {0};
    if (!r->source.datum_option || r->declares_voids)
        return;
    sample_values(g, &s);
    if (!s.absurd && !(s.zeros && (double)s.low < LOW_SHARE * (double)s.high))
        return;
    if (declare_voids(r, s.absurd ? s.value : 0.0))
        sdm_log(ctx, SDM_LOG_INFO, 2,
                "%s %s: cells of %.9g are taken as voids, though the file does not declare them",
                r->source.option, r->source.path, r->nodata);
}

/* ---- over the cells of a grid ---- */

/* Do two CRSs give a place the same coordinates? */
static bool same_crs(const char *a, const char *b)
{
    OGRSpatialReferenceH const p = OSRNewSpatialReference(a), q = OSRNewSpatialReference(b);
    const bool same = p && q && OSRIsSame(p, q);
    OSRDestroySpatialReference(p);
    OSRDestroySpatialReference(q);
    return same;
}

/* The transformations between the CRSs.  A raster that keeps its datum may lie in a CRS that PROJ cannot
 * bring to WGS 84, as long as the grid has the same. */
static SdmStatus open_transformations(SdmContext *ctx, SdmHeightsOnGrid *g)
{
    SdmHeightRaster *const r = g->raster;
    if (r->source.keeps_datum && same_crs(r->wkt, g->grid->wkt))
        return SDM_OK;
    PASS(sdm_projector_open(ctx, g->grid->wkt, &g->projector));
    if (!r->proj)
        PASS(sdm_projector_open(ctx, r->wkt, &r->proj));
    return SDM_OK;
}

/* Side of a cell of the grid / side of a cell of the raster. */
static double size_ratio(const SdmHeightsOnGrid *g, double lon_deg, double lat_deg)
{
    const double *const t = g->raster->forward;
    if (isnan(lon_deg)) {
        lon_deg = g->grid->x0 + 0.5 * (double)g->grid->cols * g->dx;
        lat_deg = g->grid->y0 - 0.5 * (double)g->grid->rows * g->dy;
        if (g->projector)
            sdm_projector_inverse(g->projector, 1, &lon_deg, &lat_deg);
    }
    return g->projector ? sdm_grid_ground_by(g->projector, g->grid, lon_deg, lat_deg) /
                              sdm_height_raster_cell_m(g->raster, lon_deg, lat_deg)
                        : g->grid->spacing / sqrt(fabs(t[1] * t[5] - t[2] * t[4]));
}

SdmStatus sdm_heights_on_grid_open(SdmContext *ctx, SdmHeightRaster *r, const SdmGrid *grid, double lon_deg,
                                   double lat_deg, SdmHeightsOnGrid *out)
{
    SdmGeoid *geoid = NULL;
    *out = (SdmHeightsOnGrid){
        .raster = r, .grid = grid, .dx = grid->spacing, .dy = grid->spacing, .step = NODE_STEP};
    PASS(open_transformations(ctx, out));
    if (r->source.void_value)
        (void)declare_voids(r, *r->source.void_value);
    else
        find_voids(ctx, out);
    out->ratio = size_ratio(out, lon_deg, lat_deg);
    sdm_heights_on_grid_set_kernel(out, SDM_KERNEL_BICUBIC);
    if (!r->source.keeps_datum) {
        PASS(sdm_datum_open_geoid(ctx, &r->source, r->ds, &r->datum, &geoid));
        PASS(sdm_undulation_of(ctx, grid, geoid, &out->undulation));
    }
    return SDM_OK;
}

void sdm_heights_on_grid_set_kernel(SdmHeightsOnGrid *g, SdmHeightKernel kernel)
{
    g->kernel = kernel;
    g->shrink = g->parts = 1;
    if (kernel == SDM_KERNEL_BICUBIC && g->ratio >= LEAST_SHRINK)
        g->shrink = (int)fmin(g->ratio + 0.01, 4096.0);
    if (kernel == SDM_KERNEL_MEAN && g->ratio >= LEAST_RATIO) {
        g->shrink = (int)fmin(fmax(0.5 * g->ratio + 0.01, 1.0), 4096.0);
        g->parts = (int)ceil(g->ratio / g->shrink - 0.01);
    }
}

void sdm_heights_on_grid_close(SdmHeightsOnGrid *g)
{
    sdm_projector_close(&g->projector);
    sdm_undulation_close(&g->undulation);
}

/* Positions in the raster (cells from the centre of the first one, of means) at the nodes of a window.  n->x
 * and n->y are the caller's to free. */
static SdmStatus place_nodes(SdmContext *ctx, const SdmHeightsOnGrid *g, const int64_t win[4],
                             SdmPlaceNodes *n)
{
    PASS(sdm_place_nodes_open(ctx, win, g->step, n));
    place_in_raster(g, n->nx * n->ny, n->x, n->y);
    size_t known = 0;
    while (known + 1 < n->nx * n->ny && isnan(n->x[known]))
        known++;
    const double turn = turn_of(g->raster), first = n->x[known];
    for (size_t i = 0; i < n->nx * n->ny; i++) {
        if (turn > 0.0) /* nodes lie side by side, also where the raster's ends meet between them */
            n->x[i] -= turn * round((n->x[i] - first) / turn);
        n->x[i] = n->x[i] / g->shrink - 0.5;
        n->y[i] = n->y[i] / g->shrink - 0.5;
    }
    return SDM_OK;
}

/* The part of the raster, in means of cells, that the nodes span: column, row, width, height; false:
 * none. In a raster that goes round the Earth the part may go on at the first column; the nodes are
 * turned to where it begins. */
static bool find_part(const SdmHeightsOnGrid *g, SdmPlaceNodes *n, int64_t part[4])
{
    double b[4] = SDM_NO_BOUNDS;
    const double size[2] = {floor((double)g->raster->cols / g->shrink),
                            floor((double)g->raster->rows / g->shrink)};
    for (size_t i = 0; i < n->nx * n->ny; i++)
        sdm_bounds_add(b, n->x[i], n->y[i]);
    const bool around =
        is_closed(g->raster) && g->raster->cols % g->shrink == 0 && b[2] - b[0] < 0.5 * size[0];
    const double turns = around ? floor((floor(b[0]) - 2.0) / size[0]) * size[0] : 0.0;
    for (size_t i = 0; i < n->nx * n->ny; i++)
        n->x[i] -= turns;
    b[0] -= turns;
    b[2] -= turns;
    for (int k = 0; k < 2; k++) {
        const double first = fmax(floor(b[k]) - 2.0, 0.0),
                     end = fmin(floor(b[2 + k]) + 4.0, around && k == 0 ? 2.0 * size[0] : size[k]);
        if (!(end > first))
            return false;
        part[k] = (int64_t)first;
        part[2 + k] = (int64_t)(end - first);
    }
    return true;
}

/* How many samples of a few are values beyond the highest one? */
SDM_VECTOR_LOOPS static int count_absurd(int n, const float *restrict v, float nodata, double scale,
                                         double offset)
{
    int count = 0;
    for (int i = 0; i < n; i++)
        count +=
            (fabsf(v[i]) <= FLT_MAX) & (v[i] != nodata) & (fabs((double)v[i] * scale + offset) > HIGHEST_M);
    return count;
}

SDM_VECTOR_LOOPS static void convert_usual(int n, float nodata, double scale, double offset,
                                           float *restrict v)
{
    for (int i = 0; i < n; i++) {
        const int none = !(fabsf(v[i]) <= FLT_MAX) | (v[i] == nodata);
        v[i] = none ? NAN : (float)((double)v[i] * scale + offset);
    }
}

/* As value_of(), of a few samples in place. */
static void convert_values(SdmHeightRaster *r, int n, float *v)
{
    const float nodata = r->has_nodata ? (float)r->nodata : NAN;
    if (r->source.datum_option && count_absurd(n, v, nodata, r->scale, r->offset) > 0)
        for (int i = 0; i < n; i++)
            v[i] = (float)value_of(r, v[i]);
    else
        convert_usual(n, nodata, r->scale, r->offset, v);
}

/* Read means of k x k cells; columns beyond the last one are the first ones again. */
static CPLErr read_means(GDALRasterBandH band, const int64_t part[4], int k, void *out, GDALDataType type)
{
    GDALRasterIOExtraArg how;
    INIT_RASTERIO_EXTRA_ARG(how);
    how.eResampleAlg = GRIORA_Average;
    const int cols = GDALGetRasterBandXSize(band) / k, h = (int)part[3], y = (int)part[1] * k,
              bytes = GDALGetDataTypeSizeBytes(type);
    const GSpacing line = (GSpacing)part[2] * bytes;
    CPLErr e = CE_None;
    for (int64_t done = 0; done < part[2] && e == CE_None;) {
        const int x = (int)((part[0] + done) % cols), left = (int)(part[2] - done),
                  w = left < cols - x ? left : cols - x;
        e = GDALRasterIOEx(band, GF_Read, x * k, y, w * k, h * k, (char *)out + done * bytes, w, h, type,
                           bytes, line, &how);
        done += w;
    }
    return e;
}

static SdmStatus read_part(SdmContext *ctx, const SdmHeightsOnGrid *g, const int64_t part[4], float **out)
{
    SdmHeightRaster *const r = g->raster;
    const int k = g->shrink, w = (int)part[2], h = (int)part[3];
    const size_t cells = (size_t)w * (size_t)h;
    SDM_OWNED uint8_t *valid = NULL;
    PASS(sdm_alloc_raw(ctx, out, cells, sizeof **out, "the reference"));
    if (r->mask)
        PASS(sdm_alloc_raw(ctx, &valid, cells, 1, "the reference's mask"));
    CPLPushErrorHandler(CPLQuietErrorHandler);
    CPLErr e = read_means(r->band, part, k, *out, GDT_Float32);
    if (e == CE_None && r->mask)
        e = read_means(r->mask, part, k, valid, GDT_Byte);
    CPLPopErrorHandler();
    r->unread |= e != CE_None;
    r->read_cells += (int64_t)w * h * k * k;
    PASS(sdm_height_raster_check(ctx, r));
    for (size_t i = 0; r->mask && i < cells; i++)
        (*out)[i] = valid[i] ? (*out)[i] : NAN;
    for (size_t i = 0; i < cells; i += TOGETHER)
        convert_values(r, cells - i < TOGETHER ? (int)(cells - i) : TOGETHER, *out + i);
    return SDM_OK;
}

static double nearest(const float *plane, int w, int h, double col, double row)
{
    const double x = floor(col + 0.5), y = floor(row + 0.5);
    const bool inside = x >= 0.0 && y >= 0.0 && x < w && y < h;
    return inside ? (double)plane[(size_t)y * (size_t)w + (size_t)x] : (double)NAN;
}

/* Bilinear where the four neighbours have a value; on the centre of a cell its own. */
static double bilinear(const float *plane, int w, int h, double col, double row)
{
    if (fabs(col - round(col)) < ON_CENTRE && fabs(row - round(row)) < ON_CENTRE)
        return nearest(plane, w, h, col, row);
    const double x = fmin(fmax(floor(col), 0.0), w - 2.0), y = fmin(fmax(floor(row), 0.0), h - 2.0);
    if (!(col >= -0.5 && row >= -0.5 && col <= w - 0.5 && row <= h - 0.5) || w < 2 || h < 2)
        return NAN;
    const float *const v = plane + (size_t)y * (size_t)w + (size_t)x;
    const double fx = fmin(fmax(col - x, 0.0), 1.0), fy = fmin(fmax(row - y, 0.0), 1.0);
    const double top = (double)v[0] + fx * ((double)v[1] - (double)v[0]),
                 low = (double)v[w] + fx * ((double)v[w + 1] - (double)v[w]);
    return top + fy * (low - top);
}

static void fill_none(float *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        v[i] = NAN;
}

static bool has_value(const float *v, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isnan(v[i]))
            return true;
    return false;
}

/* A part of the raster that was read, and the places of the grid on it. */
typedef struct PartRead {
    SdmPlaceNodes nodes;
    int64_t part[4]; /* of the raster, in means of cells: column, row, width, height */
    float *plane;
    SdmHeightKernel kernel;
    int parts; /* of a cell of the grid, a side, whose mean is taken */
} PartRead;

/* Values at n places of the part. */
static void sample_places(const PartRead *p, int n, const double *x, const double *y, double *value)
{
    const SdmBicubicPlane of = {p->plane, (int)p->part[2], (int)p->part[3]};
    for (int i = 0; i < n; i++)
        value[i] = p->kernel == SDM_KERNEL_NEAREST ? nearest(p->plane, of.w, of.h, x[i], y[i]) : (double)NAN;
    if (p->kernel == SDM_KERNEL_BICUBIC && p->parts == 1)
        sdm_bicubic(&of, n, x, y, value, NULL, NULL);
    for (int i = 0; i < n && p->kernel != SDM_KERNEL_NEAREST; i++)
        if (isnan(value[i]))
            value[i] = bilinear(p->plane, of.w, of.h, x[i], y[i]);
}

/* Move n places from the centres of cells to one of the parts of the cells.  across, down: -0.5 .. 0.5. */
static void move_places(const PartRead *p, const int64_t cell[2], int n, double across, double down,
                        double *x, double *y)
{
    const SdmPlaceNodes *const t = &p->nodes;
    for (int i = 0; i < n; i++) {
        const size_t at =
            (size_t)(cell[1] / t->step - t->j0) * t->nx + (size_t)((cell[0] + i) / t->step - t->i0);
        x[i] += (across * (t->x[at + 1] - t->x[at]) + down * (t->x[at + t->nx] - t->x[at])) / t->step;
        y[i] += (across * (t->y[at + 1] - t->y[at]) + down * (t->y[at + t->nx] - t->y[at])) / t->step;
    }
}

/* A few cells of a row from a cell (column, row) of the grid on. */
static void sample_cells(const PartRead *p, const int64_t cell[2], int n, float *out)
{
    const int parts = p->parts, all = parts * parts;
    double x[TOGETHER], y[TOGETHER], value[TOGETHER], sum[TOGETHER] = {0.0};
    int met[TOGETHER] = {0};
    for (int k = 0; k < all; k++) {
        sdm_cell_places(&p->nodes, cell[0], cell[1], n, x, y);
        if (all > 1)
            move_places(p, cell, n, (k % parts + 0.5) / parts - 0.5, (k / parts + 0.5) / parts - 0.5, x, y);
        for (int i = 0; i < n; i++) {
            x[i] -= (double)p->part[0];
            y[i] -= (double)p->part[1];
        }
        sample_places(p, n, x, y, value);
        for (int i = 0; i < n; i++) {
            sum[i] += isnan(value[i]) ? 0.0 : value[i];
            met[i] += !isnan(value[i]);
        }
    }
    for (int i = 0; i < n; i++)
        out[i] = met[i] && 2 * met[i] >= all ? (float)(sum[i] / met[i]) : NAN;
}

/* Row r of a window, some cells at a time; NaN where none of them is wanted. */
static void sample_row(const PartRead *p, const int64_t window[4], int64_t r, const float *wanted, float *out)
{
    for (int64_t i = 0; i < window[2]; i += TOGETHER) {
        const int n = window[2] - i < TOGETHER ? (int)(window[2] - i) : TOGETHER;
        if (!wanted || has_value(wanted + i, n))
            sample_cells(p, (const int64_t[2]){window[0] + i, window[1] + r}, n, out + i);
        else
            fill_none(out + i, n);
    }
}

/* The columns of a window with a wanted cell: those from *first to before *end. */
static void find_wanted(const int64_t window[4], const float *wanted, int64_t *first, int64_t *end)
{
    const int64_t w = window[2];
    *first = wanted ? w : 0;
    *end = wanted ? 0 : w;
    for (int64_t r = 0; r < window[3] && wanted; r++) {
        const float *const row = wanted + r * w;
        for (int64_t i = 0; i < *first; i++)
            if (!isnan(row[i]))
                *first = i;
        for (int64_t i = w; i > *end; i--)
            if (!isnan(row[i - 1]))
                *end = i;
    }
}

SdmStatus sdm_heights_on_grid(SdmContext *ctx, SdmHeightsOnGrid *g, const int64_t window[4],
                              const float *wanted, float *height_m)
{
    SdmStatus st = SDM_OK;
    PartRead p = {.kernel = g->kernel, .parts = g->parts};
    const int64_t w = window[2], h = window[3];
    int64_t first, end;
    float *undulation = NULL;
    find_wanted(window, wanted, &first, &end);
    const int64_t inner[4] = {window[0] + first, window[1], end - first, h};
    if (end > first)
        TRY(place_nodes(ctx, g, inner, &p.nodes));
    if (end <= first || !find_part(g, &p.nodes, p.part)) {
        fill_none(height_m, w * h);
        goto done;
    }
    TRY(read_part(ctx, g, p.part, &p.plane));
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
    for (int64_t r = 0; r < h; r++) {
        float *const row = height_m + r * w;
        fill_none(row, first);
        sample_row(&p, inner, r, wanted ? wanted + r * w + first : NULL, row + first);
        fill_none(row + end, w - end);
    }
    sdm_free(&p.plane);
    if (g->undulation.geoid) {
        TRY(sdm_alloc_raw(ctx, &undulation, (size_t)(w * h), sizeof *undulation, "undulation"));
        TRY(sdm_undulation_window(ctx, &g->undulation, window, undulation));
        for (int64_t i = 0; i < w * h; i++)
            height_m[i] += undulation[i];
    }
done:
    SDM_FREE(&p.nodes.x, &p.nodes.y, &p.plane, &undulation);
    return st;
}
