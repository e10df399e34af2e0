/* Cases of `bench` on a device, see bench_device.h. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_device.h"

#include "gpu/choose.h"
#include "gpu/optimize_device.h"

#include <string.h>

struct SdmBenchDevice {
    SdmChoice choice;
    char kernels[48]; /* "cuda:0 kernels" */
    SdmDevice *device;
    SdmGpu gpu;
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

SdmStatus sdm_bench_clock(SdmBench *b, SdmGpu *gpu, SdmBenchCase *c)
{
    SdmStatus st = SDM_OK;
    Clocked *clocked;
    TRY(sdm_bench_alloc(b, &clocked, 1, sizeof *clocked));
    *clocked = (Clocked){.gpu = gpu, .launch = c->call, .data = c->data};
    c->level = b->device->kernels;
    c->threads = 0;
    c->call = call_clocked;
    c->data = clocked;
    c->clock_s = &clocked->device_s;
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
    TRY(sdm_bench_clock(b, c->gpu, &made));
    TRY(sdm_bench_add(b, &made));
done:
    return st;
}
