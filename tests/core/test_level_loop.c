/* The chain from the coarse surface to full resolution, on a synthetic pair: cuts, narrow slopes, failures.
 * Truth: chain/test_accuracy.py. */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"
#include "bench/synthetic.h"
#include "matching/coarse_match.h"
#include "matching/level_loop.h"

enum { COARSE = 3 };

typedef struct Bench { /* a scene, its settings and coarse surface */
    SdmContext *ctx;
    SynScene scene;
    SdmMatchSettings settings;
    SdmSurface coarse;
} Bench;

static void bench_open(Bench *b, int width, int height, double slope, const char *cost)
{
    b->ctx = threaded_context(2);
    b->scene = (SynScene){.width = width,
                          .height = height,
                          .slope = slope,
                          .wave_px = 300.0,
                          .seed = 42,
                          .down = b->scene.down};
    assert_int_equal(sdm_syn_open(b->ctx, &b->scene), SDM_OK);
    assert_int_equal(sdm_match_settings(b->ctx, NULL, cost, "auto", 8.0f, &b->settings), SDM_OK);
    b->settings.coarse_level = COARSE;
    b->settings.coarsest_level = COARSE;
    const SdmWindow win = {.level = COARSE, .w = width >> COARSE, .h = height >> COARSE};
    assert_int_equal(sdm_syn_surface(b->ctx, &b->scene, &win, 0.4, &b->coarse), SDM_OK);
}

static void bench_close(Bench *b)
{
    sdm_surface_free(&b->coarse);
    sdm_syn_close(&b->scene);
    sdm_close(&b->ctx);
}

static SdmStatus fine(Bench *b, SdmContext *ctx, int u0, int v0, int w, int h, SdmFineResult *out)
{
    const SdmMatchInput in = sdm_syn_input(&b->scene, &b->settings);
    const SdmWindow win = {.u0 = u0, .v0 = v0, .w = w, .h = h};
    const SdmMatchCall call = {.in = &in, .coarse = &b->coarse, .win = &win, .need = &win};
    return sdm_match_window(ctx, &call, out);
}

static void same_bytes(const SdmFineResult *a, int ax, int ay, const SdmFineResult *b, int bx, int by, int w,
                       int h)
{
    for (int y = 0; y < h; y++) {
        const size_t i = (size_t)(ay + y) * (size_t)a->surface.win.w + (size_t)ax;
        const size_t j = (size_t)(by + y) * (size_t)b->surface.win.w + (size_t)bx, n = (size_t)w;
        assert_memory_equal(a->surface.h_m + i, b->surface.h_m + j, n * sizeof(float));
        assert_memory_equal(a->surface.flags + i, b->surface.flags + j, n * sizeof(uint16_t));
        assert_memory_equal(a->surface.score + i, b->surface.score + j, n);
        assert_memory_equal(a->ray_error_px + i, b->ray_error_px + j, n * sizeof(float));
        assert_memory_equal(a->left + i, b->left + j, n * sizeof(int16_t));
    }
}

/* A window cut shorter at one side gives the same pixels from the halo on: left, right, top, bottom. */
TEST(cuts_do_not_matter)
{
    enum { ACROSS = 96, INSIDE = 64 };
    for (int side = 0; side < 4; side++) {
        SDM_CLOSED_BY(bench_close) Bench b = {0};
        SDM_CLOSED_BY(sdm_fine_result_free) SdmFineResult whole = {0}, cut = {0};
        bench_open(&b, 64, 64, 0.8, "zncc");
        const int halo = sdm_match_halo(&b.settings, COARSE - 1), unit = 1 << COARSE, off = 7 * unit;
        const int along = (off + halo + INSIDE + unit - 1) / unit * unit, less = along - off;
        bench_close(&b);
        const bool u = side < 2, first = side % 2 == 0;
        const int w = u ? along : ACROSS, h = u ? ACROSS : along, start = first ? off : 0;
        bench_open(&b, w, h, 0.8, "zncc");
        assert_int_equal(fine(&b, b.ctx, 0, 0, w, h, &whole), SDM_OK);
        assert_int_equal(fine(&b, b.ctx, u ? start : 0, u ? 0 : start, u ? less : w, u ? h : less, &cut),
                         SDM_OK);
        const int from = first ? halo : 0, n = less - halo; /* in the cut window */
        assert_true(n >= INSIDE);
        if (u)
            same_bytes(&whole, start + from, 0, &cut, from, 0, n, h);
        else
            same_bytes(&whole, 0, start + from, &cut, 0, from, w, n);
    }
}

