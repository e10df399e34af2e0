/* Blocks of a known pattern -> the files of a run, read back with GDAL, OSR and cJSON. */
// SPDX-License-Identifier: Apache-2.0
#include "dem/product.h"

#include <cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <gdal.h>
#include <math.h>
#include <ogr_srs_api.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { COLS = 1300, ROWS = 1100, BLOCK = 417 };

static char folder[64];

/* ---- the pattern ---- */

static bool hole(int64_t c, int64_t r)
{
    return (c > 600 && c < 640 && r > 200) || r < 20;
}

static float height(int64_t c, int64_t r)
{
    return (float)(400.0 + 300.0 * sin((double)c / 90.0) * cos((double)r / 70.0) + 0.1 * (double)((c * 7 + r * 13) % 11));
}

static SdmStatus make_block(SdmContext *ctx, int64_t col0, int64_t row0, int64_t w, int64_t h, float dn, SdmBlock *b)
{
    SdmStatus st = SDM_OK;
    float **const f[] = {&b->height_m, &b->score, &b->gap_m, &b->spread_m, &b->ortho};
    *b = (SdmBlock){.col0 = col0, .row0 = row0, .w = w, .h = h};
    for (int i = 0; i < 5; i++)
        TRY(sdm_alloc(ctx, f[i], (size_t)(w * h), sizeof(float), "test"));
    TRY(sdm_alloc(ctx, &b->count, (size_t)(w * h), sizeof(uint16_t), "test"));
    TRY(sdm_alloc(ctx, &b->mask, (size_t)(w * h), sizeof(uint16_t), "test"));
    for (int64_t i = 0; i < w * h; i++) {
        const int64_t c = col0 + i % w, r = row0 + i / w;
        const bool none = hole(c, r);
        b->height_m[i] = none ? NAN : height(c, r);
        b->score[i] = none ? NAN : (float)(c % 101) * 0.01F;
        b->gap_m[i] = none ? NAN : (float)(r % 50) * 0.5F;
        b->spread_m[i] = none ? NAN : 3.0F;
        b->ortho[i] = r < 20 ? NAN : dn * (float)((c + r) % 200) / 200.0F;
        b->count[i] = none ? 0 : (uint16_t)(4 + c % 3);
        b->mask[i] = (uint16_t)(r < 20 ? SDM_QA_OUTSIDE : none ? SDM_QA_LOW_SCORE : SDM_QA_VALID);
    }
done:
    return st;
}

static void free_block(SdmBlock *b)
{
    float **const f[] = {&b->height_m, &b->score, &b->gap_m, &b->spread_m, &b->ortho};
    for (int i = 0; i < 5; i++)
        sdm_free(f[i]);
    sdm_free(&b->count);
    sdm_free(&b->mask);
}

typedef struct Case {
    const char *name, *t_srs;
    int vertical, threads;
    int64_t cols, rows; /* 0: COLS, ROWS */
    bool backwards, overwrite;
    float dn;
    int64_t block;
} Case;

static SdmReport report_of(void)
{
    SdmReport r = {.centre_lon_deg = -3.0, .centre_lat_deg = 16.8, .base_height = 0.6, .gsd_m = 15.0, .hmin_m = -500.0,
                   .hmax_m = 9000.0, .wall_s = 1.0, .blocks = 12};
    strcpy(r.scene_id, "AST_L1A_<test> & \"more\"");
    strcpy(r.time_utc, "2004-05-06T10:11:12Z");
    strcpy(r.scene_kind, "test");
    return r;
}

