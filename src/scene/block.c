/* A rectangle of the DEM's cells from its window of the frame. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/scene.h"
#include "matching/coarse_match.h"
#include "matching/gridding.h"
#include "matching/semi_global_surface.h"

#include "input/source.h"

#include <math.h>
#include <string.h>

enum {
    LEAST_CELLS = 64 * 64 /* a block this small is not cut further */
};

/* Add the columns from..to - 1 to row j of a shape. */
static void widen(SdmFootprint *shape, int j, int32_t from, int32_t to)
{
    const bool empty = shape->to[j] <= shape->from[j];
    shape->from[j] = empty || from < shape->from[j] ? from : shape->from[j];
    shape->to[j] = empty || to > shape->to[j] ? to : shape->to[j];
}

/* Columns of each coarse row -> the window (see find_needed()) and its shape, with a margin of 1 before and 2
 * after, in rows and columns. */
static void set_window(const SdmSurface *s, const int32_t *from, const int32_t *to, int64_t win[4],
                       SdmFootprint *shape)
{
    const int64_t size = (int64_t)1 << s->win.level;
    int64_t u0 = INT64_MAX, v0 = INT64_MAX, u1 = INT64_MIN, v1 = INT64_MIN;
    for (int j = 0; j < s->win.h; j++) {
        if (to[j] <= from[j])
            continue;
        u0 = from[j] < u0 ? from[j] : u0;
        u1 = to[j] > u1 ? to[j] : u1;
        v0 = j < v0 ? j : v0;
        v1 = j;
    }
    if (u0 >= u1)
        return;
    const int64_t around[4] = {(u0 - 1) * size, (v0 - 1) * size, (u1 + 1) * size, (v1 + 2) * size};
    memcpy(win, around, sizeof around);
    for (int j = 0; j < s->win.h; j++) /* rows j - 2 .. j + 1 reach row j of the shape */
        for (int i = j > 1 ? j - 2 : 0; i <= j + 1 && i < s->win.h; i++)
            if (to[i] > from[i])
                widen(shape, j, from[i] - 1, to[i] + 1);
}

/* May pixel (i, j) of the coarse surface lie in a block, or where gridding reaches around it? */
static bool reaches(const SdmPrepared *p, const SdmLattice *lat, const SdmBlock *b, int i, int j)
{
    const SdmSurface *const s = &p->coarse;
    const SdmGrid *const g = &p->grid;
    const double size = (double)((int64_t)1 << s->win.level), u = ((double)i + 0.5) * size - 0.5,
                 v = ((double)j + 0.5) * size - 0.5,
                 h = (double)s->h_m[(size_t)j * (size_t)s->win.w + (size_t)i];
    double lo[2], hi[2];
    sdm_lattice_ground(lat, u, v, h - p->max_update_m, lo);
    sdm_lattice_ground(lat, u, v, h + p->max_update_m, hi);
    const double x0 = (fmin(lo[0], hi[0]) - g->x0) / g->spacing,
                 x1 = (fmax(lo[0], hi[0]) - g->x0) / g->spacing,
                 y0 = (g->y0 - fmax(lo[1], hi[1])) / g->spacing,
                 y1 = (g->y0 - fmin(lo[1], hi[1])) / g->spacing;
    return !(x1 < (double)(b->col0 - SDM_GRID_REACH) || x0 > (double)(b->col0 + b->w + SDM_GRID_REACH) ||
             y1 < (double)(b->row0 - SDM_GRID_REACH) || y0 > (double)(b->row0 + b->h + SDM_GRID_REACH));
}

/* The coarse pixels whose ground can lie in the block, with a margin.  win: frame pixels: first column, first
 * row, last column + 1, last row + 1; 0: stays so where there are none.  shape: of it, owned. */
