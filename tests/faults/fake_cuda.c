/* libcuda.so.1 of a device that is not there, for tests of gpu/cuda*.c: memory is the host's, kernels do
 * nothing.  What a stream is given waits there until somebody waits for it, as on a device that is slow: who
 * forgets to wait, or writes too early to memory that a copy still needs, is found out.
 *
 * FAKE_CUDA_FAIL=cuMemAlloc_v2:3:1:2: the 3rd call of that name (*: any that works on the device) fails once
 * (0 times: from then on) with error 2; fake_cuda_fail() does the same; FAKE_CUDA_FAIL_TOO is one more.
 * FAKE_CUDA_CAPABILITY=70, FAKE_CUDA_DEVICES=2, FAKE_CUDA_MIB=1024, FAKE_CUDA_FREE_MIB=100, FAKE_CUDA_INTEGRATED=1 and
 * FAKE_CUDA_DRIVER=12040 say what the device is.
 * It passes the test of a device's arithmetic unless
 * FAKE_CUDA_FUSED=1 or FAKE_CUDA_NONSENSE=1.
 */
// SPDX-License-Identifier: Apache-2.0
#include "known_answers.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))
#define CALL(name, ...)                                                                                      \
    SHOWN int32_t name(__VA_ARGS__);                                                                         \
    int32_t name(__VA_ARGS__)

enum { OK = 0, INVALID = 1, OUT_OF_MEMORY = 2, MOST_WORK = 4096, MOST_BLOCKS = 512, MOST_STREAMS = 64 };

typedef struct Work { /* a copy that waits; `value` >= 0: filling */
    void *to;
    const void *from;
    size_t bytes;
    int value;
} Work;

typedef struct Stream {
    Work work[MOST_WORK];
    int count;
    long done; /* of all work so far */
} Stream;

typedef struct Event {
    Stream *stream;
    long behind; /* so much of its work */
    int timed, recorded;
} Event;

