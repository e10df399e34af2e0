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
 *
 * Here: what the calls of fake_cuda.c work on. */
#pragma once

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
