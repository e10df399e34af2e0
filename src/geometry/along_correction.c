/* Stage 2: evaluate the correction along the epipolar lines. */
// SPDX-License-Identifier: Apache-2.0
#include "geometry/along_correction.h"

#include <math.h>

#define TWO_PI 6.28318530717958647692

bool sdm_along_given(const SdmAlongCorrection *a)
{
    bool any = a->east_m != 0.0 || a->north_m != 0.0 || a->waves[0] + a->waves[1] > 0;
    for (int i = 0; i < sdm_terms(a->degree); i++)
        any |= a->coef[i] != 0.0;
    return any;
}

double sdm_along_polynomial(const SdmAlongCorrection *a, const SdmPointing *scale, double col, double row)
{
    double term[SDM_ALONG_MAX_TERMS], sum = 0.0;
    sdm_pointing_basis(a->degree, (col - scale->centre[0]) / scale->scale[0],
                       (row - scale->centre[1]) / scale->scale[1], term);
    for (int i = 0; i < sdm_terms(a->degree); i++)
        sum += a->coef[i] * term[i];
    return sum;
}

double sdm_along_profile(const SdmAlongCorrection *a, int view, double row)
{
    double sum = 0.0;
    for (int i = 0; i < a->waves[view]; i++) {
        const SdmAlongWave *const w = &a->wave[view][i];
        const double phase = TWO_PI * w->per_row * row;
        sum += w->cos_px * cos(phase) + w->sin_px * sin(phase);
    }
    return sum;
}

double sdm_along_value(const SdmAlongCorrection *a, const SdmPointing *scale, const double right[2],
                       double left_row)
{
    return sdm_along_polynomial(a, scale, right[0], right[1]) +
           sdm_along_profile(a, SDM_ALONG_RIGHT, right[1]) + sdm_along_profile(a, SDM_ALONG_LEFT, left_row);
}
