/* Scene centre, --t_srs and --tr -> the grid of the DEM: CRS, spacing, cells (stage 8). */
// SPDX-License-Identifier: Apache-2.0
#include "core/options.h"
#include "core/math.h"
#include "core/qa_reasons.h"
#include "geo/gdal_scope.h"
#include "geo/geodesy.h"
#include "geo/grid.h"
#include "geo/outlines.h"
#include "geo/projector.h"

#include <cpl_conv.h>
#include <cpl_vsi.h>
#include <gdal.h>
#include <math.h>
#include <ogr_srs_api.h>
#include <proj.h>
#include <string.h>
#include <strings.h>

/* Nearest (by ratio) of 1, 1.5, 2, 3, 5 times a power of ten. */
static double neat(double v)
{
    static const double step[] = {1.0, 1.5, 2.0, 3.0, 5.0, 10.0};
    const double unit = pow(10.0, floor(log10(v)));
    double best = step[0];
    for (int i = 1; i < 6; i++)
        if (fabs(log(v / unit / step[i])) < fabs(log(v / unit / best)))
            best = step[i];
    return unit >= 1.0 ? best * unit : best / round(1.0 / unit);
}

/* The same in seconds of arc. */
static double neat_degrees(double deg)
{
    return neat(3600.0 * deg) / 3600.0;
}

static int epsg_of(double lon_deg, double lat_deg)
{
    if (lat_deg > 84.0)
        return 3413;
    if (lat_deg < -80.0)
        return 3031;
    const double lon = lon_deg - 360.0 * floor((lon_deg + 180.0) / 360.0); /* [-180, 180) */
    const int zone = (int)fmin(60.0, floor((lon + 180.0) / 6.0) + 1.0);
    return (lat_deg < 0.0 ? 32700 : 32600) + zone;
}

/* Only a horizontal CRS of two axes will do. */
static SdmStatus check_kind(SdmContext *ctx, OGRSpatialReferenceH srs, const char *text)
{
    if (OSRIsGeocentric(srs))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--t_srs %s is a geocentric CRS; give a projected or geographic one", text);
    if (OSRIsCompound(srs) || OSRIsVertical(srs) || OSRGetAxesCount(srs) != 2)
        return sdm_fail(
            ctx, SDM_ERR_USAGE,
            "--t_srs %s has a vertical part; give its horizontal CRS alone, and the heights' datum with "
            "--vertical ellipsoid, egm96 or egm2008",
            text);
    if (!OSRIsProjected(srs) && !OSRIsGeographic(srs))
        return sdm_fail(
            ctx, SDM_ERR_USAGE,
            "--t_srs %s is neither a projected nor a geographic CRS; give one, such as EPSG:32631", text);
    return SDM_OK;
}

static SdmStatus export_wkt(SdmContext *ctx, OGRSpatialReferenceH srs, const char *text, char *wkt,
                            size_t size)
{
    static const char *const formats[] = {"FORMAT=WKT1", "FORMAT=WKT2_2019"};
    SdmStatus st = SDM_ERR_USAGE;
    for (int i = 0; i < 2 && st; i++) {
        const char *const options[] = {formats[i], "MULTILINE=NO", NULL};
        char *out = NULL;
        if (OSRExportToWktEx(srs, &out, options) == OGRERR_NONE && out && strlen(out) < size) {
            memcpy(wkt, out, strlen(out) + 1);
            st = SDM_OK;
        }
        CPLFree(out);
    }
    return st ? sdm_fail(ctx, st, "--t_srs %s cannot be written as WKT of less than %zu bytes", text, size)
              : st;
}

/* EPSG:4326x: a code that is no number, of which PROJ reads as much as is one.  EPSG:32631+5773 is two. */
static bool has_bad_code(const char *text)
{
    if (strncasecmp(text, "EPSG:", 5) != 0 && strncasecmp(text, "ESRI:", 5) != 0)
        return false;
    const size_t n = strspn(text += 5, "0123456789");
    return n == 0 || (text[n] && text[n] != '+');
}