static SdmStatus find_needed(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p, const SdmBlock *b,
                             int64_t win[4], SdmFootprint *shape)
{
    SDM_CLOSED_BY(sdm_lattice_free) SdmLattice lat = {0};
    const SdmSurface *const s = &p->coarse;
    const SdmLatticeRequest q = sdm_coarse_request(scene, p, 1 << s->win.level);
    SDM_OWNED int32_t *from = NULL, *to = NULL;
    const size_t rows = (size_t)s->win.h;
    *shape = (SdmFootprint){.level = s->win.level, .rows = s->win.h};
    PASS(SDM_ALLOC(ctx, "the window of a block", SDM_ARRAY(from, rows), SDM_ARRAY(to, rows),
                   SDM_ARRAY(shape->from, rows), SDM_ARRAY(shape->to, rows)));
    PASS(sdm_lattice_build(ctx, &q, &lat));
#pragma omp parallel for num_threads(sdm_threads(ctx)) schedule(dynamic, 16)
    for (int j = 0; j < s->win.h; j++) { /* from both ends, so that the inside of a large block costs
                                          * nothing */
        int first = 0, end = s->win.w;
        while (first < end && !reaches(p, &lat, b, first, j))
            first++;
        while (end > first && !reaches(p, &lat, b, end - 1, j))
            end--;
        from[j] = first < end ? first : 0;
        to[j] = first < end ? end : 0;
    }
    set_window(s, from, to, win, shape);
    return SDM_OK;
}

static void clear_block(SdmBlock *b)
{
    for (int64_t i = 0; i < b->w * b->h; i++) {
        b->height_m[i] = b->score[i] = b->ray_error_m[i] = b->spread_m[i] = b->ortho[i] = NAN;
        b->mask[i] = SDM_QA_OUTSIDE;
        b->count[i] = 0;
    }
}

/* The window as far as it lies in the frame. */
static SdmWindow inside(const SdmPrepared *p, const int64_t w[4])
{
    const int64_t u0 = w[0] > 0 ? w[0] : 0, v0 = w[1] > 0 ? w[1] : 0;
    const int64_t u1 = w[2] < p->frame.width ? w[2] : p->frame.width,
                  v1 = w[3] < p->frame.height ? w[3] : p->frame.height;
    return (SdmWindow){.u0 = u0, .v0 = v0, .w = (int)(u1 - u0), .h = (int)(v1 - v0)};
}

/* The window with its halo, on multiples of 16 px, inside the frame. */
static SdmWindow grow(const SdmPrepared *p, const int64_t w[4])
{
    const int64_t halo = sdm_match_halo(&p->settings, p->settings.coarse_level - 1), unit = 16;
    int64_t out[4];
    for (int k = 0; k < 2; k++) {
        out[k] = (w[k] - halo) / unit * unit;
        out[2 + k] = (w[2 + k] + halo + unit - 1) / unit * unit;
    }
    return inside(p, out);
}

/* Bytes a pixel: of the window of the images (two pyramids, lattice; the left view with its veils); of the
 * part that level 0 computes (surface, two views, prior, output of a filter). */
enum { WINDOW_BYTES = 7, VEILS_BYTES = 2, PIXEL_BYTES = 23 };

int64_t sdm_window_bytes(const SdmMatchSettings *set, int64_t w, int64_t h, int64_t frame_w, int64_t frame_h)
{
    int64_t bytes = 0;
    for (int i = 0; i < 2; i++) {
        const int64_t halo = 2 * (int64_t)sdm_match_halo(set, i ? 0 : set->coarse_level - 1) + 16;
        const int64_t gw = w + halo < frame_w ? w + halo : frame_w,
                      gh = h + halo < frame_h ? h + halo : frame_h;
        bytes += gw * gh * (i ? PIXEL_BYTES : WINDOW_BYTES + (set->veils ? VEILS_BYTES : 0));
        bytes += i && sdm_has_labels(set) ? sdm_semi_global_bytes(set) : 0;
    }
    return bytes;
}

