/* Small dense systems of linear equations in double.  Matrices are row-major, without gaps between rows.
 * No function allocates; each adds in a fixed order, so results depend neither on the processor nor on the
 * number of threads.  Entries are 0 or of magnitude 1e-150..1e150, since their squares are needed. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>

/* Solve a x = b by Cholesky's decomposition a = L L' (Golub & Van Loan, Matrix Computations, 4.2).
 * a: n x n, symmetric and positive definite, n >= 1; only its lower triangle is read, and becomes L.
 * b: n; becomes x.
 * @return false where a is not finite or, as rounded, not positive definite; a and b are then undefined */
bool sdm_solve_cholesky(int n, double *a, double *b);

double sdm_dot(int n, const double *x, const double *y); /* scalar product */

/* Add the equation t . x = value to the weighted normal equations a x = b; of a, the lower triangle. */
static inline void sdm_add_equation(int n, const double *t, double weight, double value, double *a, double *b)
{
    for (int r = 0; r < n; r++) {
        const double wt = weight * t[r];
        for (int c = 0; c <= r; c++)
            a[r * n + c] += wt * t[c];
        b[r] += wt * value;
    }
}
