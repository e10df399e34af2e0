/* The arithmetic of a stack against answers worked by hand: adjustment of differences, groups; medians of
 * cells. */
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"
#include "coreg/stack_trend.h"
#include "coreg/stack_layer.h"
#include "tests/case.h"

enum { MOST = 8 };

static double x[MOST];
static int group[MOST], groups;

static void adjust(int n, const SdmObservation *ties, int count)
{
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = default_context();
    assert_int_equal(sdm_adjust_network(ctx, n, ties, count, x, group, &groups), SDM_OK);
}

static void near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.9f, expected %.9f", value, expected);
}

/* The median of the moves is 0.  A pair, of which it is the mean; a strip, whose ends share nothing; a triangle, where 1 + 1 is
 * not 2.3: each side gets a third of what is left; two observations of one difference, 0 with weight 2 and 3 with weight 1. */
TEST(test_few)
{
    static const struct {
        int members, count;
        SdmObservation ties[3];
        double moves[3];
    } cases[] = {
        {2, 1, {{.a = 0, .b = 1, .value = 3.0, .weight = 0.2}}, {1.5, -1.5}},
        {3,
         2,
         {{.a = 0, .b = 1, .value = 2.0, .weight = 1.0}, {.a = 1, .b = 2, .value = 3.0, .weight = 50.0}},
         {2.0, 0.0, -3.0}},
        {3,
         3,
         {{.a = 0, .b = 1, .value = 1.0, .weight = 1.0},
          {.a = 1, .b = 2, .value = 1.0, .weight = 1.0},
          {.a = 0, .b = 2, .value = 2.3, .weight = 1.0}},
         {1.1, 0.0, -1.1}},
        {2,
         2,
         {{.a = 0, .b = 1, .value = 0.0, .weight = 2.0}, {.a = 0, .b = 1, .value = 3.0, .weight = 1.0}},
         {0.5, -0.5}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        adjust(cases[i].members, cases[i].ties, cases[i].count);
        assert_int_equal(groups, 1);
        for (int k = 0; k < cases[i].members; k++)
            near(x[k], cases[i].moves[k], 1e-9);
    }
}

/* Of ten pairs of five members one is 100 m wrong: it must not be felt. */
TEST(test_blunder)
{
    SdmObservation ties[10];
    int n = 0;
    for (int a = 0; a < 5; a++)
        for (int b = a + 1; b < 5; b++)
            ties[n++] = (SdmObservation){.a = a, .b = b, .value = (double)(a - b) * 2.0, .weight = 1.0};
    ties[3].value += 100.0;
    adjust(5, ties, n);
    for (int i = 0; i < 5; i++)
        near(x[i], 2.0 * (i - 2), 1e-3);
}

TEST(test_groups)
{
    const SdmObservation ties[] = {{.a = 1, .b = 3, .value = 4.0, .weight = 1.0},
                                   {.a = 2, .b = 4, .value = -6.0, .weight = 1.0}};
    const int expected[] = {0, 1, 2, 1, 2, 3};
    adjust(6, ties, 2);
    assert_int_equal(groups, 4);
    assert_memory_equal(group, expected, sizeof expected);
    near(x[0], 0.0, 0.0); /* alone: not moved */
    near(x[5], 0.0, 0.0);
    near(x[1], 2.0, 1e-9);
    near(x[3], -2.0, 1e-9);
    near(x[2], -3.0, 1e-9);
    near(x[4], 3.0, 1e-9);
    adjust(3, ties, 0);
    assert_int_equal(groups, 3);
}

/* A long strip, where rounding and slow convergence would show. */
TEST_CTX(test_long_strip)
{
    enum { N = 400 };
    static SdmObservation ties[N];
    static double many[N];
    static int of[N];
    int found = 0;
    for (int i = 0; i + 1 < N; i++)
        ties[i] = (SdmObservation){.a = i, .b = i + 1, .value = i % 7 - 3.0, .weight = 1.0 + i % 5 * 100.0};
    assert_int_equal(sdm_adjust_network(ctx, N, ties, N - 1, many, of, &found), SDM_OK);
    assert_int_equal(found, 1);
    for (int i = 0; i + 1 < N; i++)
        near(many[i] - many[i + 1], ties[i].value, 1e-6);
}

/* Values with and without equal ones, of 0 to 40 dates, as by selection. */
TEST(test_median_rows)
{
    enum { DATES = 40 };
    SdmTrendRow value[DATES], count;
    double median[SDM_TREND_CELLS];
    unsigned drawn = 1;
    for (int round = 0; round < 200; round++) {
        const int n = round % (DATES + 1);
        float cell[SDM_TREND_CELLS][DATES];
        memset(count, 0, sizeof count);
        for (int k = 0; k < n; k++)
            for (int c = 0; c < SDM_TREND_CELLS; c++) {
                drawn = drawn * 1664525u + 1013904223u;
                const unsigned bits = drawn >> (c % 2 ? 28 : 8);
                value[k][c] = bits % 5 == 0 ? INFINITY : (float)bits / 16.0f - 100.0f;
                if (bits % 5 != 0)
                    cell[c][(int)count[c]++] = value[k][c];
            }
        sdm_median_rows(n, value, count, median);
        for (int c = 0; c < SDM_TREND_CELLS; c++)
            if (count[c] > 0.0f)
                assert_true(median[c] == sdm_median_f32(cell[c], (int)count[c]));
    }
}

TEST_CTX(test_allocations)
{
    const SdmObservation tie = {.a = 0, .b = 1, .value = 3.0, .weight = 1.0};
    EACH_ALLOCATION_FAILS(sdm_adjust_network(ctx, 2, &tie, 1, x, group, &groups), , 1, 1);
}

RUN_TESTS(NULL, NULL)
