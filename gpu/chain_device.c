/* Stages 5 to 7 on a device: images and the coarse surface go up, the surface of a window comes down; what
 * lies between is queued without waiting.  The order of the steps is that of src/match/fine.c and chain.c. */
// SPDX-License-Identifier: Apache-2.0
#include "chain_device.h"

#include "match/chain_parts.h"
#include "steps.h"

#include <string.h>

/* Arrays of the level in work, large enough for every level.  Heights go round in three of them: what is
 * current, its prior, and what a filter writes. */
typedef struct Arrays {
    SdmBuffer *now, *prior, *spare; /* float */
    SdmBuffer *flags, *spare_flags; /* uint16 */
    SdmBuffer *score;               /* uint8 */
    SdmBuffer *left, *right;        /* int16, warped */
} Arrays;

typedef struct Chain {
    SdmContext *ctx;
    const SdmChainInput *in;
    enum SdmGpuCost cost;
    SdmGpu gpu;
    SdmBuffer *node;
    SdmGpuImage image[2][SDM_MAX_LEVELS];
    SdmWindow win; /* of the level in work */
    SdmGpuCells cells;
    SdmGpuGround ground;
    Arrays a;
} Chain;

static void swap(SdmBuffer **a, SdmBuffer **b)
{
    SdmBuffer *const t = *a;
    *a = *b;
    *b = t;
}

static enum SdmGpuCost cost_of(const SdmMatchSettings *set)
{
    return set->cost == set->kernels->census ? SDM_GPU_CENSUS
           : set->cost == set->kernels->sad  ? SDM_GPU_SAD
                                             : SDM_GPU_ZNCC;
}

/* ---- memory ---- */

static void close_chain(Chain *c)
{
    Arrays *const a = &c->a;
    SdmBuffer **const all[] = {&a->now,  &a->prior, &a->spare, &a->flags,      &a->spare_flags, &a->score,
                               &a->left, &a->right, &c->node,  &c->ground.h_m, &c->ground.away};
    if (!c->gpu.device)
        return;
    (void)sdm_finish(NULL, c->gpu.device, c->gpu.queue); /* nothing of ours is in use any more */
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        sdm_buffer_free(all[i]);
    for (int side = 0; side < 2; side++)
        for (int l = 0; l < SDM_MAX_LEVELS; l++)
            sdm_buffer_free(&c->image[side][l].data);
    sdm_gpu_close(&c->gpu);
}

static SdmStatus take_arrays(Chain *c, int64_t n)
{
    SdmStatus st = SDM_OK;
    Arrays *const a = &c->a;
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
        TRY(sdm_buffer_new(c->ctx, c->gpu.device, n * all[i].size, all[i].what, all[i].buffer));
    TRY(sdm_gpu_reserve(c->ctx, &c->gpu, n, (int64_t)c->in->lattice->nu * c->in->lattice->nv,
                        c->cost == SDM_GPU_CENSUS));
done:
    return st;
}

static SdmStatus take_image(Chain *c, const SdmLevelImage *from, SdmGpuImage *to)
{
    *to = (SdmGpuImage){.x0 = from->x0, .y0 = from->y0, .w = from->w, .h = from->h};
    return sdm_buffer_new(c->ctx, c->gpu.device, from->w * from->h * (int64_t)sizeof *from->data,
                          "a level of an image", &to->data);
}

/* Images of a level go up in the other queue, while the device is at the level before; waits for the copies.
 */
static SdmStatus send_level(Chain *c, int level)
{
    SdmStatus st = SDM_OK;
    const SdmPyramid *const views[2] = {c->in->left, c->in->right};
    for (int side = 0; side < 2; side++) {
        const SdmLevelImage *const from = &views[side]->level[level];
        TRY(sdm_upload(c->ctx, c->image[side][level].data, 0, from->data,
                       from->w * from->h * (int64_t)sizeof *from->data, 1 - c->gpu.queue, true));
    }
done:
    return st;
}

/* Lattice and the coarse surface go up; places for the images. */
static SdmStatus send_all(Chain *c, const SdmSurface *coarse)
{
    SdmStatus st = SDM_OK;
    const SdmLattice *const lat = c->in->lattice;
    const int64_t nodes = (int64_t)lat->nu * lat->nv * (int64_t)sizeof *lat->node;
    for (int l = c->in->settings->coarse_level - 1; l >= 0; l--) {
        TRY(take_image(c, &c->in->left->level[l], &c->image[SDM_LEFT][l]));
        TRY(take_image(c, &c->in->right->level[l], &c->image[SDM_RIGHT][l]));
    }
    TRY(sdm_buffer_new(c->ctx, c->gpu.device, nodes, "lattice nodes", &c->node));
    TRY(sdm_upload(c->ctx, c->node, 0, lat->node, nodes, c->gpu.queue, false));
    TRY(sdm_upload(c->ctx, c->a.now, 0, coarse->h_m, (int64_t)coarse->win.w * coarse->win.h * 4, c->gpu.queue,
                   false));
done:
    return st;
}

