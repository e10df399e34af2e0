/* Dense systems: worked by hand, Hilbert's matrices, random ones of known solution. */
// SPDX-License-Identifier: Apache-2.0
#include "core/dense.h"
#include "tests/case.h"
#include "tests/core/matrices.h"

enum { MOST = 28 };

TEST(cholesky_by_hand)
{
    double one[] = {9.0}, b1[] = {6.0};
    assert_true(sdm_solve_cholesky(1, one, b1) && one[0] == 3.0 && fabs(b1[0] - 2.0 / 3.0) < 1e-16);
    double two[] = {4, NAN, 2, 5}, b2[] = {8, 9}; /* the upper triangle is not read */
    assert_true(sdm_solve_cholesky(2, two, b2));
    assert_true(two[0] == 2.0 && isnan(two[1]) && two[2] == 1.0 && two[3] == 2.0);
    assert_true(b2[0] == 1.375 && b2[1] == 1.25);
    double three[] = {25, 0, 0, 15, 18, 0, -5, 0, 11}, b3[] = {35, 33, 6}; /* L: 5; 3 3; -1 1 3 */
    assert_true(sdm_solve_cholesky(3, three, b3));
    const double lower[] = {5, 0, 0, 3, 3, 0, -1, 1, 3}, ones[] = {1, 1, 1};
    assert_memory_equal(three, lower, sizeof lower);
    assert_true(largest_difference(3, b3, ones) < 1e-15);
}

TEST(cholesky_refuses)
{
    const double refused[][4] = {{0, 0, 0, 1},    {-1, 0, 0, 1},      {1, 2, 2, 1},     {1, 1, 1, 1},
                                 {1, 0, 0, NAN},  {NAN, 0, 0, 1},     {1, NAN, NAN, 1}, {INFINITY, 0, 0, 1},
                                 {1, 0, 0, -0.0}, {1, 0, INFINITY, 1}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        double a[4], b[2] = {1, 1};
        memcpy(a, refused[i], sizeof a);
        assert_false(sdm_solve_cholesky(2, a, b));
    }
    double negative[] = {-1e-300}, b[] = {1};
    assert_false(sdm_solve_cholesky(1, negative, b));
}

TEST(cholesky_of_random)
{
    uint32_t seed = 1;
    for (int n = 1; n <= MOST; n++) {
        static double g[MOST * MOST], other[MOST * MOST], a[MOST * MOST];
        double x[MOST], b[MOST];
        fill(n * n, g, &seed);
        fill(n, x, &seed);
        transpose(n, n, g, other);
        multiply(n, n, n, g, other, a);
        for (int i = 0; i < n; i++)
            a[i * n + i] += 1.0;
        multiply(n, n, 1, a, x, b);
        assert_true(sdm_solve_cholesky(n, a, b));
        assert_true(largest_difference(n, b, x) < 1e-13);
    }
}

/* Errors grow with the condition: 1.5e7 of 6 x 6, 1.5e10 of 8 x 8; 28 x 28 is singular in double.  The solution is all 1. */
TEST(cholesky_of_hilbert)
{
    static const struct {
        int n;
        double condition;
    } of[] = {{6, 1.5e7}, {8, 1.5e10}, {MOST, 0.0}};
    const double ones[MOST] = {1, 1, 1, 1, 1, 1, 1, 1};
    for (int k = 0; k < 3; k++) {
        double a[MOST * MOST], b[MOST] = {0.0};
        const int n = of[k].n;
        for (int i = 0; i < n * n; i++)
            b[i / n] += a[i] = 1.0 / (i / n + i % n + 1);
        assert_int_equal(sdm_solve_cholesky(n, a, b), n < MOST);
        assert_true(n == MOST || largest_difference(n, b, ones) < of[k].condition * DBL_EPSILON);
    }
}

RUN_TESTS(NULL, NULL)