static void close_window(SdmBlockWork *w)
{
    sdm_fine_result_free(&w->fine);
    sdm_window_close(&w->input);
    SDM_FREE(&w->shape.from, &w->shape.to);
}

/* The widest ground hidden from the left view that is filled, px. */
static int hidden_px(const SdmMatchSettings *set)
{
    const float rise_m = set->fill_limit.rise_m;
    return !set->semi_global || !(rise_m > 0.0f) ? 0 : isinf(rise_m) ? SDM_HIDDEN_ALL : SDM_HIDDEN_GENTLE;
}

#define STEP_PX 2.0f /* parallax between the two sides of a cell */

/* Parameters of stage 8. */
static SdmGridding gridding_of(const SdmScene *scene, const SdmPrepared *p, const SdmLattice *lattice)
{
    const SdmRadiometry *const q = &scene->view[0].image->q;
    return (SdmGridding){.kernels = p->settings.kernels,
                         .lattice = lattice,
                         .x0 = p->grid.x0,
                         .y0 = p->grid.y0,
                         .spacing = p->grid.spacing,
                         .gsd_m = p->frame.gsd_m,
                         .sharpest = p->settings.semi_global ? SDM_GRIDDING_SHARP : SDM_GRIDDING_SMOOTH,
                         .hidden_px = hidden_px(&p->settings),
                         .step_m = p->settings.semi_global ? STEP_PX / fabsf(p->settings.px_per_m) : 0.0,
                         .middle = (int32_t)lrint(0.5 * (p->hmin_m + p->hmax_m) * SDM_GRIDDING_HEIGHT_UNIT),
                         .scale = q->scale,
                         .offset = q->offset,
                         .ray_error_m_per_px = p->frame.gsd_m};
}

/* Shares of a block's time when its window is read, and when it is matched; then come gridding and the
 * files. */
#define WINDOW_READ 0.12
#define WINDOW_MATCHED 0.88

/* Stages 3 and 4 on the window of a block; the queue goes on from there. */
static SdmStatus begin_window(SdmContext *ctx, SdmDevicePool *queue, SdmBlockWork *w)
{
    const SdmScene *const scene = w->scene;
    const SdmPrepared *const p = w->prepared;
    const SdmMatchCall call = {.in = &w->input.in,
                               .coarse = &p->coarse,
                               .win = &w->win,
                               .need = &w->need,
                               .gridding = p->settings.veils ? NULL : &w->gridding,
                               .block = &w->block};
    const int lmax = sdm_device_pool_makes_levels(queue, &p->settings) ? 0 : p->settings.coarse_level - 1;
    PASS(sdm_window_open(ctx, scene, p, &w->win, &p->grid, lmax, &w->input));
    for (int k = 0; k < 2 && w->is_last && !sdm_device_pool_on_device(queue); k++)
        sdm_free(&scene->view[k].image->raw);
    w->gridding = gridding_of(scene, p, &w->input.lattice);
    PASS(sdm_grid_ground_m(ctx, &p->grid, p->frame.lon_deg, p->frame.lat_deg, &w->gridding.spacing_m));
    w->input.in.footprint = &w->shape;
    SDM_PROGRESS(ctx, WINDOW_READ, WINDOW_MATCHED);
    return sdm_device_pool_begin(ctx, queue, &call, &w->fine, &w->slot);
}

/* The left view as it is seen in place of the one that was matched. */
static SdmStatus show_seen(SdmContext *ctx, SdmBlockWork *w)
{
    SdmPyramid seen = w->input.left;
    SdmMatchInput in = w->input.in;
    seen.level[0] = seen.seen;
    in.left = &seen;
    return sdm_match_left_view(ctx, &in, &w->fine.surface.win, w->fine.left);
}

