/* The left image on the DEM's grid: floats as they came in -> the smallest type that holds them. */
// SPDX-License-Identifier: Apache-2.0
#include "dem/product_inside.h"

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
static void to_integers(const float *in, uint16_t *out, size_t n, float top)
{
    for (size_t i = 0; i < n; i++)
        out[i] = in[i] == SDM_NODATA || isnan(in[i]) ? 0 : (uint16_t)fminf(fmaxf(in[i] + 0.5F, 1.0F), top);
}

SdmStatus sdm_ortho_convert(SdmContext *ctx, SdmProduct *p)
{
    enum { ROWS = 512 };
    SdmStatus st = SDM_OK;
    SdmTrap trap = {0};
    GDALDatasetH typed = NULL;
    float *in = NULL;
    uint16_t *out = NULL;
    char path[SDM_PATH + 16];
    const GDALDataType type = sdm_ortho_type(&p->survey);
    const int cols = (int)p->grid.cols, rows = (int)p->grid.rows;
    if (type == GDT_Float32) {
        GDALSetRasterNoDataValue(GDALGetRasterBand(p->raw[SDM_FILE_ORTHO], 1), (double)SDM_NODATA);
        return SDM_OK;
    }
    TRY(sdm_format(ctx, path, sizeof path, "%s-typed", p->names->raw[SDM_FILE_ORTHO]));
    TRY(sdm_alloc(ctx, &in, (size_t)cols * ROWS, sizeof *in, "ortho rows"));
    TRY(sdm_alloc(ctx, &out, (size_t)cols * ROWS, sizeof *out, "ortho rows"));
    TRY(sdm_raster_create(ctx, p, SDM_FILE_ORTHO, path, 1, type, &typed));
    sdm_trap_begin(&trap);
    GDALRasterBandH from = GDALGetRasterBand(p->raw[SDM_FILE_ORTHO], 1), to = GDALGetRasterBand(typed, 1);
    GDALSetRasterNoDataValue(to, 0.0);
    GDALSetDescription(to, GDALGetDescription(from));
    for (int r = 0; r < rows && !trap.failed; r += ROWS) {
        const int h = rows - r < ROWS ? rows - r : ROWS;
        if (GDALRasterIO(from, GF_Read, 0, r, cols, h, in, cols, h, GDT_Float32, 0, 0) != CE_None)
            trap.failed = true;
        to_integers(in, out, (size_t)cols * (size_t)h, type == GDT_Byte ? 255.0F : 65535.0F);
        if (GDALRasterIO(to, GF_Write, 0, r, cols, h, out, cols, h, GDT_UInt16, 0, 0) != CE_None)
            trap.failed = true;
    }
    sdm_trap_end(&trap);
    if (trap.failed)
        st = sdm_fail_write(ctx, path, trap.text);
    if (!st)
        st = sdm_raster_close(ctx, &p->raw[SDM_FILE_ORTHO], p->names->raw[SDM_FILE_ORTHO]);
    if (!st) {
        p->raw[SDM_FILE_ORTHO] = typed;
        typed = NULL;
    }
done:
    if (typed)
        (void)sdm_raster_close(NULL, &typed, path);
    sdm_free(&out);
    sdm_free(&in);
    return st;
}