/* RMS of the errors of a level's surface, px of parallax of the level, inside a margin. */
static double rms_px(const SynScene *scene, const SdmSurface *s)
{
    enum { MARGIN = 16 };
    const double size = (double)(1 << s->win.level);
    double sum = 0.0;
    int n = 0;
    for (int y = MARGIN; y < s->win.h - MARGIN; y++)
        for (int x = MARGIN; x < s->win.w - MARGIN; x++, n++) {
            const double truth = sdm_syn_height(scene, (x + 0.5) * size - 0.5, (y + 0.5) * size - 0.5);
            const double e = ((double)s->h_m[y * s->win.w + x] - truth) * SYN_DU_DH / size;
            sum += e * e;
        }
    return sqrt(sum / n);
}

/* Mountain sides of 8 pixels, which windows of 9 do not follow when they begin from level ground: six rounds
 * take half of the error away.  A pixel that is not valid stays so. */
TEST_IN(narrow_slopes_are_sharpened, threaded_context(2))
{
    enum { W = 640, H = 480, LEVEL = 2, ROUNDS = 6, HOLE = 60 * (W >> LEVEL) + 80 };
    SDM_CLOSED_BY(sdm_syn_close)
    SynScene scene = {.width = W, .height = H, .slope = 0.8, .wave_px = 64.0, .seed = 42};
    SdmMatchSettings set;
    SDM_CLOSED_BY(sdm_surface_free) SdmSurface s = {0};
    const SdmWindow win = {.level = LEVEL, .w = W >> LEVEL, .h = H >> LEVEL};
    assert_int_equal(sdm_syn_open(ctx, &scene), SDM_OK);
    assert_int_equal(sdm_match_settings(ctx, NULL, "zncc", "auto", 8.0f, &set), SDM_OK);
    assert_int_equal(sdm_syn_surface(ctx, &scene, &win, 0.0, &s), SDM_OK);
    for (int i = 0; i < win.w * win.h; i++)
        s.h_m[i] = (float)scene.lattice.height0_m;
    const SdmMatchInput in = sdm_syn_input(&scene, &set);
    for (int i = 0; i < 2; i++)
        assert_int_equal(sdm_coarse_run_sequence(ctx, &in, SDM_SEQUENCE_COARSE_FIRST, &s), SDM_OK);
    s.flags[HOLE] = SDM_QA_ISOLATED;
    const double before = rms_px(&scene, &s);
    for (int i = 0; i < ROUNDS; i++)
        assert_int_equal(sdm_sharpen_level(ctx, &in, &s), SDM_OK);
    const double after = rms_px(&scene, &s);
    print_message("narrow slopes: %.3f px of error, sharpened %.3f px\n", before, after);
    assert_true(before > 0.2); /* there was something to do */
    assert_true(after < 0.6 * before);
    assert_int_equal(s.flags[HOLE], SDM_QA_ISOLATED);
}

/* The n-th allocation fails, for every n: a sentence, nothing left behind, an empty result. */
TEST(failed_allocations_are_told)
{
    enum { W = 64, H = 64 };
    SDM_CLOSED_BY(bench_close) Bench b = {0};
    bench_open(&b, W, H, 0.5, "zncc");
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = threaded_context(1);
    SdmFineResult r;
    memset(&r, CANARY, sizeof r);
    EACH_ALLOCATION_FAILS(
        fine(&b, ctx, 0, 0, W, H, &r),
        assert_true(made == SDM_OK || (!r.surface.h_m && !r.surface.flags && !r.surface.score &&
                                       !r.ray_error_px && !r.left && memset(&r, CANARY, sizeof r))),
        20, 1);
    sdm_fine_result_free(&r);
}

RUN_TESTS(NULL, NULL)
