/* Pictures as PNG: GDAL reads back what was encoded. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/png.h"
#include "tests/case.h"
#include <stereodem/stereodem.h>

#include <cpl_vsi.h>
#include <gdal.h>

static void as_encoded(SdmContext *ctx, int width, int height, int bands)
{
    static const char path[] = "/vsimem/test.png";
    enum { MOST = 64 * 48 * 4 };
    unsigned char in[MOST], back[MOST];
    const int n = width * height * bands;
    SdmPng png = {0};
    assert_true(n <= MOST);
    for (int i = 0; i < n; i++)
        in[i] = (unsigned char)(i % 3 ? 7 * i + i / 91 : 255);
    assert_int_equal(sdm_png_encode(ctx, in, width, height, bands, &png), SDM_OK);
    VSIFCloseL(VSIFileFromMemBuffer(path, png.data, png.size, FALSE));
    GDALDatasetH file = GDALOpen(path, GA_ReadOnly);
    assert_non_null(file);
    assert_int_equal(GDALGetRasterXSize(file), width);
    assert_int_equal(GDALGetRasterYSize(file), height);
    assert_int_equal(GDALGetRasterCount(file), bands);
    assert_int_equal(GDALDatasetRasterIOEx(file, GF_Read, 0, 0, width, height, back, width, height, GDT_Byte,
                                           bands, NULL, bands, (GSpacing)bands * width, 1, NULL),
                     CE_None);
    assert_memory_equal(in, back, (size_t)n);
    GDALClose(file);
    VSIUnlink(path);
    sdm_png_close(&png);
    assert_null(png.data);
}

TEST_CTX(pictures)
{
    static const int size[][2] = {{1, 1}, {1, 9}, {7, 1}, {64, 48}};
    GDALAllRegister();
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        for (int bands = 1; bands <= 4; bands += bands == 1 ? 2 : 1)
            as_encoded(ctx, size[i][0], size[i][1], bands);
}

RUN_TESTS(NULL, NULL)
