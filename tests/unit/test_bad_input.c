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

#define FILE_3(name) "scene/" V003 ".VNIR_Band3" name

/* scene: a copy of the V003 folder for damage. */
static void copy_folder(void)
{
    assert_int_equal(system("rm -rf scene; cp -r " FOLDER " scene; chmod -R u+w scene"), 0);
}

TEST(folder_damaged)
{
    NEED(FOLDER);
    copy_folder();
    put_bytes(FILE_3("B.SatellitePosition.txt"), "1 2 3\n4 five 6\n", 15);
    refuse(NULL, "scene", NULL, SDM_ERR_INPUT, "3B.SatellitePosition.txt", "line 2 holds 'five'");
    put_bytes(FILE_3("B.SatellitePosition.txt"), "1 2 nan\n", 8);
    refuse(NULL, "scene", NULL, SDM_ERR_INPUT, "3B.SatellitePosition.txt", "holds 'nan'");
    put_bytes(FILE_3("B.SatellitePosition.txt"), "1 2\n", 4);
    refuse(NULL, "scene", NULL, SDM_ERR_INPUT, "line 1 holds 2 numbers", "expected 3");
    copy_folder();
    copy_file(FOLDER "/" V003 ".VNIR_Band3N.SightVector.txt", FILE_3("N.SightVector.txt"), 28 * 20);
    refuse(NULL, "scene", NULL, SDM_ERR_INPUT, "3N.SightVector.txt", "cut short");
    copy_folder();
    copy_file(FOLDER "/" V003 ".VNIR_Band3B.RadiometricCorrTable.txt", FILE_3("N.RadiometricCorrTable.txt"),
              0);
    refuse(NULL, "scene", NULL, SDM_ERR_INPUT, "3N.RadiometricCorrTable.txt: 1000 lines", "820 columns");
    copy_folder();
    unlink(FILE_3("N.Latitude.txt")); /* velocity is there, so it goes without */
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = default_context();
    SDM_CLOSED_BY(sdm_scene_close) SdmScene *scene = NULL;
    assert_int_equal(sdm_scene_open(ctx, sdm_options(ctx), "scene", NULL, &scene), SDM_OK);
}

TEST(hdf_with_options)
{
    NEED(HDF);
    refuse(NULL, HDF, HDF, SDM_ERR_USAGE, "holds both views", "alone");
    SdmOptions opt = default_options();
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
    size_t size;
    const size_t n = strlen(from);
    FREED char *const bytes = read_path(path, &size);
    for (size_t i = 0; i + n <= size; ++i)
        if (memcmp(bytes + i, from, n) == 0)
            memcpy(bytes + i, to, n);
    put_bytes(out, bytes, size);
}

/* Scenes that were taken without the telescopes that a DEM needs. */
TEST(without_stereo_bands)
{
    NEED(HDF);
    copy_edited(HDF, "one.hdf", "VNIR_Band3B", "VNIR_Band1_");
    refuse(NULL, "one.hdf", NULL, SDM_ERR_INPUT, "one.hdf: holds VNIR_Band3N but no VNIR_Band3B",
           "another scene");
    copy_edited(HDF, "one.hdf", "VNIR_Band3N", "VNIR_Band2_");
    refuse(NULL, "one.hdf", NULL, SDM_ERR_INPUT, "one.hdf: holds VNIR_Band3B but no VNIR_Band3N",
           "another scene");
    copy_edited("one.hdf", "none.hdf", "VNIR_Band3B", "_TIR_Band10");
    copy_edited("none.hdf", "one.hdf", "VNIR_Band2_", "_TIR_Band11");
    refuse(NULL, "one.hdf", NULL, SDM_ERR_INPUT, "one.hdf: an ASTER scene with TIR bands", "taken at night");
    copy_folder();
    put_bytes(FILE_3("N.SightVector.txt"), "0 0 0\n", 6);
    FILE *const f = fopen(FILE_3("N.SightVector.txt"), "a");
    for (int i = 1; i < 11 * 13; ++i)
        fputs("0 0 1\n", f);
    fclose(f);
    refuse(NULL, "scene", NULL, SDM_ERR_INPUT, "1 of its 143 sight vectors are 0", "was not recorded");
    assert_int_equal(system("rm -f scene/*VNIR*"), 0);
    put_bytes("scene/" V003 ".TIR_Band10.ImageData.tif", "x", 1);
    refuse(NULL, "scene", NULL, SDM_ERR_INPUT, "scene: an ASTER scene with TIR bands", "taken at night");
    unlink("scene/" V003 ".TIR_Band10.ImageData.tif");
    copy_file("one.hdf", "scene/AST_L1T_1.hdf", 0);
    refuse(NULL, "scene", NULL, SDM_ERR_UNSUPPORTED, "AST_L1T_1.hdf: is AST_L1T", "AST_L1A V004");
    copy_file("one.hdf", "scene/AST_L1A_1.hdf", 0);
    refuse(NULL, "scene", NULL, SDM_ERR_INPUT, "scene: a folder with 2 HDF files", "give one of them");
}

