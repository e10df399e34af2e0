/* The device interface: one of two back ends, budget of memory, checks of what is asked. */
// SPDX-License-Identifier: Apache-2.0
#include "core/context.h"
#include "device_inside.h"

#include <stdatomic.h>

enum { MOST_GROUPS_DOWN = 65535 }; /* of a launch, on CUDA's devices; asked of all, so that every device's
                                    * tests meet it */

static atomic_llong fail_at; /* tests: counts down to the call that fails */
static atomic_int fail_with;
static atomic_bool fail_lasts;
static atomic_llong most_budget; /* tests */
static atomic_bool no_doubles;   /* tests */
static atomic_bool stage_always; /* tests */
static const SdmBackEnd *_Atomic stand_in[SDM_API_COUNT]; /* tests */

void sdm_device_limit_budget(int64_t bytes)
{
    atomic_store(&most_budget, bytes);
}

void sdm_device_deny_doubles(bool deny)
{
    atomic_store(&no_doubles, deny);
}

void sdm_device_stage_always(bool always)
{
    atomic_store(&stage_always, always);
}

void sdm_device_stand_in(enum SdmApi api, const SdmBackEnd *back_end)
{
    atomic_store(&stand_in[api], back_end);
}

void sdm_device_fail_at(int64_t n, SdmStatus st, bool lasts)
{
    atomic_store(&fail_lasts, lasts);
    atomic_store(&fail_with, (int)st);
    atomic_store(&fail_at, n);
}

/* SDM_OK, or the fault that a test asked for. */
static SdmStatus fault(SdmContext *ctx, const SdmDevice *d)
{
    if (atomic_load_explicit(&fail_at, memory_order_relaxed) <= 0 || atomic_fetch_sub(&fail_at, 1) != 1)
        return SDM_OK;
    if (atomic_load(&fail_lasts))
        atomic_store(&fail_at, 1);
    return sdm_fail(ctx, (SdmStatus)atomic_load(&fail_with), "%s: the device failed", d->info.name);
}

static const SdmBackEnd *back_end(enum SdmApi api, const char **missing)
{
    if (atomic_load(&stand_in[api]))
        return atomic_load(&stand_in[api]);
#if SDM_HAVE_OPENCL
    if (api == SDM_API_OPENCL)
        return &sdm_opencl;
#endif
#if SDM_HAVE_CUDA
    if (api == SDM_API_CUDA)
        return &sdm_cuda;
#endif
    *missing = api == SDM_API_CUDA ? "this build has no CUDA back end (no nvcc was found, or -DSDM_CUDA=OFF)"
                                   : "this build has no OpenCL back end (-DSDM_OPENCL=OFF)";
    return NULL;
}

const char *sdm_api_name(enum SdmApi api)
{
    return api == SDM_API_CUDA ? "cuda" : "opencl";
}

int sdm_devices(enum SdmApi api, SdmDeviceInfo *out, int most, char reason[SDM_REASON_SIZE])
{
    const char *missing = "";
    const SdmBackEnd *const b = back_end(api, &missing);
    reason[0] = '\0';
    if (b)
        return b->list(out, most, reason);
    snprintf(reason, SDM_REASON_SIZE, "%s", missing);
    return 0;
}

static SdmStatus find_device(SdmContext *ctx, enum SdmApi api, int index, SdmDeviceInfo *out)
{
    SdmStatus st = SDM_OK;
    SdmDeviceInfo *list = NULL;
    char reason[SDM_REASON_SIZE];
    TRY(sdm_alloc(ctx, &list, SDM_MOST_DEVICES, sizeof *list, "the list of devices"));
    const int count = sdm_devices(api, list, SDM_MOST_DEVICES, reason);
    if (count == 0)
        st = sdm_fail(ctx, SDM_ERR_UNSUPPORTED, "--device %s: %s", sdm_api_name(api), reason);
    else if (index < 0 || index >= count)
        st = sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                      "--device %s:%d: there %s %d (0 to %d); stereodem devices lists them",
                      sdm_api_name(api), index, count == 1 ? "is only" : "are only", count, count - 1);
    else if (list[index].why_not[0])
        st = sdm_fail(ctx, SDM_ERR_UNSUPPORTED, "--device %s:%d: %s: %s", sdm_api_name(api), index,
                      list[index].name, list[index].why_not);
    else
        *out = list[index];
