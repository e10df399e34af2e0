/* The aligned DEM -> its figures by class, and the rasters --aligned and --difference. */
// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"
#include "core/lease.h"
#include "core/path.h"
#include "core/stats.h"
#include "core/system.h"
#include "coreg/comparison.h"
#include "geo/gdal_scope.h"
#include "product/product.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* scratch(x, y) = DEM(x - east, y - north) + up: the DEM moved to where the reference has it.  A cell has a
 * height where the nearest cell of the DEM there has one, so holes keep their size; cells of a DEM that is
 * not moved keep their heights.  Overwrites residual_m. */
static SdmStatus resample_aligned(SdmContext *ctx, SdmCoregGrid *g, const double move_m[3])
{
    const double dcol = -move_m[0] / g->dx_m, drow = move_m[1] / g->dy_m;
    const bool moved = fabs(dcol) > 0.0 || fabs(drow) > 0.0;
    if (moved) {
        PASS(sdm_coreg_fit(ctx, g, g->dem_m, 0, 0));
        PASS(sdm_spline_shift(ctx, g, dcol, drow, g->scratch));
    }
#pragma omp parallel for num_threads(g->threads) schedule(static)
    for (int64_t j = 0; j < g->rows; j++)
        for (int64_t i = 0; i < g->cols; i++) {
            const int64_t at = j * g->cols + i;
            const double x = floor((double)i + dcol + 0.5), y = floor((double)j + drow + 0.5);
            const bool inside = x >= 0.0 && y >= 0.0 && x < (double)g->cols && y < (double)g->rows;
            const float nearest = inside ? g->dem_m[(int64_t)y * g->cols + (int64_t)x] : NAN;
            const double height_m = moved ? g->base_m + (double)g->scratch[at] : (double)nearest;
            g->scratch[at] = isnan(nearest) ? NAN : (float)(height_m + move_m[2]);
        }
    return SDM_OK;
}

/* The cells of the grid that are the DEM's, as a raster in memory with the DEM's CRS and nodata.  value_m:
 * NaN becomes nodata.  items: its metadata. */
static SdmStatus describe(const SdmComparison *w, const char *path, float *value_m, char **items,
                          SdmRaster *out)
{
    const bool difference = path == w->opt->difference; /* no heights: without the band's name, the datum */
    const SdmRasterGrid *const grid = &w->grid;
    GDALDatasetH const dem = grid->dem->file;
    GDALRasterBandH const from = GDALGetRasterBand(dem, 1);
    const int64_t bytes = sizeof *value_m;
    const int64_t most[2] = {grid->cols, grid->rows},
                  own[2] = {GDALGetRasterXSize(dem), GDALGetRasterYSize(dem)};
    double t[6];
    int64_t first[2], size[2];
    int has = 0;
    double nodata = GDALGetRasterNoDataValue(from, &has);
    nodata = has ? (double)(float)nodata : (double)SDM_NODATA;
    GDALGetGeoTransform(dem, t);
    for (int k = 0; k < 2; k++) { /* all cells of the DEM, unless the grid is a part of it */
        const double corner = grid->transform[3 * k];
        const int64_t begin = (int64_t)round((t[3 * k] - corner) / t[k ? 5 : 1]), end = begin + own[k];
        first[k] = begin > 0 ? begin : 0;
        size[k] = (end < most[k] ? end : most[k]) - first[k];
        t[3 * k] = begin < 0 ? corner : t[3 * k];
    }
    for (int64_t i = 0; i < grid->cols * grid->rows; i++)
        value_m[i] = isnan(value_m[i]) ? (float)nodata : value_m[i];
    const SdmSamples cells = {.first = value_m + first[1] * grid->cols + first[0],
                              .width = (int)size[0],
                              .height = (int)size[1],
                              .bands = 1,
                              .type = GDT_Float32,
                              .pixel_bytes = bytes,
                              .row_bytes = grid->cols * bytes};
    out->dataset = sdm_wrap_samples(&cells);
    GDALRasterBandH const to = out->dataset ? GDALGetRasterBand(out->dataset, 1) : NULL;
    if (!to || GDALSetGeoTransform(out->dataset, t) != CE_None ||
        GDALSetRasterNoDataValue(to, nodata) != CE_None ||
        GDALSetSpatialRef(out->dataset, difference ? grid->dem->srs : GDALGetSpatialRef(dem)) != CE_None)
        return sdm_fail(w->ctx, SDM_ERR_MEMORY, "%s: no raster of %lld x %lld cells can be made in memory",
                        path, (long long)size[0], (long long)size[1]);
    GDALSetMetadata(out->dataset, items, NULL);
    GDALSetDescription(to, difference ? "difference" : GDALGetDescription(from));
    GDALSetRasterUnitType(to, "m");
    return SDM_OK;
}

