/* What compare takes out of a DEM and writes: shift and tilt; aligned DEM and difference. */
// SPDX-License-Identifier: Apache-2.0
#include "compare_case.h"
#include "tests/folder.h"

#include <sys/stat.h>

enum { COLS = 220, ROWS = 420 };
static const double SHIFT_M[3] = {12.3, -7.7, 4.4}, CELL_M = 30.0;
static char aligned[64], difference[64];

/* What is put into a DEM besides the shift. */
typedef struct Errors {
    double tilt[2]; /* east and north, m per m */
    double noise_m;
    bool holes;
} Errors;
static const double TRACK_DEG = 9.0;

static unsigned draw;
static double normal(void) /* of variance 1, by the sum of twelve */
{
    double sum = -6.0;
    for (int k = 0; k < 12; k++) {
        draw = draw * 1664525u + 1013904223u;
        sum += (double)(draw >> 8) / 16777216.0;
    }
    return sum;
}

/* A strip that flies towards 9 degrees: DEM(x, y) = terrain(x + dx, y + dy) + dz + errors. */
static void write_strip(const char *path, const double shift_m[3], const Errors *e, bool whole)
{
    FREED float *const v = malloc((size_t)COLS * ROWS * sizeof *v);
    draw = 7;
    for (int j = 0; j < ROWS; j++)
        for (int i = 0; i < COLS; i++) {
            const double x = CELL_M * i, y = -CELL_M * j, east_m = CELL_M * (i - 0.5 * (COLS - 1)),
                         north_m = CELL_M * (0.5 * (ROWS - 1) - j);
            const double across = east_m - north_m * tan(TRACK_DEG * M_PI / 180.0);
            const bool out =
                !whole && (fabs(across) > 80.0 * CELL_M || (e->holes && (i / 9 * 7 + j / 5 * 13) % 29 == 0));
            const double h = terrain(x + shift_m[0], y + shift_m[1]) + shift_m[2] + e->tilt[0] * east_m +
                             e->tilt[1] * north_m + e->noise_m * normal();
            v[j * COLS + i] = out ? NAN : (float)h;
        }
    const Raster r = {.cols = COLS,
                      .rows = ROWS,
                      .epsg = 32631,
                      .x0 = 600000,
                      .y0 = 4900000,
                      .values = v,
                      .datum = "WGS 84 ellipsoid"};
    write_raster(path, &r);
}

static void make(const Errors *e)
{
    write_strip(DEM, SHIFT_M, e, false);
    write_strip(REF, (double[3]){0}, &(Errors){.noise_m = 0.0}, true);
}

static float *read_cells(const char *path)
{
    GDALDatasetH const file = GDALOpen(path, GA_ReadOnly);
    assert_non_null(file);
    assert_int_equal(GDALGetRasterXSize(file), COLS);
    assert_int_equal(GDALGetRasterYSize(file), ROWS);
    float *const v = malloc((size_t)COLS * ROWS * sizeof *v);
    assert_int_equal(
        GDALRasterIO(GDALGetRasterBand(file, 1), GF_Read, 0, 0, COLS, ROWS, v, COLS, ROWS, GDT_Float32, 0, 0),
        CE_None);
    for (int i = 0; i < COLS * ROWS; i++)
        v[i] = v[i] == -9999.0f ? NAN : v[i];
    GDALClose(file);
    return v;
}

static void expect_shift(const SdmCompareResult *r, double tolerance_m)
{
    for (int k = 0; k < 3; k++)
        if (!(fabs(r->move.move_m[k] - (k < 2 ? SHIFT_M[k] : -SHIFT_M[k])) <= tolerance_m))
            fail_msg("move %d: %.4f m, expected %.4f", k, r->move.move_m[k], SHIFT_M[k]);
}

