/* RPC camera: a hand-made model, the antimeridian, GDAL's own transformer, bad coefficients. */
// SPDX-License-Identifier: Apache-2.0
#include "reading.h"

#include <cpl_string.h>
#include <gdal_alg.h>

/* samp = l + 0.1 h, line = -p: by hand, 1 + 0.5 l + ... below where a test needs curvature. */
static SdmRpc simple(void)
{
    SdmRpc c = {.line_off = 1000,
                .samp_off = 2000,
                .lat_off = 45,
                .long_off = 10,
                .height_off = 500,
                .line_scale = 1000,
                .samp_scale = 2000,
                .lat_scale = 0.1,
                .long_scale = 0.2,
                .height_scale = 500};
    c.samp_num[1] = 1, c.samp_num[3] = 0.1, c.line_num[2] = -1;
    c.line_den[0] = c.samp_den[0] = 1;
    return c;
}

static SdmCamera *open_rpc(const SdmRpc *c)
{
    SdmCamera *cam = NULL;
    assert_int_equal(sdm_camera_open_rpc(NULL, "made", c, &cam), SDM_OK);
    return cam;
}

TEST(by_hand)
{
    const SdmRpc c = simple();
    SDM_CLOSED_BY(sdm_camera_close) SdmCamera *cam = open_rpc(&c);
    const double ground[6] = {10, 45, 500, 10.1, 44.95, 1000}; /* l = 0.5, p = -0.5, h = 1 */
    double image[4], hmin, hmax;
    sdm_camera_project(cam, 2, ground, image);
    assert_true(fabs(image[0] - 2000) < 1e-9 && fabs(image[1] - 1000) < 1e-9);
    assert_true(fabs(image[2] - (2000 + 2000 * 0.6)) < 1e-9 && fabs(image[3] - 1500) < 1e-9);
    sdm_camera_height_range(cam, &hmin, &hmax);
    assert_true(hmin == 0 && hmax == 1000);
    assert_string_equal(sdm_camera_kind(cam), "rpc");
}

/* Every term by itself: coefficient i alone in the numerator gives the i-th monomial. */
TEST(term_order)
{
    const double l = 0.5, p = -0.25, h = 0.75;
    const double want[20] = {1,         l,         p,         h,         l * p,     l * h,     p * h,
                             l * l,     p * p,     h * h,     p * l * h, l * l * l, l * p * p, l * h * h,
                             l * l * p, p * p * p, p * h * h, l * l * h, p * p * h, h * h * h};
    for (int i = 0; i < 20; ++i) {
        SdmRpc c = simple();
        c.samp_num[i] += 0.01;
        SDM_CLOSED_BY(sdm_camera_close) SdmCamera *cam = open_rpc(&c);
        const double ground[3] = {10 + 0.2 * l, 45 + 0.1 * p, 500 + 500 * h};
        double image[2], back[3];
        sdm_camera_project(cam, 1, ground, image);
        assert_true(fabs(image[0] - (2000 + 2000 * (l + 0.1 * h + 0.01 * want[i]))) < 1e-8);
        const double at[3] = {image[0], image[1], ground[2]};
        sdm_camera_locate(cam, 1, at, back);
        assert_true(fabs(back[0] - ground[0]) < 1e-11 && fabs(back[1] - ground[1]) < 1e-11);
    }
}

TEST(antimeridian)
{
    SdmRpc c = simple();
    static const double off[] = {179.95, -179.95, 180, 190, -185};
    for (int i = 0; i < 5; ++i) {
        c.long_off = off[i];
        SDM_CLOSED_BY(sdm_camera_close) SdmCamera *cam = open_rpc(&c);
        for (double col = 0; col <= 4000; col += 500) {
            const double image[3] = {col, 700, 800};
            double g[3], back[2];
            sdm_camera_locate(cam, 1, image, g);
            assert_true(g[0] >= -180 && g[0] <= 180);
            for (int turn = -1; turn <= 1; ++turn) {
                const double turned[3] = {g[0] + 360 * turn, g[1], g[2]};
                sdm_camera_project(cam, 1, turned, back);
                assert_true(hypot(back[0] - col, back[1] - 700) < 1e-6);
            }
        }
    }
}

TEST(nowhere)
{
    SdmRpc c = simple();
    c.samp_den[1] = 0.5; /* zero at l = -2, that is 9.6 deg E */
    SDM_CLOSED_BY(sdm_camera_close) SdmCamera *cam = open_rpc(&c);
    const double ground[][3] = {{9.59, 45, 0}, {-170, 45, 0}, {10, -45, 0},     {NAN, 45, 0},
                                {10, NAN, 0},  {10, 45, NAN}, {INFINITY, 45, 0}};
    for (size_t i = 0; i < sizeof ground / sizeof *ground; ++i) {
        double image[2];
        sdm_camera_project(cam, 1, ground[i], image);
        assert_true(isnan(image[0]) && isnan(image[1]));
    }
    const double image[][3] = {{NAN, 0, 0}, {0, INFINITY, 0}, {0, 0, NAN}, {1e9, 0, 0}};
    for (size_t i = 0; i < sizeof image / sizeof *image; ++i) {
        double g[3];
        sdm_camera_locate(cam, 1, image[i], g);
        assert_true(isnan(g[0]) && isnan(g[1]) && isnan(g[2]));
    }
}

