/* Smaller images, median and filling of disparities: answers by hand, the naive way, any number of threads.
 */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"
#include "two_contexts.h"

#include "rectified/pair.h"

#define N_ NAN

static void assert_same(const float *got, const float *want, int n)
{
    for (int i = 0; i < n; i++)
        if (isnan(got[i]) != isnan(want[i]) || (!isnan(want[i]) && got[i] != want[i]))
            fail_msg("value %d is %g, expected %g", i, (double)got[i], (double)want[i]);
}

/* ---- smaller ---- */

TEST(shrink_by_hand)
{
    enum { X = SDM_PIXEL_NODATA };
    /* 5 x 5, factor 2: the last column and row are left out */
    static const int16_t in[25] = {1, 2, -1, -2,   9, /* sums 10, -10: means 2.5, -2.5, half goes up */
                                   3, 4, -3, -4,   9, 7, X, X, X, 9, /* two of four count, one does not */
                                   X, 8, X,  2047, 9, 9, 9, 9, 9, 9};
    static const int16_t want[4] = {3, -2, 8, X};
    int16_t out[4];
    sdm_pair_shrink(ctx, in, 5, 5, 5, 2, out);
    assert_memory_equal(out, want, sizeof want);
    sdm_pair_shrink(ctx3, in, 5, 5, 5, 2, out);
    assert_memory_equal(out, want, sizeof want);
    int16_t same[25];
    sdm_pair_shrink(ctx, in, 5, 5, 5, 1, same);
    assert_memory_equal(same, in, sizeof in);
}

/* ---- speckles ---- */

TEST(speckles_by_hand)
{
    float d[12] = {1, 3, 9, N_, /* 1 3 / 5 hang together by steps of 2, the 9s touch the 5 by a step of 4 */
                   8, 5, 9, 4,  N_, 5, N_, 4}; /* 8 stands alone, the 4s are two */
    static const float two[12] = {1, 3, 9, N_, N_, 5, 9, 4, N_, 5, N_, 4},
                       three[12] = {1, 3, N_, N_, N_, 5, N_, N_, N_, 5, N_, N_};
    assert_int_equal(sdm_pair_despeckle(ctx, 0, 4, 3, d), SDM_OK);
    assert_int_equal(sdm_pair_despeckle(ctx, 1, 4, 3, d), SDM_OK);
    assert_true(d[4] == 8.0f);
    assert_int_equal(sdm_pair_despeckle(ctx, 2, 4, 3, d), SDM_OK);
    assert_same(d, two, 12);
    assert_int_equal(sdm_pair_despeckle(ctx, 3, 4, 3, d), SDM_OK);
    assert_same(d, three, 12);
    sdm_alloc_fail_at(1);
    assert_int_equal(sdm_pair_despeckle(ctx, 3, 4, 3, d), SDM_ERR_MEMORY);
    sdm_alloc_fail_at(0);
}

/* ---- median ---- */

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static float naive_median(const float *in, int w, int h, int side, int x, int y)
{
    float v[25];
    int n = 0;
    for (int dy = -side / 2; dy <= side / 2; dy++)
        for (int dx = -side / 2; dx <= side / 2; dx++)
            if (x + dx >= 0 && x + dx < w && y + dy >= 0 && y + dy < h && !isnan(in[(y + dy) * w + x + dx]))
                v[n++] = in[(y + dy) * w + x + dx];
    if (isnan(in[y * w + x]) || 2 * n < side * side)
        return in[y * w + x];
    qsort(v, (size_t)n, sizeof *v, by_value);
    return n % 2 ? v[n / 2] : 0.5f * (v[n / 2 - 1] + v[n / 2]);
}

/* A pattern without order; every `hole`-th value is none. */
static void scatter(float *d, int n, int hole)
{
    uint32_t seed = 12345;
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        d[i] = seed >> 8 < (1u << 24) / (unsigned)hole ? N_ : (float)(seed >> 20) / 16.0f;
    }
}

TEST(median_is_naive)
{
    static const int sizes[][2] = {{1, 1}, {2, 7}, {66, 3}, {68, 5}, {133, 6}, {200, 40}};
    static const int holes[] = {1 << 30, 50, 3};
    enum { MOST = 8000 };
    FREED float *in = malloc(MOST * sizeof *in), *out = malloc(3 * MOST * sizeof *out);
    for (size_t s = 0; s < 6; s++)
        for (size_t k = 0; k < 3; k++)
            for (int side = 3; side <= 5; side += 2) {
                const int w = sizes[s][0], h = sizes[s][1];
                scatter(in, w * h, holes[k]);
                for (int i = 0; i < w * h; i++)
                    out[i] = naive_median(in, w, h, side, i % w, i / w);
                sdm_pair_median(ctx, in, w, h, side, out + MOST);
                sdm_pair_median(ctx3, in, w, h, side, out + 2 * MOST);
                assert_same(out + MOST, out, w * h);
                assert_same(out + 2 * MOST, out, w * h);
            }
}

/* ---- filling ---- */

static float naive_nearest(const float *d, int w, int h, int x, int y)
{
    int64_t best = INT64_MAX;
    float value = N_;
    for (int u = 0; u < w; u++) /* leftmost first, then uppermost */
        for (int v = 0; v < h; v++) {
            const int64_t far = (int64_t)(u - x) * (u - x) + (int64_t)(v - y) * (v - y);
            if (!isnan(d[v * w + u]) && far < best) {
                best = far;
                value = d[v * w + u];
            }
        }
    return value;
}

