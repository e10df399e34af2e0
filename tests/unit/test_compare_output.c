/* What comes out of a comparison: refusals, the picture, text and JSON, a failed allocation. */
// SPDX-License-Identifier: Apache-2.0
#include "compare_case.h"

TEST(faults_are_named)
{
    const float ocean[12] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
    float holes[12];
    for (int i = 0; i < 12; i++)
        holes[i] = NAN;
    Raster r = flat_raster;
    r.values = hundred;
    write_raster(REF, &r);
    VSIUnlink(DEM);
    refused(NULL, SDM_ERR_INPUT, "cannot be opened");
    r.epsg = 4978; /* geocentric */
    write_raster(DEM, &r);
    refused(NULL, SDM_ERR_INPUT, "gdalwarp -t_srs");
    r = flat_raster;
    r.values = hundred;
    r.epsg = 0;
    write_raster(DEM, &r);
    refused(NULL, SDM_ERR_INPUT, "no coordinate reference system");
    r.epsg = 32631;
    r.x0 += 1e5;
    write_raster(DEM, &r);
    refused(NULL, SDM_ERR_DATA, "no cell in common");
    write_flat(DEM, holes, NULL);
    refused(NULL, SDM_ERR_DATA, "no cell in common");
    write_flat(DEM, hundred, NULL);
    refused(&(SdmCompareOptions){.class_raster = "/vsimem/none.tif"}, SDM_ERR_INPUT, "--class");
    write_flat(EXTRA, ocean, NULL);
    refused(&(SdmCompareOptions){.class_raster = EXTRA}, SDM_ERR_DATA, "class 1");
    refused(&(SdmCompareOptions){.png = "/no/such/folder/e.png"}, SDM_ERR_IO, "make it first");
    VSILFILE *const junk = VSIFOpenL(DEM, "wb");
    VSIFWriteL("not a raster", 1, 12, junk);
    VSIFCloseL(junk);
    refused(NULL, SDM_ERR_INPUT, "cannot be opened");
}

TEST(picture_is_grey)
{
    char path[] = "/tmp/compare_pngXXXXXX", png[64];
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    snprintf(png, sizeof png, "%s.png", path);
    /* median and shift 0: errors 0 but for -30 (below the range), +10, a hole */
    float dem[12];
    memcpy(dem, hundred, sizeof dem);
    dem[0] = 70, dem[1] = 110, dem[2] = NAN;
    write_flat(DEM, dem, NULL);
    write_flat(REF, hundred, NULL);
    SdmCompareResult r;
    assert_int_equal(run(&(SdmCompareOptions){.png = png}, &r, NULL, 0), SDM_OK);
    refused(&(SdmCompareOptions){.png = png}, SDM_ERR_USAGE, "is there already");
    GDALDatasetH const image = GDALOpen(png, GA_ReadOnly);
    assert_non_null(image);
    uint8_t grey[12];
    assert_int_equal(
        GDALRasterIO(GDALGetRasterBand(image, 1), GF_Read, 0, 0, 4, 3, grey, 4, 3, GDT_Byte, 0, 0), CE_None);
    GDALClose(image);
    assert_int_equal(grey[0], 1);
    assert_int_equal(grey[1], 192); /* 1 + 30/40 x 254 = 191.5 */
    assert_int_equal(grey[2], 0);
    assert_int_equal(grey[5], 128);
    char text[400] = "", link_name[64];
    snprintf(link_name, sizeof link_name, "%s.PNG", path); /* an input under another name */
    assert_int_equal(link(png, link_name), 0);
    assert_int_equal(run(&(SdmCompareOptions){.png = png, .class_raster = link_name}, &r, text, sizeof text),
                     SDM_ERR_USAGE);
    assert_non_null(strstr(text, "would overwrite the input"));
    assert_int_equal(run(&(SdmCompareOptions){.png = path}, &r, text, sizeof text), SDM_ERR_USAGE);
    assert_non_null(strstr(text, "ends in .png"));
    unlink(link_name);
    unlink(png);
    unlink(path);
}

TEST(text_and_json_hold_the_figures)
{
    SdmCompareResult r = {
        .cells = 5, .coverage = 0.25, .raw = {.count = 4, .median_m = 1.25}, .note = "said \"so\""};
    r.water.cells = 3;
    char text[4096], small[20];
    sdm_compare_text(&r, text, sizeof text);
    assert_non_null(strstr(text, "coverage 25.00 %"));
    assert_non_null(strstr(text, "median 1.250"));
    assert_non_null(strstr(text, "note: said"));
    sdm_compare_text(&r, small, sizeof small);
    assert_true(strlen(small) == sizeof small - 1);
    char *const json = sdm_compare_json(&r);
    assert_non_null(strstr(json, "\"median\":1.25"));
    assert_non_null(strstr(json, "\"water\""));
    assert_null(strstr(json, "\"cloud\""));
    assert_non_null(strstr(json, "said \\\"so\\\""));
    free(json);
}

TEST(every_allocation_may_fail)
{
    SdmCompareResult r;
    char error[1024];
    write_terrain(DEM, 1.0, 1.0, 1.0, true);
    write_terrain(REF, 0.0, 0.0, 0.0, false);
    SdmStatus st = SDM_ERR_MEMORY;
    int n = 1;
    for (; n < 200 && st == SDM_ERR_MEMORY; n++) {
        sdm_alloc_fail_at(n);
        st = run(NULL, &r, error, sizeof error);
    }
    sdm_alloc_fail_at(0);
    assert_int_equal(st, SDM_OK);
    assert_true(n > 8);
}

RUN_TESTS(NULL, NULL)
