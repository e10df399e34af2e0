/* The chain's levels below the coarse one, timed on the synthetic scene. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"
#include "bench/synthetic.h"
#include "gpu/gpu_backend.h"

#include <string.h>

enum { COARSE = 3 };
static const float NOISE_Q = 8.0f;

typedef struct SdmBenchScene {
    SynScene scene;
    SdmWindow win;
    SdmSurface coarse; /* truth with a wave of 0.4 px on it */
} SdmBenchScene;

void sdm_bench_scene_close(SdmBench *b)
{
    if (b->scene) {
        sdm_syn_close(&b->scene->scene);
        sdm_surface_free(&b->scene->coarse);
    }
    b->scene = NULL;
}

SdmStatus sdm_bench_scene_open(SdmBench *b, int width, int height)
{
    SdmBenchScene *s = NULL;
    const int w = width / 16 * 16, h = height / 16 * 16; /* whole coarse pixels and cells of the lattice */
    const SdmWindow coarse = {.level = COARSE, .w = w >> COARSE, .h = h >> COARSE};
    if (b->scene)
        return SDM_OK;
    PASS(sdm_bench_alloc(b, &s, 1, sizeof *s));
    b->scene = s;
    s->win = (SdmWindow){.w = w, .h = h};
    s->scene = (SynScene){.width = w, .height = h, .slope = 0.5, .wave_px = 300.0, .seed = 42};
    PASS(sdm_syn_open(b->ctx, &s->scene));
    return sdm_syn_surface(b->ctx, &s->scene, &coarse, 0.4, &s->coarse);
}

/* dem-stereo-many-core-2011: coarse to fine with substages; their 8 cores and their GPU, best of each. */
typedef struct SceneCase {
    const char *name, *published, *cost; /* as of SdmBenchCase; "zncc" or "census" */
    bool cells; /* on the device alone, and all that a run does there: images of full resolution are uploaded,
                   their levels made there, cells of two pixels a side downloaded */
} SceneCase;
static const SceneCase scenes[] = {
    {"DEM main processing zncc 3962 x 4200", "4.79 s Xeon (Z800), 8 threads; 0.97 s Tesla C2050", "zncc",
     false},
    {"DEM main processing census 3962 x 4200", "5.37 s Xeon (Z800), 8 threads; 0.83 s Tesla C2050", "census",
     false},
    {"DEM main processing zncc, its levels and cells", "none: the paper stops at the heights", "zncc", true},
    {.name = NULL},
};

typedef struct SceneCall {
    const SdmBenchScene *scene;
    SdmDevice *device; /* NULL: the processor */
    bool cells;        /* stages 4 to 8: images of full resolution up, cells down; else the levels alone */
    SdmMatchSettings settings;
    double device_s;
} SceneCall;

static SdmStatus call_scene(SdmContext *ctx, void *data)
{
    SceneCall *const c = data;
    const SynScene *const s = &c->scene->scene;
    const SdmWindow *const win = &c->scene->win;
    SdmPyramid left = s->left_pyramid, right = s->right_pyramid;
    const SdmMatchInput in = {
        .settings = &c->settings, .lattice = &s->lattice, .left = &left, .right = &right};
    const SdmGridding how = {.kernels = c->settings.kernels,
                             .lattice = &s->lattice,
                             .spacing = 2.0 * SYN_GSD_M,
                             .gsd_m = SYN_GSD_M,
                             .spacing_m = 2.0 * SYN_GSD_M,
                             .scale = 16.0,
                             .ray_error_m_per_px = SYN_GSD_M};
    SDM_CLOSED_BY(sdm_block_free) SdmBlock block = {.w = win->w / 2, .h = win->h / 2};
    SDM_CLOSED_BY(sdm_fine_result_free) SdmFineResult r = {.ray_error_px = NULL};
    SdmMatchCall call = {.in = &in, .coarse = &c->scene->coarse, .win = win, .need = win};
    if (c->cells) {
        left.lmax = right.lmax = 0; /* as `run` sends images: the device makes the levels */
        call.gridding = &how;
        call.block = &block;
    }
    const SdmStatus st =
        c->device ? sdm_device_match(ctx, c->device, &call, &r) : sdm_match_window(ctx, &call, &r);
    c->device_s = r.device_s;
    return st;
}

static SdmStatus make_call(SdmBench *b, SdmDevice *device, const char *level, const char *cost, SceneCall *c)
{
    *c = (SceneCall){.scene = b->scene, .device = device};
    const SdmStatus st =
        sdm_match_settings(b->ctx, NULL, cost, device ? "auto" : level, NOISE_Q, &c->settings);
    c->settings.coarse_level = c->settings.coarsest_level = COARSE;
    return st;
}

static SdmStatus add_scene(SdmBench *b, const SceneCase *what, const char *level, SdmDevice *device,
                           bool own_clock)
{
    SceneCall *c;
    PASS(sdm_bench_alloc(b, &c, 1, sizeof *c));
    PASS(make_call(b, device, level, what->cost, c));
    c->cells = what->cells;
    return sdm_bench_add(b, &(SdmBenchCase){.name = what->name,
                                            .level = level,
                                            .published = what->published,
                                            .output = "pixel",
                                            .outputs = (double)b->scene->win.w * (double)b->scene->win.h,
                                            .threads = device ? 0 : sdm_threads(b->ctx),
                                            .call = call_scene,
                                            .data = c,
                                            .clock_s = own_clock ? &c->device_s : NULL});
}

/* For every instruction set and, where the bench has a device, for it. */
SdmStatus sdm_bench_add_scenes(SdmBench *b)
{
    for (const SceneCase *what = scenes; what->name; what++) {
        if (!sdm_bench_wants(b, what->name))
            continue;
        PASS(sdm_bench_scene_open(b, b->opt->quick ? 160 : 3962, b->opt->quick ? 128 : 4200));
        for (int l = 0; l < b->level_count && !what->cells; l++)
            if (strcmp(b->levels[l], "reference") != 0 || b->level_count == 1) /* it takes hours */
                PASS(add_scene(b, what, b->levels[l], NULL, false));
        for (int own_clock = 0; own_clock < 2 && b->device; own_clock++)
            PASS(add_scene(b, what, b->device_name[own_clock], b->device, own_clock));
    }
    return SDM_OK;
}

SdmStatus sdm_bench_scene_device_s(SdmBench *b, const char *cost, double *seconds)
{
    SceneCall c;
    PASS(make_call(b, b->device, NULL, cost, &c));
    PASS(call_scene(b->ctx, &c));
    *seconds = c.device_s;
    return SDM_OK;
}
