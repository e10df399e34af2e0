/* To be preloaded: OpenCL's calls that work on a device (buffers, copies, launches, waits) fail from the n-th
 * on, as the driver's do when a device is lost or its memory is used up.  SDM_FAIL_AT=N; SDM_FAIL_TIMES=K
 * calls (none given: all that follow); SDM_FAIL_WITH=-5 is OpenCL's error.  SDM_MOST_ITEMS=N: kernels without a size of
 * their own refuse groups of more items, as drivers do where kernels take many registers.  SDM_CONTEXTS=N: no more contexts
 * than N at a time.  SDM_FAIL_CALL=clFlush: the call of that name always fails, whichever it is.  The program finds OpenCL
 * with dlsym(), so that is what is caught here. */
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN __attribute__((visibility("default")))

static long number(const char *name, long otherwise)
{
    const char *const text = getenv(name);
    return text ? strtol(text, NULL, 10) : otherwise;
}

/* OpenCL's error of this call, 0 = it goes through. */
static int32_t error_now(void)
{
    static atomic_long calls;
    const long n = atomic_fetch_add(&calls, 1) + 1, at = number("SDM_FAIL_AT", 0),
               times = number("SDM_FAIL_TIMES", 0);
    return at > 0 && n >= at && (times == 0 || n < at + times) ? (int32_t)number("SDM_FAIL_WITH", -5) : 0;
}

typedef int32_t finish_fn(void *queue);
typedef int32_t write_fn(void *, void *, uint32_t, size_t, size_t, const void *, uint32_t, const void *,
                         void *);
typedef int32_t read_fn(void *, void *, uint32_t, size_t, size_t, void *, uint32_t, const void *, void *);
typedef int32_t launch_fn(void *, void *, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t,
                          const void *, void *);
typedef int32_t group_fn(void *kernel, void *device, uint32_t what, size_t size, void *value, size_t *n);
typedef void *create_fn(void *, uint64_t, size_t, void *, int32_t *);
typedef int32_t release_fn(void *);
typedef void *context_fn(const intptr_t *, uint32_t, void *const *, void *, void *, int32_t *);

static struct {
    finish_fn *finish;
    write_fn *write;
    read_fn *read;
    launch_fn *launch;
    group_fn *group;
    create_fn *create;
    release_fn *leave;
    context_fn *context;
} next;

static int32_t finish(void *queue)
{
    const int32_t e = error_now();
    const int32_t st = next.finish(queue); /* what is queued is let run: its memory goes away */
    return e ? e : st;
}

static int32_t write_buffer(void *q, void *b, uint32_t wait, size_t at, size_t n, const void *from,
                            uint32_t k, const void *list, void *event)
{
    const int32_t e = error_now();
    return e ? e : next.write(q, b, wait, at, n, from, k, list, event);
}

static int32_t read_buffer(void *q, void *b, uint32_t wait, size_t at, size_t n, void *to, uint32_t k,
                           const void *list, void *event)
{
    const int32_t e = error_now();
    return e ? e : next.read(q, b, wait, at, n, to, k, list, event);
}

enum { WORK_GROUP_SIZE = 0x11B0, COMPILE_WORK_GROUP_SIZE = 0x11B1, INVALID_WORK_GROUP_SIZE = -54 };
static void *_Atomic any_device;

/* Work items that a group of the kernel may have; 0: as the driver likes. */
static size_t most_items(void *kernel)
{
    size_t own[3] = {1, 1, 1};
    const long most = number("SDM_MOST_ITEMS", 0);
    return most > 0 && next.group &&
                   next.group(kernel, any_device, COMPILE_WORK_GROUP_SIZE, sizeof own, own, NULL) == 0 &&
                   own[0] == 0
               ? (size_t)most
               : 0;
}

static int32_t group_info(void *kernel, void *device, uint32_t what, size_t size, void *value, size_t *n)
{
    any_device = device;
    const size_t most = what == WORK_GROUP_SIZE ? most_items(kernel) : 0;
    const int32_t st = next.group(kernel, device, what, size, value, n);
    if (st == 0 && most > 0)
        memcpy(value, &most, sizeof most);
    return st;
}

static int32_t launch(void *q, void *kernel, uint32_t dim, const size_t *first, const size_t *items,
                      const size_t *group, uint32_t k, const void *list, void *event)
{
    const int32_t e = error_now();
    const size_t most = most_items(kernel);
    if (most > 0 && group[0] * group[1] * group[2] > most)
        return INVALID_WORK_GROUP_SIZE;
    return e ? e : next.launch(q, kernel, dim, first, items, group, k, list, event);
}