TEST(aligned_dem_keeps_grid_and_metadata)
{
    const Errors e = {.noise_m = 1.0, .holes = true};
    SdmCompareResult r;
    make(&e);
    const SdmCompareOptions opt = {.aligned = aligned, .overwrite = true};
    assert_int_equal(run(&opt, &r, NULL, 0), SDM_OK);
    expect_shift(&r, 0.1);
    FREED float *const before = read_cells(DEM), *const after = read_cells(aligned);
    int64_t held = 0, holds = 0;
    for (int i = 0; i < COLS * ROWS; i++) {
        held += !isnan(before[i]);
        holds += !isnan(after[i]);
    }
    assert_int_equal(held, holds); /* moved by less than half a cell, so holes are where they were */
    GDALDatasetH const file = GDALOpen(aligned, GA_ReadOnly);
    double transform[6];
    GDALGetGeoTransform(file, transform);
    assert_near(transform[0], 600000, 0.0);
    assert_near(transform[3], 4900000, 0.0);
    assert_string_equal(GDALGetMetadataItem(file, "VERTICAL_DATUM", NULL), "WGS 84 ellipsoid");
    assert_string_equal(GDALGetMetadataItem(file, "LAYOUT", "IMAGE_STRUCTURE"), "COG");
    assert_non_null(GDALGetMetadataItem(file, "ALIGNED_BY_EAST_NORTH_UP_M", NULL));
    assert_near(GDALGetRasterNoDataValue(GDALGetRasterBand(file, 1), NULL), -9999.0, 0.0);
    GDALClose(file);
}

TEST(aligned_again)
{
    const Errors e = {.noise_m = 1.0, .holes = true};
    SdmCompareResult first, second;
    make(&e);
    const SdmCompareOptions opt = {.aligned = aligned, .difference = difference, .overwrite = true},
                            plain = {.model = NULL};
    assert_int_equal(run(&opt, &first, NULL, 0), SDM_OK);
    SdmContext *ctx = default_context();
    assert_int_equal(sdm_compare_dems(ctx, aligned, REF, &plain, &second), SDM_OK);
    sdm_close(&ctx);
    for (int k = 0; k < 3; k++)
        if (!(fabs(second.move.move_m[k]) <= 0.02))
            fail_msg("shift %d of the aligned DEM: %.4f m after %.4f", k, second.move.move_m[k],
                     first.move.move_m[k]);
    FREED float *const a = read_cells(aligned), *const d = read_cells(difference),
                       *const ref = read_cells(REF);
    double sum = 0.0;
    int64_t n = 0;
    for (int i = 0; i < COLS * ROWS; i++) {
        assert_int_equal(isnan(d[i]), isnan(a[i]));
        if (isnan(d[i]))
            continue;
        assert_near((double)d[i], (double)a[i] - (double)ref[i], 1e-3);
        sum += (double)d[i];
        n++;
    }
    GDALDatasetH const file = GDALOpen(difference, GA_ReadOnly);
    assert_near(atof(GDALGetMetadataItem(file, "DIFFERENCE_COUNT", NULL)), (double)n, 0.0);
    assert_near(atof(GDALGetMetadataItem(file, "DIFFERENCE_BIAS_M", NULL)), sum / (double)n, 1e-4);
    assert_null(GDALGetMetadataItem(file, "VERTICAL_DATUM", NULL));
    GDALClose(file);
}

TEST(tilt_is_found)
{
    const Errors e = {.tilt = {0.9e-3, -0.6e-3}, .noise_m = 1.0, .holes = true};
    const SdmCompareOptions opt = {.model = "tilt", .aligned = aligned, .overwrite = true};
    SdmCompareResult r;
    double tilt[2];
    make(&e);
    assert_int_equal(run(&opt, &r, NULL, 0), SDM_OK);
    sdm_tilt_slope(&r.tilt, tilt);
    assert_near(tilt[0], e.tilt[0], 0.05 * fabs(e.tilt[0]));
    assert_near(tilt[1], e.tilt[1], 0.05 * fabs(e.tilt[1]));
    expect_shift(&r, 0.2);
    assert_near(r.aligned.nmad_m, 1.0, 0.05);
    char text[16384];
    text_of(&r, text, sizeof text);
    assert_non_null(strstr(text, "m/km towards east"));
}