TEST(nearest_is_naive)
{
    static const int sizes[][2] = {{1, 1}, {1, 40}, {40, 1}, {70, 33}, {65, 64}};
    enum { MOST = 4200 };
    FREED float *in = malloc(4 * MOST * sizeof *in);
    for (size_t s = 0; s < 5; s++)
        for (int sparse = 0; sparse < 3; sparse++) {
            const int w = sizes[s][0], h = sizes[s][1];
            scatter(in, w * h, 2);
            for (int i = 0; i < w * h; i++)
                if (sparse && (i * 7919) % (sparse == 1 ? 11 : 97) != 5)
                    in[i] = N_;
            for (int i = 0; i < w * h; i++)
                in[MOST + i] = naive_nearest(in, w, h, i % w, i / w);
            memcpy(in + 2 * MOST, in, (size_t)(w * h) * sizeof *in);
            memcpy(in + 3 * MOST, in, (size_t)(w * h) * sizeof *in);
            assert_int_equal(sdm_pair_fill(ctx, SDM_FILL_NEAREST, w, h, in + 2 * MOST), SDM_OK);
            assert_int_equal(sdm_pair_fill(ctx3, SDM_FILL_NEAREST, w, h, in + 3 * MOST), SDM_OK);
            assert_same(in + 2 * MOST, in + MOST, w * h);
            assert_same(in + 3 * MOST, in + MOST, w * h);
        }
}

TEST(interpolate_by_hand)
{
    float d[40] = {
        N_, 2,  N_, N_, N_, 3,  N_, N_, /* slope of 1 in 4: linear; ends copied */
        10, N_, N_, 20, N_, N_, 12, 12, /* steps of 10 and 8: from behind, on either side */
        N_, N_, N_, N_, N_, N_, N_, N_, /* nothing: the row above */
        4,  N_, N_, N_, N_, N_, N_, 6,  /* 2 px in 7: steeper than 1 in 4 */
        4,  4,  4,  4,  4,  4,  4,  4,
    };
    static const float want[40] = {
        2,  2,  2.25f, 2.5f, 2.75f,  3, 3, 3, /**/ 10, 10, 10, 20, 12, 12, 12, 12, 10, 10, 10, 20,
        12, 12, 12,    12,   /**/ 4, 4, 4, 4, 4,       4,  4,  6,  4,  4,  4,  4,  4,  4,  4,  4,
    };
    float twin[40];
    memcpy(twin, d, sizeof d);
    assert_int_equal(sdm_pair_fill(ctx, SDM_FILL_INTERPOLATE, 8, 5, d), SDM_OK);
    assert_int_equal(sdm_pair_fill(ctx3, SDM_FILL_INTERPOLATE, 8, 5, twin), SDM_OK);
    assert_same(d, want, 40);
    assert_same(twin, want, 40);
}

/* Rows without a match take the nearest row that has one, the upper of two; the work does not grow with the
 * square of the height: here that would take minutes. */
TEST(empty_rows_take_the_nearest)
{
    enum { FEW = 97, MANY = 1000000 };
    FREED float *const d = malloc(MANY * sizeof *d);
    for (int step = 2; step < 60; step++) {
        for (int y = 0; y < FEW; y++)
            d[y] = y % step == step / 2 || y % 23 == 9 ? (float)y : N_;
        assert_int_equal(sdm_pair_fill(ctx, SDM_FILL_INTERPOLATE, 1, FEW, d), SDM_OK);
        for (int y = 0; y < FEW; y++) {
            int want = -1;
            for (int k = 0; want < 0; k++)
                for (int side = -1; side <= 1 && want < 0; side += 2) {
                    const int row = y + side * k;
                    want = row >= 0 && row < FEW && (row % step == step / 2 || row % 23 == 9) ? row : -1;
                }
            assert_true(d[y] == (float)want);
        }
    }
    for (int y = 0; y < MANY; y++)
        d[y] = y == 0 || y == MANY - 1 ? (float)y : N_;
    assert_int_equal(sdm_pair_fill(ctx, SDM_FILL_INTERPOLATE, 1, MANY, d), SDM_OK);
    assert_true(d[MANY / 2 - 1] == 0.0f && d[MANY / 2] == (float)(MANY - 1));
}

TEST(nothing_stays_nothing)
{
    for (int how = SDM_FILL_NONE; how <= SDM_FILL_INTERPOLATE; how++) {
        float d[6] = {N_, N_, N_, N_, N_, N_}, kept[2] = {N_, 7};
        assert_int_equal(sdm_pair_fill(ctx, (SdmPairFill)how, 3, 2, d), SDM_OK);
        for (int i = 0; i < 6; i++)
            assert_true(isnan(d[i]));
        assert_int_equal(sdm_pair_fill(ctx, (SdmPairFill)how, 2, 1, kept), SDM_OK);
        assert_true(kept[1] == 7.0f && (how == SDM_FILL_NONE ? isnan(kept[0]) : kept[0] == 7.0f));
        float one[4] = {1, N_, N_, N_};
        EACH_ALLOCATION_FAILS(sdm_pair_fill(ctx, (SdmPairFill)how, 2, 2, one),
                              assert_true(made == SDM_OK || (one[0] == 1.0f && isnan(one[1]))),
                              how == SDM_FILL_NONE ? 0 : 1, 1);
    }
}

RUN_TESTS(setup, teardown)
