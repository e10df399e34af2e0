/* Layers -> the common grid (CRS, cell, extent), and the cells that each layer covers. */
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"
#include "core/math.h"
#include "coreg/stack_layer.h"
#include "geo/gdal_scope.h"
#include "geo/geodesy.h"
#include "geo/grid.h"

#include <math.h>
#include <string.h>

enum { EDGE_POINTS = 32 }; /* along each side of a DEM */

/* The CRS with the most pixels; of equal ones the alphabetically first. */
static int main_crs(const SdmStack *s)
{
    int best = 0;
    for (int i = 1; i < s->crs_count; i++)
        if (s->crs[i].pixels > s->crs[best].pixels ||
            (s->crs[i].pixels == s->crs[best].pixels && strcmp(s->crs[i].wkt, s->crs[best].wkt) < 0))
            best = i;
    return best;
}

/* "EPSG:32631" where that is the whole CRS, else its WKT. */
static const char *crs_text(const SdmLayerCrs *crs, char *code, size_t size)
{
    const char *const authority = OSRGetAuthorityName(crs->srs, NULL), *const number = OSRGetAuthorityCode(
                                                                           crs->srs, NULL);
    SDM_CLOSED_BY(sdm_srs_free) OGRSpatialReferenceH const other = OSRNewSpatialReference(NULL);
    bool same = false;
    if (authority && number && strcmp(authority, "EPSG") == 0) {
        snprintf(code, size, "EPSG:%s", number);
        same = OSRSetFromUserInput(other, code) == OGRERR_NONE && !OSRIsCompound(other);
        OSRSetAxisMappingStrategy(other, OAMS_TRADITIONAL_GIS_ORDER);
        same = same && OSRIsSame(other, crs->srs);
    }
    return same ? code : crs->wkt;
}

/* Metres of a unit of a CRS, exact enough to choose a spacing; of degrees the mean of both directions. */
static double unit_m(OGRSpatialReferenceH srs, double lat_deg)
{
    return OSRIsGeographic(srs) ? SDM_METRES_PER_DEGREE * sqrt(fmax(cos(lat_deg * SDM_DEG), 1e-6))
                                : OSRGetLinearUnits(srs, NULL);
}

/* The same on the ground, where the map of a projected CRS stretches it. */
static SdmStatus ground_unit_m(SdmContext *ctx, const char *wkt, OGRSpatialReferenceH srs,
                               const double place_deg[2], double *out)
{
    SdmGrid unit = {.spacing = 1.0};
    *out = unit_m(srs, place_deg[1]);
    if (OSRIsGeographic(srs))
        return SDM_OK;
    snprintf(unit.wkt, sizeof unit.wkt, "%s", wkt);
    return sdm_grid_ground_m(ctx, &unit, place_deg[0], place_deg[1], out);
}

double sdm_layer_diagonal_m(const SdmStack *s, const SdmLayer *l)
{
    return hypot((double)l->width, (double)l->height) * l->pixel * unit_m(s->crs[l->crs].srs, l->lat_deg);
}

/* Set the centres of the layers.  place_deg: the southernmost one, of equal ones the westernmost, so that the
 * order of the DEMs makes no difference. */
static SdmStatus find_centres(SdmStack *s, double place_deg[2])
{
    for (int i = 0; i < s->count; i++) {
        SDM_CLOSED_BY(sdm_projector_close) SdmProjector *p = NULL;
        SdmLayer *const l = &s->layer[i];
        GDALApplyGeoTransform(l->transform, 0.5 * (double)l->width, 0.5 * (double)l->height, &l->lon_deg,
                              &l->lat_deg);
        PASS(sdm_projector_open(s->ctx, s->crs[l->crs].wkt, &p));
        sdm_projector_inverse(p, 1, &l->lon_deg, &l->lat_deg);
        if (!isfinite(l->lat_deg))
            return sdm_fail(s->ctx, SDM_ERR_INPUT, "DEM %s: its centre lies outside what its CRS can express",
                            l->path);
        if (i == 0 || l->lat_deg < place_deg[1] ||
            (l->lat_deg == place_deg[1] && l->lon_deg < place_deg[0])) {
            place_deg[0] = l->lon_deg;
            place_deg[1] = l->lat_deg;
        }
    }
    return SDM_OK;
}

/* The median pixel size of the DEMs (of an even number the smaller of the middle two) in units of the target
 * CRS; those of DEMs in other units, or that their maps stretch otherwise, are rounded to two digits. */