done:
    sdm_free(&list);
    return st;
}

SdmStatus sdm_device_open_untested(SdmContext *ctx, enum SdmApi api, int index, SdmDevice **out)
{
    SdmStatus st = SDM_OK;
    const char *missing = "";
    SdmDevice *d = NULL;
    *out = NULL;
    TRY(sdm_alloc(ctx, &d, 1, sizeof *d, "a device"));
    d->back_end = back_end(api, &missing);
    TRY(find_device(ctx, api, index, &d->info));
    d->budget = d->info.staged ? d->info.memory_bytes / 4 * 3 : d->info.memory_bytes / 2;
    if (!d->info.staged && !d->info.is_cpu && d->budget > ctx->memory_bytes / 2)
        d->budget = ctx->memory_bytes / 2;
    const int64_t most = atomic_load(&most_budget);
    d->budget = d->whole = most > 0 && most < d->budget ? most : d->budget;
    d->info.doubles = d->info.doubles && !atomic_load(&no_doubles);
    d->stage.wanted = d->info.staged || atomic_load(&stage_always);
    d->tuning = *sdm_tuning_find(d->info.name);
    TRY(d->back_end->open(ctx, d));
    *out = d;
    d = NULL;
done:
    sdm_free(&d);
    return st;
}

/* ---- memory that is kept ---- */

static void link_buffer(SdmBuffer **list, SdmBuffer *b)
{
    b->before = NULL;
    b->after = *list;
    if (*list)
        (*list)->before = b;
    *list = b;
}

static void unlink_buffer(SdmBuffer **list, SdmBuffer *b)
{
    *(b->before ? &b->before->after : list) = b->after;
    if (b->after)
        b->after->before = b->before;
}

/* Give memory back until at most `most` bytes are kept. */
static void shrink_kept(SdmDevice *d, int64_t most)
{
    while (d->kept && d->kept_bytes > most) {
        SdmBuffer *b = d->kept;
        unlink_buffer(&d->kept, b);
        d->kept_bytes -= b->room;
        d->back_end->give(b);
        sdm_free(&b);
    }
}

bool sdm_device_trim(SdmDevice *d)
{
    const bool was = d->wasteful;
    shrink_kept(d, 0);
    d->wasteful = false;
    return was;
}

void sdm_device_close(SdmDevice **device)
{
    SdmDevice *const d = device ? *device : NULL;
    if (!d)
        return;
    while (d->first) {
        SdmBuffer *b = d->first;
        sdm_buffer_free(&b);
    }
    shrink_kept(d, 0);
    for (int i = 0; i < SDM_QUEUES; i++)
        (void)d->back_end->finish(NULL, d, i);
    sdm_staging_close(d);
    d->back_end->close(d);
    sdm_free(device);
}

const SdmDeviceInfo *sdm_device_info(const SdmDevice *d)
{
    return &d->info;
}

int64_t sdm_device_budget(const SdmDevice *d)
{
    return d->budget;
}

int64_t sdm_device_room(SdmDevice *d)
{
    const int64_t left = d->back_end->left ? d->back_end->left(d) : -1;
    const double part = d->whole > 0 ? (double)d->budget / (double)d->whole : 1.0;
    /* memory is given in pages: not to the last byte */
    const int64_t room = d->used + d->kept_bytes + (int64_t)(0.9 * part * (double)left);
    return left < 0 || room > d->budget ? d->budget : room;
}

void sdm_device_set_budget(SdmDevice *d, int64_t bytes)
{
    d->budget = bytes;
    if (d->used + d->kept_bytes > bytes)
        shrink_kept(d, bytes > d->used ? bytes - d->used : 0);
}