/* Scales below 0 (PlanetScope's LAT_SCALE): with the sign of what has an odd
 * power of that coordinate turned, or of the numerator, the camera is the same.
 */
TEST(negative_scales)
{
    static const char *const term[20] = {"",    "l",   "p",   "h",   "lp",  "lh",  "ph",
                                         "ll",  "pp",  "hh",  "plh", "lll", "lpp", "lhh",
                                         "llp", "ppp", "phh", "llh", "pph", "hhh"};
    SdmRpc c = simple();
    for (int i = 0; i < 20; i++) {
        c.samp_num[i] += 0.01 * i;
        c.line_num[i] -= 0.02 * i;
        c.samp_den[i] += 0.001 * i;
        c.line_den[i] += 0.002 * i;
    }
    SdmCamera *const cam = open_rpc(&c);
    const double ground[3] = {10.07, 44.96, 800};
    double want[2], got[2];
    sdm_camera_project(cam, 1, ground, want);
    for (int k = 0; k < 5; k++) {
        SdmRpc d = c;
        double *const scale[5] = {&d.long_scale, &d.lat_scale, &d.height_scale, &d.samp_scale, &d.line_scale},
                      *const coef[4] = {d.samp_num, d.line_num, d.samp_den, d.line_den};
        *scale[k] = -*scale[k];
        for (int i = 0; i < 4 * 20; i++) {
            bool odd = k >= 3 && i / 20 == k - 3;
            for (const char *t = term[i % 20]; *t && k < 3; t++)
                odd ^= *t == "lph"[k];
            if (odd)
                coef[i / 20][i % 20] *= -1.0;
        }
        SDM_CLOSED_BY(sdm_camera_close) SdmCamera *turned = open_rpc(&d);
        sdm_camera_project(turned, 1, ground, got);
        assert_true(isfinite(got[0]) && hypot(got[0] - want[0], got[1] - want[1]) < 1e-9);
    }
    SdmCamera *close = cam;
    sdm_camera_close(&close);
}

TEST_CTX(bad_coefficients)
{
    for (int i = 0; i < 8; ++i) {
        SdmRpc c = simple();
        SdmCamera *cam = NULL;
        double *const field[8] = {&c.line_scale, &c.lat_scale,   &c.height_scale, &c.lat_off,
                                  &c.long_off,   &c.samp_num[7], &c.line_den[0],  &c.samp_num[1]};
        *field[i] = i == 1 ? -91 : i == 3 ? 95 : i == 4 || i == 5 ? NAN : 0;
        assert_int_equal(sdm_camera_open_rpc(ctx, "bad.tif", &c, &cam), SDM_ERR_INPUT);
        assert_null(cam);
        assert_non_null(strstr(sdm_error(ctx), "bad.tif: "));
        assert_non_null(strstr(sdm_error(ctx), "RPC"));
    }
}

/* GDAL's transformer counts from pixel corners (ours plus 0.5) and stops at 0.1 px unless told otherwise. */
TEST_CTX(against_gdal)
{
    static const char *const file[] = {DATA "giza/gizeh_1.tif", DATA "pleiades_reunion/img_02.tif",
                                       DATA "turkey_pre/raw_1.tif"};
    for (int k = 0; k < 3; ++k)
        NEED(file[k]);
    GDALAllRegister();
    for (int k = 0; k < 3; ++k) {
        SDM_CLOSED_BY(sdm_scene_close) SdmScene *scene = NULL;
        assert_int_equal(sdm_scene_open(ctx, sdm_options(ctx), file[k], k ? file[0] : file[1], &scene),
                         SDM_OK);
        const SdmCamera *const cam = scene->view[0].camera;
        GDALDatasetH ds = GDALOpen(file[k], GA_ReadOnly);
        GDALRPCInfoV2 info;
        assert_true(GDALExtractRPCInfoV2(GDALGetMetadata(ds, "RPC"), &info));
        char **options = CSLSetNameValue(NULL, "RPC_PIXEL_ERROR_THRESHOLD", "1e-7");
        options = CSLSetNameValue(options, "RPC_MAX_ITERATIONS", "100");
        void *peer = GDALCreateRPCTransformerV2(&info, FALSE, 1e-7, options);
        for (double row = 0; row < 1000; row += 111)
            for (double col = 0; col < 800; col += 97) {
                const double image[3] = {col, row, info.dfHEIGHT_OFF + 0.3 * info.dfHEIGHT_SCALE};
                double g[3], back[2], x = col + 0.5, y = row + 0.5, z = image[2];
                int ok = FALSE;
                sdm_camera_locate(cam, 1, image, g);
                assert_true(GDALRPCTransform(peer, FALSE, 1, &x, &y, &z, &ok) && ok);
                assert_true(fabs(x - g[0]) < 1e-10 && fabs(y - g[1]) < 1e-10); /* 0.01 mm */
                x = g[0], y = g[1], z = g[2];
                assert_true(GDALRPCTransform(peer, TRUE, 1, &x, &y, &z, &ok) && ok);
                sdm_camera_project(cam, 1, g, back);
                assert_true(fabs(x - 0.5 - back[0]) < 1e-6 && fabs(y - 0.5 - back[1]) < 1e-6);
                assert_true(hypot(back[0] - col, back[1] - row) < 1e-6);
            }
        GDALDestroyRPCTransformer(peer);
        CSLDestroy(options);
        GDALClose(ds);
    }
}

RUN_TESTS(NULL, NULL)
