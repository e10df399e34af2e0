/* Longitude and latitude <-> the CRS of the DEM, through PROJ. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/projector.h"

#include <math.h>
#include <proj.h>

struct SdmProjector {
    PJ_CONTEXT *context;
    PJ *pj; /* lon, lat in degrees -> x, y */
};

SdmStatus sdm_projector_open(SdmContext *ctx, const char *wkt, SdmProjector **out)
{
    static const char *const options[] = {"ALLOW_BALLPARK=NO", NULL};
    SdmStatus st = SDM_OK;
    PJ *from = NULL, *to = NULL, *pj = NULL;
    SdmProjector *p = NULL;
    *out = NULL;
    TRY(sdm_alloc(ctx, &p, 1, sizeof *p, "projector"));
    p->context = proj_context_create();
    proj_log_level(p->context, PJ_LOG_NONE);
    from = proj_create(p->context, "OGC:CRS84");
    to = proj_create(p->context, wkt);
    if (from && to)
        pj = proj_create_crs_to_crs_from_pj(p->context, from, to, NULL, options);
    if (pj)
        p->pj = proj_normalize_for_visualization(p->context, pj);
    if (!p->pj) {
        st = sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                      "PROJ has no transformation of stated accuracy from WGS 84 to the output CRS %.60s...; "
                      "a grid file may be missing (see `projinfo`)",
                      wkt);
        goto done;
    }
    *out = p;
    p = NULL;
done:
    proj_destroy(pj);
    proj_destroy(to);
    proj_destroy(from);
    sdm_projector_close(&p);
    return st;
}

SdmStatus sdm_projector_clone(SdmContext *ctx, const SdmProjector *from, SdmProjector **out)
{
    SdmStatus st = SDM_OK;
    SdmProjector *p = NULL;
    *out = NULL;
    TRY(sdm_alloc(ctx, &p, 1, sizeof *p, "projector"));
    p->context = proj_context_create();
    proj_log_level(p->context, PJ_LOG_NONE);
    p->pj = proj_clone(p->context, from->pj);
    if (!p->pj) {
        st = sdm_fail(ctx, SDM_ERR_MEMORY, "out of memory: PROJ cannot copy a transformation");
        goto done;
    }
    *out = p;
    p = NULL;
done:
    sdm_projector_close(&p);
    return st;
}

static void transform(PJ *pj, PJ_DIRECTION direction, size_t n, double *x, double *y)
{
    proj_trans_generic(pj, direction, x, sizeof *x, n, y, sizeof *y, n, NULL, 0, 0, NULL, 0, 0);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]) || !isfinite(y[i]))
            x[i] = y[i] = NAN;
    proj_errno_reset(pj);
}

void sdm_projector_forward(SdmProjector *p, size_t n, double *x, double *y)
{
    transform(p->pj, PJ_FWD, n, x, y);
}

void sdm_projector_inverse(SdmProjector *p, size_t n, double *x, double *y)
{
    transform(p->pj, PJ_INV, n, x, y);
}

void sdm_projector_close(SdmProjector **p)
{
    if (!p || !*p)
        return;
    proj_destroy((*p)->pj);
    proj_context_destroy((*p)->context);
    sdm_free(p);
}