/* --t_srs or the EPSG code -> WKT. */
static SdmStatus resolve(SdmContext *ctx, const char *text, SdmGrid *grid)
{
    SDM_CLOSED_BY(sdm_gdal_errors_end) SdmGdalErrors errors;
    sdm_gdal_errors_begin(&errors);
    SDM_CLOSED_BY(sdm_srs_free) OGRSpatialReferenceH srs = OSRNewSpatialReference(NULL);
    /* a URL would need the network */
    if (strstr(text, "://") || has_bad_code(text) || OSRSetFromUserInput(srs, text) != OGRERR_NONE) {
        PASS(sdm_proj_check(ctx));
        return sdm_fail(
            ctx, SDM_ERR_USAGE,
            "--t_srs %s is not a coordinate system that PROJ knows%s%s; expected for example EPSG:32631",
            text, errors.text[0] ? ": " : "", errors.text);
    }
    PASS(check_kind(ctx, srs, text));
    OSRSetAxisMappingStrategy(srs, OAMS_TRADITIONAL_GIS_ORDER);
    grid->geographic = OSRIsGeographic(srs);
    return export_wkt(ctx, srs, text, grid->wkt, sizeof grid->wkt);
}

/* Has a GeoTIFF keys for the CRS?  Where it has none, GDAL writes a second file beside the GeoTIFF. */
static bool can_store(const char *wkt)
{
    static const char *const alone[] = {"", NULL}; /* files beside it: none */
    char name[64];
    snprintf(name, sizeof name, "/vsimem/stereodem_crs_%p.tif", (const void *)wkt);
    sdm_gdal_register();
    const GDALDatasetH out = GDALCreate(GDALGetDriverByName("GTiff"), name, 1, 1, 1, GDT_Byte, NULL);
    const bool set = out && GDALSetProjection(out, wkt) == CE_None;
    GDALClose(out);
    const GDALDatasetH in = set ? GDALOpenEx(name, GDAL_OF_RASTER, NULL, NULL, alone) : NULL;
    const bool kept = in && GDALGetSpatialRef(in);
    GDALClose(in);
    VSIUnlink(name);
    memcpy(name + strlen(name), ".aux.xml", sizeof ".aux.xml");
    VSIUnlink(name);
    return kept;
}

SdmStatus sdm_grid_check_srs(SdmContext *ctx, const char *t_srs)
{
    SdmGrid grid;
    if (!t_srs)
        return SDM_OK;
    PASS(resolve(ctx, t_srs, &grid));
    SDM_CLOSED_BY(sdm_gdal_errors_end) SdmGdalErrors errors;
    sdm_gdal_errors_begin(&errors);
    if (!can_store(grid.wkt))
        return sdm_fail(
            ctx, SDM_ERR_USAGE,
            "--t_srs %s cannot be stored in a GeoTIFF; give a CRS with an EPSG code, or a common projection",
            t_srs);
    return SDM_OK;
}

static SdmStatus check_place(SdmContext *ctx, const SdmGrid *grid, const char *text, double lon_deg,
                             double lat_deg)
{
    SDM_CLOSED_BY(sdm_projector_close) SdmProjector *p = NULL;
    double x = lon_deg, y = lat_deg;
    PASS(sdm_projector_open(ctx, grid->wkt, &p));
    sdm_projector_forward(p, 1, &x, &y);
    if (isnan(x) || isnan(y))
        return sdm_fail(
            ctx, SDM_ERR_USAGE,
            "--t_srs %s cannot express the scene's centre, lon %.4f lat %.4f; give a CRS of that place", text,
            lon_deg, lat_deg);
    return SDM_OK;
}

