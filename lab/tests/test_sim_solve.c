/* Least squares of the simulator: by hand, random deficient ones of known solution, what is refused. */
// SPDX-License-Identifier: Apache-2.0
#include "simulate/sim.h"
#include "tests/case.h"
#include "tests/core/matrices.h"

enum { MOST = 28, ROWS = 3 * MOST };

TEST(least_squares_by_hand)
{
    double one[] = {-4}, b1[] = {2};
    assert_true(sim_solve(1, 1, 0.0, one, b1) && b1[0] == -0.5);
    double column[] = {1, 2, 2}, b3[] = {3, 3, 3};
    assert_true(sim_solve(3, 1, 0.0, column, b3));
    assert_true(fabs(b3[0] - 15.0 / 9.0) < 1e-15);
    double line[] = {1, 0, 1, 1, 1, 2}, y[] = {1, 2, 4}; /* 5/6 + 3/2 x */
    assert_true(sim_solve(3, 2, 0.0, line, y));
    assert_true(fabs(y[0] - 5.0 / 6.0) < 1e-15 && fabs(y[1] - 1.5) < 1e-15);
}

/* The shortest of all solutions, as worked by hand. */
TEST(deficient_by_hand)
{
    double same[] = {1, 1, 2, 2, 2, 2}, b[] = {2, 4, 4};
    assert_true(sim_solve(3, 2, 1e-12, same, b));
    assert_true(fabs(b[0] - 1.0) < 1e-15 && fabs(b[1] - 1.0) < 1e-15);
    double zero[6] = {0}, c[] = {1, 2, 3};
    assert_true(sim_solve(3, 2, 1e-12, zero, c));
    assert_true(c[0] == 0.0 && c[1] == 0.0);
    double empty[] = {0, 3, 0, 4}, d[] = {3, 4}; /* the first column is 0 */
    assert_true(sim_solve(2, 2, 1e-12, empty, d));
    assert_true(d[0] == 0.0 && fabs(d[1] - 1.0) < 1e-15);
    double vanishing[] = {1, 1, 0, 1e-160}, f[] = {2, 0}; /* its square is no normal number */
    assert_true(sim_solve(2, 2, 1e-12, vanishing, f));
    assert_true(fabs(f[0] - 1.0) < 1e-15 && fabs(f[1] - 1.0) < 1e-15);
    for (int small = 0; small < 2; small++) { /* on either side of rcond */
        double diagonal[] = {2, 0, 0, small ? 0.99e-11 * 2 : 1.01e-11 * 2}, e[] = {2, 1e-11};
        assert_true(sim_solve(2, 2, 1e-11, diagonal, e));
        assert_true(e[0] == 1.0 && (small ? e[1] == 0.0 : fabs(e[1] - 0.5 / 1.01) < 1e-15));
    }
}

/* a = g h of rank r, solution in a's row space: it is the shortest, so it is found again. */
TEST(deficient_of_random)
{
    uint32_t seed = 3;
    for (int r = 1; r <= MOST; r += 3) {
        static double g[ROWS * MOST], h[MOST * MOST], a[ROWS * MOST], across[MOST * MOST];
        double w[MOST], x[MOST], b[ROWS];
        fill(ROWS * r, g, &seed);
        fill(r * MOST, h, &seed);
        fill(r, w, &seed);
        multiply(ROWS, r, MOST, g, h, a);
        transpose(r, MOST, h, across);
        multiply(MOST, r, 1, across, w, x);
        multiply(ROWS, MOST, 1, a, x, b);
        assert_true(sim_solve(ROWS, MOST, 1e-11, a, b));
        assert_true(largest_difference(MOST, b, x) < 1e-10);
    }
}

TEST(least_squares_refuses)
{
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        for (int at = 0; at < 9; at++) {
            double all[] = {1, 2, 3, 5, 8, 13, 1, 2, 3}; /* a: 3 x 2, b */
            all[at] = bad[k];
            assert_false(sim_solve(3, 2, 1e-11, all, all + 6));
        }
    double huge[] = {1e200}, b[] = {1};
    assert_false(sim_solve(1, 1, 1e-11, huge, b));
}

RUN_TESTS(NULL, NULL)
