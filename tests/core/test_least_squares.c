/* Least squares of the surface: heights go to where both views agree, and what is not known stays. */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"
#include "two_contexts.h"

#include "matching/filters.h"

#define GAIN 1.4f
#define OFFSET 300.0f

typedef struct Scene {
    SdmSurface s;
    int16_t *left, *right;
} Scene;

/* Texture of a few pixels at column u, row v. */
static double texture(double u, double v)
{
    return 900.0 * sin(0.9 * u + 0.3 * v) + 700.0 * sin(0.55 * u - 0.8 * v + 1.0) +
           500.0 * sin(1.3 * u + 1.1 * v + 2.0);
}

/* How far the heights are from where they should be, px: smooth, but for the cut nothing else is. */
static double offset_px(double u, double v)
{
    return 0.2 * sin(0.06 * u) * cos(0.05 * v) + 0.1 * sin(0.15 * u + 0.1 * v);
}

/* The ground as it is known before, px: as rough as what is to be found. */
static double ground_px(double u, double v)
{
    return 0.4 * sin(0.5 * u) * cos(0.4 * v);
}

/* Columns u0.., rows v0.. of a scene. */
static Scene scene_of(int64_t u0, int64_t v0, int w, int h, float px_per_metre)
{
    Scene c;
    const SdmWindow win = {.u0 = u0, .v0 = v0, .w = w, .h = h};
    assert_int_equal(sdm_surface_alloc(ctx, &win, &c.s), SDM_OK);
    c.left = malloc((size_t)(w * h) * sizeof *c.left);
    c.right = malloc((size_t)(w * h) * sizeof *c.right);
    for (int i = 0; i < w * h; i++) {
        const double u = (double)(u0 + i % w), v = (double)(v0 + i / w);
        uint64_t seed = (uint64_t)(v * 4001.0 + u + 1.0);
        const double noise = (double)(next_random(&seed) % 41) - 20.0;
        c.s.h_m[i] = (float)ground_px(u, v) / px_per_metre;
        c.s.flags[i] = SDM_QA_VALID;
        c.s.score[i] = 240;
        c.left[i] = (int16_t)lrint(texture(u, v) + noise);
        c.right[i] = (int16_t)lrint((texture(u - offset_px(u, v), v) - (double)OFFSET) / (double)GAIN);
    }
    return c;
}

static void scene_free(Scene *c)
{
    sdm_surface_free(&c->s);
    free(c->left);
    free(c->right);
}

static void move(SdmContext *with, const SdmKernels *k, Scene *c, float px_per_metre)
{
    assert_int_equal(sdm_surface_least_squares(with, k, &c->s, c->left, c->right, px_per_metre), SDM_OK);
}

static double miss_px(const Scene *c, float px_per_metre, int x, int y)
{
    const double u = (double)(c->s.win.u0 + x), v = (double)(c->s.win.v0 + y);
    return (double)(c->s.h_m[y * c->s.win.w + x] * px_per_metre) - ground_px(u, v) - offset_px(u, v);
}

/* Root mean square of what is left, px, `rim` pixels from the rim. */
static double left_px(const Scene *c, float px_per_metre, int rim)
{
    double sum = 0.0;
    int n = 0;
    for (int y = rim; y < c->s.win.h - rim; y++)
        for (int x = rim; x < c->s.win.w - rim; x++, n++) {
            const double e = miss_px(c, px_per_metre, x, y);
            sum += e * e;
        }
    return sqrt(sum / n);
}

TEST(heights_go_where_views_agree)
{
    static const float scale[2] = {0.04f, -1.5f};
    for (int i = 0; i < 2; i++) {
        SDM_CLOSED_BY(scene_free) Scene c = scene_of(3, -5, 500, 300, scale[i]);
        const double before = left_px(&c, scale[i], 8);
        move(ctx, sdm_kernels_at("auto"), &c, scale[i]);
        assert_true(before > 0.11);
        assert_true(left_px(&c, scale[i], 8) < 0.2 * before);
    }
}

/* Unmatched pixels keep their height, pixels without data theirs and move no other; without texture nothing moves. */
TEST(what_is_not_known_stays)
{
    enum { W = 300, H = 200 };
    SDM_CLOSED_BY(scene_free) Scene c = scene_of(0, 0, W, H, 0.04f);
    for (int y = 60; y < 100; y++)
        for (int x = 100; x < 150; x++) {
            c.s.flags[y * W + x] = SDM_QA_LOW_SCORE;
            c.s.h_m[y * W + x] = 7.0f;
        }
    for (int y = 120; y < 160; y++)
        for (int x = 100; x < 150; x++) {
            c.right[y * W + x] = SDM_PIXEL_NODATA;
            c.s.flags[y * W + x] = SDM_QA_OUTSIDE;
            c.s.h_m[y * W + x] = 20000.0f;
        }
    move(ctx, sdm_kernels_at("auto"), &c, 0.04f);
    assert_true(c.s.h_m[80 * W + 120] == 7.0f);
    for (int y = 110; y < 170; y++)
        for (int x = 90; x < 160; x++) {
            const bool known = c.right[y * W + x] != SDM_PIXEL_NODATA;
            if (known && (y < 118 || y > 161 || x < 98 || x > 151))
                assert_true(fabs(miss_px(&c, 0.04f, x, y)) < 0.1);
            else if (!known)
                assert_true(c.s.h_m[y * W + x] == 20000.0f);
        }
    for (int i = 0; i < W * H; i++) {
        c.left[i] = c.right[i] = 500;
        c.s.flags[i] = SDM_QA_VALID;
        c.s.h_m[i] = 100.0f + 0.5f * (float)(i % W) - 0.25f * (float)(i / W);
    }
    move(ctx, sdm_kernels_at("auto"), &c, 0.04f);
    for (int i = 0; i < W * H; i++)
        assert_true(fabsf(c.s.h_m[i] - (100.0f + 0.5f * (float)(i % W) - 0.25f * (float)(i / W))) < 0.01f);
}

