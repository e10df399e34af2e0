/* Launches -> fibers on the processor, see simulator.h. */
// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "simulator.h"

#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MOST_ITEMS = 256, STACK = 1 << 20, MOST_KERNELS = 128 };

SdmSimulation sdm_sim = {.item = -1, .now = {1, 1}};

static struct {
    enum SdmSimulated kind;
    const SdmSimKernel *kernels;
    bool launched[MOST_KERNELS];
    int group[3], groups[3], items[3]; /* the one that runs; how many; items of each */
    const SdmSimKernel *kernel;
    const SdmArg *args;
    char *stacks;
    const void *own_stack; /* the scheduler's, as the sanitizer knows it */
    size_t own_stack_bytes;
    bool abandoned; /* items of the last group never came to their end: their frames are on the stacks */
    void *scheduler, *item[MOST_ITEMS]; /* stack pointers */
    struct {
        bool done;
        const char *file; /* of the barrier where it waits */
        int line;
        bool global;
    } state[MOST_ITEMS];
    double seconds;
} sim;

void sdm_sim_find(void *pc, const char *format, ...)
{
    va_list list;
    if (sdm_sim.finding[0])
        return;
    sdm_sim.found_at = pc;
    va_start(list, format);
    vsnprintf(sdm_sim.finding, sizeof sdm_sim.finding, format, list);
    va_end(list);
}

/* ---- fibers ---- */

/* Go on with the stack `to`, whose place *from gets when somebody comes back: registers that a call keeps
 * are on it. */
void sdm_sim_switch(void **from, void *to);
__asm__(".text\n"
        "sdm_sim_switch:\n"
        "push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
        "mov %rsp, (%rdi)\n"
        "mov %rsi, %rsp\n"
        "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n"
        "ret\n");

/* An item runs until its next barrier or its end. */
static void run_until_barrier(int item)
{
    void *frames = NULL;
    __sanitizer_start_switch_fiber(&frames, sim.stacks + (size_t)item * STACK, STACK);
    sdm_sim.item = item;
    sdm_sim_switch(&sim.scheduler, sim.item[item]);
    sdm_sim.item = -1;
    __sanitizer_finish_switch_fiber(frames, NULL, NULL);
}

/* The item at hand waits for the others. */
static void wait(void)
{
    void *frames = NULL;
    __sanitizer_start_switch_fiber(&frames, sim.own_stack, sim.own_stack_bytes);
    sdm_sim_switch(&sim.item[sdm_sim.item], sim.scheduler);
    __sanitizer_finish_switch_fiber(frames, &sim.own_stack, &sim.own_stack_bytes);
}

static void run_item(void)
{
    __sanitizer_finish_switch_fiber(NULL, &sim.own_stack, &sim.own_stack_bytes);
    sim.kernel->call(sim.args);
    sim.state[sdm_sim.item].done = true;
    wait();
}

static void *new_stack(int item)
{
    char *const low = sim.stacks + (size_t)item * STACK;
    void **top = (void **)(void *)(low + STACK);
    const size_t left =
        sim.abandoned ? STACK : 1024; /* of the stack may hold frames: run_item() never returns */
    __asan_unpoison_memory_region(low + STACK - left, left);
    *--top = NULL; /* where run_item() would return to */
    *--top = (void *)(uintptr_t)run_item;
    for (int i = 0; i < 6; i++)
        *--top = NULL;
    return top;
}

int sdm_sim_item(int axis)
{
    const int x = sim.items[0], y = sim.items[1], i = sdm_sim.item;
    return axis == 0 ? i % x : axis == 1 ? i / x % y : i / (x * y);
}

int sdm_sim_group(int axis)
{
    return sim.group[axis];
}

int sdm_sim_items(int axis)
{
    return sim.items[axis];
}

void sdm_sim_barrier(const char *file, int line, bool global)
{
    const int i = sdm_sim.item;
    const char *const slash = strrchr(file, '/');
    sim.state[i].file = slash ? slash + 1 : file;
    sim.state[i].line = line;
    sim.state[i].global = global;
    wait();
}

/* Every item has come to an end or to a barrier: the same? */
static bool all_agree(int count)
{
    for (int i = 1; i < count; i++) {
        if (sim.state[i].done != sim.state[0].done) {
            const int waits = sim.state[i].done ? 0 : i;
            sdm_sim_find(NULL, "divergent barrier: item %d waits at %s:%d, item %d has returned", waits,
                         sim.state[waits].file, sim.state[waits].line, waits ? 0 : i);
        } else if (!sim.state[0].done && (sim.state[i].line != sim.state[0].line ||
                                          strcmp(sim.state[i].file, sim.state[0].file) != 0))
            sdm_sim_find(NULL, "divergent barrier: item 0 waits at %s:%d, item %d at %s:%d",
                         sim.state[0].file, sim.state[0].line, i, sim.state[i].file, sim.state[i].line);
    }
    return !sdm_sim.finding[0];
}