void sdm_grid_warn(SdmContext *ctx, const char *t_srs, double lon_deg, double lat_deg)
{
    double w, s, e, n;
    char *unit = NULL;
    if (!t_srs)
        return;
    SDM_CLOSED_BY(sdm_srs_free) OGRSpatialReferenceH const srs = OSRNewSpatialReference(NULL);
    const bool projected = OSRSetFromUserInput(srs, t_srs) == OGRERR_NONE && OSRIsProjected(srs);
    const double metres = projected ? OSRGetLinearUnits(srs, &unit) : 1.0;
    if (metres != 1.0) /* heights are in metres, whatever unit the map has */
        sdm_log(ctx, SDM_LOG_WARNING, 8,
                "the map of --t_srs %s is in %s of %.6g m, the heights are in metres: slopes and shades "
                "need that factor (gdaldem -s %.6g)",
                t_srs, unit ? unit : "units", metres, metres);
    PJ_CONTEXT *const pc = sdm_proj_context();
    PJ *const crs = proj_create(pc, t_srs);
    const bool known = crs && proj_get_area_of_use(pc, crs, &w, &s, &e, &n, NULL) && w > -1000.0;
    proj_destroy(crs);
    proj_context_destroy(pc);
    if (!known)
        return;
    const double lon = w + fmod(fmod(lon_deg - w, 360.0) + 360.0, 360.0);
    if (lat_deg < s || lat_deg > n || lon > (e < w ? e + 360.0 : e))
        sdm_log(ctx, SDM_LOG_WARNING, 8,
                "the scene (lon %.3f lat %.3f) lies outside the area of use of --t_srs %s", lon_deg, lat_deg,
                t_srs);
}

static SdmStatus check_spacing(SdmContext *ctx, const SdmGrid *grid, double metres_per_unit, double gsd_m)
{
    const char *const unit = grid->geographic ? "degrees" : "units of the CRS";
    const double m = grid->spacing * metres_per_unit;
    if (!isfinite(m) || !(m > 0.0))
        return sdm_fail(ctx, SDM_ERR_USAGE, "--tr %g: expected a positive number of %s", grid->spacing, unit);
    if (grid->geographic && grid->spacing > 1.0)
        return sdm_fail(
            ctx, SDM_ERR_USAGE,
            "--tr %g is in degrees, for the output CRS is geographic; about %.3g is usual for this scene",
            grid->spacing, neat_degrees(2.0 * gsd_m / SDM_METRES_PER_DEGREE));
    if (m < gsd_m / 20.0 || m > gsd_m * 10000.0)
        return sdm_fail(
            ctx, SDM_ERR_USAGE,
            "--tr %g %s is %.3g m on the ground; the image has %.3g m, and from 1/20 to 10000 times that "
            "is expected",
            grid->spacing, unit, m, gsd_m);
    return SDM_OK;
}

SdmStatus sdm_grid_choose(SdmContext *ctx, const SdmOptions *opt, double lon_deg, double lat_deg,
                          double gsd_m, SdmGrid *grid)
{
    char code[32];
    *grid = (SdmGrid){.spacing = 1.0};
    if (!isfinite(lon_deg) || !(fabs(lat_deg) <= 90.0) || !(gsd_m > 0.0) || !isfinite(gsd_m))
        return sdm_fail(ctx, SDM_ERR_DATA,
                        "the scene's centre (lon %g lat %g) or ground sample distance (%g m) is absurd; the "
                        "camera data are wrong, fetch the images again",
                        lon_deg, lat_deg, gsd_m);
    PASS(sdm_format(ctx, code, sizeof code, "EPSG:%d", epsg_of(lon_deg, lat_deg)));
    const char *const text = opt->t_srs ? opt->t_srs : code;
    PASS(resolve(ctx, text, grid));
    if (opt->t_srs)
        PASS(check_place(ctx, grid, text, lon_deg, lat_deg));
    double ground_m = SDM_METRES_PER_DEGREE * sqrt(fmax(cos(lat_deg * SDM_DEG), 1e-6));
    if (!grid->geographic)
        PASS(sdm_grid_ground_m(ctx, grid, lon_deg, lat_deg, &ground_m));
    const double usual = 2.0 * gsd_m / ground_m;
    grid->spacing = opt->tr != 0.0 ? opt->tr : grid->geographic ? neat_degrees(usual) : neat(usual);
    return check_spacing(ctx, grid, ground_m, gsd_m);
}

