/* The operations of the matching on a device.  Each queues its steps and does not wait, so that the device
 * works through a window while the host is ahead. */
// SPDX-License-Identifier: Apache-2.0
#include "gpu_backend.h"

#include "matching/validation.h"
#include "matching/filters.h"
#include "optimize_device.h"
#include "device_ops.h"

/* Arrays of the level in work, large enough for every level.  Heights take turns in three of them: the
 * current ones, their prior, and the output of a filter. */
typedef struct Arrays {
    SdmBuffer *now, *prior, *spare; /* float */
    SdmBuffer *flags, *spare_flags; /* uint16 */
    SdmBuffer *score;               /* uint8 */
    SdmBuffer *left, *right;        /* int16, warped */
} Arrays;

typedef struct Device {
    SdmContext *ctx;
    const SdmMatchInput *in;
    const SdmSurface *coarse;
    enum SdmGpuCost cost;
    SdmGpu gpu;
    SdmBuffer *node;  /* of the lattice */
    SdmBuffer *ratio; /* of sdm_wiener_ratios() */
    float ratios[256];
    SdmGpuImage image[2][SDM_MAX_LEVELS];
    bool there[2][SDM_MAX_LEVELS]; /* sent, or made, as far as the queues are concerned */
    SdmWindow win;                 /* of the level in work */
    SdmGpuCells cells;             /* of the right view */
    SdmGpuTerrainMask terrain;
    Arrays a;
    SdmBuffer *refined, *other; /* the coarse surface on its way to level 0, and its next place; borrowed */
    SdmWindow refined_win;
    int64_t pixels; /* of the largest level: room of the arrays */
} Device;

static void swap(SdmBuffer **a, SdmBuffer **b)
{
    SdmBuffer *const t = *a;
    *a = *b;
    *b = t;
}

static enum SdmGpuCost cost_of(const SdmMatchSettings *set)
{
    return set->cost == set->kernels->census ? SDM_GPU_CENSUS : SDM_GPU_ZNCC;
}

static SdmGpuSurface surface_of(const Device *d)
{
    return (SdmGpuSurface){
        .win = d->win, .h_m = d->a.now, .prior_m = d->a.prior, .flags = d->a.flags, .score = d->a.score};
}

static SdmGpuViews views_of(const Device *d)
{
    return (SdmGpuViews){
        .cost = d->cost, .w = d->win.w, .h = d->win.h, .left = d->a.left, .right = d->a.right};
}

/* ---- memory ---- */

/* Bytes a pixel: of Arrays; of the steps' scratch, which is means and textures of both views (16), sums and
 * counts of the filling (12), lattice cells (2), lists of the gridding for cells of two pixels a side (2); of
 * census words. */
enum { ARRAY_BYTES = 21, STEP_BYTES = 32, CENSUS_BYTES = 8 };

/* Is there a pass that no kernel of window_match.cl or window_ray.cl does, hence one with a volume? */
static bool needs_scores(const SdmMatchSettings *set)
{
    return cost_of(set) != SDM_GPU_ZNCC || set->discontinuity_px > 0.0f;
}

int64_t sdm_device_match_bytes(SdmDevice *device, const SdmMatchSettings *set, int64_t w, int64_t h,
                               int64_t images)
{
    const int64_t pixel = ARRAY_BYTES + STEP_BYTES + (cost_of(set) == SDM_GPU_CENSUS ? CENSUS_BYTES : 0) + 1;
    const SdmGpu g = {.device = device};
    return w * h * pixel + images * 2 * 4 / 3 + (needs_scores(set) ? sdm_gpu_max_score_bytes(&g, w) : 0) +
           ((int64_t)2 << 20);
}

/* Pixels of the largest level, the coarse one included. */
static int64_t largest_level(const SdmMatchCall *call)
{
    int64_t most = (int64_t)call->coarse->win.w * call->coarse->win.h;
    for (int l = 0; l < call->in->settings->coarse_level; l++) {
        const SdmWindow win = sdm_level_part(call, l);
        const int64_t n = (int64_t)win.w * win.h;
        most = n > most ? n : most;
    }
    return most;
}

