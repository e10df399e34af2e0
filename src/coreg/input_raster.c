/* Raster files, opened and checked -> their values on a common grid, by GDAL's warper. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/input_raster.h"
#include "geo/first_band.h"

#include <cpl_conv.h>
#include <cpl_error.h>
#include <cpl_string.h>
#include <gdal_utils.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#define EMPTY (-99999.0f) /* nodata of the warped raster */
#define PLACE_ERROR "0.001" /* of places that the warper interpolates, pixels of the source; default 0.125 */

SdmStatus sdm_input_raster_set_srs(SdmContext *ctx, SdmInputRaster *raster, OGRSpatialReferenceH declared)
{
    OSRDestroySpatialReference(raster->srs);
    raster->srs = OSRClone(declared);
    OSRStripVertical(raster->srs);
    OSRDemoteTo2D(raster->srs, NULL);
    const char *const form[] = {"FORMAT=WKT2", NULL};
    if (OSRExportToWktEx(raster->srs, &raster->wkt, form) != OGRERR_NONE)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s %s: its coordinate reference system is not understood (%s)",
                        raster->role, raster->path, CPLGetLastErrorMsg());
    return SDM_OK;
}

static SdmStatus check_unit(SdmContext *ctx, const SdmInputRaster *raster)
{
    const char *const unit = GDALGetRasterUnitType(GDALGetRasterBand(raster->file, 1));
    if (strstr(unit, "ft") || strstr(unit, "foot") || strstr(unit, "feet"))
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s %s: heights are in '%s'; give metres", raster->role,
                        raster->path, unit);
    return SDM_OK;
}

SdmStatus sdm_input_raster_open(SdmContext *ctx, const char *path, const char *role, SdmInputRaster *out)
{
    SdmStatus st = SDM_OK;
    *out = (SdmInputRaster){.path = path, .role = role, .datum.vertical = SDM_VERTICAL_UNKNOWN};
    CPLErrorReset();
    out->file = GDALOpenEx(path, GDAL_OF_RASTER | GDAL_OF_VERBOSE_ERROR, NULL, NULL, NULL);
    if (!out->file)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s %s: cannot be opened as a raster (GDAL: %s)", role, path,
                        CPLGetLastErrorMsg());
    if (GDALGetRasterCount(out->file) < 1)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s %s: has no raster band; give one of its subdatasets (see gdalinfo)", role, path);
    out->band1 = sdm_first_band(out->file);
    if (!out->band1)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s %s: its first band cannot be read (GDAL: %s)", role, path,
                        CPLGetLastErrorMsg());
    TRY(check_unit(ctx, out));
    OGRSpatialReferenceH const srs = GDALGetSpatialRef(out->file);
    if (!srs) {
        st = sdm_fail(ctx, SDM_ERR_INPUT,
                      "%s %s: has no coordinate reference system; give it one with gdal_edit.py -a_srs", role,
                      path);
        goto done;
    }
    sdm_vertical_find(out->file, &out->datum);
    TRY(sdm_input_raster_set_srs(ctx, out, srs));
done:
    return st;
}

void sdm_input_raster_close(SdmInputRaster *raster)
{
    if (raster->band1 && raster->band1 != raster->file)
        GDALClose(raster->band1);
    if (raster->file)
        GDALClose(raster->file);
    OSRDestroySpatialReference(raster->srs);
    CPLFree(raster->wkt);
    *raster = (SdmInputRaster){0};
}

SdmStatus sdm_input_raster_check_dem(SdmContext *ctx, const SdmInputRaster *dem)
{
    double g[6];
    if (OSRIsGeographic(dem->srs) || !OSRIsProjected(dem->srs))
        return sdm_fail(
            ctx, SDM_ERR_INPUT,
            "DEM %s: its coordinate reference system '%s' is %s; give a projected DEM (gdalwarp -t_srs "
            "EPSG:...)",
            dem->path, OSRGetName(dem->srs) ? OSRGetName(dem->srs) : "",
            OSRIsGeographic(dem->srs) ? "geographic (degrees)" : "not projected");
    if (GDALGetGeoTransform(dem->file, g) != CE_None)
        return sdm_fail(ctx, SDM_ERR_INPUT, "DEM %s: has no geotransform, so its place is unknown",
                        dem->path);
    if (!(g[1] > 0.0) || !(g[5] < 0.0) || g[2] != 0.0 || g[4] != 0.0)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "DEM %s: its grid is rotated or not north up; run gdalwarp on it first", dem->path);
    return SDM_OK;
}

