/* The calls of a libcuda.so.1 without a device, see fake_cuda.h. */
// SPDX-License-Identifier: Apache-2.0
#include "fake_cuda.h"
#include "known_answers.h"

/* ---- the device ---- */

CALL(cuInit, unsigned flags)
{
    (void)flags;
    BEGIN(0)
    END
}

CALL(cuDriverGetVersion, int *out)
{
    BEGIN(0)
    *out = (int)setting("FAKE_CUDA_DRIVER", 99000);
    END
}

CALL(cuGetErrorString, int32_t error, const char **out)
{
    BEGIN(0)
    *out = error == OUT_OF_MEMORY ? "out of memory" : error == 719 ? "unspecified launch failure" : NULL;
    code = *out ? OK : INVALID;
    END
}

CALL(cuDeviceGetCount, int *out)
{
    BEGIN(0)
    *out = (int)setting("FAKE_CUDA_DEVICES", 1);
    END
}

CALL(cuDeviceGet, int32_t *out, int index)
{
    BEGIN(0)
    *out = index;
    code = index < setting("FAKE_CUDA_DEVICES", 1) ? OK : 101;
    END
}

CALL(cuDeviceGetName, char *out, int size, int32_t device)
{
    BEGIN(0)
    snprintf(out, (size_t)size, "Fake %d", (int)device);
    END
}

CALL(cuDeviceTotalMem_v2, size_t *out, int32_t device)
{
    (void)device;
    BEGIN(0)
    *out = (size_t)setting("FAKE_CUDA_MIB", 4096) << 20;
    END
}

CALL(cuDeviceGetAttribute, int *out, int what, int32_t device)
{
    const int capability = (int)setting("FAKE_CUDA_CAPABILITY", 90);
    (void)device;
    BEGIN(0)
    *out = what == 1    ? 1024
           : what == 8  ? 49152
           : what == 13 ? 1980000
           : what == 16 ? 132
           : what == 18 ? (int)setting("FAKE_CUDA_INTEGRATED", 0)
           : what == 75 ? capability / 10
           : what == 76 ? capability % 10
                        : 0;
    END
}

CALL(cuDevicePrimaryCtxRetain, void **out, int32_t device)
{
    (void)device;
    BEGIN(1)
    *out = &fake;
    fake.contexts++;
    END
}

CALL(cuDevicePrimaryCtxRelease_v2, int32_t device)
{
    (void)device;
    BEGIN(0)
    fake.contexts--;
    END
}

CALL(cuCtxPushCurrent_v2, void *context)
{
    BEGIN(0)
    code = context == &fake ? OK : INVALID;
    pushed += code == OK;
    END
}

CALL(cuCtxPopCurrent_v2, void **out)
{
    BEGIN(0)
    *out = &fake;
    code = pushed-- > 0 ? OK : INVALID;
    END
}

CALL(cuMemGetInfo_v2, size_t *left, size_t *all)
{
    BEGIN(0)
    *all = (size_t)setting("FAKE_CUDA_MIB", 4096) << 20;
    *left = (size_t)setting("FAKE_CUDA_FREE_MIB", setting("FAKE_CUDA_MIB", 4096)) << 20;
    code = pushed > 0 ? OK : INVALID;
    END
}

CALL(cuModuleLoadData, void **out, const void *image)
{
    BEGIN(1)
    uint32_t magic;
    memcpy(&magic, image, sizeof magic);
    code = magic == 0xBA55ED50u ? OK : 200; /* of a fatbin */
    *out = &fake.modules;
    fake.modules += code == OK;
    END
}

CALL(cuModuleUnload, void *module)
{
    (void)module;
    BEGIN(0)
    fake.modules--;
    END
}

CALL(cuModuleGetFunction, void **out, void *module, const char *name)
{
    (void)module;
    BEGIN(1)
    *out = strcmp(name, "sdm_known_answers") == 0   ? &fake.kernel[1]
           : strcmp(name, "sdm_known_doubles") == 0 ? &fake.kernel[2]
                                                    : &fake.kernel[0];
    code = strcmp(name, "sdm_no_such") == 0 ? 500 : OK;
    END
}

/* The test of the device's arithmetic is the one thing that it computes, with FAKE_CUDA_FUSED=1 as with fused products,
 * with FAKE_CUDA_NONSENSE=1 not at all. */
static void answer(void *kernel, void **arguments)
{
    const float *const in = (const float *)(uintptr_t) * (const uint64_t *)arguments[0];
    void *const out = (void *)(uintptr_t) * (const uint64_t *)arguments[1];
    for (int i = 0; i < SDM_ANSWER_ITEMS && !setting("FAKE_CUDA_NONSENSE", 0); i++) {
        const float *const own = in + i * SDM_ANSWER_INPUTS;
        float *const y = (float *)out + i * SDM_ANSWERS;
        if (kernel == &fake.kernel[2]) {
            sdm_double_answers_of(own, (double *)out + i * SDM_DOUBLE_ANSWERS);
            continue;
        }
        sdm_answers_of(i, own, y);
        if (setting("FAKE_CUDA_FUSED", 0))
            y[0] = (float)((double)own[0] * (double)own[1] + (double)own[2]);
    }
}

/* ---- streams, events ---- */