void sdm_grid_name(const SdmGrid *grid, char *out, size_t size)
{
    SDM_CLOSED_BY(sdm_srs_free) OGRSpatialReferenceH const srs = OSRNewSpatialReference(grid->wkt);
    const char *const code = srs ? OSRGetAuthorityCode(srs, NULL) : NULL, *const name =
                                                                              srs ? OSRGetName(srs) : NULL;
    if (code)
        snprintf(out, size, "%s:%s", OSRGetAuthorityName(srs, NULL), code);
    else
        snprintf(out, size, "%s", name ? name : "unnamed");
}

SdmStatus sdm_grid_choose_like(SdmContext *ctx, const SdmOptions *opt, const char *srs, double spacing,
                               double lon_deg, double lat_deg, SdmGrid *grid)
{
    const char *const text = opt->t_srs ? opt->t_srs : srs;
    *grid = (SdmGrid){.spacing = opt->tr > 0.0 ? opt->tr : spacing};
    PASS(resolve(ctx, text, grid));
    if (opt->t_srs)
        PASS(check_place(ctx, grid, text, lon_deg, lat_deg));
    if (grid->geographic && grid->spacing > 1.0)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--tr %g is in degrees, for the output CRS is geographic; at most 1 is expected",
                        grid->spacing);
    return SDM_OK;
}

SdmStatus sdm_grid_cover(SdmContext *ctx, const double bounds[4], SdmGrid *grid)
{
    const double s = grid->spacing;
    const double left = floor(bounds[0] / s), bottom = floor(bounds[1] / s);
    const double right = ceil(bounds[2] / s), top = ceil(bounds[3] / s);
    if (!isfinite(left) || !isfinite(right) || !isfinite(top) || !isfinite(bottom) || right < left ||
        top < bottom)
        return sdm_fail(ctx, SDM_ERR_DATA, "the DEM's bounds (%g %g %g %g) are absurd; give another --t_srs",
                        bounds[0], bounds[1], bounds[2], bounds[3]);
    const double cols = fmax(right - left, 1.0), rows = fmax(top - bottom, 1.0);
    if (cols > 2e9 || rows > 2e9 || cols * rows > 1e15)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "the DEM would have %.0f x %.0f cells; give a larger --tr than %g", cols, rows, s);
    grid->x0 = left * s;
    grid->y0 = top * s;
    grid->cols = (int64_t)cols;
    grid->rows = (int64_t)rows;
    return SDM_OK;
}

double sdm_grid_spacing_m(const SdmGrid *grid)
{
    if (grid->geographic)
        return grid->spacing * SDM_METRES_PER_DEGREE;
    SDM_CLOSED_BY(sdm_srs_free) OGRSpatialReferenceH const srs = OSRNewSpatialReference(grid->wkt);
    return grid->spacing * (srs ? OSRGetLinearUnits(srs, NULL) : 1.0);
}

double sdm_grid_ground_by(SdmProjector *projector, const SdmGrid *grid, double lon_deg, double lat_deg)
{
    static const double step_deg = 1e-3;
    lat_deg = fmax(fmin(lat_deg, 90.0 - step_deg), step_deg - 90.0);
    const double side = lat_deg > 0.0 ? -step_deg : step_deg; /* away from the pole */
    double x[3] = {lon_deg, lon_deg + step_deg, lon_deg}, y[3] = {lat_deg, lat_deg, lat_deg + side};
    const double side_m = sdm_grid_spacing_m(grid);
    sdm_projector_forward(projector, 3, x, y);
    x[1] = grid->geographic ? sdm_longitude_near(x[1], x[0]) : x[1];
    const double map = fabs((x[1] - x[0]) * (y[2] - y[0]) - (x[2] - x[0]) * (y[1] - y[0]));
    const double ground_m =
        step_deg * SDM_METRES_PER_DEGREE * sqrt(cos(lat_deg * 3.14159265358979323846 / 180.0));
    const double true_m = grid->spacing * ground_m / sqrt(map);
    return isfinite(true_m) && fabs(true_m / side_m - 1.0) > 0.1 ? true_m : side_m;
}

