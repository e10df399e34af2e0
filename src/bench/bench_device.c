/* Cases of `bench` on a device, see bench_device.h. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_device.h"

#include "gpu/choose.h"
#include "gpu/optimize_device.h"
#include "rectified/pair_device.h"

#include <string.h>

struct SdmBenchDevice {
    SdmChoice choice;
    char kernels[48]; /* "cuda:0 kernels" */
    SdmDevice *device;
    SdmGpu gpu;
    struct Clocked *pair; /* of sdm_bench_pair_device_s() */
};

SdmStatus sdm_bench_device_open(SdmBench *b)
{
    SdmStatus st = SDM_OK;
    const char *const name = b->options->device;
    SdmBenchDevice *d = NULL;
    SdmChoice choice;
    if (strcmp(name, "auto") == 0 && !b->opt->tune)
        return SDM_OK;
    TRY(sdm_choose_device(b->ctx, name, &choice));
    if (choice.cpu && b->opt->tune)
        return sdm_fail(
            b->ctx, SDM_ERR_UNSUPPORTED,
            "bench --tune: found the processor, expected a device; give --device opencl or cuda%s%s",
            choice.why_not[0] ? "; " : "", choice.why_not);
    if (choice.cpu)
        return SDM_OK;
    TRY(sdm_bench_alloc(b, &d, 1, sizeof *d));
    d->choice = choice;
    snprintf(d->kernels, sizeof d->kernels, "%s kernels", choice.text);
    TRY(sdm_device_open(b->ctx, choice.api, choice.index, &d->device));
    b->device = d;
    TRY(sdm_gpu_open(b->ctx, d->device, 0, &d->gpu));
done:
    return st;
}

void sdm_bench_device_close(SdmBench *b)
{
    if (b->device) {
        sdm_gpu_close(&b->device->gpu);
        sdm_device_close(&b->device->device); /* with the cases' buffers */
    }
    b->device = NULL;
}

SdmGpu *sdm_bench_gpu(const SdmBench *b)
{
    return b->device ? &b->device->gpu : NULL;
}

const char *sdm_bench_device_name(const SdmBench *b, bool kernels)
{
    return !b->device ? "" : kernels ? b->device->kernels : b->device->choice.text;
}

/* ---- launches by the device's clock ---- */

typedef struct Clocked {
    SdmGpu *gpu;
    SdmStatus (*launch)(SdmContext *ctx, void *data);
    void *data;
    double device_s;
} Clocked;

static SdmStatus call_clocked(SdmContext *ctx, void *data)
{
    SdmStatus st = SDM_OK;
    Clocked *const c = data;
    TRY(sdm_device_seconds(ctx, c->gpu->device, c->gpu->queue, &c->device_s)); /* from here on */
    TRY(c->launch(ctx, c->data));
    TRY(sdm_device_seconds(ctx, c->gpu->device, c->gpu->queue, &c->device_s));
done:
    return st;
}

static SdmStatus clock_launches(SdmBench *b, SdmGpu *gpu, SdmStatus (*launch)(SdmContext *ctx, void *data),
                                void *data, Clocked **out)
{
    const SdmStatus st = sdm_bench_alloc(b, out, 1, sizeof **out);
    if (st == SDM_OK)
        **out = (Clocked){.gpu = gpu, .launch = launch, .data = data};
    return st;
}

SdmStatus sdm_bench_add_launches(SdmBench *b, const SdmBenchCase *base, SdmGpu *gpu)
{
    SdmStatus st = SDM_OK;
    Clocked *c;
    SdmBenchCase made = *base;
    TRY(clock_launches(b, gpu, base->call, base->data, &c));
    made.level = b->device->kernels;
    made.threads = 0;
    made.call = call_clocked;
    made.data = c;
    made.clock_s = &c->device_s;
    TRY(sdm_bench_add(b, &made));
done:
    return st;
}

/* ---- pairs ---- */

typedef struct PairOnDevice {
    SdmGpu *gpu;
    SdmPairSettings set;
    int frames;
    SdmGpuPair pair;
    SdmBuffer *out;
} PairOnDevice;

static SdmStatus launch_pair(SdmContext *ctx, void *data)
{
    SdmStatus st = SDM_OK;
    const PairOnDevice *const c = data;
    for (int i = 0; i < c->frames; i++)
        TRY(sdm_gpu_pair(ctx, c->gpu, &c->pair, &c->set, 0, c->pair.height, c->out));
done:
    return st;
}

/* By an optimizer; its memory is taken before the first launch, and given back. */
static SdmStatus launch_labels(SdmContext *ctx, void *data)
{
    SdmStatus st = SDM_OK;
    const PairOnDevice *const c = data;
    SdmGpuPairLabels *labels = NULL;
    TRY(sdm_gpu_pair_labels_open(ctx, c->gpu, &c->pair, &c->set, &labels));
    TRY(sdm_gpu_pair_labels(ctx, c->gpu, labels));
    TRY(sdm_finish(ctx, c->gpu->device, c->gpu->queue));
done:
    sdm_gpu_pair_labels_close(&labels);
    return st;
}