static SdmStatus median_pixel(SdmStack *s, OGRSpatialReferenceH target, const double place_deg[2],
                              double *out)
{
    SDM_OWNED double *cell = NULL;
    double to_m, from_m;
    PASS(sdm_alloc(s->ctx, &cell, (size_t)s->count, sizeof *cell, "cell sizes"));
    PASS(ground_unit_m(s->ctx, s->grid.wkt, target, place_deg, &to_m));
    for (int i = 0; i < s->count; i++) {
        const SdmLayerCrs *const crs = &s->crs[s->layer[i].crs];
        PASS(ground_unit_m(s->ctx, crs->wkt, crs->srs, place_deg, &from_m));
        const double times = fabs(from_m / to_m - 1.0) > 1e-3 ? from_m / to_m : 1.0;
        const double v = s->layer[i].pixel * times, digit = pow(10.0, floor(log10(v)) - 1.0);
        cell[i] = times == 1.0 ? v : round(v / digit) * digit;
    }
    *out = sdm_select_f64(cell, s->count, (s->count - 1) / 2);
    return SDM_OK;
}

static SdmStatus open_transforms(SdmStack *s)
{
    SDM_CLOSED_BY(sdm_srs_free) OGRSpatialReferenceH grid = OSRNewSpatialReference(s->grid.wkt);
    OSRSetAxisMappingStrategy(grid, OAMS_TRADITIONAL_GIS_ORDER);
    for (int i = 0; i < s->crs_count; i++) {
        SdmLayerCrs *const crs = &s->crs[i];
        crs->same = OSRIsSame(crs->srs, grid);
        if (crs->same)
            continue;
        crs->to_grid = OCTNewCoordinateTransformation(crs->srs, grid);
        if (!crs->to_grid)
            return sdm_fail(
                s->ctx, SDM_ERR_UNSUPPORTED,
                "DEMs in '%s' cannot be brought to the output CRS (PROJ: %s); run gdalwarp on them first",
                OSRGetName(crs->srs) ? OSRGetName(crs->srs) : "", CPLGetLastErrorMsg());
    }
    return SDM_OK;
}

/* Bounds of a layer in the grid's CRS, from points along its edges; longitudes go on from about_deg. */
static SdmStatus find_bounds(SdmStack *s, SdmLayer *l, double about_deg, double bounds[4])
{
    const SdmLayerCrs *const crs = &s->crs[l->crs];
    double before = NAN, step = 0.0;
    sdm_bounds_clear(bounds);
    if (crs->same && s->grid.geographic) { /* within half a turn of the longitude */
        const double middle = l->transform[0] + 0.5 * (double)l->width * l->transform[1] +
                              0.5 * (double)l->height * l->transform[2];
        l->transform[0] += sdm_longitude_near(middle, about_deg) - middle;
    }
    for (int k = 0; k < 4 * EDGE_POINTS; k++) {
        const double t = (double)(k % EDGE_POINTS) / EDGE_POINTS;
        const double along[] = {t, 1.0, 1.0 - t, 0.0}; /* top, right, bottom, left */
        const double col = along[k / EDGE_POINTS] * (double)l->width,
                     row = along[(k / EDGE_POINTS + 3) % 4] * (double)l->height;
        double x, y;
        GDALApplyGeoTransform(l->transform, col, row, &x, &y);
        if ((!crs->same && !OCTTransform(crs->to_grid, 1, &x, &y, NULL)) || !isfinite(x) || !isfinite(y))
            return sdm_fail(s->ctx, SDM_ERR_DATA,
                            "DEM %s: cannot be expressed in the output CRS; give another --t_srs", l->path);
        if (s->grid.geographic && !crs->same)
            x = sdm_longitude_near(x, about_deg);
        step = fmax(step, fabs(x - before)); /* fmax ignores NaN */
        before = x;
        sdm_bounds_add(bounds, x, y);
    }
    if (step > 0.5 * (bounds[2] - bounds[0])) /* neighbours at both ends of the map */
        return sdm_fail(s->ctx, SDM_ERR_DATA,
                        "DEM %s: the map of the output CRS is cut where it lies; give another --t_srs, such "
                        "as the UTM zone or EPSG:4326, whose longitudes go on past 180",
                        l->path);
    return SDM_OK;
}

/* Cells that a layer covers, with one more on each side, and the ratio of cell to pixel. */
static void find_cells(const SdmStack *s, SdmLayer *l, const double bounds[4])
{
    const double cell = s->grid.spacing;
    const double left = floor((bounds[0] - s->grid.x0) / cell) - 1.0,
                 up = floor((s->grid.y0 - bounds[3]) / cell) - 1.0;
    const double right = ceil((bounds[2] - s->grid.x0) / cell) + 1.0,
                 down = ceil((s->grid.y0 - bounds[1]) / cell) + 1.0;
    l->col0 = (int64_t)fmax(left, 0.0);
    l->row0 = (int64_t)fmax(up, 0.0);
    l->cols = (int64_t)fmin(right, (double)s->grid.cols) - l->col0;
    l->rows = (int64_t)fmin(down, (double)s->grid.rows) - l->row0;
    l->ratio = sqrt((double)l->width / fmax((bounds[2] - bounds[0]) / cell, 1e-6) * (double)l->height /
                    fmax((bounds[3] - bounds[1]) / cell, 1e-6));
    if (s->crs[l->crs].same)
        l->ratio = cell / l->pixel;
}