/* Heights set aside, whose views tell nothing, end near their place with the others. */
TEST(heights_set_aside_follow)
{
    enum { W = 300, H = 200, EVERY = 7 };
    SDM_CLOSED_BY(scene_free) Scene c = scene_of(0, 0, W, H, 0.04f);
    const double before = left_px(&c, 0.04f, 8);
    for (int i = 0; i < W * H; i += EVERY) {
        c.s.flags[i] = SDM_PIXEL_ASIDE;
        c.right[i] = (int16_t)(37 * i % 2001 - 1000);
    }
    move(ctx, sdm_kernels_at("auto"), &c, 0.04f);
    assert_true(left_px(&c, 0.04f, 8) < 0.2 * before);
}

/* Pixels at the end of the data along the rows, whose slopes take what taps there are, move with the others. */
TEST(ends_of_rows_move)
{
    enum { W = 300, H = 200, FIRST = 60, END = 240 };
    SDM_CLOSED_BY(scene_free) Scene c = scene_of(0, 0, W, H, 0.04f);
    double before = 0.0, after = 0.0;
    for (int i = 0; i < W * H; i++)
        if (i % W < FIRST || i % W >= END) {
            c.left[i] = SDM_PIXEL_NODATA;
            c.s.flags[i] = SDM_QA_OUTSIDE;
        }
    for (int pass = 0; pass < 2; pass++) {
        for (int y = 20; y < H - 20; y++)
            for (int k = 0; k < 4; k++) {
                const double miss = miss_px(&c, 0.04f, k < 2 ? FIRST + k : END - 1 - (k - 2), y);
                *(pass ? &after : &before) += miss * miss;
            }
        if (pass == 0)
            move(ctx, sdm_kernels_at("auto"), &c, 0.04f);
    }
    assert_true(after < 0.5 * before);
}

/* A cloud in the left view alone, which nothing matches, changes little beside it. */
TEST(what_is_not_matched_tells_nothing_of_the_views)
{
    enum { W = 300, H = 200, X = 120, END = 180, BESIDE = 16 };
    SDM_CLOSED_BY(scene_free) Scene clear = scene_of(0, 0, W, H, 0.04f), cloudy = scene_of(0, 0, W, H, 0.04f);
    double sum[2] = {0.0, 0.0};
    for (int i = 0; i < W * H; i++)
        if (i % W >= X && i % W < END) {
            clear.s.flags[i] = cloudy.s.flags[i] = SDM_QA_LOW_SCORE;
            cloudy.left[i] = 2047;
        }
    move(ctx, sdm_kernels_at("auto"), &clear, 0.04f);
    move(ctx, sdm_kernels_at("auto"), &cloudy, 0.04f);
    for (int y = 20; y < H - 20; y++)
        for (int x = X - BESIDE; x < X - 3;
             x++) { /* the cloud is in slopes of 2 px, and bends what is beside them */
            const double miss[2] = {miss_px(&clear, 0.04f, x, y), miss_px(&cloudy, 0.04f, x, y)};
            for (int k = 0; k < 2; k++)
                sum[k] += miss[k] * miss[k];
        }
    assert_true(sum[1] < 1.5 * sum[0]);
}

/* Islands of too few valid pixels for their statistics keep their heights. */
TEST(few_pixels_stay)
{
    enum { W = 120, H = 80, X = 56, Y = 40, SIDE = 11 };
    SDM_CLOSED_BY(scene_free) Scene c = scene_of(0, 0, W, H, 0.04f);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            if (x < X || x >= X + SIDE || y < Y || y >= Y + SIDE)
                c.s.flags[y * W + x] = SDM_QA_LOW_SCORE;
    SDM_CLOSED_BY(scene_free) Scene before = scene_of(0, 0, W, H, 0.04f);
    move(ctx, sdm_kernels_at("auto"), &c, 0.04f);
    for (int i = 0; i < W * H; i++)
        assert_true(c.s.h_m[i] == before.s.h_m[i]);
}

/* Windows narrower than a tile's margin. */
TEST(small_windows_pass)
{
    for (int w = 1; w <= 37; w += 3)
        for (int h = 1; h <= 37; h += 3) {
            SDM_CLOSED_BY(scene_free) Scene c = scene_of(4, 8, w, h, 0.04f);
            move(ctx, sdm_kernels_at("auto"), &c, 0.04f);
            for (int i = 0; i < w * h; i++)
                assert_true(fabsf(c.s.h_m[i]) <= 29.0f);
        }
}

RUN_TESTS(setup, teardown)
