/* Pixels of 8 bits -> a PNG image in memory, by GDAL. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/png.h"
#include "geo/gdal_errors.h"

#include <cpl_conv.h>
#include <cpl_vsi.h>
#include <gdal.h>

/* A raster of GDAL's over the pixels; NULL: no memory. */
static GDALDatasetH wrap(const unsigned char *pixels, int width, int height, int bands)
{
    const GDALDatasetH ds = GDALCreate(GDALGetDriverByName("MEM"), "", width, height, 0, GDT_Byte, NULL);
    bool good = ds != NULL;
    for (int k = 0; good && k < bands; k++) {
        char at[40] = "", data[80], step[40], row[40];
        CPLPrintPointer(at, (void *)(uintptr_t)(pixels + k), (int)sizeof at - 1);
        snprintf(data, sizeof data, "DATAPOINTER=%s", at);
        snprintf(step, sizeof step, "PIXELOFFSET=%d", bands);
        snprintf(row, sizeof row, "LINEOFFSET=%lld", (long long)bands * width);
        char *options[] = {data, step, row, NULL};
        good = GDALAddBand(ds, GDT_Byte, options) == CE_None;
    }
    if (good)
        return ds;
    GDALClose(ds);
    return NULL;
}

SdmStatus sdm_png_encode(SdmContext *ctx, const unsigned char *pixels, int width, int height, int bands,
                         SdmPng *out)
{
    char path[64], *fast[] = {(char *)(uintptr_t) "ZLEVEL=1", NULL};
    SdmGdalErrors errors;
    GDALDatasetH file = NULL;
    vsi_l_offset size = 0;
    *out = (SdmPng){.width = width, .height = height};
    snprintf(path, sizeof path, "/vsimem/stereodem_%p.png", (void *)out);
    sdm_gdal_errors_begin(&errors);
    const GDALDatasetH from = wrap(pixels, width, height, bands);
    if (from)
        file = GDALCreateCopy(GDALGetDriverByName("PNG"), path, from, FALSE, fast, NULL, NULL);
    GDALClose(file);
    GDALClose(from);
    out->data = VSIGetMemFileBuffer(path, &size, TRUE);
    out->size = (size_t)size;
    sdm_gdal_errors_end(&errors);
    if (out->data && file && !errors.failed)
        return SDM_OK;
    sdm_png_close(out);
    return sdm_fail(ctx, SDM_ERR_MEMORY, "a picture of %d x %d pixels cannot be made (%s)", width, height,
                    errors.text);
}

void sdm_png_close(SdmPng *png)
{
    VSIFree(png->data);
    *png = (SdmPng){0};
}