/* Geotransform and size of the reference once brought to the DEM's CRS. */
static bool reproject_extent(const SdmInputRaster *reference, const SdmInputRaster *dem, double q[6],
                             int size[2])
{
    char **arguments = CSLAddString(NULL, "-of");
    arguments = CSLAddString(arguments, "VRT");
    arguments = CSLAddString(arguments, "-s_srs");
    arguments = CSLAddString(arguments, reference->wkt);
    arguments = CSLAddString(arguments, "-t_srs");
    arguments = CSLAddString(arguments, dem->wkt);
    GDALWarpAppOptions *const options = GDALWarpAppOptionsNew(arguments, NULL);
    CSLDestroy(arguments);
    GDALDatasetH source = reference->band1, vrt = NULL;
    if (options)
        vrt = GDALWarp("", NULL, 1, &source, options, NULL);
    GDALWarpAppOptionsFree(options);
    if (!vrt)
        return false;
    GDALGetGeoTransform(vrt, q);
    size[0] = GDALGetRasterXSize(vrt);
    size[1] = GDALGetRasterYSize(vrt);
    GDALClose(vrt);
    return true;
}

SdmStatus sdm_raster_grid_union(SdmContext *ctx, const SdmInputRaster *dem, const SdmInputRaster *reference,
                                SdmRasterGrid *out)
{
    double g[6], q[6];
    int size[2];
    GDALGetGeoTransform(dem->file, g);
    CPLErrorReset();
    if (!reproject_extent(reference, dem, q, size))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "reference %s: cannot be brought to the DEM's coordinate reference system "
                        "(GDAL: %s)",
                        reference->path, CPLGetLastErrorMsg());
    const double gx1 = g[0] + g[1] * GDALGetRasterXSize(dem->file),
                 gy1 = g[3] + g[5] * GDALGetRasterYSize(dem->file);
    const double qx1 = q[0] + q[1] * size[0], qy1 = q[3] + q[5] * size[1];
    if (q[0] >= gx1 || qx1 <= g[0] || q[3] <= gy1 || qy1 >= g[3])
        return sdm_fail(ctx, SDM_ERR_DATA, "no cell in common: DEM %s and reference %s do not overlap",
                        dem->path, reference->path);
    const double x0 = fmin(g[0], q[0]), y0 = fmax(g[3], q[3]), x1 = fmax(gx1, qx1), y1 = fmin(gy1, qy1);
    const double left = ceil((g[0] - x0) / g[1] - 1e-6), up = ceil((y0 - g[3]) / -g[5] - 1e-6);
    const double cols = left + ceil((x1 - g[0]) / g[1] - 1e-6), rows = up + ceil((g[3] - y1) / -g[5] - 1e-6);
    if (!(cols <= (double)(INT_MAX / 2)) || !(rows <= (double)(INT_MAX / 2)))
        return sdm_fail(ctx, SDM_ERR_DATA,
                        "DEM and reference together span %.0f x %.0f cells of the DEM; cut the "
                        "reference to the DEM's surroundings (gdalwarp -te)",
                        cols, rows);
    sdm_raster_grid_own(dem, out);
    out->cols = (int64_t)cols;
    out->rows = (int64_t)rows;
    out->transform[0] = g[0] - left * g[1];
    out->transform[3] = g[3] - up * g[5];
    return SDM_OK;
}

const char *sdm_input_raster_method(const SdmInputRaster *reference, const SdmRasterGrid *grid)
{
    double g[6], q[6];
    int size[2];
    if (!OSRIsGeographic(reference->srs))
        return GDALGetGeoTransform(reference->file, g) == CE_None && grid->transform[1] > 1.5 * fabs(g[1])
                   ? "average"
                   : "bilinear";
    return reproject_extent(reference, grid->dem, q, size) && grid->transform[1] >= q[1] ? "average"
                                                                                         : "bilinear";
}

void sdm_raster_grid_own(const SdmInputRaster *dem, SdmRasterGrid *out)
{
    *out = (SdmRasterGrid){
        .cols = GDALGetRasterXSize(dem->file), .rows = GDALGetRasterYSize(dem->file), .dem = dem};
    GDALGetGeoTransform(dem->file, out->transform);
    out->dx_m = out->transform[1] * OSRGetLinearUnits(dem->srs, NULL);
    out->dy_m = -out->transform[5] * OSRGetLinearUnits(dem->srs, NULL);
}

