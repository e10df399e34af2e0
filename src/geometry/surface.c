/* Allocate, free and count the pixels of a surface. */
// SPDX-License-Identifier: Apache-2.0
#include "geometry/surface.h"

SdmStatus sdm_surface_alloc(SdmContext *ctx, const SdmWindow *win, SdmSurface *out)
{
    const size_t n = (size_t)win->w * (size_t)win->h;
    *out = (SdmSurface){.win = *win};
    const SdmStatus st = SDM_ALLOC_RAW(ctx, "the surface", SDM_ARRAY(out->h_m, n), SDM_ARRAY(out->flags, n),
                                       SDM_ARRAY(out->score, n));
    if (st != SDM_OK)
        sdm_surface_free(out);
    return st;
}

double sdm_surface_matched(const SdmSurface *s, unsigned besides)
{
    size_t all = 0, matched = 0;
    for (size_t i = 0; i < (size_t)s->win.w * (size_t)s->win.h; i++) {
        all += !(s->flags[i] & besides);
        matched += (s->flags[i] & SDM_QA_VALID) != 0;
    }
    return all ? (double)matched / (double)all : 0.0;
}

void sdm_surface_free(SdmSurface *s)
{
    SDM_FREE(&s->h_m, &s->flags, &s->score);
}
