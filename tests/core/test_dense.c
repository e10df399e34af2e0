/* Dense systems: worked by hand, Hilbert's matrices, random ones of known solution, deficient ones. */
// SPDX-License-Identifier: Apache-2.0
#include "core/dense.h"
#include "tests/case.h"

#include <float.h>

enum { MOST = 28, ROWS = 3 * MOST };

static double noise(uint32_t *seed) /* -1..1 */
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / 8388608.0 - 1.0;
}

/* out (m x n) = x (m x k) y (k x n) */
static void multiply(int m, int k, int n, const double *x, const double *y, double *out)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0.0;
            for (int t = 0; t < k; t++)
                sum += x[i * k + t] * y[t * n + j];
            out[i * n + j] = sum;
        }
}

/* out (n x m) = x' of x (m x n) */
static void transpose(int m, int n, const double *x, double *out)
{
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            out[j * m + i] = x[i * n + j];
}

static void fill(int n, double *x, uint32_t *seed)
{
    for (int i = 0; i < n; i++)
        x[i] = noise(seed);
}

static double largest_difference(int n, const double *x, const double *y)
{
    double most = 0.0;
    for (int i = 0; i < n; i++) {
        if (!(fabs(x[i] - y[i]) <= DBL_MAX))
            return INFINITY;
        most = fmax(most, fabs(x[i] - y[i]));
    }
    return most;
}

