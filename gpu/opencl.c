/* The OpenCL back end: buffers, copies and launches in two in-order queues of the device's context. */
// SPDX-License-Identifier: Apache-2.0
#include "opencl.h"

#include <string.h>

static SdmCl *inside(const SdmDevice *d)
{
    return d->inside;
}

/* A failure of the driver as a sentence; `what` was asked for. */
static SdmStatus check(SdmContext *ctx, const SdmDevice *d, int32_t code, const char *what)
{
    const bool memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY ||
                        code == CL_INVALID_BUFFER_SIZE;
    if (code == CL_OK)
        return SDM_OK;
    if (!memory && inside(d)->shared)
        atomic_store(&inside(d)->shared->lost, true);
    return sdm_fail(ctx, memory ? SDM_ERR_MEMORY : SDM_ERR_DEVICE, "%s: %s: %s (OpenCL error %d)",
                    d->info.name, what, sdm_cl_error(code), (int)code);
}

static void forget_events(SdmCl *cl, int queue)
{
    for (int i = 0; i < SDM_STRETCHES; i++) {
        ClHandle *const first = &cl->clock[queue].first[i], *const last = &cl->clock[queue].last[i];
        if (*first)
            cl->api.ReleaseEvent(*first);
        if (*last)
            cl->api.ReleaseEvent(*last);
        *first = *last = NULL;
    }
    cl->clock[queue].stretch = 0;
}

static void close_device(SdmDevice *d)
{
    SdmCl *const cl = inside(d);
    if (!cl)
        return;
    for (int i = 0; i < SDM_QUEUES; i++) {
        if (cl->queue[i])
            cl->api.Finish(cl->queue[i]);
        forget_events(cl, i);
    }
    for (int i = 0; i < cl->kernel_count; i++)
        cl->api.ReleaseKernel(cl->kernel[i].kernel);
    for (int i = 0; i < SDM_QUEUES; i++)
        if (cl->queue[i])
            cl->api.ReleaseCommandQueue(cl->queue[i]);
    sdm_cl_leave(cl->shared);
    sdm_free(&d->inside);
}

static SdmStatus open_device(SdmContext *ctx, SdmDevice *d)
{
    SdmStatus st = SDM_OK;
    SdmCl *cl = NULL;
    int32_t code = CL_OK;
    TRY(sdm_alloc(ctx, &d->inside, 1, sizeof *cl, "a device"));
    cl = inside(d);
    st = sdm_cl_join(ctx, &d->info, &cl->shared, &code);
    TRY(check(ctx, d, code, "a context"));
    TRY(st);
    cl->api = cl->shared->api;
    cl->device = cl->shared->device;
    cl->context = cl->shared->context;
    for (int i = 0; i < SDM_QUEUES; i++) {
        cl->queue[i] = cl->api.CreateCommandQueue(cl->context, cl->device, CL_QUEUE_PROFILING_ENABLE, &code);
        TRY(check(ctx, d, code, "a queue"));
    }
done:
    if (st != SDM_OK)
        close_device(d);
    return st;
}

static SdmStatus take(SdmContext *ctx, SdmBuffer *b, const char *what)
{
    SdmCl *const cl = inside(b->device);
    int32_t code = CL_OK;
    b->handle = cl->api.CreateBuffer(cl->context, CL_MEM_READ_WRITE, (size_t)b->bytes, NULL, &code);
    return check(ctx, b->device, code, what);
}

static void give(SdmBuffer *b)
{
    inside(b->device)->api.ReleaseMemObject(b->handle); /* the runtime waits for what uses it */
}

static SdmStatus upload(SdmContext *ctx, SdmBuffer *to, int64_t offset, const void *from, int64_t bytes,
                        int queue, bool wait)
{
    const SdmCl *const cl = inside(to->device);
    for (int i = 0; i < SDM_QUEUES && wait; i++) /* what is queued shall run meanwhile */
        (void)cl->api.Flush(cl->queue[i]);
    return check(ctx, to->device,
                 cl->api.EnqueueWriteBuffer(cl->queue[queue], to->handle, wait, (size_t)offset, (size_t)bytes,
                                            from, 0, NULL, NULL),
                 "a copy to the device");
}

static SdmStatus download(SdmContext *ctx, const SdmBuffer *from, int64_t offset, void *to, int64_t bytes,
                          int queue, bool wait)
{
    const SdmCl *const cl = inside(from->device);
    return check(ctx, from->device,
                 cl->api.EnqueueReadBuffer(cl->queue[queue], from->handle, wait, (size_t)offset,
                                           (size_t)bytes, to, 0, NULL, NULL),
                 "a copy from the device");
}

