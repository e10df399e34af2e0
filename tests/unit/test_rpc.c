/* RPC camera: zeros of denominators, scales below 0, bad coefficients; positions: tests/geometry/rpc_*.txt. */
// SPDX-License-Identifier: Apache-2.0
#include "reading.h"

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

TEST(nowhere)
{
    SdmRpc c = simple();
    c.samp_den[1] = 0.5; /* zero at l = -2, that is 9.6 deg E */
    SDM_CLOSED_BY(sdm_camera_close) SdmCamera *cam = open_rpc(&c);
    double image[2];
    sdm_camera_project(cam, 1, (double[]){9.59, 45, 0}, image);
    assert_true(isnan(image[0]) && isnan(image[1]));
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

RUN_TESTS(NULL, NULL)