static SdmStatus produce(SdmContext *ctx, const Case *k, const SdmReport *report)
{
    SdmStatus st = SDM_OK;
    SdmGrid g;
    SdmProduct *p = NULL;
    SdmBlock b = {0};
    const int64_t cols = k->cols ? k->cols : COLS, rows = k->rows ? k->rows : ROWS, size = k->block ? k->block : BLOCK;
    const int64_t across = (cols + size - 1) / size, n = across * ((rows + size - 1) / size);
    TRY(sdm_grid_choose(ctx, -3.0, 16.8, 15.0, &g));
    const double x0 = g.geographic ? -3.0 : 500000.0, y1 = g.geographic ? 17.0 : 1860000.0;
    const double bounds[4] = {x0, y1 - ((double)rows - 0.5) * g.spacing, x0 + ((double)cols - 0.5) * g.spacing, y1};
    TRY(sdm_grid_cover(ctx, bounds, &g));
    g.cols = cols;
    g.rows = rows;
    TRY(sdm_product_open(ctx, &g, report, &p));
    for (int64_t i = 0; i < n; i++) {
        const int64_t at = k->backwards ? n - 1 - i : i, c = at % across * size, r = at / across * size;
        TRY(make_block(ctx, c, r, c + size < cols ? size : cols - c, r + size < rows ? size : rows - r,
                       k->dn > 0.0F ? k->dn : 250.0F, &b));
        TRY(sdm_product_write(ctx, p, &b));
        free_block(&b);
    }
    TRY(sdm_product_finish(ctx, p, report));
done:
    free_block(&b);
    sdm_product_close(&p);
    return st;
}

static SdmStatus run_with(const Case *k, const SdmReport *report, char *why)
{
    char path[256];
    SdmOptions opt;
    SdmContext *ctx;
    sdm_options_default(&opt);
    snprintf(path, sizeof path, "%s/%s", folder, k->name);
    opt.output = path;
    opt.t_srs = k->t_srs;
    opt.vertical = k->vertical;
    opt.threads = k->threads ? k->threads : 2;
    opt.overwrite = k->overwrite;
    assert_int_equal(sdm_open(&ctx, &opt), SDM_OK);
    const SdmStatus st = produce(ctx, k, report);
    if (why)
        snprintf(why, 1024, "%s", sdm_error(ctx));
    else if (st)
        print_error("%s\n", sdm_error(ctx));
    sdm_close(&ctx);
    return st;
}

static SdmStatus run_case(const Case *k, char *why)
{
    const SdmReport report = report_of();
    return run_with(k, &report, why);
}

static GDALDatasetH reopen(const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    GDALDatasetH ds = GDALOpen(path, GA_ReadOnly);
    assert_non_null(ds);
    return ds;
}

static char *read_all(const char *name, size_t *size)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    char *const data = malloc(*size + 1);
    assert_int_equal(fread(data, 1, *size, f), *size);
    data[*size] = '\0';
    fclose(f);
    return data;
}

/* Files whose name starts with one text and contains another. */
static int count_parts(const char *start, const char *part)
{
    int n = 0;
    DIR *const d = opendir(folder);
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        n += e->d_name[0] != '.' && !strncmp(e->d_name, start, strlen(start)) && strstr(e->d_name, part);
    closedir(d);
    return n;
}

static int count_files(const char *start)
{
    return count_parts(start, "");
}

static void empty_folder(void)
{
    char path[512];
    DIR *const d = opendir(folder);
    for (const struct dirent *e = readdir(d); e; e = readdir(d)) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path);
    }
    closedir(d);
}

/* ---- what a reader finds ---- */

