/* Comparison of a DEM with points: tables and vector layers, their columns and CRS, the shift; what is
 * refused. */
// SPDX-License-Identifier: Apache-2.0
#include "compare_case.h"

#define CSV "/vsimem/compare_points.csv"
#define JSON "/vsimem/compare_points.geojson"

enum { COLS = 160, ROWS = 130, POINTS = 900 };
static const double SHIFT_M[3] = {12.3, -7.7, 4.4}, X0 = 600000.0, Y0 = 4900000.0;
static double unit_m = 1.0; /* of the points' heights */

/* A point of the true surface, somewhere on the DEM; x, y in its CRS. */
static void point(int k, double *x, double *y, double *h)
{
    const double east_m = 60.0 + fmod(k * 617.31, (COLS - 6) * 30.0),
                 north_m = -60.0 - fmod(k * 331.7, (ROWS - 6) * 30.0);
    *x = X0 + 15.0 + east_m; /* write_terrain() has terrain(0, 0) at the centre of the first cell */
    *y = Y0 - 15.0 + north_m;
    *h = terrain(east_m, north_m) / unit_m;
}

/* A table of the points with this first line. */
static void write_table(const char *path, const char *header, const char *format, bool degrees)
{
    FREED char *const text = malloc(POINTS * 120 + 200);
    int used = snprintf(text, 200, "%s\n", header);
    for (int k = 0; k < POINTS; k++) {
        double x, y, h;
        point(k, &x, &y, &h);
        if (degrees)
            to_degrees(&x, &y);
        used += snprintf(text + used, 120, format, x, y, h);
    }
    write_text(path, text);
}

static void expect_shift(const SdmCompareResult *r)
{
    assert_true(r->points);
    assert_int_equal(r->cells, POINTS);
    for (int k = 0; k < 3; k++)
        if (!(fabs(r->move.move_m[k] - (k < 2 ? SHIFT_M[k] : -SHIFT_M[k])) <= 0.1))
            fail_msg("move %d: %.4f m, expected %.4f", k, r->move.move_m[k], SHIFT_M[k]);
    assert_true(r->aligned.nmad_m < 0.05);
    assert_true(r->raw.nmad_m > 0.5);
}

TEST(tables_give_the_shift)
{
    SdmCompareResult r;
    write_terrain(DEM, SHIFT_M[0], SHIFT_M[1], SHIFT_M[2], false);
    write_table(CSV, "x,y,z", "%.3f,%.3f,%.3f\n", false);
    assert_int_equal(run_with(CSV, NULL, &r, NULL, 0), SDM_OK);
    expect_shift(&r);
    assert_non_null(strstr(r.source, "the DEM's CRS (assumed)"));
    assert_true(r.lag[1].pairs > 100);
    write_table(CSV, "Lon; Lat;H_LI", "%.8f;%.8f;%.3f\n", true);
    assert_int_equal(run_with(CSV, NULL, &r, NULL, 0), SDM_OK);
    expect_shift(&r);
    assert_non_null(strstr(r.source, "EPSG:4326 (assumed)"));
    assert_non_null(strstr(r.source, "column H_LI"));
    char text[16384];
    text_of(&r, text, sizeof text);
    assert_non_null(strstr(text, "points 900"));
    assert_non_null(strstr(text, "EPSG:4326"));
}

TEST(layers_give_the_shift)
{
    SdmCompareResult r;
    FREED char *const text = malloc(POINTS * 200 + 200);
    int used = snprintf(text, 200, "{\"type\": \"FeatureCollection\", \"features\": [");
    for (int k = 0; k < POINTS; k++) {
        double x, y, h;
        point(k, &x, &y, &h);
        to_degrees(&x, &y);
        used += snprintf(text + used, 200,
                         "%s{\"type\": \"Feature\", \"properties\": {}, \"geometry\": {\"type\": \"Point\", "
                         "\"coordinates\": [%.8f, %.8f, %.3f]}}",
                         k ? ", " : "", x, y, h);
    }
    snprintf(text + used, 8, "]}");
    write_text(JSON, text);
    write_terrain(DEM, SHIFT_M[0], SHIFT_M[1], SHIFT_M[2], false);
    assert_int_equal(run_with(JSON, NULL, &r, NULL, 0), SDM_OK);
    expect_shift(&r);
}

