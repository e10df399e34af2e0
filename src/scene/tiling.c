/* Cameras and budget -> tiles of a scene, and what each is expected to take.  The one source of the
 * figures of info and plan, and of the cut of run and plan. */
// SPDX-License-Identifier: Apache-2.0
#include "core/machine.h"
#include "core/math.h"
#include "geo/grid.h"

#include "input/source.h"
#include "scene/scene.h"
#include "scene/coarse_surface.h"

#include <math.h>

/* ---- what is expected: bytes of the process, processor time ---- */

/* Measured (docs/scale.md). */
enum {
    MIB = 1 << 20,
    PROGRAM_MIB = 58,     /* program and libraries */
    RESERVE_SHARE = 12,   /* of the budget, for what no figure here covers */
    THREAD_MIB = 1,       /* stack and buffers of a thread */
    WRITE_MIB = 10,       /* of GDAL while products are written */
    WRITE_THREAD_MIB = 6, /* and for each thread that compresses */
    COARSE_BYTES = 13,    /* a pixel of the coarse surface with its terrain mask */
    MATCHING_BYTES = 8,   /* more while the coarse surface is matched */
    STRIP_PIXELS = 256,   /* rows of a strip of the pointing at full resolution, halo included */
    STRIPS = 5,           /* of these */
    STRIP_BYTES = 100,    /* a pixel of such a strip */
    PLANNED_THREADS = 4   /* that a plan reckons with, wherever its tiles are computed */
};
/* Processor time (docs/scale.md), AVX-512: start of the program; a frame pixel of the coarse surface; a pixel
 * of the strips of the pointing, and a frame pixel of a block, each matched by passes or, in towns, by
 * semi-global matching; a cell merged. */
static const double START_S = 0.3, COARSE_S = 0.02e-6, STRIP_S[2] = {0.1e-6, 0.3e-6},
                    PIXEL_S[2] = {0.27e-6, 0.62e-6}, CELL_S = 0.25e-6;

/* Bytes of the budget that no tile may count on. */
static int64_t reserve(int64_t memory_bytes)
{
    return memory_bytes / RESERVE_SHARE;
}

int64_t sdm_cache_bytes(int64_t memory_bytes)
{
    const int64_t least = INT64_C(8) << 20, most = INT64_C(256) << 20, share = memory_bytes / 16;
    return share < least ? least : share > most ? most : share;
}

/* Memory that GDAL keeps of the images: ASTER's reader whole bands, its cache at most the images; nothing of
 * images in memory, which are the caller's. */
static int64_t image_bytes(const SdmScene *scene)
{
    int64_t pixels = 0;
    if (!scene->file_count)
        return 0;
    for (int i = 0; i < 2; i++)
        pixels += scene->view[i].image->width * scene->view[i].image->height;
    const int64_t cache = sdm_cache_bytes(scene->options->memory_bytes), files = 2 * pixels;
    return scene->sensor == SDM_SENSOR_ASTER ? pixels : files < cache ? files : cache;
}

static int64_t coarse_pixels(const SdmFrame *f, int coarse_level)
{
    return (f->width >> coarse_level) * (f->height >> coarse_level);
}

static int64_t fixed_bytes(const SdmScene *scene, const SdmFrame *f, int coarse_level, int threads)
{
    return (int64_t)(PROGRAM_MIB + threads * THREAD_MIB) * MIB + image_bytes(scene) +
           coarse_pixels(f, coarse_level) * COARSE_BYTES;
}

int64_t sdm_block_room(const SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p)
{
    const int64_t room = scene->options->memory_bytes - reserve(scene->options->memory_bytes) -
                         fixed_bytes(scene, &p->frame, p->settings.coarse_level, sdm_threads(ctx));
    return room > 1 ? room : 1;
}

/* The map from cells to frame pixels, linearised about the middle of both.  lean: frame pixels by which a
 * metre of height moves the ground of the left view. */