static void *create_buffer(void *context, uint64_t flags, size_t n, void *from, int32_t *code)
{
    *code = error_now();
    return *code ? NULL : next.create(context, flags, n, from, code);
}

/* ---- contexts ---- */

static atomic_long contexts;

static void *create_context(const intptr_t *p, uint32_t n, void *const *devices, void *notify, void *user,
                            int32_t *code)
{
    const long most = number("SDM_CONTEXTS", 0);
    if (most > 0 && atomic_load(&contexts) >= most) {
        *code = -5;
        return NULL;
    }
    atomic_fetch_add(&contexts, 1);
    return next.context(p, n, devices, notify, user, code);
}

static int32_t release_context(void *context)
{
    atomic_fetch_sub(&contexts, 1);
    return next.leave(context);
}

/* ---- a call that always fails ---- */

/* The number of arguments is the caller's: those that say by a pointer what failed have it at one of three places. */
static int32_t refuse_status(void)
{
    return (int32_t)number("SDM_FAIL_WITH", -5);
}

#define REFUSE(name, ...)                                                                                    \
    static void *name(__VA_ARGS__, int32_t *code)                                                            \
    {                                                                                                        \
        *code = refuse_status();                                                                             \
        return NULL;                                                                                         \
    }
REFUSE(refuse_kernel, void *program, const char *name)
REFUSE(refuse_queue, void *context, void *device, uint64_t properties)
REFUSE(refuse_buffer, void *context, uint64_t flags, size_t n, void *from)
REFUSE(refuse_source, void *context, uint32_t n, const char **text, const size_t *bytes)
REFUSE(refuse_binary, void *context, uint32_t n, void *const *devices, const size_t *bytes,
       const unsigned char **data, int32_t *status)
REFUSE(refuse_context, const intptr_t *p, uint32_t n, void *const *devices, void *notify, void *user)
REFUSE(refuse_map, void *queue, void *buffer, uint32_t wait, uint64_t flags, size_t at, size_t n, uint32_t k,
       const void *list, void *event)

static void *refusal(const char *name)
{
    static const struct {
        const char *name;
        void *function;
    } all[] = {{"clCreateContext", (void *)(uintptr_t)&refuse_context},
               {"clCreateCommandQueue", (void *)(uintptr_t)&refuse_queue},
               {"clCreateProgramWithSource", (void *)(uintptr_t)&refuse_source},
               {"clCreateProgramWithBinary", (void *)(uintptr_t)&refuse_binary},
               {"clCreateKernel", (void *)(uintptr_t)&refuse_kernel},
               {"clCreateBuffer", (void *)(uintptr_t)&refuse_buffer},
               {"clEnqueueMapBuffer", (void *)(uintptr_t)&refuse_map}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].function;
    return (void *)(uintptr_t)&refuse_status; /* the other calls give back a status alone */
}

/* Ours in place of `found`, which goes to *slot. */
static void *instead(void *found, void *slot, void *ours)
{
    memcpy(slot, &found, sizeof found);
    return found ? ours : NULL;
}

SHOWN void *dlsym(void *handle, const char *name)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.17"};
    static void *(*real)(void *, const char *);
    for (size_t i = 0; !real && i < sizeof versions / sizeof *versions; i++) {
        void *const symbol = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
        memcpy(&real, &symbol, sizeof real);
    }
    void *const found = real(handle, name);
    const char *const failing = getenv("SDM_FAIL_CALL");
    if (found && failing && strcmp(name, failing) == 0)
        return refusal(name);
#define CATCH(symbol, slot, function)                                                                        \
    if (strcmp(name, symbol) == 0)                                                                           \
    return instead(found, &next.slot, (void *)(uintptr_t)&function)
    CATCH("clFinish", finish, finish);
    CATCH("clEnqueueWriteBuffer", write, write_buffer);
    CATCH("clEnqueueReadBuffer", read, read_buffer);
    CATCH("clEnqueueNDRangeKernel", launch, launch);
    CATCH("clGetKernelWorkGroupInfo", group, group_info);
    CATCH("clCreateBuffer", create, create_buffer);
    CATCH("clCreateContext", context, create_context);
    CATCH("clReleaseContext", leave, release_context);
    return found;
}
