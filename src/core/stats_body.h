/* The order statistics of stats.h for one number type; included by stats.c with REAL and NAMED(x) defined. */
// SPDX-License-Identifier: Apache-2.0

/* Bring the value of rank k of a[left..right] to a[k]. */
static void NAMED(order)(REAL *a, int64_t left, int64_t right, int64_t k)
{
    while (right > left) {
        if (right - left >
            600) { /* find near-by pivots in a sample, so that few values remain between them */
            const double n = (double)(right - left + 1), i = (double)(k - left + 1), z = log(n);
            const double s = 0.5 * exp(2.0 * z / 3.0);
            const double spread = 0.5 * sqrt(z * s * (n - s) / n) * (i < n / 2.0 ? -1.0 : 1.0);
            const int64_t lo = (int64_t)((double)k - i * s / n + spread);
            const int64_t hi = (int64_t)((double)k + (n - i) * s / n + spread);
            NAMED(order)(a, lo > left ? lo : left, hi < right ? hi : right, k);
        }
        const REAL pivot = a[k];
        int64_t i = left, j = right;
        while (i <= j) {
            while (a[i] < pivot)
                i++;
            while (pivot < a[j])
                j--;
            if (i <= j) {
                const REAL swap = a[i];
                a[i++] = a[j];
                a[j--] = swap;
            }
        }
        if (j < k)
            left = i;
        if (k < i)
            right = j;
    }
}

REAL NAMED(sdm_select)(REAL *a, int64_t n, int64_t k)
{
    assert(k >= 0 && k < n);
    NAMED(order)(a, 0, n - 1, k);
    return a[k];
}

double NAMED(sdm_quantile)(REAL *a, int64_t n, double q)
{
    if (n <= 0)
        return NAN;
    const double rank = q * (double)(n - 1);
    int64_t k = (int64_t)floor(rank);
    k = k < 0 ? 0 : k > n - 1 ? n - 1 : k;
    const double low = (double)NAMED(sdm_select)(a, n, k), part = rank - (double)k;
    if (k + 1 >= n || !(part > 0.0))
        return low;
    REAL next = a[k + 1];
    for (int64_t i = k + 2; i < n; i++)
        next = a[i] < next ? a[i] : next;
    return low + part * ((double)next - low);
}

double NAMED(sdm_median)(REAL *a, int64_t n)
{
    return NAMED(sdm_quantile)(a, n, 0.5);
}

double NAMED(sdm_nmad)(REAL *a, int64_t n, double *median)
{
    const double centre = NAMED(sdm_median)(a, n);
    for (int64_t i = 0; i < n; i++)
        a[i] = (REAL)fabs((double)a[i] - centre);
    if (median)
        *median = centre;
    return 1.4826 * NAMED(sdm_median)(a, n);
}

int64_t NAMED(sdm_drop_nan)(REAL *a, int64_t n)
{
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++)
        if (!isnan(a[i]))
            a[kept++] = a[i];
    return kept;
}
