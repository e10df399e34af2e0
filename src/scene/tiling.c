/* How a scene is cut: the planned grid, the edge of a tile that fits the budget, what each tile will need. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/tiling.h"
#include "scene/block.h"

#include <math.h>

enum { LEAST_EDGE = 64 /* cells */ };

/* Grid over the ground of every node of the frame at the lowest and the highest height. */
static SdmStatus cover(SdmContext *ctx, SdmTiling *t)
{
    const SdmLattice *const lat = &t->lattice;
    double b[4] = {INFINITY, INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < lat->nu * lat->nv; i++)
        for (int k = 0; k < 2; k++) {
            double g[2];
            sdm_lattice_ground(lat, (double)(lat->u0 + (int64_t)(i % lat->nu) * lat->step),
                               (double)(lat->v0 + (int64_t)(i / lat->nu) * lat->step),
                               k ? lat->hmax_m : lat->hmin_m, g);
            for (int a = 0; a < 2; a++) {
                b[a] = fmin(b[a], g[a]);
                b[2 + a] = fmax(b[2 + a], g[a]);
            }
        }
    return sdm_grid_cover(ctx, b, &t->grid);
}

/* Where the nodes lie on the grid, once for all tiles. */
static SdmStatus find_ground(SdmContext *ctx, SdmTiling *t)
{
    SdmStatus st = SDM_OK;
    const SdmLattice *const lat = &t->lattice;
    const SdmGrid *const g = &t->grid;
    TRY(sdm_alloc(ctx, &t->ground, (size_t)lat->nu * (size_t)lat->nv, sizeof *t->ground,
                  "ground of the frame"));
    for (int n = 0; n < lat->nu * lat->nv; n++) {
        const int64_t u = lat->u0 + (int64_t)(n % lat->nu) * lat->step,
                      v = lat->v0 + (int64_t)(n / lat->nu) * lat->step;
        double lo[2], hi[2];
        sdm_lattice_ground(lat, (double)u, (double)v, lat->hmin_m, lo);
        sdm_lattice_ground(lat, (double)u, (double)v, lat->hmax_m, hi);
        t->ground[n][0] = (fmin(lo[0], hi[0]) - g->x0) / g->spacing;
        t->ground[n][1] = (fmax(lo[0], hi[0]) - g->x0) / g->spacing;
        t->ground[n][2] = (g->y0 - fmax(lo[1], hi[1])) / g->spacing;
        t->ground[n][3] = (g->y0 - fmin(lo[1], hi[1])) / g->spacing;
    }
done:
    return st;
}

void sdm_tiling_tile(const SdmTiling *t, int64_t i, SdmTilePlan *out)
{
    const SdmLattice *const lat = &t->lattice;
    const SdmGrid *const g = &t->grid;
    const SdmFrame *const f = &t->frame;
    const int64_t c = i % t->across * t->edge, r = i / t->across * t->edge;
    *out = (SdmTilePlan){.col0 = c, .row0 = r, .w = g->cols - c < t->edge ? g->cols - c : t->edge,
                         .h = g->rows - r < t->edge ? g->rows - r : t->edge, .u0 = INT64_MAX, .v0 = INT64_MAX,
                         .u1 = INT64_MIN, .v1 = INT64_MIN};
    const double more =
        2.0 * lat->step * f->gsd_m / sdm_grid_spacing_m(g); /* cells between nodes, and some */
    for (int n = 0; n < lat->nu * lat->nv; n++) {
        const int64_t u = lat->u0 + (int64_t)(n % lat->nu) * lat->step,
                      v = lat->v0 + (int64_t)(n / lat->nu) * lat->step;
        const double *const at = t->ground[n];
        if (at[1] + more < (double)c || at[0] - more > (double)(c + out->w) || at[3] + more < (double)r ||
            at[2] - more > (double)(r + out->h))
            continue;
        out->u0 = u < out->u0 ? u : out->u0;
        out->v0 = v < out->v0 ? v : out->v0;
        out->u1 = u > out->u1 ? u : out->u1;
        out->v1 = v > out->v1 ? v : out->v1;
    }
    if (out->u0 > out->u1)
        out->u0 = out->u1 = out->v0 = out->v1 = 0;
    out->u0 = out->u0 > 0 ? out->u0 : 0;
    out->v0 = out->v0 > 0 ? out->v0 : 0;
    out->u1 = out->u1 < f->width ? out->u1 : f->width;
    out->v1 = out->v1 < f->height ? out->v1 : f->height;
    out->cost = t->tiled ? sdm_tiling_block_cost(t, c, r, out->w, out->h) : sdm_tiling_whole_cost(t);
}

