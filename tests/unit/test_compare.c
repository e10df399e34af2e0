/* Comparison of a DEM with a reference: small rasters worked by hand, a known shift, datums, refusals. */
// SPDX-License-Identifier: Apache-2.0
#include "compare/compare.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <gdal.h>
#include <math.h>
#include <ogr_srs_api.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define assert_near(value, expected, tolerance) assert_true(fabs((value) - (expected)) <= (tolerance))
#define DEM "/vsimem/compare_dem.tif"
#define REF "/vsimem/compare_ref.tif"
#define EXTRA "/vsimem/compare_extra.tif"

typedef struct Raster { /* what to write; zeros: no CRS, 30 m cells, one band */
    int cols, rows, epsg, vertical_epsg, bands;
    double x0, y0, cell;
    const float *values; /* rows x cols; NaN = nodata (-9999) */
    const char *datum;   /* VERTICAL_DATUM */
    double scale, offset; /* metres = value x scale + offset; scale 0: none */
} Raster;

static void set_srs(GDALDatasetH set, const Raster *r)
{
    char text[64];
    OGRSpatialReferenceH const srs = OSRNewSpatialReference(NULL);
    if (r->vertical_epsg)
        snprintf(text, sizeof text, "EPSG:%d+%d", r->epsg, r->vertical_epsg);
    else
        snprintf(text, sizeof text, "EPSG:%d", r->epsg);
    assert_int_equal(OSRSetFromUserInput(srs, text), OGRERR_NONE);
    OSRSetAxisMappingStrategy(srs, OAMS_TRADITIONAL_GIS_ORDER);
    assert_int_equal(GDALSetSpatialRef(set, srs), CE_None);
    OSRDestroySpatialReference(srs);
}

static void write_raster(const char *path, const Raster *r)
{
    GDALAllRegister();
    const int bands = r->bands ? r->bands : 1;
    const double cell = r->cell > 0.0 ? r->cell : 30.0;
    double transform[6] = {r->x0, cell, 0.0, r->y0, 0.0, -cell};
    GDALDatasetH const set =
        GDALCreate(GDALGetDriverByName("GTiff"), path, r->cols, r->rows, bands, GDT_Float32, NULL);
    assert_non_null(set);
    GDALSetGeoTransform(set, transform);
    if (r->epsg)
        set_srs(set, r);
    if (r->datum)
        GDALSetMetadataItem(set, "VERTICAL_DATUM", r->datum, NULL);
    const size_t n = (size_t)r->cols * (size_t)r->rows;
    float *const v = malloc(n * sizeof *v);
    for (int b = 1; b <= bands; b++) {
        for (size_t i = 0; i < n; i++)
            v[i] = b > 1 ? 77.0f : isnan(r->values[i]) ? -9999.0f : r->values[i];
        GDALRasterBandH const band = GDALGetRasterBand(set, b);
        GDALSetRasterNoDataValue(band, -9999.0);
        if (r->scale > 0.0) {
            GDALSetRasterScale(band, r->scale);
            GDALSetRasterOffset(band, r->offset);
        }
        assert_int_equal(
            GDALRasterIO(band, GF_Write, 0, 0, r->cols, r->rows, v, r->cols, r->rows, GDT_Float32, 0, 0),
            CE_None);
    }
    free(v);
    GDALClose(set);
}

/* 4 x 3 cells, flat reference at 100 m: every figure is known. */
static const Raster flat_raster = {.cols = 4, .rows = 3, .epsg = 32631, .x0 = 600000, .y0 = 4900000};

static void write_flat(const char *path, const float values[12], const char *datum)
{
    Raster r = flat_raster;
    r.values = values;
    r.datum = datum;
    write_raster(path, &r);
}

