/* Filters of the surface: answers by hand.  That cuts and threads change nothing: test_level_loop.c,
 * chain/test_identity.py. */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"
#include "two_contexts.h"

#include "matching/filters.h"
#include "matching/validation.h"

static SdmSurface surface_of(int w, int h, const float *h_m, uint16_t flags)
{
    SdmSurface s;
    const SdmWindow win = {.w = w, .h = h};
    assert_int_equal(sdm_surface_alloc(ctx, &win, &s), SDM_OK);
    for (int i = 0; i < w * h; i++) {
        s.h_m[i] = h_m ? h_m[i] : 0.0f;
        s.flags[i] = flags;
    }
    return s;
}

/* The median of the heights h. */
static void median_of(const SdmKernels *k, SdmSurface *s, const float h[9])
{
    memcpy(s->h_m, h, 9 * sizeof *h);
    assert_int_equal(sdm_surface_median(ctx, k, s), SDM_OK);
}

TEST(median_by_hand)
{
    static const float h[9] = {9, 1, 8, 2, 100, 7, 3, 6, 4};
    SDM_CLOSED_BY(sdm_surface_free) SdmSurface s = surface_of(3, 3, h, SDM_QA_VALID);
    const SdmKernels *const kernels[2] = {&sdm_kernels_reference, sdm_kernels_at("auto")};
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < 9; i++)
            s.flags[i] = SDM_QA_VALID;
        median_of(kernels[k], &s, h);
        assert_true(s.h_m[4] == 6.0f);                     /* 1 2 3 4 6 7 8 9 100 */
        assert_true(s.h_m[3] == 2.0f && s.h_m[5] == 7.0f); /* the ends of a row stay */
        assert_true(s.h_m[1] == 8.0f); /* above the first row lies itself: 1 1 2 7 8 8 9 9 100 */
        s.flags[0] = SDM_QA_LOW_SCORE;
        median_of(kernels[k], &s, h);
        assert_true(s.h_m[4] == 5.0f); /* without the 9: between 4 and 6 */
        for (int i = 5; i < 9; i++)
            s.flags[i] = SDM_QA_OUTSIDE;
        median_of(kernels[k], &s, h);
        assert_true(s.h_m[4] == 100.0f); /* 4 valid ones are too few */
        s.flags[0] = SDM_QA_VALID;
        median_of(kernels[k], &s, h);
        assert_true(s.h_m[4] == 8.0f); /* 5: 1 2 8 9 100 */
        s.flags[4] = SDM_QA_AMBIGUOUS;
        s.flags[5] = s.flags[6] = SDM_QA_VALID;
        median_of(kernels[k], &s, h);
        assert_true(s.h_m[4] == 100.0f); /* no match there: stays */
    }
}

/* One pixel of 7 x 7 moved by 10 m since the prior while all others moved by 3: it alone goes, but where it is within the
 * tolerance; of corners, which have 4, 5 of 9 are asked too many; what has a reason keeps it. */
TEST(reject_by_hand)
{
    enum { KEPT = SDM_QA_VALID | SDM_QA_SATURATED, GONE = SDM_QA_ISOLATED | SDM_QA_SATURATED };
    static const struct {
        SdmRejection how;
        uint16_t corner, middle;
    } of[] = {{{1, 1.0f, 0.3f}, KEPT, GONE},
              {{1, 7.0f, 0.3f}, KEPT, KEPT},
              {{1, 1.0f, 0.5f}, GONE, GONE},
              {{3, 1.0f, 0.1f}, SDM_QA_FOLD, GONE}};
    float prior[49];
    uint16_t flags[49];
    SDM_CLOSED_BY(sdm_surface_free) SdmSurface s = surface_of(7, 7, NULL, KEPT);
    for (int i = 0; i < 49; i++) {
        prior[i] = (float)(i % 5) * 40.0f;
        s.h_m[i] = prior[i] + (i == 24 ? 10.0f : 3.0f);
    }
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < 49 && k == 3; i++)
            s.flags[i] = i % 7 % 6 == 0 && i / 7 % 6 == 0 ? SDM_QA_FOLD : KEPT;
        assert_int_equal(sdm_surface_reject(ctx, sdm_kernels_at("auto"), &s, prior, &of[k].how, flags),
                         SDM_OK);
        for (int i = 0; i < 49; i++)
            assert_int_equal(flags[i], i == 24                            ? of[k].middle
                                       : i % 7 % 6 == 0 && i / 7 % 6 == 0 ? of[k].corner
                                                                          : KEPT);
    }
}

