/* Ray gaps of a surface -> samples for the fit of the pointing. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/prepare.h"

#include <math.h>

SdmStatus sdm_collect_samples(SdmContext *ctx, const SdmLattice *lat, const SdmSurface *s, const float *ray_error_v,
                              int block, const SdmPointing *in_use, SdmFitSample **out, size_t *count,
                              size_t room)
{
    SdmStatus st = SDM_OK;
    const int w = s->win.w, h = s->win.h;
    const double size = (double)(1 << s->win.level);
    const size_t need = (size_t)(w / block) * (size_t)(h / block) + 1;
    if (!*out)
        TRY(sdm_alloc(ctx, out, room ? room : need, sizeof **out, "fit samples"));
    for (int y = 0; y + block <= h; y += block)
        for (int x = 0; x + block <= w; x += block) {
            double sum = 0.0, height = 0.0;
            int n = 0;
            for (int j = y; j < y + block; j++)
                for (int i = x; i < x + block; i++) {
                    const size_t at = (size_t)j * (size_t)w + (size_t)i;
                    if (!(s->flags[at] & SDM_QA_VALID) || !isfinite(ray_error_v[at]) || fabsf(ray_error_v[at]) > 1.0f)
                        continue;
                    sum += (double)ray_error_v[at];
                    height += (double)s->h_m[at];
                    n++;
                }
            if (2 * n < block * block || (room && *count >= room))
                continue;
            SdmFitSample *const o = &(*out)[(*count)++];
            const double u = ((double)s->win.u0 + x + 0.5 * block) * size - 0.5;
            const double v = ((double)s->win.v0 + y + 0.5 * block) * size - 0.5;
            double at[2], next[2];
            sdm_lattice_right(lat, u, v, height / n, at);
            sdm_lattice_right(lat, u, v + 1.0, height / n, next);
            const double per_px = (next[0] - at[0]) * in_use->dir[0] + (next[1] - at[1]) * in_use->dir[1];
            o->col = at[0];
            o->row = at[1];
            o->found_px = sum / n * size * per_px;
            o->target_px = o->found_px + sdm_pointing_value(in_use, at[0], at[1]);
        }
done:
    return st;
}
