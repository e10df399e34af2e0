/* Stage 8: the lattice's ground -> patches in cells of the grid; the weights of points. */
// SPDX-License-Identifier: Apache-2.0
#include "matching/gridding_patch.h"

#include <math.h>

#define SIDE_SIGMA_PX 1.3 /* of the points that tell which side of a step a cell is on, pixels of the frame */

/* Weight that a cell with a height has at least, of the full weight. */
static double least_share(const SdmGridding *g)
{
    return g->hidden_px == 0 ? 0.25 : g->hidden_px < SDM_HIDDEN_ALL ? 0.16 : 0.001;
}

/* Weights of a Gaussian of sigma cells by distance; returns its radius, 1/256 cell. */
static int fill_table(double sigma, int32_t table[SDM_GRIDDING_TABLE])
{
    const int radius = (int)(2.5 * sigma * SDM_GRIDDING_UNIT);
    for (int i = 0; i <= radius && i < SDM_GRIDDING_TABLE; i++) {
        const double x = (double)i / SDM_GRIDDING_UNIT / sigma;
        table[i] = (int32_t)lrint(4096.0 * exp(-0.5 * x * x));
    }
    return radius;
}

void sdm_gridding_setup(const SdmGridding *g, const SdmWindow *win, SdmGriddingSetup *w)
{
    w->g = g;
    w->win = *win;
    const double most = SDM_GRIDDING_MAX_REACH / 2.5;
    const double sigma = fmin(fmax(g->sharpest, 0.5 * g->gsd_m / g->spacing_m), most); /* cells */
    const double wider = fmin(fmax(sigma, SIDE_SIGMA_PX * g->gsd_m / g->spacing_m), most),
                 side_sigma = g->step_m > 0.0 ? wider : sigma;
    w->radius = fill_table(sigma, w->table);
    w->side_radius = fill_table(side_sigma, w->side_table);
    w->reach = (w->side_radius + SDM_GRIDDING_UNIT / 2) / SDM_GRIDDING_UNIT + 1;
    const double full =
        2.0 * 3.14159265358979 * sigma * sigma * (g->spacing_m / g->gsd_m) * (g->spacing_m / g->gsd_m);
    w->least = (int64_t)(least_share(g) * full * 16384.0);
    w->i0 = (win->u0 - g->lattice->u0) / g->lattice->step;
    w->j0 = (win->v0 - g->lattice->v0) / g->lattice->step;
    w->nu = (win->w + g->lattice->step - 1) / g->lattice->step;
    w->nv = (win->h + g->lattice->step - 1) / g->lattice->step;
}

void sdm_gridding_patch(const SdmGriddingSetup *w, int ci, int cj, SdmGriddingPatch *p)
{
    const SdmLattice *const lat = w->g->lattice;
    const SdmGridding *const grid = w->g;
    const SdmNode *const n = &lat->node[(size_t)(w->j0 + cj) * (size_t)lat->nu + (size_t)(w->i0 + ci)];
    const SdmNode *const corner[4] = {n, n + 1, n + lat->nu, n + lat->nu + 1};
    for (int k = 0; k < 2; k++) {
        const double sign = k ? -1.0 : 1.0, origin = k ? grid->y0 : grid->x0;
        p->base[k] = (int64_t)floor(sign * (n->ground[k] - origin) / grid->spacing);
        for (int i = 0; i < 4; i++)
            p->a[k][i] = (float)(sign * (corner[i]->ground[k] - origin) / grid->spacing - (double)p->base[k]);
        p->b[k] = (float)(sign * (double)n->ground_b[k] / grid->spacing);
        p->c[k] = (float)(sign * (double)n->ground_c[k] / grid->spacing);
    }
    const int64_t u = lat->u0 + (w->i0 + ci) * lat->step - w->win.u0,
                  v = lat->v0 + (w->j0 + cj) * lat->step - w->win.v0;
    p->u_node = (double)u;
    p->v_node = (double)v;
    p->u0 = (int)(u < 0 ? 0 : u);
    p->v0 = (int)(v < 0 ? 0 : v);
    p->u1 = (int)(u + lat->step < w->win.w ? u + lat->step : w->win.w);
    p->v1 = (int)(v + lat->step < w->win.h ? v + lat->step : w->win.h);
}
