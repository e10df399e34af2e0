/* Reader: the three ASTER deliveries, pairs, masks, windows, and every bad input by its sentence. */
// SPDX-License-Identifier: Apache-2.0
#include "reading.h"

#include <cpl_conv.h>
#include <cpl_string.h>

#define HDF DATA "aster_small/AST_L1A_00401012001180005_sim.hdf"
#define V003 "AST_L1A_00301012001180005_sim"
#define FOLDER DATA "aster_small/" V003
#define ZIP FOLDER ".zip"

enum { W = 200, H = 150 };
static char path_a[256], path_b[256]; /* rasters of the running test */

static void names(const char *a, const char *b)
{
    snprintf(path_a, sizeof path_a, "%s/%s", scratch(), a);
    snprintf(path_b, sizeof path_b, "%s/%s", scratch(), b);
}

typedef struct Raster {
    int w, h, bands;
    GDALDataType type;
    bool rpc, georef, alpha;
    double nodata; /* NaN = none */
    double fill;   /* all pixels; NaN = a ramp: value(x, y) */
    char **co;
} Raster;
static const Raster PLAIN = {W, H, 1, GDT_Byte, true, false, false, NAN, NAN, NULL};

static double value(int x, int y)
{
    return 1 + (x * 7 + y * 13) % 250;
}

static void write_raster(const char *path, Raster r)
{
    static const char *const rpc[] = {"LINE_OFF=75", "SAMP_OFF=100", "LAT_OFF=45", "LONG_OFF=10", "HEIGHT_OFF=500",
                                      "LINE_SCALE=75", "SAMP_SCALE=100", "LAT_SCALE=0.01", "LONG_SCALE=0.02",
                                      "HEIGHT_SCALE=500", "LINE_NUM_COEFF=0 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
                                      "LINE_DEN_COEFF=1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
                                      "SAMP_NUM_COEFF=0 1 0 0.1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0",
                                      "SAMP_DEN_COEFF=1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", NULL};
    char **co = CSLDuplicate(r.co);
    if (r.alpha)
        co = CSLSetNameValue(co, "ALPHA", "YES");
    GDALAllRegister();
    const GDALDatasetH ds = GDALCreate(GDALGetDriverByName("GTiff"), path, r.w, r.h, r.bands, r.type, co);
    double *const row = malloc(sizeof *row * (size_t)r.w);
    double corner[6] = {500000, 10, 0, 5000000, 0, -10};
    assert_non_null(ds);
    if (r.rpc)
        GDALSetMetadata(ds, (char **)(uintptr_t)rpc, "RPC");
    if (r.georef) {
        GDALSetGeoTransform(ds, corner);
        GDALSetProjection(ds, "EPSG:32631");
    }
    for (int b = 1; b <= r.bands; ++b) {
        if (!isnan(r.nodata))
            GDALSetRasterNoDataValue(GDALGetRasterBand(ds, b), r.nodata);
        for (int y = 0; y < r.h; ++y) {
            for (int x = 0; x < r.w; ++x)
                row[x] = r.alpha && b == r.bands ? (x < 10 ? 0 : 255) : isnan(r.fill) ? value(x, y) : r.fill;
            assert_int_equal(GDALRasterIO(GDALGetRasterBand(ds, b), GF_Write, 0, y, r.w, 1, row, r.w, 1, GDT_Float64, 0, 0), 0);
        }
    }
    free(row);
    CSLDestroy(co);
    GDALClose(ds);
}

static void poke(const char *path, int x, int y, double v)
{
    const GDALDatasetH ds = GDALOpen(path, GA_Update);
    assert_int_equal(GDALRasterIO(GDALGetRasterBand(ds, 1), GF_Write, x, y, 1, 1, &v, 1, 1, GDT_Float64, 0, 0), 0);
    GDALClose(ds);
}

static SdmScene *open_ok(SdmContext *ctx, const char *a, const char *b)
{
    SdmScene *scene = NULL;
    if (sdm_scene_open(ctx, a, b, &scene) != SDM_OK)
        fail_msg("%s", sdm_error(ctx));
    return scene;
}

