/* DEM and reference -> coverage and error figures, raw and after a 3-D shift is taken out. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/input_raster.h"
#include "core/stats.h"

#include <cpl_error.h>
#include <math.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

enum { DEM, REFERENCE, CLASS, WITHIN, OPERANDS };

static SdmStatus check_memory(SdmContext *ctx, const SdmCells *c)
{
    const double need = (double)(c->cols * c->rows) * SDM_CELL_BYTES;
    if (need <= (double)sdm_options(ctx)->memory_bytes)
        return SDM_OK;
    return sdm_fail(
        ctx, SDM_ERR_MEMORY,
        "DEM and reference together span %lld x %lld cells, which takes %.1f GiB of memory; cut the "
        "reference to the DEM's surroundings (gdalwarp -te) or raise --memory",
        (long long)c->cols, (long long)c->rows, need / 1073741824.0);
}

/* Class of every cell; without a raster, all is land. */
static SdmStatus load_class(SdmContext *ctx, const SdmOperand *op, SdmCells *c)
{
    SdmStatus st = SDM_OK;
    const int64_t n = c->cols * c->rows;
    bool land = false;
    if (op[CLASS].file)
        TRY(sdm_operand_load(ctx, &op[CLASS], &op[DEM], c, "near", c->work));
    for (int64_t i = 0; i < n; i++) {
        const float value = op[CLASS].file ? c->work[i] : 1.0f;
        c->flags[i] = value == 1.0f ? 1 : value == 2.0f ? 2 : value == 3.0f ? 3 : 0;
        land = land || c->flags[i] == 1;
    }
    if (!land)
        st = sdm_fail(
            ctx, SDM_ERR_DATA,
            "--class %s: no cell where DEM and reference lie is of class 1 (land), so nothing can be scored",
            op[CLASS].path);
done:
    return st;
}

/* Which cells count -> flags, row_start and the result's cells and coverage. */
static SdmStatus mark_cells(SdmContext *ctx, const SdmOperand *op, SdmCells *c, SdmCompareResult *out)
{
    SdmStatus st = SDM_OK;
    int64_t inside = 0, both = 0;
    TRY(load_class(ctx, op, c));
    if (op[WITHIN].file)
        TRY(sdm_operand_load(ctx, &op[WITHIN], &op[DEM], c, "bilinear", c->work));
    for (int64_t j = 0; j < c->rows; j++) {
        c->row_start[j] = both;
        for (int64_t i = j * c->cols; i < (j + 1) * c->cols; i++) {
            if (isnan(c->ref_m[i]) || (c->flags[i] & SDM_CELL_CLASS) != 1 ||
                (op[WITHIN].file && isnan(c->work[i])))
                continue;
            const bool filled = !isnan(c->dem_m[i]);
            c->flags[i] |= (uint8_t)(filled ? SDM_CELL_INSIDE | SDM_CELL_BOTH : SDM_CELL_INSIDE);
            inside++;
            both += filled;
        }
    }
    c->row_start[c->rows] = both;
    out->cells = inside;
    out->coverage = (double)both / (double)(inside > 0 ? inside : 1);
    if (both == 0)
        st = sdm_fail(ctx, SDM_ERR_DATA, "no cell in common: DEM %s has no height where reference %s %s",
                      op[DEM].path, op[REFERENCE].path, inside ? "has one that counts" : "counts");
done:
    return st;
}

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0.0;
}

static SdmCompareClass score_class(const SdmCells *c, unsigned class)
{
    int64_t cells = 0, filled = 0, over10 = 0, over30 = 0;
    for (int64_t i = 0; i < c->rows * c->cols; i++) {
        if ((c->flags[i] & SDM_CELL_CLASS) != class)
            continue;
        cells++;
        filled += !isnan(c->dem_m[i]);
        const double error_m = fabs((double)c->dem_m[i] - (double)c->ref_m[i]); /* NaN exceeds nothing */
        over10 += error_m > 10.0;
        over30 += error_m > 30.0;
    }
    return (SdmCompareClass){.cells = cells,
                             .filled = share(filled, cells),
                             .over10 = share(over10, filled),
                             .over30 = share(over30, filled)};
}

/* Figures before alignment: all land, water, cloud. */
static void score_raw(SdmCells *c, SdmCompareResult *out)
{
    for (int64_t i = 0; i < c->rows * c->cols; i++)
        c->work[i] = c->dem_m[i] - c->ref_m[i];
    const int64_t n = sdm_cells_gather(c, c->work, SDM_CELL_BOTH, SDM_CELL_BOTH, c->scratch);
    sdm_error_stats(c->scratch, n, c->spline, &out->raw);
    out->water = score_class(c, 2);
    out->cloud = score_class(c, 3);
}

