/* Blocks of a known pattern -> the rasters of a run, read back with GDAL.  CRS, datum and layout: chain/test_opened.py;
 * report: test_report.c. */
// SPDX-License-Identifier: Apache-2.0
#include "product/raster.h"
#include "product_case.h"

static void check_heights(GDALDatasetH ds)
{
    static float row[COLS];
    double low = INFINITY, high = -INFINITY, sum = 0.0, n = 0.0;
    GDALRasterBandH band = GDALGetRasterBand(ds, 1);
    for (int r = 0; r < ROWS; r++) {
        assert_int_equal(GDALRasterIO(band, GF_Read, 0, r, COLS, 1, row, COLS, 1, GDT_Float32, 0, 0),
                         CE_None);
        for (int c = 0; c < COLS; c++) {
            if (hole(c, r)) {
                assert_true(row[c] == SDM_NODATA);
                continue;
            }
            assert_true(fabsf(row[c] - height(c, r)) <= 1.0F / 64.0F);
            low = fmin(low, row[c]);
            high = fmax(high, row[c]);
            sum += row[c];
            n++;
        }
    }
    assert_true(fabs(atof(GDALGetMetadataItem(band, "STATISTICS_MINIMUM", NULL)) - low) < 1e-6);
    assert_true(fabs(atof(GDALGetMetadataItem(band, "STATISTICS_MAXIMUM", NULL)) - high) < 1e-6);
    assert_true(fabs(atof(GDALGetMetadataItem(band, "STATISTICS_MEAN", NULL)) - sum / n) < 1e-6);
    assert_true(fabs(atof(GDALGetMetadataItem(band, "STATISTICS_VALID_PERCENT", NULL)) -
                     100.0 * n / (COLS * ROWS)) < 0.1);
}

TEST(dem_on_the_ellipsoid)
{
    const Case k = {.name = "a.tif"};
    assert_int_equal(run_case(&k, NULL), SDM_OK);
    assert_int_equal(count_files("a"), 10);
    assert_int_equal(count_parts("", ".part-"), 0);
    assert_int_equal(count_parts("", ".aux.xml"), 0);
    GDALDatasetH ds = reopen("a.tif");
    assert_string_equal(GDALGetMetadataItem(ds, "SCENE_ID", NULL), "AST_L1A_<test> & \"more\"");
    assert_string_equal(GDALGetMetadataItem(ds, "ACQUISITION_TIME_UTC", NULL), "2004-05-06T10:11:12Z");
    assert_int_equal(GDALGetOverviewCount(GDALGetRasterBand(ds, 1)), 2);
    check_heights(ds);
    GDALClose(ds);
}

TEST(qa_values)
{
    uint16_t v[6];
    const Case k = {.name =
                        "q.dem.tif"}; /* companions come from the whole name when it does not end in .tif */
    assert_int_equal(run_case(&k, NULL), SDM_OK);
    GDALDatasetH ds = reopen("q.dem_qa.tif");
    assert_int_equal(GDALGetRasterCount(ds), 7);
    const double gap_scale = GDALGetRasterScale(GDALGetRasterBand(ds, 2), NULL);
    assert_true(GDALGetRasterScale(GDALGetRasterBand(ds, 1), NULL) == 0.01 && gap_scale == 0.1);
    assert_string_equal(GDALGetDescription(GDALGetRasterBand(ds, 5)), "mask");
    assert_string_equal(GDALGetMetadataItem(ds, "MASK_BIT_11", NULL), "sparse");
    assert_string_equal(GDALGetMetadataItem(ds, "INTERLEAVE", "IMAGE_STRUCTURE"), "BAND");
    assert_true(GDALGetRasterNoDataValue(GDALGetRasterBand(ds, 2), NULL) == 65535.0);
    assert_int_equal(GDALDatasetRasterIO(ds, GF_Read, 77, 1033, 1, 1, v, 1, 1, GDT_UInt16, 6, NULL, 0, 0, 0),
                     CE_None);
    assert_true(v[0] == 77 && v[1] == 165 && v[2] == 30 && v[3] == 6 && v[4] == SDM_QA_VALID && v[5] == 1);
    assert_int_equal(GDALDatasetRasterIO(ds, GF_Read, 620, 500, 1, 1, v, 1, 1, GDT_UInt16, 6, NULL, 0, 0, 0),
                     CE_None);
    assert_true(v[0] == 65535 && v[1] == 65535 && v[2] == 65535 && v[3] == 0 && v[4] == SDM_QA_LOW_SCORE &&
                v[5] == 8);
    GDALClose(ds);
}