/* The call must fail so, with one sentence that holds both words; nothing may be open then. */
static void refuse(SdmOptions *opt, const char *a, const char *b, SdmStatus want, const char *word, const char *other)
{
    SdmContext *ctx = open_context(opt);
    SdmScene *scene = NULL;
    const SdmStatus st = sdm_scene_open(ctx, a, b, &scene);
    assert_null(scene);
    if (st != want || !strstr(sdm_error(ctx), word) || !strstr(sdm_error(ctx), other) || strchr(sdm_error(ctx), '\n'))
        fail_msg("status %d, '%s'; expected %d with '%s' and '%s'", (int)st, sdm_error(ctx), (int)want, word, other);
    sdm_close(&ctx);
}

static void read_all(SdmContext *ctx, SdmImage *im, int16_t *q, uint8_t *saturated)
{
    assert_int_equal(sdm_image_read(ctx, im, 0, 0, sdm_image_width(im), sdm_image_height(im), q, saturated), SDM_OK);
}

/* ---- ASTER ---- */

static void deliveries_agree(void **state)
{
    (void)state;
    NEED(HDF);
    static const char *const input[] = {HDF, FOLDER, ZIP};
    static const char *const kind[] = {"ASTER L1A V004 (HDF)", "ASTER L1A V003 (folder)", "ASTER L1A V003 (zip)"};
    enum { PX = 1000 * 1080 };
    int16_t *const q[2] = {malloc(PX * 2), malloc(PX * 2)};
    SdmContext *ctx = open_context(NULL);
    for (int k = 0; k < 3; ++k) {
        SdmScene *scene = open_ok(ctx, input[k], NULL);
        assert_string_equal(scene->kind, kind[k]);
        assert_string_equal(scene->time_utc, "2001-01-01T18:00:05Z");
        assert_string_equal(scene->id, k ? V003 : "AST_L1A_00401012001180005_sim");
        assert_int_equal(scene->sensor, SDM_SENSOR_ASTER);
        assert_int_equal(scene->file_count, k == 1 ? 16 : 1);
        assert_true(scene->files[0].size_bytes > 1000 && scene->files[0].mtime_s > 0);
        assert_int_equal(sdm_image_width(scene->view[0].image), 820);
        assert_int_equal(sdm_image_height(scene->view[1].image), 1080);
        read_all(ctx, scene->view[1].image, q[k > 0], NULL);
        for (int i = 0; k && i < PX; ++i) /* text tables are rounded to 8 digits: one step at most */
            assert_true(abs(q[1][i] - q[0][i]) <= 1);
        const double image[3] = {410, 420, 500};
        double g[3];
        sdm_camera_locate(scene->view[0].camera, 1, image, g);
        assert_true(fabs(g[0] - 4.727365) < 2e-5 && fabs(g[1] - 44.609575) < 2e-5);
        sdm_scene_close(&scene);
        assert_null(scene);
    }
    free(q[0]);
    free(q[1]);
    sdm_close(&ctx);
}

/* DN' = C1 * DN / C2 + C0, quantised as 16 x DN' - 2048, from the files themselves. */
static void radiometry_by_hand(void **state)
{
    (void)state;
    NEED(FOLDER);
    SdmContext *ctx = open_context(NULL);
    SdmScene *scene = open_ok(ctx, FOLDER, NULL);
    int16_t *const q = malloc(820 * 840 * 2);
    read_all(ctx, scene->view[0].image, q, NULL);
    FILE *const f = fopen(FOLDER "/" V003 ".VNIR_Band3N.RadiometricCorrTable.txt", "r");
    const GDALDatasetH ds = GDALOpen(FOLDER "/" V003 ".VNIR_Band3N.ImageData.tif", GA_ReadOnly);
    for (int x = 0; x < 820; ++x) {
        double c0, c1, c2;
        unsigned char dn[840];
        assert_int_equal(fscanf(f, "%lf %lf %lf", &c0, &c1, &c2), 3);
        assert_int_equal(GDALRasterIO(GDALGetRasterBand(ds, 1), GF_Read, x, 0, 1, 840, dn, 1, 840, GDT_Byte, 0, 0), 0);
        for (int y = 0; y < 840; ++y) {
            const double want = 16 * (c1 * dn[y] / c2 + c0) - 2048;
            assert_true(dn[y] ? fabs(q[y * 820 + x] - want) < 0.51 : q[y * 820 + x] == SDM_Q_NODATA);
        }
    }
    fclose(f);
    GDALClose(ds);
    free(q);
    sdm_scene_close(&scene);
    sdm_close(&ctx);
}

