/* Steps of the chain on the device of the bench -> cases, timed by the device's clock.  Their bounds are
 * bytes at the speed of a copy, or instructions at the rate at which multiprocessors start them. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_device.h"
#include "bench/bench_scene.h"
#include "gpu/device_ops.h"
#include "matching/validation.h"

enum { COARSE = 3 };

/* Data on the device: arrays of a window of level 0, images, lattice. */
typedef struct StepData {
    SdmGpu gpu;
    const SynScene *scene;
    SdmWindow win, half;
    SdmMatchSettings set;
    SdmGpuImage image, image_half; /* of the right view */
    SdmBuffer *node, *h_m, *prior, *spare, *flags, *spare_flags, *score, *left, *right;
    SdmGpuCells cells;
    int64_t copy_bytes;
    SdmBuffer *copy[2];
} StepData;

typedef SdmStatus step_fn(SdmContext *ctx, StepData *b, int which);

typedef struct StepCall {
    StepData *on_device;
    step_fn *step;
    int which;
} StepCall;

/* ---- the steps ---- */

static SdmStatus do_copy(SdmContext *ctx, StepData *b, int which)
{
    (void)which;
    const int64_t n = b->copy_bytes / 16;
    return sdm_gpu_run(ctx, &b->gpu, "copy_words", (const int[3]){sdm_gpu_groups(n, 256), 1, 1},
                       (const int[3]){256, 1, 1}, 3,
                       (const SdmArg[]){SDM_BUF(b->copy[0]), SDM_BUF(b->copy[1]), SDM_I64(n)});
}

static SdmStatus do_warp(SdmContext *ctx, StepData *b, int which)
{
    (void)which;
    return sdm_gpu_warp(ctx, &b->gpu, &b->cells, b->prior, &b->image, b->right);
}

static SdmStatus do_half(SdmContext *ctx, StepData *b, int which)
{
    (void)which;
    return sdm_gpu_half(ctx, &b->gpu, &b->image, &b->image_half);
}

enum Pass { FIRST, RETRY, REPEAT, PASSES };

static SdmGpuViews views_of(const StepData *b, int cost)
{
    return (SdmGpuViews){
        .cost = (enum SdmGpuCost)cost, .w = b->win.w, .h = b->win.h, .left = b->left, .right = b->right};
}

static SdmGpuSurface surface_of(const StepData *b)
{
    return (SdmGpuSurface){
        .win = b->win, .h_m = b->h_m, .prior_m = b->prior, .flags = b->flags, .score = b->score};
}

static SdmStatus do_match(SdmContext *ctx, StepData *b, int which)
{
    const SdmPass passes[PASSES] = {sdm_first_pass(&b->set), sdm_retry_pass(&b->set, 1),
                                    sdm_repeat_pass(&b->set)};
    const SdmGpuMatch m = {.views = views_of(b, which / PASSES),
                           .pass = &passes[which % PASSES],
                           .right_cells = &b->cells,
                           .prior = b->prior,
                           .h_m = b->h_m,
                           .flags = b->flags,
                           .score = b->score};
    return sdm_gpu_match(ctx, &b->gpu, &m);
}

static SdmStatus do_reject(SdmContext *ctx, StepData *b, int which)
{
    (void)which;
    const SdmGpuSurface s = surface_of(b);
    const SdmStep reject = {.kind = SDM_STEP_REJECT, .window = 7};
    const SdmRejection r = sdm_rejection(&reject, 25.0f);
    return sdm_gpu_reject(ctx, &b->gpu, &s, &r, b->spare_flags);
}

static SdmStatus do_median(SdmContext *ctx, StepData *b, int which)
{
    (void)which;
    const SdmGpuSurface s = surface_of(b);
    return sdm_gpu_median(ctx, &b->gpu, &s, b->spare);
}

static SdmStatus do_fill(SdmContext *ctx, StepData *b, int which)
{
    (void)which;
    const SdmGpuSurface s = surface_of(b);
    return sdm_gpu_fill(ctx, &b->gpu, &s, &sdm_fill_far, &sdm_fill_near, NULL);
}

static SdmStatus do_smooth(SdmContext *ctx, StepData *b, int which)
{
    (void)which;
    const SdmGpuSurface s = surface_of(b);
    return sdm_gpu_smooth(ctx, &b->gpu, &s, b->spare);
}

static SdmStatus do_refine(SdmContext *ctx, StepData *b, int which)
{
    (void)which;
    return sdm_gpu_refine(ctx, &b->gpu, &b->half, b->prior, &b->win, b->spare);
}