const SdmTuning *sdm_device_tuning(const SdmDevice *d)
{
    return &d->tuning;
}

void sdm_device_set_tuning(SdmDevice *d, const SdmTuning *tuning)
{
    d->tuning = *tuning;
}

int64_t sdm_device_used(const SdmDevice *d)
{
    return d->used;
}

int64_t sdm_device_peak(const SdmDevice *d)
{
    return d->peak;
}

/* The kept buffer that fits best, at most a quarter larger; NULL where there is none. */
static SdmBuffer *find_kept(const SdmDevice *d, int64_t bytes)
{
    SdmBuffer *best = NULL;
    for (SdmBuffer *b = d->kept; b; b = b->after)
        if (b->room >= bytes && b->room - bytes <= bytes / 4 && (!best || b->room < best->room))
            best = b;
    return best;
}

/* Memory of its own, in place of kept memory where the device would hold more than ever. */
static SdmStatus take_memory(SdmContext *ctx, SdmDevice *d, int64_t bytes, const char *what, SdmBuffer **out)
{
    SdmStatus st = SDM_OK;
    SdmBuffer *b = NULL;
    TRY(sdm_alloc(ctx, &b, 1, sizeof *b, what));
    *b = (SdmBuffer){.device = d, .bytes = bytes, .room = bytes};
    if (d->kept_bytes > d->peak - d->used - bytes)
        shrink_kept(d, d->peak - d->used - bytes);
    if (d->kept && d->back_end->take(NULL, b, what) != SDM_OK) /* others have taken what was left */
        shrink_kept(d, 0);
    if (!b->handle)
        TRY(d->back_end->take(ctx, b, what));
    *out = b;
    b = NULL;
done:
    sdm_free(&b);
    return st;
}

/* Do buffers in use have more memory than they asked for? */
static bool has_slack(const SdmDevice *d)
{
    const SdmBuffer *b = d->first;
    while (b && b->room == b->bytes)
        b = b->after;
    return b != NULL;
}

SdmStatus sdm_buffer_new(SdmContext *ctx, SdmDevice *d, int64_t bytes, const char *what, SdmBuffer **out)
{
    SdmStatus st = SDM_OK;
    SdmBuffer *b;
    *out = NULL;
    bytes = bytes > 0 ? bytes : 1;
    const int64_t left = sdm_device_budget(d) - d->used,
                  room = left < d->info.most_bytes ? left : d->info.most_bytes;
    TRY(fault(ctx, d));
    if (bytes > room) {
        d->wasteful |= has_slack(d);
        return sdm_fail(ctx, SDM_ERR_MEMORY,
                        "%s: %s needs %lld MiB of its memory, and %lld are left; give a smaller --tile",
                        d->info.name, what, (long long)(bytes >> 20) + 1, (long long)(room >> 20));
    }
    b = find_kept(d, bytes);
    if (b) {
        unlink_buffer(&d->kept, b);
        d->kept_bytes -= b->room;
    } else {
        TRY(take_memory(ctx, d, bytes, what, &b));
    }
    b->bytes = bytes;
    link_buffer(&d->first, b);
    d->used += b->room;
    d->peak = d->used > d->peak ? d->used : d->peak;
    *out = b;
done:
    return st;
}

void sdm_buffer_free(SdmBuffer **buffer)
{
    SdmBuffer *const b = buffer ? *buffer : NULL;
    if (!b)
        return;
    SdmDevice *const d = b->device;
    bool idle = true;
    for (int i = 0; i < SDM_QUEUES; i++)
        idle &= d->back_end->finish(NULL, d, i) == SDM_OK;
    unlink_buffer(&d->first, b);
    d->used -= b->room;
    *buffer = NULL;
    link_buffer(&d->kept, b);
    d->kept_bytes += b->room;
    if (!idle || d->back_end->keeps_nothing || d->used + d->kept_bytes > sdm_device_budget(d))
        shrink_kept(d, 0);
}

int64_t sdm_buffer_bytes(const SdmBuffer *b)
{
    return b->bytes;
}

