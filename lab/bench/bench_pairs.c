/* Matching of whole pairs, kernels and workloads of papers alike, and main processing -> cases. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"
#include "rectified/pair.h"
#include "rectified/pair_device.h"

#include <string.h>

static const SdmOptimizer sgm = {.kind = SDM_OPTIMIZER_SGM, .p1 = 25, .p2 = 120, .paths = 8},
                          bp32 = {.kind = SDM_OPTIMIZER_BP, .bp = {32, 1, 1}, .weight = 32, .truncation = 2},
                          bp13 = {.kind = SDM_OPTIMIZER_BP, .bp = {13, 1, 1}, .weight = 32, .truncation = 2};

/* A pair that is matched at every level of the bench but `reference`. */
typedef struct PairCase {
    const char *name, *published; /* published: of a paper; else NULL */
    int width, height, frames;    /* frames: how often a call matches the pair */
    SdmPairCost cost;
    int window, labels;
    float lr_threshold; /* < 0: one way */
    bool wide, fill;    /* samples of 12 bits; nearest-neighbour filling afterwards */
    const SdmOptimizer *how;
} PairCase;

static const PairCase pairs[] = {
    {"match sad 9x9", NULL, 1024, 512, 1, SDM_PAIR_SAD, 9, 64, 1.0f, false, false, NULL},
    {"match sad 9x9 12 bit", NULL, 1024, 512, 1, SDM_PAIR_SAD, 9, 64, 1.0f, true, false, NULL},
    {"match sad 16x16", NULL, 1024, 512, 1, SDM_PAIR_SAD, 16, 64, 1.0f, false, false, NULL},
    {"match zncc 9x9", NULL, 1024, 512, 1, SDM_PAIR_ZNCC, 9, 64, 1.0f, false, false, NULL},
    {"match zncc 9x9 12 bit", NULL, 1024, 512, 1, SDM_PAIR_ZNCC, 9, 64, 1.0f, true, false, NULL},
    {"match census 9x7 in 9x9", NULL, 1024, 512, 1, SDM_PAIR_CENSUS, 9, 64, 1.0f, false, false, NULL},
    {"match sgm", NULL, 1024, 512, 1, SDM_PAIR_AD_CENSUS, 1, 64, 1.0f, false, false, &sgm},
    {"match bp", NULL, 1024, 512, 1, SDM_PAIR_AD_CENSUS, 1, 16, 1.0f, false, false, &bp32},
    {"SAD 5x5 64 disparities 434 x 383 one way", "4.88 ms GeForce 940M (18.0 ms without distributed loading)",
     434, 383, 1, SDM_PAIR_SAD, 5, 64, -1.0f, false, false, NULL},
    {"ZNCC 9x9 64 disparities 735 x 504 both ways",
     "67.1 ms GTX 970; 794 ms GT 525M; 203 s C++ on one i5-6600K core (kernel time)", 735, 504, 1,
     SDM_PAIR_ZNCC, 9, 64, 8.0f, false, false, NULL},
    {"the same with nearest-neighbour filling", "76.3 ms GTX 970 (kernel time)", 735, 504, 1, SDM_PAIR_ZNCC,
     9, 64, 8.0f, false, true, NULL},
    {"SAD 4x4 sequence 640 x 480 64 disparities 10 frames", "tables not in our copy of the paper", 640, 480,
     10, SDM_PAIR_SAD, 4, 64, -1.0f, false, false, NULL},
    {"SAD 8x8 sequence 640 x 480 64 disparities 10 frames", "tables not in our copy of the paper", 640, 480,
     10, SDM_PAIR_SAD, 8, 64, -1.0f, false, false, NULL},
    {"SAD 16x16 sequence 640 x 480 64 disparities 10 frames", "tables not in our copy of the paper", 640, 480,
     10, SDM_PAIR_SAD, 16, 64, -1.0f, false, false, NULL},
    {"tiled BP 384 x 288 16 labels 1 + 1 in tiles of 32 px", "7.96 ms Tesla C2050, 13 px, costs at hand", 384,
     288, 1, SDM_PAIR_AD_CENSUS, 1, 16, -1.0f, false, false, &bp32},
    {"tiled BP 384 x 288 16 labels 1 + 1 in tiles of 13 px", "7.96 ms Tesla C2050, 13 px, costs at hand", 384,
     288, 1, SDM_PAIR_AD_CENSUS, 1, 16, -1.0f, false, false, &bp13},
    {"SGM 8 paths 3962 x 4200 64 disparities", "libSGM: 1.5 ms for 1024 x 440 x 128, 4 paths, RTX 3080", 3962,
     4200, 1, SDM_PAIR_AD_CENSUS, 1, 64, 1.0f, false, false, &sgm},
};
enum { PAIRS = sizeof pairs / sizeof *pairs, TUNED_PAIR = 9 };

/* ---- a pair of grainy texture, whose disparities change by rows ---- */

static uint32_t scramble(uint64_t x)
{
    x = (x ^ (x >> 31)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 29)) * UINT64_C(0x94D049BB133111EB);
    return (uint32_t)(x >> 40);
}

/* Sum of 3 x 3 random numbers: a grain of about three pixels; 0..255. */
static int grain(int x, int y)
{
    uint32_t sum = 0;
    for (int j = -1; j <= 1; j++)
        for (int i = -1; i <= 1; i++)
            sum += scramble((uint64_t)(y + j + 8) * 100003u + (uint64_t)(x + i + 100000)) & 255;
    return (int)((sum / 9 + scramble((uint64_t)y * 7919u + (uint64_t)(x + 100000)) % 32 + 3 * (sum & 31)) %
                 256);
}