static void linearise(const SdmTiling *t, double to_frame[4], double middle[2], double *lean)
{
    const SdmLattice *const lat = &t->lattice;
    const SdmFrame *const f = &t->frame;
    const double u = 0.5 * (double)f->width, v = 0.5 * (double)f->height, d = 0.25 * (double)f->width,
                 unit = sdm_grid_spacing_m(&t->grid) / t->grid.spacing;
    double at[2], along[2], across[2], high[2];
    sdm_lattice_ground(lat, u, v, f->h0_m, at);
    sdm_lattice_ground(lat, u + d, v, f->h0_m, along);
    sdm_lattice_ground(lat, u, v + d, f->h0_m, across);
    sdm_lattice_ground(lat, u, v, f->h0_m + 1.0, high);
    /* cells (x right, y down) of a frame pixel, then the inverse */
    const double s = 1.0 / (d * t->grid.spacing);
    const double a = (along[0] - at[0]) * s, b = (across[0] - at[0]) * s, c = (at[1] - along[1]) * s,
                 e = (at[1] - across[1]) * s, det = a * e - b * c;
    to_frame[0] = e / det, to_frame[1] = -b / det, to_frame[2] = -c / det, to_frame[3] = a / det;
    middle[0] = (at[0] - t->grid.x0) / t->grid.spacing;
    middle[1] = (t->grid.y0 - at[1]) / t->grid.spacing;
    *lean = hypot(high[0] - at[0], high[1] - at[1]) * unit / f->gsd_m;
}

/* Columns and rows of the frame that a block of cells is likely to need: its ground at the reference
 * height, the displacement by the relief, and a margin; inside the frame. */
static void likely_window(const SdmTiling *t, double col, double row, double w, double h, int64_t out[2])
{
    enum { MORE_PX = 64 };
    const double size[2] = {(double)t->frame.width, (double)t->frame.height};
    double m[4], middle[2], lean;
    linearise(t, m, middle, &lean);
    /* relief of a tile: no steeper than 45 deg throughout; a tile of more relief is computed in parts */
    const double extent_m = (fmax(w, h) + 2 * SDM_GRID_REACH) * sdm_grid_spacing_m(&t->grid);
    const double relief_m = fmin(fmin(t->frame.hmax_m - t->frame.hmin_m, 1000.0), extent_m);
    const double x = col + 0.5 * w - middle[0], y = row + 0.5 * h - middle[1];
    for (int k = 0; k < 2; k++) {
        const double at = 0.5 * size[k] + m[2 * k] * x + m[2 * k + 1] * y;
        const double reach = 2.0 * SDM_GRID_REACH;
        const double half = 0.5 * (fabs(m[2 * k]) * (w + reach) + fabs(m[2 * k + 1]) * (h + reach) +
                                   lean * relief_m + MORE_PX);
        const double from = fmax(at - half, 0.0), to = fmin(at + half, size[k]);
        out[k] = to > from ? (int64_t)(to - from) : 0;
    }
}

/* Cells of the DEM of the whole frame; the planned grid has more, since it covers the frame at all
 * heights. */
static int64_t likely_cells(const SdmTiling *t)
{
    const double w = (double)t->frame.width, h = (double)t->frame.height;
    double m[4], middle[2], lean;
    linearise(t, m, middle, &lean);
    const double det = m[0] * m[3] - m[1] * m[2];
    const double cells = (fabs(m[3]) * w + fabs(m[1]) * h) * (fabs(m[2]) * w + fabs(m[0]) * h) / (det * det);
    return (int64_t)fmin(cells, (double)(t->grid.cols * t->grid.rows));
}

static SdmCost window_cost(const SdmTiling *t, int64_t w, int64_t h, int64_t cells)
{
    SdmCost c = {.bytes = t->fixed_bytes, .cpu_s = START_S};
    if (w <= 0 || h <= 0)
        return c;
    const int64_t halo = 2 * (int64_t)sdm_match_halo(&t->settings, 0);
    const double gw = fmin((double)(w + halo), (double)t->frame.width),
                 gh = fmin((double)(h + halo), (double)t->frame.height);
    c.bytes +=
        sdm_window_bytes(&t->settings, w, h, t->frame.width, t->frame.height) + cells * SDM_BLOCK_CELL_BYTES;
    c.cpu_s += gw * gh * PIXEL_S[t->settings.semi_global];
    return c;
}

/* A block of cells of the planned grid. */
static SdmCost block_cost(const SdmTiling *t, int64_t col, int64_t row, int64_t w, int64_t h)
{
    int64_t window[2];
    likely_window(t, (double)col, (double)row, (double)w, (double)h, window);
    return window_cost(t, window[0], window[1], w * h);
}