CALL(cuStreamCreate, Stream **out, unsigned flags)
{
    (void)flags;
    BEGIN(1)
    int i = 0;
    while (i + 1 < MOST_STREAMS && fake.stream[i])
        i++;
    *out = fake.stream[i] = calloc(1, sizeof **out);
    fake.streams++;
    END
}

CALL(cuStreamSynchronize, Stream *s)
{
    BEGIN(1)
    do_work(s, s->count);
    END
}

CALL(cuStreamDestroy_v2, Stream *s)
{
    BEGIN(0)
    for (int i = 0; i < MOST_STREAMS; i++)
        fake.stream[i] = fake.stream[i] == s ? NULL : fake.stream[i];
    free(s);
    fake.streams--;
    END
}

CALL(cuEventCreate, Event **out, unsigned flags)
{
    BEGIN(1)
    *out = calloc(1, sizeof **out);
    (*out)->timed = !(flags & 2);
    fake.events++;
    END
}

CALL(cuEventDestroy_v2, Event *e)
{
    BEGIN(0)
    free(e);
    fake.events--;
    END
}

CALL(cuEventRecord, Event *e, Stream *s)
{
    BEGIN(1)
    e->stream = s;
    e->behind = s->done + s->count;
    e->recorded = 1;
    END
}

CALL(cuEventSynchronize, Event *e)
{
    BEGIN(1)
    if (e->recorded && e->behind > e->stream->done)
        do_work(e->stream, (int)(e->behind - e->stream->done));
    END
}

CALL(cuEventElapsedTime, float *ms, Event *first, Event *last)
{
    BEGIN(1)
    code = first->timed && last->timed && first->recorded && last->recorded ? OK : INVALID;
    *ms = 0.25f;
    END
}

/* ---- memory, copies, launches ---- */

CALL(cuMemAlloc_v2, uint64_t *out, size_t bytes)
{
    BEGIN(1)
    void *p = NULL;
    code = take(&p, bytes, 0);
    *out = (uint64_t)(uintptr_t)p;
    END
}

CALL(cuMemFree_v2, uint64_t p)
{
    BEGIN(0)
    for (int i = 0; i < MOST_STREAMS; i++) /* it waits for what may use the memory */
        if (fake.stream[i])
            do_work(fake.stream[i], fake.stream[i]->count);
    code = give((void *)(uintptr_t)p, 0);
    END
}

CALL(cuMemHostAlloc, void **out, size_t bytes, unsigned flags)
{
    (void)flags;
    BEGIN(1)
    code = take(out, bytes, 1);
    END
}

CALL(cuMemFreeHost, void *p)
{
    BEGIN(0)
    code = give(p, 1);
    END
}

/* Ordinary memory is read or written before the call returns, after what the stream has to do before. */
static int copy(Stream *s, void *to, const void *from, size_t bytes, const void *host, const void *device)
{
    const int at = block_of(host, bytes), there = block_of(device, bytes),
              locked = at >= 0 && fake.block[at].locked;
    if (there < 0 || fake.block[there].locked)
        return INVALID;
    add_work(s, (Work){to, from, bytes, -1});
    fake.direct += locked;
    fake.detour += !locked;
    if (!locked)
        do_work(s, s->count);
    return OK;
}

CALL(cuMemcpyHtoDAsync_v2, uint64_t to, const void *from, size_t bytes, Stream *s)
{
    BEGIN(1)
    code = copy(s, (void *)(uintptr_t)to, from, bytes, from, (void *)(uintptr_t)to);
    END
}

CALL(cuMemcpyDtoHAsync_v2, void *to, uint64_t from, size_t bytes, Stream *s)
{
    BEGIN(1)
    code = copy(s, to, (void *)(uintptr_t)from, bytes, to, (void *)(uintptr_t)from);
    END
}

CALL(cuMemsetD8Async, uint64_t to, unsigned char value, size_t bytes, Stream *s)
{
    BEGIN(1)
    code = block_of((void *)(uintptr_t)to, bytes) < 0 ? INVALID : OK;
    if (code == OK)
        add_work(s, (Work){(void *)(uintptr_t)to, NULL, bytes, value});
    END
}

/* Kernels do nothing: what images and surfaces of before have left in memory shall not look like their results. */
static void clear_memory(void)
{
    for (int i = 0; i < MOST_BLOCKS; i++)
        if (fake.block[i].begin && !fake.block[i].locked)
            memset(fake.block[i].begin, 0, fake.block[i].bytes);
}

CALL(cuLaunchKernel, void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
     unsigned bz, unsigned shared, Stream *s, void **arguments, void **extra)
{
    (void)s;
    BEGIN(1)
    const int whole = gx && gy && gz && bx && by && bz && gy < 65536 && gz < 65536 && gx < 1u << 31;
    if (kernel == &fake.kernel[1] || kernel == &fake.kernel[2])
        answer(kernel, arguments);
    else if (setting("FAKE_CUDA_CLEAR", 0))
        clear_memory();
    const int known = (char *)kernel >= fake.kernel && (char *)kernel < fake.kernel + sizeof fake.kernel;
    code = known && whole && bx * by * bz <= 1024 && shared == 0 && arguments && !extra ? OK : INVALID;
    END
}
