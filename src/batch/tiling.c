/* How a scene is cut: the planned grid, the edge of a tile that fits the budget, what each tile will need. */
// SPDX-License-Identifier: Apache-2.0
#include "batch/tiling.h"
#include "batch/unit.h"

#include <math.h>

/* Measured (docs/scale.md): program and libraries; stack and buffers of a thread; a pixel of the coarse
 * surface with its terrain, in use and while it grows; rows of the strips of the pointing's second round. */
enum {
    MIB = 1 << 20,
    PROGRAM_MIB = 52,
    SPARE_SHARE = 8 /* of the budget may wait in spare blocks */,
    THREAD_MIB = 1,
    PLANNED_THREADS = 4,
    COARSE_BYTES = 13,
    GROWING_BYTES = 48,
    STRIP_PIXELS = 256,
    STRIP_BYTES = 62,
    LEAST_EDGE = 64
};
static const double CPU_S_PER_PIXEL = 0.7e-6, CPU_S_START = 0.3, PREPARE_CPU_S_PER_PIXEL = 0.15e-6;

int64_t sdm_cache_bytes(int64_t memory_bytes)
{
    const int64_t least = INT64_C(8) << 20, most = INT64_C(256) << 20, share = memory_bytes / 16;
    return share < least ? least : share > most ? most : share;
}

static int64_t coarse_pixels(const SdmFrame *f, int coarse_level)
{
    return (f->width >> coarse_level) * (f->height >> coarse_level);
}

/* What a budget itself takes: spare blocks, GDAL's cache. */
static int64_t share_bytes(int64_t memory_bytes)
{
    return memory_bytes / SPARE_SHARE + sdm_cache_bytes(memory_bytes);
}

/* Bytes of the process before any window: program, whole bands that ASTER's reader keeps, coarse surface, and the
 * budget's share. */
static int64_t fixed_bytes(const SdmContext *ctx, const SdmScene *scene, const SdmFrame *f, int coarse_level,
                           int threads)
{
    int64_t bands = 0;
    for (int i = 0; i < 2 && scene->sensor == SDM_SENSOR_ASTER; i++)
        bands += sdm_image_width(scene->view[i].image) * sdm_image_height(scene->view[i].image);
    return (int64_t)(PROGRAM_MIB + threads * THREAD_MIB) * MIB + share_bytes(sdm_options(ctx)->memory_bytes) +
           bands + coarse_pixels(f, coarse_level) * COARSE_BYTES;
}

int64_t sdm_unit_room(const SdmContext *ctx, const SdmScene *scene, const SdmFrame *f, int coarse_level)
{
    const int64_t room =
        sdm_options(ctx)->memory_bytes - fixed_bytes(ctx, scene, f, coarse_level, sdm_threads(ctx));
    return room > 1 ? room : 1;
}

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
        double lo[2], hi[2];
        sdm_lattice_ground(lat, (double)u, (double)v, lat->hmin_m, lo);
        sdm_lattice_ground(lat, (double)u, (double)v, lat->hmax_m, hi);
        const double x0 = (fmin(lo[0], hi[0]) - g->x0) / g->spacing - more,
                     x1 = (fmax(lo[0], hi[0]) - g->x0) / g->spacing + more;
        const double y0 = (g->y0 - fmax(lo[1], hi[1])) / g->spacing - more,
                     y1 = (g->y0 - fmin(lo[1], hi[1])) / g->spacing + more;
        if (x1 < (double)c || x0 > (double)(c + out->w) || y1 < (double)r || y0 > (double)(r + out->h))
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
    const double halo = 2.0 * sdm_chain_halo(&t->settings, 0);
    const double pixels = fmin((double)(out->u1 - out->u0) + halo, (double)f->width) *
                          fmin((double)(out->v1 - out->v0) + halo, (double)f->height);
    out->memory_bytes =
        t->fixed_bytes +
        sdm_window_bytes(&t->settings, out->u1 - out->u0, out->v1 - out->v0, f->width, f->height) +
        out->w * out->h * SDM_CELL_BYTES;
    out->cpu_s = CPU_S_START + pixels * CPU_S_PER_PIXEL;
}

/* Bytes of the largest window that a tile of this edge is likely to have: the frame lies turned against the
 * grid, and its ground moves with the height by the slope of the left rays. */