/* Copies of the images on the device; lives as long as it. */
static SdmStatus send_pair(SdmBench *b, const SdmPairImage image[2], SdmGpuPair *out)
{
    SdmStatus st = SDM_OK;
    const int64_t bytes = 2 * (int64_t)image->width * image->height;
    *out = (SdmGpuPair){.width = image->width, .height = image->height, .eight_bit = image->eight_bit};
    for (int side = 0; side < 2; side++) { /* made dense */
        TRY(sdm_buffer_new(b->ctx, b->device->device, bytes, "an image of the bench", &out->image[side]));
        TRY(sdm_upload(b->ctx, out->image[side], 0, image[side].data, bytes, 0, true));
    }
done:
    return st;
}

static SdmStatus send_all(SdmBench *b, const SdmBenchPair *p, const SdmPairImage image[2], PairOnDevice **out)
{
    SdmStatus st = SDM_OK;
    PairOnDevice *c;
    const int64_t bytes = 4 * (int64_t)image->width * image->height;
    TRY(sdm_bench_alloc(b, &c, 1, sizeof *c));
    *c = (PairOnDevice){.gpu = &b->device->gpu, .set = p->set, .frames = p->frames};
    c->set.cpu_level = "auto"; /* of the steps that the processor does */
    TRY(send_pair(b, image, &c->pair));
    TRY(sdm_buffer_new(b->ctx, b->device->device, bytes, "disparities of the bench", &c->out));
    *out = c;
done:
    return st;
}

SdmStatus sdm_bench_add_pair_launches(SdmBench *b, const SdmBenchPair *p, const SdmPairImage image[2],
                                      const SdmBenchCase *base)
{
    SdmStatus st = SDM_OK;
    PairOnDevice *c;
    SdmBenchCase made = *base;
    TRY(send_all(b, p, image, &c));
    made.need = (SdmBenchNeed){.bytes = p->set.optimizer ? 0.0 : 6.0}; /* a cost written, read twice */
    made.call = p->set.optimizer ? launch_labels : launch_pair;
    made.data = c;
    TRY(sdm_bench_add_launches(b, &made, c->gpu));
done:
    return st;
}

SdmStatus sdm_bench_pair_device_s(SdmBench *b, double *seconds)
{
    SdmStatus st = SDM_OK;
    const int part = b->opt->quick ? 8 : 1, depth = 64 / part;
    const SdmBenchPair p = {.frames = 1, .set = {.cost = SDM_PAIR_ZNCC, .window = 9, .dmax = depth - 1,
                                                 .lr_threshold = 8.0f, .subpixel = true}};
    SdmPairImage image[2];
    PairOnDevice *c;
    if (!b->device->pair) {
        TRY(sdm_synthetic_pair(b, 735 / part, 504 / part, depth, true, image));
        TRY(send_all(b, &p, image, &c));
        TRY(clock_launches(b, c->gpu, launch_pair, c, &b->device->pair));
    }
    TRY(call_clocked(b->ctx, b->device->pair));
    *seconds = b->device->pair->device_s;
done:
    return st;
}

/* ---- belief propagation ---- */

typedef struct BpOnDevice {
    SdmGpu *gpu;
    SdmGpuVolume volume;
    SdmOptimizer how;
    SdmBuffer *label;
} BpOnDevice;

static SdmStatus launch_bp(SdmContext *ctx, void *data)
{
    const BpOnDevice *const c = data;
    const SdmGpuBand all = {.end = c->volume.rows, .bottom = c->volume.rows};
    return sdm_gpu_optimize(ctx, c->gpu, &c->how, &c->volume, &all, 1, &(SdmGpuLabels){.left = c->label});
}

SdmStatus sdm_bench_add_bp_device(SdmBench *b, const SdmBenchCase *base, const SdmBpField *f,
                                  const SdmBpPlan *plan)
{
    SdmStatus st = SDM_OK;
    BpOnDevice *c;
    SdmBenchCase made = *base;
    const int64_t pixels = (int64_t)f->width * f->height;
    if (!b->device)
        return SDM_OK;
    TRY(sdm_bench_alloc(b, &c, 1, sizeof *c));
    *c = (BpOnDevice){
        .gpu = &b->device->gpu,
        .volume = {.width = f->width, .rows = f->height, .labels = f->labels, .most = SDM_COST_MAX},
        .how = {.kind = SDM_OPTIMIZER_BP, .bp = *plan, .weight = f->weight, .truncation = f->truncation}};
    TRY(sdm_buffer_new(b->ctx, b->device->device, pixels * f->pitch, "costs of the bench", &c->volume.cost));
    TRY(sdm_buffer_new(b->ctx, b->device->device, pixels * 2, "labels of the bench", &c->label));
    TRY(sdm_upload(b->ctx, c->volume.cost, 0, f->data, pixels * f->pitch, 0, true)); /* of 16: as they are */
    made.call = launch_bp;
    made.data = c;
    TRY(sdm_bench_add_launches(b, &made, c->gpu));
done:
    return st;
}