/* A pixel does not depend on the window; outside there is nothing. */
static void windows(SdmContext *ctx, SdmImage *im)
{
    const int64_t w = sdm_image_width(im), h = sdm_image_height(im);
    int16_t *const all = malloc((size_t)(w * h) * 2), part[40 * 30];
    uint8_t *const sat = malloc((size_t)(w * h)), sat_part[40 * 30];
    read_all(ctx, im, all, sat);
    for (int k = 0; k < 60; ++k) {
        const int64_t x0 = k * 61 % (w + 60) - 50, y0 = k * 97 % (h + 50) - 40;
        memset(part, 1, sizeof part);
        memset(sat_part, 9, sizeof sat_part);
        assert_int_equal(sdm_image_read(ctx, im, x0, y0, 40, 30, part, sat_part), SDM_OK);
        for (int64_t y = y0; y < y0 + 30; ++y)
            for (int64_t x = x0; x < x0 + 40; ++x) {
                const bool in = x >= 0 && x < w && y >= 0 && y < h;
                const int64_t at = (y - y0) * 40 + x - x0;
                assert_int_equal(part[at], in ? all[y * w + x] : SDM_Q_NODATA);
                assert_int_equal(sat_part[at], in ? sat[y * w + x] : 0);
            }
    }
    assert_int_equal(sdm_image_read(ctx, im, -1000000, 5, 40, 30, part, NULL), SDM_OK);
    assert_int_equal(part[77], SDM_Q_NODATA);
    free(all);
    free(sat);
}

static void windows_agree(void **state)
{
    (void)state;
    SdmContext *ctx = open_context(NULL);
    if (have(HDF)) {
        SdmScene *aster = open_ok(ctx, HDF, NULL);
        windows(ctx, aster->view[0].image);
        sdm_scene_close(&aster);
    }
    names("win_a.tif", "win_b.tif");
    Raster r = PLAIN;
    r.type = GDT_Float32, r.nodata = 77;
    write_raster(path_a, r);
    write_raster(path_b, PLAIN);
    SdmScene *scene = open_ok(ctx, path_a, path_b);
    windows(ctx, scene->view[0].image);
    windows(ctx, scene->view[1].image);
    sdm_scene_close(&scene);
    sdm_close(&ctx);
}

/* Copy of the V003 folder for damage; returns its path. */
static const char *own_folder(void)
{
    static const char *const suffix[] = {"ImageData.tif", "LatticePoint.txt", "SightVector.txt", "SatellitePosition.txt",
                                         "SatelliteVelocity.txt", "Latitude.txt", "Longitude.txt",
                                         "RadiometricCorrTable.txt"};
    static char folder[128];
    snprintf(folder, sizeof folder, "%s/scene", scratch());
    mkdir(folder, 0755);
    for (int k = 0; k < 16; ++k) {
        char from[512], to[512];
        snprintf(from, sizeof from, "%s/" V003 ".VNIR_Band3%c.%s", FOLDER, k & 1 ? 'B' : 'N', suffix[k / 2]);
        snprintf(to, sizeof to, "%s/" V003 ".VNIR_Band3%c.%s", folder, k & 1 ? 'B' : 'N', suffix[k / 2]);
        copy_file(from, to, 0);
    }
    return folder;
}

static const char *scene_file(const char *suffix)
{
    static char path[2][512];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/scene/" V003 ".VNIR_Band%s", scratch(), suffix);
    return path[turn];
}

