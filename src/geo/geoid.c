/* Geoid undulation above the WGS 84 ellipsoid: at points, and over the cells of a grid. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/geoid.h"
#include "geo/projector.h"
#include "geo/vertical_datum.h"

#include <math.h>
#include <proj.h>

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
    g->context = sdm_proj_context();
    for (int i = 0; i < 2 && !g->pj; i++)
        g->pj = open_grid(g->context, datum->grid[i]);
    if (!g->pj) {
        TRY(sdm_proj_check(ctx));
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

/* ---- over the cells of a grid ---- */

SdmStatus sdm_undulation_open(SdmContext *ctx, const SdmGrid *grid, int vertical, SdmUndulation *out)
{
    SdmStatus st = SDM_OK;
    *out = (SdmUndulation){.grid = grid};
    if (vertical == SDM_ELLIPSOID)
        return SDM_OK;
    out->step = (int)fmin(fmax(exp2(floor(log2(1000.0 / sdm_grid_spacing_m(grid)))), 1.0), 16.0);
    TRY(sdm_geoid_open(ctx, vertical, &out->geoid));
    TRY(sdm_projector_open(ctx, grid->wkt, &out->projector));
done:
    return st;
}

void sdm_undulation_close(SdmUndulation *u)
{
    sdm_geoid_close(&u->geoid);
    sdm_projector_close(&u->projector);
}

SdmStatus sdm_undulation_cells(SdmContext *ctx, SdmUndulation *u, size_t n, double *x, double *y,
                               double *undulation_m)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = u->grid->x0 + (x[i] + 0.5) * u->grid->spacing;
        y[i] = u->grid->y0 - (y[i] + 0.5) * u->grid->spacing;
    }
    sdm_projector_inverse(u->projector, n, x, y);
    return sdm_geoid_undulation(ctx, u->geoid, n, x, y, undulation_m);
}

/* A row of w cells, from column col0 on. */
typedef struct CellRow {
    int64_t col0, row, w;
    const double *above, *below; /* nodes */
} CellRow;

/* Interpolate between the nodes; directly where a node lies outside the projection. */
static SdmStatus fill_row(SdmContext *ctx, SdmUndulation *u, const CellRow *in, float *out)
{
    SdmStatus st = SDM_OK;
    const double *const above = in->above, *const below = in->below;
    const int64_t step = u->step, first = in->col0 / step;
    const double ty = (double)(in->row % step) / (double)step;
    for (int64_t c = 0; c < in->w; c++) {
        const int64_t i = (in->col0 + c) / step - first;
        const double tx = (double)((in->col0 + c) % step) / (double)step;
        const double a = above[i] + ty * (below[i] - above[i]);
        const double b = above[i + 1] + ty * (below[i + 1] - above[i + 1]);
        double n = a + tx * (b - a);
        if (isnan(n)) {
            double x = (double)(in->col0 + c), y = (double)in->row;
            TRY(sdm_undulation_cells(ctx, u, 1, &x, &y, &n));
        }
        out[c] = (float)n;
    }
done:
    return st;
}

SdmStatus sdm_undulation_window(SdmContext *ctx, SdmUndulation *u, int64_t col0, int64_t row0, int64_t w,
                                int64_t h, float *undulation_m)
{
    SdmStatus st = SDM_OK;
    double *x = NULL, *y = NULL, *node = NULL;
    const int64_t step = u->step, i0 = col0 / step, j0 = row0 / step;
    const size_t nx = (size_t)((col0 + w - 1) / step - i0 + 2), ny = (size_t)((row0 + h - 1) / step - j0 + 2);
    TRY(sdm_alloc(ctx, &x, nx * ny, sizeof *x, "undulation"));
    TRY(sdm_alloc(ctx, &y, nx * ny, sizeof *y, "undulation"));
    TRY(sdm_alloc(ctx, &node, nx * ny, sizeof *node, "undulation"));
    for (size_t j = 0; j < ny; j++)
        for (size_t i = 0; i < nx; i++) {
            x[j * nx + i] = (double)((i0 + (int64_t)i) * step);
            y[j * nx + i] = (double)((j0 + (int64_t)j) * step);
        }
    TRY(sdm_undulation_cells(ctx, u, nx * ny, x, y, node));
    for (int64_t r = 0; r < h; r++) {
        const size_t j = (size_t)((row0 + r) / step - j0);
        const CellRow row = {col0, row0 + r, w, node + j * nx, node + (j + 1) * nx};
        TRY(fill_row(ctx, u, &row, undulation_m + r * w));
    }
done:
    sdm_free(&node);
    sdm_free(&y);
    sdm_free(&x);
    return st;
}
