/* Semi-global matching: the definition against hand-worked answers and dynamic programming by brute force;
 * every copy against the definition; sub-pixel places and right labels by hand. */
// SPDX-License-Identifier: Apache-2.0
#include "instruction_set.h"
#include "kernel_cases.h"

#include "matching/optimize.h"
#include "sgm_kernels.h"

enum { MOST_WIDTH = 40, MOST_PITCH = 208 };

/* ---- the definition ---- */

enum { PATH = 5, LABELS = 3 };

/* The least cost of all labels of pixels 0..last that end in `label`: costs, p1 for a step of one, p2 for a
 * larger one. */
static int by_brute_force(uint8_t (*cost)[16], const uint16_t *p2, int p1, int last, int label)
{
    int best = INT32_MAX, count = 1;
    for (int i = 0; i < last; i++)
        count *= LABELS;
    for (int n = 0; n < count; n++) {
        int sum = cost[last][label], after = label, code = n;
        for (int i = last - 1; i >= 0; i--, code /= LABELS) {
            const int l = code % LABELS, step = abs(l - after);
            sum += cost[i][l] + (step == 0 ? 0 : step == 1 ? p1 : p2[i + 1]);
            after = l;
        }
        best = sum < best ? sum : best;
    }
    return best;
}

/* Path costs plus what was taken off before are the least costs of all labellings: path k of a pass, laid
 * through the pixels of an image of PATH x PATH along it. */
static void a_path_is_dynamic_programming(int k, int step, uint64_t *seed)
{
    uint8_t cost[PATH][16] = {{0}}, image[PATH][PATH * 16] = {{0}};
    uint16_t p2[PATH], wide[SDM_SGM_PATHS][PATH * 16], sum[PATH * 16], along[PATH], penalty[PATH];
    const int p1 = (int)(next_random(seed) % 6), dx = k == 1 ? step : k == 3 ? -step : 0;
    int taken = 0;
    for (int i = 0; i < PATH; i++) {
        p2[i] = (uint16_t)(p1 + (int)(next_random(seed) % 9));
        for (int l = 0; l < LABELS; l++)
            cost[i][l] = (uint8_t)(next_random(seed) % 20);
    }
    for (int i = 0; i < PATH; i++) {
        const int start = dx < 0 || (k == 0 && step < 0) ? PATH - 1 : 0;
        const int x = k == 0 ? start + step * i : start + dx * i, row = k == 0 ? 0 : i;
        memcpy(image[row] + x * 16, cost[i], 16);
        along[x] = p2[i];
    }
    for (int i = 0; i < PATH; i++) {
        const int start = dx < 0 || (k == 0 && step < 0) ? PATH - 1 : 0;
        const int x = k == 0 ? start + step * i : start + dx * i;
        for (int q = 0; q < PATH; q++)
            penalty[q] = k == 0 ? along[q] : p2[i];
        SdmSgmRow r = {.width = PATH,
                       .labels = LABELS,
                       .pitch = 16,
                       .step = step,
                       .begins = k == 0 || i == 0,
                       .p1 = p1,
                       .cost = image[k == 0 ? 0 : i],
                       .path = {wide[0], wide[1], wide[2], wide[3]},
                       .sum = k == 0 ? sum : NULL};
        r.p2[k] = penalty;
        sdm_sgm_kernels_reference.row(&r);
        const uint16_t *const path = (k == 0 ? sum : wide[k]) + x * 16;
        int least = path[0];
        for (int l = 0; l < LABELS; l++) {
            assert_int_equal(path[l] + taken, by_brute_force(cost, p2, p1, i, l));
            least = path[l] < least ? path[l] : least;
        }
        taken += least;
    }
}

TEST(every_path_is_dynamic_programming)
{
    uint64_t seed = 7;
    for (int turn = 0; turn < 50; turn += CASE_STEP)
        for (int k = 0; k < SDM_SGM_PATHS; k++)
            for (int step = -1; step <= 1; step += 2)
                a_path_is_dynamic_programming(k, step, &seed);
}

