/* Points -> least-squares polynomial. */
// SPDX-License-Identifier: Apache-2.0
#include "input/camera_kinds.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* q: orthonormal columns of the powers of x; r: upper triangle with powers = q r
 * (Gram-Schmidt, done twice) */
static void orthogonalise(int n, const double *x, int columns, double q[][SDM_POLYFIT_MAX],
                          double r[][SDM_POLYFIT_DEGREE + 1])
{
    for (int j = 0; j < columns; ++j) {
        for (int i = 0; i < n; ++i)
            q[j][i] = pow(x[i], j);
        for (int pass = 0; pass < 2; ++pass)
            for (int k = 0; k < j; ++k) {
                double dot = 0.0;
                for (int i = 0; i < n; ++i)
                    dot += q[k][i] * q[j][i];
                r[k][j] += dot;
                for (int i = 0; i < n; ++i)
                    q[j][i] -= dot * q[k][i];
            }
        double norm = 0.0;
        for (int i = 0; i < n; ++i)
            norm += q[j][i] * q[j][i];
        r[j][j] = sqrt(norm);
        for (int i = 0; i < n; ++i)
            q[j][i] /= r[j][j];
    }
}

double sdm_polyfit(int n, const double *x, const double *y, int degree, double *coef)
{
    double q[SDM_POLYFIT_DEGREE + 1][SDM_POLYFIT_MAX], r[SDM_POLYFIT_DEGREE + 1][SDM_POLYFIT_DEGREE + 1];
    double left[SDM_POLYFIT_MAX];
    assert(n <= SDM_POLYFIT_MAX && degree < n && degree <= SDM_POLYFIT_DEGREE);
    memset(r, 0, sizeof r);
    orthogonalise(n, x, degree + 1, q, r);
    memcpy(left, y, (size_t)n * sizeof *y);
    for (int j = 0; j <= degree; ++j) {
        coef[j] = 0.0;
        for (int i = 0; i < n; ++i)
            coef[j] += q[j][i] * left[i];
        for (int i = 0; i < n; ++i)
            left[i] -= coef[j] * q[j][i];
    }
    for (int j = degree; j >= 0; --j) {
        for (int k = j + 1; k <= degree; ++k)
            coef[j] -= r[j][k] * coef[k];
        coef[j] /= r[j][j];
    }
    double sum = 0.0;
    for (int i = 0; i < n; ++i)
        sum += left[i] * left[i];
    return sqrt(sum / n);
}
