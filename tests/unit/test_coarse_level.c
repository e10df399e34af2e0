/* A coarse level of the whole scene by strips of rows: the same bytes as in one piece. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/coarse_surface.h"
#include "bench/synthetic.h"
#include "core/context.h"
#include "tests/case.h"

enum { W = 512, H = 1200, LEVEL = 1 };

typedef struct Result {
    SdmContext *ctx; /* which the memory is charged to */
    SdmSurface surface;
    SdmTiePoints points;
    int64_t peak; /* bytes */
} Result;

/* The level from the one above, and its tie points, within a budget. */
static void compute(const SynScene *scene, const char *cost, const char *optimizer, int64_t memory,
                    Result *out)
{
    SdmOptions opt = default_options();
    SdmMatchSettings set;
    SdmSurface from;
    const SdmPointing pointing = {.dir = {0.0, 1.0}, .scale = {1.0, 1.0}, .terms = 1};
    const SdmWindow above = {.level = LEVEL + 1, .w = W >> 2, .h = H >> 2};
    opt.optimizer = optimizer;
    opt.threads = 2;
    SdmContext *const ctx = context_of(&opt);
    ctx->options.memory_bytes = memory; /* less than an option may be */
    assert_int_equal(sdm_match_settings(ctx, &opt, cost, "auto", 8.0f, &set), SDM_OK);
    assert_int_equal(sdm_syn_surface(ctx, scene, &above, 0.4, &from), SDM_OK);
    const SdmMatchInput in = sdm_syn_input(scene, &set);
    *out = (Result){.ctx = ctx, .surface = {.win = {.level = LEVEL, .w = W >> 1, .h = H >> 1}}};
    assert_int_equal(sdm_coarse_level(ctx, &in, memory, &from, &out->surface), SDM_OK);
    assert_int_equal(sdm_coarse_pass(ctx, &in, memory, SDM_COARSE_REMATCH, &out->surface), SDM_OK);
    for (int i = 0; i < 2; i++) /* the second starts from what the first left of every strip */
        assert_int_equal(sdm_coarse_pass(ctx, &in, memory, SDM_COARSE_SHARPEN, &out->surface), SDM_OK);
    out->peak = sdm_memory_peak(ctx);
    SdmTerrainEvidence e = {0};
    assert_int_equal(sdm_coarse_evidence(ctx, &in, memory, &out->surface, &e), SDM_OK);
    const SdmTiePointSource source = {.lattice = &scene->lattice,
                                      .in_use = &pointing,
                                      .surface = &out->surface,
                                      .ray_error_v = e.ray_error_v,
                                      .block = 4};
    assert_int_equal(sdm_tie_points_alloc(ctx, (size_t)(W >> 3) * (size_t)(H >> 3), &out->points), SDM_OK);
    sdm_tie_points_add(&source, &out->points);
    sdm_free(&e.ray_error_v);
    sdm_free(&e.grey);
    sdm_free(&e.score);
    sdm_surface_free(&from);
}

static void release(Result *r)
{
    sdm_surface_free(&r->surface);
    sdm_free(&r->points.point);
    sdm_close(&r->ctx);
}

static void same(const Result *a, const Result *b)
{
    const size_t n = (size_t)a->surface.win.w * (size_t)a->surface.win.h;
    assert_memory_equal(a->surface.h_m, b->surface.h_m, n * sizeof *a->surface.h_m);
    assert_memory_equal(a->surface.flags, b->surface.flags, n * sizeof *a->surface.flags);
    assert_memory_equal(a->surface.score, b->surface.score, n);
    assert_int_equal(a->points.count, b->points.count);
    assert_memory_equal(a->points.point, b->points.point, a->points.count * sizeof *a->points.point);
}

/* Strips of 64, 112, 176 and 280 rows, against one piece. */
static void strips(const char *cost, const char *optimizer, bool smaller)
{
#ifdef __SANITIZE_ADDRESS__ /* which take ten times as long: of 64 and of 280 rows */
    static const int64_t memory[] = {1 << 20, 20 << 20};
    const size_t cut_small = 1;
#else
    static const int64_t memory[] = {1 << 20, 12 << 20, 15 << 20, 20 << 20};
    const size_t cut_small = 2;
#endif
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = default_context();
    SDM_CLOSED_BY(sdm_syn_close)
    SynScene scene = {.width = W, .height = H, .slope = 0.6, .wave_px = 150.0, .seed = 42};
    Result whole, cut;
    assert_int_equal(sdm_syn_open(ctx, &scene), SDM_OK);
    /* a dark band without texture, so that rejection, retry and filling have work across the cuts */
    SdmLevelImage *const im = &scene.left_pyramid.level[LEVEL];
    for (int64_t y = im->h / 3; y < im->h / 3 + 60; y++)
        for (int64_t x = im->w / 4; x < im->w / 2; x++)
            im->data[y * im->w + x] = 0;
    compute(&scene, cost, optimizer, INT64_C(2) << 30, &whole);
    assert_true(whole.points.count > 1000);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) {
        compute(&scene, cost, optimizer, memory[i], &cut);
        print_message("%s, %s, %lld MiB: %.1f MiB at most, in one piece %.1f\n", cost, optimizer,
                      (long long)(memory[i] >> 20), (double)cut.peak / 0x1p20, (double)whole.peak / 0x1p20);
        same(&whole, &cut);
        if (smaller && i < cut_small)
            assert_true(cut.peak < whole.peak);
        release(&cut);
    }
    release(&whole);
}

/* Labels depend on the rows that are taken together: the budget must not choose them. */
TEST(budgets_change_nothing)
{
    strips("zncc", "local", true);
    strips("census", "local", true);
    strips("census", "sgm", false);
}

RUN_TESTS(NULL, NULL)
