/* Pixels of 8 bits -> a PNG image in memory, by GDAL. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/png.h"
#include "geo/gdal_scope.h"

#include <cpl_vsi.h>
#include <gdal.h>

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
    const SdmSamples s = {pixels, width, height, bands, GDT_Byte, bands, (int64_t)bands * width, 1};
    const GDALDatasetH from = sdm_wrap_samples(&s);
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
