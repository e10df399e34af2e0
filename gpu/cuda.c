/* The CUDA back end: buffers, copies and launches in two streams, kernels from the embedded fatbin. */
// SPDX-License-Identifier: Apache-2.0
#include "cuda.h"

#include <string.h>

typedef struct Cu { /* SdmDevice.inside */
    SdmCuApi api;
    CuDevice device;
    CuHandle context, module, stream[SDM_QUEUES];
    struct { /* events around the launches */
        CuHandle first[SDM_STRETCHES], last[SDM_STRETCHES];
        int stretch;   /* the one that is open, or would be next */
        bool launched; /* it is open */
    } clock[SDM_QUEUES];
    int kernel_count;
    struct {
        char name[64];
        CuHandle kernel;
    } kernel[SDM_MOST_KERNELS];
} Cu;

static Cu *inside(const SdmDevice *d)
{
    return d->inside;
}

/* A failure of the driver as a sentence; `what` was asked for. */
static SdmStatus check(SdmContext *ctx, const SdmDevice *d, CuResult code, const char *what)
{
    return code == CUDA_SUCCESS
               ? SDM_OK
               : sdm_fail(ctx, code == CUDA_ERROR_OUT_OF_MEMORY ? SDM_ERR_MEMORY : SDM_ERR_DEVICE,
                          "%s: %s: %s (CUDA error %d)", d->info.name, what,
                          sdm_cu_error(&inside(d)->api, code), (int)code);
}

/* The calling thread works on this device until leave(): a program around us may have a device of its own in
 * hand. */
static SdmStatus enter(SdmContext *ctx, const SdmDevice *d)
{
    return check(ctx, d, inside(d)->api.CtxPushCurrent(inside(d)->context), "its context");
}

static void leave(const SdmDevice *d)
{
    CuHandle context = NULL;
    (void)inside(d)->api.CtxPopCurrent(&context);
}

static void close_device(SdmDevice *d)
{
    Cu *const cu = inside(d);
    if (!cu)
        return;
    const bool entered = cu->context && enter(NULL, d) == SDM_OK;
    for (int i = 0; i < SDM_QUEUES; i++) {
        if (cu->stream[i]) {
            cu->api.StreamSynchronize(cu->stream[i]);
            cu->api.StreamDestroy(cu->stream[i]);
        }
        for (int k = 0; k < SDM_STRETCHES; k++) {
            if (cu->clock[i].first[k])
                cu->api.EventDestroy(cu->clock[i].first[k]);
            if (cu->clock[i].last[k])
                cu->api.EventDestroy(cu->clock[i].last[k]);
        }
    }
    if (cu->module)
        cu->api.ModuleUnload(cu->module);
    if (entered)
        leave(d);
    if (cu->context)
        cu->api.DevicePrimaryCtxRelease(cu->device);
    sdm_free(&d->inside);
}

/* Kernels, queues and clocks, in the context. */
static SdmStatus make_queues(SdmContext *ctx, SdmDevice *d)
{
    SdmStatus st = SDM_OK;
    Cu *const cu = inside(d);
    TRY(check(ctx, d, cu->api.ModuleLoadData(&cu->module, sdm_kernels_fatbin), "the kernels"));
    for (int i = 0; i < SDM_QUEUES; i++) {
        TRY(check(ctx, d, cu->api.StreamCreate(&cu->stream[i], CU_STREAM_NON_BLOCKING), "a queue"));
        for (int k = 0; k < SDM_STRETCHES; k++) {
            TRY(check(ctx, d, cu->api.EventCreate(&cu->clock[i].first[k], 0), "its clock"));
            TRY(check(ctx, d, cu->api.EventCreate(&cu->clock[i].last[k], 0), "its clock"));
        }
    }
done:
    return st;
}

static SdmStatus open_device(SdmContext *ctx, SdmDevice *d)
{
    SdmStatus st = SDM_OK;
    Cu *cu = NULL;
    TRY(sdm_alloc(ctx, &d->inside, 1, sizeof *cu, "a device"));
    cu = inside(d);
    const char *const why = sdm_cu_load(&cu->api);
    if (why) {
        st = sdm_fail(ctx, SDM_ERR_UNSUPPORTED, "--device cuda: %s", why);
        goto done;
    }
    TRY(check(ctx, d, cu->api.Init(0), "the driver"));
    TRY(check(ctx, d, cu->api.DeviceGet(&cu->device, d->info.index), "the device"));
    TRY(check(ctx, d, cu->api.DevicePrimaryCtxRetain(&cu->context, cu->device), "a context"));
    TRY(enter(ctx, d));
    st = make_queues(ctx, d);
    leave(d);
done:
    if (st != SDM_OK)
        close_device(d);
    return st;
}

static CuPointer address(const SdmBuffer *b)
{
    return (CuPointer)(uintptr_t)b->handle;
}

static SdmStatus take(SdmContext *ctx, SdmBuffer *b, const char *what)
{
    CuPointer p = 0;
    SdmStatus st = enter(ctx, b->device);
    if (st != SDM_OK)
        return st;
    st = check(ctx, b->device, inside(b->device)->api.MemAlloc(&p, (size_t)b->bytes), what);
    leave(b->device);
    b->handle = (void *)(uintptr_t)p;
    return st;
}

