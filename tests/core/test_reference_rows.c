/* The reference's resampling and picking against answers worked by hand. */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"

#include "core/qa_reasons.h"

static const SdmKernels *const k = &sdm_kernels_reference;

/* ---- warp ---- */

typedef struct WarpCase { /* one cell over a row of `width` pixels of an image of 32 x 12 */
    int16_t image[32 * 12];
    int16_t out[32];
} WarpCase;

/* Row `row` moved by dx, dy; with a surface, by +-2 px along and 1 px across at 10 m from height0, too. */
static void warp_run(WarpCase *c, int row, float dx, float dy, const float *surface)
{
    const SdmWarpCell cell = {
        .origin_col = 100,
        .origin_row = 50,
        .begin = {256.0f * dx,
                  surface ? 51.2f : 0.0f, [4] = 256.0f * ((float)row + dy), [6] = surface ? 2.56f : 0.0f},
        .change = {256.0f * 32.0f}};
    float fraction[32];
    for (int x = 0; x < 32; x++)
        fraction[x] = (float)x / 32.0f;
    const SdmWarpRow in = {.cells = &cell,
                           .cell_begin = (int32_t[]){0, 32},
                           .cell_count = 1,
                           .fraction = fraction,
                           .surface_m = surface,
                           .height0_m = 500.0f,
                           .source = c->image,
                           .source_stride = 32,
                           .source_col0 = 100,
                           .source_row0 = 50,
                           .source_width = 32,
                           .source_height = 12,
                           .width = 32};
    k->warp_row(&in, c->out);
}

TEST(identity_warp_returns_the_image)
{
    WarpCase c;
    fill_noise(c.image, 32 * 12, 12);
    for (int row = -1; row < 13; row++) {
        warp_run(&c, row, 0.0f, 0.0f, NULL);
        for (int x = 0; x < 32; x++) {
            const bool whole = row >= 1 && row < 10 && x >= 1 && x < 30;
            assert_int_equal(c.out[x], whole ? c.image[row * 32 + x] : SDM_PIXEL_NODATA);
        }
    }
}

/* Ramp 40 x + 8 y: cubic weights reproduce it, and 1/256 px of 40 and half a pixel of 8 are told to 1/2 grey
 * value (1/16 more by line). */
TEST(warp_of_a_ramp_is_the_ramp)
{
    WarpCase c;
    for (int i = 0; i < 32 * 12; i++)
        c.image[i] = (int16_t)(40 * (i % 32) + 8 * (i / 32) - 700);
    warp_run(&c, 5, 0.5f, 0.5f, NULL);
    for (int x = 1; x < 29; x++)
        assert_int_equal(c.out[x], 40 * x + 20 + 8 * 5 + 4 - 700);
    for (int k256 = 0; k256 < 256; k256++) {
        const float dx = (float)k256 / 256.0f;
        warp_run(&c, 5, dx, 0.0f, NULL);
        for (int x = 1; x < 29; x++)
            assert_near(c.out[x], 40.0 * (x + (double)dx) + 40.0 - 700.0, 0.58);
    }
}

/* Heights move the position by b t + c t^2, about height0. */
TEST(warp_follows_the_surface)
{
    WarpCase c;
    float surface[32];
    for (int i = 0; i < 32 * 12; i++)
        c.image[i] = (int16_t)(40 * (i % 32) + 100 * (i / 32));
    for (int x = 0; x < 32; x++)
        surface[x] = x & 1 ? 510.0f : 490.0f;
    warp_run(&c, 5, 0.0f, 0.0f, surface);
    for (int x = 3; x < 27; x++)
        assert_int_equal(c.out[x], 40 * (x + (x & 1 ? 2 : -2)) + 100 * 6);
}

TEST(warp_nodata_spoils_its_taps)
{
    WarpCase c;
    fill_noise(c.image, 32 * 12, 13);
    c.image[6 * 32 + 10] = SDM_PIXEL_NODATA;
    for (int row = 1; row < 10; row++) {
        warp_run(&c, row, 0.0f, 0.0f, NULL);
        for (int x = 1; x < 30; x++) {
            const bool tap = 10 >= x - 1 && 10 <= x + 2 && 6 >= row - 1 && 6 <= row + 2;
            assert_int_equal(c.out[x] == SDM_PIXEL_NODATA, tap);
        }
    }
}