/* The mean change of the window about pixel x, y; false where too few pixels are valid. */
static bool mean_change(const SdmSurface *s, const float *prior, int x, int y, const SdmFill *f, float *mean)
{
    int64_t sum = 0;
    int n = 0;
    for (int j = y - f->half; j <= y + f->half; j++)
        for (int i = x - f->half; i <= x + f->half; i++) {
            const int at = j * s->win.w + i;
            if (i < 0 || j < 0 || i >= s->win.w || j >= s->win.h || !(s->flags[at] & SDM_QA_VALID))
                continue;
            sum += (int64_t)floorf((s->h_m[at] - prior[at]) * 64.0f + 0.5f);
            n++;
        }
    *mean = n ? (float)((double)sum / n) * 0.015625f : 0.0f;
    return n >= f->least;
}

/* Holes of all sizes, some wider than a strip of columns, held against the definition. */
TEST(fill_of_two_windows)
{
    enum { W = 333, H = 61, N = W * H };
    static const SdmFill near = {.half = 2, .least = 5}, far = {.half = 9, .least = 20, .else_prior = true};
    static float prior[N], want[N];
    static uint8_t filled[N], mean_taken[N];
    uint64_t seed = 7;
    for (int turn = 0; turn < 4; turn++) {
        SDM_CLOSED_BY(sdm_surface_free) SdmSurface s = surface_of(W, H, NULL, SDM_QA_VALID);
        const SdmFill *const second = turn < 2 ? &far : NULL;
        for (int i = 0; i < N; i++) {
            const int x = i % W, y = i / W;
            prior[i] = (float)(next_random(&seed) % 4096) / 16.0f;
            s.h_m[i] = prior[i] + (float)(next_random(&seed) % 2000) / 64.0f;
            if (next_random(&seed) % (turn % 2 ? 3 : 200) == 0 || (x / 40 + y / 20) % 3 == 0)
                s.flags[i] = SDM_QA_LOW_SCORE;
        }
        for (int i = 0; i < N; i++) {
            float mean = 0.0f;
            want[i] = s.h_m[i];
            mean_taken[i] = 0;
            if (s.flags[i] & SDM_QA_VALID)
                continue;
            mean_taken[i] = mean_change(&s, prior, i % W, i / W, &near, &mean) ||
                            (second && mean_change(&s, prior, i % W, i / W, second, &mean));
            want[i] = mean_taken[i] ? prior[i] + mean : second ? prior[i] : s.h_m[i];
        }
        assert_int_equal(
            sdm_surface_fill(turn % 2 ? ctx3 : ctx, sdm_kernels_at("auto"), &s, prior, &near, second, filled),
            SDM_OK);
        assert_memory_equal(s.h_m, want, sizeof want);
        assert_memory_equal(filled, mean_taken, sizeof filled);
    }
}

TEST(smooth_by_hand)
{
    static const float want[9] = {1, 2, 1, 2, 4, 2, 1, 2, 1};
    SDM_CLOSED_BY(sdm_surface_free)
    SdmSurface s = surface_of(5, 5, NULL, SDM_QA_VALID), edge = surface_of(1, 1, NULL, SDM_QA_VALID);
    s.h_m[12] = 16.0f;
    assert_int_equal(sdm_surface_smooth(ctx, sdm_kernels_at("auto"), &s), SDM_OK);
    for (int y = 1; y < 4; y++)
        for (int x = 1; x < 4; x++)
            assert_true(s.h_m[5 * y + x] == want[3 * (y - 1) + x - 1]);
    assert_true(s.h_m[0] == 0.0f);
    edge.h_m[0] = 7.0f;
    assert_int_equal(sdm_surface_smooth(ctx, sdm_kernels_at("auto"), &edge), SDM_OK);
    assert_true(edge.h_m[0] == 7.0f);
}

