/* Ray errors of good matches -> the limit for a scene. */
// SPDX-License-Identifier: Apache-2.0
#include "pointing/ray_error_limit.h"

#include <math.h>

enum { BINS = SDM_RAY_ERROR_BINS };
static const float LEAST_LIMIT_PX = 0.25f, LEAST_TOWN_LIMIT_PX = 0.5f, LARGEST_LIMIT_PX = 0.6f;

void sdm_ray_error_count(const SdmFineResult *f, SdmRayErrorCounts *counts)
{
    const size_t n = (size_t)f->surface.win.w * (size_t)f->surface.win.h;
    for (size_t i = 0; i < n; i++) {
        if (!(f->surface.flags[i] & (SDM_QA_VALID | SDM_QA_RAY_ERROR)) || !isfinite(f->ray_error_px[i]))
            continue;
        const float e = f->ray_error_px[i], v = e < -1.0f ? -1.0f : e > 1.0f ? 1.0f : e;
        counts->bin[BINS + (int)lrintf(v * BINS)]++;
        counts->total++;
    }
}

float sdm_ray_error_limit(const SdmRayErrorCounts *c, bool semi_global)
{
    int64_t sum = 0;
    int median = 0, spread = 0; /* bins */
    while (median < 2 * BINS && (sum += c->bin[median]) * 2 < c->total)
        median++;
    for (sum = c->bin[median]; spread < BINS && sum * 2 < c->total; spread++)
        sum += (median - spread - 1 >= 0 ? c->bin[median - spread - 1] : 0) +
               (median + spread + 1 <= 2 * BINS ? c->bin[median + spread + 1] : 0);
    const float limit = 3.0f * ((float)spread + 0.5f) / BINS,
                least = semi_global ? LEAST_TOWN_LIMIT_PX : LEAST_LIMIT_PX;
    return limit < least ? least : limit > LARGEST_LIMIT_PX ? LARGEST_LIMIT_PX : limit;
}