/* A square block in the middle of the frame. */
static SdmCost edge_cost(const SdmTiling *t, int64_t edge)
{
    double m[4], middle[2], lean, half = 0.5 * (double)edge;
    int64_t window[2];
    linearise(t, m, middle, &lean);
    likely_window(t, middle[0] - half, middle[1] - half, (double)edge, (double)edge, window);
    return window_cost(t, window[0], window[1], edge * edge);
}

/* The scene, or the part of it that is asked for, in one piece, prepared and matched. */
static SdmCost whole_cost(const SdmTiling *t)
{
    SdmCost c = t->options->bounds || t->options->area
                    ? block_cost(t, 0, 0, t->grid.cols, t->grid.rows)
                    : window_cost(t, t->frame.width, t->frame.height, likely_cells(t));
    c.cpu_s += t->prepare.cpu_s - START_S;
    return c;
}

/* Bytes that the preparation takes within a budget: its strips grow with it. */
static int64_t prepare_bytes(const SdmTiling *t, int64_t memory_bytes)
{
    const SdmFrame *const f = &t->frame;
    const int level = t->settings.coarse_level;
    const SdmWindow win = sdm_frame_level(f, level);
    const int64_t strip = (f->width < 8192 ? f->width : 8192) * STRIP_PIXELS * STRIP_BYTES;
    const int64_t growing = coarse_pixels(f, level) * MATCHING_BYTES;
    const int64_t matched = sdm_coarse_strip_bytes(memory_bytes, &t->settings, &win);
    const int64_t once = t->image_bytes > matched ? t->image_bytes : matched;
    return t->fixed_bytes + (strip > growing + once ? strip : growing + once);
}

static void set_fixed_costs(const SdmScene *scene, SdmTiling *t)
{
    const SdmFrame *const f = &t->frame;
    const int level = t->settings.coarse_level;
    t->fixed_bytes = fixed_bytes(scene, f, level, PLANNED_THREADS);
    t->image_bytes = sdm_pyramid_strip_bytes(scene->view[1].image->width, level);
    const int64_t rows = f->height < STRIP_PIXELS ? f->height : STRIP_PIXELS;
    const double strips_s = (double)(STRIPS * rows * f->width) * STRIP_S[t->settings.semi_global];
    t->prepare = (SdmCost){.bytes = prepare_bytes(t, t->options->memory_bytes),
                           .cpu_s = START_S + (double)(f->width * f->height) * COARSE_S + strips_s};
}

SdmCost sdm_tiling_run_cost(const SdmContext *ctx, const SdmTiling *t)
{
    const int threads = sdm_threads(ctx), most = threads < PLANNED_THREADS ? threads : PLANNED_THREADS;
    const int64_t budget = t->options->memory_bytes, /* writing: the products; the peak for small pairs */
        writing = t->fixed_bytes + (int64_t)(WRITE_MIB + most * WRITE_THREAD_MIB) * MIB;
    SdmTile tile;
    SdmCost c = {.bytes = t->tiled && t->prepare.bytes > writing ? t->prepare.bytes : writing,
                 .cpu_s = (t->tiled ? t->prepare.cpu_s : START_S) + (double)likely_cells(t) * CELL_S};
    for (int64_t i = 0; i < t->across * t->down; i++) {
        sdm_tiling_tile(t, i, &tile);
        const int64_t bytes = tile.cost.bytes < budget ? tile.cost.bytes : budget; /* else in parts */
        c.bytes = bytes > c.bytes ? bytes : c.bytes;
        c.cpu_s += tile.cost.cpu_s - START_S; /* one process starts once */
    }
    return c;
}

/* ---- tiles ---- */

enum { LEAST_EDGE = 64 /* cells */, WIDE_GRID = 10 /* times the area of the scene */ };

/* The bounds of the frame's ground at its reference height, in areas of the quadrangles between its nodes. */
static double measure_bounds(const SdmLattice *lat)
{
    double sum = 0.0, b[4] = SDM_NO_BOUNDS;
    for (int i = 0; i < lat->nu * lat->nv; i++) {
        const SdmNode *const n = &lat->node[i];
        sdm_bounds_add(b, n->ground[0], n->ground[1]);
        if ((i + 1) % lat->nu == 0 || i + lat->nu >= lat->nu * lat->nv)
            continue;
        const double *const far = n[lat->nu + 1].ground, *const left = n[lat->nu].ground;
        sum += 0.5 * fabs((far[0] - n[0].ground[0]) * (left[1] - n[1].ground[1]) -
                          (far[1] - n[0].ground[1]) * (left[0] - n[1].ground[0]));
    }
    return (b[2] - b[0]) * (b[3] - b[1]) / sum;
}