/* Height = 3 u - 2 v of the level below: pixel i of the coarse level is at 2 i + 0.5 of the fine one. */
TEST(refine_keeps_planes)
{
    const SdmWindow wide = {.level = 1, .u0 = -4, .v0 = 10, .w = 20, .h = 12};
    const SdmWindow fine_win = {.u0 = -6, .v0 = 23, .w = 33, .h = 17};
    SDM_CLOSED_BY(sdm_surface_free) SdmSurface coarse = {0}, fine = {0};
    assert_int_equal(sdm_surface_alloc(ctx, &wide, &coarse), SDM_OK);
    assert_int_equal(sdm_surface_alloc(ctx, &fine_win, &fine), SDM_OK);
    for (int j = 0; j < wide.h; j++)
        for (int i = 0; i < wide.w; i++)
            coarse.h_m[j * wide.w + i] =
                3.0f * (2.0f * (float)(wide.u0 + i) + 0.5f) - 2.0f * (2.0f * (float)(wide.v0 + j) + 0.5f);
    sdm_surface_refine(ctx, sdm_kernels_at("auto"), &coarse, &fine);
    for (int j = 0; j < fine_win.h; j++)
        for (int i = 0; i < fine_win.w; i++)
            assert_true(fine.h_m[j * fine_win.w + i] ==
                        3.0f * (float)(fine_win.u0 + i) - 2.0f * (float)(fine_win.v0 + j));
}

/* ---- how steep a filled height may be ---- */

enum { FIELD = 41, HOLE0 = 17, HOLE1 = 24 /* its columns and rows */ };

static bool in_hole(int i)
{
    const int x = i % FIELD, y = i / FIELD;
    return x >= HOLE0 && x < HOLE1 && y >= HOLE0 && y < HOLE1;
}

/* How many pixels of a filled hole, which is not matched for that reason, are accepted. */
static int accepted(SdmSurface *s, uint16_t reason, const SdmFillLimit *limit)
{
    const SdmMatchSettings set = {.fill_limit = *limit, .hide_above = {INT16_MAX, INT16_MAX}};
    const SdmMatchInput in = {.settings = &set};
    uint16_t before[FIELD * FIELD];
    uint8_t filled[FIELD * FIELD];
    int n = 0;
    for (int i = 0; i < FIELD * FIELD; i++) {
        filled[i] = in_hole(i);
        before[i] = s->flags[i] = in_hole(i) && s->flags[i] == SDM_QA_VALID ? reason : s->flags[i];
    }
    assert_int_equal(sdm_accept_filled(ctx, &in, filled, s), SDM_OK);
    for (int i = 0; i < FIELD * FIELD; i++) {
        const bool taken = s->flags[i] == (SDM_QA_VALID | SDM_QA_FILLED);
        assert_true(filled[i] && !(before[i] & (SDM_QA_VALID | SDM_QA_OUTSIDE))
                        ? taken || s->flags[i] == (before[i] | SDM_QA_FILLED)
                        : s->flags[i] == before[i]);
        n += taken;
    }
    return n;
}

/* A field that rises by u and v metres a pixel, and by `step` to the right of the hole. */
static SdmSurface field(float u, float v, float step)
{
    const SdmSurface s = surface_of(FIELD, FIELD, NULL, SDM_QA_VALID);
    for (int i = 0; i < FIELD * FIELD; i++)
        s.h_m[i] =
            1000.0f + u * (float)(i % FIELD) + v * (float)(i / FIELD) + (i % FIELD >= HOLE1 ? step : 0.0f);
    return s;
}

