/* The sweep of planes at the coarsest level: which heights it reaches, tilts, rows across, repeated patterns.
 */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"
#include "bench/synthetic.h"
#include "matching/coarse_match.h"

enum { W = 1024, H = 512, LEVEL = 3 };
static const double PIXEL_HEIGHT_M = (1 << LEVEL) / SYN_DU_DH; /* 200 m of height for a pixel of the level */

typedef struct Bench {
    SdmContext *ctx;
    SynScene scene;
    SdmMatchSettings settings;
    SdmSurface s;
} Bench;

static void bench_open(Bench *b, double slope, double wave_px)
{
    const SdmWindow win = {.level = LEVEL, .w = W >> LEVEL, .h = H >> LEVEL};
    b->ctx = default_context();
    b->scene = (SynScene){.width = W, .height = H, .slope = slope, .wave_px = wave_px, .seed = 7};
    assert_int_equal(sdm_syn_open(b->ctx, &b->scene), SDM_OK);
    assert_int_equal(sdm_match_settings(b->ctx, NULL, "zncc", "auto", 8.0f, &b->settings), SDM_OK);
    b->settings.coarse_level = b->settings.coarsest_level = LEVEL;
    assert_int_equal(sdm_surface_alloc(b->ctx, &win, &b->s), SDM_OK);
}

static void bench_close(Bench *b)
{
    sdm_surface_free(&b->s);
    sdm_syn_close(&b->scene);
    sdm_close(&b->ctx);
}

/* Start `off_px` pixels of parallax off the true mean height; the share that is matched. */
static double sweep(Bench *b, double off_px, double half_range_px, int v_shift)
{
    const SdmMatchInput in = sdm_syn_input(&b->scene, &b->settings);
    const SdmCoarsestSearch q = {
        .half_range_px = half_range_px, .pixel_m = SYN_GSD_M * (1 << LEVEL), .v_shift = v_shift};
    double share = -1.0;
    for (int i = 0; i < b->s.win.w * b->s.win.h; i++) {
        b->s.h_m[i] = (float)(b->scene.lattice.height0_m + off_px * PIXEL_HEIGHT_M);
        b->s.flags[i] = 0;
        b->s.score[i] = 0;
    }
    assert_int_equal(sdm_coarsest_search(b->ctx, &in, &q, &b->s, &share), SDM_OK);
    return share;
}

/* Share of the pixels away from the edge that lie within a pixel of parallax of the truth. */
static double right_share(const Bench *b)
{
    int good = 0, all = 0;
    for (int y = 6; y < b->s.win.h - 6; y++)
        for (int x = 6; x < b->s.win.w - 6; x++) {
            const double truth =
                sdm_syn_height(&b->scene, (x + 0.5) * (1 << LEVEL) - 0.5, (y + 0.5) * (1 << LEVEL) - 0.5);
            good += fabs((double)b->s.h_m[y * b->s.win.w + x] - truth) < PIXEL_HEIGHT_M;
            all++;
        }
    return (double)good / all;
}

/* Planes lie 18 px apart and are searched by 10 px each way: 4 px need one plane, 25 px three. */
TEST(flat_ground_is_found_in_the_range)
{
    static const double off[] = {0.0, 3.0, -3.9, 9.0, -9.5, 17.0, -24.0, 24.9};
    SDM_CLOSED_BY(bench_close) Bench b = {0};
    bench_open(&b, 0.0, 300.0);
    for (size_t i = 0; i < sizeof off / sizeof *off; i++) {
        const double share = sweep(&b, off[i], fabs(off[i]) < 4.0 ? 4.0 : 25.0, 0), good = right_share(&b);
        print_message("flat, %.1f px off: %.1f %% matched, %.1f %% right\n", off[i], 100.0 * share,
                      100.0 * good);
        assert_true(share > 0.95 && good > 0.98);
    }
}

/* Share of all pixels that are called matched but are off by more than a pixel of parallax. */
static double invented(const Bench *b)
{
    int wrong = 0;
    const int n = b->s.win.w * b->s.win.h;
    for (int i = 0; i < n; i++)
        wrong += (b->s.flags[i] & SDM_QA_VALID) &&
                 fabs((double)b->s.h_m[i] - b->scene.lattice.height0_m) > PIXEL_HEIGHT_M;
    return (double)wrong / n;
}

/* Level planes stop at the range; tilted ones, which pivot about the middle column, come by the truth at one
 * place. */
TEST(beyond_the_range_nothing_is_invented)
{
    static const double off[2] = {14.0, -45.0}, range[2] = {4.0, 25.0}; /* +-5 px and +-28 px are searched */
    SDM_CLOSED_BY(bench_close) Bench b = {0};
    bench_open(&b, 0.0, 300.0);
    for (int i = 0; i < 2; i++) {
        const double share = sweep(&b, off[i], range[i], 0), wrong = invented(&b);
        print_message("%.0f px off, +-%.0f px searched: %.1f %% matched, %.1f %% wrongly\n", off[i], range[i],
                      100.0 * share, 100.0 * wrong);
        assert_true(share < 0.4 && wrong < 0.05);
    }
}

/* Waves so long that the window sees a tilted plane: 0.7 up and down along u, 8 px of height. */
TEST(slopes_are_followed)
{
    SDM_CLOSED_BY(bench_close) Bench b = {0};
    bench_open(&b, 0.7, 900.0);
    const double share = sweep(&b, 2.0, 12.0, 0), good = right_share(&b);
    print_message("slopes of 0.7: %.1f %% matched, %.1f %% right\n", 100.0 * share, 100.0 * good);
    assert_true(share > 0.7 && good > 0.9);
}

/* The right rows belong half a full-resolution pixel down: nearest is no shift of the level's rows. */
TEST(rows_across)
{
    SDM_CLOSED_BY(bench_close) Bench b = {0};
    bench_open(&b, 0.0, 300.0);
    const double none = sweep(&b, 0.0, 4.0, 0), four = sweep(&b, 0.0, 4.0, 4), back = sweep(&b, 0.0, 4.0, -4);
    assert_true(none > 0.95 && four < 0.3 && back < 0.3);
}

static void put_stripes(SdmLevelImage *im, int period)
{
    for (int64_t y = 0; y < im->h; y++)
        for (int64_t x = 0; x < im->w; x++) {
            const double phase = 6.283185307179586 * (double)(x + im->x0) / period;
            im->data[y * im->w + x] =
                (int16_t)(800.0 * sin(phase) + 300.0 * sin(2.0 * phase + (double)(y + im->y0)));
        }
}

/* A pattern that repeats within the range fits at two heights as well: no height, and the reason. */
TEST(repeated_patterns_are_ambiguous)
{
    SDM_CLOSED_BY(bench_close) Bench b = {0};
    bench_open(&b, 0.0, 300.0);
    put_stripes(&b.scene.left_pyramid.level[LEVEL], 24);
    put_stripes(&b.scene.right_pyramid.level[LEVEL], 24);
    assert_true(sweep(&b, 0.0, 25.0, 0) < 0.05);
    int said = 0;
    for (int i = 0; i < b.s.win.w * b.s.win.h; i++)
        said += (b.s.flags[i] & SDM_QA_AMBIGUOUS) != 0;
    print_message("stripes: %.1f %% ambiguous\n", 100.0 * said / (b.s.win.w * b.s.win.h));
    assert_true(said > b.s.win.w * b.s.win.h / 2);
}

RUN_TESTS(NULL, NULL)