static SdmStatus make_images(SdmBench *b, int width, int height, int labels, bool wide, SdmPairImage out[2])
{
    for (int side = 0; side < 2; side++) {
        int16_t *data = NULL;
        PASS(sdm_bench_alloc(b, &data, (size_t)width * (size_t)height, sizeof *data));
#pragma omp parallel for schedule(static) num_threads(sdm_threads(b->ctx))
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                /* blocks of 64 rows, each of one disparity in the middle three quarters of the range */
                const int d = labels / 8 + (y / 64 * 5) % (labels - labels / 4);
                const int v = grain(side ? x + d : x, y);
                data[(ptrdiff_t)y * width + x] = (int16_t)(wide ? 16 * v - 2040 : v);
            }
        out[side] = (SdmPairImage){width, height, width, data, !wide, NULL};
    }
    return SDM_OK;
}

/* ---- cases ---- */

typedef struct PairCall {
    SdmGpu *gpu; /* NULL: the processor */
    SdmPairImage image[2];
    SdmPairSettings set;
    SdmOptimizer how; /* of the settings, where they have one */
    int frames;
    bool fill, own_clock;
    float *disparity;
    double device_s; /* with own_clock: seconds of the device's */
} PairCall;

static SdmStatus clock_device(SdmContext *ctx, PairCall *c)
{
    return c->own_clock ? sdm_device_seconds(ctx, c->gpu->device, c->gpu->queue, &c->device_s) : SDM_OK;
}

static SdmStatus call_pair(SdmContext *ctx, void *data)
{
    PairCall *const c = data;
    const SdmPairImage *const left = &c->image[0], *const right = &c->image[1];
    PASS(clock_device(ctx, c)); /* from here on */
    for (int i = 0; i < c->frames; i++) {
        PASS(c->gpu ? sdm_pair_match_device(ctx, c->gpu, left, right, &c->set, c->disparity)
                    : sdm_pair_match(ctx, left, right, &c->set, c->disparity));
        if (c->fill)
            PASS(sdm_pair_fill(ctx, SDM_FILL_NEAREST, left->width, left->height, c->disparity));
    }
    return clock_device(ctx, c);
}

static SdmStatus make_call(SdmBench *b, const PairCase *p, PairCall *call, SdmBenchCase *made)
{
    const int part = !b->opt->quick    ? 1
                     : p->width > 2000 ? 32
                                       : 8,
              w = p->width / part, h = p->height / part, labels = b->opt->quick ? p->labels / 4 : p->labels;
    *call = (PairCall){.set = {.cost = p->cost,
                               .window = p->window,
                               .dmax = labels - 1,
                               .census_width = 9,
                               .census_height = 7,
                               .lr_threshold = p->lr_threshold,
                               .subpixel = true,
                               .optimizer = p->how},
                       .frames = p->frames,
                       .fill = p->fill};
    *made = (SdmBenchCase){.name = p->name,
                           .published = p->published,
                           .output = "score",
                           .outputs = (double)w * h * labels * p->frames,
                           .call = call_pair};
    if (p->how)
        call->how = *p->how;
    PASS(make_images(b, w, h, labels, p->wide, call->image));
    return sdm_bench_alloc(b, &call->disparity, (size_t)w * (size_t)h, sizeof(float));
}

/* As `match` does it, by the processor at a level or (level NULL) by the device: with transfers, or the
 * kernels by its own clock. */
static SdmStatus make_case(SdmBench *b, const PairCall *call, const char *level, bool own_clock,
                           SdmBenchCase *made)
{
    PairCall *c;
    PASS(sdm_bench_alloc(b, &c, 1, sizeof *c));
    *c = *call;
    c->gpu = level ? NULL : &b->gpu;
    c->own_clock = own_clock;
    c->set.cpu_level = c->how.cpu_level = level ? level : "auto";
    if (c->set.optimizer)
        c->set.optimizer = &c->how;
    made->level = level ? level : b->device_name[own_clock];
    made->threads = level ? sdm_threads(b->ctx) : 0;
    made->data = c;
    made->clock_s = own_clock ? &c->device_s : NULL;
    return SDM_OK;
}

static SdmStatus add_pair(SdmBench *b, const PairCase *p)
{
    PairCall call;
    SdmBenchCase made;
    if (!sdm_bench_wants(b, p->name))
        return SDM_OK;
    PASS(make_call(b, p, &call, &made));
    for (int l = 0; l < b->level_count; l++)
        if (strcmp(b->levels[l], "reference") != 0 || b->opt->quick) {
            PASS(make_case(b, &call, b->levels[l], false, &made));
            PASS(sdm_bench_add(b, &made));
        }
    /* by its own clock not where the processor's part would count, or transfers between frames */
    const int kinds = !b->device ? 0 : p->fill || p->frames > 1 ? 1 : 2;
    for (int own_clock = 0; own_clock < kinds; own_clock++) {
        PASS(make_case(b, &call, NULL, own_clock, &made));
        PASS(sdm_bench_add(b, &made));
    }
    return SDM_OK;
}

SdmStatus sdm_bench_pair_kernels(SdmBench *b, SdmBenchCase *out)
{
    PairCall call;
    PASS(make_call(b, &pairs[TUNED_PAIR], &call, out));
    return make_case(b, &call, NULL, true, out);
}

SdmStatus sdm_bench_add_pairs(SdmBench *b, bool papers)
{
    for (int i = 0; i < PAIRS; i++)
        if ((pairs[i].published != NULL) == papers)
            PASS(add_pair(b, &pairs[i]));
    return SDM_OK;
}
