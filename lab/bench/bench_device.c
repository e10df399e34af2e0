/* Cases of `bench` on a device, see bench_device.h. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include "gpu/choose.h"

#include <string.h>

struct SdmBenchDevice {
    SdmChoice choice;
    char kernels[48]; /* "cuda:0 kernels" */
    SdmDevice *device;
    SdmGpu gpu;
};

SdmStatus sdm_bench_device_open(SdmBench *b)
{
    const char *const name = b->options->device;
    SdmBenchDevice *d = NULL;
    SdmChoice choice;
    if (strcmp(name, "auto") == 0 && !b->opt->tune)
        return SDM_OK;
    PASS(sdm_choose_device(b->ctx, name, &choice));
    if (choice.cpu && b->opt->tune)
        return sdm_fail(
            b->ctx, SDM_ERR_UNSUPPORTED,
            "bench --tune: found the processor, expected a device; give --device opencl or cuda%s%s",
            choice.why_not[0] ? "; " : "", choice.why_not);
    if (choice.cpu)
        return SDM_OK;
    PASS(sdm_bench_alloc(b, &d, 1, sizeof *d));
    d->choice = choice;
    snprintf(d->kernels, sizeof d->kernels, "%s kernels", choice.text);
    PASS(sdm_device_open(b->ctx, choice.api, choice.index, &d->device));
    b->device = d;
    return sdm_gpu_open(b->ctx, d->device, 0, &d->gpu);
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
    Clocked *const c = data;
    PASS(sdm_device_seconds(ctx, c->gpu->device, c->gpu->queue, &c->device_s)); /* from here on */
    PASS(c->launch(ctx, c->data));
    return sdm_device_seconds(ctx, c->gpu->device, c->gpu->queue, &c->device_s);
}

SdmStatus sdm_bench_clock(SdmBench *b, SdmGpu *gpu, SdmBenchCase *c)
{
    Clocked *clocked;
    PASS(sdm_bench_alloc(b, &clocked, 1, sizeof *clocked));
    *clocked = (Clocked){.gpu = gpu, .launch = c->call, .data = c->data};
    c->level = b->device->kernels;
    c->threads = 0;
    c->call = call_clocked;
    c->data = clocked;
    c->clock_s = &clocked->device_s;
    return SDM_OK;
}