static void folder_damaged(void **state)
{
    (void)state;
    NEED(FOLDER);
    static const char *const needed[] = {"3N.ImageData.tif", "3B.ImageData.tif", "3N.LatticePoint.txt", "3B.SightVector.txt",
                                         "3N.SatellitePosition.txt", "3B.RadiometricCorrTable.txt"};
    for (size_t i = 0; i < sizeof needed / sizeof *needed; ++i) {
        const char *const folder = own_folder(), *const file = scene_file(needed[i]);
        unlink(file);
        refuse(NULL, folder, NULL, SDM_ERR_INPUT, needed[i], "no such file");
        put_file(file, "", 0);
        refuse(NULL, folder, NULL, SDM_ERR_INPUT, needed[i], i < 2 ? "not an image" : "empty");
        copy_file(i == 1 ? FOLDER "/" V003 ".VNIR_Band3B.ImageData.tif" : FOLDER "/" V003 ".VNIR_Band3N.ImageData.tif",
                  file, 100000);
        refuse(NULL, folder, NULL, SDM_ERR_INPUT, needed[i], i < 2 ? "cut short" : "number");
    }
    const char *folder = own_folder();
    put_file(scene_file("3B.SatellitePosition.txt"), "1 2 3\n4 five 6\n", 15);
    refuse(NULL, folder, NULL, SDM_ERR_INPUT, "3B.SatellitePosition.txt", "line 2 holds 'five'");
    put_file(scene_file("3B.SatellitePosition.txt"), "1 2 nan\n", 8);
    refuse(NULL, folder, NULL, SDM_ERR_INPUT, "3B.SatellitePosition.txt", "holds 'nan'");
    put_file(scene_file("3B.SatellitePosition.txt"), "1 2\n", 4);
    refuse(NULL, folder, NULL, SDM_ERR_INPUT, "line 1 holds 2 numbers", "expected 3");
    folder = own_folder();
    copy_file(FOLDER "/" V003 ".VNIR_Band3N.SightVector.txt", scene_file("3N.SightVector.txt"), 28 * 20);
    refuse(NULL, folder, NULL, SDM_ERR_INPUT, "3N.SightVector.txt", "cut short");
    folder = own_folder();
    copy_file(FOLDER "/" V003 ".VNIR_Band3B.RadiometricCorrTable.txt", scene_file("3N.RadiometricCorrTable.txt"), 0);
    refuse(NULL, folder, NULL, SDM_ERR_INPUT, "3N.RadiometricCorrTable.txt: 1000 lines", "820 columns");
    folder = own_folder();
    unlink(scene_file("3N.Latitude.txt")); /* velocity is there, so it goes without */
    SdmContext *ctx = open_context(NULL);
    SdmScene *scene = open_ok(ctx, folder, NULL);
    sdm_scene_close(&scene);
    sdm_close(&ctx);
    unlink(scene_file("3N.SatelliteVelocity.txt"));
    refuse(NULL, folder, NULL, SDM_ERR_INPUT, "3N.Latitude.txt", "no SatelliteVelocity.txt");
}

/* 3N and 3B exchanged: images alone, tables alone, everything. */
static void folder_exchanged(void **state)
{
    (void)state;
    NEED(FOLDER);
    static const char *const suffix[] = {"ImageData.tif", "RadiometricCorrTable.txt", "LatticePoint.txt", "SightVector.txt",
                                         "SatellitePosition.txt", "SatelliteVelocity.txt", "Latitude.txt",
                                         "Longitude.txt"};
    static const int upto[] = {1, 2, 8};
    static const char *const word[] = {"exchanged", "exchanged", "degrees back"};
    for (int c = 0; c < 3; ++c) {
        const char *const folder = own_folder();
        for (int i = 0; i < upto[c]; ++i)
            for (int k = 0; k < 2; ++k) {
                char from[512], to[512];
                snprintf(from, sizeof from, "%s/" V003 ".VNIR_Band3%c.%s", FOLDER, k ? 'B' : 'N', suffix[i]);
                snprintf(to, sizeof to, "%s/" V003 ".VNIR_Band3%c.%s", folder, k ? 'N' : 'B', suffix[i]);
                copy_file(from, to, 0);
            }
        refuse(NULL, folder, NULL, SDM_ERR_INPUT, word[c], "3N");
    }
}

static void hdf_damaged(void **state)
{
    (void)state;
    NEED(HDF);
    names("cut.hdf", "cut.zip");
    static const size_t keep[] = {100, 20000, 400000, 1000000, 1438000};
    for (int i = 0; i < 5; ++i) {
        copy_file(HDF, path_a, keep[i]);
        refuse(NULL, path_a, NULL, SDM_ERR_INPUT, "cut.hdf", "cut short");
    }
    copy_file(ZIP, path_b, 900000);
    refuse(NULL, path_b, NULL, SDM_ERR_INPUT, "cut.zip", "cut short");
    refuse(NULL, HDF, HDF, SDM_ERR_USAGE, "holds both views", "alone");
    SdmOptions opt;
    sdm_options_default(&opt);
    opt.base_height = 0.6;
    refuse(&opt, HDF, NULL, SDM_ERR_USAGE, "--base-height", "ASTER");
    sdm_options_default(&opt);
    opt.band = 1;
    refuse(&opt, HDF, NULL, SDM_ERR_USAGE, "--band", "ASTER");
    sdm_options_default(&opt);
    opt.mask_right = FOLDER "/" V003 ".VNIR_Band3N.ImageData.tif";
    refuse(&opt, HDF, NULL, SDM_ERR_INPUT, "--mask-right", "820 x 840");
}