/* Grid over the ground of every node of the frame between the lowest and the highest height; its bounds for
 * each node, in cells of the part. */
static SdmStatus cover(SdmContext *ctx, SdmTiling *t)
{
    const SdmLattice *const lat = &t->lattice;
    const SdmGrid *const grid = &t->grid;
    const int nodes = lat->nu * lat->nv;
    double all[4] = SDM_NO_BOUNDS;
    PASS(sdm_alloc(ctx, &t->footprint, (size_t)nodes, sizeof *t->footprint, "ground of the frame"));
    for (int n = 0; n < nodes; n++) {
        double *const b = t->footprint[n];
        sdm_bounds_clear(b);
        for (int k = 0; k < 2; k++) {
            double g[2];
            sdm_lattice_ground(lat, (double)(lat->u0 + (int64_t)(n % lat->nu) * lat->step),
                               (double)(lat->v0 + (int64_t)(n / lat->nu) * lat->step),
                               k ? lat->hmax_m : lat->hmin_m, g);
            sdm_bounds_add(b, g[0], g[1]);
        }
        sdm_bounds_add(all, b[0], b[1]);
        sdm_bounds_add(all, b[2], b[3]);
    }
    const double times = measure_bounds(lat);
    if (times > WIDE_GRID)
        sdm_log(ctx, SDM_LOG_WARNING, 3,
                "the DEM's grid has %.0f times the area of the scene, which lies aslant on the map of %s",
                times, t->options->t_srs ? t->options->t_srs : "its CRS");
    PASS(sdm_grid_cover(ctx, all, &t->grid));
    PASS(sdm_part_cut(ctx, t->options, true, &t->grid));
    for (int n = 0; n < 4 * nodes; n++) {
        double *const at = &t->footprint[n / 4][n % 4];
        *at = (n % 2 ? grid->y0 - *at : *at - grid->x0) / grid->spacing;
    }
    return SDM_OK;
}