static SdmStatus run(const SdmCompareOptions *opt, SdmCompareResult *out, char *error, size_t size)
{
    SdmContext *ctx = NULL;
    const SdmCompareOptions none = {0};
    assert_int_equal(sdm_open(&ctx, NULL), SDM_OK);
    const SdmStatus st = sdm_compare(ctx, DEM, REF, opt ? opt : &none, out);
    if (error)
        snprintf(error, size, "%s", sdm_error(ctx));
    else if (st)
        print_error("%s\n", sdm_error(ctx));
    sdm_close(&ctx);
    return st;
}

static const float hundred[12] = {100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100};

static void constant_offset(void **state)
{
    (void)state;
    float dem[12];
    for (int i = 0; i < 12; i++)
        dem[i] = 103.5f;
    write_flat(DEM, dem, NULL);
    write_flat(REF, hundred, NULL);
    SdmCompareResult r;
    assert_int_equal(run(NULL, &r, NULL, 0), SDM_OK);
    assert_int_equal(r.cells, 12);
    assert_near(r.coverage, 1.0, 0.0);
    assert_near(r.raw.bias_m, 3.5, 1e-6);
    assert_near(r.raw.mean_m, 3.5, 1e-6);
    assert_near(r.raw.rmse_m, 3.5, 1e-6);
    assert_near(r.raw.nmad_m, 0.0, 1e-6);
    assert_near(r.shift_m[0], 0.0, 1e-6); /* flat ground asks for no horizontal shift */
    assert_near(r.shift_m[1], 0.0, 1e-6);
    assert_near(r.shift_m[2], 3.5, 1e-6);
    assert_near(r.aligned.rmse_m, 0.0, 1e-5);
    assert_int_equal(r.slope[0].aligned.count, 12);
    assert_int_equal(r.slope[1].aligned.count, 0);
    assert_non_null(strstr(r.note, "neither"));
}

/* A plane of 10 m a cell, and noise of a few centimetres on the DEM: a shift along it is a height, across it
 * nothing; neither is made up.  The same with a ridge, which tells one direction. */
static void plane_and_ridge(void **state)
{
    (void)state;
    enum { W = 80, H = 60 };
    float *const ref = malloc(W * H * sizeof *ref), *const dem = malloc(W * H * sizeof *dem);
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
        assert_int_equal(out.undetermined, kind ? 1 : 2);
        assert_near(out.shift_m[1], 0.0, 0.05);
        assert_near(out.shift_m[2], 3.0, 0.02);
        assert_near(out.shift_m[0] / 30.0, kind ? 0.5 : 0.0, 0.02);
        assert_true(out.aligned.nmad_m < 0.1);
        char text[4096];
        sdm_compare_text(&out, text, sizeof text);
        assert_non_null(strstr(text, kind ? "one horizontal direction only" : "shifted in height only"));
    }
    free(ref);
    free(dem);
}

/* Decimetres above 50 m, as scale and offset of the band say. */
static void scale_and_offset(void **state)
{
    (void)state;
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
    assert_near(figures.raw.bias_m, 3.5, 1e-4);
    write_flat(REF, hundred, NULL);
    assert_int_equal(run(NULL, &figures, NULL, 0), SDM_OK);
    assert_near(figures.raw.bias_m, 3.5, 1e-4);
}

static void figures_and_classes_by_hand(void **state)
{
    (void)state;
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
    assert_int_equal(r.raw.count, 5);
    assert_near(r.raw.bias_m, 0.0, 1e-6);
    assert_near(r.raw.mean_m, -7.2, 1e-6);
    assert_near(r.raw.nmad_m, 2.0 * 1.4826, 1e-6);
    assert_near(r.raw.rmse_m, sqrt(1614.0 / 5.0), 1e-6);
    assert_near(r.raw.le90_m, 3.0 + 0.6 * 37.0, 1e-5);
    assert_near(r.raw.p99_m, 3.0 + 0.96 * 37.0, 1e-5);
    assert_near(r.raw.over30, 0.2, 1e-12);
    assert_int_equal(r.water.cells, 2);
    assert_near(r.water.filled, 0.5, 1e-12);
    assert_near(r.water.over10, 1.0, 1e-12);
    assert_near(r.water.over30, 0.0, 1e-12);
    assert_int_equal(r.cloud.cells, 2);
    assert_near(r.cloud.filled, 1.0, 1e-12);
    assert_near(r.cloud.over30, 0.5, 1e-12);
    /* the outlier of -40 m is left out of the shift: mean of -1 0 2 3 */
    assert_near(r.shift_m[2], 1.0, 1e-5);
}