/* A new one, for both kinds of memory. */
static uint32_t next_interval(void)
{
    const uint32_t last = sdm_sim.now[0] > sdm_sim.now[1] ? sdm_sim.now[0] : sdm_sim.now[1];
    return sdm_sim.now[0] = sdm_sim.now[1] = last + 1;
}

static void run_group(int count)
{
    sdm_sim.group = next_interval();
    for (int i = 0; i < count; i++) {
        sim.item[i] = new_stack(i);
        sim.state[i].done = false;
    }
    sim.abandoned = false;
    do {
        for (int i = 0; i < count; i++)
            run_until_barrier(i);
        sim.abandoned = !all_agree(count);
        if (sim.abandoned)
            return;
        sdm_sim.now[1]++;
        sdm_sim.now[0] += sim.state[0].global;
    } while (!sim.state[0].done);
}

/* ---- arguments ---- */

static const SdmArg *argument(const SdmArg *a, int i, enum SdmArgKind kind)
{
    if (a[i].kind != kind)
        sdm_sim_find(NULL, "argument %d is of another kind", i);
    return &a[i];
}

void *sdm_sim_pointer(const SdmArg *a, int i)
{
    const SdmBuffer *const b = argument(a, i, SDM_ARG_BUFFER)->buffer;
    return b ? b->handle : NULL;
}

int32_t sdm_sim_int(const SdmArg *a, int i)
{
    return argument(a, i, SDM_ARG_INT)->i;
}

int64_t sdm_sim_long(const SdmArg *a, int i)
{
    return argument(a, i, SDM_ARG_LONG)->l;
}

float sdm_sim_float(const SdmArg *a, int i)
{
    return argument(a, i, SDM_ARG_FLOAT)->f;
}

/* ---- atomic operations ---- */

uint32_t sdm_sim_exchange(void *p, uint32_t v)
{
    uint32_t *const at = p, old = *at;
    sdm_races_atomic(p, sizeof v, __builtin_return_address(0));
    *at = v;
    return old;
}

uint32_t sdm_sim_add(void *p, uint32_t v)
{
    uint32_t *const at = p, old = *at;
    sdm_races_atomic(p, sizeof v, __builtin_return_address(0));
    *at = old + v;
    return old;
}

uint32_t sdm_sim_min(uint32_t *p, uint32_t v)
{
    const uint32_t old = *p;
    sdm_races_atomic(p, sizeof v, __builtin_return_address(0));
    *p = v < old ? v : old;
    return old;
}

/* ---- the back end ---- */

static int list(SdmDeviceInfo *out, int most, char reason[SDM_REASON_SIZE])
{
    if (most < 1)
        return 0;
    *out = (SdmDeviceInfo){.api = SDM_API_OPENCL,
                           .platform = "tests",
                           .driver = "1",
                           .is_cpu = true,
                           .exact = true,
                           .divides = true,
                           .doubles = true,
                           .memory_bytes = (int64_t)1 << 32,
                           .local_bytes = 32768,
                           .most_bytes = (int64_t)1 << 31,
                           .units = 1,
                           .max_group = MOST_ITEMS};
    snprintf(out->name, sizeof out->name, "simulator of %s", sim.kind == SDM_SIM_RACES ? "races" : "bounds");
    reason[0] = '\0';
    return 1;
}

static int list_none(SdmDeviceInfo *out, int most, char reason[SDM_REASON_SIZE])
{
    snprintf(reason, SDM_REASON_SIZE, "the simulator has its place");
    return 0;
}

