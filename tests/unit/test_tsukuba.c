/* Belief propagation on Middlebury's Tsukuba, as the MEMOCODE 2013 contest set it; skipped where the images
 * are not at hand. */
// SPDX-License-Identifier: Apache-2.0

#include <gdal.h>

#include "core/math.h"
#include "matching/belief_propagation.h"
#include "rectified/disparity_steps.h"
#include "rectified/pair.h"
#include "tests/case.h"

#define FOLDER SDM_SOURCE_DIR "/../shared/data/middlebury/tsukuba/"

enum { PUBLISHED_MISMATCHES = 15716, KNOWN = 87696, SEQUENTIAL = 50 };

/* The contest fixed 16 labels and steps that cost no more from 2 labels on, and gave its data costs as
 * numbers; the code it was made from averages absolute differences over 5 x 5.  Its weight was 16, with costs
 * of a scale that we do not know; ours is twice that.  The thesis's configuration is 1 outer and 1 inner
 * iteration in tiles of 13 px, which the 48 KiB of its device hold. */
enum { LABELS = 16, TRUNCATION = 2, WEIGHT = 32, TILE = 32, PAPER_TILE = 13, WINDOW = 5, MOST = 60 };

/* Differences of row y (or the nearest) at label l, added to sums with that sign. */
static void add_row(const SdmPairImage image[2], int y, int l, int most, int sign, int *sums)
{
    const int at = sdm_clamp(y, 0, image[0].height - 1);
    const int16_t *const left = image[0].data + at * image[0].stride, *const right = image[1].data +
                                                                                     at * image[1].stride;
    for (int x = 0; x < image[0].width; x++) {
        const int apart = x < l                    ? most
                          : left[x] < right[x - l] ? right[x - l] - left[x]
                                                   : left[x] - right[x - l];
        sums[x] += sign * (apart < most ? apart : most);
    }
}

/* Costs: absolute differences of samples, 8 bit, at most `most`, their mean over window x window (beside the
 * image its nearest pixel), rounded; `most` where x - label is left of the image.  out: height x width x 16. */
static void make_costs(const SdmPairImage image[2], int window, int most, uint8_t *out)
{
    const int w = image[0].width, h = image[0].height, half = window / 2, n = window * window;
    FREED int *const columns = malloc((size_t)w * sizeof *columns);
    assert_non_null(columns);
    for (int l = 0; l < LABELS; l++) {
        memset(columns, 0, (size_t)w * sizeof *columns);
        for (int y = -half; y < half; y++)
            add_row(image, y, l, most, 1, columns);
        for (int y = 0; y < h; y++) {
            add_row(image, y + half, l, most, 1, columns);
            for (int x = 0; x < w; x++) {
                int sum = 0;
                for (int k = -half; k <= half; k++)
                    sum += columns[sdm_clamp(x + k, 0, w - 1)];
                const int mean = (2 * sum + n) / (2 * n);
                out[((size_t)y * (size_t)w + (size_t)x) * LABELS + (size_t)l] =
                    (uint8_t)(x < l ? most : mean);
            }
            add_row(image, y - half, l, most, -1, columns);
        }
    }
}

typedef struct Scene {
    SdmContext *ctx;
    SdmImagePair views, truth;
    uint8_t *label, *costs;
    SdmBpField field;
} Scene;
static Scene scene;

FIXTURE(setup)
{
    Scene *const s = &scene;
    GDALAllRegister();
    if (sdm_open(&s->ctx, NULL) != SDM_OK ||
        sdm_image_pair_load(s->ctx, FOLDER "im_left.png", FOLDER "im_right.png", 0, false, &s->views) !=
            SDM_OK ||
        sdm_image_pair_load(s->ctx, FOLDER "disp_left.png", FOLDER "disp_left.png", 0, false, &s->truth) !=
            SDM_OK)
        return 1;
    const size_t n = (size_t)s->views.width * (size_t)s->views.height;
    s->label = malloc(n);
    s->costs = malloc(n * LABELS);
    if (!s->label || !s->costs)
        return 1;
    for (size_t i = 0; i < n; i++)
        s->label[i] = (uint8_t)(s->truth.samples[0][i] / 16);
    SdmPairImage image[2] = {{.width = s->views.width,
                              .height = s->views.height,
                              .stride = s->views.width,
                              .data = s->views.samples[0],
                              .eight_bit = true}};
    image[1] = image[0];
    image[1].data = s->views.samples[1];
    s->field = (SdmBpField){.width = s->views.width,
                            .height = s->views.height,
                            .labels = LABELS,
                            .pitch = LABELS,
                            .data = s->costs,
                            .weight = WEIGHT,
                            .truncation = TRUNCATION};
    make_costs(image, WINDOW, MOST, s->costs);
    return 0;
}

