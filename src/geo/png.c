/* Pixels of 8 bits -> a PNG image in memory, by GDAL's driver. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/png.h"
#include "geo/gdal_errors.h"

#include <cpl_string.h>
#include <cpl_vsi.h>
#include <gdal.h>

SdmStatus sdm_png_encode(SdmContext *ctx, const unsigned char *pixels, int width, int height, int bands,
                         SdmPng *out)
{
    static const char *const options[] = {"ZLEVEL=1", NULL};
    SdmGdalErrors errors;
    char name[64];
    snprintf(name, sizeof name, "/vsimem/stereodem_png_%p.png", (void *)out);
    sdm_gdal_errors_begin(&errors);
    GDALDatasetH png = NULL;
    GDALDatasetH memory = GDALCreate(GDALGetDriverByName("MEM"), "", width, height, bands, GDT_Byte, NULL);
    if (memory &&
        GDALDatasetRasterIOEx(memory, GF_Write, 0, 0, width, height, (void *)(uintptr_t)pixels, width, height,
                              GDT_Byte, bands, NULL, bands, (GSpacing)bands * width, 1, NULL) == CE_None)
        png = GDALCreateCopy(GDALGetDriverByName("PNG"), name, memory, FALSE, (char **)(uintptr_t)options,
                             NULL, NULL);
    GDALClose(png);
    GDALClose(memory);
    sdm_gdal_errors_end(&errors);
    vsi_l_offset size = 0;
    unsigned char *const data = png ? VSIGetMemFileBuffer(name, &size, TRUE) : NULL;
    VSIUnlink(name);
    *out = (SdmPng){.data = data, .size = (size_t)size, .width = width, .height = height};
    if (!data || errors.failed)
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED, "GDAL's PNG driver cannot encode the picture: %s",
                        errors.text);
    return SDM_OK;
}

void sdm_png_close(SdmPng *png)
{
    VSIFree(png->data);
    *png = (SdmPng){0};
}