static void give(SdmBuffer *b)
{
    if (enter(NULL, b->device) != SDM_OK)
        return;
    inside(b->device)->api.MemFree(address(b)); /* waits for what uses it */
    leave(b->device);
}

static int64_t left(SdmDevice *d)
{
    size_t bytes = 0, all = 0;
    if (enter(NULL, d) != SDM_OK)
        return -1;
    const CuResult code = inside(d)->api.MemGetInfo(&bytes, &all);
    leave(d);
    return code == CUDA_SUCCESS ? (int64_t)bytes : -1;
}

static SdmStatus finish(SdmContext *ctx, SdmDevice *d, int queue)
{
    SdmStatus st = SDM_OK;
    st = enter(ctx, d);
    if (st != SDM_OK)
        return st;
    TRY(check(ctx, d, inside(d)->api.StreamSynchronize(inside(d)->stream[queue]), "its queue"));
done:
    leave(d);
    return st;
}

static SdmStatus upload(SdmContext *ctx, SdmBuffer *to, int64_t offset, const void *from, int64_t bytes,
                        int queue, bool wait)
{
    SdmStatus st = SDM_OK;
    SdmDevice *const d = to->device;
    st = enter(ctx, d);
    if (st != SDM_OK)
        return st;
    TRY(check(ctx, d,
              inside(d)->api.MemcpyHtoDAsync(address(to) + (CuPointer)offset, from, (size_t)bytes,
                                             inside(d)->stream[queue]),
              "a copy to the device"));
    if (wait)
        TRY(finish(ctx, d, queue));
done:
    leave(d);
    return st;
}

static SdmStatus download(SdmContext *ctx, const SdmBuffer *from, int64_t offset, void *to, int64_t bytes,
                          int queue, bool wait)
{
    SdmStatus st = SDM_OK;
    SdmDevice *const d = from->device;
    st = enter(ctx, d);
    if (st != SDM_OK)
        return st;
    TRY(check(ctx, d,
              inside(d)->api.MemcpyDtoHAsync(to, address(from) + (CuPointer)offset, (size_t)bytes,
                                             inside(d)->stream[queue]),
              "a copy from the device"));
    if (wait)
        TRY(finish(ctx, d, queue));
done:
    leave(d);
    return st;
}

static SdmStatus fill(SdmContext *ctx, SdmBuffer *to, int64_t offset, uint8_t value, int64_t bytes, int queue)
{
    SdmStatus st = SDM_OK;
    const SdmDevice *const d = to->device;
    st = enter(ctx, d);
    if (st != SDM_OK)
        return st;
    TRY(check(ctx, d,
              inside(d)->api.MemsetD8Async(address(to) + (CuPointer)offset, value, (size_t)bytes,
                                           inside(d)->stream[queue]),
              "filling memory"));
done:
    leave(d);
    return st;
}

static SdmStatus find_kernel(SdmContext *ctx, SdmDevice *d, const char *name, CuHandle *out)
{
    Cu *const cu = inside(d);
    for (int i = 0; i < cu->kernel_count; i++)
        if (strcmp(cu->kernel[i].name, name) == 0) {
            *out = cu->kernel[i].kernel;
            return SDM_OK;
        }
    if (cu->kernel_count == SDM_MOST_KERNELS || strlen(name) >= sizeof cu->kernel[0].name)
        return sdm_fail(ctx, SDM_ERR_DEVICE, "%s: kernel %s is one too many", d->info.name, name);
    const SdmStatus st = check(ctx, d, cu->api.ModuleGetFunction(out, cu->module, name), name);
    if (st != SDM_OK)
        return st;
    snprintf(cu->kernel[cu->kernel_count].name, sizeof cu->kernel[0].name, "%s", name);
    cu->kernel[cu->kernel_count++].kernel = *out;
    return SDM_OK;
}

/* Where the value of an argument lies; of a buffer its address, kept in *slot. */
static void *argument(const SdmArg *a, CuPointer *slot)
{
    *slot = a->kind == SDM_ARG_BUFFER && a->buffer ? address(a->buffer) : 0;
    return a->kind == SDM_ARG_INT     ? (void *)(uintptr_t)&a->i
           : a->kind == SDM_ARG_LONG  ? (void *)(uintptr_t)&a->l
           : a->kind == SDM_ARG_FLOAT ? (void *)(uintptr_t)&a->f
                                      : (void *)slot;
}

static SdmStatus start_clock(SdmContext *ctx, SdmDevice *d, int queue)
{
    Cu *const cu = inside(d);
    if (cu->clock[queue].launched)
        return SDM_OK;
    cu->clock[queue].launched = true;
    return check(ctx, d,
                 cu->api.EventRecord(cu->clock[queue].first[cu->clock[queue].stretch], cu->stream[queue]),
                 "its clock");
}

