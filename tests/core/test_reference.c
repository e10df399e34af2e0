/* The reference's costs against answers worked by hand and the laws of their definitions: the other copies
 * are only as right as this file. */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"

#include "core/options.h"
#include "instruction_set.h"

static const SdmKernels *const k = &sdm_kernels_reference;
enum { W = 24, H = 15, MAX_N = W * H };
static const double EPS = 1.2e-7; /* a rounding of a float near 1 */

static SdmCostJob job_of(const int16_t *left, const int16_t *right, int w, int h, int window, int dmin,
                         int dmax)
{
    return (SdmCostJob){.left = left,
                        .right = right,
                        .stride = w,
                        .width = w,
                        .height = h,
                        .row_end = h,
                        .window = window,
                        .dmin = dmin,
                        .dmax = dmax};
}

static bool inside(const Volume *v, int x, int y, int half)
{
    return x >= half && y >= half && x + half < v->width && y + half < v->height;
}

/* 3 x 3, the only whole window is the centre's.  n = 9.  Left 1..9: sum 45, squares 285, n SII - SI^2 = 540 =
 * 9 * 60. Right = left with 1 and 9 exchanged: SIJ = 285 - 1 - 81 + 9 + 9 = 221, covariance 9 * 221 - 2025 =
 * -36. */
