/* Robust statistics by quickselect, and a sort by digits. */
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define REAL float
#define NAMED(name) name##_f32
#include "core/stats_body.h"
#undef REAL
#undef NAMED
#define REAL double
#define NAMED(name) name##_f64
#include "core/stats_body.h"
#undef REAL
#undef NAMED

/* ---- sorting: by digits of the bits, the lowest ones first ---- */

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS, PASSES = 3 };

/* Bits in an order that is that of the numbers: all turned round for negative ones, else the sign alone. */
static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits ^ (bits >> 31 ? UINT32_MAX : (uint32_t)1 << 31);
}

void sdm_sort_f32(float *a, int64_t n, float *spare)
{
    int64_t place[PASSES][DIGITS] = {{0}};
    for (int64_t i = 0; i < n; i++)
        for (int k = 0; k < PASSES; k++)
            place[k][bits_of(a[i]) >> (k * DIGIT_BITS) & (DIGITS - 1)]++;
    float *from = a, *to = spare;
    for (int k = 0; k < PASSES; k++) {
        int64_t before = 0;
        for (int d = 0; d < DIGITS; d++) {
            const int64_t count = place[k][d];
            place[k][d] = before;
            before += count;
        }
        for (int64_t i = 0; i < n; i++)
            to[place[k][bits_of(from[i]) >> (k * DIGIT_BITS) & (DIGITS - 1)]++] = from[i];
        float *const next = from;
        from = to;
        to = next;
    }
    if (n > 0) /* an odd number of passes */
        memcpy(a, spare, (size_t)n * sizeof *a);
}

void sdm_error_stats(float *error_m, int64_t n, float *spare, SdmErrorStats *out)
{
    *out = (SdmErrorStats){.count = n};
    if (n <= 0)
        return;
    double sum = 0.0, squares = 0.0;
    int64_t over = 0;
    for (int64_t i = 0; i < n; i++) {
        const double e = (double)error_m[i];
        sum += e;
        squares += e * e;
        over += fabs(e) > 30.0;
        spare[i] = fabsf(error_m[i]);
    }
    out->bias_m = sum / (double)n;
    out->std_m = sqrt(fmax(squares / (double)n - out->bias_m * out->bias_m, 0.0));
    out->rmse_m = sqrt(squares / (double)n);
    out->over30 = (double)over / (double)n;
    out->le90_m = sdm_quantile_f32(spare, n, 0.90);
    out->p99_m = sdm_quantile_f32(spare, n, 0.99);
    out->nmad_m = sdm_nmad_f32(error_m, n, &out->median_m);
}