TEST(ortho_types)
{
    static const struct {
        float dn;
        GDALDataType type;
        double nodata;
    } t[] = {{250.0F, GDT_Byte, 0.0}, {4000.0F, GDT_UInt16, 0.0}, {1.0F, GDT_Float32, -9999.0}};
    for (int i = 0; i < 3; i++) {
        const Case k = {.name = "o.tif", .dn = t[i].dn, .overwrite = true};
        float v[2];
        assert_int_equal(run_case(&k, NULL), SDM_OK);
        GDALDatasetH ds = reopen("o_ortho.tif");
        GDALRasterBandH band = GDALGetRasterBand(ds, 1);
        assert_int_equal(GDALGetRasterDataType(band), t[i].type);
        assert_true(GDALGetRasterNoDataValue(band, NULL) == t[i].nodata);
        assert_int_equal(GDALRasterIO(band, GF_Read, 150, 30, 1, 1, v, 1, 1, GDT_Float32, 0, 0), CE_None);
        assert_int_equal(GDALRasterIO(band, GF_Read, 150, 3, 1, 1, v + 1, 1, 1, GDT_Float32, 0, 0), CE_None);
        assert_true(fabsf(v[0] - t[i].dn * 0.9F) < 0.01F && (double)v[1] == t[i].nodata);
        assert_int_equal(GDALRasterIO(band, GF_Read, 160, 40, 1, 1, v, 1, 1, GDT_Float32, 0, 0), CE_None);
        assert_true(v[0] == (i < 2 ? 1.0F : 0.0F)); /* dark, not missing */
        GDALClose(ds);
    }
}

/* A plane over an odd number of cells, at some level: readers take an overview for the raster's extent in fewer
 * cells, so each of these holds the plane at its own middle.  In memory and read; a hole stays small. */
TEST(overviews_lie_on_their_raster)
{
    enum { W = 2006, H = 1701 };
    FREED float *const v = malloc((size_t)W * H * sizeof *v);
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = default_context();
    for (int i = 0; i < W * H; i++)
        v[i] = i % W > 900 && i % W < 920 && i / W > 40 && i / W < 60 ? SDM_NODATA
                                                                      : (float)(i % W + 2 * (i / W));
    for (int in_memory = 0; in_memory < 2; in_memory++) {
        GDALDatasetH const ds = GDALCreate(GDALGetDriverByName("MEM"), "", W, H, 1, GDT_Float32, NULL);
        GDALRasterBandH const band = GDALGetRasterBand(ds, 1);
        GDALSetRasterNoDataValue(band, SDM_NODATA);
        assert_int_equal(GDALRasterIO(band, GF_Write, 0, 0, W, H, v, W, H, GDT_Float32, 0, 0), CE_None);
        const SdmRaster raster = {.dataset = ds, .cells = in_memory ? v : NULL};
        assert_int_equal(sdm_overviews_build(ctx, &raster, &(SdmCogRequest){.path = "plane.tif"}), SDM_OK);
        assert_int_equal(GDALGetOverviewCount(band), 2);
        for (int k = 0; k < 2; k++) {
            GDALRasterBandH const level = GDALGetOverview(band, k);
            const int w = GDALGetRasterBandXSize(level), h = GDALGetRasterBandYSize(level);
            const double x = (double)W / w, y = (double)H / h;
            FREED float *const found = malloc((size_t)w * (size_t)h * sizeof *found);
            assert_int_equal(GDALRasterIO(level, GF_Read, 0, 0, w, h, found, w, h, GDT_Float32, 0, 0),
                             CE_None);
            for (int i = 0; i < w * h; i++) {
                const double col = (i % w + 0.5) * x, row = (i / w + 0.5) * y;
                const bool beside = col > 896 && col < 924 && row > 36 && row<64, inside = col> 905 &&
                                    col < 916 && row > 45 && row < 56;
                assert_true(!inside || found[i] == SDM_NODATA);
                assert_true(beside || fabs(found[i] - (col - 0.5 + 2.0 * (row - 0.5))) < 0.6);
            }
        }
        GDALClose(ds);
    }
}

RUN_TESTS(set_up, remove_folder)