void sdm_tiling_tile(const SdmTiling *t, int64_t i, SdmTile *out)
{
    const SdmLattice *const lat = &t->lattice;
    const SdmGrid *const g = &t->grid;
    const SdmFrame *const f = &t->frame;
    const int64_t c = i % t->across * t->edge, r = i / t->across * t->edge;
    *out = (SdmTile){.col0 = c,
                     .row0 = r,
                     .w = g->cols - c < t->edge ? g->cols - c : t->edge,
                     .h = g->rows - r < t->edge ? g->rows - r : t->edge,
                     .u0 = INT64_MAX,
                     .v0 = INT64_MAX,
                     .u1 = INT64_MIN,
                     .v1 = INT64_MIN};
    const double more =
        2.0 * lat->step * f->gsd_m / sdm_grid_spacing_m(g); /* cells between nodes, and some */
    for (int n = 0; n < lat->nu * lat->nv; n++) {
        const int64_t u = lat->u0 + (int64_t)(n % lat->nu) * lat->step,
                      v = lat->v0 + (int64_t)(n / lat->nu) * lat->step;
        const double *const at = t->footprint[n];
        if (at[2] + more < (double)c || at[0] - more > (double)(c + out->w) || at[1] + more < (double)r ||
            at[3] - more > (double)(r + out->h))
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
    out->cost = t->tiled ? block_cost(t, c, r, out->w, out->h) : whole_cost(t);
}

/* The preparation and the smallest tile cannot be cut: a smaller budget cannot be kept, whatever --tile
 * says. */
static SdmStatus check_budget(SdmContext *ctx, const SdmTiling *t)
{
    const int64_t budget = t->options->memory_bytes;
    const int64_t tile = edge_cost(t, LEAST_EDGE).bytes;
    int64_t need = budget, prepare = 0;
    for (int i = 0; i < 64; i++) { /* GDAL's cache and strips grow with the budget */
        prepare = prepare_bytes(t, need);
        const int64_t least =
            (tile > prepare ? tile : prepare) + sdm_cache_bytes(need) - sdm_cache_bytes(budget);
        if (least + reserve(need) <= need)
            break;
        need = least + reserve(need) + 1;
    }
    if (need == budget)
        return SDM_OK;
    const long long mib = (long long)(need >> 20) + 1;
    return sdm_fail(ctx, SDM_ERR_BUDGET,
                    "--memory %lld MiB%s is too small for this pair: %s needs more; give at least %lldM",
                    (long long)(budget >> 20),
                    budget == sdm_usual_memory() ? " (the default: at most 3/4 of what is granted here)" : "",
                    prepare > tile ? "its preparation" : "a tile of 64 cells", mib);
}

static SdmStatus choose_edge(SdmContext *ctx, SdmTiling *t)
{
    const SdmOptions *const o = t->options;
    const SdmGrid *const g = &t->grid;
    const int64_t longest = g->cols > g->rows ? g->cols : g->rows;
    const int64_t budget = o->memory_bytes - reserve(o->memory_bytes);
    PASS(check_budget(ctx, t));
    t->edge = o->tile > 0 && o->tile < longest ? o->tile : longest;
    t->tiled = t->edge < longest || whole_cost(t).bytes > budget;
    for (int parts = 2;
         t->tiled && o->tile == 0 && t->edge > LEAST_EDGE && edge_cost(t, t->edge).bytes > budget; parts++)
        t->edge = (longest + parts - 1) / parts;
    t->edge = t->edge < LEAST_EDGE && o->tile == 0 && longest > LEAST_EDGE ? LEAST_EDGE : t->edge;
    t->across = (g->cols + t->edge - 1) / t->edge;
    t->down = (g->rows + t->edge - 1) / t->edge;
    return SDM_OK;
}

SdmStatus sdm_tiling_find(SdmContext *ctx, const SdmScene *scene, SdmTiling *t)
{
    SDM_CLOSED_BY(sdm_gdal_config_end) SdmGdalConfig config = {.changed = false};
    *t = (SdmTiling){.options = scene->options};
    PASS(sdm_gdal_config_begin(ctx, scene->options, &config));
    PASS(sdm_frame_find(ctx, scene, &t->frame));
    PASS(sdm_prepare_settings(ctx, scene, &t->frame, &t->settings));
    PASS(sdm_grid_choose(ctx, scene->options, t->frame.lon_deg, t->frame.lat_deg, t->frame.gsd_m, &t->grid));
    sdm_grid_warn(ctx, scene->options->t_srs, t->frame.lon_deg, t->frame.lat_deg);
    const SdmLatticeRequest q = {.scene = scene,
                                 .frame = &t->frame,
                                 .grid = &t->grid,
                                 .u1 = t->frame.width,
                                 .v1 = t->frame.height,
                                 .step = sdm_frame_lattice_step(&t->frame, 4),
                                 .hmin_m = t->frame.hmin_m,
                                 .hmax_m = t->frame.hmax_m};
    PASS(sdm_lattice_build(ctx, &q, &t->lattice));
    PASS(sdm_lattice_check_map(ctx, &q, &t->lattice));
    PASS(cover(ctx, t));
    set_fixed_costs(scene, t);
    return choose_edge(ctx, t);
}

void sdm_tiling_free(SdmTiling *t)
{
    sdm_lattice_free(&t->lattice);
    sdm_free(&t->footprint);
}

void sdm_tiling_place(const double corner[2], const int64_t tiles_end[2], const int64_t cells[4],
                      const SdmPrepared *p, SdmBlock *block)
{
    const SdmGrid *const grid = &p->grid;
    const int64_t at[2] = {llround((corner[0] - grid->x0) / grid->spacing),
                           llround((grid->y0 - corner[1]) / grid->spacing)};
    int64_t first[2], from[2], to[2];
    sdm_part_at(grid, &p->part, first);
    const int64_t end[2] = {first[0] + p->part.cols, first[1] + p->part.rows};
    for (int k = 0; k < 2; k++) {
        from[k] = cells[k] == 0 ? first[k] : at[k] + cells[k];
        to[k] = cells[k] + cells[2 + k] == tiles_end[k] ? end[k] : at[k] + cells[k] + cells[2 + k];
        from[k] = from[k] < first[k] ? first[k] : from[k] > end[k] ? end[k] : from[k];
        to[k] = to[k] < from[k] ? from[k] : to[k] > end[k] ? end[k] : to[k];
    }
    *block = (SdmBlock){.col0 = from[0], .row0 = from[1], .w = to[0] - from[0], .h = to[1] - from[1]};
}