/* Stage 8, where the device has not done it. */
static SdmStatus grid_window(SdmContext *ctx, SdmBlockWork *w)
{
    if (w->input.left.seen.data)
        PASS(show_seen(ctx, w));
    sdm_pyramid_free(&w->input.left); /* the largest part; not needed for gridding */
    sdm_pyramid_free(&w->input.right);
    PASS(sdm_block_alloc(ctx, w->block.col0, w->block.row0, w->block.w, w->block.h, &w->block));
    return sdm_gridding_run(ctx, &w->gridding, &w->fine, &w->block);
}

/* Compute the block once more, on the processor. */
static SdmStatus begin_again(SdmContext *ctx, SdmDevicePool *queue, SdmBlockWork *w)
{
    const SdmBlock b = w->block;
    close_window(w);
    sdm_block_free(&w->block);
    w->block = (SdmBlock){.col0 = b.col0, .row0 = b.row0, .w = b.w, .h = b.h};
    return sdm_block_begin(ctx, w->scene, w->prepared, queue, w->room, w);
}

/* Cells outside --hmin and --hmax have no height. */
static void reject_outside(const SdmOptions *o, int threads, SdmBlock *b)
{
    if (isnan(o->hmin_m) && isnan(o->hmax_m))
        return;
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < b->w * b->h; i++)
        if ((double)b->height_m[i] < o->hmin_m || (double)b->height_m[i] > o->hmax_m) {
            b->height_m[i] = b->score[i] = b->ray_error_m[i] = b->spread_m[i] = NAN;
            b->count[i] = 0;
            b->mask[i] = (uint16_t)((b->mask[i] & ~(SDM_QA_VALID | SDM_QA_FILLED)) | SDM_QA_ISOLATED);
        }
}

SdmStatus sdm_block_end(SdmContext *ctx, SdmDevicePool *queue, SdmBlockWork *w)
{
    SdmStatus st = SDM_OK;
    if (w->slot < 0)
        return SDM_OK;
    st = sdm_device_pool_end(ctx, queue, w->slot);
    if (st == SDM_ERR_DEVICE) {
        st = begin_again(ctx, queue, w);
        if (st != SDM_OK || w->slot < 0)
            return st;
        st = sdm_device_pool_end(ctx, queue, w->slot);
    }
    w->slot = -1;
    if (st == SDM_OK && !w->block.height_m)
        st = grid_window(ctx, w);
    if (st == SDM_OK)
        reject_outside(w->scene->options, sdm_threads(ctx), &w->block);
    close_window(w);
    if (st != SDM_OK)
        sdm_block_free(&w->block);
    return st;
}

void sdm_block_abandon(SdmDevicePool *queue, SdmBlockWork *w)
{
    if (w->slot >= 0) {
        sdm_device_pool_abandon(queue, w->slot);
        close_window(w);
    }
    w->slot = -1;
    sdm_block_free(&w->block);
}

/* Copy a part of a block into its place. */
static void copy_part(const SdmBlock *part, const SdmBlock *to)
{
    float *const from[] = {part->height_m, part->score, part->ray_error_m, part->spread_m, part->ortho};
    float *const into[] = {to->height_m, to->score, to->ray_error_m, to->spread_m, to->ortho};
    const size_t n = (size_t)part->w;
    for (int64_t r = 0; r < part->h; r++) {
        const int64_t i = r * part->w, at = (part->row0 - to->row0 + r) * to->w + part->col0 - to->col0;
        for (int k = 0; k < 5; k++)
            memcpy(into[k] + at, from[k] + i, n * sizeof(float));
        memcpy(to->count + at, part->count + i, n * sizeof(uint16_t));
        memcpy(to->mask + at, part->mask + i, n * sizeof(uint16_t));
    }
}

