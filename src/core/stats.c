/* Robust statistics: quickselect and what is built on it. */
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"

#include <assert.h>
#include <math.h>

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
    out->mean_m = sum / (double)n;
    out->rmse_m = sqrt(squares / (double)n);
    out->over30 = (double)over / (double)n;
    out->le90_m = sdm_quantile_f32(spare, n, 0.90);
    out->p99_m = sdm_quantile_f32(spare, n, 0.99);
    out->nmad_m = sdm_nmad_f32(error_m, n, &out->bias_m);
}