/* Extent of the grid: the union of all layers, about a longitude; cells of each layer. */
static SdmStatus choose_extent(SdmStack *s, double about_deg)
{
    SDM_OWNED double(*bounds)[4] = NULL;
    double all[4] = SDM_NO_BOUNDS, filled = 0.0;
    PASS(sdm_alloc(s->ctx, &bounds, (size_t)s->count, sizeof *bounds, "extents"));
    const double cell = s->grid.spacing,
                 slack = 1e-6 * cell; /* for rounding: an edge on a grid line stays there */
    for (int i = 0; i < s->count; i++) {
        PASS(find_bounds(s, &s->layer[i], about_deg, bounds[i]));
        const double *const b = bounds[i];
        filled += (b[2] - b[0]) * (b[3] - b[1]) / (cell * cell);
        sdm_bounds_add(all, b[0] + slack, b[1] + slack);
        sdm_bounds_add(all, b[2] - slack, b[3] - slack);
    }
    PASS(sdm_grid_cover(s->ctx, all, &s->grid));
    const double cells = (double)s->grid.cols * (double)s->grid.rows;
    if (cells > 1e7 + 100.0 * filled)
        return sdm_fail(s->ctx, SDM_ERR_DATA,
                        "the DEMs together span %lld x %lld cells and fill less than 1 %% of them; stack "
                        "those of one place",
                        (long long)s->grid.cols, (long long)s->grid.rows);
    if (cells > 1e5 + 10.0 * filled)
        sdm_log(s->ctx, SDM_LOG_WARNING, 8, "the DEMs fill %.0f %% of their common grid of %lld x %lld cells",
                100.0 * filled / cells, (long long)s->grid.cols, (long long)s->grid.rows);
    if (s->grid.cols > INT32_MAX / 2 || s->grid.rows > INT32_MAX / 2)
        return sdm_fail(s->ctx, SDM_ERR_USAGE,
                        "the stack would have %lld x %lld cells; give a larger --tr than %g",
                        (long long)s->grid.cols, (long long)s->grid.rows, cell);
    for (int i = 0; i < s->count; i++)
        find_cells(s, &s->layer[i], bounds[i]);
    return SDM_OK;
}

SdmStatus sdm_stack_choose_grid(SdmStack *s)
{
    char code[32];
    double place_deg[2], usual;
    const char *const text = crs_text(&s->crs[main_crs(s)], code, sizeof code);
    SDM_CLOSED_BY(sdm_srs_free) OGRSpatialReferenceH target = NULL;
    PASS(find_centres(s, place_deg));
    PASS(sdm_grid_choose_like(s->ctx, s->options, text, 1.0, place_deg[0], place_deg[1], &s->grid)); /* CRS */
    sdm_grid_warn(s->ctx, s->options->t_srs, place_deg[0], place_deg[1]);
    target = OSRNewSpatialReference(s->grid.wkt);
    PASS(median_pixel(s, target, place_deg, &usual));
    const double tr = s->options->tr > 0.0 ? s->grid.spacing : usual;
    s->grid.spacing = tr;
    if (!isfinite(tr) || tr < usual / 100.0 || tr > usual * 10000.0)
        return sdm_fail(
            s->ctx, SDM_ERR_USAGE,
            "--tr %g: the DEMs have cells of about %.3g in the output CRS, and from 1/100 to 10000 "
            "times that is expected",
            tr, usual);
    PASS(open_transforms(s));
    PASS(choose_extent(s, place_deg[0]));
    s->part = s->grid;
    PASS(sdm_part_cut(s->ctx, s->options, true, &s->part));
    const double middle = s->grid.y0 - 0.5 * (double)s->grid.rows * s->grid.spacing;
    s->dy_m = sdm_grid_spacing_m(&s->grid);
    if (!s->grid.geographic)
        PASS(sdm_grid_ground_m(s->ctx, &s->grid, place_deg[0], place_deg[1], &s->dy_m));
    s->dx_m = s->dy_m * (s->grid.geographic ? fmax(cos(middle * SDM_DEG), 0.01) : 1.0);
    sdm_log(s->ctx, SDM_LOG_INFO, 8, "output CRS %.60s, %lld x %lld cells of %.10g %s",
            s->options->t_srs ? s->options->t_srs : text, (long long)s->grid.cols, (long long)s->grid.rows,
            s->grid.spacing, s->grid.geographic ? "degrees" : "units of the CRS");
    return SDM_OK;
}
