/* Comparison of a DEM with a reference: small rasters worked by hand, a known shift, datums. */
// SPDX-License-Identifier: Apache-2.0
#include "compare_case.h"

TEST(constant_offset)
{
    float dem[12];
    for (int i = 0; i < 12; i++)
        dem[i] = 103.5f;
    write_flat(DEM, dem, NULL);
    write_flat(REF, hundred, NULL);
    SdmCompareResult r;
    assert_int_equal(run(NULL, &r, NULL, 0), SDM_OK);
    assert_int_equal(r.cells, 12);
    assert_near(r.coverage, 1.0, 0.0);
    assert_near(r.raw.median_m, 3.5, 1e-6);
    assert_near(r.raw.bias_m, 3.5, 1e-6);
    assert_near(r.raw.rmse_m, 3.5, 1e-6);
    assert_near(r.raw.nmad_m, 0.0, 1e-6);
    assert_near(r.move.move_m[0], 0.0, 1e-6); /* flat ground asks for no horizontal shift */
    assert_near(r.move.move_m[1], 0.0, 1e-6);
    assert_near(r.move.move_m[2], -3.5, 1e-6);
    assert_near(r.aligned.rmse_m, 0.0, 1e-5);
    assert_int_equal(r.slope[0].aligned.count, 12);
    assert_int_equal(r.slope[1].aligned.count, 0);
    assert_non_null(strstr(r.note, "neither"));
}

/* A plane of 10 m a cell, and noise of a few centimetres on the DEM: a shift along it is a height, across it
 * nothing, so no horizontal shift may be found.  A ridge determines the shift in one direction. */
TEST(plane_and_ridge)
{
    enum { W = 80, H = 60 };
    FREED float *const ref = malloc(W * H * sizeof *ref), *const dem = malloc(W * H * sizeof *dem);
    Raster r = {.cols = W, .rows = H, .epsg = 32631, .x0 = 600000, .y0 = 4900000};
    SdmCompareResult out;
    unsigned draw = 1;
    for (int kind = 0; kind < 2; kind++) {
        for (int i = 0; i < W * H; i++) {
            draw = draw * 1664525u + 1013904223u;
            const float noise = 0.05f * ((float)(draw >> 16) / 65536.0f - 0.5f);
            const double x = i % W, wave = kind ? 40.0 * sin(0.2 * x) : 10.0 * x;
            ref[i] = (float)(500.0 + wave);
            dem[i] = (float)(503.0 + (kind ? 40.0 * sin(0.2 * (x + 0.5)) : 10.0 * x)) + noise;
        }
        r.values = dem;
        write_raster(DEM, &r);
        r.values = ref;
        write_raster(REF, &r);
        assert_int_equal(run(NULL, &out, NULL, 0), SDM_OK);
        assert_int_equal(out.move.undetermined, kind ? 1 : 2);
        assert_near(out.move.move_m[1], 0.0, 0.05);
        assert_near(out.move.move_m[2], -3.0, 0.02);
        assert_near(out.move.move_m[0] / 30.0, kind ? 0.5 : 0.0, 0.02);
        assert_true(out.aligned.nmad_m < 0.1);
        char text[4096];
        text_of(&out, text, sizeof text);
        assert_non_null(strstr(text, kind ? "one horizontal direction only" : "moved in height only"));
    }
}

/* Decimetres above 50 m, as scale and offset of the band say. */
TEST(scale_and_offset)
{
    float dem[12], ref[12];
    for (int i = 0; i < 12; i++) {
        dem[i] = i == 7 ? NAN : 535.0f;
        ref[i] = i == 2 ? NAN : 500.0f;
    }
    Raster r = flat_raster;
    r.scale = 0.1, r.offset = 50.0;
    r.values = dem;
    write_raster(DEM, &r);
    r.values = ref;
    write_raster(REF, &r);
    SdmCompareResult figures;
    assert_int_equal(run(NULL, &figures, NULL, 0), SDM_OK);
    assert_int_equal(figures.cells, 11);
    assert_int_equal(figures.raw.count, 10);
    assert_near(figures.raw.median_m, 3.5, 1e-4);
    write_flat(REF, hundred, NULL);
    assert_int_equal(run(NULL, &figures, NULL, 0), SDM_OK);
    assert_near(figures.raw.median_m, 3.5, 1e-4);
}

