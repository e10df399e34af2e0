/* Allocate and free a surface. */
// SPDX-License-Identifier: Apache-2.0
#include "geometry/surface.h"

SdmStatus sdm_surface_alloc(SdmContext *ctx, const SdmWindow *win, SdmSurface *out)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)win->w * (size_t)win->h;
    *out = (SdmSurface){.win = *win};
    TRY(sdm_alloc_raw(ctx, &out->h_m, n, sizeof *out->h_m, "the surface"));
    TRY(sdm_alloc_raw(ctx, &out->flags, n, sizeof *out->flags, "the surface's flags"));
    TRY(sdm_alloc_raw(ctx, &out->score, n, sizeof *out->score, "the surface's scores"));
done:
    if (st != SDM_OK)
        sdm_surface_free(out);
    return st;
}

void sdm_surface_free(SdmSurface *s)
{
    SDM_FREE(&s->h_m, &s->flags, &s->score);
}