/* ---- every copy against the definition ---- */

static void fill_costs(SdmVolume *v, int kind, uint64_t *seed)
{
    for (int i = 0; i < v->width * v->height; i++)
        for (int l = 0; l < v->labels; l++) {
            const int any = (int)(next_random(seed) % (unsigned)(v->most + 1));
            v->cost[(ptrdiff_t)i * v->pitch + l] = (uint8_t)(kind == 0   ? 0
                                                             : kind == 1 ? v->most
                                                             : kind == 2 ? (any & 1) * v->most
                                                                         : any);
        }
}

static void find_places(const SdmVolume *v, const char *level, uint16_t *label, uint32_t *near, float *place)
{
    const SdmLabels labels = {.left = label, .near = near};
    for (int y = 0; y < v->height; y++)
        sdm_label_costs(v, y, &labels);
    for (int y = 0; y < v->height; y++)
        sdm_label_offsets(v, sdm_cpu_level(level)->sgm, &labels, y, place + (ptrdiff_t)y * v->width);
    guarded_check(place, (size_t)v->width * (size_t)v->height * sizeof *place);
}

static void label(const SdmVolume *v, const SdmOptimizer *how, const char *level, int threads, uint16_t *out)
{
    SdmOptimizer mine = *how;
    const size_t pixels = (size_t)v->width * (size_t)v->height;
    const SdmLabels labels = {.left = out, .right = out + pixels};
    mine.cpu_level = level;
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = threaded_context(threads);
    memset(out, 0x55, 2 * pixels * sizeof *out);
    assert_int_equal(sdm_sgm(ctx, &mine, v, &labels), SDM_OK);
    guarded_check(out, 2 * pixels * sizeof *out);
}

static void one_volume(uint64_t *seed)
{
    static const int labels[] = {1,  2,  3,  15,  16,  17,  31,  33,  48, 63,
                                 64, 65, 96, 100, 128, 129, 200, 256, 300};
    int16_t guide[MOST_WIDTH * 300];
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = default_context();
    SDM_CLOSED_BY(sdm_volume_close)
    SdmVolume v = {.width = 1 + (int)(next_random(seed) % MOST_WIDTH),
                   .height = 1 + (int)(next_random(seed) % 20),
                   .labels = labels[next_random(seed) % 19]};
    if (next_random(seed) % 8 == 0)
        v.height = 290; /* several bands */
    const int p1 = (int)(next_random(seed) % 100);
    SdmOptimizer how = {.kind = SDM_OPTIMIZER_SGM, .p1 = p1, .paths = next_random(seed) % 2 ? 4 : 8};
    v.most = 1 + (int)(next_random(seed) % SDM_COST_MAX);
    how.p2 = p1 + (int)(next_random(seed) % (next_random(seed) % 2 ? 100 : SDM_P2_MAX - 100));
    if (next_random(seed) % 2 && v.most + p1 <= SDM_COST_MAX)
        how.p2 = SDM_COST_MAX - v.most; /* as much as 8 bits bear */
    v.first = (int)(next_random(seed) % 60) - 40;
    v.end = v.height;
    v.guide = guide;
    v.guide_stride = v.width;
    v.guide_scale = next_random(seed) % 2 ? 16 : 0;
    for (int i = 0; i < v.width * v.height; i++)
        guide[i] = (int16_t)(next_random(seed) % 9 ? noise(seed) / 16 : SDM_PIXEL_NODATA);
    assert_int_equal(sdm_volume_open(ctx, &v), SDM_OK);
    fill_costs(&v, (int)(next_random(seed) % 6), seed);
    const size_t pixels = (size_t)v.width * (size_t)v.height;
    uint16_t *const want = guarded_alloc(2 * pixels * sizeof *want), *const have = guarded_alloc(
                                                                         2 * pixels * sizeof *have);
    float *const place[2] = {guarded_alloc(pixels * sizeof(float)), guarded_alloc(pixels * sizeof(float))};
    FREED uint32_t *const near = malloc(2 * pixels * sizeof *near);
    label(&v, &how, "reference", 1, want);
    find_places(&v, "reference", want, near, place[0]);
    for (int i = 0; i < N_LEVELS; i++)
        if (sdm_kernels_at(level_names[i])) {
            find_places(&v, level_names[i], want, near, place[1]);
            assert_memory_equal(place[0], place[1], pixels * sizeof(float));
            label(&v, &how, level_names[i], 1 + i % 2, have);
            if (memcmp(want, have, 2 * pixels * sizeof *want) != 0)
                fail_msg("%s: %d x %d, %d labels, most %d, p1 %d, p2 %d, %d paths", level_names[i], v.width,
                         v.height, v.labels, v.most, how.p1, how.p2, how.paths);
        }
    guarded_free(want);
    guarded_free(have);
    guarded_free(place[0]);
    guarded_free(place[1]);
}

