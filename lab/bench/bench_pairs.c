/* Matching of whole pairs, and the workloads of the papers. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_pairs.h"

#include "bench/bench_bp.h"
#include "bench/bench_device.h"
#include "bench/bench_scene.h"
#include "rectified/pair_device.h"
#include "rectified/pair_filters.h"

#include <string.h>

/* ---- one pair at every level ---- */

/* Cases that match one pair at every level of the bench but `reference`.
 * base: name, published; frames: how often a call matches the pair; fill: afterwards, nearest. */
typedef struct Pair {
    SdmBenchCase base;
    int width, height, frames;
    bool eight_bit, fill;
    SdmPairSettings set;
} Pair;

typedef struct PairCall {
    SdmGpu *gpu; /* NULL: the processor */
    SdmPairImage image[2];
    SdmPairSettings set;
    SdmOptimizer how; /* of the settings, where they have one */
    int frames;
    bool fill;
    float *disparity;
} PairCall;

static SdmStatus call_pair(SdmContext *ctx, void *data)
{
    SdmStatus st = SDM_OK;
    const PairCall *const c = data;
    const SdmPairImage *const left = &c->image[0], *const right = &c->image[1];
    for (int i = 0; i < c->frames; i++) {
        TRY(c->gpu ? sdm_pair_match_device(ctx, c->gpu, left, right, &c->set, c->disparity)
                   : sdm_pair_match(ctx, left, right, &c->set, c->disparity));
        if (c->fill)
            TRY(sdm_pair_fill(ctx, SDM_FILL_NEAREST, left->width, left->height, c->disparity));
    }
done:
    return st;
}

/* As `match` does it, by the processor at a level or, with transfers, by a device. */
static SdmStatus make_case(SdmBench *b, const PairCall *call, const char *level, SdmGpu *gpu,
                           SdmBenchCase *made)
{
    SdmStatus st = SDM_OK;
    PairCall *c;
    TRY(sdm_bench_alloc(b, &c, 1, sizeof *c));
    *c = *call;
    c->gpu = gpu;
    c->set.cpu_level = c->how.cpu_level = gpu ? "auto" : level;
    if (c->set.optimizer)
        c->set.optimizer = &c->how;
    made->level = level;
    made->threads = gpu ? 0 : sdm_threads(b->ctx);
    made->call = call_pair;
    made->data = c;
done:
    return st;
}

static SdmStatus make_call(SdmBench *b, const Pair *p, PairCall *call)
{
    SdmStatus st = SDM_OK;
    *call = (PairCall){.set = p->set, .frames = p->frames, .fill = p->fill};
    if (p->set.optimizer)
        call->how = *p->set.optimizer;
    TRY(sdm_synthetic_pair(b, p->width, p->height, p->set.dmax - p->set.dmin + 1, p->eight_bit, call->image));
    TRY(sdm_bench_alloc(b, &call->disparity, (size_t)p->width * (size_t)p->height, sizeof(float)));
done:
    return st;
}

static SdmStatus add_pair(SdmBench *b, const Pair *p)
{
    SdmStatus st = SDM_OK;
    const int depth = p->set.dmax - p->set.dmin + 1;
    SdmGpu *const gpu = sdm_bench_gpu(b);
    PairCall call;
    SdmBenchCase made = p->base;
    if (!sdm_bench_wants(b, made.name))
        return SDM_OK;
    TRY(make_call(b, p, &call));
    made.output = "score";
    made.outputs = (double)p->width * p->height * depth * p->frames;
    for (int l = 0; l < b->level_count; l++)
        if (strcmp(b->levels[l], "reference") != 0 || b->opt->quick) {
            TRY(make_case(b, &call, b->levels[l], NULL, &made));
            TRY(sdm_bench_add(b, &made));
        }
    if (!gpu)
        return SDM_OK;
    TRY(make_case(b, &call, sdm_bench_device_name(b, false), gpu, &made));
    TRY(sdm_bench_add(b, &made));
    if (p->fill || p->frames > 1) /* the processor's part would count, transfers between frames */
        return SDM_OK;
    TRY(sdm_bench_clock(b, gpu, &made));
    TRY(sdm_bench_add(b, &made));
done:
    return st;
}

static SdmPairSettings settings(SdmPairCost cost, int window, int depth, float lr_threshold)
{
    return (SdmPairSettings){.cost = cost,
                             .window = window,
                             .dmax = depth - 1,
                             .census_width = 9,
                             .census_height = 7,
                             .lr_threshold = lr_threshold,
                             .subpixel = true};
}

/* Samples of 8 and of 12 bits, windows: what a score costs there. */
SdmStatus sdm_bench_add_pairs(SdmBench *b)
{
    static const struct {
        const char *name;
        SdmPairCost cost;
        int window;
        bool eight_bit;
    } list[] = {
        {"match sad 9x9", SDM_PAIR_SAD, 9, true},
        {"match sad 9x9 12 bit", SDM_PAIR_SAD, 9, false},
        {"match sad 16x16", SDM_PAIR_SAD, 16, true},
        {"match zncc 9x9", SDM_PAIR_ZNCC, 9, true},
        {"match zncc 9x9 12 bit", SDM_PAIR_ZNCC, 9, false},
        {"match census 9x7 in 9x9", SDM_PAIR_CENSUS, 9, true},
    };
    SdmStatus st = SDM_OK;
    const bool quick = b->opt->quick;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        TRY(add_pair(b, &(Pair){.base = {.name = list[i].name},
                                .width = quick ? 96 : 1024,
                                .height = quick ? 32 : 512,
                                .frames = 1,
                                .eight_bit = list[i].eight_bit,
                                .set = settings(list[i].cost, list[i].window, quick ? 8 : 64, 1.0f)}));
done:
    return st;
}