static void check_dem(GDALDatasetH ds, const char *horizontal, const char *vertical, const char *datum)
{
    double geo[6];
    GDALRasterBandH band = GDALGetRasterBand(ds, 1);
    OGRSpatialReferenceH srs = GDALGetSpatialRef(ds);
    assert_int_equal(GDALGetRasterXSize(ds), COLS);
    assert_int_equal(GDALGetRasterDataType(band), GDT_Float32);
    assert_true(GDALGetRasterNoDataValue(band, NULL) == -9999.0);
    assert_int_equal(GDALGetGeoTransform(ds, geo), CE_None);
    assert_true(geo[0] == 499980.0 && geo[3] == 1860000.0 && geo[1] == 30.0 && geo[5] == -30.0);
    assert_non_null(srs);
    OGRSpatialReferenceH flat = OSRClone(srs);
    if (vertical)
        assert_string_equal(OSRGetAuthorityCode(srs, "VERT_CS"), vertical);
    OSRStripVertical(flat);
    assert_string_equal(OSRGetAuthorityCode(flat, NULL), horizontal);
    OSRDestroySpatialReference(flat);
    assert_int_equal(OSRIsCompound(srs), vertical != NULL);
    assert_string_equal(GDALGetMetadataItem(ds, "VERTICAL_DATUM", NULL), datum);
    assert_string_equal(GDALGetMetadataItem(ds, "AREA_OR_POINT", NULL), "Area");
    assert_string_equal(GDALGetMetadataItem(ds, "SCENE_ID", NULL), "AST_L1A_<test> & \"more\"");
    assert_string_equal(GDALGetMetadataItem(ds, "ACQUISITION_TIME_UTC", NULL), "2004-05-06T10:11:12Z");
    assert_string_equal(GDALGetMetadataItem(ds, "LAYOUT", "IMAGE_STRUCTURE"), "COG");
    assert_string_equal(GDALGetRasterUnitType(band), "m");
    assert_int_equal(GDALGetOverviewCount(band), 2);
}

static void check_heights(GDALDatasetH ds, float shift, float tolerance)
{
    static float row[COLS];
    double low = INFINITY, high = -INFINITY, sum = 0.0, n = 0.0;
    GDALRasterBandH band = GDALGetRasterBand(ds, 1);
    for (int r = 0; r < ROWS; r++) {
        assert_int_equal(GDALRasterIO(band, GF_Read, 0, r, COLS, 1, row, COLS, 1, GDT_Float32, 0, 0), CE_None);
        for (int c = 0; c < COLS; c++) {
            if (hole(c, r)) {
                assert_true(row[c] == SDM_NODATA);
                continue;
            }
            assert_true(fabsf(row[c] - (height(c, r) - shift)) <= tolerance);
            low = fmin(low, row[c]);
            high = fmax(high, row[c]);
            sum += row[c];
            n++;
        }
    }
    assert_true(fabs(atof(GDALGetMetadataItem(band, "STATISTICS_MINIMUM", NULL)) - low) < 1e-6);
    assert_true(fabs(atof(GDALGetMetadataItem(band, "STATISTICS_MAXIMUM", NULL)) - high) < 1e-6);
    assert_true(fabs(atof(GDALGetMetadataItem(band, "STATISTICS_MEAN", NULL)) - sum / n) < 1e-6);
    assert_true(fabs(atof(GDALGetMetadataItem(band, "STATISTICS_VALID_PERCENT", NULL)) - 100.0 * n / (COLS * ROWS)) < 0.1);
}

static void dem_on_the_ellipsoid(void **state)
{
    (void)state;
    const Case k = {.name = "a.tif"};
    assert_int_equal(run_case(&k, NULL), SDM_OK);
    assert_int_equal(count_files("a"), 6);
    assert_int_equal(count_parts("", ".part-"), 0);
    assert_int_equal(count_parts("", ".aux.xml"), 0);
    GDALDatasetH ds = reopen("a.tif");
    check_dem(ds, "32630", NULL, "WGS 84 ellipsoid");
    check_heights(ds, 0.0F, 1.0F / 64.0F);
    GDALClose(ds);
}

static void dem_on_the_geoid(void **state)
{
    (void)state;
    const Case k = {.name = "g.tif", .vertical = SDM_EGM96};
    char why[1024];
    const SdmStatus st = run_case(&k, why);
    if (st == SDM_ERR_UNSUPPORTED)
        skip();
    assert_int_equal(st, SDM_OK);
    GDALDatasetH ds = reopen("g.tif");
    check_dem(ds, "32630", "5773", "EGM96");
    assert_string_equal(OSRGetName(GDALGetSpatialRef(ds)), "WGS 84 / UTM zone 30N + EGM96 height");
    check_heights(ds, 28.8F, 0.6F); /* N near 16.8 N 3 W: 28.7 m in the north-west, less than 0.6 m apart here */
    GDALClose(ds);
}