static void hilbert(int n, double *a, double *b) /* the solution is all 1 */
{
    for (int i = 0; i < n; i++) {
        b[i] = 0.0;
        for (int j = 0; j < n; j++) {
            a[i * n + j] = 1.0 / (i + j + 1);
            b[i] += a[i * n + j];
        }
    }
}

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
    const double refused[][4] = {{0, 0, 0, 1},   {-1, 0, 0, 1},       {1, 2, 2, 1},       {1, 1, 1, 1},
                                 {1, 0, 0, NAN}, {NAN, 0, 0, 1},      {1, NAN, NAN, 1},   {INFINITY, 0, 0, 1},
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

/* Errors grow with the condition: 1.5e7 of 6 x 6, 1.5e10 of 8 x 8; 28 x 28 is singular in double. */
TEST(cholesky_of_hilbert)
{
    const double ones[] = {1, 1, 1, 1, 1, 1, 1, 1};
    double a[MOST * MOST], b[MOST];
    hilbert(6, a, b);
    assert_true(sdm_solve_cholesky(6, a, b) && largest_difference(6, b, ones) < 1.5e7 * DBL_EPSILON);
    hilbert(8, a, b);
    assert_true(sdm_solve_cholesky(8, a, b) && largest_difference(8, b, ones) < 1.5e10 * DBL_EPSILON);
    hilbert(MOST, a, b);
    assert_false(sdm_solve_cholesky(MOST, a, b));
}

TEST(least_squares_by_hand)
{
    int rank = -1;
    double one[] = {-4}, b1[] = {2};
    assert_true(sdm_solve_least_squares(1, 1, 0.0, one, b1, &rank) && rank == 1 && b1[0] == -0.5);
    double column[] = {1, 2, 2}, b3[] = {3, 3, 3};
    assert_true(sdm_solve_least_squares(3, 1, 0.0, column, b3, &rank) && rank == 1);
    assert_true(fabs(b3[0] - 15.0 / 9.0) < 1e-15);
    double line[] = {1, 0, 1, 1, 1, 2}, y[] = {1, 2, 4}; /* 5/6 + 3/2 x */
    assert_true(sdm_solve_least_squares(3, 2, 0.0, line, y, &rank) && rank == 2);
    assert_true(fabs(y[0] - 5.0 / 6.0) < 1e-15 && fabs(y[1] - 1.5) < 1e-15);
}

/* The shortest of all solutions, as worked by hand. */
TEST(rank_is_found)
{
    int rank = -1;
    double same[] = {1, 1, 2, 2, 2, 2}, b[] = {2, 4, 4};
    assert_true(sdm_solve_least_squares(3, 2, 1e-12, same, b, &rank) && rank == 1);
    assert_true(fabs(b[0] - 1.0) < 1e-15 && fabs(b[1] - 1.0) < 1e-15);
    double zero[6] = {0}, c[] = {1, 2, 3};
    assert_true(sdm_solve_least_squares(3, 2, 1e-12, zero, c, &rank) && rank == 0);
    assert_true(c[0] == 0.0 && c[1] == 0.0);
    double empty[] = {0, 3, 0, 4}, d[] = {3, 4}; /* the first column is 0 */
    assert_true(sdm_solve_least_squares(2, 2, 1e-12, empty, d, &rank) && rank == 1);
    assert_true(d[0] == 0.0 && fabs(d[1] - 1.0) < 1e-15);
    double vanishing[] = {1, 1, 0, 1e-160}, f[] = {2, 0}; /* its square is no normal number */
    assert_true(sdm_solve_least_squares(2, 2, 1e-12, vanishing, f, &rank) && rank == 1);
    assert_true(fabs(f[0] - 1.0) < 1e-15 && fabs(f[1] - 1.0) < 1e-15);
    for (int small = 0; small < 2; small++) { /* on either side of rcond */
        double diagonal[] = {2, 0, 0, small ? 0.99e-11 * 2 : 1.01e-11 * 2}, e[] = {2, 1e-11};
        assert_true(sdm_solve_least_squares(2, 2, 1e-11, diagonal, e, &rank) && rank == 2 - small);
        assert_true(e[0] == 1.0 && (small ? e[1] == 0.0 : fabs(e[1] - 0.5 / 1.01) < 1e-15));
    }
}

/* b is not in a's range: the residual is orthogonal to a's columns. */
TEST(least_squares_of_random)
{
    uint32_t seed = 2;
    for (int n = 1; n <= MOST; n++)
        for (int m = n; m <= 3 * n; m += n) {
            static double a[ROWS * MOST], kept[ROWS * MOST], other[MOST * ROWS];
            double x[MOST], b[ROWS], fitted[ROWS], along[MOST], none[MOST] = {0};
            int rank = -1;
            fill(m * n, a, &seed);
            for (int i = 0; i < n; i++)
                a[i * n + i] += 4.0;
            memcpy(kept, a, sizeof a);
            fill(m, b, &seed);
            memcpy(fitted, b, sizeof b);
            assert_true(sdm_solve_least_squares(m, n, 1e-12, a, b, &rank) && rank == n);
            memcpy(x, b, sizeof x);
            double rest[ROWS];
            multiply(m, n, 1, kept, x, rest);
            for (int i = 0; i < m; i++)
                rest[i] -= fitted[i];
            transpose(m, n, kept, other);
            multiply(n, m, 1, other, rest, along);
            assert_true(largest_difference(n, along, none) < 1e-12);
        }
}

/* a = g h of rank r, solution in a's row space: it is the shortest, so it is found again. */
TEST(deficient_of_random)
{
    uint32_t seed = 3;
    for (int r = 1; r <= MOST; r += 3) {
        static double g[ROWS * MOST], h[MOST * MOST], a[ROWS * MOST], across[MOST * MOST];
        double w[MOST], x[MOST], b[ROWS];
        int rank = -1;
        fill(ROWS * r, g, &seed);
        fill(r * MOST, h, &seed);
        fill(r, w, &seed);
        multiply(ROWS, r, MOST, g, h, a);
        transpose(r, MOST, h, across);
        multiply(MOST, r, 1, across, w, x);
        multiply(ROWS, MOST, 1, a, x, b);
        assert_true(sdm_solve_least_squares(ROWS, MOST, 1e-11, a, b, &rank));
        assert_int_equal(rank, r);
        assert_true(largest_difference(MOST, b, x) < 1e-10);
    }
}

/* Of 10 x 10 two singular values, 2.3e-11 and 1.1e-13, are less than 1e-10 times the largest, 1.75. */
TEST(least_squares_of_hilbert)
{
    const double ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    double a[100], kept[100], b[10], wanted[10], found[10];
    int rank = -1;
    hilbert(6, a, b);
    assert_true(sdm_solve_least_squares(6, 6, 1e-11, a, b, &rank) && rank == 6);
    assert_true(largest_difference(6, b, ones) < 1.5e7 * DBL_EPSILON);
    hilbert(10, a, b);
    memcpy(kept, a, sizeof a);
    memcpy(wanted, b, sizeof b);
    assert_true(sdm_solve_least_squares(10, 10, 1e-10, a, b, &rank));
    assert_int_equal(rank, 8);
    assert_true(largest_difference(10, b, ones) < 1e-3);
    multiply(10, 10, 1, kept, b, found);
    assert_true(largest_difference(10, found, wanted) < 1e-12);
}

TEST(least_squares_refuses)
{
    const double bad[] = {NAN, INFINITY, -INFINITY};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        for (int at = 0; at < 9; at++) {
            double all[] = {1, 2, 3, 5, 8, 13, 1, 2, 3}; /* a: 3 x 2, b */
            int rank = -1;
            all[at] = bad[k];
            assert_false(sdm_solve_least_squares(3, 2, 1e-11, all, all + 6, &rank));
        }
    double huge[] = {1e200}, b[] = {1};
    int rank = -1;
    assert_false(sdm_solve_least_squares(1, 1, 1e-11, huge, b, &rank));
}

/* A power of two changes no rounding. */
TEST(scales_do_not_matter)
{
    enum { N = 7 };
    uint32_t seed = 4;
    double a[N * N], b[N], x[2][N];
    fill(N * N, a, &seed);
    fill(N, b, &seed);
    for (int power = -400; power <= 400; power += 100)
        for (int k = 0; k < 2; k++) {
            double scaled[N * N];
            int rank = -1;
            for (int i = 0; i < N * N; i++)
                scaled[i] = ldexp(a[i], k ? power : 0);
            memcpy(x[k], b, sizeof b);
            assert_true(sdm_solve_least_squares(N, N, 1e-11, scaled, x[k], &rank) && rank == N);
            for (int i = 0; k && i < N; i++)
                assert_true(ldexp(x[1][i], power) == x[0][i]);
        }
}

RUN_TESTS(NULL, NULL)