/* ---- papers ---- */

/* dem-stereo-many-core-2011: coarse to fine with substages; their 8 cores and their GPU, best of each. */
static SdmStatus add_dem_stereo(SdmBench *b)
{
    static const char zncc[] = "4.79 s Xeon (Z800), 8 threads; 0.97 s Tesla C2050",
                      census[] = "5.37 s Xeon (Z800), 8 threads; 0.83 s Tesla C2050",
                      none[] = "none: the paper stops at the heights";
    static const SdmBenchSceneCase list[] = {
        {"DEM main processing zncc 3962 x 4200", zncc, "zncc", false, false},
        {"DEM main processing census 3962 x 4200", census, "census", false, false},
        {"DEM main processing zncc along track 3962 x 4200", zncc, "zncc", true, false},
        {"DEM main processing census along track 3962 x 4200", census, "census", true, false},
        {"DEM main processing zncc, its levels and cells", none, "zncc", true, true},
    };
    SdmStatus st = SDM_OK;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (!sdm_bench_wants(b, list[i].name))
            continue;
        TRY(sdm_bench_scene_open(b, b->opt->quick ? 160 : 3962, b->opt->quick ? 128 : 4200));
        TRY(sdm_bench_scene_add(b, &list[i]));
    }
done:
    return st;
}

/* libSGM's kind of work at the size of an ASTER pair. */
static SdmStatus add_sgm(SdmBench *b)
{
    static const SdmOptimizer how = {
        .kind = SDM_OPTIMIZER_SGM, .p1 = 25, .p2 = 120, .paths = 8, .cpu_level = "auto"};
    Pair p = {.base = {.name = "SGM 8 paths 3962 x 4200 64 disparities", .published =
                               "libSGM: 1.5 ms for 1024 x 440 x 128, 4 paths, RTX 3080"},
                      .width = b->opt->quick ? 120 : 3962,
                      .height = b->opt->quick ? 64 : 4200,
                      .frames = 1,
                      .eight_bit = true,
                      .set = settings(SDM_PAIR_AD_CENSUS, 1, b->opt->quick ? 16 : 64, 1.0f)};
    p.set.optimizer = &how;
    return add_pair(b, &p);
}

/* Of zncc-opencl-depth-map. */
static Pair zncc_pair(const SdmBench *b)
{
    const int part = b->opt->quick ? 8 : 1;
    return (Pair){
        .base = {.name = "ZNCC 9x9 64 disparities 735 x 504 both ways",
                 .published =
                     "67.1 ms GTX 970; 794 ms GT 525M; 203 s C++ on one i5-6600K core (kernel time)"},
        .width = 735 / part,
        .height = 504 / part,
        .frames = 1,
        .eight_bit = true,
        .set = settings(SDM_PAIR_ZNCC, 9, 64 / part, 8.0f)};
}

SdmStatus sdm_bench_pair_kernels(SdmBench *b, SdmBenchCase *out)
{
    SdmStatus st = SDM_OK;
    const Pair p = zncc_pair(b);
    PairCall call;
    *out = p.base;
    TRY(make_call(b, &p, &call));
    TRY(make_case(b, &call, sdm_bench_device_name(b, false), sdm_bench_gpu(b), out));
    TRY(sdm_bench_clock(b, sdm_bench_gpu(b), out));
done:
    return st;
}

SdmStatus sdm_bench_add_papers(SdmBench *b)
{
    SdmStatus st = SDM_OK;
    const int part = b->opt->quick ? 8 : 1, frames = b->opt->quick ? 2 : 10;
    const Pair sad5 = {.base = {.name = "SAD 5x5 64 disparities 434 x 383 one way", .published =
                                        "4.88 ms GeForce 940M (18.0 ms without distributed loading)"},
                               .width = 434 / part, .height = 383 / part, .frames = 1, .eight_bit = true,
                               .set = settings(SDM_PAIR_SAD, 5, 64 / part, -1.0f)};
    const Pair zncc9 = zncc_pair(b);
    Pair filled = zncc9;
    filled.base.name = "the same with nearest-neighbour filling";
    filled.base.published = "76.3 ms GTX 970 (kernel time)";
    filled.fill = true;
    TRY(add_pair(b, &sad5));
    TRY(add_pair(b, &zncc9));
    TRY(add_pair(b, &filled));
    static const char *const names[3] = {"SAD 4x4 sequence 640 x 480 64 disparities 10 frames",
                                         "SAD 8x8 sequence 640 x 480 64 disparities 10 frames",
                                         "SAD 16x16 sequence 640 x 480 64 disparities 10 frames"};
    for (int i = 0; i < 3; i++)
        TRY(add_pair(b, &(Pair){.base = {.name = names[i], .published =
                                                           "tables not in our copy of the paper"},
                                                  .width = 640 / part, .height = 480 / part, .frames = frames,
                                                  .eight_bit = true,
                                                  .set = settings(SDM_PAIR_SAD, 4 << i, 64 / part, -1.0f)}));
    TRY(sdm_bench_add_bp(b));
    TRY(add_sgm(b));
    TRY(add_dem_stereo(b));
done:
    return st;
}
