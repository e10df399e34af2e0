/* Longitude and latitude -> geoid undulation, from a grid that PROJ holds. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/geoid.h"
#include "geo/vertical.h"

#include <math.h>
#include <proj.h>
#include <string.h>

struct SdmGeoid {
    PJ_CONTEXT *context;
    PJ *pj; /* lon, lat in degrees, h -> h - N by the named grid and nothing else: no ballpark */
};

static PJ *open_grid(PJ_CONTEXT *context, const char *name)
{
    char text[256];
    snprintf(text, sizeof text,
             "+proj=pipeline +step +proj=unitconvert +xy_in=deg +xy_out=rad "
             "+step +inv +proj=vgridshift +grids=%s +multiplier=1 "
             "+step +proj=unitconvert +xy_in=rad +xy_out=deg",
             name);
    PJ *const pj = proj_create(context, text);
    if (!pj)
        return NULL;
    const PJ_COORD probe = proj_trans(pj, PJ_FWD, proj_coord(10.0, 45.0, 0.0, 0.0));
    if (isfinite(probe.xyz.z) && probe.xyz.z != 0.0)
        return pj;
    proj_destroy(pj);
    return NULL;
}

SdmStatus sdm_geoid_open(SdmContext *ctx, int vertical, SdmGeoid **out)
{
    const SdmVerticalDatum *const datum = sdm_vertical_datum(vertical);
    SdmStatus st = SDM_OK;
    SdmGeoid *g = NULL;
    *out = NULL;
    TRY(sdm_alloc(ctx, &g, 1, sizeof *g, "geoid"));
    g->context = proj_context_create();
    proj_log_level(g->context, PJ_LOG_NONE);
    for (int i = 0; i < 2 && !g->pj; i++)
        g->pj = open_grid(g->context, datum->grid[i]);
    if (!g->pj) {
        const char *const paths = proj_info().searchpath;
        st = sdm_fail(
            ctx, SDM_ERR_UNSUPPORTED,
            "--vertical or --dem-vertical %s needs the geoid grid %s, which PROJ does not find; get it from "
            "https://cdn.proj.org/%s and put it into one of PROJ's folders (%.300s), or into a folder that "
            "PROJ_DATA names",
            datum->word, datum->grid[0], datum->grid[0], paths ? paths : "");
        goto done;
    }
    *out = g;
    g = NULL;
done:
    sdm_geoid_close(&g);
    return st;
}

SdmStatus sdm_geoid_undulation(SdmContext *ctx, SdmGeoid *g, size_t n, const double *lon_deg,
                               const double *lat_deg, double *undulation_m)
{
    for (size_t i = 0; i < n; i++) {
        undulation_m[i] = NAN;
        if (!isfinite(lon_deg[i]) || !isfinite(lat_deg[i]))
            continue;
        const double lon = lon_deg[i] - 360.0 * floor((lon_deg[i] + 180.0) / 360.0);
        const PJ_COORD at = proj_trans(g->pj, PJ_FWD, proj_coord(lon, lat_deg[i], 0.0, 0.0));
        if (!isfinite(at.xyz.z))
            return sdm_fail(ctx, SDM_ERR_DATA,
                            "--vertical: the geoid grid has no value at lon %.6f lat %.6f; give --vertical "
                            "ellipsoid, or a grid of the whole Earth to PROJ",
                            lon, lat_deg[i]);
        undulation_m[i] = -at.xyz.z;
    }
    return SDM_OK;
}

void sdm_geoid_close(SdmGeoid **g)
{
    if (!g || !*g)
        return;
    proj_destroy((*g)->pj);
    proj_context_destroy((*g)->context);
    sdm_free(g);
}