static int64_t likely_bytes(const SdmTiling *t, int64_t edge)
{
    const SdmLattice *const lat = &t->lattice;
    const SdmFrame *const f = &t->frame;
    const double u = 0.5 * (double)f->width, v = 0.5 * (double)f->height,
                 per_cell = sdm_grid_spacing_m(&t->grid) / f->gsd_m;
    const double unit = sdm_grid_spacing_m(&t->grid) / t->grid.spacing;
    double a[2], b[2], low[2], high[2];
    sdm_lattice_ground(lat, u - 0.25 * (double)f->width, v, f->h0_m, a);
    sdm_lattice_ground(lat, u + 0.25 * (double)f->width, v, f->h0_m, b);
    const double angle = atan2(b[1] - a[1], b[0] - a[0]), turn = fabs(cos(angle)) + fabs(sin(angle));
    sdm_lattice_ground(lat, u, v, f->h0_m, low);
    sdm_lattice_ground(lat, u, v, f->h0_m + 1.0, high);
    const double relief_m = fmin(f->hmax_m - f->hmin_m, 1000.0); /* within a tile; more is met by parts */
    const double lean = hypot(high[0] - low[0], high[1] - low[1]) * unit * relief_m / f->gsd_m;
    const double side = ((double)edge + 2.0 * 20.0) * per_cell * turn + lean + 64.0;
    const int64_t w = (int64_t)fmin(side, (double)f->width), h = (int64_t)fmin(side, (double)f->height);
    return sdm_window_bytes(&t->settings, w, h, f->width, f->height) + edge * edge * SDM_CELL_BYTES;
}

/* The least budget for preparing and for the smallest tile, which are computed whole. */
static SdmStatus check_budget(SdmContext *ctx, const SdmTiling *t)
{
    const int64_t memory = sdm_options(ctx)->memory_bytes, edge = LEAST_EDGE;
    const int64_t prepare = t->prepare_bytes - share_bytes(memory),
                  tile = t->fixed_bytes - share_bytes(memory) + likely_bytes(t, edge);
    const int64_t most = prepare > tile ? prepare : tile;
    int64_t least = memory / MIB * MIB;
    if (most + share_bytes(memory) <= memory)
        return SDM_OK;
    while (most + share_bytes(least) > least)
        least += MIB;
    return sdm_fail(ctx, SDM_ERR_MEMORY,
                    "--memory %lld MiB is too small for this pair: %s needs more; give at least %lldM",
                    (long long)(memory >> 20), prepare > tile ? "its preparation" : "a tile of 64 cells",
                    (long long)(least / MIB));
}

static void choose_edge(const SdmContext *ctx, SdmTiling *t)
{
    const SdmOptions *const o = sdm_options(ctx);
    const SdmGrid *const g = &t->grid;
    const int64_t longest = g->cols > g->rows ? g->cols : g->rows;
    const int64_t whole =
        t->fixed_bytes +
        sdm_window_bytes(&t->settings, t->frame.width, t->frame.height, t->frame.width, t->frame.height) +
        g->cols * g->rows * SDM_CELL_BYTES;
    t->edge = o->tile > 0 && o->tile < longest ? o->tile : longest;
    t->tiled = t->edge < longest || whole > o->memory_bytes;
    for (int parts = 2;
         t->tiled && o->tile == 0 && t->fixed_bytes + likely_bytes(t, t->edge) > o->memory_bytes; parts++) {
        t->edge = (longest + parts - 1) / parts;
        if (t->edge <= LEAST_EDGE) {
            t->edge = LEAST_EDGE; /* fits, see check_budget() */
            break;
        }
    }
    t->across = (g->cols + t->edge - 1) / t->edge;
    t->down = (g->rows + t->edge - 1) / t->edge;
}

SdmStatus sdm_tiling_find(SdmContext *ctx, const SdmScene *scene, SdmTiling *t)
{
    SdmStatus st = SDM_OK;
    *t = (SdmTiling){.edge = 0};
    TRY(sdm_frame_find(ctx, scene, &t->frame));
    TRY(sdm_prepare_settings(ctx, scene, &t->frame, &t->settings));
    TRY(sdm_grid_choose(ctx, t->frame.lon_deg, t->frame.lat_deg, t->frame.gsd_m, &t->grid));
    const SdmLatticeRequest q = {.scene = scene, .frame = &t->frame, .grid = &t->grid, .u1 = t->frame.width,
                                 .v1 = t->frame.height, .step = sdm_coarse_step(&t->frame, 4),
                                 .hmin_m = t->frame.hmin_m, .hmax_m = t->frame.hmax_m};
    TRY(sdm_lattice_build(ctx, &q, &t->lattice));
    TRY(cover(ctx, t));
    t->fixed_bytes = fixed_bytes(ctx, scene, &t->frame, t->settings.coarse_level, PLANNED_THREADS);
    const int64_t strip = (t->frame.width < 8192 ? t->frame.width : 8192) * STRIP_PIXELS * STRIP_BYTES;
    const int64_t growing = coarse_pixels(&t->frame, t->settings.coarse_level) * GROWING_BYTES;
    t->prepare_bytes = t->fixed_bytes + (strip > growing ? strip : growing);
    t->prepare_cpu_s = CPU_S_START + (double)(t->frame.width * t->frame.height) * PREPARE_CPU_S_PER_PIXEL;
    TRY(check_budget(ctx, t));
    choose_edge(ctx, t);
done:
    if (st != SDM_OK)
        sdm_tiling_free(t);
    return st;
}

void sdm_tiling_free(SdmTiling *t)
{
    sdm_lattice_free(&t->lattice);
}