SdmStatus sdm_grid_ground_m(SdmContext *ctx, const SdmGrid *grid, double lon_deg, double lat_deg,
                            double *side_m)
{
    SDM_CLOSED_BY(sdm_projector_close) SdmProjector *p = NULL;
    *side_m = sdm_grid_spacing_m(grid);
    PASS(sdm_projector_open(ctx, grid->wkt, &p));
    *side_m = sdm_grid_ground_by(p, grid, lon_deg, lat_deg);
    return SDM_OK;
}

enum { EDGE_POINTS = 64, STRIP_ROWS = 256 };
static const double SAME_EDGE = 1e-6; /* of a cell: bounds that lie on an edge */

/* ---- the part: --bounds and --area -> bounds in the CRS of a grid ---- */

/* Points along the edges of a box -> the bounds of their images.  inverse: from the CRS to degrees. */
static SdmStatus move_box(SdmContext *ctx, const char *wkt, bool inverse, const double box[4], double out[4])
{
    enum { N = 4 * EDGE_POINTS };
    SDM_CLOSED_BY(sdm_projector_close) SdmProjector *p = NULL;
    double x[N], y[N];
    PASS(sdm_projector_open(ctx, wkt, &p));
    for (int k = 0; k < N; k++) {
        const double t = (double)(k % EDGE_POINTS) / EDGE_POINTS;
        const double along[] = {t, 1.0, 1.0 - t, 0.0}; /* sides, from the lower one on */
        x[k] = box[0] + along[k / EDGE_POINTS] * (box[2] - box[0]);
        y[k] = box[1] + along[(k / EDGE_POINTS + 3) % 4] * (box[3] - box[1]);
    }
    (inverse ? sdm_projector_inverse : sdm_projector_forward)(p, N, x, y);
    sdm_bounds_clear(out);
    for (int k = 0; k < N; k++)
        sdm_bounds_add(out, inverse ? sdm_longitude_near(x[k], x[0]) : x[k], y[k]);
    return SDM_OK;
}

static bool meet(const double a[4], const double b[4])
{
    return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
}

/* Turn bounds in degrees by 360 to those of the DEM. */
static void turn_to(const double whole_deg[4], double b[4])
{
    const double middle = 0.5 * (b[0] + b[2]),
                 turn = sdm_longitude_near(middle, 0.5 * (whole_deg[0] + whole_deg[2])) - middle;
    b[0] += turn;
    b[2] += turn;
}

/* Bounds in degrees -> the CRS of the grid.  Far from the DEM, where a projection may fail, they are cut; not
 * about a pole. */
static SdmStatus move_degrees(SdmContext *ctx, const char *wkt, const double whole[4], double b[4],
                              double out[4])
{
    double lies[4];
    PASS(move_box(ctx, wkt, true, whole, lies));
    if (lies[2] - lies[0] < 180.0) {
        turn_to(lies, b);
        if (!meet(b, lies)) {
            sdm_bounds_clear(out);
            return SDM_OK;
        }
        for (int k = 0; k < 2; k++) {
            const double side = lies[2 + k] - lies[k];
            b[k] = fmax(b[k], lies[k] - side);
            b[2 + k] = fmin(b[2 + k], lies[2 + k] + side);
        }
    }
    return move_box(ctx, wkt, false, b, out);
}