/* Weights: the law, sums exactly 16384, mirror images of each other. */
TEST(cubic_weights_by_law)
{
    for (int i = 0; i < 256; i++) {
        const double t = i / 256.0;
        const double a = t * (1 - t) * (1.0 / 6 + 0.4 * (1 - t)), b = t * (1 - t) * (1.0 / 6 + 0.4 * t);
        const double want[4] = {-a, 1.0 - t + 2.0 * a - b, t - a + 2.0 * b,
                                -b}; /* exact for ramps, by the outer two */
        int sum = 0;
        for (int j = 0; j < 4; j++) {
            sum += sdm_cubic_weights[i][j];
            assert_near(sdm_cubic_weights[i][j], 16384.0 * want[j], 1.5);
            if (i > 0)
                assert_int_equal(sdm_cubic_weights[i][j], sdm_cubic_weights[256 - i][3 - j]);
        }
        assert_int_equal(sum, 16384);
    }
}

/* ---- half ---- */

TEST(half_row_nodata_and_rounding)
{
    int16_t row[4][4];
    int16_t out;
    const int16_t *const src[4] = {row[0] + 1, row[1] + 1, row[2] + 1, row[3] + 1};
    memset(row, 0, sizeof row);
    row[1][1] = 32; /* 9 * 32 / 64 = 4.5: up */
    k->half_row(src, 1, &out);
    assert_int_equal(out, 5);
    row[1][1] = -32; /* -4.5: up as well */
    k->half_row(src, 1, &out);
    assert_int_equal(out, -4);
    row[1][1] = -31; /* -4.36 */
    k->half_row(src, 1, &out);
    assert_int_equal(out, -4);
    for (int j = 0; j < 4; j++) { /* columns 0 1 2 away: 1/8 of the weight is left, then 3/8, 1/2, 5/8 */
        row[j][0] = row[j][1] = SDM_PIXEL_NODATA;
        row[j][2] = row[j][3] = 100;
    }
    k->half_row(src, 1, &out);
    assert_int_equal(out, SDM_PIXEL_NODATA);
    row[0][1] = 50; /* one tap of weight 3 more: 35 of 64; (32 * 100 + 3 * 50) / 35 = 95.7 */
    k->half_row(src, 1, &out);
    assert_int_equal(out, 96);
}

/* ---- pick ---- */

static float f[5][8]; /* d, score, runner-up, d of the right pixel, left-right difference */
static uint8_t at_edge[8];

/* Pick in a row of 8 pixels that has so many scores, {d, x, score}, and `none` elsewhere. */
static void pick_run(int dmin, int dmax, float none, int count, const float (*at)[3])
{
    float volume[5 * 8];
    for (int i = 0; i < 5 * 8; i++)
        volume[i] = none;
    for (int i = 0; i < count; i++)
        volume[8 * ((int)at[i][0] - dmin) + (int)at[i][1]] = at[i][2];
    const SdmCostRow row = {.width = 8, .dmin = dmin, .dmax = dmax, .score = volume, .pitch = 8};
    k->pick_row(&row, &(SdmPickRow){f[0], f[1], f[2], f[3], f[4], at_edge});
}

/* One left pixel in the middle: vertex 0.5 (0.5 - 0.7) / (0.5 - 1.8 + 0.7) = 1/6.
 * Runner-up at |d| >= 2: 0.1. */
TEST(pick_by_hand)
{
    static const float at[5][3] = {{-2, 4, 0.1f}, {-1, 4, 0.5f}, {0, 4, 0.9f}, {1, 4, 0.7f}, {2, 4, 0.0f}};
    pick_run(-2, 2, SDM_SCORE_NONE, 5, at);
    assert_near(f[0][4], 1.0 / 6.0, 1e-6);
    assert_true(f[1][4] == 0.9f && f[2][4] == 0.1f && at_edge[4] == 0);
    assert_near(f[4][4], 1.0 / 6.0, 1e-6); /* right pixel 4 has this one score: best d = 0, no neighbours */
    assert_true(f[0][3] == 0.0f && f[1][3] == SDM_SCORE_NONE && f[2][3] == SDM_SCORE_NONE && f[4][3] > 1e6f);
    assert_int_equal(at_edge[3], 0);
}