TEST(figures_and_classes_by_hand)
{
    /* land errors: -40 -1 0 2 3 and one hole; water: 12, hole; cloud: 35 0; not seen: 50, and a reference
     * hole */
    const float dem[12] = {60, 99, 100, 102, 103, NAN, 112, NAN, 135, 100, 150, 100};
    const float class[12] = {1, 1, 1, 1, 1, 1, 2, 2, 3, 3, 0, 1};
    float ref[12];
    memcpy(ref, hundred, sizeof ref);
    ref[11] = NAN;
    write_flat(DEM, dem, NULL);
    write_flat(REF, ref, NULL);
    write_flat(EXTRA, class, NULL);
    SdmCompareResult r;
    assert_int_equal(run(&(SdmCompareOptions){.class_raster = EXTRA}, &r, NULL, 0), SDM_OK);
    assert_int_equal(r.cells, 6);
    assert_near(r.coverage, 5.0 / 6.0, 1e-12);
    assert_int_equal(r.raw.count, 5); /* figures of these errors: test_stats.c */
    assert_near(r.raw.over30, 0.2, 1e-12);
    assert_int_equal(r.water.cells, 2);
    assert_near(r.water.filled, 0.5, 1e-12);
    assert_near(r.water.over10, 1.0, 1e-12);
    assert_near(r.water.over30, 0.0, 1e-12);
    assert_int_equal(r.cloud.cells, 2);
    assert_near(r.cloud.filled, 1.0, 1e-12);
    assert_near(r.cloud.over30, 0.5, 1e-12);
    /* the outlier of -40 m is left out of the shift: mean of -1 0 2 3 */
    assert_near(r.move.move_m[2], -1.0, 1e-5);
}