static void qa_values(void **state)
{
    (void)state;
    uint16_t v[5];
    const Case k = {.name = "q.dem"}; /* companions come from the whole name when it does not end in .tif */
    assert_int_equal(run_case(&k, NULL), SDM_OK);
    GDALDatasetH ds = reopen("q.dem_qa.tif");
    assert_int_equal(GDALGetRasterCount(ds), 5);
    const double gap_scale = GDALGetRasterScale(GDALGetRasterBand(ds, 2), NULL);
    assert_true(GDALGetRasterScale(GDALGetRasterBand(ds, 1), NULL) == 0.01 && gap_scale == 0.1);
    assert_string_equal(GDALGetDescription(GDALGetRasterBand(ds, 5)), "mask");
    assert_string_equal(GDALGetMetadataItem(ds, "MASK_BIT_11", NULL), "sparse");
    assert_string_equal(GDALGetMetadataItem(ds, "LAYOUT", "IMAGE_STRUCTURE"), "COG");
    assert_true(GDALGetRasterNoDataValue(GDALGetRasterBand(ds, 2), NULL) == 65535.0);
    assert_int_equal(GDALDatasetRasterIO(ds, GF_Read, 77, 1033, 1, 1, v, 1, 1, GDT_UInt16, 5, NULL, 0, 0, 0), CE_None);
    assert_true(v[0] == 77 && v[1] == 165 && v[2] == 30 && v[3] == 6 && v[4] == SDM_QA_VALID);
    assert_int_equal(GDALDatasetRasterIO(ds, GF_Read, 620, 500, 1, 1, v, 1, 1, GDT_UInt16, 5, NULL, 0, 0, 0), CE_None);
    assert_true(v[0] == 65535 && v[1] == 65535 && v[2] == 65535 && v[3] == 0 && v[4] == SDM_QA_LOW_SCORE);
    GDALClose(ds);
}

