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
    made.level = base->level ? base->level : b->device->kernels;
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
    bool fill;
    SdmGpuPair pair;
    SdmBuffer *out, *row; /* row: of the filling */
} PairOnDevice;

static SdmStatus launch_pair(SdmContext *ctx, void *data)
{
    SdmStatus st = SDM_OK;
    const PairOnDevice *const c = data;
    for (int i = 0; i < c->frames; i++) {
        TRY(sdm_gpu_pair(ctx, c->gpu, &c->pair, &c->set, 0, c->pair.height, c->out));
        if (c->fill)
            TRY(sdm_gpu_pair_fill(ctx, c->gpu, c->pair.width, c->pair.height, c->out, c->row));
    }
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
    *c = (PairOnDevice){.gpu = &b->device->gpu, .set = p->set, .frames = p->frames, .fill = p->fill};
    c->set.cpu_level = "auto"; /* of the steps that the processor does */
    TRY(send_pair(b, image, &c->pair));
    TRY(sdm_buffer_new(b->ctx, b->device->device, bytes, "disparities of the bench", &c->out));
    TRY(sdm_buffer_new(b->ctx, b->device->device, bytes, "rows of the bench", &c->row));
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
    made.level = NULL;
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
    made.level = NULL;
    made.call = launch_bp;
    made.data = c;
    TRY(sdm_bench_add_launches(b, &made, c->gpu));
done:
    return st;
}

/* ---- the forms of SAD ---- */

typedef struct FormOnDevice {
    SdmGpu *gpu;
    enum SdmSadForm form;
    int width, height, depth, group;
    SdmBuffer *padded[2], *out;
} FormOnDevice;

enum { FORM_ROWS = 16 };

static SdmStatus launch_form(SdmContext *ctx, void *data)
{
    FormOnDevice *const c = data;
    return sdm_gpu_sad(ctx, c->gpu, c->form, c->width, c->height, c->padded, 0, c->depth, c->group, FORM_ROWS,
                       c->out);
}

SdmStatus sdm_bench_add_sad_forms(SdmBench *b, int width, int height, int depth)
{
    static const char *const forms[SDM_SAD_FORMS] = {"global", "central", "spread"};
    static const char *const names[] = {
        "SAD 5x5 paper's forms, groups of 32", "SAD 5x5 paper's forms, groups of 64",
        "SAD 5x5 paper's forms, groups of 128", "SAD 5x5 paper's forms, groups of 256",
        "SAD 5x5 paper's forms, groups of 512"};
    SdmStatus st = SDM_OK;
    SdmPairImage image[2];
    SdmGpuPair pair;
    SdmBuffer *padded[2], *out;
    if (!b->device)
        return SDM_OK;
    TRY(sdm_synthetic_pair(b, width, height, depth, true, image));
    TRY(send_pair(b, image, &pair));
    for (int side = 0; side < 2; side++)
        TRY(sdm_buffer_new(b->ctx, b->device->device, (int64_t)(width + 4) * (height + 4),
                           "an image of the bench", &padded[side]));
    TRY(sdm_buffer_new(b->ctx, b->device->device, 4 * (int64_t)width * height, "disparities of the bench",
                       &out));
    TRY(sdm_gpu_sad_pad(b->ctx, &b->device->gpu, &pair, padded));
    for (int i = 0; i < 5; i++)
        for (int form = 0; form < SDM_SAD_FORMS; form++) {
            FormOnDevice *c;
            TRY(sdm_bench_alloc(b, &c, 1, sizeof *c));
            *c = (FormOnDevice){.gpu = &b->device->gpu,
                            .form = (enum SdmSadForm)form,
                            .width = width,
                            .height = height,
                            .depth = depth,
                            .group = 32 << i,
                            .padded = {padded[0], padded[1]},
                            .out = out};
            TRY(sdm_bench_add_launches(
                b,
                &(SdmBenchCase){.name = names[i],
                                .level = forms[form],
                                .output = "score",
                                .outputs = (double)width * height * depth,
                                .published = i == 4 ? "groups of 512: 18.03, 18.01, 4.88 ms, GeForce 940M"
                                                    : "figure 8 of the paper",
                                .call = launch_form,
                                .data = c},
                c->gpu));
        }
done:
    return st;
}