static SdmStatus launch(SdmContext *ctx, SdmDevice *d, int queue, const SdmLaunch *l)
{
    SdmStatus st = SDM_OK;
    Cu *const cu = inside(d);
    CuHandle kernel = NULL;
    CuPointer slot[SDM_MOST_ARGS];
    void *value[SDM_MOST_ARGS];
    for (int i = 0; i < l->arg_count; i++)
        value[i] = argument(&l->args[i], &slot[i]);
    st = enter(ctx, d);
    if (st != SDM_OK)
        return st;
    TRY(find_kernel(ctx, d, l->name, &kernel));
    TRY(start_clock(ctx, d, queue));
    TRY(check(ctx, d,
              cu->api.LaunchKernel(kernel, (unsigned)l->groups[0], (unsigned)l->groups[1],
                                   (unsigned)l->groups[2], (unsigned)l->group[0], (unsigned)l->group[1],
                                   (unsigned)l->group[2], 0, cu->stream[queue], value, NULL),
              l->name));
done:
    leave(d);
    return st;
}

/* The open stretch ends with what was launched last. */
static SdmStatus stop_clock(SdmContext *ctx, SdmDevice *d, int queue)
{
    Cu *const cu = inside(d);
    SdmStatus st = SDM_OK;
    if (!cu->clock[queue].launched)
        return SDM_OK;
    st = enter(ctx, d);
    if (st != SDM_OK)
        return st;
    TRY(check(ctx, d, cu->api.EventRecord(cu->clock[queue].last[cu->clock[queue].stretch], cu->stream[queue]),
              "its clock"));
    cu->clock[queue].launched = false;
    cu->clock[queue].stretch++;
done:
    leave(d);
    return st;
}

static SdmStatus pause_clock(SdmContext *ctx, SdmDevice *d, int queue)
{
    return inside(d)->clock[queue].stretch + 1 < SDM_STRETCHES ? stop_clock(ctx, d, queue) : SDM_OK;
}

static SdmStatus seconds(SdmContext *ctx, SdmDevice *d, int queue, double *out)
{
    SdmStatus st = SDM_OK;
    Cu *const cu = inside(d);
    *out = 0.0;
    st = enter(ctx, d);
    if (st != SDM_OK)
        return st;
    TRY(stop_clock(ctx, d, queue));
    for (int i = 0; i < cu->clock[queue].stretch; i++) {
        const CuHandle first = cu->clock[queue].first[i], last = cu->clock[queue].last[i];
        float ms = 0.0f;
        TRY(check(ctx, d, cu->api.EventSynchronize(last), "its queue"));
        TRY(check(ctx, d, cu->api.EventElapsedTime(&ms, first, last), "its clock"));
        *out += 1e-3 * (double)ms;
    }
done:
    leave(d);
    cu->clock[queue].stretch = 0;
    cu->clock[queue].launched = false;
    return st;
}

/* ---- page-locked memory: see staging.h ---- */

static SdmStatus lock(SdmDevice *d, int64_t bytes, SdmStaging *s)
{
    void *block = NULL;
    SdmStatus st = enter(NULL, d);
    if (st != SDM_OK)
        return st;
    st = check(NULL, d, inside(d)->api.MemHostAlloc(&block, (size_t)bytes, 0), "");
    leave(d);
    if (st == SDM_OK)
        s->data = block;
    return st;
}

static void unlock(SdmDevice *d, SdmStaging *s)
{
    if (enter(NULL, d) != SDM_OK)
        return;
    inside(d)->api.MemFreeHost(s->data);
    leave(d);
}

static SdmStatus mark(SdmContext *ctx, SdmDevice *d, int queue, void **out)
{
    SdmStatus st = SDM_OK;
    Cu *const cu = inside(d);
    CuHandle event = *out;
    st = enter(ctx, d);
    if (st != SDM_OK)
        return st;
    if (!event)
        TRY(check(ctx, d, cu->api.EventCreate(&event, CU_EVENT_DISABLE_TIMING), "an event"));
    *out = event;
    TRY(check(ctx, d, cu->api.EventRecord(event, cu->stream[queue]), "an event"));
done:
    leave(d);
    return st;
}

static SdmStatus await(SdmContext *ctx, SdmDevice *d, void *event)
{
    SdmStatus st = SDM_OK;
    st = enter(ctx, d);
    if (st != SDM_OK)
        return st;
    TRY(check(ctx, d, inside(d)->api.EventSynchronize(event), "a copy"));
done:
    leave(d);
    return st;
}

static void forget(SdmDevice *d, void *event)
{
    if (enter(NULL, d) != SDM_OK)
        return;
    inside(d)->api.EventDestroy(event);
    leave(d);
}

const SdmBackEnd sdm_cuda = {.list = sdm_cu_list,
                             .open = open_device,
                             .close = close_device,
                             .take = take,
                             .give = give,
                             .left = left,
                             .upload = upload,
                             .download = download,
                             .fill = fill,
                             .launch = launch,
                             .finish = finish,
                             .pause = pause_clock,
                             .seconds = seconds,
                             .lock = lock,
                             .unlock = unlock,
                             .mark = mark,
                             .await = await,
                             .forget = forget};
