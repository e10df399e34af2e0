/* Belief propagation on Middlebury's Tsukuba, as the MEMOCODE 2013 contest set it; skipped where the images
 * are not at hand. */
// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <gdal.h>

#include "bench/bench_bp.h"
#include "rectified/image_load.h"

#define FOLDER SDM_SOURCE_DIR "/../shared/data/middlebury/tsukuba/"

enum { PUBLISHED_MISMATCHES = 15716, KNOWN = 87696, SEQUENTIAL = 50 };

typedef struct Scene {
    SdmContext *ctx;
    SdmImagePair views, truth;
    uint8_t *label, *costs;
    SdmBpField field;
} Scene;
static Scene scene;

static int setup(void **state)
{
    (void)state;
    Scene *const s = &scene;
    GDALAllRegister();
    if (sdm_open(&s->ctx, NULL) != SDM_OK ||
        sdm_image_pair_load(s->ctx, FOLDER "im_left.png", FOLDER "im_right.png", 0, false, &s->views) != SDM_OK ||
        sdm_image_pair_load(s->ctx, FOLDER "disp_left.png", FOLDER "disp_left.png", 0, false, &s->truth) != SDM_OK)
        return 1;
    const size_t n = (size_t)s->views.width * (size_t)s->views.height;
    s->label = malloc(n);
    s->costs = malloc(n * SDM_BENCH_BP_LABELS);
    if (!s->label || !s->costs)
        return 1;
    for (size_t i = 0; i < n; i++)
        s->label[i] = (uint8_t)(s->truth.left[i] / 16);
    SdmPairImage image[2] = {{.width = s->views.width, .height = s->views.height, .stride = s->views.width,
                              .data = s->views.left, .eight_bit = true}};
    image[1] = image[0];
    image[1].data = s->views.right;
    s->field = (SdmBpField){.width = s->views.width, .height = s->views.height, .labels = SDM_BENCH_BP_LABELS,
                            .pitch = SDM_BENCH_BP_LABELS, .data = s->costs, .weight = SDM_BENCH_BP_WEIGHT,
                            .truncation = SDM_BENCH_BP_TRUNCATION};
    return sdm_bench_bp_costs(s->ctx, image, SDM_BENCH_BP_WINDOW, SDM_BENCH_BP_MOST, s->costs) != SDM_OK;
}

static int teardown(void **state)
{
    (void)state;
    sdm_image_pair_free(&scene.views);
    sdm_image_pair_free(&scene.truth);
    free(scene.label);
    free(scene.costs);
    sdm_close(&scene.ctx);
    return 0;
}

static SdmBenchBpRow row_of(int tile, int outer, int inner)
{
    SdmBenchBpRow r = {.tile = tile, .outer = outer, .inner = inner, .weight = SDM_BENCH_BP_WEIGHT};
    assert_int_equal(sdm_bench_bp_row(scene.ctx, &scene.field, scene.label, "auto", &r), SDM_OK);
    return r;
}

static long long energy(const SdmBenchBpRow *r) { return (long long)(r->sums[0] + r->sums[1]); }

/* 3 x 3 of known differences by hand: left 10, right 10 but one pixel of 40, window 3, differences at
 * most 20. */
static void costs_by_hand(void **state)
{
    (void)state;
    const int16_t left[9] = {10, 10, 10, 10, 10, 10, 10, 10, 10},
                  right[9] = {10, 10, 10, 10, 40, 10, 10, 10, 10};
    uint8_t out[9 * SDM_BENCH_BP_LABELS];
    const SdmPairImage as = {.width = 3, .height = 3, .stride = 3, .eight_bit = true, .data = left};
    SdmPairImage image[2] = {as, as};
    image[1].data = right;
    assert_int_equal(sdm_bench_bp_costs(scene.ctx, image, 3, 20, out), SDM_OK);
    for (int i = 0; i < 9; i++)
        assert_int_equal(out[i * SDM_BENCH_BP_LABELS], 2); /* one difference of 20 in nine */
    /* label 1 at the middle: the left column has none of its own (20 each), the right pixel x = 1 is seen
     * from x = 2: (3 x 20 + 20) / 9 */
    assert_int_equal(out[4 * SDM_BENCH_BP_LABELS + 1], 9);
    assert_int_equal(out[3 * SDM_BENCH_BP_LABELS + 1], 20);
}

static void paper_configuration(void **state)
{
    (void)state;
    int known = 0;
    for (int i = 0; i < scene.views.width * scene.views.height; i++)
        known += scene.label[i] != 0;
    assert_int_equal(known, KNOWN);
    const SdmBenchBpRow r = row_of(SDM_BENCH_BP_TILE, 1, 1);
    print_message("1 + 1 iterations: %lld mismatches, published %d\n", (long long)r.wrong,
                  PUBLISHED_MISMATCHES);
    assert_true(r.wrong <= PUBLISHED_MISMATCHES);
}

/* In the tiles of the thesis it depends on the weight, whose unit the contest's costs would tell: more
 * mismatches than published with ours and the contest's own number, fewer with a quarter more. */
static void paper_tiles(void **state)
{
    (void)state;
    static const struct {
        int weight;
        bool below;
    } cases[] = {{16, false}, {SDM_BENCH_BP_WEIGHT, false}, {40, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        SdmBenchBpRow r = {
            .tile = SDM_BENCH_BP_PAPER_TILE, .outer = 1, .inner = 1, .weight = cases[i].weight};
        assert_int_equal(sdm_bench_bp_row(scene.ctx, &scene.field, scene.label, "auto", &r), SDM_OK);
        print_message("tiles of %d px, weight %d: %lld mismatches\n", r.tile, r.weight, (long long)r.wrong);
        assert_int_equal(r.wrong <= PUBLISHED_MISMATCHES, cases[i].below);
    }
}

/* Five visits of tiles reach what fifty iterations over the whole image do, with three inner iterations; in
 * tiles of 16 px with two.  One is not enough, nor are five over the whole image. */
static void energy_after_five(void **state)
{
    (void)state;
    long long best = INT64_MAX;
    for (int n = 1; n <= SEQUENTIAL; n++) {
        const SdmBenchBpRow r = row_of(0, 1, n);
        best = energy(&r) < best ? energy(&r) : best;
    }
    const SdmBenchBpRow r = row_of(SDM_BENCH_BP_TILE, 5, 3), once = row_of(SDM_BENCH_BP_TILE, 5, 1),
                        small = row_of(16, 5, 2), whole = row_of(0, 1, 5);
    print_message(
        "best of %d sequential iterations: %lld, after 5: %lld; 5 outer iterations: %lld with 3 inner, %lld "
        "with 1; in tiles of 16 px %lld with 2\n",
        (int)SEQUENTIAL, best, energy(&whole), energy(&r), energy(&once), energy(&small));
    assert_true((double)energy(&r) <= 1.02 * (double)best);
    assert_true((double)energy(&small) <= 1.02 * (double)best);
    assert_true((double)energy(&whole) > 1.02 * (double)best);
    assert_true(energy(&once) > energy(&whole));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(costs_by_hand), cmocka_unit_test(paper_configuration),
                                       cmocka_unit_test(paper_tiles),
                                       cmocka_unit_test(energy_after_five)};
    if (access(FOLDER "im_left.png", R_OK) != 0) {
        print_message("SKIPPED: no Middlebury images\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, setup, teardown);
}