/* Pixels of the largest level. */
static int64_t most_pixels(const SdmMatchSettings *set, const SdmSurface *coarse, const SdmWindow *win,
                           const SdmWindow *need)
{
    int64_t most = (int64_t)coarse->win.w * coarse->win.h;
    for (int l = 0; l < set->coarse_level; l++) {
        const SdmWindow part = sdm_fine_part(set, win, need, l), w = sdm_window_at(&part, l);
        const int64_t n = (int64_t)w.w * w.h;
        most = n > most ? n : most;
    }
    return most;
}

/* Bytes a pixel of what the steps keep for themselves: means and textures of both views (16), sums and counts
 * of the filling (12), lattice cells (2); census words. */
enum { ARRAY_BYTES = 21, STEP_BYTES = 30, CENSUS_BYTES = 16 };

int64_t sdm_device_chain_bytes(SdmDevice *device, const SdmMatchSettings *set, int64_t w, int64_t h,
                               int64_t images)
{
    const int64_t pixel = ARRAY_BYTES + STEP_BYTES + (cost_of(set) == SDM_GPU_CENSUS ? CENSUS_BYTES : 0) + 1;
    return w * h * pixel + images * 2 * 4 / 3 + sdm_gpu_most_scores(&(SdmGpu){.device = device}, w) +
           ((int64_t)2 << 20);
}

/* ---- steps of a level ---- */

/* The window of a level from the surface before, which becomes the prior's place. */
static SdmStatus refine(Chain *c, const SdmWindow *coarse, const SdmWindow *fine)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_gpu_refine(c->ctx, &c->gpu, coarse, c->a.now, fine, c->a.spare));
    swap(&c->a.now, &c->a.spare);
    c->win = *fine;
done:
    return st;
}

/* The left view of the window, and the cells of the right one. */
static SdmStatus open_level(Chain *c)
{
    SdmStatus st = SDM_OK;
    SdmGpuCells left;
    TRY(sdm_gpu_cells_new(c->ctx, &c->gpu, c->in->lattice, c->node, &c->win, SDM_LEFT, &left));
    TRY(sdm_gpu_warp(c->ctx, &c->gpu, &left, NULL, &c->image[SDM_LEFT][c->win.level], c->a.left));
    TRY(sdm_gpu_cells_new(c->ctx, &c->gpu, c->in->lattice, c->node, &c->win, SDM_RIGHT, &c->cells));
done:
    return st;
}

static SdmStatus warp_right(Chain *c, SdmBuffer *surface_m)
{
    return sdm_gpu_warp(c->ctx, &c->gpu, &c->cells, surface_m, &c->image[SDM_RIGHT][c->win.level],
                        c->a.right);
}

/* Match about the prior into the surface. */
static SdmStatus match(Chain *c, const SdmPass *pass, bool retry)
{
    const Arrays *const a = &c->a;
    const SdmGpuMatch m = {.cost = c->cost,
                           .w = c->win.w,
                           .h = c->win.h,
                           .left = a->left,
                           .right = a->right,
                           .pass = pass,
                           .retry = retry,
                           .right_cells = &c->cells,
                           .prior = a->prior,
                           .h_m = a->now,
                           .flags = a->flags,
                           .score = a->score};
    const SdmStatus st = sdm_check_stop(c->ctx);
    return st == SDM_OK ? sdm_gpu_match(c->ctx, &c->gpu, &m) : st;
}

/* As sdm_chain_clean(). */
static SdmStatus clean(Chain *c)
{
    SdmStatus st = SDM_OK;
    Arrays *const a = &c->a;
    const int w = c->win.w, h = c->win.h;
    TRY(sdm_gpu_reject(c->ctx, &c->gpu, w, h, a->now, a->prior, a->flags, SDM_REJECT_HALF,
                       sdm_metres_per_pixel(c->in, c->win.level), SDM_REJECT_SHARE, a->spare_flags));
    swap(&a->flags, &a->spare_flags);
    TRY(sdm_gpu_median(c->ctx, &c->gpu, w, h, a->now, a->flags, a->spare));
    swap(&a->now, &a->spare);
done:
    return st;
}

