/* Order statistics against sorting and against answers worked by hand. */
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"
#include "tests/case.h"

#define assert_near(value, expected, tolerance) assert_true(fabs((value) - (expected)) <= (tolerance))

/* n values of a kind: 0 noise, 1 rising, 2 falling, 3 all equal, 4 few different values, 5 organ pipe. */
static void fill(double *a, int n, int kind)
{
    uint32_t seed = 12345u + (uint32_t)n;
    for (int i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        const double noise = (double)(seed >> 8) / 65536.0 - 128.0;
        const double kinds[] = {noise, i, -i, 7.0, floor(noise / 64.0), i < n / 2 ? i : n - i};
        a[i] = (double)(float)kinds[kind];
    }
}

TEST(select_and_sort_agree_with_qsort)
{
    enum { MOST = 5000 };
    static double a[MOST], b[MOST], sorted[MOST];
    static float f[MOST], spare[MOST];
    const int sizes[] = {1, 2, 3, 7, 64, 601, 602, 1500, MOST};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (int kind = 0; kind < 6; kind++) {
            const int n = sizes[s];
            fill(a, n, kind);
            memcpy(sorted, a, (size_t)n * sizeof *a);
            qsort(sorted, (size_t)n, sizeof *sorted, ascending);
            for (int step = 0; step <= 10; step++) {
                const int k = (n - 1) * step / 10;
                memcpy(b, a, (size_t)n * sizeof *a);
                for (int i = 0; i < n; i++)
                    f[i] = (float)a[i];
                assert_true(sdm_select_f64(b, n, k) == sorted[k]);
                assert_true((double)sdm_select_f32(f, n, k) == sorted[k]);
                for (int i = 0; i < n; i++)
                    assert_true(i < k ? b[i] <= b[k] : b[i] >= b[k]);
            }
            sdm_sort_f32(f, n, spare);
            for (int i = 0; i < n; i++)
                assert_true((double)f[i] == sorted[i]);
        }
    float end[] = {INFINITY, 1e-40f, -0.0f, -INFINITY, -1e-40f, 3.0f};
    sdm_sort_f32(end, 6, spare);
    for (int i = 0; i < 5; i++)
        assert_true(end[i] <= end[i + 1]);
    sdm_sort_f32(end, 0, spare);
    assert_true(end[0] == -INFINITY && end[5] == INFINITY);
}

TEST(quantiles_worked_by_hand)
{
    double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2}, one[] = {-2.5};
    assert_true(sdm_median_f64(odd, 3) == 3.0);
    assert_true(sdm_median_f64(even, 4) == 2.5);
    assert_true(sdm_median_f64(one, 1) == -2.5);
    assert_true(isnan(sdm_median_f64(one, 0)));
    assert_true(isnan(sdm_quantile_f32(NULL, 0, 0.9)));
    /* 0, 10, ..., 100: rank 0.9 x 10 = 9 is exact; of ten values rank 0.9 x 9 = 8.1 lies between 80 and 90 */
    float tens[] = {100, 0, 90, 10, 80, 20, 70, 30, 60, 40, 50};
    assert_true(sdm_quantile_f32(tens, 11, 0.9) == 90.0);
    assert_true(sdm_quantile_f32(tens, 11, 0.0) == 0.0);
    assert_true(sdm_quantile_f32(tens, 11, 1.0) == 100.0);
    float ten[] = {0, 90, 10, 80, 20, 70, 30, 60, 40, 50};
    assert_near(sdm_quantile_f32(ten, 10, 0.9), 81.0, 1e-9);
}

TEST(nmad_worked_by_hand)
{
    float a[] = {1, 2, 3, 4, 100}; /* median 3, deviations 2 1 0 1 97 with median 1 */
    double median = 0.0;
    assert_near(sdm_nmad_f32(a, 5, &median), 1.4826, 1e-12);
    assert_true(median == 3.0);
    double b[] = {6, 0};
    assert_near(sdm_nmad_f64(b, 2, NULL), 3 * 1.4826, 1e-12);
}

TEST(nan_is_dropped_in_order)
{
    float a[] = {NAN, 3, NAN, 1, 2, NAN};
    assert_int_equal(sdm_drop_nan_f32(a, 6), 3);
    assert_true(a[0] == 3.0f && a[1] == 1.0f && a[2] == 2.0f);
    double none[] = {NAN, NAN};
    assert_int_equal(sdm_drop_nan_f64(none, 2), 0);
}

TEST(figures_worked_by_hand)
{
    float e[] = {-40, -1, 0, 2, 3}, spare[5];
    SdmErrorStats s;
    sdm_error_stats(e, 5, spare, &s);
    assert_int_equal(s.count, 5);
    assert_near(s.median_m, 0.0, 0.0);
    assert_near(s.bias_m, -7.2, 1e-12);
    assert_near(s.std_m, sqrt(1614.0 / 5.0 - 7.2 * 7.2), 1e-12);
    assert_near(s.rmse_m, sqrt(1614.0 / 5.0), 1e-12);
    assert_near(s.nmad_m, 1.4826 * 2.0, 1e-12);
    assert_near(s.le90_m, 3.0 + 0.6 * 37.0, 1e-9); /* |e| 0 1 2 3 40, rank 3.6 */
    assert_near(s.p99_m, 3.0 + 0.96 * 37.0, 1e-9);
    assert_near(s.over30, 0.2, 1e-15);
    sdm_error_stats(e, 0, spare, &s);
    assert_int_equal(s.count, 0);
    assert_true(s.rmse_m == 0.0);
}

RUN_TESTS(NULL, NULL)
