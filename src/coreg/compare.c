/* DEM and reference, resampled to one grid -> coverage and error statistics by class and slope. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/compare.h"

#include <cpl_error.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { DEM, REFERENCE, CLASS, WITHIN, INPUTS };

enum { /* the caller's bits of the mask */
       CLASS_SHIFT = SDM_COREG_CALLER_SHIFT,
       CLASS_BITS = 3 << CLASS_SHIFT, /* 0 none, 1 land, 2 water, 3 cloud */
       SLOPE_SHIFT = CLASS_SHIFT + 2,
       SLOPE_BITS = 7 << SLOPE_SHIFT /* 0 unknown, 1..6: bin of SdmCompareResult.slope */
};

static SdmStatus check_memory(SdmContext *ctx, const SdmRasterGrid *grid, int64_t limit)
{
    const double need = (double)(grid->cols * grid->rows) * SDM_COREG_CELL_BYTES;
    if (limit == 0 || need <= (double)limit)
        return SDM_OK;
    return sdm_fail(
        ctx, SDM_ERR_MEMORY,
        "DEM and reference together span %lld x %lld cells, which take %.1f GiB of memory; cut the "
        "reference to the DEM's surroundings (gdalwarp -te) or raise --memory",
        (long long)grid->cols, (long long)grid->rows, need / 1073741824.0);
}

/* Class of every cell -> mask; all is land without a raster. */
static SdmStatus load_class(SdmContext *ctx, const SdmInputRaster *in, const SdmRasterGrid *grid,
                            SdmCoregGrid *g)
{
    SdmStatus st = SDM_OK;
    bool land = false;
    if (in[CLASS].file)
        TRY(sdm_input_raster_load(ctx, &in[CLASS], grid, "near", g->scratch));
    for (int64_t i = 0; i < g->cols * g->rows; i++) {
        const float value = in[CLASS].file ? g->scratch[i] : 1.0f;
        const unsigned class = value == 1.0f ? 1 : value == 2.0f ? 2 : value == 3.0f ? 3 : 0;
        g->mask[i] = (uint8_t)(class << CLASS_SHIFT);
        land = land || class == 1;
    }
    if (!land)
        st = sdm_fail(
            ctx, SDM_ERR_DATA,
            "--class %s: no cell where DEM and reference lie is of class 1 (land), so nothing can be scored",
            in[CLASS].path);
done:
    return st;
}

/* Choose the cells that count; number of cells and coverage -> result. */
static SdmStatus choose_cells(SdmContext *ctx, const SdmInputRaster *in, const SdmRasterGrid *grid,
                              SdmCoregGrid *g, SdmCompareResult *out)
{
    SdmStatus st = SDM_OK;
    TRY(load_class(ctx, in, grid, g));
    if (in[WITHIN].file)
        TRY(sdm_input_raster_load(ctx, &in[WITHIN], grid, "bilinear", g->scratch));
    for (int64_t i = 0; i < g->cols * g->rows; i++)
        if ((g->mask[i] & CLASS_BITS) == 1 << CLASS_SHIFT && !(in[WITHIN].file && isnan(g->scratch[i])))
            g->mask[i] |= SDM_COREG_STABLE;
    const int64_t common = sdm_coreg_mark(g, &out->cells);
    out->coverage = (double)common / (double)(out->cells > 0 ? out->cells : 1);
    if (common == 0)
        st = sdm_fail(ctx, SDM_ERR_DATA, "no cell in common: DEM %s has no height where reference %s %s",
                      in[DEM].path, in[REFERENCE].path, out->cells ? "has one that counts" : "counts");
done:
    return st;
}

static double share(int64_t part, int64_t all)
{
    return all > 0 ? (double)part / (double)all : 0.0;
}