static void ortho_types(void **state)
{
    (void)state;
    static const struct { float dn; GDALDataType type; double nodata; } t[] = {
        {250.0F, GDT_Byte, 0.0}, {4000.0F, GDT_UInt16, 0.0}, {1.0F, GDT_Float32, -9999.0}};
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

static void geographic_grid(void **state)
{
    (void)state;
    const Case k = {.name = "ll.tif", .t_srs = "EPSG:4326"};
    double geo[6];
    assert_int_equal(run_case(&k, NULL), SDM_OK);
    GDALDatasetH ds = reopen("ll.tif");
    assert_int_equal(GDALGetGeoTransform(ds, geo), CE_None);
    assert_true(fabs(geo[0] + 3.0) < 1e-9 && fabs(geo[3] - 17.0) < 1e-9 && fabs(geo[1] - 1.0 / 3600.0) < 1e-12);
    GDALClose(ds);
}

/* ---- report and pictures ---- */

static SdmReport full_report(SdmPointing *pointing, SdmPointReport *points)
{
    SdmReport r = report_of();
    assert_int_equal(sdm_alloc(NULL, &pointing->profile_px, 500, sizeof(double), "test"), SDM_OK);
    for (int i = 0; i < 500; i++)
        pointing->profile_px[i] = 0.2 * sin(i / 20.0);
    SdmPointRound *const k = &points->round[0];
    assert_int_equal(sdm_alloc(NULL, &k->samples, 3000, sizeof *k->samples, "test"), SDM_OK);
    for (int i = 0; i < 3000; i++) {
        const float noise = (float)((i * 7919) % 1000) / 5000.0F - 0.1F, row = (float)i * 5000.0F / 3000.0F;
        k->samples[i] = (SdmPointSample){.row = row, .residual_px = 0.8F + 0.2F * sinf(row / 200.0F) + noise,
                                         .corrected_px = noise};
    }
    k->sample_count = 3000;
    k->matches = 3400;
    k->inliers = 3000;
    k->degree = 1;
    k->before_median_px = 0.8;
    k->before_nmad_px = 0.2;
    k->after_nmad_px = 0.06;
    points->rounds = 1;
    r.pointing = pointing;
    r.points = points;
    return r;
}

static void report_is_read_back(void **state)
{
    (void)state;
    SdmPointing pointing = {.dir = {0.1, 0.99498743710662}, .centre = {2000, 2500}, .scale = {2000, 2500}, .degree = 1,
                            .terms = 3, .coef = {0.1 + 0.2, 1.0 / 3.0, -1e-17}, .profile_row0 = 0,
                            .profile_step_px = 10, .profile_count = 500};
    SdmPointReport points = {0};
    const Case k = {.name = "r.tif"};
    size_t size;
    const SdmReport report = full_report(&pointing, &points);
    assert_int_equal(run_with(&k, &report, NULL), SDM_OK);
    char *json = read_all("r.json", &size);
    cJSON *const root = cJSON_Parse(json);
    assert_non_null(root);
    const cJSON *const cells = cJSON_GetObjectItem(root, "cells");
    int64_t holes = 0, outside = 20 * COLS;
    for (int r = 20; r < ROWS; r++)
        for (int c = 0; c < COLS; c++)
            holes += hole(c, r);
    const cJSON *const bits = cJSON_GetObjectItem(cells, "mask_bits");
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(bits, "low_score")) == (double)holes);
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(bits, "outside")) == (double)outside);
    assert_true(cJSON_GetNumberValue(cJSON_GetObjectItem(bits, "valid")) == (double)(COLS * ROWS - holes - outside));
    const cJSON *const coef = cJSON_GetObjectItem(cJSON_GetObjectItem(root, "pointing"), "coefficients_px");
    for (int i = 0; i < 3; i++)
        assert_true(cJSON_GetNumberValue(cJSON_GetArrayItem(coef, i)) == pointing.coef[i]);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(cJSON_GetObjectItem(root, "scene"), "id")),
                        report.scene_id);
    assert_non_null(cJSON_GetObjectItem(cJSON_GetObjectItem(root, "options"), "vertical"));
    cJSON_Delete(root);
    free(json);
    char *html = read_all("r.html", &size);
    assert_null(strstr(html, "<test>"));
    assert_non_null(strstr(html, "AST_L1A_&lt;test&gt; &amp; &quot;more&quot;"));
    assert_null(strstr(html, "http://"));
    assert_null(strstr(html, "https://"));
    assert_non_null(strstr(html, "data:image/png;base64,iVBOR"));
    free(html);
    GDALDatasetH png = reopen("r.png");
    assert_int_equal(GDALGetRasterXSize(png), COLS);
    GDALClose(png);
    sdm_pointing_free(&pointing);
    sdm_point_report_free(&points);
}

/* ---- the same bytes ---- */

static void same_bytes(void **state)
{
    (void)state;
    static const char *const files[] = {".tif", "_qa.tif", "_ortho.tif", ".png"};
    static const Case k[] = {{.name = "s0.tif", .threads = 1}, {.name = "s1.tif", .threads = 4, .backwards = true},
                             {.name = "s2.tif", .threads = 3, .block = 2000}, {.name = "s3.tif", .block = 129}};
    for (int i = 0; i < 4; i++) {
        Case c = k[i];
        c.vertical = SDM_EGM96;
        char why[1024];
        const SdmStatus st = run_case(&c, why);
        if (st == SDM_ERR_UNSUPPORTED)
            skip();
        assert_int_equal(st, SDM_OK);
        for (int f = 0; i && f < 4; f++) {
            char a[32], b[32];
            size_t na, nb;
            snprintf(a, sizeof a, "s0%s", files[f]);
            snprintf(b, sizeof b, "s%d%s", i, files[f]);
            char *const da = read_all(a, &na), *const db = read_all(b, &nb);
            assert_int_equal(na, nb);
            assert_memory_equal(da, db, na);
            free(da);
            free(db);
        }
    }
}

