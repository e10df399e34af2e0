/* Rasters of odd shapes -> GeoTIFFs, read back with GDAL. */
// SPDX-License-Identifier: Apache-2.0
#include "product/raster.h"
#include "tests/case.h"
#include <stereodem/stereodem.h>

#define NAME "cog.tif"

static const SdmCogRequest to_file = {.path = NAME, .first_cell = true, .memory_bytes = INT64_C(1) << 30};

/* Cells by chance, which compress badly, but for rows of one value. */
static GDALDatasetH make_raster(int cols, int rows, int bands, GDALDataType type)
{
    const size_t cell = (size_t)GDALGetDataTypeSizeBytes(type), row = (size_t)cols * cell,
                 n = row * (size_t)rows;
    FREED uint8_t *const cells = malloc(n);
    uint32_t seed = 1;
    double transform[6] = {500000.0, 0.5, 0.0, 4000000.0, 0.0, -0.5};
    const GDALDatasetH ds = GDALCreate(GDALGetDriverByName("MEM"), "", cols, rows, bands, type, NULL);
    assert_true(cells && ds);
    GDALSetGeoTransform(ds, transform);
    GDALSetMetadataItem(ds, "SCENE_ID", "<one> & \"two\"", NULL);
    for (int k = 1; k <= bands; k++) {
        const GDALRasterBandH band = GDALGetRasterBand(ds, k);
        GDALSetRasterNoDataValue(band, 3.0);
        GDALSetDescription(band, k == 1 ? "first" : "other");
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1664525U + 1013904223U;
            cells[i] = i / row % 7 == 3 ? 66 : (uint8_t)(seed >> 24);
        }
        assert_int_equal(GDALRasterIO(band, GF_Write, 0, 0, cols, rows, cells, cols, rows, type, 0, 0),
                         CE_None);
    }
    return ds;
}

static void check_band(GDALRasterBandH one, GDALRasterBandH other)
{
    const int cols = GDALGetRasterBandXSize(one), rows = GDALGetRasterBandYSize(one);
    const GDALDataType type = GDALGetRasterDataType(one);
    const size_t size = (size_t)cols * (size_t)rows * (size_t)GDALGetDataTypeSizeBytes(type);
    FREED uint8_t *const a = malloc(size), *const b = malloc(size);
    int has = 0;
    assert_int_equal(cols, GDALGetRasterBandXSize(other));
    assert_int_equal(rows, GDALGetRasterBandYSize(other));
    assert_int_equal(type, GDALGetRasterDataType(other));
    assert_int_equal(GDALRasterIO(one, GF_Read, 0, 0, cols, rows, a, cols, rows, type, 0, 0), CE_None);
    assert_int_equal(GDALRasterIO(other, GF_Read, 0, 0, cols, rows, b, cols, rows, type, 0, 0), CE_None);
    assert_memory_equal(a, b, size);
    assert_true(GDALGetRasterNoDataValue(other, &has) == 3.0 && has);
}

TEST_CTX(read_back)
{
    static const struct {
        int cols, rows, bands;
        GDALDataType type;
        int overviews;
    } c[] = {{1, 1, 1, GDT_Float32, 0},     {512, 512, 1, GDT_Byte, 0},     {513, 3, 1, GDT_UInt16, 1},
             {3, 513, 1, GDT_Float32, 1},   {1025, 700, 1, GDT_Byte, 1},    {700, 1025, 3, GDT_UInt16, 1},
             {511, 1537, 1, GDT_UInt16, 2}, {1300, 520, 2, GDT_Float32, 2}, {1, 1, 4, GDT_Byte, 0}};
    for (size_t i = 0; i < sizeof c / sizeof c[0]; i++) {
        const SdmRaster raster = {.dataset = make_raster(c[i].cols, c[i].rows, c[i].bands, c[i].type)};
        assert_int_equal(sdm_cog_write(ctx, &raster, &to_file), SDM_OK);
        const GDALDatasetH back = GDALOpen(NAME, GA_ReadOnly);
        double a[6], b[6];
        assert_non_null(back);
        assert_int_equal(GDALGetRasterCount(back), c[i].bands);
        assert_true(GDALGetGeoTransform(raster.dataset, a) == CE_None &&
                    GDALGetGeoTransform(back, b) == CE_None);
        assert_memory_equal(a, b, sizeof a);
        assert_string_equal(GDALGetMetadataItem(back, "SCENE_ID", NULL), "<one> & \"two\"");
        for (int k = 1; k <= c[i].bands; k++) {
            const GDALRasterBandH from = GDALGetRasterBand(raster.dataset, k),
                                  to = GDALGetRasterBand(back, k);
            assert_string_equal(GDALGetDescription(to), GDALGetDescription(from));
            assert_int_equal(GDALGetOverviewCount(to), c[i].overviews);
            check_band(from, to);
            for (int level = 0; level < c[i].overviews; level++)
                check_band(GDALGetOverview(from, level), GDALGetOverview(to, level));
        }
        GDALClose(back);
        GDALClose(raster.dataset);
    }
    unlink(NAME);
}

int main(void)
{
    GDALAllRegister();
    return run_cases(NULL, NULL);
}