/* As sdm_chain_complete(). */
static SdmStatus complete(Chain *c)
{
    const Arrays *const a = &c->a;
    return sdm_gpu_fill(c->ctx, &c->gpu, c->win.w, c->win.h, a->now, a->prior, a->flags, &sdm_fill_far,
                        &sdm_fill_near, NULL);
}

static SdmStatus smooth(Chain *c)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_gpu_smooth(c->ctx, &c->gpu, c->win.w, c->win.h, c->a.now, c->a.spare));
    swap(&c->a.now, &c->a.spare);
done:
    return st;
}

/* The surface becomes the prior, for which the right view is warped. */
static SdmStatus begin_pass(Chain *c)
{
    swap(&c->a.now, &c->a.prior);
    return warp_right(c, c->a.prior);
}

/* As sdm_chain_level_in(). */
static SdmStatus do_level(Chain *c)
{
    SdmStatus st = SDM_OK;
    const SdmMatchSettings *const set = c->in->settings;
    const int level = c->win.level;
    const SdmPass first = sdm_search_pass(set, SDM_FIRST_RANGE, SDM_FIRST_WINDOW),
                  second = sdm_retry_pass(set, level);
    TRY(open_level(c));
    TRY(begin_pass(c));
    TRY(match(c, &first, false));
    TRY(clean(c));
    if (sdm_level_retries(set, level)) {
        TRY(match(c, &second, true));
        TRY(clean(c));
    }
    TRY(complete(c));
    if (level > 0)
        TRY(smooth(c));
done:
    return st;
}

/* The repeats of level 0. */
static SdmStatus repeat(Chain *c)
{
    SdmStatus st = SDM_OK;
    for (int i = 0; i < SDM_REPEATS; i++) {
        const SdmPass pass = sdm_repeat_pass(c->in->settings, i);
        TRY(smooth(c));
        TRY(begin_pass(c));
        TRY(match(c, &pass, false));
        TRY(clean(c));
        TRY(complete(c));
    }
done:
    return st;
}

/* ---- down ---- */

/* Copy an array of the window to new memory of the host. */
static SdmStatus receive(Chain *c, const SdmBuffer *from, size_t size, const char *what, void *out)
{
    SdmStatus st = SDM_OK;
    const size_t n = (size_t)c->win.w * (size_t)c->win.h;
    void **const slot = out;
    if (!*slot)
        TRY(sdm_alloc_raw(c->ctx, slot, n, size, what));
    TRY(sdm_download(c->ctx, from, 0, *slot, (int64_t)(n * size), c->gpu.queue, false));
done:
    return st;
}

/* The ground up, the last look: a->prior gets the ray gaps. */
static SdmStatus judge(Chain *c)
{
    SdmStatus st = SDM_OK;
    Arrays *const a = &c->a;
    const SdmMatchSettings *const set = c->in->settings;
    const SdmGround *const ground = c->in->ground;
    const SdmPass pass = sdm_judge_pass(set);
    if (ground) {
        const int64_t n = (int64_t)ground->win.w * ground->win.h;
        c->ground = (SdmGpuGround){.level = ground->win.level,
                                   .w = ground->win.w,
                                   .h = ground->win.h,
                                   .pixel_m = c->in->ground_pixel_m};
        TRY(sdm_buffer_new(c->ctx, c->gpu.device, n * 4, "the terrain", &c->ground.h_m));
        TRY(sdm_buffer_new(c->ctx, c->gpu.device, n * 2, "the terrain", &c->ground.away));
        TRY(sdm_upload(c->ctx, c->ground.h_m, 0, ground->h_m, n * 4, c->gpu.queue, false));
        TRY(sdm_upload(c->ctx, c->ground.away, 0, ground->away, n * 2, c->gpu.queue, false));
    }
    TRY(warp_right(c, a->now));
    TRY(sdm_gpu_gap(c->ctx, &c->gpu, c->cost, &pass, a->left, a->right, c->win.w, c->win.h, a->prior,
                    a->spare_flags));
    const SdmGpuJudge j = {.win = c->win,
                           .gap = a->prior,
                           .score0 = a->spare_flags,
                           .h_m = a->now,
                           .ground = c->ground,
                           .least = sdm_judge_least(set),
                           .gap_limit_px = set->gap_limit_px,
                           .flags = a->flags,
                           .score = a->score};
    TRY(sdm_gpu_judge(c->ctx, &c->gpu, &j));
done:
    return st;
}

/* Small holes: from the coarse surface, as fill_holes() of src/match/fine.c.  Uses all but surface and flags.
 */