static SdmStatus fill(SdmContext *ctx, SdmBuffer *to, int64_t offset, uint8_t value, int64_t bytes, int queue)
{
    const SdmCl *const cl = inside(to->device);
    return check(ctx, to->device,
                 cl->api.EnqueueFillBuffer(cl->queue[queue], to->handle, &value, 1, (size_t)offset,
                                           (size_t)bytes, 0, NULL, NULL),
                 "filling memory");
}

/* Work items that a group of a kernel can have: fewer than the device's most where it takes many registers.
 * 0: the kernel has a size of its own, or the driver does not say. */
static size_t most_items(const SdmCl *cl, ClHandle kernel)
{
    size_t own[3] = {0, 0, 0}, most = 0;
    if (cl->api.GetKernelWorkGroupInfo(kernel, cl->device, CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof own, own,
                                       NULL) != CL_OK ||
        own[0] > 0 ||
        cl->api.GetKernelWorkGroupInfo(kernel, cl->device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most,
                                       NULL) != CL_OK)
        return 0;
    return most;
}

/* Halve groups that are too large, rows of items before columns, and launch twice as many. */
static void fit_groups(size_t most, size_t size[3], size_t count[3])
{
    while (most > 0 && size[0] * size[1] * size[2] > most) {
        const int k = size[2] > 1 ? 2 : size[1] > 1 ? 1 : 0;
        const size_t items = size[k] * count[k];
        size[k] = (size[k] + 1) / 2;
        count[k] = (items + size[k] - 1) / size[k];
    }
}

static SdmStatus find_kernel(SdmContext *ctx, SdmDevice *d, const char *name, int *out)
{
    SdmStatus st = SDM_OK;
    SdmCl *const cl = inside(d);
    ClHandle program = NULL;
    int32_t code = CL_OK;
    for (int i = 0; i < cl->kernel_count; i++)
        if (strcmp(cl->kernel[i].name, name) == 0) {
            *out = i;
            return SDM_OK;
        }
    if (cl->kernel_count == SDM_MOST_KERNELS || strlen(name) >= sizeof cl->kernel[0].name)
        return sdm_fail(ctx, SDM_ERR_DEVICE, "%s: kernel %s is one too many", d->info.name, name);
    TRY(sdm_cl_program_of(ctx, &d->info, cl->shared, name, &program));
    const ClHandle k = cl->api.CreateKernel(program, name, &code);
    TRY(check(ctx, d, code, name));
    *out = cl->kernel_count++;
    snprintf(cl->kernel[*out].name, sizeof cl->kernel[0].name, "%s", name);
    cl->kernel[*out].kernel = k;
    cl->kernel[*out].most_items = most_items(cl, k);
done:
    return st;
}

static int32_t set_argument(const SdmCl *cl, ClHandle kernel, uint32_t i, const SdmArg *a)
{
    switch (a->kind) {
    case SDM_ARG_INT:
        return cl->api.SetKernelArg(kernel, i, sizeof a->i, &a->i);
    case SDM_ARG_LONG:
        return cl->api.SetKernelArg(kernel, i, sizeof a->l, &a->l);
    case SDM_ARG_FLOAT:
        return cl->api.SetKernelArg(kernel, i, sizeof a->f, &a->f);
    default:
        return cl->api.SetKernelArg(kernel, i, sizeof a->buffer->handle,
                                    a->buffer ? &a->buffer->handle : NULL);
    }
}

/* A launch: the first of a stretch, or the last so far. */
static void keep_event(SdmCl *cl, int queue, ClHandle event)
{
    const int i = cl->clock[queue].stretch;
    ClHandle *const first = &cl->clock[queue].first[i], *const last = &cl->clock[queue].last[i];
    if (*first && *last)
        cl->api.ReleaseEvent(*last);
    *(*first ? last : first) = event;
}

static SdmStatus launch(SdmContext *ctx, SdmDevice *d, int queue, const SdmLaunch *l)
{
    SdmStatus st = SDM_OK;
    SdmCl *const cl = inside(d);
    ClHandle event = NULL;
    int number = 0;
    size_t items[3], size[3], count[3];
    TRY(find_kernel(ctx, d, l->name, &number));
    const ClHandle kernel = cl->kernel[number].kernel;
    for (int i = 0; i < l->arg_count; i++)
        TRY(check(ctx, d, set_argument(cl, kernel, (uint32_t)i, &l->args[i]), l->name));
    for (int k = 0; k < 3; k++) {
        size[k] = (size_t)l->group[k];
        count[k] = (size_t)l->groups[k];
    }
    fit_groups(cl->kernel[number].most_items, size, count);
    for (int k = 0; k < 3; k++)
        items[k] = size[k] * count[k];
    TRY(check(ctx, d,
              cl->api.EnqueueNDRangeKernel(cl->queue[queue], kernel, 3, NULL, items, size, 0, NULL, &event),
              l->name));
    keep_event(cl, queue, event);
done:
    return st;
}

