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
    struct DeviceCall *pair; /* of sdm_bench_pair_device_s() */
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

SdmDevice *sdm_bench_device(const SdmBench *b)
{
    return b->device ? b->device->device : NULL;
}

const char *sdm_bench_device_name(const SdmBench *b, bool kernels)
{
    return !b->device ? "" : kernels ? b->device->kernels : b->device->choice.text;
}

/* ---- pairs ---- */

typedef struct DeviceCall {
    SdmGpu *gpu;
    SdmPairImage image[2];
    SdmPairSettings set;
    int frames;
    bool fill;
    float *disparity;
    SdmGpuPair pair;      /* the same on the device */
    SdmBuffer *out, *row; /* row: of the filling */
    SdmGpuPairLabels *labels; /* with an optimizer; open during a call */
    double device_s;
} DeviceCall;

static SdmStatus call_match(SdmContext *ctx, void *data)
{
    SdmStatus st = SDM_OK;
    const DeviceCall *const c = data;
    for (int i = 0; i < c->frames; i++) {
        TRY(sdm_pair_match_device(ctx, c->gpu, &c->image[0], &c->image[1], &c->set, c->disparity));
        if (c->fill)
            TRY(sdm_pair_fill(ctx, SDM_FILL_NEAREST, c->image[0].width, c->image[0].height, c->disparity));
    }
done:
    return st;
}

static SdmStatus call_kernels(SdmContext *ctx, void *data)
{
    SdmStatus st = SDM_OK;
    DeviceCall *const c = data;
    TRY(sdm_device_seconds(ctx, c->gpu->device, c->gpu->queue, &c->device_s)); /* from here on */
    for (int i = 0; i < c->frames; i++) {
        TRY(sdm_gpu_pair(ctx, c->gpu, &c->pair, &c->set, 0, c->pair.height, c->out));
        if (c->fill)
            TRY(sdm_gpu_pair_fill(ctx, c->gpu, c->pair.width, c->pair.height, c->out, c->row));
    }
    TRY(sdm_device_seconds(ctx, c->gpu->device, c->gpu->queue, &c->device_s));
done:
    return st;
}