/* Write a Cloud-Optimised GeoTIFF with the DEM's grid, CRS, nodata and metadata; whole or not at all. */
static SdmStatus write_raster(const SdmComparison *w, const char *path, float *value_m, char **items)
{
    SdmContext *const ctx = w->ctx;
    SdmStatus st = SDM_OK;
    SdmRaster raster = {0};
    char part[SDM_PATH_SIZE] = "";
    SDM_CLOSED_BY(sdm_lease_release) SdmLease *owner = NULL;
    TRY(sdm_lease_take_output(ctx, path, &owner));
    sdm_file_sweep(path);
    TRY(sdm_file_temporary_name(ctx, path, part, sizeof part));
    TRY(describe(w, path, value_m, items, &raster));
    const SdmCogRequest request = {.path = part,
                                   .memory_bytes = w->opt->memory_bytes ? w->opt->memory_bytes : INT64_MAX};
    TRY(sdm_cog_write(ctx, &raster, &request));
    TRY(sdm_lease_check(ctx, owner));
    if (sdm_system_rename(part, path) != 0)
        st = sdm_fail_write(ctx, path, strerror(errno));
done:
    if (st && part[0])
        unlink(part);
    (void)sdm_raster_close(ctx, &raster, path);
    return st;
}

/* Metadata of both files: those of the DEM, and shift and tilt that were taken out. */
static char **alignment_items(const SdmComparison *w)
{
    const SdmCompareResult *const r = w->out;
    const double *const move_m = r->move.move_m;
    char **list = CSLDuplicate(GDALGetMetadata(w->grid.dem->file, NULL));
    double tilt[2];
    list = CSLSetNameValue(list, "ALIGNED_TO", w->in[SDM_IN_REFERENCE].path);
    list = CSLSetNameValue(list, "ALIGNED_BY_EAST_NORTH_UP_M",
                           CPLSPrintf("%.3f %.3f %.3f", move_m[0], move_m[1], move_m[2]));
    list = CSLSetNameValue(list, "ALIGNED_MODEL", w->opt->model ? w->opt->model : "shift");
    sdm_tilt_slope(&r->tilt, tilt);
    return r->tilt.fitted ? CSLSetNameValue(list, "ALIGNED_TILT_M_PER_KM",
                                            CPLSPrintf("%.6g %.6g", 1000.0 * tilt[0], 1000.0 * tilt[1]))
                          : list;
}

static char **difference_items(const SdmComparison *w, const SdmErrorStats *s)
{
    static const char *const name[] = {"COUNT",  "BIAS_M", "MEDIAN_M", "STANDARD_DEVIATION_M",
                                       "NMAD_M", "RMSE_M", "LE90_M"};
    const double value[] = {(double)s->count, s->bias_m, s->median_m, s->std_m,
                            s->nmad_m,        s->rmse_m, s->le90_m};
    char **list = CSLSetNameValue(alignment_items(w), "VERTICAL_DATUM", NULL);
    list = CSLSetNameValue(list, "DIFFERENCE", "aligned DEM minus reference, metres");
    list = CSLSetNameValue(list, "DIFFERENCE_OVER",
                           w->opt->mask || w->opt->exclude || w->opt->class_raster || w->opt->within
                               ? "stable cells that were compared"
                               : "all cells");
    for (size_t k = 0; k < sizeof name / sizeof *name; k++) {
        char key[48];
        snprintf(key, sizeof key, "DIFFERENCE_%s", name[k]);
        list = CSLSetNameValue(list, key, CPLSPrintf("%.9g", value[k]));
    }
    return list;
}