/* White noise has the same variance at any distance, and the mean of an area the root of its cells less. */
TEST(figures_by_height_and_distance)
{
    const Errors e = {.noise_m = 2.0};
    SdmCompareResult r;
    int64_t n = 0;
    make(&e);
    assert_int_equal(run(NULL, &r, NULL, 0), SDM_OK);
    for (int k = 0; k < SDM_COMPARE_BANDS; k++)
        n += r.band[k].aligned.count;
    assert_int_equal(n, r.aligned.count);
    assert_near(r.lag[0].semivariance_m2, 4.0, 0.3);
    assert_near(r.lag[1].semivariance_m2, 4.0, 0.3);
    assert_near(r.lag[0].area_error_m, 2.0, 0.1);
    assert_near(r.lag[1].area_error_m, 0.2, 0.03);
}

/* ---- faults ---- */

TEST(wrong_input_is_named)
{
    const char *const input = in_folder("input.tif"), *const other = in_folder("input_link.tif");
    const Errors e = {.noise_m = 0.0};
    make(&e);
    write_terrain(input, 0.0, 0.0, 0.0, false);
    assert_int_equal(link(input, other), 0);
    refused(&(SdmCompareOptions){.mask = input, .aligned = other, .overwrite = true}, SDM_ERR_USAGE,
            "would overwrite the input");
    refused(&(SdmCompareOptions){.aligned = input}, SDM_ERR_USAGE, "is there already");
    refused(&(SdmCompareOptions){.aligned = folder}, SDM_ERR_USAGE, "ends in .tif");
    refused(&(SdmCompareOptions){.aligned = aligned, .difference = aligned, .overwrite = true}, SDM_ERR_USAGE,
            "both name");
    refused(&(SdmCompareOptions){.aligned = in_folder("new.tif"), /* one file, not there yet */
                                 .difference = in_folder("./new.tif")},
            SDM_ERR_USAGE, "both name");
    refused(&(SdmCompareOptions){.difference = "/no/such/folder/d.tif"}, SDM_ERR_IO, "make it first");
    unlink(input);
    unlink(other);
}

TEST(every_allocation_may_fail)
{
    const Errors e = {.tilt = {0.9e-3, -0.6e-3}, .noise_m = 1.0};
    const SdmCompareOptions opt = {.model = "tilt",
                                   .aligned = aligned,
                                   .difference = difference,
                                   .output = in_folder("page"),
                                   .overwrite = true};
    SdmCompareResult r;
    char error[1024];
    make(&e);
    empty_folder();
#ifdef __SANITIZE_ADDRESS__ /* which take ten times as long */
    enum { STEP = 53 };
#else
    enum { STEP = 23 };
#endif
    EACH_ALLOCATION_FAILS(run(&opt, &r, error, sizeof error), assert_true(count_files("") <= 5), 40, STEP);
    assert_int_equal(count_files(""), 5);
}

TEST(threads_make_no_difference)
{
    const Errors e = {.tilt = {0.9e-3, -0.6e-3}, .noise_m = 1.0, .holes = true};
    const SdmCompareOptions opt = {.model = "tilt", .aligned = aligned, .overwrite = true};
    float *cells[2];
    make(&e);
    for (int k = 0; k < 2; k++) {
        SdmCompareResult r;
        SdmContext *ctx = threaded_context(k ? 3 : 1);
        assert_int_equal(sdm_compare_dems(ctx, DEM, REF, &opt, &r), SDM_OK);
        sdm_close(&ctx);
        cells[k] = read_cells(aligned);
    }
    assert_memory_equal(cells[0], cells[1], (size_t)COLS * ROWS * sizeof(float));
    free(cells[0]);
    free(cells[1]);
}

FIXTURE(open_folder)
{
    GDALAllRegister();
    const int failed = make_folder(state);
    snprintf(aligned, sizeof aligned, "%s/aligned.tif", folder);
    snprintf(difference, sizeof difference, "%s/difference.tif", folder);
    return failed;
}

RUN_TESTS(open_folder, remove_folder)
