/* Matrix and right side -> solution by singular values. */
// SPDX-License-Identifier: Apache-2.0
#include "core/dense.h"
#include "simulate/sim.h"

#include <assert.h>
#include <float.h>
#include <stddef.h>

enum { SWEEPS = 60 }; /* over all pairs of rows; Jacobi rotations usually need fewer than 10 */

/* (x, y) becomes (c x - s y, s x + c y). */
static void rotate(int n, double c, double s, double *restrict x, double *restrict y)
{
    for (int i = 0; i < n; i++) {
        const double was = x[i];
        x[i] = c * was - s * y[i];
        y[i] = s * was + c * y[i];
    }
}

/* a (m x n) becomes upper triangular, b is rotated with it. */
static void make_triangular(int m, int n, double *a, double *b)
{
    for (int i = 1; i < m; i++) {
        double *const low = a + (size_t)i * (size_t)n;
        for (int k = 0; k < n && k < i; k++) {
            if (low[k] == 0.0)
                continue;
            double *const high = a + (size_t)k * (size_t)n;
            const double length = sqrt(high[k] * high[k] + low[k] * low[k]);
            const double c = high[k] / length, s = -low[k] / length;
            rotate(n - k, c, s, high + k, low + k);
            rotate(1, c, s, b + k, b + i);
            low[k] = 0.0;
        }
    }
}

/* The rows of r (n x n) become orthogonal to each other, b is rotated with them.  Rows whose square is less
 * than the least normal number stay as they are.  false: no convergence. */
static bool make_orthogonal(int n, double *r, double *b)
{
    bool turned = true;
    for (int sweep = 0; turned && sweep < SWEEPS; sweep++) {
        turned = false;
        for (int p = 0; p < n - 1; p++)
            for (int q = p + 1; q < n; q++) {
                double *const x = r + (size_t)p * (size_t)n, *const y = r + (size_t)q * (size_t)n;
                const double xx = sdm_dot(n, x, x), yy = sdm_dot(n, y, y), xy = sdm_dot(n, x, y);
                if (!(fabs(xy) > n * DBL_EPSILON * sqrt(xx) * sqrt(yy)) || xx < DBL_MIN || yy < DBL_MIN)
                    continue;
                const double z = (yy - xx) / (2.0 * xy); /* cot(2 angle) */
                const double t = copysign(1.0 / (fabs(z) + sqrt(1.0 + z * z)), z);
                const double c = 1.0 / sqrt(1.0 + t * t);
                rotate(n, c, c * t, x, y);
                rotate(1, c, c * t, b + p, b + q);
                turned = true;
            }
    }
    return !turned;
}

/* b becomes the sum of the rows of r (n x n, orthogonal), each times its value of b over its square. */
static bool add_rows(int n, double rcond, double *r, double *b)
{
    double largest = 0.0;
    for (int i = 0; i < n; i++) {
        const double square = sdm_dot(n, r + (size_t)i * (size_t)n, r + (size_t)i * (size_t)n);
        if (!isfinite(square) || !isfinite(b[i]))
            return false;
        largest = fmax(largest, square);
    }
    for (int i = 0; i < n; i++) {
        double *const row = r + (size_t)i * (size_t)n;
        const double square = sdm_dot(n, row, row);
        const double factor = sqrt(square) > rcond * sqrt(largest) ? b[i] / square : 0.0;
        for (int j = 0; j < n; j++)
            row[j] *= factor;
    }
    for (int j = 0; j < n; j++) {
        b[j] = 0.0;
        for (int i = 0; i < n; i++)
            b[j] += r[(size_t)i * (size_t)n + (size_t)j];
    }
    return true;
}

bool sim_solve(int m, int n, double rcond, double *a, double *b)
{
    assert(m >= n && n >= 1);
    make_triangular(m, n, a, b);
    return make_orthogonal(n, a, b) && add_rows(n, rcond, a, b);
}