static SdmCompareClass class_stats(const SdmCoregGrid *g, int class)
{
    int64_t cells = 0, filled = 0, over10 = 0, over30 = 0;
    for (int64_t i = 0; i < g->rows * g->cols; i++) {
        if ((g->mask[i] & CLASS_BITS) != class << CLASS_SHIFT)
            continue;
        cells++;
        filled += !isnan(g->dem_m[i]);
        const double error_m =
            fabs((double)g->dem_m[i] - (double)g->reference_m[i]); /* NaN exceeds nothing */
        over10 += error_m > 10.0;
        over30 += error_m > 30.0;
    }
    return (SdmCompareClass){.cells = cells,
                             .filled = share(filled, cells),
                             .over10 = share(over10, filled),
                             .over30 = share(over30, filled)};
}

/* Statistics before co-registration: land, water, cloud. */
static void raw_stats(SdmCoregGrid *g, SdmCompareResult *out)
{
    for (int64_t i = 0; i < g->rows * g->cols; i++)
        g->residual_m[i] = g->dem_m[i] - g->reference_m[i];
    sdm_coreg_stats(g, g->residual_m, SDM_COREG_COMMON, SDM_COREG_COMMON, &out->raw);
    out->water = class_stats(g, 2);
    out->cloud = class_stats(g, 3);
}

/* Derivative from a value and its neighbours on one axis: central, else one-sided, else NaN. */
static double derivative(double before, double here, double after, double step)
{
    if (isfinite(before) && isfinite(after))
        return (after - before) / (2.0 * step);
    if (isfinite(after))
        return (after - here) / step;
    return (here - before) / step;
}

/* Store the bin of the reference's slope in the mask of each cell. */
static void mark_slopes(SdmCoregGrid *g)
{
    const int64_t w = g->cols, h = g->rows;
#pragma omp parallel for num_threads(g->threads) schedule(static)
    for (int64_t j = 0; j < h; j++)
        for (int64_t i = 0; i < w; i++) {
            const float *const at = g->reference_m + j * w + i;
            const double here = (double)*at;
            const double gx =
                derivative(i > 0 ? (double)at[-1] : NAN, here, i + 1 < w ? (double)at[1] : NAN, g->dx_m);
            const double gy =
                derivative(j > 0 ? (double)at[-w] : NAN, here, j + 1 < h ? (double)at[w] : NAN, g->dy_m);
            const double slope_deg = atan(hypot(gx, gy)) * 57.295779513082321;
            unsigned bin = 0;
            if (isfinite(slope_deg))
                bin = slope_deg >= 50.0 ? 6 : (unsigned)(slope_deg / 10.0) + 1;
            g->mask[j * w + i] |= (uint8_t)(bin << SLOPE_SHIFT);
        }
}

/* Statistics of the residuals by slope. */
static void slope_stats(SdmCoregGrid *g, SdmCompareResult *out)
{
    mark_slopes(g);
    for (unsigned k = 0; k < 6; k++) {
        out->slope[k].lo_deg = 10.0 * (double)k;
        out->slope[k].hi_deg = k < 5 ? 10.0 * (double)(k + 1) : 90.0;
        sdm_coreg_stats(g, g->residual_m, SDM_COREG_COMMON | SLOPE_BITS,
                        SDM_COREG_COMMON | (k + 1) << SLOPE_SHIFT, &out->slope[k].aligned);
    }
}

/* The picture must be a new file or an older picture, not one of the rasters. */
static SdmStatus check_picture(SdmContext *ctx, const char *dem, const char *reference,
                               const SdmCompareOptions *opt)
{
    const char *const input[INPUTS] = {dem, reference, opt->class_raster, opt->within};
    const size_t length = opt->png ? strlen(opt->png) : 0;
    struct stat a, b;
    if (!opt->png)
        return SDM_OK;
    if (length < 5 || strcasecmp(opt->png + length - 4, ".png") != 0)
        return sdm_fail(ctx, SDM_ERR_USAGE, "--png %s: expected a name that ends in .png", opt->png);
    for (int k = 0; k < INPUTS; k++)
        if (input[k] && stat(opt->png, &a) == 0 && stat(input[k], &b) == 0 && a.st_dev == b.st_dev &&
            a.st_ino == b.st_ino)
            return sdm_fail(ctx, SDM_ERR_USAGE, "--png %s would overwrite the input %s; give another name",
                            opt->png, input[k]);
    return SDM_OK;
}