/* --bounds in the CRS of the grid.  Numbers that can be degrees are degrees. */
static SdmStatus given_bounds(SdmContext *ctx, const char *text, const SdmGrid *crs, const double whole[4],
                              bool tell, double out[4])
{
    double b[4];
    bool is_degrees;
    char name[80];
    PASS(sdm_option_bounds(ctx, text, b, &is_degrees));
    sdm_grid_name(crs, name, sizeof name);
    if (crs->geographic && !is_degrees)
        return sdm_fail(ctx, SDM_ERR_USAGE, "--bounds %s: the output CRS %s is in degrees, found metres",
                        text, name);
    if (crs->geographic)
        turn_to(whole, b);
    memcpy(out, b, sizeof b);
    if (is_degrees && !crs->geographic)
        PASS(move_degrees(ctx, crs->wkt, whole, b, out));
    if (!meet(out, whole)) {
        double lies[4];
        if (!is_degrees || move_box(ctx, crs->wkt, true, whole, lies) != SDM_OK)
            memcpy(lies, whole, sizeof lies);
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        is_degrees
                            ? "--bounds %s, taken as degrees, lies outside of the DEM, whose W S E N are "
                              "%.4f %.4f %.4f %.4f"
                            : "--bounds %s, taken as units of the output CRS, lies outside of the DEM, "
                              "whose W S E N are %.0f %.0f %.0f %.0f",
                        text, lies[0], lies[1], lies[2], lies[3]);
    }
    if (tell && is_degrees && !crs->geographic)
        sdm_log(ctx, SDM_LOG_INFO, 8, "--bounds %s, taken as degrees: %.0f %.0f %.0f %.0f in %s", text,
                out[0], out[1], out[2], out[3], name);
    return SDM_OK;
}

static SdmOutlineSource area_of(const SdmOptions *o, bool tell)
{
    return (SdmOutlineSource){.option = "--area", .path = o->area, .is_single = true, .quiet = !tell};
}

/* Bounds of the polygons near the box, in its CRS. */
static SdmStatus area_bounds(SdmContext *ctx, const SdmOptions *o, const char *wkt, const double whole[4],
                             bool tell, double out[4])
{
    SDM_CLOSED_BY(sdm_outlines_close) SdmOutlines outlines = {0};
    const SdmOutlineSource source = area_of(o, tell);
    const SdmOutlineGrid box = {
        .wkt = wkt,
        .transform = {whole[0], whole[2] - whole[0], 0.0, whole[3], 0.0, whole[1] - whole[3]},
        .cols = 1,
        .rows = 1};
    PASS(sdm_outlines_open(ctx, &source, &outlines));
    PASS(sdm_outlines_bounds(ctx, &outlines, &box, out));
    if (!meet(out, whole) || !(out[0] < out[2]) || !(out[1] < out[3]))
        return sdm_fail(ctx, SDM_ERR_DATA, "--area %s: its polygons have no area within the DEM", o->area);
    return SDM_OK;
}

SdmStatus sdm_part_bounds(SdmContext *ctx, const SdmOptions *o, const char *wkt, const double whole[4],
                          bool tell, double out[4])
{
    SDM_CLOSED_BY(sdm_srs_free) OGRSpatialReferenceH const srs = OSRNewSpatialReference(wkt);
    SdmGrid crs = {.spacing = 1.0, .geographic = srs && OSRIsGeographic(srs)};
    double part[4];
    memcpy(out, whole, 4 * sizeof *out);
    snprintf(crs.wkt, sizeof crs.wkt, "%s", wkt);
    for (int k = 0; k < 2; k++) {
        if (!(k ? o->area : o->bounds))
            continue;
        PASS(k ? area_bounds(ctx, o, wkt, whole, tell, part)
               : given_bounds(ctx, o->bounds, &crs, whole, tell, part));
        for (int i = 0; i < 4; i++)
            out[i] = i < 2 ? fmax(out[i], part[i]) : fmin(out[i], part[i]);
    }
    if (!(out[0] < out[2]) || !(out[1] < out[3]))
        return sdm_fail(ctx, SDM_ERR_USAGE, "--bounds %s and --area %s have nothing in common", o->bounds,
                        o->area);
    return SDM_OK;
}

/* ---- cells of the part ---- */