/* Two halves, one after the other. */
static SdmStatus compute_halves(SdmContext *ctx, SdmDevicePool *queue, SdmBlockWork *whole)
{
    SdmBlock *const block = &whole->block;
    SdmStatus st = SDM_OK;
    SdmBlockWork w = {.slot = -1};
    SdmBlock *const part = &w.block;
    const bool wide = block->w >= block->h;
    const int64_t all = wide ? block->w : block->h, half = all / 2;
    TRY(sdm_block_alloc(ctx, block->col0, block->row0, block->w, block->h, block));
    for (int i = 0; i < 2; i++) {
        const int64_t from = i ? half : 0, n = i ? all - half : half;
        *part = (SdmBlock){.col0 = block->col0 + (wide ? from : 0),
                           .row0 = block->row0 + (wide ? 0 : from),
                           .w = wide ? n : block->w,
                           .h = wide ? block->h : n};
        const int64_t room = whole->room - SDM_BLOCK_CELL_BYTES * part->w * part->h;
        TRY(sdm_block_begin(ctx, whole->scene, whole->prepared, queue, room, &w));
        TRY(sdm_block_end(ctx, queue, &w));
        copy_part(part, block);
        sdm_block_free(part);
    }
done:
    sdm_block_free(part);
    return st;
}

static bool device_has_room(SdmContext *ctx, SdmDevicePool *queue, const SdmPrepared *p, const SdmWindow *win,
                            const SdmWindow *need)
{
    const int64_t halo = 2 * (int64_t)sdm_match_halo(&p->settings, 0) + 16;
    const int64_t w = need->w + halo < win->w ? need->w + halo : win->w,
                  h = need->h + halo < win->h ? need->h + halo : win->h;
    return sdm_device_pool_has_room(ctx, queue, &p->settings, w, h, win->w, win->h);
}

/* The block of work, whose place is set; without a window to wait for, its slot stays -1. */
static SdmStatus begin_block(SdmContext *ctx, SdmDevicePool *queue, SdmBlockWork *w)
{
    const SdmPrepared *const p = w->prepared;
    SdmBlock *const block = &w->block;
    int64_t at[4] = {0};
    SDM_CLOSED_BY(sdm_gdal_config_end) SdmGdalConfig config = {NULL, false};
    PASS(sdm_check_stop(ctx));
    PASS(sdm_gdal_config_begin(ctx, w->scene->options, &config));
    if (block->w < 1 || block->h < 1)
        return sdm_block_alloc(ctx, block->col0, block->row0, block->w, block->h, block);
    PASS(find_needed(ctx, w->scene, p, block, at, &w->shape));
    w->win = grow(p, at);
    w->need = inside(p, at);
    const SdmWindow *const win = &w->win, *const need = &w->need;
    if (at[2] <= at[0] || win->w < 16 || win->h < 16 || need->w <= 0 || need->h <= 0) {
        PASS(sdm_block_alloc(ctx, block->col0, block->row0, block->w, block->h, block));
        clear_block(block);
        return SDM_OK;
    }
    const bool too_large = (w->room != 0 && sdm_window_bytes(&p->settings, need->w, need->h, p->frame.width,
                                                             p->frame.height) > w->room) ||
                           !device_has_room(ctx, queue, p, win, need);
    sdm_log(ctx, SDM_LOG_VERBOSE, 5, "%lld x %lld cells: %d x %d px in a window of %d x %d%s",
            (long long)block->w, (long long)block->h, need->w, need->h, win->w, win->h,
            too_large ? ", in parts" : "");
    return too_large && block->w * block->h > LEAST_CELLS ? compute_halves(ctx, queue, w)
                                                          : begin_window(ctx, queue, w);
}

SdmStatus sdm_block_begin(SdmContext *ctx, const SdmScene *scene, const SdmPrepared *p, SdmDevicePool *queue,
                          int64_t room, SdmBlockWork *w)
{
    w->slot = -1;
    w->scene = scene;
    w->prepared = p;
    w->room = room;
    const SdmStatus st = begin_block(ctx, queue, w);
    w->slot = st == SDM_OK ? w->slot : -1;
    if (w->slot < 0)
        close_window(w);
    return st;
}