SdmStatus sdm_compare_style_name(SdmContext *ctx, const char *raster, char out[SDM_PATH_SIZE])
{
    return sdm_format(ctx, out, SDM_PATH_SIZE, "%.*s.qml", (int)sdm_path_stem(raster), raster);
}

double sdm_difference_limit_m(const SdmErrorStats *s)
{
    return sdm_round_up(fmax(fmax(s->le90_m, 3.0 * s->nmad_m), 0.1));
}

/* A file and its style for QGIS; frees its metadata. */
static SdmStatus write_file(SdmComparison *w, const char *path, float *value_m, char **given)
{
    SDM_CLOSED_BY(sdm_string_list_free) char **const items = given;
    SDM_CLOSED_BY(sdm_text_close) SdmText style = {.ctx = w->ctx};
    char name[SDM_PATH_SIZE];
    float *const known_m = w->g.spline;
    memcpy(known_m, value_m, (size_t)(w->g.cols * w->g.rows) * sizeof *known_m);
    const int64_t n = sdm_drop_nan_f32(known_m, w->g.cols * w->g.rows);
    if (path == w->opt->difference)
        sdm_style_change(&style, sdm_difference_limit_m(&w->out->aligned), "m");
    else
        sdm_style_dem(&style, sdm_quantile_f32(known_m, n, 0.01), sdm_quantile_f32(known_m, n, 0.99));
    PASS(style.st);
    PASS(write_raster(w, path, value_m, items));
    PASS(sdm_compare_style_name(w->ctx, path, name));
    return sdm_file_write(w->ctx, name, style.data, style.size);
}

static int unstable_bin(const SdmComparison *w, int64_t at)
{
    return (w->g.mask[at] & (SDM_CELL_CLASS | SDM_COREG_STABLE)) == SDM_CELL_LAND ? 0 : -1;
}

SdmStatus sdm_compare_write(SdmComparison *w)
{
    const SdmCompareOptions *const opt = w->opt;
    SdmCoregGrid *const g = &w->g;
    SdmErrorStats stats;
    const bool differs =
        !w->out->points && (opt->difference || opt->class_raster || opt->mask || opt->exclude || opt->output);
    if (!opt->aligned && !differs)
        return SDM_OK;
    PASS(resample_aligned(w->ctx, g, w->out->move.move_m));
    for (int64_t i = 0; i < g->cols * g->rows; i++)
        g->residual_m[i] = differs ? g->scratch[i] - g->reference_m[i] : NAN;
    for (int64_t i = 0; differs && opt->output && i < g->cols * g->rows; i++)
        sdm_mean_map_add(&w->page.view[1].map, i % g->cols, i / g->cols, (double)g->residual_m[i]);
    if (opt->aligned)
        PASS(write_file(w, opt->aligned, g->scratch, alignment_items(w)));
    if (!differs)
        return SDM_OK;
    if (w->class) {
        sdm_compare_stats_by(w, sdm_compare_class_bin, SDM_COMPARE_CLASSES, NULL, w->out->class);
        w->out->class[1].aligned = w->out->aligned; /* was scored already */
    }
    if (opt->mask || opt->exclude) /* land that these leave out */
        sdm_compare_stats_by(w, unstable_bin, 1, NULL, &w->out->unstable);
    if (!opt->difference)
        return SDM_OK;
    int64_t n = 0;
    for (int64_t i = 0; i < g->cols * g->rows; i++)
        if ((g->mask[i] & SDM_COREG_STABLE) && !isnan(g->residual_m[i]))
            g->scratch[n++] = g->residual_m[i];
    sdm_error_stats(g->scratch, n, g->spline, &stats);
    return write_file(w, opt->difference, g->residual_m, difference_items(w, &stats));
}
