/* The left image on the DEM's grid: floats as they came in -> the smallest type that holds them. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/gdal_errors.h"
#include "product/dem_stats.h"
#include "product/raster.h"

#include <math.h>

GDALDataType sdm_ortho_type(float low, float high)
{
    if (!(low <= high))
        return GDT_Byte; /* empty */
    if (low < -0.5F || high > 65535.5F || high <= 2.0F)
        return GDT_Float32; /* reflectance, radar in dB ... */
    return high < 255.5F ? GDT_Byte : GDT_UInt16;
}

/* 0 stands for no data, so a dark pixel becomes 1. */
static uint16_t to_integer(float in, float top)
{
    const float v = in + 0.5F, low = v > 1.0F ? v : 1.0F;
    return in == SDM_NODATA || isnan(in) ? 0 : (uint16_t)(low < top ? low : top);
}

static SdmStatus convert(SdmContext *ctx, const SdmRasterSpec *spec, GDALDatasetH raw, GDALDatasetH typed)
{
    enum { ROWS = 512 };
    SdmStatus st = SDM_OK;
    SdmGdalErrors errors;
    float *in = NULL;
    uint16_t *out = NULL;
    const int cols = (int)spec->grid->cols, rows = (int)spec->grid->rows;
    GDALRasterBandH from = GDALGetRasterBand(raw, 1), to = GDALGetRasterBand(typed, 1);
    const float top = spec->type == GDT_Byte ? 255.0F : 65535.0F;
    sdm_gdal_errors_begin(&errors);
    TRY(sdm_alloc(ctx, &in, (size_t)cols * ROWS, sizeof *in, "ortho rows"));
    TRY(sdm_alloc(ctx, &out, (size_t)cols * ROWS, sizeof *out, "ortho rows"));
    for (int r = 0; r < rows && !errors.failed; r += ROWS) {
        const int h = rows - r < ROWS ? rows - r : ROWS;
        if (GDALRasterIO(from, GF_Read, 0, r, cols, h, in, cols, h, GDT_Float32, 0, 0) != CE_None)
            errors.failed = true;
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
        for (int64_t i = 0; i < (int64_t)cols * h; i++)
            out[i] = to_integer(in[i], top);
        if (GDALRasterIO(to, GF_Write, 0, r, cols, h, out, cols, h, GDT_UInt16, 0, 0) != CE_None)
            errors.failed = true;
    }
done:
    sdm_gdal_errors_end(&errors);
    if (st == SDM_OK && errors.failed)
        st = sdm_fail_write(ctx, spec->path, errors.text);
    sdm_free(&out);
    sdm_free(&in);
    return st;
}

SdmStatus sdm_ortho_convert(SdmContext *ctx, const SdmRasterSpec *spec, SdmRaster *raster,
                            const char *old_path)
{
    SdmStatus st = SDM_OK;
    SdmRaster typed = {0};
    GDALRasterBandH old = GDALGetRasterBand(raster->dataset, 1);
    TRY(sdm_raster_create(ctx, spec, &typed));
    GDALRasterBandH band = GDALGetRasterBand(typed.dataset, 1);
    GDALSetRasterNoDataValue(band, 0.0);
    GDALSetDescription(band, GDALGetDescription(old));
    TRY(convert(ctx, spec, raster->dataset, typed.dataset));
    TRY(sdm_raster_close(ctx, raster, old_path));
    *raster = typed;
    typed = (SdmRaster){0};
done:
    (void)sdm_raster_close(NULL, &typed, spec->path);
    return st;
}
