/* Belief propagation: exact on rows and columns, laws, and every copy that runs here gives the definition's
 * labels, whatever the shape, labels, tile, iterations, threads. */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"

#include "core/options.h"
#include "matching/optimize.h"

typedef struct Case {
    SdmBpField f;
    SdmBpPlan plan;
    uint8_t *data;
} Case;

static int pick(uint64_t *seed, int lo, int hi)
{
    return lo + (int)(next_random(seed) % (unsigned)(hi - lo + 1));
}

static size_t pixels(const SdmBpField *f)
{
    return (size_t)f->width * (size_t)f->height;
}

static void open_case(Case *c, int width, int height, int labels)
{
    const int pitch = (labels + 15) / 16 * 16;
    c->f = (SdmBpField){.width = width, .height = height, .labels = labels, .pitch = pitch};
    c->data = malloc(pixels(&c->f) * (size_t)pitch);
    memset(c->data, 7, pixels(&c->f) * (size_t)pitch); /* not looked at where it pads */
    c->f.data = c->data;
}

static void fill_case(Case *c, int most, uint64_t *seed)
{
    for (size_t i = 0; i < pixels(&c->f); i++)
        for (int l = 0; l < c->f.labels; l++)
            c->data[i * (size_t)c->f.pitch + (size_t)l] = (uint8_t)pick(seed, 0, most);
}

static uint16_t *by_definition(const Case *c, int untiled)
{
    uint16_t *const label = malloc(pixels(&c->f) * sizeof *label);
    FREED void *const scratch = malloc(sdm_bp_reference_scratch(&c->f));
    if (untiled)
        sdm_bp_untiled_reference(&c->f, untiled, scratch, label);
    else
        sdm_bp_reference(&c->f, &c->plan, scratch, label);
    return label;
}

static int64_t energy_of(const Case *c, const uint16_t *label)
{
    int64_t sums[2];
    sdm_bp_energy(&c->f, label, sums);
    return sums[0] + sums[1];
}

/* 3 x 2 pixels, 4 labels, weight 10, at most 2 labels: data 1 + 4 + 0 + 2 + 3 + 5 = 15; along rows |0 - 3| ->
 * 20, |3 - 3| -> 0, |0 - 1| -> 10, |1 - 2| -> 10; down |0 - 0| -> 0, |3 - 1| -> 20, |3 - 2| -> 10. */
TEST(energy_by_hand)
{
    const uint16_t label[6] = {0, 3, 3, 0, 1, 2};
    const uint8_t cost[6] = {1, 4, 0, 2, 3, 5};
    int64_t sums[2];
    Case c;
    open_case(&c, 3, 2, 4);
    c.f.weight = 10;
    c.f.truncation = 2;
    memset(c.data, 99, 6 * 16);
    for (int i = 0; i < 6; i++)
        c.data[i * 16 + label[i]] = cost[i];
    sdm_bp_energy(&c.f, label, sums);
    assert_int_equal(sums[0], 15);
    assert_int_equal(sums[1], 70);
    free(c.data);
}

/* Of all labellings: how many have the least energy; best: of each pixel the lowest label that it has in one
 * of them. */
static int least_energy(const Case *c, uint16_t *best)
{
    const size_t n = pixels(&c->f);
    uint16_t label[8] = {0};
    int64_t least = INT64_MAX;
    int times = 0;
    assert_true(n <= 8);
    for (bool more = true; more;) {
        const int64_t e = energy_of(c, label);
        times = e < least ? 1 : times + (e == least);
        for (size_t i = 0; i < n && e <= least; i++)
            best[i] = e < least || label[i] < best[i] ? label[i] : best[i];
        least = e < least ? e : least;
        size_t i = 0;
        while (i < n && ++label[i] == c->f.labels)
            label[i++] = 0;
        more = i < n;
    }
    return times;
}

/* On a row or a column, which is a tree, two passes are exact, in whatever tiles: each pixel gets the lowest
 * label that it has in a labelling of least energy; where one alone has that, it is found. */