/* The kernels of an optimizer; memory is taken before they begin, and given back. */
static SdmStatus call_labels(SdmContext *ctx, void *data)
{
    SdmStatus st = SDM_OK;
    DeviceCall *const c = data;
    TRY(sdm_gpu_pair_labels_open(ctx, c->gpu, &c->pair, &c->set, &c->labels));
    TRY(sdm_device_seconds(ctx, c->gpu->device, c->gpu->queue, &c->device_s)); /* from here on */
    TRY(sdm_gpu_pair_labels(ctx, c->gpu, c->labels));
    TRY(sdm_device_seconds(ctx, c->gpu->device, c->gpu->queue, &c->device_s));
done:
    sdm_gpu_pair_labels_close(&c->labels);
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

static SdmStatus add_case(SdmBench *b, const SdmBenchPair *p, const char *level,
                          SdmStatus (*call)(SdmContext *ctx, void *data), DeviceCall *data)
{
    SdmBenchCase made = p->base;
    made.level = level;
    made.threads = 0;
    made.output = "score";
    made.need = (SdmBenchNeed){.bytes = call == call_kernels ? 6.0 : 0.0}; /* a cost written, read twice */
    made.outputs = (double)p->width * p->height * (p->set.dmax - p->set.dmin + 1) * p->frames;
    made.call = call;
    made.data = data;
    made.clock_s = call == call_match ? NULL : &data->device_s;
    return sdm_bench_add(b, &made);
}

SdmStatus sdm_bench_add_pair_device(SdmBench *b, const SdmBenchPair *p, const SdmPairImage image[2],
                                    float *disparity)
{
    SdmStatus st = SDM_OK;
    DeviceCall *c = NULL;
    const int64_t bytes = 4 * (int64_t)p->width * p->height;
    if (!b->device)
        return SDM_OK;
    TRY(sdm_bench_alloc(b, &c, 1, sizeof *c));
    *c = (DeviceCall){.gpu = &b->device->gpu,
                      .image = {image[0], image[1]},
                      .set = p->set,
                      .frames = p->frames,
                      .fill = p->fill,
                      .disparity = disparity};
    c->set.cpu_level = "auto"; /* of the steps that the processor does */
    TRY(send_pair(b, image, &c->pair));
    TRY(sdm_buffer_new(b->ctx, b->device->device, bytes, "disparities of the bench", &c->out));
    TRY(sdm_buffer_new(b->ctx, b->device->device, bytes, "rows of the bench", &c->row));
    TRY(add_case(b, p, b->device->choice.text, call_match, c));
    TRY(add_case(b, p, b->device->kernels, p->set.optimizer ? call_labels : call_kernels, c));
done:
    return st;
}

SdmStatus sdm_bench_pair_device_s(SdmBench *b, double *seconds)
{
    SdmStatus st = SDM_OK;
    const int part = b->opt->quick ? 8 : 1, w = 735 / part, h = 504 / part, depth = 64 / part;
    DeviceCall *c = b->device->pair;
    SdmPairImage image[2];
    if (!c) {
        TRY(sdm_synthetic_pair(b, w, h, depth, true, image));
        TRY(sdm_bench_alloc(b, &c, 1, sizeof *c));
        *c = (DeviceCall){.gpu = &b->device->gpu,
                          .set = {.cost = SDM_PAIR_ZNCC,
                                  .window = 9,
                                  .dmax = depth - 1,
                                  .lr_threshold = 8.0f,
                                  .subpixel = true},
                          .frames = 1};
        TRY(send_pair(b, image, &c->pair));
        TRY(sdm_buffer_new(b->ctx, b->device->device, 4 * (int64_t)w * h, "disparities of the bench",
                           &c->out));
        b->device->pair = c;
    }
    TRY(call_kernels(b->ctx, c));
    *seconds = c->device_s;
done:
    return st;
}

/* ---- belief propagation ---- */

typedef struct BpCall {
    SdmGpu *gpu;
    SdmGpuVolume volume;
    SdmOptimizer how;
    SdmBuffer *label;
    double device_s;
} BpCall;

static SdmStatus call_bp(SdmContext *ctx, void *data)
{
    SdmStatus st = SDM_OK;
    BpCall *const c = data;
    const SdmGpuBand all = {.end = c->volume.rows, .bottom = c->volume.rows};
    TRY(sdm_device_seconds(ctx, c->gpu->device, c->gpu->queue, &c->device_s)); /* from here on */
    TRY(sdm_gpu_optimize(ctx, c->gpu, &c->how, &c->volume, &all, 1, &(SdmGpuLabels){.left = c->label}));
    TRY(sdm_device_seconds(ctx, c->gpu->device, c->gpu->queue, &c->device_s));
done:
    return st;
}

SdmStatus sdm_bench_add_bp_device(SdmBench *b, const SdmBenchCase *base, const SdmBpField *f,
                                  const SdmBpPlan *plan)
{
    SdmStatus st = SDM_OK;
    BpCall *c = NULL;
    SdmBenchCase made = *base;
    const int64_t pixels = (int64_t)f->width * f->height;
    if (!b->device)
        return SDM_OK;
    TRY(sdm_bench_alloc(b, &c, 1, sizeof *c));
    *c = (BpCall){
        .gpu = &b->device->gpu,
        .volume = {.width = f->width, .rows = f->height, .labels = f->labels, .most = SDM_COST_MAX},
        .how = {.kind = SDM_OPTIMIZER_BP, .bp = *plan, .weight = f->weight, .truncation = f->truncation}};
    TRY(sdm_buffer_new(b->ctx, b->device->device, pixels * f->pitch, "costs of the bench", &c->volume.cost));
    TRY(sdm_buffer_new(b->ctx, b->device->device, pixels * 2, "labels of the bench", &c->label));
    TRY(sdm_upload(b->ctx, c->volume.cost, 0, f->data, pixels * f->pitch, 0, true)); /* of 16: as they are */
    made.level = b->device->kernels;
    made.threads = 0;
    made.call = call_bp;
    made.data = c;
    made.clock_s = &c->device_s;
    TRY(sdm_bench_add(b, &made));
done:
    return st;
}

/* ---- the forms of SAD ---- */

typedef struct FormCall {
    SdmGpu *gpu;
    enum SdmSadForm form;
    int width, height, depth, group;
    SdmBuffer *padded[2], *out;
    double device_s;
} FormCall;

enum { FORM_ROWS = 16 };

static SdmStatus call_form(SdmContext *ctx, void *data)
{
    SdmStatus st = SDM_OK;
    FormCall *const c = data;
    TRY(sdm_device_seconds(ctx, c->gpu->device, c->gpu->queue, &c->device_s)); /* from here on */
    TRY(sdm_gpu_sad(ctx, c->gpu, c->form, c->width, c->height, c->padded, 0, c->depth, c->group, FORM_ROWS,
                    c->out));
    TRY(sdm_device_seconds(ctx, c->gpu->device, c->gpu->queue, &c->device_s));
done:
    return st;
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
            FormCall *c = NULL;
            TRY(sdm_bench_alloc(b, &c, 1, sizeof *c));
            *c = (FormCall){.gpu = &b->device->gpu,
                            .form = (enum SdmSadForm)form,
                            .width = width,
                            .height = height,
                            .depth = depth,
                            .group = 32 << i,
                            .padded = {padded[0], padded[1]},
                            .out = out};
            TRY(sdm_bench_add(
                b, &(SdmBenchCase){.name = names[i],
                                   .level = forms[form],
                                   .output = "score",
                                   .outputs = (double)width * height * depth,
                                   .published = i == 4 ? "groups of 512: 18.03, 18.01, 4.88 ms, GeForce 940M"
                                                       : "figure 8 of the paper",
                                   .call = call_form,
                                   .data = c,
                                   .clock_s = &c->device_s}));
        }
done:
    return st;
}