/* Scenes in another wrapping, and what is none. */
TEST(wrapped)
{
    NEED(ZIP);
    char tar[512] = "scene/";
    static const char page[] = "\xef\xbb\xbf\n<!DOCTYPE html>\n<title>Login</title>";
    static const char answer[] = "{\n\"error\": \"Unauthorized\" }";
    static const char gzip[] = "\x1f\x8b\x08 and more";
    memcpy(tar + 257, "ustar", 5);
    put_bytes("scene.tar", tar, sizeof tar);
    refuse(NULL, "scene.tar", NULL, SDM_ERR_INPUT, "scene.tar: is a tar archive", "unpack it");
    put_bytes("other.hdf", gzip, sizeof gzip);
    refuse(NULL, "other.hdf", NULL, SDM_ERR_INPUT, "other.hdf: is a compressed file", "unpack it");
    put_bytes("other.hdf", answer, sizeof answer - 1);
    refuse(NULL, "other.hdf", NULL, SDM_ERR_INPUT, "other.hdf: neither",
           "begins with '{ \"error\": \"Unauthorized\" }'");
    put_bytes("other.hdf", page, sizeof page);
    refuse(NULL, "other.hdf", NULL, SDM_ERR_INPUT, "other.hdf: is a web page", "log in");
    write_raster("scene.tar", PLAIN);
    refuse(NULL, "scene.tar", "other.hdf", SDM_ERR_INPUT, "other.hdf: is a web page", "log in");
    refuse(NULL, FOLDER "/" V003 ".VNIR_Band3N.ImageData.tif", FOLDER "/" V003 ".VNIR_Band3B.ImageData.tif",
           SDM_ERR_USAGE, "the images of an ASTER scene", "give the folder");
    copy_file(FOLDER "/" V003 ".VNIR_Band3N.ImageData.tif", "out-Band3N.tif", 0);
    copy_file(FOLDER "/" V003 ".VNIR_Band3B.ImageData.tif", "out-Band3B.tif", 0);
    refuse(NULL, "out-Band3N.tif", "out-Band3B.tif", SDM_ERR_USAGE, "the images of an ASTER scene",
           "that they were made from");
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
    for (size_t c = 0; c < sizeof edit / sizeof *edit; ++c) {
        copy_file(ZIP, "odd.zip", 0);
        FILE *const f = fopen("odd.zip", "r+b");
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
        refuse(NULL, "odd.zip", NULL, SDM_ERR_UNSUPPORTED, "odd.zip: ", edit[c].word);
    }
}

TEST(not_a_parallel_pair)
{
    SdmOptions opt = default_options();
    opt.base_height = 0.5;
    Raster r = PLAIN;
    r.rpc = false, r.georef = true;
    write_raster("pa.tif", r);
    write_raster("pb.tif", r);
    refuse(NULL, "pa.tif", "pb.tif", SDM_ERR_INPUT, "pa.tif: no RPC", "--base-height");
    double turned[6] = {500000, 8, 6, 5000000, 6, -8}; /* 10 m, rows towards the north-east */
    GDALDatasetH const ds = GDALOpen("pb.tif", GA_Update);
    assert_non_null(ds);
    assert_int_equal(GDALSetGeoTransform(ds, turned), CE_None);
    GDALClose(ds);
    refuse(&opt, "pa.tif", "pb.tif", SDM_ERR_INPUT, "pb.tif: its rows lie at 36.9 deg", "--base-height");
    write_raster("pb.tif", PLAIN);
    refuse(&opt, "pa.tif", "pb.tif", SDM_ERR_INPUT, "pb.tif: not georeferenced", "--base-height");
}

TEST(bad_inputs)
{
    write_raster("a.tif", PLAIN);
    write_raster("b.tif", PLAIN);
    refuse(NULL, NULL, NULL, SDM_ERR_USAGE, "no input", "give");
    refuse(NULL, "a.tif", "a.tif", SDM_ERR_USAGE, "a.tif", "two different");
    refuse(NULL, "a.tif", ".", SDM_ERR_USAGE, ".", "a folder");
    write_raster("AST_L1T_00307312017190728.tif", PLAIN);
    refuse(NULL, "AST_L1T_00307312017190728.tif", NULL, SDM_ERR_UNSUPPORTED, "AST_L1T", "AST_L1A V004");
    Raster r = PLAIN;
    r.bands = 3;
    write_raster("b.tif", r);
    SdmOptions opt = default_options();
    opt.band = 4;
    refuse(&opt, "b.tif", "a.tif", SDM_ERR_USAGE, "--band 4", "b.tif has 3 bands;");
    write_raster("b.tif", PLAIN);
    refuse(&opt, "b.tif", "a.tif", SDM_ERR_USAGE, "--band 4", "a.tif have 1 band;");
}

TEST(useless_images)
{
    write_raster("a.tif", PLAIN);
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
        write_raster("bad.tif", r);
        refuse(NULL, "a.tif", "bad.tif", i > 0 && i < 5 ? SDM_ERR_DATA : SDM_ERR_INPUT, "bad.tif",
               bad[i].word);
    }
}

/* Whatever allocation fails: a status, a sentence, nothing leaked (the sanitizer's leak check watches). */
TEST(allocation_fails)
{
    write_raster("a.tif", PLAIN);
    write_raster("b.tif", PLAIN);
    const char *const left[2] = {"a.tif", have(FOLDER) ? FOLDER : NULL}, *const right[2] = {"b.tif", NULL};
    for (int k = 0; k < 2 && left[k]; ++k) {
        SDM_CLOSED_BY(sdm_close) SdmContext *ctx = default_context();
        SdmScene *scene = NULL;
        EACH_ALLOCATION_FAILS(
            sdm_scene_open(ctx, sdm_options(ctx), left[k], right[k], &scene),
            assert_true(scene ? made == SDM_OK : strstr(sdm_error(ctx), "out of memory") != NULL), 5, 1);
        sdm_scene_close(&scene);
    }
}

RUN_TESTS(enter_folder, remove_folder)