static SdmStatus do_validate(SdmContext *ctx, StepData *b, int which)
{
    SdmStatus st = SDM_OK;
    const SdmPass pass = sdm_ray_error_pass(&b->set);
    const SdmGpuViews views = views_of(b, which);
    const SdmGpuSurface s = surface_of(b);
    const SdmGpuTerrainMask none = {.h_m = NULL};
    TRY(sdm_gpu_ray_error(ctx, &b->gpu, &views, &pass, b->spare, b->spare_flags));
    const SdmGpuValidation q = {.ray_error = b->spare,
                                .score0 = b->spare_flags,
                                .terrain = &none,
                                .min_score = sdm_validation_min_score(&b->set),
                                .ray_error_limit_px = b->set.ray_error_limit_px};
    TRY(sdm_gpu_validate(ctx, &b->gpu, &s, &q));
done:
    return st;
}

static SdmStatus do_grid(SdmContext *ctx, StepData *b, int which)
{
    (void)which;
    const SdmGridding how = {.lattice = &b->scene->lattice, .spacing = 2.0 * SYN_GSD_M, .gsd_m = SYN_GSD_M,
                             .spacing_m = 2.0 * SYN_GSD_M, .scale = 16.0, .ray_error_m_per_px = SYN_GSD_M};
    const SdmBlock block = {.w = b->win.w / 2, .h = b->win.h / 2};
    const SdmGpuGrid q = {.gridding = &how, .win = b->win, .block = &block, .h_m = b->prior,
                          .flags = b->flags, .score = b->score, .ray_error_px = b->spare, .left = b->left};
    SdmBuffer *real, *whole;
    return sdm_gpu_can_grid(&b->gpu, &q) ? sdm_gpu_grid(ctx, &b->gpu, &q, &real, &whole) : SDM_OK;
}

/* Machine instructions (sm_90) and bytes a pixel; 0 = not counted. */
static const struct {
    const char *name;
    step_fn *step;
    int which;
    double instructions, bytes;
} steps[] = {
    {"device warp", do_warp, 0, 201.0, 10.0},
    {"device half size, pixels of the result", do_half, 0, 328.0, 10.0},
    {"device match zncc 9x9 +-3", do_match, SDM_GPU_ZNCC * PASSES + FIRST, 1041.0, 20.0},
    {"device match zncc 13x13 +-5", do_match, SDM_GPU_ZNCC * PASSES + RETRY, 1365.0, 20.0},
    {"device match zncc 5x5 +-1", do_match, SDM_GPU_ZNCC * PASSES + REPEAT, 791.0, 20.0},
    {"device match census 9x9 +-3", do_match, SDM_GPU_CENSUS * PASSES + FIRST, 0.0, 104.0},
    {"device match census 13x13 +-5", do_match, SDM_GPU_CENSUS * PASSES + RETRY, 0.0, 136.0},
    {"device match census 5x5 +-1", do_match, SDM_GPU_CENSUS * PASSES + REPEAT, 0.0, 72.0},
    {"device reject", do_reject, 0, 191.0, 12.0},
    {"device median", do_median, 0, 177.0, 10.0},
    {"device fill, both reaches", do_fill, 0, 159.0, 46.0},
    {"device smooth", do_smooth, 0, 52.0, 8.0},
    {"device refine", do_refine, 0, 90.0, 5.0},
    {"device validation zncc", do_validate, SDM_GPU_ZNCC, 758.0, 35.0},
    {"device gridding, cells of 2 x 2 pixels", do_grid, 0, 1099.0, 53.0},
};

/* ---- data ---- */

static SdmStatus send(SdmContext *ctx, StepData *b, const void *data, int64_t bytes, SdmBuffer **out)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_buffer_new(ctx, b->gpu.device, bytes, "an array of the bench", out));
    TRY(data ? sdm_upload(ctx, *out, 0, data, bytes, 0, true) : sdm_fill_bytes(ctx, *out, 0, 0, bytes, 0));
done:
    return st;
}

static SdmStatus send_image(SdmContext *ctx, StepData *b, const SdmLevelImage *from, SdmGpuImage *out)
{
    *out = (SdmGpuImage){.x0 = from->x0, .y0 = from->y0, .w = from->w, .h = from->h};
    return send(ctx, b, from->data, from->w * from->h * 2, &out->data);
}