static SdmStatus check_range(SdmContext *ctx, const SdmBuffer *b, int64_t offset, int64_t bytes)
{
    if (offset >= 0 && bytes >= 0 && offset <= b->bytes && bytes <= b->bytes - offset)
        return fault(ctx, b->device);
    return sdm_fail(ctx, SDM_ERR_DEVICE, "%s: a copy of %lld bytes at %lld does not fit a buffer of %lld",
                    b->device->info.name, (long long)bytes, (long long)offset, (long long)b->bytes);
}

SdmStatus sdm_upload(SdmContext *ctx, SdmBuffer *to, int64_t offset, const void *from, int64_t bytes,
                     int queue, bool wait)
{
    SdmStatus st = SDM_OK;
    TRY(check_range(ctx, to, offset, bytes));
    if (bytes > 0 && sdm_staging_takes(ctx, to->device, bytes))
        TRY(sdm_staging_upload(ctx, to, offset, from, bytes, queue, wait));
    else if (bytes > 0)
        TRY(to->device->back_end->upload(ctx, to, offset, from, bytes, queue, wait));
done:
    return st;
}

SdmStatus sdm_download(SdmContext *ctx, const SdmBuffer *from, int64_t offset, void *to, int64_t bytes,
                       int queue, bool wait)
{
    SdmStatus st = SDM_OK;
    TRY(check_range(ctx, from, offset, bytes));
    if (bytes > 0 && sdm_staging_takes(ctx, from->device, bytes))
        TRY(sdm_staging_download(ctx, from, offset, to, bytes, queue));
    else if (bytes > 0)
        TRY(from->device->back_end->download(ctx, from, offset, to, bytes, queue, wait));
done:
    return st;
}

SdmStatus sdm_fill_bytes(SdmContext *ctx, SdmBuffer *to, int64_t offset, uint8_t value, int64_t bytes,
                         int queue)
{
    SdmStatus st = SDM_OK;
    TRY(check_range(ctx, to, offset, bytes));
    if (bytes > 0)
        TRY(to->device->back_end->fill(ctx, to, offset, value, bytes, queue));
done:
    return st;
}

SdmStatus sdm_launch(SdmContext *ctx, SdmDevice *d, int queue, const SdmLaunch *l)
{
    SdmStatus st = SDM_OK;
    const int items = l->group[0] * l->group[1] * l->group[2];
    TRY(fault(ctx, d));
    if (l->groups[0] < 1 || l->groups[1] < 1 || l->groups[2] < 1) /* nothing to do */
        return SDM_OK;
    if (l->arg_count > SDM_MOST_ARGS || items > d->info.max_group)
        return sdm_fail(ctx, SDM_ERR_DEVICE,
                        "%s: kernel %s asks for %d arguments and %d work items, at most %d and %d",
                        d->info.name, l->name, l->arg_count, items, (int)SDM_MOST_ARGS, d->info.max_group);
    if (l->groups[1] > MOST_GROUPS_DOWN || l->groups[2] > MOST_GROUPS_DOWN)
        return sdm_fail(
            ctx, SDM_ERR_DEVICE,
            "%s: kernel %s asks for %d x %d groups down and deep, at most %d; give a smaller --tile",
            d->info.name, l->name, l->groups[1], l->groups[2], (int)MOST_GROUPS_DOWN);
    TRY(d->back_end->launch(ctx, d, queue, l));
done:
    return st;
}

SdmStatus sdm_finish(SdmContext *ctx, SdmDevice *d, int queue)
{
    const SdmStatus st = fault(ctx, d);
    return st == SDM_OK ? d->back_end->finish(ctx, d, queue) : st;
}

SdmStatus sdm_device_pause(SdmContext *ctx, SdmDevice *d, int queue)
{
    return d->back_end->pause(ctx, d, queue);
}

SdmStatus sdm_device_seconds(SdmContext *ctx, SdmDevice *d, int queue, double *seconds)
{
    return d->back_end->seconds(ctx, d, queue, seconds);
}
