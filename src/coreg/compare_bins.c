/* Residuals of a comparison -> their statistics by what lies there. */
// SPDX-License-Identifier: Apache-2.0
#include "core/stats.h"
#include "coreg/comparison.h"

#include <math.h>

/* Derivative from a value and its neighbours on one axis: central, else one-sided, else NaN. */
static double derivative(double before, double here, double after, double step)
{
    if (isfinite(before) && isfinite(after))
        return (after - before) / (2.0 * step);
    if (isfinite(after))
        return (after - here) / step;
    return (here - before) / step;
}

double sdm_compare_ground(const SdmComparison *w, int64_t place, double slope[2])
{
    const SdmCoregGrid *const g = &w->g;
    const int64_t i = place % g->cols, j = place / g->cols;
    if (w->out->points) {
        if (slope) {
            slope[0] = (double)w->at.east[place];
            slope[1] = (double)w->at.north[place];
        }
        return w->at.height_m[place];
    }
    const float *const h = g->reference_m + place;
    const double here = (double)*h;
    if (!slope)
        return here;
    slope[0] = derivative(i > 0 ? (double)h[-1] : NAN, here, i + 1 < g->cols ? (double)h[1] : NAN, g->dx_m);
    slope[1] = derivative(j + 1 < g->rows ? (double)h[g->cols] : NAN, here, j > 0 ? (double)h[-g->cols] : NAN,
                          g->dy_m);
    return here;
}

int sdm_compare_class_bin(const SdmComparison *w, int64_t place)
{
    return w->at.class[place];
}

void sdm_compare_stats_by(const SdmComparison *w, SdmCompareBin *bin_of, int bins, const double *middle_m,
                          SdmCompareRange *out)
{
    const SdmPlaces *const p = &w->at;
    int64_t end[SDM_COMPARE_CLASSES + 1] = {0};
    int16_t *const bin = (int16_t *)(void *)p->spare;
#pragma omp parallel for num_threads(w->g.threads) schedule(static)
    for (int64_t i = 0; i < p->count; i++)
        bin[i] = (int16_t)(isnan(p->residual_m[i]) ? -1 : bin_of(w, i));
    for (int64_t i = 0; i < p->count; i++)
        end[bin[i] + 1] += bin[i] >= 0;
    for (int k = 0; k < bins; k++)
        end[k + 1] += end[k];
    for (int64_t i = 0; i < p->count; i++) {
        double slope[2];
        if (bin[i] < 0)
            continue;
        float *const value = &p->value[end[bin[i]]++];
        *value = p->residual_m[i];
        if (middle_m) {
            sdm_compare_ground(w, i, slope);
            *value = (float)(((double)*value - *middle_m) / hypot(slope[0], slope[1]));
        }
    }
    for (int k = 0; k < bins; k++) {
        const int64_t first = k ? end[k - 1] : 0;
        sdm_error_stats(p->value + first, end[k] - first, p->spare, &out[k].aligned);
    }
}
