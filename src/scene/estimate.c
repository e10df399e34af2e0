/* What a unit of work is expected to take: bytes of the process and processor time.  The one source of the
 * figures that info and plan tell, and by which run and plan cut a scene. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/coarse_level.h"
#include "scene/tiling.h"
#include "scene/block.h"

#include <math.h>

/* Measured (docs/scale.md): program and libraries; stack and buffers of a thread; a pixel of the coarse
 * surface with its terrain, in use and what it takes besides while it grows; rows of the strips of the
 * pointing's second round. */
enum {
    MIB = 1 << 20,
    PROGRAM_MIB = 58,
    RESERVE_SHARE = 12, /* of the budget, for what no figure here knows */
    THREAD_MIB = 1,
    WRITE_MIB = 10, /* GDAL's while products are written, and more for each thread that compresses */
    WRITE_THREAD_MIB = 6,
    COARSE_BYTES = 13,
    GROWING_BYTES = 8,
    STRIP_PIXELS = 256,
    STRIP_BYTES = 100
};
/* Processor time (docs/scale.md), AVX-512: start of the program; a frame pixel prepared, and one worked on in
 * a unit; a cell merged. */
static const double START_S = 0.3, PREPARE_S = 0.07e-6, PIXEL_S = 0.27e-6, CELL_S = 0.25e-6;

int64_t sdm_cache_bytes(int64_t memory_bytes)
{
    const int64_t least = INT64_C(8) << 20, most = INT64_C(256) << 20, share = memory_bytes / 16;
    return share < least ? least : share > most ? most : share;
}

/* What GDAL keeps of the images: ASTER's reader whole bands, its cache at most the images; nothing of images in
 * memory, which are the caller's. */