/* ---- pairs ---- */

static void bytes_and_fill(void **state)
{
    (void)state;
    names("a.tif", "b.tif");
    write_raster(path_a, PLAIN);
    poke(path_a, 5, 3, 0);
    poke(path_a, 6, 3, 255);
    write_raster(path_b, PLAIN);
    SdmContext *ctx = open_context(NULL);
    SdmScene *scene = open_ok(ctx, path_a, path_b);
    static int16_t q[W * H];
    static uint8_t sat[W * H];
    double scale, offset;
    assert_int_equal(scene->sensor, SDM_SENSOR_RPC);
    assert_string_equal(scene->id, "a");
    assert_string_equal(scene->time_utc, "");
    assert_int_equal(scene->file_count, 2);
    sdm_image_stretch(scene->view[0].image, &scale, &offset);
    assert_true(scale == 16 && offset == -2048);
    read_all(ctx, scene->view[0].image, q, sat);
    assert_int_equal(q[3 * W + 5], SDM_Q_NODATA);
    assert_int_equal(q[3 * W + 6], 16 * 255 - 2048);
    assert_int_equal(sat[3 * W + 6], 1);
    assert_int_equal(sat[3 * W + 7], 0);
    assert_int_equal(q[3 * W + 7], 16 * (int)value(7, 3) - 2048);
    sdm_scene_close(&scene);
    sdm_close(&ctx);
}

static void nodata_alpha_masks(void **state)
{
    (void)state;
    names("nodata.tif", "alpha.tif");
    char mask[256];
    snprintf(mask, sizeof mask, "%s/mask.tif", scratch());
    Raster r = PLAIN;
    r.type = GDT_Float32, r.nodata = value(9, 9);
    write_raster(path_a, r);
    poke(path_a, 1, 0, NAN);
    poke(path_a, 2, 0, INFINITY);
    r = PLAIN;
    r.bands = 2, r.alpha = true;
    write_raster(path_b, r);
    r = PLAIN;
    write_raster(mask, r);
    poke(mask, 20, 20, 0);
    SdmOptions opt;
    sdm_options_default(&opt);
    opt.mask_left = opt.mask_right = mask;
    SdmContext *ctx = open_context(&opt);
    SdmScene *scene = open_ok(ctx, path_a, path_b);
    static int16_t q[2][W * H];
    for (int k = 0; k < 2; ++k) {
        read_all(ctx, scene->view[k].image, q[k], NULL);
        assert_int_equal(q[k][20 * W + 20], SDM_Q_NODATA);
        assert_true(q[k][20 * W + 21] != SDM_Q_NODATA);
    }
    assert_int_equal(q[0][9 * W + 9], SDM_Q_NODATA);
    assert_int_equal(q[0][1], SDM_Q_NODATA);
    assert_int_equal(q[0][2], SDM_Q_NODATA);
    assert_true(q[0][0] != SDM_Q_NODATA);
    assert_int_equal(q[1][9], SDM_Q_NODATA); /* alpha 0 for the first ten columns */
    assert_true(q[1][10] != SDM_Q_NODATA);
    assert_int_equal(scene->file_count, 3);
    sdm_scene_close(&scene);
    sdm_close(&ctx);
}

/* Wider types: stretch spares snow, reaches no clip here; a pile on the highest value is saturation. */
static void wide_stretch(void **state)
{
    (void)state;
    static const GDALDataType type[] = {GDT_UInt16, GDT_Int16, GDT_Float32};
    names("wide.tif", "b.tif");
    write_raster(path_b, PLAIN);
    SdmContext *ctx = open_context(NULL);
    for (int t = 0; t < 3; ++t) {
        Raster r = PLAIN;
        r.type = type[t];
        write_raster(path_a, r);
        for (int i = 0; i < 40; ++i)
            poke(path_a, i, 50, 400); /* snow: 40 of 30,000 */
        SdmScene *scene = open_ok(ctx, path_a, path_b);
        static int16_t q[W * H];
        static uint8_t sat[W * H];
        double scale, offset;
        sdm_image_stretch(scene->view[0].image, &scale, &offset);
        read_all(ctx, scene->view[0].image, q, sat);
        for (int y = 0; y < H; ++y)
            for (int x = 0; x < W; ++x) {
                const double dn = y == 50 && x < 40 ? 400 : value(x, y);
                assert_true(fabs(q[y * W + x] - (dn * scale + offset)) < 0.51);
                assert_int_equal(sat[y * W + x], dn == 400);
            }
        sdm_scene_close(&scene);
    }
    sdm_close(&ctx);
}