TEST(zncc_by_hand)
{
    const int16_t left[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, right[9] = {9, 2, 3, 4, 5, 6, 7, 8, 1};
    const SdmCostJob job = job_of(left, right, 3, 3, 3, 0, 0);
    SDM_CLOSED_BY(volume_free) Volume v = {0};
    volume_of(k, k->zncc, &job, &v);
    assert_int_equal(v.rows, 3);
    assert_near(volume_at(&v, 1, 1, 0), -36.0 / 540.0, 1e-8);
    assert_near(v.left[4], 1.0 / sqrt(60.0), 1e-8);
    for (int i = 0; i < 9; i++)
        if (i != 4) {
            assert_true(v.score[i] == SDM_SCORE_NONE);
            assert_true(v.left[i] == -1.0f);
        }
}

/* cost(L, R)(x, d) = cost(R, L)(x + d, -d) for every cost; zncc to a rounding. */
TEST(costs_are_symmetric)
{
    int16_t left[MAX_N], right[MAX_N];
    fill_noise(left, MAX_N, 2);
    fill_noise(right, MAX_N, 3);
    sdm_cost_strip_fn *const cost[2] = {k->zncc, k->census};
    for (int c = 0; c < 2; c++) {
        const SdmCostJob job = job_of(left, right, W, H, 5, -2, 4),
                         back = job_of(right, left, W, H, 5, -4, 2);
        SDM_CLOSED_BY(volume_free) Volume a = {0}, b = {0};
        int scores = 0;
        volume_of(k, cost[c], &job, &a);
        volume_of(k, cost[c], &back, &b);
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                for (int d = -2; d <= 4; d++) {
                    if (x + d < 0 || x + d >= W)
                        continue;
                    assert_near(volume_at(&a, x, y, d), volume_at(&b, x + d, y, -d), c == 0 ? EPS : 0.0);
                    scores += volume_at(&a, x, y, d) > SDM_SCORE_NONE;
                }
        assert_int_equal(scores, (H - 4) * (20 + 19 + 18 + 19 + 18 + 17 + 16)); /* 24 - 4 - |d| a row */
    }
}

/* One pixel of the left is raised by one grey value in a flat image: its own word turns to all ones, and no
 * other word changes, since a bit asks whether the neighbour is darker. So 31 of 9 * 31 bits differ in a 3 x
 * 3 window. */
TEST(census_by_hand)
{
    enum { CW = 15, CH = 13 };
    int16_t left[CW * CH], right[CW * CH];
    for (int i = 0; i < CW * CH; i++)
        left[i] = right[i] = 7;
    left[6 * CW + 7] = 8;
    const SdmCostJob job = job_of(left, right, CW, CH, 3, 0, 0);
    SDM_CLOSED_BY(volume_free) Volume v = {0};
    volume_of(k, k->census, &job, &v);
    for (int y = 1; y < CH - 1; y++)
        for (int x = 1; x < CW - 1; x++) {
            const bool near = abs(x - 7) <= 1 && abs(y - 6) <= 1;
            assert_near(volume_at(&v, x, y, 0), near ? 1.0 - 2.0 / 9.0 : 1.0, 2 * EPS);
        }
}

/* Of two opposite neighbours a word has one, so that no comparison counts twice, and it leans to a side by less than
 * a quarter of a pixel. */
TEST(census_words_have_one_of_two)
{
    int bits = 0, right = 0, down = 0;
    for (int j = -SDM_CENSUS_HALF_Y; j <= SDM_CENSUS_HALF_Y; j++)
        for (int i = -SDM_CENSUS_HALF_X; i <= SDM_CENSUS_HALF_X; i++) {
            const bool in = sdm_in_census_word(i, j);
            assert_int_equal(in, (i != 0 || j != 0) && !sdm_in_census_word(-i, -j));
            bits += in;
            right += in ? i : 0;
            down += in ? j : 0;
        }
    assert_int_equal(bits, SDM_CENSUS_BITS);
    assert_true(abs(right) < bits / 4 && abs(down) < bits / 4); /* a quarter of a pixel */
}

/* A nodata pixel takes away the scores of every window that holds it, and of no other. */
TEST(nodata_spoils_its_windows)
{
    int16_t left[MAX_N], right[MAX_N];
    fill_noise(left, MAX_N, 7);
    fill_noise(right, MAX_N, 8);
    left[7 * W + 6] = SDM_PIXEL_NODATA;
    right[7 * W + 16] = SDM_PIXEL_NODATA;
    sdm_cost_strip_fn *const cost[2] = {k->zncc, k->census};
    for (int c = 0; c < 2; c++) {
        const SdmCostJob job = job_of(left, right, W, H, 3, -1, 1);
        SDM_CLOSED_BY(volume_free) Volume v = {0};
        volume_of(k, cost[c], &job, &v);
        for (int y = 0; y < H; y++)
            for (int x = 0; x < W; x++)
                for (int d = -1; d <= 1; d++) {
                    const bool hit = abs(y - 7) <= 1 && (abs(x - 6) <= 1 || abs(x + d - 16) <= 1);
                    const bool whole = inside(&v, x, y, 1) && inside(&v, x + d, y, 1);
                    assert_int_equal(volume_at(&v, x, y, d) > SDM_SCORE_NONE, whole && !hit);
                }
        assert_true(v.left[7 * W + 5] == -1.0f && v.left[7 * W + 8] > 0.0f);
    }
}

/* right_shift s compares left row y with right row y + s. */
TEST(right_shift_moves_rows)
{
    int16_t left[MAX_N], right[MAX_N];
    fill_noise(left, MAX_N, 9);
    fill_noise(right, MAX_N, 10);
    for (int i = 0; i + W < MAX_N; i++)
        right[i + W] = left[i];
    sdm_cost_strip_fn *const cost[2] = {k->zncc, k->census};
    for (int c = 0; c < 2; c++) {
        SdmCostJob job = job_of(left, right, W, H, 5, 0, 0);
        SDM_CLOSED_BY(volume_free) Volume v = {0};
        job.right_shift = 1;
        volume_of(k, cost[c], &job, &v);
        for (int y = 6; y < H - 7; y++)
            for (int x = 2; x < W - 2; x++)
                assert_near(volume_at(&v, x, y, 0), 1.0, 2 * EPS);
        for (int x = 0; x < W; x++) /* the window of right row H - 2 leaves the image */
            assert_true(volume_at(&v, x, H - 3, 0) == SDM_SCORE_NONE);
    }
}

/* Texture: windows with sigma up to min_sigma have none, and no correlation.  +-3 in a chess board has sigma
 * 3 less a little (n is odd): n^2 sigma^2 = 9 (n^2 - 1). */
TEST(texture_needs_sigma)
{
    int16_t image[25];
    for (int i = 0; i < 25; i++)
        image[i] = i & 1 ? 3 : -3;
    SdmCostJob job = job_of(image, image, 5, 5, 5, 0, 0);
    SDM_CLOSED_BY(volume_free) Volume v = {0};
    job.min_sigma = 2.9f;
    volume_of(k, k->zncc, &job, &v);
    assert_near(v.left[12], 1.0 / sqrt(224.64), 1e-8);
    assert_near(volume_at(&v, 2, 2, 0), 1.0, 2 * EPS);
    volume_free(&v);
    job.min_sigma = 3.1f;
    volume_of(k, k->zncc, &job, &v);
    assert_true(v.left[12] == 0.0f && volume_at(&v, 2, 2, 0) == 0.0f);
}

/* The same window in long double, two passes. */
static double exact_zncc(const int16_t *a, const int16_t *b, int n)
{
    long double ma = 0, mb = 0, aa = 0, bb = 0, ab = 0;
    for (int i = 0; i < n; i++) {
        ma += (long double)a[i] / n;
        mb += (long double)b[i] / n;
    }
    for (int i = 0; i < n; i++) {
        aa += (a[i] - ma) * (a[i] - ma);
        bb += (b[i] - mb) * (b[i] - mb);
        ab += (a[i] - ma) * (b[i] - mb);
    }
    return (double)(ab / sqrtl(aa * bb));
}

/* Texture of sigma 2 of 4095 on a bright, even slope: integers keep the score to a rounding, single floats
 * would be off by 0.001. */
TEST(weak_texture_is_exact)
{
    enum { SIDE = 21, N = SIDE * SIDE };
    int16_t a[N], b[N];
    uint64_t seed = 11;
    for (int turn = 0; turn < 20; turn++) {
        for (int i = 0; i < N;
             i++) { /* sum of 12 of -1, 0, 1: sigma sqrt(8), halved with the common part: about 2 */
            int common = 0, other = 0;
            for (int j = 0; j < 6; j++) {
                common += (int)(next_random(&seed) % 3) - 1;
                other += (int)(next_random(&seed) % 3) - 1;
            }
            const int slope = 1950 + i % SIDE / 7 + i / SIDE / 7;
            a[i] = (int16_t)(slope + common);
            b[i] = (int16_t)(slope + (common + other) / 2);
        }
        const SdmCostJob job = job_of(a, b, SIDE, SIDE, SIDE, 0, 0);
        SDM_CLOSED_BY(volume_free) Volume v = {0};
        volume_of(k, k->zncc, &job, &v);
        assert_near(volume_at(&v, SIDE / 2, SIDE / 2, 0), exact_zncc(a, b, N), 3 * EPS);
    }
}

/* --cpu-level offers the levels that there are. */
TEST(levels_are_those_of_the_option)
{
    char names[128] = "auto";
    const SdmOptionSpec *spec = sdm_option_table;
    for (int i = 0; i < SDM_CPU_LEVELS; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "|%s", sdm_cpu_levels[i].name);
    while (spec->name && strcmp(spec->name, "--cpu-level") != 0)
        spec++;
    assert_string_equal(spec->choices, names);
}

TEST(levels_by_name)
{
    assert_ptr_equal(sdm_kernels_at("reference"), &sdm_kernels_reference);
    assert_non_null(sdm_kernels_at("c"));
    assert_non_null(sdm_kernels_at("auto"));
    assert_ptr_not_equal(sdm_kernels_at("auto"), &sdm_kernels_reference);
    assert_string_not_equal(sdm_kernels_name("auto"), "reference");
    assert_null(sdm_kernels_at("abacus"));
    assert_string_equal(sdm_kernels_name("abacus"), "none");
}

RUN_TESTS(NULL, NULL)
