/* The table of passes: reaches follow from windows and ranges, and the halo is their sum. */
// SPDX-License-Identifier: Apache-2.0
#include "kernel_cases.h"
#include "matching/match_steps.h"
#include "matching/validation.h"
#include "matching/filters.h"

/* Discontinuity (px), coarse level -> the halo of levels 0 to 4, the largest update at levels 0 to 2.
 * Tiles of started jobs are laid out with these figures. */
static const struct {
    float discontinuity_px;
    int coarse_level, halo[5], update[3];
} figures[] = {
    {0.0f, 1, {128, 128, 128, 128, 128}, {6, 6, 6}},
    {0.0f, 3, {144, 272, 512, 512, 512}, {6, 6, 6}},
    {0.0f, 5, {192, 320, 560, 1056, 2048}, {6, 6, 6}},
    {6.0f, 1, {160, 160, 160, 160, 160}, {7, 6, 6}},
    {6.0f, 3, {176, 288, 544, 544, 544}, {7, 6, 6}},
    {6.0f, 5, {224, 336, 592, 1088, 2080}, {7, 6, 6}},
    {12.0f, 1, {176, 176, 176, 176, 176}, {13, 7, 6}},
    {12.0f, 3, {176, 304, 560, 560, 560}, {13, 7, 6}},
    {12.0f, 5, {224, 352, 608, 1104, 2096}, {13, 7, 6}},
    {40.0f, 1, {176, 176, 176, 176, 176}, {17, 17, 11}},
    {40.0f, 3, {192, 352, 640, 640, 640}, {17, 17, 11}},
    {40.0f, 5, {240, 400, 688, 1184, 2176}, {17, 17, 11}},
};

#define NO_CLOUDS .hide_above = {INT16_MAX, INT16_MAX}

TEST(halos_are_the_known_ones)
{
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        const SdmMatchSettings set = {.discontinuity_px = figures[i].discontinuity_px,
                                      .repeats = 2,
                                      .borders = true,
                                      NO_CLOUDS,
                                      .coarse_level = figures[i].coarse_level};
        for (int l = 0; l < 5; l++)
            assert_int_equal(sdm_match_halo(&set, l), figures[i].halo[l]);
        for (int l = 0; l < 3; l++) {
            assert_int_equal(sdm_match_max_update(&set, l), figures[i].update[l]);
            assert_int_equal(sdm_match_row_reach(&set, l), 33);
        }
    }
}

/* The Wiener filter and the repeat before it: a larger halo. */
TEST(filter_widens_the_halo)
{
    const SdmMatchSettings without = {.coarse_level = 3, .repeats = 2, .borders = true, NO_CLOUDS},
                           with = {
                               .coarse_level = 3, .repeats = 2, .borders = true, NO_CLOUDS, .wiener = true};
    const SdmSteps steps = sdm_steps(SDM_SEQUENCE_RESTORE);
    SdmMatchSettings holes = with; /* least squares twice */
    int filter = 0;
    holes.holes = true;
    for (int i = 0; i < steps.count; i++) {
        filter += i < 2 ? sdm_step_reach(&steps.step[i], &with, 0) : 0;
        assert_true(sdm_step_applies(&steps.step[i], &holes, 0));
        assert_int_equal(sdm_step_applies(&steps.step[i], &with, 0), i < 2);
        assert_false(sdm_step_applies(&steps.step[i], &without, 0));
    }
    assert_int_equal(filter, SDM_WIENER_REACH + SDM_LS_REACH);
    for (int l = 0; l < 3; l++) {
        const int more = sdm_match_halo(&with, l) - sdm_match_halo(&without, l);
        assert_true(more > filter - 16 && more < filter + 16);
        assert_in_range(sdm_match_halo(&holes, l) - sdm_match_halo(&with, l), SDM_LS_REACH - 15,
                        SDM_LS_REACH + 15);
    }
}

/* Between clouds one search by labels takes the place of the finer levels: each level has the same halo. */
TEST(labels_between_clouds_have_one_halo)
{
    const SdmMatchSettings set = {.coarse_level = 3, .repeats = 2, .borders = true, .label_range_px = 40};
    assert_true(sdm_match_halo(&set, 0) > sdm_semi_global_reach(&set) + 2 * SDM_GAP_REACH + SDM_GAP_PIECE);
    assert_int_equal(sdm_match_halo(&set, 2), sdm_match_halo(&set, 0));
}

/* A step's reach is never less than its window and its residuals need, and the passes that are made from the
 * table have its windows. */
TEST(reaches_follow_from_windows)
{
    for (float discontinuity = 0.0f; discontinuity < 40.0f; discontinuity += 3.0f) {
        const SdmMatchSettings set = {
            .discontinuity_px = discontinuity, .coarse_level = 3, .repeats = 2, .borders = true, NO_CLOUDS};
        for (int q = 0; q < SDM_SEQUENCE_COUNT; q++) {
            const SdmSteps steps = sdm_steps((SdmSequence)q);
            assert_true(steps.count > 0);
            for (int i = 0; i < steps.count; i++) {
                const SdmStep *const s = &steps.step[i];
                assert_int_equal(s->window % 2, 1);
                assert_true(sdm_step_reach(s, &set, 0) >= s->window / 2 + s->range);
                if (s->kind == SDM_STEP_RETRY) {
                    const SdmPass retry = sdm_step_pass(s, &set, 0);
                    assert_true(retry.window <= s->window && retry.range >= s->range);
                    assert_true(sdm_step_reach(s, &set, 0) > retry.window / 2 + 2 * retry.range);
                }
                if (s->kind == SDM_STEP_REPEAT)
                    assert_int_equal(sdm_step_pass(s, &set, 0).window, 5);
                if (s->kind == SDM_STEP_MATCH && q == SDM_SEQUENCE_FINE_LEVEL)
                    assert_int_equal(sdm_step_pass(s, &set, 0).range, 3);
                if (s->kind == SDM_STEP_FILL)
                    assert_int_equal(s->window, 2 * sdm_fill_far.half + 1);
                if (s->kind == SDM_STEP_FILL_HOLES)
                    assert_int_equal(s->window,
                                     2 * (sdm_fill_hole.half + SDM_SLOPE_HALF + SDM_STEEP_HALF) + 1);
                if (s->kind == SDM_STEP_VALIDATE)
                    assert_int_equal(s->window, 2 * SDM_RAY_ERROR_HALF + 1);
            }
        }
        assert_int_equal(sdm_ray_error_pass(&set).window, 9);
    }
}

/* At level 0 pixels are matched again only over discontinuities; the surface is smoothed above it alone. */
TEST(steps_run_where_the_table_says)
{
    const SdmSteps steps = sdm_steps(SDM_SEQUENCE_FINE_LEVEL);
    for (int jump = 0; jump < 2; jump++)
        for (int level = 0; level < 3; level++) {
            const SdmMatchSettings set = {.discontinuity_px = jump ? 12.0f : 0.0f, .borders = true},
                                   saturated = {.discontinuity_px = set.discontinuity_px};
            int run = 0;
            for (int i = 0; i < steps.count; i++) {
                const bool border = steps.step[i].kind == SDM_STEP_BORDER,
                           runs = sdm_step_applies(&steps.step[i], &set, level);
                assert_int_equal(sdm_step_applies(&steps.step[i], &saturated, level), runs && !border);
                run += runs;
            }
            assert_int_equal(run, steps.count - (level == 0) - (level == 0 && !jump ? 3 : 0));
        }
}

RUN_TESTS(NULL, NULL)