/* Figures of the aligned errors in c->work: all, and by slope. */
static void score_aligned(SdmCells *c, SdmCompareResult *out)
{
    int64_t n = sdm_cells_gather(c, c->work, SDM_CELL_BOTH, SDM_CELL_BOTH, c->scratch);
    sdm_error_stats(c->scratch, n, c->spline, &out->aligned);
    sdm_cells_slope(c);
    for (unsigned k = 0; k < 6; k++) {
        out->slope[k].lo_deg = 10.0 * (double)k;
        out->slope[k].hi_deg = k < 5 ? 10.0 * (double)(k + 1) : 90.0;
        n = sdm_cells_gather(c, c->work, SDM_CELL_BOTH | SDM_CELL_SLOPE,
                             SDM_CELL_BOTH | (k + 1) << SDM_CELL_SLOPE_SHIFT, c->scratch);
        sdm_error_stats(c->scratch, n, c->spline, &out->slope[k].aligned);
    }
}

/* The picture is a new file or an older picture, never one of the rasters. */
static SdmStatus check_picture(SdmContext *ctx, const char *dem, const char *reference,
                               const SdmCompareOptions *opt)
{
    const char *const input[OPERANDS] = {dem, reference, opt->class_raster, opt->within};
    const size_t length = opt->png ? strlen(opt->png) : 0;
    struct stat a, b;
    if (!opt->png)
        return SDM_OK;
    if (length < 5 || strcasecmp(opt->png + length - 4, ".png") != 0)
        return sdm_fail(ctx, SDM_ERR_USAGE, "--png %s: expected a name that ends in .png", opt->png);
    for (int k = 0; k < OPERANDS; k++)
        if (input[k] && stat(opt->png, &a) == 0 && stat(input[k], &b) == 0 && a.st_dev == b.st_dev &&
            a.st_ino == b.st_ino)
            return sdm_fail(ctx, SDM_ERR_USAGE, "--png %s would overwrite the input %s; give another name",
                            opt->png, input[k]);
    return SDM_OK;
}

static SdmStatus open_all(SdmContext *ctx, const char *dem, const char *reference,
                          const SdmCompareOptions *opt, SdmOperand *op)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_operand_open(ctx, dem, "DEM", &op[DEM]));
    TRY(sdm_operand_check_dem(ctx, &op[DEM]));
    TRY(sdm_operand_open(ctx, reference, "reference", &op[REFERENCE]));
    if (opt->class_raster)
        TRY(sdm_operand_open(ctx, opt->class_raster, "--class", &op[CLASS]));
    if (opt->within)
        TRY(sdm_operand_open(ctx, opt->within, "--within", &op[WITHIN]));
done:
    return st;
}

static SdmStatus compare(SdmContext *ctx, SdmOperand *op, const SdmCompareOptions *opt, SdmCells *c,
                         SdmCompareResult *out)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_operand_union(ctx, &op[DEM], &op[REFERENCE], c));
    TRY(check_memory(ctx, c));
    TRY(sdm_cells_alloc(ctx, c));
    TRY(sdm_operand_load(ctx, &op[DEM], &op[DEM], c, "near", c->dem_m));
    TRY(sdm_operand_load(ctx, &op[REFERENCE], &op[DEM], c,
                         sdm_operand_resampling(&op[REFERENCE], &op[DEM], c), c->ref_m));
    TRY(sdm_check_stop(ctx));
    TRY(sdm_operand_convert(ctx, c, &op[DEM], &op[REFERENCE], opt->dem_vertical, opt->reference_vertical,
                            out->note, sizeof out->note));
    TRY(mark_cells(ctx, op, c, out));
    score_raw(c, out);
    TRY(sdm_cells_align(ctx, c, out->shift_m, &out->undetermined));
    score_aligned(c, out);
    if (opt->png)
        TRY(sdm_cells_picture(ctx, c, opt->png));
done:
    return st;
}

SdmStatus sdm_compare(SdmContext *ctx, const char *dem, const char *reference, const SdmCompareOptions *opt,
                      SdmCompareResult *out)
{
    SdmStatus st = SDM_OK;
    SdmOperand op[OPERANDS] = {{0}};
    SdmCells cells = {.threads = sdm_threads(ctx)};
    *out = (SdmCompareResult){0};
    GDALAllRegister();
    CPLPushErrorHandler(CPLQuietErrorHandler);
    TRY(check_picture(ctx, dem, reference, opt));
    TRY(open_all(ctx, dem, reference, opt, op));
    TRY(compare(ctx, op, opt, &cells, out));
done:
    sdm_cells_free(&cells);
    for (int k = 0; k < OPERANDS; k++)
        sdm_operand_close(&op[k]);
    CPLPopErrorHandler();
    return st;
}
