/* Small dense systems of linear equations in double.  Matrices are row-major, without gaps between rows.
 * No function allocates; each adds in a fixed order, so results depend neither on the processor nor on the
 * number of threads.  Entries are 0 or of magnitude 1e-150..1e150, since their squares are needed. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_DENSE_H
#define SDM_DENSE_H

#include <stdbool.h>

/* Solve a x = b by Cholesky's decomposition a = L L' (Golub & Van Loan, Matrix Computations, 4.2).
 * a: n x n, symmetric and positive definite, n >= 1; only its lower triangle is read, and becomes L.
 * b: n; becomes x.
 * @return false where a is not finite or, as rounded, not positive definite; a and b are then undefined */
bool sdm_solve_cholesky(int n, double *a, double *b);

/* The shortest x of those that minimise |a x - b|, by singular values: Givens rotations make a = Q R (Golub &
 * Van Loan, 5.2), one-sided Jacobi rotations make the rows of R orthogonal (Drmac & Veselic 2008).  Singular
 * values of at most `rcond` (>= 0) times the largest count as 0.
 * a: m x n, m >= n >= 1; overwritten.
 * b: m; its first n values become x, the others are undefined.
 * rank: of a, 0..n: the number of singular values that count.
 * @return false where a or b is not finite, or the rotations do not converge; b and rank are then undefined
 */
bool sdm_solve_least_squares(int m, int n, double rcond, double *a, double *b, int *rank);

double sdm_dot(int n, const double *x, const double *y); /* scalar product */

#endif
