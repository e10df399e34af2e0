/* Reader: every bad input by its status and sentence. */
// SPDX-License-Identifier: Apache-2.0
#include "rasters.h"

/* The call must fail so, with one sentence that holds both words; nothing may be open then. */
static void refuse(SdmOptions *opt, const char *a, const char *b, SdmStatus want, const char *word,
                   const char *other)
{
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = context_of(opt);
    SdmScene *scene = NULL;
    const SdmStatus st = sdm_scene_open(ctx, sdm_options(ctx), a, b, &scene);
    assert_null(scene);
    if (st != want || !strstr(sdm_error(ctx), word) || !strstr(sdm_error(ctx), other) ||
        strchr(sdm_error(ctx), '\n'))
        fail_msg("status %d, '%s'; expected %d with '%s' and '%s'", (int)st, sdm_error(ctx), (int)want, word,
                 other);
}

/* Copy of the V003 folder for damage; returns its path. */
static const char *own_folder(void)
{
    static const char *const suffix[] = {
        "ImageData.tif",         "LatticePoint.txt", "SightVector.txt", "SatellitePosition.txt",
        "SatelliteVelocity.txt", "Latitude.txt",     "Longitude.txt",   "RadiometricCorrTable.txt"};
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

TEST(folder_damaged)
{
    NEED(FOLDER);
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
    copy_file(FOLDER "/" V003 ".VNIR_Band3B.RadiometricCorrTable.txt",
              scene_file("3N.RadiometricCorrTable.txt"), 0);
    refuse(NULL, folder, NULL, SDM_ERR_INPUT, "3N.RadiometricCorrTable.txt: 1000 lines", "820 columns");
    folder = own_folder();
    unlink(scene_file("3N.Latitude.txt")); /* velocity is there, so it goes without */
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = default_context();
    SDM_CLOSED_BY(sdm_scene_close) SdmScene *scene = NULL;
    assert_int_equal(sdm_scene_open(ctx, sdm_options(ctx), folder, NULL, &scene), SDM_OK);
}

TEST(hdf_with_options)
{
    NEED(HDF);
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

/* A copy of a file with each `from` replaced by `to` of the same length. */
static void copy_edited(const char *path, const char *out, const char *from, const char *to)
{
    struct stat at;
    const size_t n = strlen(from);
    assert_int_equal(stat(path, &at), 0);
    const size_t size = (size_t)at.st_size;
    FREED char *const bytes = malloc(size);
    FILE *const f = fopen(path, "rb");
    assert_non_null(f);
    assert_int_equal(fread(bytes, 1, size, f), size);
    fclose(f);
    for (size_t i = 0; i + n <= size; ++i)
        if (memcmp(bytes + i, from, n) == 0)
            memcpy(bytes + i, to, n);
    put_file(out, bytes, size);
}

/* Scenes that were taken without the telescopes that a DEM needs. */
TEST(without_stereo_bands)
{
    NEED(HDF);
    names("one.hdf", "none.hdf");
    copy_edited(HDF, path_a, "VNIR_Band3B", "VNIR_Band1_");
    refuse(NULL, path_a, NULL, SDM_ERR_INPUT, "one.hdf: holds VNIR_Band3N but no VNIR_Band3B",
           "another scene");
    copy_edited(HDF, path_a, "VNIR_Band3N", "VNIR_Band2_");
    refuse(NULL, path_a, NULL, SDM_ERR_INPUT, "one.hdf: holds VNIR_Band3B but no VNIR_Band3N",
           "another scene");
    copy_edited(path_a, path_b, "VNIR_Band3B", "_TIR_Band10");
    copy_edited(path_b, path_a, "VNIR_Band2_", "_TIR_Band11");
    refuse(NULL, path_a, NULL, SDM_ERR_INPUT, "one.hdf: an ASTER scene with TIR bands", "taken at night");
    const char *folder = own_folder();
    put_file(scene_file("3N.SightVector.txt"), "0 0 0\n", 6);
    FILE *const f = fopen(scene_file("3N.SightVector.txt"), "a");
    for (int i = 1; i < 11 * 13; ++i)
        fputs("0 0 1\n", f);
    fclose(f);
    refuse(NULL, folder, NULL, SDM_ERR_INPUT, "1 of its 143 sight vectors are 0", "was not recorded");
    char command[256], tir[256];
    snprintf(command, sizeof command, "rm -f %s/*VNIR*", folder);
    assert_int_equal(system(command), 0);
    snprintf(tir, sizeof tir, "%s/" V003 ".TIR_Band10.ImageData.tif", folder);
    put_file(tir, "x", 1);
    refuse(NULL, folder, NULL, SDM_ERR_INPUT, "scene: an ASTER scene with TIR bands", "taken at night");
    unlink(tir);
    snprintf(tir, sizeof tir, "%s/AST_L1T_1.hdf", folder);
    copy_file(path_a, tir, 0);
    refuse(NULL, folder, NULL, SDM_ERR_UNSUPPORTED, "AST_L1T_1.hdf: is AST_L1T", "AST_L1A V004");
    snprintf(tir, sizeof tir, "%s/AST_L1A_1.hdf", folder);
    copy_file(path_a, tir, 0);
    refuse(NULL, folder, NULL, SDM_ERR_INPUT, "scene: a folder with 2 HDF files", "give one of them");
    snprintf(command, sizeof command, "rm %s/*.hdf", folder);
    assert_int_equal(system(command), 0);
}

/* Scenes in another wrapping, and what is none. */
TEST(wrapped)
{
    NEED(ZIP);
    char tar[512] = "scene/";
    static const char page[] = "\xef\xbb\xbf\n<!DOCTYPE html>\n<title>Login</title>";
    static const char answer[] = "{\n\"error\": \"Unauthorized\" }";
    static const char gzip[] = "\x1f\x8b\x08 and more";
    names("scene.tar", "other.hdf");
    memcpy(tar + 257, "ustar", 5);
    put_file(path_a, tar, sizeof tar);
    refuse(NULL, path_a, NULL, SDM_ERR_INPUT, "scene.tar: is a tar archive", "unpack it");
    put_file(path_b, gzip, sizeof gzip);
    refuse(NULL, path_b, NULL, SDM_ERR_INPUT, "other.hdf: is a compressed file", "unpack it");
    put_file(path_b, answer, sizeof answer - 1);
    refuse(NULL, path_b, NULL, SDM_ERR_INPUT, "other.hdf: neither",
           "begins with '{ \"error\": \"Unauthorized\" }'");
    put_file(path_b, page, sizeof page);
    refuse(NULL, path_b, NULL, SDM_ERR_INPUT, "other.hdf: is a web page", "log in");
    write_raster(path_a, PLAIN);
    refuse(NULL, path_a, path_b, SDM_ERR_INPUT, "other.hdf: is a web page", "log in");
    refuse(NULL, FOLDER "/" V003 ".VNIR_Band3N.ImageData.tif", FOLDER "/" V003 ".VNIR_Band3B.ImageData.tif",
           SDM_ERR_USAGE, "the images of an ASTER scene", "give the folder");
    names("out-Band3N.tif", "out-Band3B.tif");
    copy_file(FOLDER "/" V003 ".VNIR_Band3N.ImageData.tif", path_a, 0);
    copy_file(FOLDER "/" V003 ".VNIR_Band3B.ImageData.tif", path_b, 0);
    refuse(NULL, path_a, path_b, SDM_ERR_USAGE, "the images of an ASTER scene", "that they were made from");
}

/* Archives whose members GDAL cannot unpack, by the list at their end. */
TEST(strange_zips)
{
    NEED(ZIP);
    static const struct {
        int at, value;
        const char *word;
    } edit[] = {{10, 12, "compressed by bzip2"},
                {10, 14, "compressed by LZMA"},
                {8, 1, "is encrypted"},
                {46, '/', "has an absolute name"}};
    names("odd.zip", "unused");
    for (size_t c = 0; c < sizeof edit / sizeof *edit; ++c) {
        copy_file(ZIP, path_a, 0);
        FILE *const f = fopen(path_a, "r+b");
        assert_non_null(f);
        char tail[8192];
        assert_int_equal(fseek(f, -(long)sizeof tail, SEEK_END), 0);
        const long from = ftell(f);
        assert_int_equal(fread(tail, 1, sizeof tail, f), sizeof tail);
        for (long i = 0; i + 46 < (long)sizeof tail; ++i)
            if (memcmp(tail + i, "PK\1\2", 4) == 0) {
                assert_int_equal(fseek(f, from + i + edit[c].at, SEEK_SET), 0);
                fputc(edit[c].value, f);
            }
        fclose(f);
        refuse(NULL, path_a, NULL, SDM_ERR_UNSUPPORTED, "odd.zip: ", edit[c].word);
    }
}

TEST(not_a_parallel_pair)
{
    names("pa.tif", "pb.tif");
    SdmOptions opt;
    sdm_options_default(&opt);
    opt.base_height = 0.5;
    Raster r = PLAIN;
    r.rpc = false, r.georef = true;
    write_raster(path_a, r);
    write_raster(path_b, r);
    refuse(NULL, path_a, path_b, SDM_ERR_INPUT, "pa.tif: no RPC", "--base-height");
    double turned[6] = {500000, 8, 6, 5000000, 6, -8}; /* 10 m, rows towards the north-east */
    GDALDatasetH const ds = GDALOpen(path_b, GA_Update);
    assert_non_null(ds);
    assert_int_equal(GDALSetGeoTransform(ds, turned), CE_None);
    GDALClose(ds);
    refuse(&opt, path_a, path_b, SDM_ERR_INPUT, "pb.tif: its rows lie at 36.9 deg", "--base-height");
    write_raster(path_b, PLAIN);
    refuse(&opt, path_a, path_b, SDM_ERR_INPUT, "pb.tif: not georeferenced", "--base-height");
}

TEST(bad_inputs)
{
    names("a.tif", "b.tif");
    write_raster(path_a, PLAIN);
    write_raster(path_b, PLAIN);
    refuse(NULL, NULL, NULL, SDM_ERR_USAGE, "no input", "give");
    refuse(NULL, path_a, path_a, SDM_ERR_USAGE, "a.tif", "two different");
    refuse(NULL, path_a, scratch(), SDM_ERR_USAGE, scratch(), "a folder");
    char product[256];
    snprintf(product, sizeof product, "%s/AST_L1T_00307312017190728.tif", scratch());
    write_raster(product, PLAIN);
    refuse(NULL, product, NULL, SDM_ERR_UNSUPPORTED, "AST_L1T", "AST_L1A V004");
    Raster r = PLAIN;
    r.bands = 3;
    write_raster(path_b, r);
    SdmOptions opt;
    sdm_options_default(&opt);
    opt.band = 4;
    refuse(&opt, path_b, path_a, SDM_ERR_USAGE, "--band 4", "b.tif has 3 bands;");
    write_raster(path_b, PLAIN);
    refuse(&opt, path_b, path_a, SDM_ERR_USAGE, "--band 4", "a.tif have 1 band;");
}

TEST(useless_images)
{
    names("a.tif", "bad.tif");
    write_raster(path_a, PLAIN);
    const struct {
        int w;
        GDALDataType type;
        double fill;
        const char *word;
    } bad[] = {{1, GDT_Byte, 9, "expected at least 64 x 64"}, {W, GDT_Float32, NAN, "no usable pixel"},
               {W, GDT_Byte, 0, "no usable pixel"},           {W, GDT_UInt16, 0, "no usable pixel"},
               {W, GDT_UInt16, 500, "the value 500"},         {W, GDT_CFloat32, 3, "samples are CFloat32"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        Raster r = PLAIN;
        r.w = bad[i].w, r.type = bad[i].type, r.fill = isnan(bad[i].fill) ? 1 : bad[i].fill;
        if (isnan(bad[i].fill))
            r.nodata = 1;
        write_raster(path_b, r);
        refuse(NULL, path_a, path_b, i > 0 && i < 5 ? SDM_ERR_DATA : SDM_ERR_INPUT, "bad.tif", bad[i].word);
    }
}

/* Whatever allocation fails: a status, a sentence, nothing leaked (the sanitizer's leak check watches). */
TEST(allocation_fails)
{
    names("a.tif", "b.tif");
    write_raster(path_a, PLAIN);
    write_raster(path_b, PLAIN);
    const char *const left[2] = {path_a, have(FOLDER) ? FOLDER : NULL}, *const right[2] = {path_b, NULL};
    for (int k = 0; k < 2 && left[k]; ++k) {
        SDM_CLOSED_BY(sdm_close) SdmContext *ctx = default_context();
        SdmScene *scene = NULL;
        EACH_ALLOCATION_FAILS(
            sdm_scene_open(ctx, sdm_options(ctx), left[k], right[k], &scene),
            assert_true(scene ? made == SDM_OK : strstr(sdm_error(ctx), "out of memory") != NULL), 5, 1);
        sdm_scene_close(&scene);
    }
}

RUN_TESTS(NULL, clean_up)