static void parallel_pair(void **state)
{
    (void)state;
    names("pa.tif", "pb.tif");
    Raster r = PLAIN;
    r.rpc = false, r.georef = true;
    write_raster(path_a, r);
    write_raster(path_b, r);
    SdmOptions opt;
    sdm_options_default(&opt);
    opt.base_height = 0.5;
    SdmContext *ctx = open_context(&opt);
    SdmScene *scene = open_ok(ctx, path_a, path_b);
    const double image[3] = {50, 60, 100};
    double g[3], back[2];
    assert_int_equal(scene->sensor, SDM_SENSOR_PARALLEL);
    sdm_camera_locate(scene->view[0].camera, 1, image, g);
    sdm_camera_project(scene->view[1].camera, 1, g, back); /* x' = x - 0.5 * 100 m = 5 px to the left */
    assert_true(fabs(back[0] - 45) < 1e-6 && fabs(back[1] - 60) < 1e-6);
    sdm_scene_close(&scene);
    sdm_close(&ctx);
    refuse(NULL, path_a, path_b, SDM_ERR_INPUT, "pa.tif: no RPC", "--base-height");
    write_raster(path_b, PLAIN);
    refuse(&opt, path_a, path_b, SDM_ERR_INPUT, "pb.tif: not georeferenced", "--base-height");
    opt.base_height = 0;
    refuse(&opt, path_a, path_b, SDM_ERR_USAGE, "--base-height 0", "expected");
}

static void bad_inputs(void **state)
{
    (void)state;
    char text[256];
    names("a.tif", "b.tif");
    snprintf(text, sizeof text, "%s/text.tif", scratch());
    write_raster(path_a, PLAIN);
    write_raster(path_b, PLAIN);
    put_file(text, "hello, this is no image\n", 24);
    refuse(NULL, NULL, NULL, SDM_ERR_USAGE, "no input", "give");
    refuse(NULL, "/nowhere/x.tif", NULL, SDM_ERR_INPUT, "/nowhere/x.tif", "no such file");
    refuse(NULL, path_a, "/nowhere/x.tif", SDM_ERR_INPUT, "/nowhere/x.tif", "no such file");
    refuse(NULL, text, NULL, SDM_ERR_INPUT, "text.tif", "neither");
    refuse(NULL, path_a, text, SDM_ERR_INPUT, "text.tif", "not an image");
    refuse(NULL, path_a, NULL, SDM_ERR_USAGE, "a.tif", "right image");
    refuse(NULL, path_a, path_a, SDM_ERR_USAGE, "a.tif", "two different");
    refuse(NULL, path_a, scratch(), SDM_ERR_USAGE, scratch(), "a folder");
    refuse(NULL, scratch(), NULL, SDM_ERR_INPUT, scratch(), "VNIR_Band3N");
    put_file(text, "", 0);
    refuse(NULL, text, path_b, SDM_ERR_INPUT, "text.tif", "empty");
    char product[256];
    snprintf(product, sizeof product, "%s/AST_L1T_00307312017190728.tif", scratch());
    write_raster(product, PLAIN);
    refuse(NULL, product, NULL, SDM_ERR_UNSUPPORTED, "AST_L1T", "AST_L1A V004");
    Raster r = PLAIN;
    r.bands = 3;
    write_raster(path_b, r);
    refuse(NULL, path_a, path_b, SDM_ERR_USAGE, "b.tif: has 3 bands", "--band");
    SdmOptions opt;
    sdm_options_default(&opt);
    opt.band = 2;
    refuse(&opt, path_b, path_a, SDM_ERR_USAGE, "--band 2", "a.tif has 1 band;");
    sdm_options_default(&opt);
    opt.config[0] = "NOVALUE";
    refuse(&opt, path_a, path_b, SDM_ERR_USAGE, "--config NOVALUE", "NAME=VALUE");
}