TEST(every_copy_is_the_definition)
{
    uint64_t seed = 11;
    for (int turn = 0; turn < 250; turn += CASE_STEP)
        one_volume(&seed);
}

/* ---- what is made of labels ---- */

TEST_CTX(right_labels_and_places_are_as_worked_by_hand)
{
    SDM_CLOSED_BY(sdm_volume_close)
    SdmVolume v = {.width = 3, .height = 1, .labels = 3, .first = -1, .most = 9};
    const uint16_t left[3] = {
        1, 0, 2}; /* pixels 0 and 1 meet right pixel 0, pixel 2 right pixel 3: off the image */
    const uint8_t cost[3][3] = {{7, 5, 9}, {3, 8, 9}, {9, 4, 1}};
    uint16_t right[3];
    float offset[3];
    assert_int_equal(sdm_volume_open(ctx, &v), SDM_OK);
    for (int x = 0; x < 3; x++)
        memcpy(v.cost + x * v.pitch, cost[x], 3);
    sdm_right_labels(ctx, &v, left, right);
    assert_int_equal(right[0], 0); /* 3 is less than 5 */
    assert_int_equal(right[1], SDM_LABEL_NONE);
    assert_int_equal(right[2], SDM_LABEL_NONE);
    /* pixel 0: columns 0, 0, 0, 1, 2 of five equal rows, all within a label of 1: 5 (21 + 3 + 9, 15 + 8 + 4,
     * 27 + 9 + 1) = 165, 135, 185: (165 - 185) / (2 (185 - 135)) */
    uint16_t own[3];
    uint32_t near[6];
    const SdmLabels labels = {.left = memcpy(own, left, sizeof own), .near = near};
    sdm_label_costs(&v, 0, &labels);
    for (size_t i = 0; i < 2; i++) {
        sdm_label_offsets(&v, sdm_cpu_level(i ? "auto" : "reference")->sgm, &labels, 0, offset);
        assert_near(offset[0], -0.2, 1e-6);
        assert_near(offset[1], 0.0, 0.0); /* at the end of the labels */
    }
}

TEST(options_that_cannot_be_are_refused)
{
    SdmOptions options = default_options();
    SdmOptimizer how;
    SdmVolume v = {.width = 1, .height = 1, .labels = 0};
    options.optimizer = "sgm";
    options.p1 = 20;
    options.p2 = 19;
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = context_of(&options);
    assert_refused(ctx, sdm_optimizer_settings(ctx, &options, &how), SDM_ERR_USAGE,
                   "--p2: found 19, expected at least --p1, which is 20");
    assert_refused(ctx, sdm_volume_open(ctx, &v), SDM_ERR_USAGE, "0 labels to choose from");
}

RUN_TESTS(NULL, NULL)