/* The limit is that of the ground, whichever way it slopes and however far the left view looks aside. */
TEST(fill_is_as_steep_as_the_limit)
{
    static const struct {
        float u, v, rise_m, slant;
        bool all;
    } of[] = {{0.0f, 0.0f, 5.46f, 0.0f, true},
              {5.4f, 0.0f, 5.46f, 0.0f, true},
              {5.5f, 0.0f, 5.46f, 0.0f, false},
              {0.0f, -5.4f, 5.46f, 0.0f, true},
              {0.0f, -5.5f, 5.46f, 0.0f, false},
              {3.84f, -3.84f, 5.46f, 0.0f, true},
              {3.9f, -3.9f, 5.46f, 0.0f, false},
              {6.1f, 0.0f, 5.46f, 0.02f, true}, /* 6.1 / (1 + 0.02 * 6.1) */
              {6.2f, 0.0f, 5.46f, 0.02f, false},
              {-4.9f, 0.0f, 5.46f, 0.02f, true}, /* 4.9 / (1 - 0.02 * 4.9) */
              {-5.0f, 0.0f, 5.46f, 0.02f, false},
              {-60.0f, 0.0f, 5.46f, 0.02f, false}, /* such a slope is not seen */
              {400.0f, 0.0f, INFINITY, 0.0f, true},
              {0.0f, 0.0f, 0.0f, 0.0f, false}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        SDM_CLOSED_BY(sdm_surface_free) SdmSurface s = field(of[i].u, of[i].v, 0.0f);
        const SdmFillLimit limit = {of[i].rise_m, {of[i].slant, 0.0f}};
        assert_int_equal(accepted(&s, SDM_QA_LOW_SCORE, &limit),
                         of[i].all ? (HOLE1 - HOLE0) * (HOLE1 - HOLE0) : 0);
    }
}

/* A level fill at the foot of a step stays where the step is out of reach. */
TEST(steps_at_the_rim_count)
{
    const SdmFillLimit limit = {.rise_m = 5.46f};
    SDM_CLOSED_BY(sdm_surface_free) SdmSurface s = field(0.0f, 0.0f, 60.0f);
    assert_int_equal(accepted(&s, SDM_QA_AMBIGUOUS, &limit),
                     (HOLE1 - HOLE0) * (HOLE1 - HOLE0 - SDM_SLOPE_HALF - SDM_STEEP_HALF));
    for (int i = 0; i < FIELD * FIELD; i++) /* nothing around tells how steep it is */
        s.flags[i] = SDM_QA_OUTSIDE;
    s.flags[HOLE0 * FIELD + HOLE0] = SDM_QA_AMBIGUOUS;
    assert_int_equal(accepted(&s, SDM_QA_AMBIGUOUS, &limit), 0);
}

/* ---- Wiener filter ---- */

/* Root mean square of what is off the plane in columns x0..x1 - 1. */
static double off_plane(const SdmSurface *s, int x0, int x1)
{
    double sum = 0.0;
    int n = 0;
    for (int y = 30; y < s->win.h - 30; y++)
        for (int x = x0; x < x1; x++, n++) {
            const double e = (double)s->h_m[y * s->win.w + x] - 0.5 * x - 0.25 * y;
            sum += e * e;
        }
    return sqrt(sum / n);
}

/* A plane with noise, and in the right half a ridge every 12 px: noise of the predicted size goes, ridges above it stay and
 * are not smoothed. */
TEST(wiener_smooths_plains_alone)
{
    enum { W = 640, H = 220 };
    static int16_t left[W * H];
    float ratio[256];
    SDM_CLOSED_BY(sdm_surface_free) SdmSurface s = surface_of(W, H, NULL, SDM_QA_VALID);
    for (int i = 0; i < 256; i++)
        ratio[i] = 0.05f;
    for (int i = 0; i < W * H; i++) {
        const int x = i % W, y = i / W, phase = x % 12;
        uint64_t seed = (uint64_t)(y * 4001 + x + 1);
        const float noise = (float)(next_random(&seed) % 1000) / 500.0f - 1.0f;
        const float slope = 0.5f * (float)x + 0.25f * (float)y;
        s.h_m[i] = slope + noise + (2 * x > W ? 20.0f * (float)(phase < 6 ? phase : 12 - phase) : 0.0f);
        s.score[i] = 240;
        left[i] = (int16_t)(next_random(&seed) % 200);
    }
    const double plain = off_plane(&s, 30, W / 2 - 40), ridges = off_plane(&s, W / 2 + 40, W - 30);
    assert_int_equal(sdm_surface_wiener(ctx, sdm_kernels_at("auto"), &s, left, ratio, 25.0f), SDM_OK);
    assert_true(off_plane(&s, 30, W / 2 - 40) < 0.25 * plain);
    assert_true(off_plane(&s, W / 2 + 40, W - 30) > 0.95 * ridges);
}

RUN_TESTS(setup, teardown)
