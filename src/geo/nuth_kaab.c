/* The normal equations of a 3-D shift, solved along the principal axes of the slopes. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/nuth_kaab.h"

#include <math.h>

int sdm_nuth_kaab_step(const double s[SDM_NUTH_KAAB_SUMS], double noise_m, double cell_m, double step_m[3])
{
    const double n = fmax(s[5], 1.0), mean_e = s[2] / n, mean_n = s[4] / n, mean_d = s[8] / n;
    const double ee = s[0] / n - mean_e * mean_e, en = s[1] / n - mean_e * mean_n,
                 nn = s[3] / n - mean_n * mean_n;
    const double ed = s[6] / n - mean_e * mean_d, nd = s[7] / n - mean_n * mean_d;
    const double middle = 0.5 * (ee + nn), half = hypot(0.5 * (ee - nn), en),
                 angle = 0.5 * atan2(2.0 * en, ee - nn);
    int undetermined = 0;
    step_m[0] = step_m[1] = 0.0;
    for (int k = 0; k < 2; k++) { /* the axis of the larger variance first */
        const double variance = fmax(k ? middle - half : middle + half, 0.0);
        const double axis[2] = {k ? -sin(angle) : cos(angle), k ? cos(angle) : sin(angle)};
        if (!(noise_m < 0.5 * cell_m * sqrt(variance * n / SDM_NUTH_KAAB_CORRELATED))) {
            undetermined++;
            continue;
        }
        const double step = (axis[0] * ed + axis[1] * nd) / variance;
        step_m[0] += step * axis[0];
        step_m[1] += step * axis[1];
    }
    step_m[2] = mean_d - mean_e * step_m[0] - mean_n * step_m[1];
    return undetermined;
}