static SdmStatus fill_last(Chain *c, const SdmSurface *coarse)
{
    SdmStatus st = SDM_OK;
    Arrays *const a = &c->a;
    SdmWindow before = coarse->win;
    TRY(sdm_upload(c->ctx, a->prior, 0, coarse->h_m, (int64_t)before.w * before.h * 4, c->gpu.queue, false));
    for (int l = c->in->settings->coarse_level - 1; l >= 0; l--) {
        const SdmWindow w = sdm_window_at(&c->win, l);
        TRY(sdm_gpu_refine(c->ctx, &c->gpu, &before, a->prior, &w, a->spare));
        swap(&a->prior, &a->spare);
        before = w;
    }
    TRY(sdm_gpu_fill(c->ctx, &c->gpu, c->win.w, c->win.h, a->now, a->prior, a->flags, &sdm_fill_hole, NULL,
                     a->spare_flags));
    TRY(sdm_gpu_accept(c->ctx, &c->gpu, &c->win, a->spare_flags, &c->ground, a->flags));
done:
    return st;
}

/* Was anything saturated?  Then the processor says where, before holes are filled. */
static bool has_saturated(const SdmChainInput *in)
{
    return in->left->saturated || in->right->saturated;
}

/* The last look and the way back: heights, flags, scores, ray gaps, the left view; waits. */
static SdmStatus receive_all(Chain *c, const SdmSurface *coarse, SdmFineResult *out)
{
    SdmStatus st = SDM_OK;
    Arrays *const a = &c->a;
    SdmSurface *const s = &out->surface;
    TRY(sdm_surface_alloc(c->ctx, &c->win, s));
    TRY(receive(c, a->left, sizeof *out->left, "the rectified left view", &out->left));
    TRY(judge(c));
    TRY(receive(c, a->score, sizeof *s->score, "the surface's scores", &s->score));
    TRY(receive(c, a->prior, sizeof *out->gap_px, "ray gaps", &out->gap_px));
    if (!has_saturated(c->in))
        TRY(fill_last(c, coarse));
    TRY(receive(c, a->now, sizeof *s->h_m, "the surface", &s->h_m));
    TRY(receive(c, a->flags, sizeof *s->flags, "the surface's flags", &s->flags));
    TRY(sdm_finish(c->ctx, c->gpu.device, c->gpu.queue));
done:
    if (st != SDM_OK) /* memory that a copy may still write to */
        (void)sdm_finish(NULL, c->gpu.device, c->gpu.queue);
    return st;
}

static SdmStatus tell_time(Chain *c, double *device_s)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_device_seconds(c->ctx, c->gpu.device, c->gpu.queue, device_s));
    sdm_log(c->ctx, SDM_LOG_VERBOSE, 5, "%d x %d px on %s: %.3f s by its clock, %lld MiB of its memory",
            c->win.w, c->win.h, sdm_device_info(c->gpu.device)->name, *device_s,
            (long long)(sdm_device_peak(c->gpu.device) >> 20));
done:
    return st;
}

SdmStatus sdm_device_chain_fine(SdmContext *ctx, SdmDevice *device, const SdmChainInput *in,
                                const SdmSurface *coarse, const SdmWindow *win, const SdmWindow *need,
                                SdmFineResult *out)
{
    SdmStatus st = SDM_OK;
    const SdmMatchSettings *const set = in->settings;
    Chain c = {.ctx = ctx, .in = in, .cost = cost_of(set), .win = coarse->win};
    const int around = sdm_stage_enter(ctx, 5);
    *out = (SdmFineResult){0};
    TRY(sdm_gpu_open(ctx, device, 0, &c.gpu));
    TRY(take_arrays(&c, most_pixels(set, coarse, win, need)));
    TRY(send_all(&c, coarse));
    for (int l = set->coarse_level - 1; l >= 0; l--) {
        const SdmWindow part = sdm_fine_part(set, win, need, l), fine = sdm_window_at(&part, l),
                        before = c.win;
        TRY(send_level(&c, l));
        TRY(refine(&c, &before, &fine));
        TRY(do_level(&c));
    }
    TRY(repeat(&c));
    TRY(receive_all(&c, coarse, out));
    TRY(tell_time(&c, &out->device_s));
    close_chain(&c); /* before the host's part, whose memory it may need */
    if (has_saturated(in))
        TRY(sdm_fine_finish(ctx, in, coarse, &out->surface));
done:
    close_chain(&c);
    sdm_stage_leave(ctx, around);
    if (st != SDM_OK)
        sdm_fine_result_free(out);
    return st;
}
