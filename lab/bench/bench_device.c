/* Cases of `bench` on a device. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include "gpu/choose.h"

#include <string.h>

SdmStatus sdm_bench_device_open(SdmBench *b)
{
    const char *const name = b->options->device;
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
    for (int kernels = 0; kernels < 2; kernels++)
        snprintf(b->device_name[kernels], sizeof b->device_name[kernels], "%s%s", choice.text,
                 kernels ? " kernels" : "");
    PASS(sdm_device_open(b->ctx, choice.api, choice.index, &b->device));
    return sdm_gpu_open(b->ctx, b->device, 0, &b->gpu);
}

void sdm_bench_device_close(SdmBench *b)
{
    sdm_gpu_close(&b->gpu);
    sdm_device_close(&b->device); /* with the cases' buffers */
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

SdmStatus sdm_bench_clock(SdmBench *b, SdmBenchCase *c)
{
    Clocked *clocked;
    PASS(sdm_bench_alloc(b, &clocked, 1, sizeof *clocked));
    *clocked = (Clocked){.gpu = &b->gpu, .launch = c->call, .data = c->data};
    c->level = b->device_name[1];
    c->threads = 0;
    c->call = call_clocked;
    c->data = clocked;
    c->clock_s = &clocked->device_s;
    return SDM_OK;
}