static int64_t image_bytes(const SdmScene *scene)
{
    int64_t pixels = 0;
    if (!scene->file_count)
        return 0;
    for (int i = 0; i < 2; i++)
        pixels += sdm_image_width(scene->view[i].image) * sdm_image_height(scene->view[i].image);
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

int64_t sdm_unit_room(const SdmContext *ctx, const SdmScene *scene, const SdmFrame *f, int coarse_level)
{
    const int64_t budget = scene->options->memory_bytes;
    const int64_t room =
        budget - budget / RESERVE_SHARE - fixed_bytes(scene, f, coarse_level, sdm_threads(ctx));
    return room > 1 ? room : 1;
}

/* How the grid lies on the frame, about the middle of both: cells -> frame pixels.  lean: frame pixels by
 * which a metre of height moves the ground of the left view. */
static void lay(const SdmTiling *t, double to_frame[4], double middle[2], double *lean)
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

/* Frame pixels that a block of cells is likely to need: its ground at the reference height, what the heights
 * of a tile may move it, REACH cells and some around; cut at the frame. */
static void likely_window(const SdmTiling *t, double col, double row, double w, double h, int64_t out[2])
{
    enum { REACH = 20, MORE_PX = 64 };
    const double size[2] = {(double)t->frame.width, (double)t->frame.height};
    double m[4], middle[2], lean;
    lay(t, m, middle, &lean);
    /* relief of a tile: no steeper than 45 deg throughout; more is met by computing it in parts */
    const double extent_m = (fmax(w, h) + 2 * REACH) * sdm_grid_spacing_m(&t->grid);
    const double relief_m = fmin(fmin(t->frame.hmax_m - t->frame.hmin_m, 1000.0), extent_m);
    const double x = col + 0.5 * w - middle[0], y = row + 0.5 * h - middle[1];
    for (int k = 0; k < 2; k++) {
        const double at = 0.5 * size[k] + m[2 * k] * x + m[2 * k + 1] * y;
        const double half = 0.5 * (fabs(m[2 * k]) * (w + 2 * REACH) + fabs(m[2 * k + 1]) * (h + 2 * REACH) +
                                   lean * relief_m + MORE_PX);
        const double from = fmax(at - half, 0.0), to = fmin(at + half, size[k]);
        out[k] = to > from ? (int64_t)(to - from) : 0;
    }
}

/* Cells of the DEM of the whole frame; the planned grid covers it at all heights, which is more. */
static int64_t likely_cells(const SdmTiling *t)
{
    const double w = (double)t->frame.width, h = (double)t->frame.height;
    double m[4], middle[2], lean;
    lay(t, m, middle, &lean);
    const double det = m[0] * m[3] - m[1] * m[2];
    const double cells = (fabs(m[3]) * w + fabs(m[1]) * h) * (fabs(m[2]) * w + fabs(m[0]) * h) / (det * det);
    return (int64_t)fmin(cells, (double)(t->grid.cols * t->grid.rows));
}

static SdmCost window_cost(const SdmTiling *t, int64_t w, int64_t h, int64_t cells)
{
    SdmCost c = {.bytes = t->fixed_bytes, .cpu_s = START_S};
    if (w <= 0 || h <= 0)
        return c;
    const int64_t halo = 2 * (int64_t)sdm_chain_halo(&t->settings, 0);
    const double gw = fmin((double)(w + halo), (double)t->frame.width),
                 gh = fmin((double)(h + halo), (double)t->frame.height);
    c.bytes += sdm_window_bytes(&t->settings, w, h, t->frame.width, t->frame.height) + cells * SDM_CELL_BYTES;
    c.cpu_s += gw * gh * PIXEL_S;
    return c;
}

SdmCost sdm_tiling_block_cost(const SdmTiling *t, int64_t col, int64_t row, int64_t w, int64_t h)
{
    int64_t window[2];
    likely_window(t, (double)col, (double)row, (double)w, (double)h, window);
    return window_cost(t, window[0], window[1], w * h);
}

SdmCost sdm_tiling_edge_cost(const SdmTiling *t, int64_t edge)
{
    double m[4], middle[2], lean, half = 0.5 * (double)edge;
    int64_t window[2];
    lay(t, m, middle, &lean);
    likely_window(t, middle[0] - half, middle[1] - half, (double)edge, (double)edge, window);
    return window_cost(t, window[0], window[1], edge * edge);
}

SdmCost sdm_tiling_whole_cost(const SdmTiling *t)
{
    SdmCost c = window_cost(t, t->frame.width, t->frame.height, likely_cells(t));
    c.cpu_s += t->prepare.cpu_s - START_S;
    return c;
}

int64_t sdm_tiling_reserve(int64_t memory_bytes)
{
    return memory_bytes / RESERVE_SHARE;
}

int64_t sdm_tiling_prepare_bytes(const SdmTiling *t, int64_t memory_bytes)
{
    const SdmFrame *const f = &t->frame;
    const int level = t->settings.coarse_level;
    const SdmWindow win = sdm_level_window(f, level);
    const int64_t strip = (f->width < 8192 ? f->width : 8192) * STRIP_PIXELS * STRIP_BYTES;
    const int64_t growing = coarse_pixels(f, level) * GROWING_BYTES;
    const int64_t matched = sdm_coarse_strip_bytes(memory_bytes, &t->settings, &win);
    const int64_t once = t->image_bytes > matched ? t->image_bytes : matched;
    return t->fixed_bytes + (strip > growing + once ? strip : growing + once);
}

void sdm_tiling_begin(const SdmScene *scene, SdmTiling *t)
{
    const SdmFrame *const f = &t->frame;
    const int level = t->settings.coarse_level;
    t->fixed_bytes = fixed_bytes(scene, f, level, SDM_PLANNED_THREADS);
    t->image_bytes = sdm_pyramid_strip_bytes(sdm_image_width(scene->view[1].image), level);
    t->prepare = (SdmCost){.bytes = sdm_tiling_prepare_bytes(t, t->options->memory_bytes),
                           .cpu_s = START_S + (double)(f->width * f->height) * PREPARE_S};
}

/* The process while it writes the products: what matters for small pairs. */
static int64_t writing_bytes(const SdmContext *ctx, const SdmTiling *t)
{
    const int threads = sdm_threads(ctx),
              most = threads < SDM_PLANNED_THREADS ? threads : SDM_PLANNED_THREADS;
    return t->fixed_bytes + (int64_t)(WRITE_MIB + most * WRITE_THREAD_MIB) * MIB;
}

SdmCost sdm_tiling_run_cost(const SdmContext *ctx, const SdmTiling *t)
{
    const int64_t budget = t->options->memory_bytes, writing = writing_bytes(ctx, t);
    SdmTilePlan tile;
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