static SdmStatus open_inputs(SdmContext *ctx, const char *dem, const char *reference,
                             const SdmCompareOptions *opt, SdmInputRaster *in)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_input_raster_open(ctx, dem, "DEM", &in[DEM]));
    TRY(sdm_input_raster_check_dem(ctx, &in[DEM]));
    TRY(sdm_input_raster_open(ctx, reference, "reference", &in[REFERENCE]));
    if (opt->class_raster)
        TRY(sdm_input_raster_open(ctx, opt->class_raster, "--class", &in[CLASS]));
    if (opt->within)
        TRY(sdm_input_raster_open(ctx, opt->within, "--within", &in[WITHIN]));
    TRY(sdm_input_raster_set_datum(ctx, &in[DEM], "--dem-vertical", opt->dem_vertical));
    TRY(sdm_input_raster_set_datum(ctx, &in[REFERENCE], "--reference-vertical", opt->reference_vertical));
done:
    return st;
}

static SdmStatus compare(SdmContext *ctx, const SdmInputRaster *in, const SdmCompareOptions *opt,
                         SdmCoregGrid *g, SdmCompareResult *out)
{
    SdmStatus st = SDM_OK;
    SdmRasterGrid grid;
    SdmCoregShift found;
    TRY(sdm_raster_grid_union(ctx, &in[DEM], &in[REFERENCE], &grid));
    TRY(check_memory(ctx, &grid, opt->memory_bytes));
    *g = (SdmCoregGrid){.cols = grid.cols,
                        .rows = grid.rows,
                        .dx_m = grid.dx_m,
                        .dy_m = grid.dy_m,
                        .threads = sdm_threads(ctx)};
    TRY(sdm_coreg_open(ctx, g));
    TRY(sdm_input_raster_load(ctx, &in[DEM], &grid, "near", g->dem_m));
    TRY(sdm_input_raster_load(ctx, &in[REFERENCE], &grid, sdm_input_raster_method(&in[REFERENCE], &grid),
                              g->reference_m));
    TRY(sdm_check_stop(ctx));
    TRY(sdm_input_raster_match_datum(ctx, &grid, &in[REFERENCE], g->reference_m, out->note));
    TRY(choose_cells(ctx, in, &grid, g, out));
    raw_stats(g, out);
    TRY(sdm_coreg_shift(ctx, g, &found));
    memcpy(out->shift_m, found.shift_m, sizeof out->shift_m);
    out->undetermined = found.undetermined;
    out->aligned = found.residual;
    slope_stats(g, out);
    if (opt->png)
        TRY(sdm_compare_picture(ctx, g->cols, g->rows, g->residual_m, (uint8_t *)(void *)g->scratch,
                                opt->png));
done:
    return st;
}

SdmStatus sdm_compare(SdmContext *ctx, const char *dem, const char *reference, const SdmCompareOptions *opt,
                      SdmCompareResult *out)
{
    SdmStatus st = SDM_OK;
    SdmInputRaster in[INPUTS] = {{0}};
    SdmCoregGrid g = {0};
    *out = (SdmCompareResult){0};
    GDALAllRegister();
    CPLPushErrorHandler(CPLQuietErrorHandler);
    TRY(check_picture(ctx, dem, reference, opt));
    TRY(open_inputs(ctx, dem, reference, opt, in));
    TRY(compare(ctx, in, opt, &g, out));
done:
    sdm_coreg_close(&g);
    for (int k = 0; k < INPUTS; k++)
        sdm_input_raster_close(&in[k]);
    CPLPopErrorHandler();
    return st;
}
