/* Stage 2: apply the correction to projected right positions. */
// SPDX-License-Identifier: Apache-2.0
#include "geometry/pointing.h"

#include <math.h>

void sdm_pointing_basis(int degree, double x, double y, double *out)
{
    double xp[SDM_POINT_MAX_DEGREE + 1] = {1.0}, yp[SDM_POINT_MAX_DEGREE + 1] = {1.0};
    for (int i = 1; i <= degree; i++) {
        xp[i] = xp[i - 1] * x;
        yp[i] = yp[i - 1] * y;
    }
    for (int d = 0, k = 0; d <= degree; d++)
        for (int j = 0; j <= d; j++)
            out[k++] = xp[d - j] * yp[j];
}

double sdm_pointing_polynomial(const SdmPointing *scale, int degree, const double *coef, double col,
                               double row)
{
    double term[SDM_POINT_MAX_TERMS], sum = 0.0;
    sdm_pointing_basis(degree, (col - scale->centre[0]) / scale->scale[0],
                       (row - scale->centre[1]) / scale->scale[1], term);
    for (int i = 0; i < sdm_terms(degree); i++)
        sum += coef[i] * term[i];
    return sum;
}

double sdm_pointing_profile(const SdmPointing *p, double row)
{
    if (p->profile_count < 1)
        return 0.0;
    const double at = (row - (double)p->profile_row0) / p->profile_step_px;
    if (!(at > 0.0))
        return p->profile_px[0];
    if (at >= p->profile_count - 1)
        return p->profile_px[p->profile_count - 1];
    const int i = (int)at;
    return p->profile_px[i] + (at - i) * (p->profile_px[i + 1] - p->profile_px[i]);
}

double sdm_pointing_value(const SdmPointing *p, double col, double row)
{
    return sdm_pointing_polynomial(p, p->degree, p->coef, col, row) + sdm_pointing_profile(p, row);
}

void sdm_pointing_apply(const SdmPointing *p, size_t n, double *image)
{
    for (size_t i = 0; i < n; i++) {
        double *const at = image + 2 * i;
        if (isnan(at[0]))
            continue;
        const double f = sdm_pointing_value(p, at[0], at[1]);
        at[0] += f * p->dir[0];
        at[1] += f * p->dir[1];
    }
}

void sdm_pointing_free(SdmPointing *p)
{
    sdm_free(&p->profile_px);
}

/* ---- correction along the epipolar lines ---- */

#define TWO_PI 6.28318530717958647692

bool sdm_along_given(const SdmAlongCorrection *a)
{
    bool any = a->east_m != 0.0 || a->north_m != 0.0 || a->waves[0] + a->waves[1] > 0;
    for (int i = 0; i < sdm_terms(a->degree); i++)
        any |= a->coef[i] != 0.0;
    return any;
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
    return sdm_pointing_polynomial(scale, a->degree, a->coef, right[0], right[1]) +
           sdm_along_profile(a, SDM_ALONG_RIGHT, right[1]) + sdm_along_profile(a, SDM_ALONG_LEFT, left_row);
}