static SdmStatus make_data(SdmContext *ctx, StepData *b)
{
    SdmStatus st = SDM_OK;
    SdmSurface truth = {.h_m = NULL};
    SdmGpuCells left;
    SdmGpuImage left_image;
    const SdmLattice *const lat = &b->scene->lattice;
    const int64_t n = (int64_t)b->win.w * b->win.h;
    const int64_t nodes = (int64_t)lat->nu * lat->nv * (int64_t)sizeof *lat->node;
    struct {
        SdmBuffer **buffer;
        int64_t bytes;
    } list[] = {{&b->h_m, 4},         {&b->spare, 4}, {&b->flags, 2}, {&b->spare_flags, 2},
                {&b->score, 1},       {&b->left, 2},  {&b->right, 2}};
    TRY(sdm_syn_surface(ctx, b->scene, &b->win, 0.4, &truth));
    TRY(send(ctx, b, truth.h_m, n * 4, &b->prior));
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        TRY(send(ctx, b, NULL, n * list[i].bytes, list[i].buffer));
    for (int i = 0; i < 2; i++)
        TRY(send(ctx, b, NULL, b->copy_bytes, &b->copy[i]));
    TRY(send(ctx, b, lat->node, nodes, &b->node));
    TRY(send_image(ctx, b, &b->scene->left_pyramid.level[0], &left_image));
    TRY(send_image(ctx, b, &b->scene->right_pyramid.level[0], &b->image));
    TRY(send_image(ctx, b, &b->scene->right_pyramid.level[1], &b->image_half));
    TRY(sdm_gpu_reserve(ctx, &b->gpu, n, (int64_t)lat->nu * lat->nv, true, true));
    TRY(sdm_gpu_cells_new(ctx, &b->gpu, lat, b->node, &b->win, SDM_LEFT, &left));
    TRY(sdm_gpu_warp(ctx, &b->gpu, &left, NULL, &left_image, b->left));
    TRY(sdm_gpu_cells_new(ctx, &b->gpu, lat, b->node, &b->win, SDM_RIGHT, &b->cells));
    TRY(do_warp(ctx, b, 0));
    TRY(do_match(ctx, b, 0));
    TRY(sdm_finish(ctx, b->gpu.device, 0));
done:
    sdm_surface_free(&truth);
    return st;
}

static SdmStatus call_step(SdmContext *ctx, void *data)
{
    const StepCall *const c = data;
    return c->step(ctx, c->on_device, c->which);
}

static SdmStatus add_step(SdmBench *b, StepData *on_device, size_t i)
{
    SdmStatus st = SDM_OK;
    StepCall *c;
    const SdmLevelImage *const half = &on_device->scene->right_pyramid.level[1];
    TRY(sdm_bench_alloc(b, &c, 1, sizeof *c));
    *c = (StepCall){.on_device = on_device, .step = steps[i].step, .which = steps[i].which};
    SdmBenchCase made = {.name = steps[i].name,
                         .output = "pixel",
                         .outputs = steps[i].step == do_half ? (double)half->w * (double)half->h
                                                             : (double)on_device->win.w * on_device->win.h,
                         .need = {.operations = steps[i].instructions, .bytes = steps[i].bytes},
                         .call = call_step,
                         .data = c};
    TRY(sdm_bench_clock(b, &on_device->gpu, &made));
    TRY(sdm_bench_add(b, &made));
done:
    return st;
}

/* Best of the repeats: bytes a second of the copy, read and written. */
static SdmStatus measure_copy(SdmBench *b, StepData *on_device)
{
    SdmStatus st = SDM_OK;
    const SdmGpu *const g = &on_device->gpu;
    double least = 1e30, s = 0.0;
    for (int i = 0; i < b->opt->repeats + 1; i++) {
        TRY(sdm_device_seconds(b->ctx, g->device, g->queue, &s)); /* from here on */
        TRY(do_copy(b->ctx, on_device, 0));
        TRY(sdm_device_seconds(b->ctx, g->device, g->queue, &s));
        least = s > 0.0 && s < least ? s : least;
    }
    b->device_bandwidth = 2.0 * (double)on_device->copy_bytes / least;
done:
    return st;
}

SdmStatus sdm_bench_add_device_steps(SdmBench *b)
{
    SdmStatus st = SDM_OK;
    StepData *on_device = NULL;
    if (!sdm_bench_gpu(b))
        return SDM_OK;
    SdmDevice *const device = sdm_bench_gpu(b)->device;
    const SdmDeviceInfo *const info = sdm_device_info(device);
    TRY(sdm_bench_alloc(b, &on_device, 1, sizeof *on_device));
    TRY(sdm_bench_scene_open(b, sdm_bench_side(b, 160, 3962), sdm_bench_side(b, 128, 4200)));
    on_device->scene = sdm_bench_scene(b);
    on_device->win = (SdmWindow){.w = on_device->scene->width, .h = on_device->scene->height};
    on_device->half = (SdmWindow){.level = 1, .w = on_device->win.w / 2, .h = on_device->win.h / 2};
    on_device->copy_bytes = b->opt->quick || info->is_cpu ? (int64_t)16 << 20 : (int64_t)1 << 30;
    TRY(sdm_match_settings(b->ctx, NULL, "zncc", "auto", 8.0f, &on_device->set));
    on_device->set.coarse_level = on_device->set.coarsest_level = COARSE;
    TRY(sdm_gpu_open(b->ctx, device, 0, &on_device->gpu)); /* its buffers go with the device */
    TRY(make_data(b->ctx, on_device));
    TRY(measure_copy(b, on_device));
    enum { LANES = 128 }; /* instructions that a multiprocessor starts in a cycle, of single items */
    b->device_issue = info->api == SDM_API_CUDA ? (double)info->units * LANES * info->clock_hz : 0.0;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        TRY(add_step(b, on_device, i));
done:
    return st;
}