TEST(within_limits_the_footprint)
{
    const float within[12] = {1, 1, 1, 1, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    const float dem[12] = {101, 101, NAN, 101, 150, 150, 150, 150, 150, 150, 150, 150};
    write_flat(DEM, dem, NULL);
    write_flat(REF, hundred, NULL);
    write_flat(EXTRA, within, NULL);
    SdmCompareResult r;
    assert_int_equal(run(&(SdmCompareOptions){.within = EXTRA}, &r, NULL, 0), SDM_OK);
    assert_int_equal(r.cells, 4);
    assert_near(r.coverage, 0.75, 1e-12);
    assert_near(r.raw.rmse_m, 1.0, 1e-6);
}

TEST(coverage_counts_the_union)
{
    Raster part = {.cols = 2, .rows = 2, .epsg = 32631, .x0 = 600060, .y0 = 4900000 - 30, .values = hundred};
    part.bands = 2; /* the first counts */
    write_raster(DEM, &part);
    write_flat(REF, hundred, NULL);
    SdmCompareResult r;
    assert_int_equal(run(NULL, &r, NULL, 0), SDM_OK);
    assert_int_equal(r.cells, 12);
    assert_near(r.coverage, 4.0 / 12.0, 1e-12);
    assert_near(r.raw.rmse_m, 0.0, 1e-6);
}

enum { AREA_COLS = 160, AREA_ROWS = 130 };

/* Is the cell's centre on the glacier of outlines_of_glaciers()? */
static bool on_glacier(int i)
{
    const int col = i % AREA_COLS, row = i / AREA_COLS;
    return col >= 20 && col < 140 && row >= 10 && row < 120;
}

/* The corners of the glacier, and of twice the area, in degrees. */
static void write_outlines(const char *path)
{
    char ring[2][512] = {"", ""}, text[4096];
    for (int k = 0; k < 10; k++) {
        const bool right = k % 5 == 1 || k % 5 == 2, low = k % 5 == 2 || k % 5 == 3;
        double x = 600000 + 30 * (k < 5   ? (right ? 140 : 20)
                                  : right ? 240
                                          : -80),
               y = 4900000 - 30 * (k < 5 ? (low ? 120 : 10)
                                   : low ? 195
                                         : -65);
        char *const of = ring[k / 5];
        to_degrees(&x, &y);
        snprintf(of + strlen(of), 512 - strlen(of), "%s[%.10f,%.10f]", k % 5 ? "," : "", x, y);
    }
    snprintf(text, sizeof text,
             "{\"type\":\"FeatureCollection\",\"features\":["
             "{\"type\":\"Feature\",\"properties\":{\"kind\":\"rock\",\"class\":1},\"geometry\":{"
             "\"type\":\"Polygon\",\"coordinates\":[[%s],[%s]]}},"
             "{\"type\":\"Feature\",\"properties\":{\"kind\":\"ice\",\"class\":17},\"geometry\":{"
             "\"type\":\"Polygon\",\"coordinates\":[[%s]]}}]}",
             ring[1], ring[0], ring[0]);
    write_text(path, text);
}

/* A glacier on 63 % of the cells has thinned by 20 m: with its outlines the shift is that without thinning,
 * and the glacier's figures are told apart; polygons of stable ground and of classes say the same. */
TEST(outlines_of_glaciers)
{
    static const char *const outlines = "/vsimem/outlines.geojson", *const ice = "kind = 'ice'",
                             *const rock = "kind = 'rock'";
    const SdmCompareOptions cases[] = {{.exclude = outlines, .where = ice},
                                       {.mask = outlines, .where = rock},
                                       {.class_raster = outlines, .where = rock},
                                       {.within = outlines, .where = rock},
                                       {.class_raster = outlines}};
    FREED float *const dem = malloc(sizeof *dem * AREA_COLS * AREA_ROWS);
    SdmCompareResult whole, r;
    write_terrain(DEM, 7.3, -4.1, 2.5, false);
    write_terrain(REF, 0.0, 0.0, 0.0, false);
    assert_int_equal(run(NULL, &whole, NULL, 0), SDM_OK);
    int thinned = 0;
    for (int i = 0; i < AREA_COLS * AREA_ROWS; i++) {
        dem[i] = (float)(terrain(30.0 * (i % AREA_COLS) + 7.3, -30.0 * (int)(i / AREA_COLS) - 4.1) + 2.5) -
                 (on_glacier(i) ? 20.0f : 0.0f);
        thinned += on_glacier(i);
    }
    const Raster raster = {
        .cols = AREA_COLS, .rows = AREA_ROWS, .epsg = 32631, .x0 = 600000, .y0 = 4900000, .values = dem};
    write_raster(DEM, &raster);
    write_outlines(outlines);
    assert_int_equal(run(NULL, &r, NULL, 0), SDM_OK);
    assert_true(fabs(r.move.move_m[2] - whole.move.move_m[2]) > 15.0); /* taken for a shift */
    for (int k = 0; k < 5; k++) {
        assert_int_equal(run(&cases[k], &r, NULL, 0), SDM_OK);
        assert_int_equal(r.cells, AREA_COLS * AREA_ROWS - thinned);
        for (int j = 0; j < 3; j++)
            assert_near(r.move.move_m[j], whole.move.move_m[j], 0.1);
        if (k < 2) {
            char text[16384];
            assert_true(llabs(r.unstable.aligned.count - thinned) < 400); /* the border is not resampled */
            assert_near(r.unstable.aligned.bias_m, -20.0, 0.1);
            text_of(&r, text, sizeof text);
            assert_non_null(strstr(text, "\nnot stable"));
        }
    }
    assert_near(r.class[17].aligned.bias_m, -20.0, 0.1);
    /* both: what either leaves out */
    refused(&(SdmCompareOptions){.mask = outlines, .exclude = outlines, .where = ice}, SDM_ERR_DATA,
            "--exclude /vsimem/outlines.geojson: leaves no cell");
    refused(&(SdmCompareOptions){.exclude = outlines, .where = "kinds = 1"}, SDM_ERR_INPUT,
            "its fields are kind, class");
    refused(&(SdmCompareOptions){.exclude = REF, .where = ice}, SDM_ERR_USAGE, "--where: needs polygons");
    refused(&(SdmCompareOptions){.mask = "/vsimem/no.gpkg"}, SDM_ERR_INPUT,
            "--mask /vsimem/no.gpkg cannot be opened as a raster or as polygons");
    float *const left = dem; /* a raster that is not 0 where the glacier lies */
    for (int i = 0; i < AREA_COLS * AREA_ROWS; i++)
        left[i] = on_glacier(i) ? 3.0f : i % 2 ? 0.0f : NAN;
    write_raster(EXTRA, &raster);
    assert_int_equal(run(&(SdmCompareOptions){.exclude = EXTRA}, &r, NULL, 0), SDM_OK);
    assert_int_equal(r.cells, AREA_COLS * AREA_ROWS - thinned);
    assert_near(r.move.move_m[2], whole.move.move_m[2], 0.1);
    assert_near(r.unstable.aligned.bias_m, -20.0, 0.1);
}

TEST(datums_are_reconciled)
{
    SdmCompareResult r;
    char error[1024];
    Raster geoid = flat_raster;
    geoid.values = hundred;
    write_flat(DEM, hundred, "WGS 84 ellipsoid");
    write_flat(REF, hundred, "WGS 84 ellipsoid");
    assert_int_equal(run(NULL, &r, NULL, 0), SDM_OK);
    assert_string_equal(r.note, "");
    geoid.vertical_epsg = 5773; /* EGM96; cs2cs EPSG:4326+5773 EPSG:4979 at 44.2455 N 4.2529 E: 51.012 m */
    write_raster(REF, &geoid);
    const SdmStatus st = run(NULL, &r, error, sizeof error);
    if (st == SDM_ERR_UNSUPPORTED) {
        print_message("no EGM96 grid here: %s\n", error);
        return;
    }
    assert_int_equal(st, SDM_OK);
    assert_non_null(strstr(r.note, "EGM96"));
    assert_near(r.raw.median_m, -51.012, 0.01); /* the reference rises by N */
    write_flat(DEM, hundred, "EGM96");
    write_flat(REF, hundred, "WGS 84 ellipsoid");
    assert_int_equal(run(NULL, &r, NULL, 0), SDM_OK);
    assert_near(r.raw.median_m, 51.012, 0.01);
    write_flat(DEM, hundred, "WGS 84 ellipsoid");
    write_raster(REF, &geoid);
    const SdmCompareOptions same = {.reference_vertical = "ellipsoid"};
    assert_int_equal(run(&same, &r, NULL, 0), SDM_OK);
    assert_near(r.raw.median_m, 0.0, 1e-6);
    write_flat(DEM, hundred, NULL); /* one side declares none: assumed as the other's, with a note */
    assert_int_equal(run(NULL, &r, NULL, 0), SDM_OK);
    assert_near(r.raw.median_m, 0.0, 1e-6);
    assert_non_null(strstr(r.note, "DEM declares no"));
    geoid.vertical_epsg = 5703; /* NAVD88 */
    write_raster(REF, &geoid);
    write_flat(DEM, hundred, "EGM96");
    assert_int_equal(run(NULL, &r, error, sizeof error), SDM_ERR_UNSUPPORTED);
    assert_non_null(strstr(error, "NAVD88"));
    assert_int_equal(run(&(SdmCompareOptions){.dem_vertical = "msl"}, &r, error, sizeof error),
                     SDM_ERR_USAGE);
    assert_non_null(strstr(error, "--dem-vertical"));
}

RUN_TESTS(NULL, NULL)