static SdmStatus take_arrays(Device *d)
{
    SdmStatus st = SDM_OK;
    Arrays *const a = &d->a;
    const struct {
        SdmBuffer **buffer;
        int64_t size;
        const char *what;
    } all[] = {{&a->now, 4, "the surface"},
               {&a->prior, 4, "the prior surface"},
               {&a->spare, 4, "a filtered surface"},
               {&a->flags, 2, "the surface's flags"},
               {&a->spare_flags, 2, "flags"},
               {&a->score, 1, "the surface's scores"},
               {&a->left, 2, "the rectified left view"},
               {&a->right, 2, "the warped right view"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        TRY(sdm_buffer_new(d->ctx, d->gpu.device, d->pixels * all[i].size, all[i].what, all[i].buffer));
    TRY(sdm_gpu_reserve(d->ctx, &d->gpu, d->pixels, (int64_t)d->in->lattice->nu * d->in->lattice->nv,
                        d->cost == SDM_GPU_CENSUS, needs_scores(d->in->settings)));
done:
    return st;
}

/* Room for a level of a view. */
static SdmStatus take_image(Device *d, int side, int level)
{
    const SdmLevelImage *const first = &(side == SDM_RIGHT ? d->in->right : d->in->left)->level[0];
    const int64_t bounds[4] = {first->x0, first->y0, first->x0 + first->w, first->y0 + first->h};
    SdmLevelImage at;
    SdmGpuImage *const to = &d->image[side][level];
    sdm_level_place(bounds, level, &at);
    *to = (SdmGpuImage){.x0 = at.x0, .y0 = at.y0, .w = at.w, .h = at.h};
    return sdm_buffer_new(d->ctx, d->gpu.device, at.w * at.h * (int64_t)sizeof *at.data,
                          "a level of an image", &to->data);
}

static SdmStatus send_terrain(Device *d)
{
    SdmStatus st = SDM_OK;
    const SdmTerrainMask *const mask = d->in->terrain;
    const int64_t n = mask ? (int64_t)mask->win.w * mask->win.h : 0;
    SdmGpuTerrainMask *const to = &d->terrain;
    if (!mask)
        return SDM_OK;
    to->level = mask->win.level;
    to->w = mask->win.w;
    to->h = mask->win.h;
    to->pixel_m = d->in->terrain_pixel_m;
    TRY(sdm_buffer_new(d->ctx, d->gpu.device, n * 4, "the terrain", &to->h_m));
    TRY(sdm_buffer_new(d->ctx, d->gpu.device, n * 2, "the terrain", &to->distance_px));
    TRY(sdm_upload(d->ctx, to->h_m, 0, mask->h_m, n * 4, d->gpu.queue, false));
    TRY(sdm_upload(d->ctx, to->distance_px, 0, mask->distance_px, n * 2, d->gpu.queue, false));
done:
    return st;
}

/* Lattice, coarse surface and terrain go up; room for the images. */
static SdmStatus send_inputs(Device *d)
{
    SdmStatus st = SDM_OK;
    const SdmLattice *const lat = d->in->lattice;
    const int64_t nodes = (int64_t)lat->nu * lat->nv * (int64_t)sizeof *lat->node;
    for (int l = d->in->settings->coarse_level - 1; l >= 0; l--)
        for (int side = 0; side < 2; side++)
            TRY(take_image(d, side, l));
    TRY(sdm_buffer_new(d->ctx, d->gpu.device, nodes, "lattice nodes", &d->node));
    TRY(sdm_upload(d->ctx, d->node, 0, lat->node, nodes, d->gpu.queue, false));
    TRY(sdm_upload(d->ctx, d->a.now, 0, d->coarse->h_m, (int64_t)d->win.w * d->win.h * 4, d->gpu.queue,
                   false));
    sdm_wiener_ratios(d->in->settings, d->ratios);
    TRY(sdm_buffer_new(d->ctx, d->gpu.device, (int64_t)sizeof d->ratios, "noise by score", &d->ratio));
    TRY(sdm_upload(d->ctx, d->ratio, 0, d->ratios, (int64_t)sizeof d->ratios, d->gpu.queue, false));
    TRY(send_terrain(d));
done:
    return st;
}

static SdmStatus send_image(Device *d, int side, int level, const int16_t *data)
{
    SdmStatus st = SDM_OK;
    const SdmGpuImage *const to = &d->image[side][level];
    const int64_t bytes = to->w * to->h * (int64_t)sizeof *data;
    if (!d->there[side][level]) {
        TRY(sdm_device_pause(d->ctx, d->gpu.device, d->gpu.queue));
        TRY(sdm_upload(d->ctx, to->data, 0, data, bytes, 1 - d->gpu.queue, true));
    }
    d->there[side][level] = true;
done:
    return st;
}

/* Images of a level go up in the other queue, while the device is at the level before; waits for the copies.
 * Levels that the host has not made go up as the one below that it has, and are made here. */
static SdmStatus send_level(Device *d, int level)
{
    SdmStatus st = SDM_OK;
    const SdmPyramid *const views[2] = {d->in->left, d->in->right};
    for (int side = 0; side < 2; side++) {
        const int have = views[side]->lmax < level ? views[side]->lmax : level;
        TRY(send_image(d, side, have, views[side]->level[have].data));
        for (int l = have + 1; l <= level; l++) {
            if (!d->there[side][l])
                TRY(sdm_gpu_half(d->ctx, &d->gpu, &d->image[side][l - 1], &d->image[side][l]));
            d->there[side][l] = true;
        }
    }
done:
    return st;
}

/* Waits for work that uses the memory. */
static void close_all(void *state)
{
    Device *const d = state;
    Arrays *const a = &d->a;
    SdmBuffer **const all[] = {&a->now,         &a->prior, &a->spare,       &a->flags,
                               &a->spare_flags, &a->score, &a->left,        &a->right,
                               &d->node,        &d->ratio, &d->terrain.h_m, &d->terrain.distance_px};
    if (!d->gpu.device)
        return;
    (void)sdm_finish(NULL, d->gpu.device, d->gpu.queue);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        sdm_buffer_free(all[i]);
    for (int side = 0; side < 2; side++)
        for (int l = 0; l < SDM_MAX_LEVELS; l++)
            sdm_buffer_free(&d->image[side][l].data);
    sdm_gpu_close(&d->gpu);
}

/* ---- passes ---- */

/* The right view as the heights and the level's lattice place it. */
static SdmStatus warp_right(Device *d, SdmBuffer *h_m)
{
    return sdm_gpu_warp(d->ctx, &d->gpu, &d->cells, h_m, &d->image[SDM_RIGHT][d->win.level], d->a.right);
}

static SdmStatus open_level(void *state, const SdmWindow *win)
{
    SdmStatus st = SDM_OK;
    Device *const d = state;
    SdmGpuCells left;
    TRY(send_level(d, win->level));
    TRY(sdm_gpu_refine(d->ctx, &d->gpu, &d->win, d->a.now, win, d->a.spare));
    swap(&d->a.now, &d->a.spare);
    d->win = *win;
    TRY(sdm_gpu_cells_new(d->ctx, &d->gpu, d->in->lattice, d->node, win, SDM_LEFT, &left));
    TRY(sdm_gpu_warp(d->ctx, &d->gpu, &left, NULL, &d->image[SDM_LEFT][win->level], d->a.left));
    TRY(sdm_gpu_cells_new(d->ctx, &d->gpu, d->in->lattice, d->node, win, SDM_RIGHT, &d->cells));
done:
    return st;
}

static SdmStatus match(void *state, const SdmStep *step)
{
    Device *const d = state;
    const Arrays *const a = &d->a;
    const SdmPass pass = sdm_step_pass(step, d->in->settings, d->win.level);
    SdmStatus st = SDM_OK;
    if (step->kind != SDM_STEP_RETRY) {
        swap(&d->a.now, &d->a.prior);
        st = warp_right(d, d->a.prior);
    }
    const SdmGpuMatch m = {.views = views_of(d),
                           .pass = &pass,
                           .retry = step->kind == SDM_STEP_RETRY,
                           .right_cells = &d->cells,
                           .prior = a->prior,
                           .h_m = a->now,
                           .flags = a->flags,
                           .score = a->score};
    return st == SDM_OK ? sdm_gpu_match(d->ctx, &d->gpu, &m) : st;
}

static SdmStatus match_border(void *state, const SdmStep *step)
{
    Device *const d = state;
    const SdmGpuSurface s = surface_of(d);
    const SdmGpuBorder q = {.left = d->a.left, .right = d->a.right, .half = step->window / 2};
    const SdmStatus st = sdm_gpu_border(d->ctx, &d->gpu, &s, &q, d->a.spare_flags);
    swap(&d->a.flags, &d->a.spare_flags);
    return st;
}

/* ---- filters ---- */

static SdmStatus reject(void *state, const SdmStep *step)
{
    Device *const d = state;
    const SdmRejection r =
        sdm_rejection(step, sdm_metres_per_pixel(d->in->settings, d->in->lattice, d->win.level));
    const SdmGpuSurface s = surface_of(d);
    const SdmStatus st = sdm_gpu_reject(d->ctx, &d->gpu, &s, &r, d->a.spare_flags);
    swap(&d->a.flags, &d->a.spare_flags);
    return st;
}

static SdmStatus median(void *state)
{
    Device *const d = state;
    const SdmGpuSurface s = surface_of(d);
    const SdmStatus st = sdm_gpu_median(d->ctx, &d->gpu, &s, d->a.spare);
    swap(&d->a.now, &d->a.spare);
    return st;
}

static SdmStatus fill(void *state)
{
    Device *const d = state;
    const SdmGpuSurface s = surface_of(d);
    return sdm_gpu_fill(d->ctx, &d->gpu, &s, &sdm_fill_far, &sdm_fill_near, NULL);
}

static SdmStatus smooth(void *state)
{
    Device *const d = state;
    const SdmGpuSurface s = surface_of(d);
    const SdmStatus st = sdm_gpu_smooth(d->ctx, &d->gpu, &s, d->a.spare);
    swap(&d->a.now, &d->a.spare);
    return st;
}

/* The prior is lost. */
static SdmStatus wiener(void *state)
{
    Device *const d = state;
    const SdmGpuSurface s = surface_of(d);
    const SdmGpuWiener q = {.left = d->a.left,
                            .ratio = d->ratio,
                            .metres_per_px =
                                sdm_metres_per_pixel(d->in->settings, d->in->lattice, d->win.level)};
    const SdmStatus st = sdm_gpu_wiener(d->ctx, &d->gpu, &s, &q, d->a.spare);
    swap(&d->a.now, &d->a.spare);
    return st;
}

/* The prior and the view's image are lost, but the right one's where it is warped again. */
static SdmStatus set_aside(Device *d, enum SdmSide side)
{
    SdmStatus st = SDM_OK;
    const SdmGpuSurface s = surface_of(d);
    const SdmPyramid *const view = side == SDM_LEFT ? d->in->left : d->in->right;
    const SdmGpuImage *const image = &d->image[side][0];
    const int64_t bytes = image->w * image->h * (int64_t)sizeof(int16_t);
    SdmGpuCells cells = d->cells;
    SdmLevelImage filled;
    TRY(sdm_pyramid_filled(d->ctx, view, &filled));
    if (!filled.data)
        goto done;
    TRY(sdm_upload(d->ctx, image->data, 0, filled.data, bytes, d->gpu.queue, true));
    if (side == SDM_LEFT)
        TRY(sdm_gpu_cells_new(d->ctx, &d->gpu, d->in->lattice, d->node, &d->win, SDM_LEFT, &cells));
    TRY(sdm_gpu_warp(d->ctx, &d->gpu, &cells, side == SDM_LEFT ? NULL : d->a.now, image, d->a.prior));
    TRY(sdm_gpu_set_aside(d->ctx, &d->gpu, &s, d->a.prior));
    if (side == SDM_RIGHT && d->in->settings->holes)
        TRY(sdm_upload(d->ctx, image->data, 0, view->level[0].data, bytes, d->gpu.queue, true));
done:
    sdm_free(&filled.data);
    return st;
}

/* The prior is lost. */
static SdmStatus least_squares(void *state)
{
    SdmStatus st = SDM_OK;
    Device *const d = state;
    const SdmGpuSurface s = surface_of(d);
    const bool holes = d->in->left->defect || d->in->right->defect;
    const SdmGpuLeastSquares q = {.left = d->a.left,
                                  .right = d->a.right,
                                  .px_per_metre =
                                      sdm_px_per_metre(d->in->settings, d->in->lattice, d->win.level)};
    TRY(warp_right(d, d->a.now));
    for (int side = 0; side < 2 && holes; side++)
        TRY(set_aside(d, (enum SdmSide)side));
    TRY(sdm_gpu_least_squares(d->ctx, &d->gpu, &s, &q, d->a.spare));
    if (holes)
        TRY(sdm_gpu_bring_back(d->ctx, &d->gpu, &s));
    swap(&d->a.now, &d->a.spare);
done:
    return st;
}

/* ---- validation: ray intersection errors lie in `prior`, scores over the larger window in `spare_flags`
 * ---- */

static SdmStatus warp(void *state)
{
    Device *const d = state;
    return warp_right(d, d->a.now);
}

static SdmStatus ray_error(void *state)
{
    Device *const d = state;
    const SdmPass pass = sdm_ray_error_pass(d->in->settings);
    const SdmGpuViews views = views_of(d);
    return sdm_gpu_ray_error(d->ctx, &d->gpu, &views, &pass, d->a.prior, d->a.spare_flags);
}

static SdmStatus validate(void *state)
{
    Device *const d = state;
    const SdmMatchSettings *const set = d->in->settings;
    const SdmGpuSurface s = surface_of(d);
    const SdmGpuValidation q = {.ray_error = d->a.prior,
                                .score0 = d->a.spare_flags,
                                .terrain = &d->terrain,
                                .min_score = sdm_validation_min_score(set),
                                .ray_error_limit_px = set->ray_error_limit_px};
    return sdm_gpu_validate(d->ctx, &d->gpu, &s, &q);
}

static SdmStatus defects(void *state)
{
    SdmStatus st = SDM_OK;
    Device *const d = state;
    const SdmPyramid *const views[2] = {d->in->left, d->in->right};
    const SdmGpuSurface s = surface_of(d);
    for (int side = 0; side < 2; side++) {
        const SdmLevelImage *const im = &views[side]->level[0];
        SdmBuffer *const defect = d->image[side][0].data; /* no warp is left that needs the image */
        const SdmGpuDefects q = {.lattice = d->in->lattice,
                                 .node = d->node,
                                 .defect = defect,
                                 .side = (enum SdmSide)side,
                                 .image = im,
                                 .fills = d->in->settings->fill_limit.rise_m > 0.0f};
        if (!views[side]->defect)
            continue;
        TRY(sdm_upload(d->ctx, defect, 0, views[side]->defect, im->w * im->h, d->gpu.queue, false));
        TRY(sdm_gpu_defects(d->ctx, &d->gpu, &s, &q));
    }
done:
    return st;
}

static SdmStatus refine_coarse(void *state, const SdmWindow *win)
{
    SdmStatus st = SDM_OK;
    Device *const d = state;
    const SdmWindow *const coarse = &d->coarse->win;
    if (!d->refined) {
        TRY(sdm_gpu_scratch(d->ctx, &d->gpu, SDM_S_MEAN, d->pixels * (int64_t)sizeof(float), &d->refined));
        TRY(sdm_upload(d->ctx, d->refined, 0, d->coarse->h_m, (int64_t)coarse->w * coarse->h * 4,
                       d->gpu.queue, false));
        d->refined_win = *coarse;
        d->other = d->a.spare;
    }
    TRY(sdm_gpu_refine(d->ctx, &d->gpu, &d->refined_win, d->refined, win, d->other));
    swap(&d->refined, &d->other);
    d->refined_win = *win;
done:
    return st;
}

static SdmStatus fill_holes(void *state)
{
    SdmStatus st = SDM_OK;
    Device *const d = state;
    SdmGpuSurface s = surface_of(d);
    SdmBuffer *filled;
    s.prior_m = d->refined;
    TRY(sdm_gpu_scratch(d->ctx, &d->gpu, SDM_S_TEXTURE_R, d->pixels, &filled));
    const SdmGpuFilled q = {.filled = filled, .terrain = &d->terrain, .limit = &d->in->settings->fill_limit};
    TRY(sdm_gpu_fill(d->ctx, &d->gpu, &s, &sdm_fill_hole, NULL, filled));
    TRY(sdm_gpu_accept(d->ctx, &d->gpu, &s, &q, d->a.spare_flags));
    swap(&d->a.flags, &d->a.spare_flags);
done:
    return st;
}

/* ---- the way back ---- */

/* Places of defects are found in doubles. */
static bool can_finish(const void *state)
{
    const Device *const d = state;
    return !(d->in->left->defect || d->in->right->defect) || sdm_device_info(d->gpu.device)->doubles;
}

static SdmStatus log_time(Device *d, const char *what, double *device_s)
{
    SdmStatus st = SDM_OK;
    const SdmDeviceInfo *const info = sdm_device_info(d->gpu.device);
    TRY(sdm_device_seconds(d->ctx, d->gpu.device, d->gpu.queue, device_s));
    sdm_log(d->ctx, SDM_LOG_VERBOSE, 5,
            "%d x %d px on %s:%d, %s: %.3f s by its clock, %lld MiB of its memory; %s came down", d->win.w,
            d->win.h, sdm_api_name(info->api), info->index, info->name, *device_s,
            (long long)(sdm_device_peak(d->gpu.device) >> 20), what);
done:
    return st;
}

static SdmStatus surface(void *state, SdmFineResult *out)
{
    SdmStatus st = SDM_OK;
    Device *const d = state;
    const Arrays *const a = &d->a;
    SdmSurface *const s = &out->surface;
    const int64_t n = (int64_t)d->win.w * d->win.h;
    TRY(sdm_surface_alloc(d->ctx, &d->win, s));
    TRY(sdm_alloc_raw(d->ctx, &out->left, (size_t)n, sizeof *out->left, "the rectified left view"));
    TRY(sdm_alloc_raw(d->ctx, &out->ray_error_px, (size_t)n, sizeof *out->ray_error_px,
                      "ray intersection errors"));
    const struct {
        const SdmBuffer *from;
        void *to;
        int64_t size;
    } all[] = {{a->left, out->left, sizeof *out->left},
               {a->score, s->score, sizeof *s->score},
               {a->prior, out->ray_error_px, sizeof *out->ray_error_px},
               {a->now, s->h_m, sizeof *s->h_m},
               {a->flags, s->flags, sizeof *s->flags}};
    TRY(sdm_device_pause(d->ctx, d->gpu.device, d->gpu.queue));
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        TRY(sdm_download(d->ctx, all[i].from, 0, all[i].to, n * all[i].size, d->gpu.queue, false));
    TRY(sdm_finish(d->ctx, d->gpu.device, d->gpu.queue));
    TRY(log_time(d, "the surface", &out->device_s));
done:
    if (st != SDM_OK) /* memory that a copy may still write to */
        (void)sdm_finish(NULL, d->gpu.device, d->gpu.queue);
    return st;
}

static SdmGpuGrid grid_of(const Device *d, const SdmMatchCall *call)
{
    const Arrays *const a = &d->a;
    return (SdmGpuGrid){.gridding = call->gridding,
                        .win = d->win,
                        .block = call->block,
                        .h_m = a->now,
                        .flags = a->flags,
                        .score = a->score,
                        .ray_error_px = a->prior,
                        .left = a->left};
}

static bool can_grid(const void *state, const SdmMatchCall *call)
{
    const Device *const d = state;
    const SdmGpuGrid q = grid_of(d, call);
    return sdm_gpu_can_grid(&d->gpu, &q) &&
           sdm_gpu_grid_bytes(&q) <= sdm_device_budget(d->gpu.device) - sdm_device_used(d->gpu.device);
}

static SdmStatus grid(void *state, const SdmMatchCall *call, SdmFineResult *out)
{
    SdmStatus st = SDM_OK;
    Device *const d = state;
    SdmBlock *const b = call->block;
    const int64_t cells = b->w * b->h, real = cells * (int64_t)sizeof(float), whole = cells * 2;
    const SdmGpuGrid q = grid_of(d, call);
    SdmBuffer *from[2];
    TRY(sdm_block_alloc(d->ctx, b->col0, b->row0, b->w, b->h, b));
    TRY(sdm_gpu_grid(d->ctx, &d->gpu, &q, &from[0], &from[1]));
    float *const reals[] = {b->height_m, b->score, b->ray_error_m, b->spread_m, b->ortho};
    uint16_t *const wholes[] = {b->count, b->mask};
    TRY(sdm_device_pause(d->ctx, d->gpu.device, d->gpu.queue));
    for (int i = 0; i < 5; i++)
        TRY(sdm_download(d->ctx, from[0], i * real, reals[i], real, d->gpu.queue, false));
    for (int i = 0; i < 2; i++)
        TRY(sdm_download(d->ctx, from[1], i * whole, wholes[i], whole, d->gpu.queue, false));
    TRY(sdm_finish(d->ctx, d->gpu.device, d->gpu.queue));
    TRY(log_time(d, "cells", &out->device_s));
done:
    if (st != SDM_OK) /* memory that a copy may still write to */
        (void)sdm_finish(NULL, d->gpu.device, d->gpu.queue);
    return st;
}

static const SdmMatchOps device_ops = {.open_level = open_level,
                                       .match = match,
                                       .match_border = match_border,
                                       .reject = reject,
                                       .step = {[SDM_STEP_MEDIAN] = median,
                                                [SDM_STEP_FILL] = fill,
                                                [SDM_STEP_SMOOTH] = smooth,
                                                [SDM_STEP_WIENER] = wiener,
                                                [SDM_STEP_LEAST_SQUARES] = least_squares,
                                                [SDM_STEP_WARP] = warp,
                                                [SDM_STEP_RAY_ERROR] = ray_error,
                                                [SDM_STEP_VALIDATE] = validate,
                                                [SDM_STEP_DEFECTS] = defects,
                                                [SDM_STEP_FILL_HOLES] = fill_holes},
                                       .refine_coarse = refine_coarse,
                                       .can_finish = can_finish,
                                       .can_grid = can_grid,
                                       .grid = grid,
                                       .surface = surface,
                                       .close = close_all};

static SdmStatus match_window(SdmContext *ctx, SdmDevice *device, const SdmMatchCall *call,
                              SdmFineResult *out)
{
    SdmStatus st = SDM_OK;
    Device d = {.ctx = ctx,
                .in = call->in,
                .coarse = call->coarse,
                .cost = cost_of(call->in->settings),
                .win = call->coarse->win,
                .pixels = largest_level(call)};
    const SdmMatchBackend b = {.ops = &device_ops, .state = &d};
    *out = (SdmFineResult){.ray_error_px = NULL};
    TRY(sdm_gpu_open(ctx, device, 0, &d.gpu));
    TRY(take_arrays(&d));
    TRY(send_inputs(&d));
    TRY(sdm_match_window_on(ctx, &b, call, out));
done:
    close_all(&d);
    return st;
}

SdmStatus sdm_device_match(SdmContext *ctx, SdmDevice *device, const SdmMatchCall *call, SdmFineResult *out)
{
    const int around = sdm_stage_enter(ctx, 5);
    SdmStatus st = match_window(ctx, device, call, out);
    if (st == SDM_ERR_MEMORY && sdm_device_trim(device)) /* larger buffers of another window took the room */
        st = match_window(ctx, device, call, out);
    sdm_stage_leave(ctx, around);
    return st;
}
