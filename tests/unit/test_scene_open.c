/* Reader: the three ASTER deliveries, pairs, masks, stretch.  Windows, also turned ones: chain/test_identity.py. */
// SPDX-License-Identifier: Apache-2.0
#include "rasters.h"

static SdmScene *open_ok(SdmContext *ctx, const char *a, const char *b)
{
    SdmScene *scene = NULL;
    assert_ok(ctx, sdm_scene_open(ctx, sdm_options(ctx), a, b, &scene));
    return scene;
}

static void read_image(SdmContext *ctx, SdmImage *im, int16_t *q, uint8_t *flaws)
{
    const SdmImageWindow all = {.w = im->width, .h = im->height};
    assert_int_equal(sdm_image_read(ctx, im, all, false, q, flaws, NULL), SDM_OK);
}

/* ---- ASTER ---- */

TEST_CTX(deliveries_agree)
{
    NEED(HDF);
    static const char *const input[] = {HDF, FOLDER, ZIP};
    static const char *const kind[] = {"ASTER L1A V004 (HDF)", "ASTER L1A V003 (folder)",
                                       "ASTER L1A V003 (zip)"};
    enum { PX = 1000 * 1080 };
    int16_t *const q[2] = {malloc(PX * 2), malloc(PX * 2)};
    for (int k = 0; k < 3; ++k) {
        SdmScene *scene = open_ok(ctx, input[k], NULL);
        assert_string_equal(scene->kind, kind[k]);
        assert_string_equal(scene->time_utc, "2001-01-01T18:00:05Z");
        assert_string_equal(scene->id, k ? V003 : "AST_L1A_00401012001180005_sim");
        assert_int_equal(scene->sensor, SDM_SENSOR_ASTER);
        assert_int_equal(scene->file_count, k == 1 ? 16 : 1);
        assert_true(scene->files[0].size_bytes > 1000 && scene->files[0].mtime_s > 0);
        assert_int_equal(scene->view[0].image->width, 820);
        assert_int_equal(scene->view[1].image->height, 1080);
        read_image(ctx, scene->view[1].image, q[k > 0], NULL);
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
}

static void run_shell(const char *command)
{
    assert_int_equal(system(command), 0);
}

static void is_the_scene(const char *path, const char *kind)
{
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = default_context();
    SDM_CLOSED_BY(sdm_scene_close) SdmScene *scene = open_ok(ctx, path, NULL);
    assert_string_equal(scene->kind, kind);
    assert_string_equal(scene->time_utc, "2001-01-01T18:00:05Z");
}

/* Resource forks, rests of transfers, names in other letters, and a folder around the HDF file. */
TEST(deliveries_with_more)
{
    NEED(HDF);
    run_shell("cp -r " FOLDER
              " forks; chmod -R u+w forks; cd forks; mkdir __MACOSX; for f in AST*; do echo x >._$f; "
              "echo x >.$f.kG9aX2; echo x >__MACOSX/._$f; cp $f __MACOSX/another$f; done");
    is_the_scene("forks", "ASTER L1A V003 (folder)");
    run_shell("cd forks; mkdir below; mv AST* below");
    is_the_scene("forks", "ASTER L1A V003 (folder)");
    run_shell("cd forks/below; for f in *.tif; do mv $f ${f%.tif}.TIF; done; for f in *.txt; do mv $f "
              "${f%.txt}.Txt; done");
    is_the_scene("forks/below", "ASTER L1A V003 (folder)");
    run_shell("mkdir -p order/one; cp " HDF " order/one; echo x >order/one/._x.hdf");
    is_the_scene("order/one/", "ASTER L1A V004 (HDF)");
    is_the_scene("order", "ASTER L1A V004 (HDF)");
}

/* GDAL takes names that begin with vsi for its own. */
TEST(zip_called_vsi)
{
    NEED(ZIP);
    run_shell("cp " ZIP " vsi.zip; cp " ZIP " vsi_scene");
    is_the_scene("vsi.zip", "ASTER L1A V003 (zip)");
    is_the_scene("vsi_scene", "ASTER L1A V003 (zip)");
}

/* DN' = C1 * DN / C2 + C0, quantised as 16 x DN' - 2048, from the files themselves. */
TEST_CTX(radiometry_by_hand)
{
    NEED(FOLDER);
    SDM_CLOSED_BY(sdm_scene_close) SdmScene *scene = open_ok(ctx, FOLDER, NULL);
    FREED int16_t *const q = malloc(820 * 840 * 2);
    read_image(ctx, scene->view[0].image, q, NULL);
    FILE *const f = fopen(FOLDER "/" V003 ".VNIR_Band3N.RadiometricCorrTable.txt", "r");
    const GDALDatasetH ds = GDALOpen(FOLDER "/" V003 ".VNIR_Band3N.ImageData.tif", GA_ReadOnly);
    for (int x = 0; x < 820; ++x) {
        double c0, c1, c2;
        unsigned char dn[840];
        assert_int_equal(fscanf(f, "%lf %lf %lf", &c0, &c1, &c2), 3);
        assert_int_equal(
            GDALRasterIO(GDALGetRasterBand(ds, 1), GF_Read, x, 0, 1, 840, dn, 1, 840, GDT_Byte, 0, 0), 0);
        for (int y = 0; y < 840; ++y) {
            const double want = 16 * (c1 * dn[y] / c2 + c0) - 2048;
            assert_true(dn[y] ? fabs(q[y * 820 + x] - want) < 0.51 : q[y * 820 + x] == SDM_Q_NODATA);
        }
    }
    fclose(f);
    GDALClose(ds);
}

/* ---- pairs ---- */

TEST_CTX(bytes_and_fill)
{
    write_raster("a.tif", PLAIN);
    poke("a.tif", 5, 3, 0);
    poke("a.tif", 6, 3, 255);
    write_raster("b.tif", PLAIN);
    SDM_CLOSED_BY(sdm_scene_close) SdmScene *scene = open_ok(ctx, "a.tif", "b.tif");
    static int16_t q[W * H];
    static uint8_t sat[W * H];
    assert_int_equal(scene->sensor, SDM_SENSOR_RPC);
    assert_string_equal(scene->id, "a");
    assert_string_equal(scene->time_utc, "");
    assert_int_equal(scene->file_count, 2);
    const SdmRadiometry *const to = &scene->view[0].image->q;
    assert_true(to->scale == 16 && to->offset == -2048);
    read_image(ctx, scene->view[0].image, q, sat);
    assert_int_equal(q[3 * W + 5], SDM_Q_NODATA);
    assert_int_equal(q[3 * W + 6], 16 * 255 - 2048);
    assert_int_equal(sat[3 * W + 6], 1);
    assert_int_equal(sat[3 * W + 7], 0);
    assert_int_equal(q[3 * W + 7], 16 * (int)value(7, 3) - 2048);
}

TEST(nodata_alpha_masks)
{
    Raster r = PLAIN;
    r.type = GDT_Float32, r.nodata = value(9, 9);
    write_raster("nodata.tif", r);
    poke("nodata.tif", 1, 0, NAN);
    poke("nodata.tif", 2, 0, INFINITY);
    r = PLAIN;
    r.bands = 2, r.alpha = true;
    write_raster("alpha.tif", r);
    r = PLAIN;
    write_raster("mask.tif", r);
    poke("mask.tif", 20, 20, 0);
    SdmOptions opt = default_options();
    opt.mask_left = opt.mask_right = "mask.tif";
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = context_of(&opt);
    SDM_CLOSED_BY(sdm_scene_close) SdmScene *scene = open_ok(ctx, "nodata.tif", "alpha.tif");
    static int16_t q[2][W * H];
    for (int k = 0; k < 2; ++k) {
        read_image(ctx, scene->view[k].image, q[k], NULL);
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
}

/* Wider types: stretch spares snow, reaches no clip here; a pile on the highest value is saturation. */
TEST_CTX(wide_stretch)
{
    static const GDALDataType type[] = {GDT_UInt16, GDT_Int16, GDT_Float32};
    write_raster("b.tif", PLAIN);
    for (int t = 0; t < 3; ++t) {
        Raster r = PLAIN;
        r.type = type[t];
        write_raster("wide.tif", r);
        for (int i = 0; i < 40; ++i)
            poke("wide.tif", i, 50, 400); /* snow: 40 of 30,000 */
        SDM_CLOSED_BY(sdm_scene_close) SdmScene *scene = open_ok(ctx, "wide.tif", "b.tif");
        static int16_t q[W * H];
        static uint8_t sat[W * H];
        const SdmRadiometry *const to = &scene->view[0].image->q;
        read_image(ctx, scene->view[0].image, q, sat);
        for (int y = 0; y < H; ++y)
            for (int x = 0; x < W; ++x) {
                const double dn = y == 50 && x < 40 ? 400 : value(x, y);
                assert_true(fabs(q[y * W + x] - (dn * to->scale + to->offset)) < 0.51);
                assert_int_equal(sat[y * W + x], dn == 400);
            }
    }
}

RUN_TESTS(enter_folder, remove_folder)