void sdm_raster_grid_offset(const SdmRasterGrid *grid, int64_t *left, int64_t *up)
{
    double own[6];
    GDALGetGeoTransform(grid->dem->file, own);
    *left = (int64_t)round((own[0] - grid->transform[0]) / own[1]);
    *up = (int64_t)round((own[3] - grid->transform[3]) / own[5]);
}

GDALDatasetH sdm_raster_grid_wrap(const SdmRasterGrid *grid, float *values, int64_t pitch, double nodata)
{
    char pointer[64] = "", item[96], line[48], *options[] = {item, line, NULL};
    double transform[6];
    GDALDatasetH const set =
        GDALCreate(GDALGetDriverByName("MEM"), "", (int)grid->cols, (int)grid->rows, 0, GDT_Float32, NULL);
    if (!set)
        return NULL;
    pointer[CPLPrintPointer(pointer, values, sizeof pointer - 1)] = '\0';
    snprintf(item, sizeof item, "DATAPOINTER=%s", pointer);
    snprintf(line, sizeof line, "LINEOFFSET=%lld", (long long)pitch * (long long)sizeof *values);
    memcpy(transform, grid->transform, sizeof transform);
    if (GDALAddBand(set, GDT_Float32, options) != CE_None || GDALSetGeoTransform(set, transform) != CE_None ||
        GDALSetSpatialRef(set, grid->dem->srs) != CE_None ||
        GDALSetRasterNoDataValue(GDALGetRasterBand(set, 1), nodata) != CE_None) {
        GDALClose(set);
        return NULL;
    }
    return set;
}

static GDALWarpAppOptions *warp_options(const SdmInputRaster *raster, const SdmRasterGrid *grid,
                                        const char *method, int threads)
{
    char text[64];
    int has_nodata = 0;
    const char *const fixed[] = {
        "-ovr",   "NONE",      "-wt", "Float64", "-dstnodata", "-99999",       "-wo", "INIT_DEST=NO_DATA",
        "-s_srs", raster->wkt, "-r",  method,    "-t_srs",     grid->dem->wkt, "-et",  PLACE_ERROR,
        NULL};
    char **arguments = NULL;
    for (int i = 0; fixed[i]; i++)
        arguments = CSLAddString(arguments, fixed[i]);
    const double nodata = GDALGetRasterNoDataValue(GDALGetRasterBand(raster->band1, 1), &has_nodata);
    if (has_nodata) {
        CPLsnprintf(text, sizeof text, "%.17g", nodata);
        arguments = CSLAddString(arguments, "-srcnodata");
        arguments = CSLAddString(arguments, isnan(nodata) ? "nan" : text);
    }
    CPLsnprintf(text, sizeof text, "NUM_THREADS=%d", threads);
    arguments = CSLAddString(arguments, "-wo");
    arguments = CSLAddString(arguments, text);
    GDALWarpAppOptions *const options = GDALWarpAppOptionsNew(arguments, NULL);
    CSLDestroy(arguments);
    return options;
}

SdmStatus sdm_input_raster_load(SdmContext *ctx, const SdmInputRaster *raster, const SdmRasterGrid *grid,
                                const char *method, float *out)
{
    const int64_t cells = grid->cols * grid->rows;
    for (int64_t i = 0; i < cells; i++)
        out[i] = EMPTY;
    CPLErrorReset();
    GDALDatasetH const target = sdm_raster_grid_wrap(grid, out, grid->cols, (double)EMPTY);
    GDALWarpAppOptions *const options = warp_options(raster, grid, method, sdm_threads(ctx));
    GDALDatasetH source = raster->band1;
    const bool good = target && options && GDALWarp(NULL, target, 1, &source, options, NULL) != NULL;
    GDALWarpAppOptionsFree(options);
    if (target)
        GDALClose(target);
    GDALFlushCache(raster->file); /* its blocks are not needed again */
    if (!good)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s %s: cannot be read onto the DEM's grid (GDAL: %s)",
                        raster->role, raster->path, CPLGetLastErrorMsg());
    int scaled = 0, moved = 0; /* the warper does not apply scale and offset */
    const double scale = GDALGetRasterScale(GDALGetRasterBand(raster->file, 1), &scaled);
    const double offset = GDALGetRasterOffset(GDALGetRasterBand(raster->file, 1), &moved);
    for (int64_t i = 0; i < cells; i++) {
        const double v = (double)out[i] * (scaled ? scale : 1.0) + (moved ? offset : 0.0);
        out[i] = out[i] == EMPTY || !(fabs(v) <= 1e5) ? NAN : (float)v;
    }
    return SDM_OK;
}