/* Whether or not --tile asks for an edge: below what its preparation and its smallest tile take, which are
 * computed whole, nothing can be done within the budget. */
static SdmStatus check_budget(SdmContext *ctx, const SdmTiling *t)
{
    const int64_t budget = t->options->memory_bytes;
    const int64_t tile = sdm_tiling_edge_cost(t, LEAST_EDGE).bytes;
    int64_t need = budget, prepare = 0;
    for (int i = 0; i < 64; i++) { /* GDAL's cache and strips grow with the budget */
        prepare = sdm_tiling_prepare_bytes(t, need);
        const int64_t least =
            (tile > prepare ? tile : prepare) + sdm_cache_bytes(need) - sdm_cache_bytes(budget);
        if (least + sdm_tiling_reserve(need) <= need)
            break;
        need = least + sdm_tiling_reserve(need) + 1;
    }
    if (need == budget)
        return SDM_OK;
    const long long mib = (long long)(need >> 20) + 1;
    return sdm_fail(ctx, SDM_ERR_BUDGET,
                    "--memory %lld MiB is too small for this pair: %s needs more; give at least %lldM",
                    (long long)(budget >> 20), prepare > tile ? "its preparation" : "a tile of 64 cells",
                    mib);
}

static SdmStatus choose_edge(SdmContext *ctx, SdmTiling *t)
{
    SdmStatus st = SDM_OK;
    const SdmOptions *const o = t->options;
    const SdmGrid *const g = &t->grid;
    const int64_t longest = g->cols > g->rows ? g->cols : g->rows;
    const int64_t budget = o->memory_bytes - sdm_tiling_reserve(o->memory_bytes);
    TRY(check_budget(ctx, t));
    t->edge = o->tile > 0 && o->tile < longest ? o->tile : longest;
    t->tiled = t->edge < longest || sdm_tiling_whole_cost(t).bytes > budget;
    for (int parts = 2; t->tiled && o->tile == 0 && t->edge > LEAST_EDGE &&
                        sdm_tiling_edge_cost(t, t->edge).bytes > budget;
         parts++)
        t->edge = (longest + parts - 1) / parts;
    t->edge = t->edge < LEAST_EDGE && o->tile == 0 && longest > LEAST_EDGE ? LEAST_EDGE : t->edge;
    t->across = (g->cols + t->edge - 1) / t->edge;
    t->down = (g->rows + t->edge - 1) / t->edge;
done:
    return st;
}

SdmStatus sdm_tiling_find(SdmContext *ctx, const SdmScene *scene, SdmTiling *t)
{
    SdmStatus st = SDM_OK;
    *t = (SdmTiling){.options = scene->options};
    TRY(sdm_frame_find(ctx, scene, &t->frame));
    TRY(sdm_prepare_settings(ctx, scene, &t->frame, &t->settings));
    TRY(sdm_grid_choose(ctx, sdm_options(ctx), t->frame.lon_deg, t->frame.lat_deg, t->frame.gsd_m, &t->grid));
    sdm_grid_warn_area(ctx, sdm_options(ctx)->t_srs, t->frame.lon_deg, t->frame.lat_deg);
    const SdmLatticeRequest q = {.scene = scene, .frame = &t->frame, .grid = &t->grid, .u1 = t->frame.width,
                                 .v1 = t->frame.height, .step = sdm_coarse_step(&t->frame, 4),
                                 .hmin_m = t->frame.hmin_m, .hmax_m = t->frame.hmax_m};
    TRY(sdm_lattice_build(ctx, &q, &t->lattice));
    TRY(cover(ctx, t));
    TRY(find_ground(ctx, t));
    sdm_tiling_begin(scene, t);
    TRY(choose_edge(ctx, t));
done:
    if (st != SDM_OK)
        sdm_tiling_free(t);
    return st;
}

void sdm_tiling_free(SdmTiling *t)
{
    sdm_lattice_free(&t->lattice);
    sdm_free(&t->ground);
}
