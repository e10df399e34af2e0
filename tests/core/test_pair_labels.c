/* Rectified pairs by an optimizer where an image has nothing to say: labels without a cost, holes, windows of
 * one value. */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"
#include "two_contexts.h"

#include "rectified/pair.h"

enum { W = 120, H = 70, SHIFT = 5, HOLE_X = 50, HOLE_Y = 30, HOLE = 9 };

static SdmOptimizer optimizer(int kind)
{
    return (SdmOptimizer){.kind = (SdmOptimizerKind)kind,
                          .p1 = 25,
                          .p2 = 150,
                          .paths = 8,
                          .weight = 15,
                          .truncation = 4,
                          .bp = {32, 1, 2},
                          .cpu_level = "auto"};
}

static SdmPairSettings settings(const SdmOptimizer *how, SdmPairCost cost)
{
    return (SdmPairSettings){.cost = cost,
                             .window = 1,
                             .dmax = 15,
                             .census_width = 9,
                             .census_height = 7,
                             .lr_threshold = 1.0f,
                             .min_sigma = 1e-3f,
                             .cpu_level = "auto",
                             .optimizer = how};
}

/* Differences of samples, at most 63: pixels off the image or without data cost 32, the half. */
TEST(what_cannot_be_looked_at_costs_half)
{
    enum { X = SDM_PIXEL_NODATA };
    static const int16_t left[5] = {10, 20, 30, 40, X}, right[5] = {12, 20, X, 44, 50};
    static const uint8_t want[5][2] = {{32, 2}, {8, 0}, {10, 32}, {32, 4}, {32, 32}};
    const SdmPairImage im[2] = {{5, 1, 5, left, true, NULL}, {5, 1, 5, right, true, NULL}};
    const SdmOptimizer how = optimizer(SDM_OPTIMIZER_BP);
    SdmPairSettings set = settings(&how, SDM_PAIR_SAD);
    SDM_CLOSED_BY(sdm_volume_close) SdmVolume v = {0};
    set.dmax = 1;
    sdm_pair_volume_shape(&set, &v);
    v.width = 5;
    v.height = 1;
    assert_int_equal(sdm_volume_open(ctx3, &v), SDM_OK);
    assert_int_equal(sdm_pair_volume(ctx3, &im[0], &im[1], &set, 0, &v), SDM_OK);
    for (int x = 0; x < 5; x++)
        assert_memory_equal(v.cost + x * v.pitch, want[x], 2);
}

/* Noise of 8 bits, the right image SHIFT px further left. */
static void make_pair(int16_t *left, int16_t *right)
{
    uint64_t seed = 3;
    for (int i = 0; i < W * H; i++)
        left[i] = (int16_t)(next_random(&seed) % 256);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            right[y * W + x] = left[y * W + (x + SHIFT) % W];
}

static void make_hole(int16_t *image)
{
    for (int y = HOLE_Y; y < HOLE_Y + HOLE; y++)
        for (int x = HOLE_X; x < HOLE_X + HOLE; x++)
            image[y * W + x] = SDM_PIXEL_NODATA;
}

static float *match(const int16_t *left, const int16_t *right, const SdmPairSettings *set)
{
    const SdmPairImage im[2] = {{W, H, W, left, true, NULL}, {W, H, W, right, true, NULL}};
    float *const d = malloc(W * H * sizeof *d);
    assert_int_equal(sdm_pair_match(ctx3, &im[0], &im[1], set, d), SDM_OK);
    return d;
}

/* About a hole in either image all is matched and right; what would meet the hole has no match, not another
 * one. */
TEST(holes_are_passed_through)
{
    static int16_t image[2][W * H];
    for (int kind = SDM_OPTIMIZER_SGM; kind <= SDM_OPTIMIZER_BP; kind++)
        for (int side = 0; side < 2; side++) {
            const SdmOptimizer how = optimizer(kind);
            const SdmPairSettings set = settings(&how, SDM_PAIR_AD_CENSUS);
            make_pair(image[0], image[1]);
            make_hole(image[side]);
            FREED float *const d = match(image[0], image[1], &set);
            const int first = HOLE_X + (side ? SHIFT : 0); /* of left pixels that are not to be matched */
            for (int y = 4; y < H - 4; y++)
                for (int x = 20; x < W - 4; x++) {
                    const bool in = x >= first && x < first + HOLE && y >= HOLE_Y && y < HOLE_Y + HOLE;
                    const float at = d[y * W + x];
                    if (in ? !isnan(at) : at != (float)SHIFT)
                        fail_msg("optimizer %d, hole in view %d: %g at %d, %d", kind, side, (double)at, x, y);
                }
        }
}

/* Is the window of `side` about (x, y) of one value, or less spread than sigma? */
static bool is_flat(const int16_t *image, int x, int y, int side, float sigma)
{
    double n = 0.0, sum = 0.0, squares = 0.0;
    for (int j = y - side / 2; j < y - side / 2 + side; j++)
        for (int i = x - side / 2; i < x - side / 2 + side; i++) {
            const int row = j < 0 ? 0 : j >= H ? H - 1 : j, col = i < 0 ? 0 : i >= W ? W - 1 : i;
            const double v = image[row * W + col];
            if (image[row * W + col] == SDM_PIXEL_NODATA)
                continue;
            n += 1.0;
            sum += v;
            squares += v * v;
        }
    return n * squares - sum * sum <= (double)sigma * (double)sigma * n * n;
}

/* As without the check, but for pixels whose window, or that of the right pixel that they meet, is flat. */
TEST(nothing_has_no_match)
{
    static int16_t image[2][W * H];
    static const struct {
        int window;
        float sigma;
    } cases[] = {{1, 1e-3f}, {9, 1e-3f}, {14, 1e-3f}, {1, 30.0f}, {17, 73.0f}};
    int64_t taken = 0, left_as_is = 0;
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const SdmOptimizer how = optimizer(i % 2 ? SDM_OPTIMIZER_BP : SDM_OPTIMIZER_SGM);
        SdmPairSettings set = settings(&how, SDM_PAIR_SAD);
        set.window = cases[i / 2].window;
        make_pair(image[0], image[1]);
        for (int k = 0; k < 2; k++)
            for (int y = 20; y < 50; y++)
                for (int x = 60; x < 95; x++)
                    image[k][y * W + x - k * SHIFT] = (int16_t)(77 + 20 * (x % 2) * (y < 35));
        make_hole(image[i / 2 % 2]);
        set.cpu_level = i % 3 ? "auto" : "reference";
        set.min_sigma = 0.0f;
        FREED float *const all = match(image[0], image[1], &set);
        set.min_sigma = cases[i / 2].sigma;
        FREED float *const some = match(image[0], image[1], &set);
        const int side = set.window < 9 ? 9 : set.window;
        for (int k = 0; k < W * H; k++) {
            const int x = k % W, y = k / W, xr = isnan(all[k]) ? x : x - (int)all[k];
            const bool flat =
                is_flat(image[0], x, y, side, set.min_sigma) || is_flat(image[1], xr, y, side, set.min_sigma);
            if (flat ? !isnan(some[k]) : memcmp(&some[k], &all[k], sizeof *all) != 0)
                fail_msg("case %zu: %g, before %g at %d, %d", i, (double)some[k], (double)all[k], x, y);
            taken += flat && !isnan(all[k]);
            left_as_is += !isnan(some[k]);
        }
    }
    assert_true(taken > 1000 && left_as_is > 1000);
}

RUN_TESTS(setup, teardown)