FIXTURE(teardown)
{
    sdm_image_pair_free(&scene.views);
    sdm_image_pair_free(&scene.truth);
    free(scene.label);
    free(scene.costs);
    sdm_close(&scene.ctx);
    return 0;
}

/* A configuration and its result. */
typedef struct Row {
    int tile, outer, inner, weight; /* tile 0: no tiles, `inner` iterations over the image */
    long long energy;
    int wrong; /* pixels of known truth whose label is not exactly it */
} Row;

static Row match(int tile, int outer, int inner, int weight)
{
    const Scene *const s = &scene;
    const size_t n = (size_t)s->field.width * (size_t)s->field.height;
    const SdmBpPlan plan = {tile ? tile : s->field.width, outer, inner};
    SdmBpField field = s->field;
    FREED uint16_t *const label = malloc(n * sizeof *label);
    int64_t sums[2];
    Row r = {.tile = tile, .outer = outer, .inner = inner, .weight = weight};
    field.weight = weight;
    assert_non_null(label);
    assert_int_equal(sdm_bp_run(s->ctx, &field, &plan, "auto", label), SDM_OK);
    sdm_bp_energy(&field, label, sums);
    r.energy = (long long)(sums[0] + sums[1]);
    for (size_t i = 0; i < n; i++)
        r.wrong += s->label[i] != 0 && s->label[i] != label[i];
    return r;
}

static Row row_of(int tile, int outer, int inner)
{
    return match(tile, outer, inner, WEIGHT);
}

/* 3 x 3 of known differences by hand: left 10, right 10 but one pixel of 40, window 3, differences at
 * most 20. */
TEST(costs_by_hand)
{
    const int16_t left[9] = {10, 10, 10, 10, 10, 10, 10, 10, 10},
                  right[9] = {10, 10, 10, 10, 40, 10, 10, 10, 10};
    uint8_t out[9 * LABELS];
    const SdmPairImage as = {.width = 3, .height = 3, .stride = 3, .eight_bit = true, .data = left};
    SdmPairImage image[2] = {as, as};
    image[1].data = right;
    make_costs(image, 3, 20, out);
    for (int i = 0; i < 9; i++)
        assert_int_equal(out[i * LABELS], 2); /* one difference of 20 in nine */
    /* label 1 at the middle: the left column has none of its own (20 each), the right pixel x = 1 is seen
     * from x = 2: (3 x 20 + 20) / 9 */
    assert_int_equal(out[4 * LABELS + 1], 9);
    assert_int_equal(out[3 * LABELS + 1], 20);
}

TEST(paper_configuration)
{
    int known = 0;
    for (int i = 0; i < scene.views.width * scene.views.height; i++)
        known += scene.label[i] != 0;
    assert_int_equal(known, KNOWN);
    const Row r = row_of(TILE, 1, 1);
    print_message("1 + 1 iterations: %d mismatches, published %d\n", r.wrong, PUBLISHED_MISMATCHES);
    assert_true(r.wrong <= PUBLISHED_MISMATCHES);
}

/* In the tiles of the thesis it depends on the weight, whose unit the contest's costs would tell: more
 * mismatches than published with ours and the contest's own number, fewer with a quarter more. */
TEST(paper_tiles)
{
    static const struct {
        int weight;
        bool below;
    } cases[] = {{16, false}, {WEIGHT, false}, {40, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const Row r = match(PAPER_TILE, 1, 1, cases[i].weight);
        print_message("tiles of %d px, weight %d: %d mismatches\n", r.tile, r.weight, r.wrong);
        assert_int_equal(r.wrong <= PUBLISHED_MISMATCHES, cases[i].below);
    }
}

/* Five visits of tiles reach what fifty iterations over the whole image do, with three inner iterations; in
 * tiles of 16 px with two.  One is not enough, nor are five over the whole image. */
TEST(energy_after_five)
{
    long long best = INT64_MAX;
    for (int n = 1; n <= SEQUENTIAL; n++) {
        const Row r = row_of(0, 1, n);
        best = r.energy < best ? r.energy : best;
    }
    const Row r = row_of(TILE, 5, 3), once = row_of(TILE, 5, 1), small = row_of(16, 5, 2),
              whole = row_of(0, 1, 5);
    print_message(
        "best of %d sequential iterations: %lld, after 5: %lld; 5 outer iterations: %lld with 3 inner, %lld "
        "with 1; in tiles of 16 px %lld with 2\n",
        (int)SEQUENTIAL, best, whole.energy, r.energy, once.energy, small.energy);
    assert_true((double)r.energy <= 1.02 * (double)best);
    assert_true((double)small.energy <= 1.02 * (double)best);
    assert_true((double)whole.energy > 1.02 * (double)best);
    assert_true(once.energy > whole.energy);
}

int main(void)
{
    if (access(FOLDER "im_left.png", R_OK) != 0) {
        print_message("SKIPPED: no Middlebury images\n");
        return 77;
    }
    return run_cases(setup, teardown);
}