static void within_limits_the_footprint(void **state)
{
    (void)state;
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

static void coverage_counts_the_union(void **state)
{
    (void)state;
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

/* A smooth hill country, metres; x east, y north. */
static double terrain(double x, double y)
{
    return 400.0 + 90.0 * sin(x / 310.0) * cos(y / 270.0) + 60.0 * sin((x + 2.0 * y) / 530.0) + 0.05 * x;
}

/* terrain(x + dx, y + dy) + dz at cell centres, with some holes. */
static void write_terrain(const char *path, double dx, double dy, double dz, bool holes)
{
    enum { COLS = 160, ROWS = 130 };
    float *const v = malloc((size_t)COLS * ROWS * sizeof *v);
    for (int j = 0; j < ROWS; j++)
        for (int i = 0; i < COLS; i++)
            v[j * COLS + i] = holes && (i * 7 + j * 13) % 29 == 0
                                  ? NAN
                                  : (float)(terrain(30.0 * i + dx, -30.0 * j + dy) + dz);
    const Raster r = {.cols = COLS, .rows = ROWS, .epsg = 32631, .x0 = 600000, .y0 = 4900000, .values = v};
    write_raster(path, &r);
    free(v);
}

static void known_shift_is_recovered(void **state)
{
    (void)state;
    write_terrain(DEM, 7.3, -4.1, 2.5, true);
    write_terrain(REF, 0.0, 0.0, 0.0, false);
    SdmCompareResult r, one;
    assert_int_equal(run(NULL, &r, NULL, 0), SDM_OK);
    assert_near(r.shift_m[0], 7.3, 0.05);
    assert_near(r.shift_m[1], -4.1, 0.05);
    assert_near(r.shift_m[2], 2.5, 0.05);
    assert_true(r.aligned.nmad_m < 0.02);
    assert_true(r.raw.nmad_m > 0.5);
    int64_t binned = 0;
    for (int k = 0; k < 6; k++)
        binned += r.slope[k].aligned.count;
    assert_int_equal(binned, r.aligned.count);
    assert_true(r.slope[1].aligned.count > 0);
    SdmOptions options;
    SdmContext *ctx = NULL;
    sdm_options_default(&options);
    options.threads = 1;
    assert_int_equal(sdm_open(&ctx, &options), SDM_OK);
    assert_int_equal(sdm_compare(ctx, DEM, REF, &(SdmCompareOptions){0}, &one), SDM_OK);
    sdm_close(&ctx);
    assert_memory_equal(one.shift_m, r.shift_m, sizeof r.shift_m);
    assert_true(one.aligned.rmse_m == r.aligned.rmse_m && one.aligned.le90_m == r.aligned.le90_m);
}

static void datums_are_reconciled(void **state)
{
    (void)state;
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
    assert_near(r.raw.bias_m, -51.012, 0.01); /* the reference rises by N */
    write_flat(DEM, hundred, "EGM96");
    write_flat(REF, hundred, "WGS 84 ellipsoid");
    assert_int_equal(run(NULL, &r, NULL, 0), SDM_OK);
    assert_near(r.raw.bias_m, 51.012, 0.01);
    write_flat(DEM, hundred, "WGS 84 ellipsoid");
    write_raster(REF, &geoid);
    const SdmCompareOptions same = {.reference_vertical = "ellipsoid"};
    assert_int_equal(run(&same, &r, NULL, 0), SDM_OK);
    assert_near(r.raw.bias_m, 0.0, 1e-6);
    write_flat(DEM, hundred, NULL); /* one side silent: taken as the other, and said */
    assert_int_equal(run(NULL, &r, NULL, 0), SDM_OK);
    assert_near(r.raw.bias_m, 0.0, 1e-6);
    assert_non_null(strstr(r.note, "DEM does not say"));
    geoid.vertical_epsg = 5703; /* NAVD88 */
    write_raster(REF, &geoid);
    write_flat(DEM, hundred, "EGM96");
    assert_int_equal(run(NULL, &r, error, sizeof error), SDM_ERR_UNSUPPORTED);
    assert_non_null(strstr(error, "NAVD88"));
    assert_int_equal(run(&(SdmCompareOptions){.dem_vertical = "msl"}, &r, error, sizeof error),
                     SDM_ERR_USAGE);
    assert_non_null(strstr(error, "--dem-vertical"));
}

/* What compare says of DEM and REF as they are. */
static void refused(const SdmCompareOptions *opt, SdmStatus expected, const char *words)
{
    SdmCompareResult r;
    char error[1024];
    assert_int_equal(run(opt, &r, error, sizeof error), expected);
    if (!strstr(error, words))
        fail_msg("'%s' does not say '%s'", error, words);
    assert_null(strchr(error, '\n'));
}

static void faults_are_named(void **state)
{
    (void)state;
    const float ocean[12] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2};
    float holes[12];
    for (int i = 0; i < 12; i++)
        holes[i] = NAN;
    Raster r = flat_raster;
    r.values = hundred;
    write_raster(REF, &r);
    VSIUnlink(DEM);
    refused(NULL, SDM_ERR_INPUT, "cannot be opened");
    r.epsg = 4326;
    r.x0 = 4.0, r.y0 = 44.0, r.cell = 0.001;
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
    refused(&(SdmCompareOptions){.png = "/no/such/folder/e.png"}, SDM_ERR_IO, "cannot be written");
    VSILFILE *const junk = VSIFOpenL(DEM, "wb");
    VSIFWriteL("not a raster", 1, 12, junk);
    VSIFCloseL(junk);
    refused(NULL, SDM_ERR_INPUT, "cannot be opened");
}

static void picture_is_grey(void **state)
{
    (void)state;
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

static void text_and_json_hold_the_figures(void **state)
{
    (void)state;
    SdmCompareResult r = {
        .cells = 5, .coverage = 0.25, .raw = {.count = 4, .bias_m = 1.25}, .note = "said \"so\""};
    r.water.cells = 3;
    char text[4096], small[20];
    sdm_compare_text(&r, text, sizeof text);
    assert_non_null(strstr(text, "coverage 25.00 %"));
    assert_non_null(strstr(text, "bias 1.250"));
    assert_non_null(strstr(text, "note: said"));
    sdm_compare_text(&r, small, sizeof small);
    assert_true(strlen(small) == sizeof small - 1);
    char *const json = sdm_compare_json(&r);
    assert_non_null(strstr(json, "\"bias\":1.25"));
    assert_non_null(strstr(json, "\"water\""));
    assert_null(strstr(json, "\"cloud\""));
    assert_non_null(strstr(json, "said \\\"so\\\""));
    free(json);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_offset),
        cmocka_unit_test(plane_and_ridge), cmocka_unit_test(scale_and_offset),
        cmocka_unit_test(figures_and_classes_by_hand),
        cmocka_unit_test(within_limits_the_footprint),
        cmocka_unit_test(coverage_counts_the_union),
        cmocka_unit_test(known_shift_is_recovered),
        cmocka_unit_test(datums_are_reconciled),
        cmocka_unit_test(faults_are_named),
        cmocka_unit_test(picture_is_grey),
        cmocka_unit_test(text_and_json_hold_the_figures),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