/* Points in water do not count; holes of the DEM are its own. */
TEST(classes_and_holes)
{
    static float class[COLS * ROWS];
    SdmCompareResult r;
    for (int i = 0; i < COLS * ROWS; i++)
        class[i] = i % COLS < COLS / 2 ? 1.0f : 2.0f;
    const Raster raster = {.cols = COLS, .rows = ROWS, .epsg = 32631, .x0 = X0, .y0 = Y0, .values = class};
    write_raster(EXTRA, &raster);
    write_terrain(DEM, SHIFT_M[0], SHIFT_M[1], SHIFT_M[2], true);
    write_table(CSV, "x,y,z", "%.3f,%.3f,%.3f\n", false);
    assert_int_equal(run_with(CSV, &(SdmCompareOptions){.class_raster = EXTRA}, &r, NULL, 0), SDM_OK);
    assert_true(r.cells > POINTS / 3 && r.cells < 2 * POINTS / 3);
    assert_true(r.coverage > 0.9 && r.coverage < 1.0);
    assert_near(r.move.move_m[0], SHIFT_M[0], 0.2);
    assert_int_equal(r.class[1].aligned.count, r.aligned.count);
    assert_int_equal(r.class[2].aligned.count, 0);
}

TEST(heights_of_another_unit_are_told)
{
    SdmCompareResult r;
    char text[16384];
    write_terrain(DEM, 0.0, 0.0, 0.0, false);
    write_table(CSV, "x,y,z", "%.3f,%.3f,%.3f\n", false);
    assert_int_equal(run_with(CSV, NULL, &r, NULL, 0), SDM_OK);
    assert_near(r.height_ratio, 1.0, 0.01);
    unit_m = 0.3048;
    write_table(CSV, "x,y,z", "%.3f,%.3f,%.3f\n", false);
    unit_m = 1.0;
    assert_int_equal(run_with(CSV, NULL, &r, NULL, 0), SDM_OK);
    text_of(&r, text, sizeof text);
    assert_non_null(strstr(text, "are 0.30 times those of the reference"));
}

TEST(few_points_give_a_height)
{
    SdmCompareResult r;
    write_terrain(DEM, 0.0, 0.0, 2.0, false);
    char text[400];
    double x, y, h;
    int used = snprintf(text, sizeof text, "x,y,z\n");
    for (int k = 0; k < 3; k++) {
        point(40 * k, &x, &y, &h);
        used += snprintf(text + used, 100, "%.3f,%.3f,%.3f\n", x, y, h);
    }
    write_text(CSV, text);
    assert_int_equal(run_with(CSV, NULL, &r, NULL, 0), SDM_OK);
    assert_int_equal(r.move.undetermined, 2);
    assert_near(r.move.move_m[0], 0.0, 0.0);
    assert_near(r.move.move_m[2], -2.0, 0.05);
}

TEST(wrong_points_are_named)
{
#define FEATURE(geometry)                                                                                    \
    "{\"type\": \"FeatureCollection\", \"features\": [{\"type\": \"Feature\", \"properties\": {}, "          \
    "\"geometry\": {" geometry "}}]}"
    static const struct {
        const char *path, *text, *words;
    } of[] = {
        {CSV, "x,y,name\n600100,4899900,b\n", "no column of heights"},
        {CSV, "a,b,z\n600100,4899900,1\n", "no column of places"},
        {CSV, "x,y,z\n600100,4899900,1\n600100,4899900,high\n", "line 3, column z is 'high'"},
        {CSV, "x,y,z\n600100,4899900,\n", "no heights"},
        {CSV, "x,y,z\n", "has no points"},
        {JSON, FEATURE("\"type\": \"Point\", \"coordinates\": [4.2, 44.2]"), "no heights"},
        {JSON, FEATURE("\"type\": \"LineString\", \"coordinates\": [[4.2, 44.2, 1], [4.3, 44.2, 1]]"),
         "has no points"},
        {CSV, "x,y,z\n100,200,3\n", "none of its 1 points lies on"},
        {CSV, "lon,lat,z\n50,-20,3\n", "none of its 1 points lies on"},
    };
    write_terrain(DEM, 0.0, 0.0, 0.0, false);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        write_text(of[i].path, of[i].text);
        refused_with(of[i].path, NULL, i < 7 ? SDM_ERR_INPUT : SDM_ERR_DATA, of[i].words);
    }
    refused_with("/vsimem/none.csv", NULL, SDM_ERR_INPUT, "neither a raster nor points");
    refused_with(CSV, &(SdmCompareOptions){.difference = "/tmp/e.tif"}, SDM_ERR_USAGE,
                 "needs a raster as reference");
}

TEST(every_allocation_may_fail)
{
    const SdmCompareOptions opt = {.model = "tilt"};
    SdmCompareResult r;
    char error[1024];
    write_terrain(DEM, 1.0, 1.0, 1.0, true);
    write_table(CSV, "x,y,z", "%.3f,%.3f,%.3f\n", false);
    EACH_ALLOCATION_FAILS(run_with(CSV, &opt, &r, error, sizeof error), , 20, 1);
}

RUN_TESTS(NULL, NULL)