static void useless_images(void **state)
{
    (void)state;
    names("a.tif", "bad.tif");
    write_raster(path_a, PLAIN);
    const struct {
        int w;
        GDALDataType type;
        double fill;
        const char *word;
    } bad[] = {{1, GDT_Byte, 9, "expected at least 64 x 64"}, {W, GDT_Float32, NAN, "no usable pixel"},
               {W, GDT_Byte, 0, "no usable pixel"}, {W, GDT_UInt16, 0, "no usable pixel"},
               {W, GDT_UInt16, 500, "the value 500"}, {W, GDT_CFloat32, 3, "samples are CFloat32"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        Raster r = PLAIN;
        r.w = bad[i].w, r.type = bad[i].type, r.fill = isnan(bad[i].fill) ? 1 : bad[i].fill;
        if (isnan(bad[i].fill))
            r.nodata = 1;
        write_raster(path_b, r);
        refuse(NULL, path_a, path_b, SDM_ERR_INPUT, "bad.tif", bad[i].word);
    }
}

/* Cut anywhere: at the end (no directory), or with the directory in front (blocks missing). */
static void cut_images(void **state)
{
    (void)state;
    char whole[256];
    names("a.tif", "cut.tif");
    snprintf(whole, sizeof whole, "%s/whole.tif", scratch());
    write_raster(path_a, PLAIN);
    Raster r = PLAIN;
    r.w = r.h = 1000;
    for (int c = 0; c < 2; ++c) {
        char **co = CSLSetNameValue(NULL, "COMPRESS", c ? "DEFLATE" : "NONE");
        co = CSLSetNameValue(co, "TILED", "YES");
        r.co = co;
        write_raster(whole, r);
        struct stat at;
        stat(whole, &at);
        for (int percent = 10; percent < 100; percent += 29) {
            copy_file(whole, path_b, (size_t)at.st_size * (size_t)percent / 100);
            refuse(NULL, path_a, path_b, SDM_ERR_INPUT, "cut.tif", "cut short");
        }
        copy_file(whole, path_b, (size_t)at.st_size - 20);
        refuse(NULL, path_a, path_b, SDM_ERR_INPUT, "cut.tif", "cut short");
        CSLDestroy(co);
    }
}

/* Whatever allocation fails: a status, a sentence, nothing leaked (the sanitizer's leak check watches). */
static void allocation_fails(void **state)
{
    (void)state;
    names("a.tif", "b.tif");
    write_raster(path_a, PLAIN);
    write_raster(path_b, PLAIN);
    const char *const left[2] = {path_a, have(FOLDER) ? FOLDER : NULL}, *const right[2] = {path_b, NULL};
    for (int k = 0; k < 2 && left[k]; ++k)
        for (int64_t n = 1;; ++n) {
            SdmContext *ctx = open_context(NULL);
            SdmScene *scene = NULL;
            sdm_alloc_fail_at(n);
            const SdmStatus st = sdm_scene_open(ctx, left[k], right[k], &scene);
            sdm_alloc_fail_at(0);
            if (st != SDM_OK) {
                assert_int_equal(st, SDM_ERR_MEMORY);
                assert_null(scene);
                assert_non_null(strstr(sdm_error(ctx), "out of memory"));
            }
            sdm_scene_close(&scene);
            sdm_close(&ctx);
            if (st == SDM_OK) {
                assert_true(n > 5);
                break;
            }
        }
}

static int clean_up(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", scratch());
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(deliveries_agree),   cmocka_unit_test(radiometry_by_hand), cmocka_unit_test(windows_agree),
        cmocka_unit_test(folder_damaged),     cmocka_unit_test(folder_exchanged),   cmocka_unit_test(hdf_damaged),
        cmocka_unit_test(bytes_and_fill),     cmocka_unit_test(nodata_alpha_masks), cmocka_unit_test(wide_stretch),
        cmocka_unit_test(parallel_pair),      cmocka_unit_test(bad_inputs),         cmocka_unit_test(useless_images),
        cmocka_unit_test(cut_images),         cmocka_unit_test(allocation_fails)};
    return cmocka_run_group_tests(tests, NULL, clean_up);
}