static SdmStatus open_device(SdmContext *ctx, SdmDevice *d)
{
    if (!sim.stacks) {
        sim.stacks = mmap(NULL, (size_t)MOST_ITEMS * STACK, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (sim.stacks == MAP_FAILED)
            return sdm_fail(ctx, SDM_ERR_MEMORY, "simulator: no memory for stacks");
        for (int i = 0; i < MOST_ITEMS; i++) /* one that overflows ends the program */
            (void)mprotect(sim.stacks + (size_t)i * STACK, 4096, PROT_NONE);
        sdm_sim.stack_begin = (uintptr_t)sim.stacks;
        sdm_sim.stack_end = sdm_sim.stack_begin + (uintptr_t)MOST_ITEMS * STACK;
    }
    return SDM_OK;
}

static void close_device(SdmDevice *d)
{
}

/* Exactly as long as asked: what lies behind is out of bounds. */
static SdmStatus take(SdmContext *ctx, SdmBuffer *b, const char *what)
{
    b->handle = malloc((size_t)b->bytes);
    if (!b->handle)
        return sdm_fail(ctx, SDM_ERR_MEMORY, "simulator: no memory for %s", what);
    memset(b->handle, 0xA7, (size_t)b->bytes); /* no number that anybody would mean */
    sdm_races_add(what, b->handle, (size_t)b->bytes, false);
    return SDM_OK;
}

static void give(SdmBuffer *b)
{
    sdm_races_remove(b->handle);
    free(b->handle);
}

static SdmStatus upload(SdmContext *ctx, SdmBuffer *to, int64_t offset, const void *from, int64_t bytes,
                        int queue, bool wait)
{
    char *const at = (char *)to->handle + offset;
    memcpy(at, from, (size_t)bytes);
    sdm_races_set(at, (size_t)bytes);
    return SDM_OK;
}

static SdmStatus download(SdmContext *ctx, const SdmBuffer *from, int64_t offset, void *to, int64_t bytes,
                          int queue, bool wait)
{
    memcpy(to, (const char *)from->handle + offset, (size_t)bytes);
    return SDM_OK;
}

static SdmStatus fill(SdmContext *ctx, SdmBuffer *to, int64_t offset, uint8_t value, int64_t bytes, int queue)
{
    char *const at = (char *)to->handle + offset;
    memset(at, value, (size_t)bytes);
    sdm_races_set(at, (size_t)bytes);
    return SDM_OK;
}

/* The finding with the line of the code. */
static SdmStatus tell(SdmContext *ctx, const SdmDevice *d)
{
    char place[256] = "", *name = place;
    if (sdm_sim.found_at)
        __sanitizer_symbolize_pc(sdm_sim.found_at, "%s:%l: ", place, sizeof place);
    name = strrchr(place, '/') ? strrchr(place, '/') + 1 : place;
    return sdm_fail(ctx, SDM_ERR_DEVICE, "%s: %s: %s%s", d->info.name, sim.kernel->name, name,
                    sdm_sim.finding);
}

static void run_groups(void)
{
    const int count = sim.items[0] * sim.items[1] * sim.items[2];
    sdm_sim.launch = next_interval();
    for (int g = 0; g < sim.groups[0] * sim.groups[1] * sim.groups[2] && !sdm_sim.finding[0]; g++) {
        sim.group[0] = g % sim.groups[0];
        sim.group[1] = g / sim.groups[0] % sim.groups[1];
        sim.group[2] = g / (sim.groups[0] * sim.groups[1]);
        run_group(count);
    }
}

static SdmStatus launch(SdmContext *ctx, SdmDevice *d, int queue, const SdmLaunch *l)
{
    int i = 0;
    const double since = sdm_now_s();
    while (sim.kernels[i].name && strcmp(sim.kernels[i].name, l->name) != 0)
        i++;
    if (!sim.kernels[i].name || sim.kernels[i].count != l->arg_count)
        return sdm_fail(ctx, SDM_ERR_DEVICE, "%s: there is no kernel %s of %d arguments", d->info.name,
                        l->name, l->arg_count);
    sim.launched[i] = true;
    sim.kernel = &sim.kernels[i];
    sim.args = l->args;
    memcpy(sim.groups, l->groups, sizeof sim.groups);
    memcpy(sim.items, l->group, sizeof sim.items);
    sdm_sim.finding[0] = '\0';
    run_groups();
    sim.seconds += sdm_now_s() - since;
    return sdm_sim.finding[0] ? tell(ctx, d) : SDM_OK;
}

static SdmStatus finish(SdmContext *ctx, SdmDevice *d, int queue)
{
    return SDM_OK;
}

static SdmStatus seconds(SdmContext *ctx, SdmDevice *d, int queue, double *out)
{
    *out = sim.seconds;
    sim.seconds = 0.0;
    return finish(ctx, d, queue);
}

static SdmStatus lock(SdmDevice *d, int64_t bytes, SdmStaging *s)
{
    s->data = malloc((size_t)bytes);
    return s->data ? SDM_OK : SDM_ERR_MEMORY;
}

static void unlock(SdmDevice *d, SdmStaging *s)
{
    free(s->data);
}

static SdmStatus mark(SdmContext *ctx, SdmDevice *d, int queue, void **out)
{
    *out = d;
    return finish(ctx, d, queue);
}

static SdmStatus await(SdmContext *ctx, SdmDevice *d, void *marked)
{
    return finish(ctx, d, 0);
}

static void forget(SdmDevice *d, void *marked)
{
}

void sdm_simulate(enum SdmSimulated kind)
{
    static const SdmBackEnd simulator = {.list = list,
                                         .open = open_device,
                                         .close = close_device,
                                         .take = take,
                                         .give = give,
                                         .upload = upload,
                                         .download = download,
                                         .fill = fill,
                                         .launch = launch,
                                         .finish = finish,
                                         .pause = finish,
                                         .seconds = seconds,
                                         .lock = lock,
                                         .unlock = unlock,
                                         .mark = mark,
                                         .await = await,
                                         .forget = forget,
                                         .keeps_nothing = true};
    static const SdmBackEnd nothing = {.list = list_none};
    sim.kind = kind;
    sdm_sim.races = kind == SDM_SIM_RACES;
    sim.kernels = kind == SDM_SIM_RACES ? sdm_sim_kernels_races : sdm_sim_kernels_bounds;
    sdm_device_stand_in(SDM_API_OPENCL, &simulator);
    sdm_device_stand_in(SDM_API_CUDA, &nothing);
}

const char *sdm_sim_not_launched(const char *but)
{
    for (int i = 0; sim.kernels[i].name; i++)
        if (!sim.launched[i] && strncmp(sim.kernels[i].name, but, strlen(but)) != 0)
            return sim.kernels[i].name;
    return NULL;
}