/* ---- refusals and accidents ---- */

static SdmStatus check(const char *output, bool overwrite, const char *co, const char *input, char *why)
{
    SdmOptions opt;
    SdmContext *ctx;
    sdm_options_default(&opt);
    opt.output = output;
    opt.overwrite = overwrite;
    opt.co[0] = co;
    assert_int_equal(sdm_open(&ctx, &opt), SDM_OK);
    const SdmStatus st = sdm_product_check(ctx, &input, input ? 1 : 0);
    snprintf(why, 1024, "%s", sdm_error(ctx));
    sdm_close(&ctx);
    return st;
}

static void refusals(void **state)
{
    (void)state;
    char out[256], in[256], why[1024];
    snprintf(out, sizeof out, "%s/x.tif", folder);
    assert_int_equal(check(out, false, NULL, NULL, why), SDM_OK);
    assert_int_equal(check(NULL, false, NULL, NULL, why), SDM_ERR_USAGE);
    assert_int_equal(check("/no/such/folder/x.tif", false, NULL, NULL, why), SDM_ERR_IO);
    assert_non_null(strstr(why, "/no/such/folder"));
    assert_int_equal(check(folder, false, NULL, NULL, why), SDM_ERR_USAGE);
    assert_non_null(strstr(why, "is a folder"));
    assert_int_equal(check("/dev/null", true, NULL, NULL, why), SDM_ERR_USAGE);
    snprintf(in, sizeof in, "%s/x_qa.tif", folder);
    FILE *const f = fopen(in, "w");
    fclose(f);
    assert_int_equal(check(out, false, NULL, NULL, why), SDM_ERR_USAGE);
    assert_non_null(strstr(why, "--overwrite"));
    assert_int_equal(check(out, true, NULL, NULL, why), SDM_OK);
    assert_int_equal(check(out, true, NULL, in, why), SDM_ERR_USAGE);
    assert_non_null(strstr(why, "overwrite the input"));
    assert_int_equal(check(out, true, "COMPRESS=ZSTD", NULL, why), SDM_OK);
    assert_int_equal(check(out, true, "COMPRESS=JPEG", NULL, why), SDM_ERR_USAGE);
    assert_int_equal(check(out, true, "COMPRES=ZSTD", NULL, why), SDM_ERR_USAGE);
    assert_non_null(strstr(why, "COMPRES"));
    assert_int_equal(check(out, true, "TILING_SCHEME=GoogleMapsCompatible", NULL, why), SDM_ERR_USAGE);
    unlink(in);
}

static void unwritten_cells(void **state)
{
    (void)state;
    SdmOptions opt;
    SdmContext *ctx;
    SdmGrid g;
    SdmProduct *p;
    SdmBlock b = {0};
    char out[256];
    const SdmReport report = report_of();
    const double bounds[4] = {0, 0, 3000, 3000};
    snprintf(out, sizeof out, "%s/u.tif", folder);
    sdm_options_default(&opt);
    opt.output = out;
    assert_int_equal(sdm_open(&ctx, &opt), SDM_OK);
    assert_int_equal(sdm_grid_choose(ctx, 3, 10, 15, &g), SDM_OK);
    assert_int_equal(sdm_grid_cover(ctx, bounds, &g), SDM_OK);
    assert_int_equal(sdm_product_open(ctx, &g, &report, &p), SDM_OK);
    assert_int_equal(make_block(ctx, 0, 0, 100, 50, 250.0F, &b), SDM_OK);
    assert_int_equal(sdm_product_write(ctx, p, &b), SDM_OK);
    assert_int_equal(sdm_product_finish(ctx, p, &report), SDM_ERR_DATA);
    b.row0 = 51;
    assert_int_equal(sdm_product_write(ctx, p, &b), SDM_ERR_DATA);
    assert_true(count_files("u.tif.part-") > 0);
    sdm_product_close(&p);
    assert_int_equal(count_files("u"), 0);
    free_block(&b);
    sdm_close(&ctx);
}

