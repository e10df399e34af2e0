/* The left image on the DEM's grid: floats as they came in -> the smallest type that holds them. */
// SPDX-License-Identifier: Apache-2.0
#include "product/product_inside.h"

#include <math.h>

GDALDataType sdm_ortho_type(const SdmSurvey *s)
{
    if (!(s->ortho_low <= s->ortho_high))
        return GDT_Byte; /* nothing seen */
    if (s->ortho_low < -0.5F || s->ortho_high > 65535.5F || s->ortho_high <= 2.0F)
        return GDT_Float32; /* reflectance, radar in dB ... */
    return s->ortho_high < 255.5F ? GDT_Byte : GDT_UInt16;
}

/* 0 means nothing, so a dark pixel becomes 1. */
static uint16_t to_integer(float in, float top)
{
    const float v = in + 0.5F, low = v > 1.0F ? v : 1.0F;
    return in == SDM_NODATA || isnan(in) ? 0 : (uint16_t)(low < top ? low : top);
}

static void convert_memory(SdmContext *ctx, const SdmProduct *p, GDALDataType type, void *out)
{
    const float *const in = p->cells[SDM_FILE_ORTHO], top = type == GDT_Byte ? 255.0F : 65535.0F;
    const int64_t cols = p->grid.cols;
#pragma omp parallel for schedule(static) num_threads(sdm_threads(ctx))
    for (int64_t r = 0; r < p->grid.rows; r++)
        for (int64_t i = r * cols; i < (r + 1) * cols; i++) {
            const uint16_t v = to_integer(in[i], top);
            if (type == GDT_Byte)
                ((uint8_t *)out)[i] = (uint8_t)v;
            else
                ((uint16_t *)out)[i] = v;
        }
}

static SdmStatus convert_file(SdmContext *ctx, const SdmProduct *p, GDALDatasetH typed, const char *path)
{
    enum { ROWS = 512 };
    SdmStatus st = SDM_OK;
    SdmGdalErrors trap;
    float *in = NULL;
    uint16_t *out = NULL;
    const int cols = (int)p->grid.cols, rows = (int)p->grid.rows;
    GDALRasterBandH from = GDALGetRasterBand(p->raw[SDM_FILE_ORTHO], 1), to = GDALGetRasterBand(typed, 1);
    const float top = GDALGetRasterDataType(to) == GDT_Byte ? 255.0F : 65535.0F;
    sdm_gdal_errors_begin(&trap);
    TRY(sdm_alloc(ctx, &in, (size_t)cols * ROWS, sizeof *in, "ortho rows"));
    TRY(sdm_alloc(ctx, &out, (size_t)cols * ROWS, sizeof *out, "ortho rows"));
    for (int r = 0; r < rows && !trap.failed; r += ROWS) {
        const int h = rows - r < ROWS ? rows - r : ROWS;
        if (GDALRasterIO(from, GF_Read, 0, r, cols, h, in, cols, h, GDT_Float32, 0, 0) != CE_None)
            trap.failed = true;
        for (int64_t i = 0; i < (int64_t)cols * h; i++)
            out[i] = to_integer(in[i], top);
        if (GDALRasterIO(to, GF_Write, 0, r, cols, h, out, cols, h, GDT_UInt16, 0, 0) != CE_None)
            trap.failed = true;
    }
done:
    sdm_gdal_errors_end(&trap);
    if (st == SDM_OK && trap.failed)
        st = sdm_fail_write(ctx, path, trap.text);
    sdm_free(&out);
    sdm_free(&in);
    return st;
}

SdmStatus sdm_ortho_convert(SdmContext *ctx, SdmProduct *p)
{
    SdmStatus st = SDM_OK;
    GDALDatasetH typed = NULL, *const raw = &p->raw[SDM_FILE_ORTHO];
    void *cells = NULL;
    char path[SDM_PATH + 16];
    const GDALDataType type = sdm_ortho_type(&p->survey);
    if (type == GDT_Float32) {
        GDALSetRasterNoDataValue(GDALGetRasterBand(*raw, 1), (double)SDM_NODATA);
        return SDM_OK;
    }
    TRY(sdm_format(ctx, path, sizeof path, "%s-typed", p->names->raw[SDM_FILE_ORTHO]));
    TRY(sdm_raster_create(ctx, p, SDM_FILE_ORTHO, path, 1, type, &typed, &cells));
    GDALSetRasterNoDataValue(GDALGetRasterBand(typed, 1), 0.0);
    GDALSetDescription(GDALGetRasterBand(typed, 1), GDALGetDescription(GDALGetRasterBand(*raw, 1)));
    if (cells)
        convert_memory(ctx, p, type, cells);
    else
        TRY(convert_file(ctx, p, typed, path));
    TRY(sdm_raster_close(ctx, raw, &p->cells[SDM_FILE_ORTHO], p->names->raw[SDM_FILE_ORTHO]));
    *raw = typed;
    p->cells[SDM_FILE_ORTHO] = cells;
    typed = NULL;
    cells = NULL;
done:
    (void)sdm_raster_close(NULL, &typed, &cells, path);
    return st;
}