/* Both curves: left pixel 4 has 0.4 0.8 0.6 at d = -1 0 1, the right pixel it meets (on the diagonal: left 5
 * at d = -1, left 3 at d = 1) 0.7 0.8 0.3.  Sum 1.1 1.6 0.9: vertex 0.5 * 0.2 / (1.1 - 3.2 + 0.9) = -1/12. */
TEST(pick_takes_both_curves)
{
    static const float at[5][3] = {{-1, 4, 0.4f}, {0, 4, 0.8f}, {1, 4, 0.6f}, {-1, 5, 0.7f}, {1, 3, 0.3f}};
    pick_run(-1, 1, -1.0f, 5, at);
    assert_near(f[0][4], -1.0 / 12.0, 1e-6);
    assert_near(f[3][4], 0.5 * (0.7 - 0.3) / (0.7 - 1.6 + 0.3), 1e-6); /* the right pixel's own */
    assert_near(f[4][4], 0.5 * (0.4 - 0.6) / (0.4 - 1.6 + 0.6) - 0.5 * (0.7 - 0.3) / (0.7 - 1.6 + 0.3), 1e-6);
}

/* Two left pixels want right pixel 4: the one with the lower score fails the left-right check by |d - d'|.  Of equal
 * scores the smaller d is taken. */
TEST(pick_left_right)
{
    static const float at[4][3] = {{1, 3, 0.8f}, {-1, 5, 0.6f}, {0, 1, 0.5f}, {1, 1, 0.5f}};
    pick_run(-1, 1, SDM_SCORE_NONE, 4, at);
    assert_true(f[0][3] == 1.0f && f[0][5] == -1.0f && f[3][4] == 1.0f);
    assert_true(f[4][3] == 0.0f && f[4][5] == 2.0f);
    assert_true(at_edge[3] == 1 && at_edge[5] == 1 && f[0][1] == 0.0f && at_edge[1] == 0);
    pick_run(0, 0, SDM_SCORE_NONE, 1, &at[2]); /* a single d has no end */
    assert_true(f[1][1] == 0.5f && at_edge[1] == 0);
}

/* A flat prior of 100 m, 1 px of residual, 2 px a metre: what is matched goes to 100.5 m.  Below a quality of
 * 150 what is VALID stays at the prior; of a retry, what is VALID stays where it is. */
TEST(update_moves_what_bears_it)
{
    enum { N = 5 };
    static const float residual[N] = {1, 1, 1, 1, 1}, score[N] = {0.8f, 0.8f, 0.8f, 0.8f, 0.2f};
    static const float texture[N] = {1, 1, 1, 1, 1}, prior[N] = {100, 100, 100, 100, 100},
                       du_dh[N] = {2, 2, 2, 2, 2};
    static const uint8_t edge[N] = {0}, before[N] = {149, 150, 149, 0, 250};
    static const uint16_t was[N] = {SDM_QA_VALID, SDM_QA_VALID, SDM_QA_LOW_SCORE, SDM_QA_VALID, SDM_QA_VALID};
    float h[N];
    uint16_t flags[N];
    uint8_t quality[N];
    SdmUpdateRow u = {.width = N,
                      .residual = residual,
                      .score = score,
                      .edge = edge,
                      .texture = texture,
                      .prior = prior,
                      .du_dh = du_dh,
                      .min_score = 0.5f,
                      .h_m = h,
                      .flags = flags,
                      .quality = quality};
    for (int retry = 0; retry < 2; retry++) {
        for (int x = 0; x < N; x++)
            h[x] = 7.0f;
        memcpy(flags, was, sizeof was);
        memcpy(quality, before, sizeof before);
        u.min_quality = retry ? 0 : 150;
        u.keep_valid = retry;
        sdm_kernels_reference.update_row(&u);
        static const float want[2][N] = {{100, 100.5f, 100.5f, 100, 100}, {7, 7, 100.5f, 7, 7}};
        static const uint8_t after[2][N] = {{149, 200, 200, 0, 50}, {149, 150, 200, 0, 250}};
        for (int x = 0; x < N; x++) {
            assert_true(h[x] == want[retry][x]);
            assert_int_equal(quality[x], after[retry][x]);
            assert_int_equal(flags[x], !retry && x == 4 ? SDM_QA_LOW_SCORE : SDM_QA_VALID);
        }
    }
}

RUN_TESTS(NULL, NULL)