static struct {
    pthread_mutex_t lock;
    struct {
        char *begin;
        size_t bytes;
        int locked; /* page-locked memory of the host */
    } block[MOST_BLOCKS];
    Stream *stream[MOST_STREAMS];
    char kernel[3]; /* places of kernels: any, and the two of the test of arithmetic */
    long contexts, streams, events, modules; /* that are open */
    long direct, detour;                     /* copies from or to page-locked memory, and ordinary */
    struct {
        char name[64];
        long at, times;
        int code, read;
    } fail[2];
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local long pushed; /* contexts of the calling thread */

SHOWN long fake_cuda_pushed(void);
long fake_cuda_pushed(void)
{
    return pushed;
}

SHOWN void fake_cuda_fail(const char *name, long at, long times, int code);
void fake_cuda_fail(const char *name, long at, long times, int code)
{
    snprintf(fake.fail[0].name, sizeof fake.fail[0].name, "%s", name);
    fake.fail[0].at = at;
    fake.fail[0].times = times;
    fake.fail[0].code = code;
    fake.fail[0].read = 1;
}

/* What is open: contexts, streams, events, modules, blocks of memory; then copies, direct and by a detour. */
SHOWN void fake_cuda_count(long out[7]);
void fake_cuda_count(long out[7])
{
    const long found[] = {fake.contexts, fake.streams, fake.events, fake.modules};
    memcpy(out, found, sizeof found);
    out[4] = 0;
    for (int i = 0; i < MOST_BLOCKS; i++)
        out[4] += fake.block[i].begin != NULL;
    out[5] = fake.direct;
    out[6] = fake.detour;
}

static long setting(const char *name, long otherwise)
{
    const char *const text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

static int one_fault(int k, const char *setting_name, const char *name, int works)
{
    const char *const text = getenv(setting_name);
    if (!fake.fail[k].read && text &&
        sscanf(text, "%63[^:]:%ld:%ld:%d", fake.fail[k].name, &fake.fail[k].at, &fake.fail[k].times,
               &fake.fail[k].code) != 4)
        abort();
    fake.fail[k].read = 1;
    if (fake.fail[k].at == 0 ||
        (strcmp(fake.fail[k].name, name) != 0 && !(works && strcmp(fake.fail[k].name, "*") == 0)))
        return OK;
    if (fake.fail[k].at > 1) {
        fake.fail[k].at--;
        return OK;
    }
    if (fake.fail[k].times > 0 && --fake.fail[k].times == 0)
        fake.fail[k].at = 0;
    return fake.fail[k].code;
}

/* The error of this call, 0 = none; the lock is held. */
static int fault(const char *name, int works)
{
    const int first = one_fault(0, "FAKE_CUDA_FAIL", name, works),
              second = one_fault(1, "FAKE_CUDA_FAIL_TOO", name, works);
    return first ? first : second;
}

#define BEGIN(works)                                                                                         \
    pthread_mutex_lock(&fake.lock);                                                                          \
    int code = fault(__func__, (works));                                                                     \
    if (code == OK) {
#define END                                                                                                  \
    }                                                                                                        \
    pthread_mutex_unlock(&fake.lock);                                                                        \
    return code;
/* A call whose body is an expression or two. */
#define SHORT(name, works, arguments, ...)                                                                   \
    SHOWN int32_t name arguments;                                                                            \
    int32_t name arguments                                                                                   \
    {                                                                                                        \
        BEGIN(works) __VA_ARGS__;                                                                            \
        END                                                                                                  \
    }

/* Do a stream's first n pieces of work. */
static void do_work(Stream *s, int n)
{
    s->done += n;
    for (int i = 0; i < n; i++)
        if (s->work[i].value >= 0)
            memset(s->work[i].to, s->work[i].value, s->work[i].bytes);
        else
            memcpy(s->work[i].to, s->work[i].from, s->work[i].bytes);
    memmove(s->work, s->work + n, (size_t)(s->count - n) * sizeof *s->work);
    s->count -= n;
}

static void add_work(Stream *s, Work work)
{
    if (s->count == MOST_WORK)
        do_work(s, MOST_WORK);
    s->work[s->count++] = work;
}

/* The block that holds all of a range, -1: none. */
static int block_of(const void *p, size_t bytes)
{
    const char *const c = p;
    for (int i = 0; i < MOST_BLOCKS; i++)
        if (fake.block[i].begin && c >= fake.block[i].begin && c < fake.block[i].begin + fake.block[i].bytes)
            return bytes <= (size_t)(fake.block[i].begin + fake.block[i].bytes - c) ? i : -1;
    return -1;
}

static int take(void **out, size_t bytes, int locked)
{
    for (int i = 0; i < MOST_BLOCKS; i++)
        if (!fake.block[i].begin) {
            fake.block[i].begin = *out = calloc(1, bytes);
            fake.block[i].bytes = bytes;
            fake.block[i].locked = locked;
            return *out ? OK : OUT_OF_MEMORY;
        }
    return OUT_OF_MEMORY;
}

static int give(void *p, int locked)
{
    const int i = block_of(p, 0);
    if (i < 0 || fake.block[i].begin != p || fake.block[i].locked != locked)
        return INVALID;
    free(p);
    fake.block[i].begin = NULL;
    return OK;
}

/* ---- the device ---- */

SHORT(cuInit, 0, (unsigned flags), (void)flags)
SHORT(cuDriverGetVersion, 0, (int *out), *out = (int)setting("FAKE_CUDA_DRIVER", 99000))
SHORT(cuGetErrorString, 0, (int32_t error, const char **out),
      *out = error == OUT_OF_MEMORY ? "out of memory"
             : error == 719         ? "unspecified launch failure"
                                    : NULL;
      code = *out ? OK : INVALID)
SHORT(cuDeviceGetCount, 0, (int *out), *out = (int)setting("FAKE_CUDA_DEVICES", 1))
SHORT(cuDeviceGet, 0, (int32_t * out, int index), *out = index;
      code = index < setting("FAKE_CUDA_DEVICES", 1) ? OK : 101)
SHORT(cuDeviceGetName, 0, (char *out, int size, int32_t device),
      snprintf(out, (size_t)size, "Fake %d", (int)device))
SHORT(cuDeviceTotalMem_v2, 0, (size_t * out, int32_t device),
      *out = (size_t)setting("FAKE_CUDA_MIB", 4096) << 20)

CALL(cuDeviceGetAttribute, int *out, int what, int32_t device)
{
    const int capability = (int)setting("FAKE_CUDA_CAPABILITY", 90);
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

SHORT(cuDevicePrimaryCtxRetain, 1, (void **out, int32_t device), *out = &fake; fake.contexts++)
SHORT(cuDevicePrimaryCtxRelease_v2, 0, (int32_t device), fake.contexts--)
SHORT(cuCtxPushCurrent_v2, 0, (void *context), code = context == &fake ? OK : INVALID; pushed += code == OK)
SHORT(cuCtxPopCurrent_v2, 0, (void **out), *out = &fake; code = pushed-- > 0 ? OK : INVALID)
SHORT(cuMemGetInfo_v2, 0, (size_t * left, size_t *all), *all = (size_t)setting("FAKE_CUDA_MIB", 4096) << 20;
      *left = (size_t)setting("FAKE_CUDA_FREE_MIB", setting("FAKE_CUDA_MIB", 4096)) << 20;
      code = pushed > 0 ? OK : INVALID)

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

SHORT(cuModuleUnload, 0, (void *module), fake.modules--)

CALL(cuModuleGetFunction, void **out, void *module, const char *name)
{
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
    BEGIN(1)
    int i = 0;
    while (i + 1 < MOST_STREAMS && fake.stream[i])
        i++;
    *out = fake.stream[i] = calloc(1, sizeof **out);
    fake.streams++;
    END
}

SHORT(cuStreamSynchronize, 1, (Stream * s), do_work(s, s->count))

CALL(cuStreamDestroy_v2, Stream *s)
{
    BEGIN(0)
    for (int i = 0; i < MOST_STREAMS; i++)
        fake.stream[i] = fake.stream[i] == s ? NULL : fake.stream[i];
    free(s);
    fake.streams--;
    END
}

SHORT(cuEventCreate, 1, (Event * *out, unsigned flags), *out = calloc(1, sizeof **out);
      (*out)->timed = !(flags & 2); fake.events++)
SHORT(cuEventDestroy_v2, 0, (Event * e), free(e); fake.events--)
SHORT(cuEventRecord, 1, (Event * e, Stream *s), e->stream = s; e->behind = s->done + s->count;
      e->recorded = 1)

CALL(cuEventSynchronize, Event *e)
{
    BEGIN(1)
    if (e->recorded && e->behind > e->stream->done)
        do_work(e->stream, (int)(e->behind - e->stream->done));
    END
}

SHORT(cuEventElapsedTime, 1, (float *ms, Event *first, Event *last),
      code = first->timed && last->timed && first->recorded && last->recorded ? OK : INVALID;
      *ms = 0.25f)

/* ---- memory, copies, launches ---- */

SHORT(cuMemAlloc_v2, 1, (uint64_t * out, size_t bytes), void *p = NULL; code = take(&p, bytes, 0);
      *out = (uint64_t)(uintptr_t)p)

CALL(cuMemFree_v2, uint64_t p)
{
    BEGIN(0)
    for (int i = 0; i < MOST_STREAMS; i++) /* it waits for what may use the memory */
        if (fake.stream[i])
            do_work(fake.stream[i], fake.stream[i]->count);
    code = give((void *)(uintptr_t)p, 0);
    END
}

SHORT(cuMemHostAlloc, 1, (void **out, size_t bytes, unsigned flags), code = take(out, bytes, 1))
SHORT(cuMemFreeHost, 0, (void *p), code = give(p, 1))

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

SHORT(cuMemcpyHtoDAsync_v2, 1, (uint64_t to, const void *from, size_t bytes, Stream *s),
      code = copy(s, (void *)(uintptr_t)to, from, bytes, from, (void *)(uintptr_t)to))
SHORT(cuMemcpyDtoHAsync_v2, 1, (void *to, uint64_t from, size_t bytes, Stream *s),
      code = copy(s, to, (void *)(uintptr_t)from, bytes, to, (void *)(uintptr_t)from))

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
