/* Ray errors of a matched surface -> tie points. */
// SPDX-License-Identifier: Apache-2.0
#include "pointing/tie_points.h"

#include <math.h>

SdmStatus sdm_tie_points_alloc(SdmContext *ctx, size_t room, SdmTiePoints *out)
{
    *out = (SdmTiePoints){.room = room};
    return sdm_alloc(ctx, &out->point, room, sizeof *out->point, "tie points");
}

void sdm_tie_points_free(SdmTiePoints *t)
{
    sdm_free(&t->point);
    t->count = t->room = 0;
}

/* Mean residual (px of the level) and height of a block whose first pixel is (x, y); false where too few
 * pixels have a residual. */
static bool block_mean(const SdmTiePointSource *from, int x, int y, double *residual, double *height_m)
{
    const SdmSurface *const s = from->surface;
    const int block = from->block;
    double sum = 0.0, height = 0.0;
    int n = 0;
    for (int j = y; j < y + block; j++)
        for (int i = x; i < x + block; i++) {
            const size_t at = (size_t)j * (size_t)s->win.w + (size_t)i;
            const float v = from->ray_error_v[at];
            if (!(s->flags[at] & SDM_QA_VALID) || !isfinite(v) || fabsf(v) > 1.0f)
                continue;
            sum += (double)v;
            height += (double)s->h_m[at];
            n++;
        }
    if (2 * n < block * block)
        return false;
    *residual = sum / n;
    *height_m = height / n;
    return true;
}

void sdm_tie_points_add(const SdmTiePointSource *from, SdmTiePoints *t)
{
    const SdmWindow *const win = &from->surface->win;
    const SdmPointing *const p = from->in_use;
    const int block = from->block;
    const double size = (double)(1 << win->level);
    for (int y = 0; y + block <= win->h; y += block)
        for (int x = 0; x + block <= win->w; x += block) {
            double residual, height_m, at[2], next[2];
            if (!block_mean(from, x, y, &residual, &height_m) || t->count >= t->room)
                continue;
            const double u = ((double)win->u0 + x + 0.5 * block) * size - 0.5;
            const double v = ((double)win->v0 + y + 0.5 * block) * size - 0.5;
            sdm_lattice_right(from->lattice, u, v, height_m, at);
            sdm_lattice_right(from->lattice, u, v + 1.0, height_m, next);
            const double per_px = (next[0] - at[0]) * p->dir[0] + (next[1] - at[1]) * p->dir[1];
            const double residual_px = residual * size * per_px;
            t->point[t->count++] =
                (SdmTiePoint){.col = at[0],
                              .row = at[1],
                              .residual_px = residual_px,
                              .correction_px = residual_px + sdm_pointing_value(p, at[0], at[1])};
        }
}