/* Run in a child whose files may not grow beyond limit bytes (0: any); its exit status.  Only children run
 * before these tests end: OpenMP does not survive a fork. */
static int run_in_child(const Case *k, rlim_t limit, SdmStatus want)
{
    int status = 0;
    const pid_t pid = fork();
    if (pid == 0) {
        const struct rlimit r = {limit, limit};
        char why[1024] = "";
        signal(SIGXFSZ, SIG_IGN);
        if (limit)
            setrlimit(RLIMIT_FSIZE, &r);
        const SdmStatus st = run_case(k, why);
        if (st != want || (st && !strstr(why, "cannot be written")))
            fprintf(stderr, "limit %lld: %d %s\n", (long long)limit, (int)st, why);
        _exit(st == want && (!st || strstr(why, "cannot be written")) ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static void full_disk(void **state)
{
    (void)state;
    const Case k = {.name = "f.tif", .cols = 600, .rows = 700};
    assert_int_equal(run_in_child(&k, 0, SDM_OK), 0);
    assert_int_equal(count_files("f"), 6);
    empty_folder();
    /* the largest file aside is the QA's, 10 bytes a cell; every limit below that must be noticed */
    for (rlim_t limit = 2000; limit < (rlim_t)(k.cols * k.rows * 10); limit = limit * 3 / 2) {
        assert_int_equal(run_in_child(&k, limit, SDM_ERR_IO), 0);
        assert_int_equal(count_files("f"), 0);
    }
}

static void killed_then_run_again(void **state)
{
    (void)state;
    const Case k = {.name = "k.tif"};
    for (int ms = 5; ms < 200; ms = ms * 2) {
        const pid_t pid = fork();
        if (pid == 0)
            _exit(run_case(&k, NULL) == SDM_OK ? 0 : 1);
        struct timespec wait = {0, ms * 1000000L};
        nanosleep(&wait, NULL);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        if (count_files("k.tif") > count_files("k.tif.part-"))
            break; /* it was whole already */
        assert_int_equal(count_files("k"), count_files("k.tif.part-"));
    }
    const Case again = {.name = "k.tif", .overwrite = true};
    assert_int_equal(run_case(&again, NULL), SDM_OK);
    assert_int_equal(count_parts("", ".part-"), 0);
}

static void every_allocation_fails_once(void **state)
{
    (void)state;
    const Case k = {.name = "m.tif", .cols = 90, .rows = 70, .vertical = SDM_EGM96};
    char why[1024];
    for (int n = 1;; n++) {
        sdm_alloc_fail_at(n);
        const SdmStatus st = run_case(&k, why);
        sdm_alloc_fail_at(0);
        if (st == SDM_OK || st == SDM_ERR_UNSUPPORTED)
            break;
        assert_int_equal(st, SDM_ERR_MEMORY);
        assert_int_equal(count_files("m"), 0);
        assert_true(n < 400);
    }
}

static int set_up(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/stereodem_product_XXXXXX");
    GDALAllRegister();
    return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    if (getenv("KEEP"))
        return 0;
    empty_folder();
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_disk), /* first: it forks, and a child of one thread has no surprises */
        cmocka_unit_test(killed_then_run_again),
        cmocka_unit_test(dem_on_the_ellipsoid),
        cmocka_unit_test(dem_on_the_geoid),
        cmocka_unit_test(qa_values),
        cmocka_unit_test(ortho_types),
        cmocka_unit_test(geographic_grid),
        cmocka_unit_test(report_is_read_back),
        cmocka_unit_test(same_bytes),
        cmocka_unit_test(refusals),
        cmocka_unit_test(unwritten_cells),
        cmocka_unit_test(every_allocation_fails_once),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