TEST(exact_on_trees)
{
    uint64_t seed = 5;
    int ties = 0;
    for (int n = 0; n < 400; n += CASE_STEP) {
        Case c;
        uint16_t best[8];
        const int length = pick(&seed, 1, 6), across = n % 2;
        open_case(&c, across ? length : 1, across ? 1 : length, pick(&seed, 1, 5));
        fill_case(&c, n % 4 < 2 ? 3 : pick(&seed, 5, 255), &seed);
        c.f.weight = pick(&seed, 1, 60);
        c.f.truncation = pick(&seed, 1, 5);
        c.plan =
            (SdmBpPlan){.tile = pick(&seed, 1, 7), .outer = pick(&seed, 1, 2), .inner = pick(&seed, 1, 2)};
        ties += least_energy(&c, best) > 1;
        for (int untiled = 0; untiled < 2; untiled++) {
            FREED uint16_t *const label = by_definition(&c, untiled);
            assert_memory_equal(label, best, pixels(&c.f) * sizeof *label);
        }
        free(c.data);
    }
    assert_in_range(ties, 20 / CASE_STEP, 200 / CASE_STEP);
}

/* A tile as large as the image is no tile; a cost that all labels of a pixel share changes nothing. */
TEST(laws)
{
    uint64_t seed = 9;
    for (int n = 0; n < 30; n += CASE_STEP) {
        Case c;
        open_case(&c, pick(&seed, 1, 20), pick(&seed, 1, 20), pick(&seed, 1, 20));
        fill_case(&c, 100, &seed);
        c.f.weight = pick(&seed, 1, 60);
        c.f.truncation = pick(&seed, 1, 5);
        c.plan = (SdmBpPlan){.tile = 20, .outer = 1, .inner = pick(&seed, 1, 3)};
        const size_t bytes = pixels(&c.f) * sizeof(uint16_t);
        uint16_t *const untiled = by_definition(&c, c.plan.inner), *const tiled = by_definition(&c, 0);
        assert_memory_equal(tiled, untiled, bytes);
        for (size_t i = 0; i < pixels(&c.f); i++) {
            const int more = pick(&seed, 0, 155);
            for (int l = 0; l < c.f.labels; l++)
                c.data[i * (size_t)c.f.pitch + (size_t)l] += (uint8_t)more;
        }
        uint16_t *const raised = by_definition(&c, 0);
        assert_memory_equal(raised, tiled, bytes);
        free(untiled);
        free(tiled);
        free(raised);
        free(c.data);
    }
}

static void compare_levels(const Case *c, SdmContext *ctx)
{
    const size_t bytes = pixels(&c->f) * sizeof(uint16_t);
    uint16_t *const expected = by_definition(c, 0), *const label = guarded_alloc(bytes);
    for (int k = 0; k < N_LEVELS; k++)
        if (sdm_kernels_at(level_names[k])) {
            memset(label, 0x55, bytes);
            assert_int_equal(sdm_bp_run(ctx, &c->f, &c->plan, level_names[k], label), SDM_OK);
            assert_memory_equal(label, expected, bytes);
            guarded_check(label, bytes);
        }
    guarded_free(label);
    free(expected);
}

TEST(same_as_definition)
{
    static const int labels[] = {1,  2,  5,  7,   8,   9,   15,  16,  17,  31,  32, 33,
                                 48, 64, 65, 100, 127, 128, 129, 200, 255, 256, 300};
    static const int truncations[] = {1, 2, 3, 4, 5, 8, 9, 20, 70, 300};
    uint64_t seed = 77;
    SdmContext *ctx[2] = {threaded_context(1), threaded_context(2)};
    for (int n = 0; n < 345; n += CASE_STEP) {
        Case c;
        open_case(&c, pick(&seed, 1, 40), pick(&seed, 1, 30), labels[n % 23]);
        fill_case(&c, n % 7 == 0 ? 0 : n % 7 == 1 ? 1 : 255, &seed);
        if (n % 7 == 2)
            memset(c.data, 255, pixels(&c.f) * (size_t)c.f.pitch);
        c.f.truncation = truncations[pick(&seed, 0, 9)];
        c.f.weight = pick(&seed, 1, SDM_BP_PENALTY_MAX / c.f.truncation);
        if (n % 2)
            c.f.weight = c.f.weight < 40 ? c.f.weight : pick(&seed, 1, 40);
        c.plan = (SdmBpPlan){
            .tile = pick(&seed, SDM_BP_TILE_MIN, 33), .outer = pick(&seed, 1, 3), .inner = pick(&seed, 1, 3)};
        compare_levels(&c, ctx[n % 2]);
        free(c.data);
    }
    sdm_close(&ctx[0]);
    sdm_close(&ctx[1]);
}

RUN_TESTS(NULL, NULL)