SdmStatus sdm_part_cut(SdmContext *ctx, const SdmOptions *o, bool tell, SdmGrid *grid)
{
    const double s = grid->spacing, left = round(grid->x0 / s), top = round(grid->y0 / s);
    const double whole[4] = {grid->x0, grid->y0 - (double)grid->rows * s, grid->x0 + (double)grid->cols * s,
                             grid->y0};
    double b[4];
    if (!o->bounds && !o->area)
        return SDM_OK;
    PASS(sdm_part_bounds(ctx, o, grid->wkt, whole, tell, b));
    const double col = fmax(floor((b[0] - grid->x0) / s + SAME_EDGE), 0.0),
                 row = fmax(floor((grid->y0 - b[3]) / s + SAME_EDGE), 0.0),
                 col1 = fmin(ceil((b[2] - grid->x0) / s - SAME_EDGE), (double)grid->cols),
                 row1 = fmin(ceil((grid->y0 - b[1]) / s - SAME_EDGE), (double)grid->rows);
    grid->x0 = (left + col) * s;
    grid->y0 = (top - row) * s;
    grid->cols = (int64_t)fmax(col1 - col, 1.0);
    grid->rows = (int64_t)fmax(row1 - row, 1.0);
    return SDM_OK;
}

static void clear_cell(SdmBlock *b, int64_t at)
{
    float *const value[] = {b->height_m, b->spread_m, b->score, b->ray_error_m, b->ortho};
    for (int k = 0; k < 5; k++)
        if (value[k])
            value[k][at] = NAN;
    b->count[at] = 0;
    b->mask[at] = b->score ? SDM_QA_MASKED : SDM_QA_OUTSIDE; /* a stack has no masks */
    if (b->pairs)
        b->pairs[at] = 0;
}

/* The block's rows of a strip of the grid. */
static SdmStatus clear_strip(SdmContext *ctx, const SdmOutlines *area, const SdmGrid *grid, int64_t strip,
                             uint8_t *inside, SdmBlock *b)
{
    const int64_t row0 = strip * STRIP_ROWS,
                  rows = grid->rows - row0 < STRIP_ROWS ? grid->rows - row0 : STRIP_ROWS;
    const SdmOutlineGrid on = {.wkt = grid->wkt,
                               .transform = {grid->x0, grid->spacing, 0.0,
                                             grid->y0 - (double)row0 * grid->spacing, 0.0, -grid->spacing},
                               .cols = grid->cols,
                               .rows = rows};
    PASS(sdm_outlines_burn(ctx, area, &on, inside));
    for (int64_t r = 0; r < b->h; r++) {
        const int64_t row = b->row0 + r - row0;
        for (int64_t c = 0; c < b->w && row >= 0 && row < rows; c++)
            if (!inside[row * grid->cols + b->col0 + c])
                clear_cell(b, r * b->w + c);
    }
    return SDM_OK;
}

void sdm_part_at(const SdmGrid *grid, const SdmGrid *part, int64_t out[2])
{
    out[0] = llround((part->x0 - grid->x0) / grid->spacing);
    out[1] = llround((grid->y0 - part->y0) / grid->spacing);
}

SdmStatus sdm_part_take(SdmContext *ctx, const SdmOptions *o, const SdmGrid *grid, const SdmGrid *part,
                        SdmBlock *b)
{
    SDM_CLOSED_BY(sdm_outlines_close) SdmOutlines area = {0};
    SDM_OWNED uint8_t *inside = NULL;
    int64_t at[2];
    sdm_part_at(grid, part, at);
    b->col0 -= at[0];
    b->row0 -= at[1];
    if (!o->area || b->w < 1 || b->h < 1)
        return SDM_OK;
    const SdmOutlineSource source = area_of(o, false);
    PASS(sdm_outlines_open(ctx, &source, &area));
    PASS(sdm_alloc_raw(ctx, &inside, (size_t)part->cols * STRIP_ROWS, 1, "cells inside of polygons"));
    for (int64_t s = b->row0 / STRIP_ROWS; s * STRIP_ROWS < b->row0 + b->h; s++)
        PASS(clear_strip(ctx, &area, part, s, inside, b));
    return SDM_OK;
}
