/* Matrix and right side -> solution, by Cholesky's decomposition. */
// SPDX-License-Identifier: Apache-2.0
#include "core/dense.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

double sdm_dot(int n, const double *x, const double *y)
{
    double sum = 0.0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

bool sdm_solve_cholesky(int n, double *a, double *b)
{
    for (int r = 0; r < n; r++) {
        double *const row = a + (size_t)r * (size_t)n;
        for (int c = 0; c < r; c++) {
            const double *const above = a + (size_t)c * (size_t)n;
            row[c] = (row[c] - sdm_dot(c, row, above)) / above[c];
        }
        const double pivot = row[r] - sdm_dot(r, row, row);
        if (!(pivot > 0.0 && pivot <= DBL_MAX))
            return false;
        row[r] = sqrt(pivot);
        b[r] = (b[r] - sdm_dot(r, row, b)) / row[r];
    }
    for (int r = n - 1; r >= 0; r--) {
        const double *const row = a + (size_t)r * (size_t)n;
        b[r] /= row[r];
        for (int c = 0; c < r; c++)
            b[c] -= row[c] * b[r];
    }
    return true;
}