static SdmStatus finish(SdmContext *ctx, SdmDevice *d, int queue)
{
    const SdmCl *const cl = inside(d);
    return check(ctx, d, cl->api.Finish(cl->queue[queue]), "its queue");
}

static SdmStatus pause_clock(SdmContext *ctx, SdmDevice *d, int queue)
{
    SdmCl *const cl = inside(d);
    (void)ctx;
    if (cl->clock[queue].first[cl->clock[queue].stretch] && cl->clock[queue].stretch + 1 < SDM_STRETCHES)
        cl->clock[queue].stretch++;
    return SDM_OK;
}

static SdmStatus seconds(SdmContext *ctx, SdmDevice *d, int queue, double *out)
{
    SdmStatus st = SDM_OK;
    SdmCl *const cl = inside(d);
    *out = 0.0;
    TRY(finish(ctx, d, queue));
    for (int i = 0; i < SDM_STRETCHES && cl->clock[queue].first[i]; i++) {
        const ClHandle first = cl->clock[queue].first[i],
                       last = cl->clock[queue].last[i] ? cl->clock[queue].last[i] : first;
        uint64_t begin = 0, end = 0;
        TRY(check(
            ctx, d,
            cl->api.GetEventProfilingInfo(first, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL),
            "its clock"));
        TRY(check(ctx, d,
                  cl->api.GetEventProfilingInfo(last, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL),
                  "its clock"));
        *out += 1e-9 * (double)(end - begin);
    }
done:
    forget_events(cl, queue);
    return st;
}

/* ---- page-locked memory: see staging.h ---- */

static SdmStatus lock(SdmDevice *d, int64_t bytes, SdmStaging *s)
{
    const SdmCl *const cl = inside(d);
    int32_t code = CL_OK;
    const ClHandle memory = cl->api.CreateBuffer(cl->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                                 (size_t)bytes, NULL, &code);
    if (!memory || code != CL_OK)
        return SDM_ERR_MEMORY;
    s->data = cl->api.EnqueueMapBuffer(cl->queue[0], memory, 1, CL_MAP_READ | CL_MAP_WRITE, 0, (size_t)bytes,
                                       0, NULL, NULL, &code);
    s->handle = memory;
    if (s->data && code == CL_OK)
        return SDM_OK;
    cl->api.ReleaseMemObject(memory);
    return SDM_ERR_MEMORY;
}

static void unlock(SdmDevice *d, SdmStaging *s)
{
    const SdmCl *const cl = inside(d);
    (void)cl->api.EnqueueUnmapMemObject(cl->queue[0], s->handle, s->data, 0, NULL, NULL);
    (void)cl->api.Finish(cl->queue[0]);
    (void)cl->api.ReleaseMemObject(s->handle);
}

static void forget(SdmDevice *d, void *event)
{
    (void)inside(d)->api.ReleaseEvent(event);
}

static SdmStatus mark(SdmContext *ctx, SdmDevice *d, int queue, void **out)
{
    const SdmCl *const cl = inside(d);
    ClHandle event = NULL;
    const SdmStatus st =
        check(ctx, d, cl->api.EnqueueMarkerWithWaitList(cl->queue[queue], 0, NULL, &event), "an event");
    if (st != SDM_OK)
        return st;
    if (*out)
        forget(d, *out);
    *out = event;
    return check(ctx, d, cl->api.Flush(cl->queue[queue]), "its queue"); /* the copy is to begin */
}

static SdmStatus await(SdmContext *ctx, SdmDevice *d, void *event)
{
    const SdmCl *const cl = inside(d);
    for (int i = 0; i < SDM_QUEUES; i++) /* what is queued shall run meanwhile */
        (void)cl->api.Flush(cl->queue[i]);
    return check(ctx, d, cl->api.WaitForEvents(1, &(ClHandle){event}), "a copy");
}

const SdmBackEnd sdm_opencl = {.list = sdm_cl_list,
                               .open = open_device,
                               .close = close_device,
                               .take = take,
                               .give = give,
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
