/* Files of the system and the environment -> memory and processors of the process. */
// SPDX-License-Identifier: Apache-2.0
#include "core/machine.h"
#include "core/context.h"
#include "core/system.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <omp.h>
#include <unistd.h>

enum { LINE = 1024, PATH = 3 * LINE };

/* ---- control groups ---- */

/* The first line of a file; false: there is none. */
static bool read_line(const char *path, char *out, int size)
{
    FILE *const f = fopen(path, "r");
    const bool read = f && fgets(out, size, f);
    if (f)
        fclose(f);
    return read;
}

static void bound_memory(const char *folder, const char *file, SdmGrant *out)
{
    char path[PATH], text[64], *end;
    snprintf(path, sizeof path, "%.2048s/%s", folder, file);
    const long long bytes = read_line(path, text, sizeof text) ? strtoll(text, &end, 10) : 0;
    if (bytes > 0 && bytes < out->memory_bytes) /* "max": 0 */
        out->memory_bytes = bytes;
}

static void bound_processors(double quota_us, double period_us, SdmGrant *out)
{
    if (quota_us > 0.0 && period_us > 0.0)
        out->processors = fmin(out->processors, quota_us / period_us);
}

/* The files of one group, of either version. */
static void bound(const char *folder, SdmGrant *out)
{
    char path[PATH], text[64];
    long long quota = 0, period = 0;
    bound_memory(folder, "memory.max", out);
    bound_memory(folder, "memory.high", out);
    bound_memory(folder, "memory.limit_in_bytes", out);
    snprintf(path, sizeof path, "%.2048s/cpu.max", folder);
    if (read_line(path, text, sizeof text) && sscanf(text, "%lld %lld", &quota, &period) == 2)
        bound_processors((double)quota, (double)period, out);
    snprintf(path, sizeof path, "%.2048s/cpu.cfs_quota_us", folder);
    quota = read_line(path, text, sizeof text) ? strtoll(text, NULL, 10) : 0; /* -1: no limit */
    snprintf(path, sizeof path, "%.2048s/cpu.cfs_period_us", folder);
    period = read_line(path, text, sizeof text) ? strtoll(text, NULL, 10) : 0;
    bound_processors((double)quota, (double)period, out);
}

/* The group and all above it.  In a container its path may be the host's: what is not there is passed
 * over. */
static void climb(const char *mount, const char *group, SdmGrant *out)
{
    char path[PATH];
    snprintf(path, sizeof path, "%.1024s%.1024s", mount, group);
    for (size_t top = strlen(mount);;) {
        bound(path, out);
        char *const slash = strrchr(path, '/');
        if (strlen(path) <= top || !slash || (size_t)(slash - path) < top)
            break;
        *slash = '\0';
    }
}

void sdm_grant_read(const char *root, SdmGrant *out)
{
    char path[LINE], line[LINE], mount[PATH];
    *out = (SdmGrant){.memory_bytes = INT64_MAX, .processors = INFINITY};
    snprintf(path, sizeof path, "%.900s/proc/self/cgroup", root);
    FILE *const f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) { /* "4:cpu,cpuacct:/a/b", version 2: "0::/a/b" */
        char *const names = strchr(line, ':'), *const group = names ? strchr(names + 1, ':') : NULL;
        if (!group)
            continue;
        *group = '\0';
        group[1 + strcspn(group + 1, "\n")] = '\0';
        const char *const mounts[] = {names + 1, names[1] ? "cpu" : "unified"};
        for (int i = 0; i < 2; i++) {
            snprintf(mount, sizeof mount, "%.900s/sys/fs/cgroup%s%s", root, *mounts[i] ? "/" : "", mounts[i]);
            climb(mount, group + 1, out);
            if (!strstr(names + 1, "cpu") && names[1])
                break;
        }
    }
    if (f)
        fclose(f);
}

/* ---- memory ---- */

/* Bytes that the process may have; INT64_MAX: not known. */
static int64_t memory_limit(void)
{
    SdmGrant grant;
    sdm_grant_read("", &grant);
    const int64_t all = sdm_system_memory();
    return grant.memory_bytes < all ? grant.memory_bytes : all;
}

int64_t sdm_usual_memory(void)
{
    const int64_t usual = INT64_C(2) << 30, least = INT64_C(64) << 20, mib = INT64_C(1) << 20;
    const int64_t share = memory_limit() / 4 * 3 / mib * mib;
    return share >= usual ? usual : share > least ? share : least;
}

void sdm_memory_check(SdmContext *ctx, int64_t bytes)
{
    const int64_t most = memory_limit();
    if (bytes > most)
        sdm_log(ctx, SDM_LOG_WARNING, 0,
                "--memory is %lld MiB, but the machine or its control group (container, job) grants %lld "
                "MiB: the system may kill the process; give %lld MiB or less",
                (long long)(bytes >> 20), (long long)(most >> 20), (long long)(most / 4 * 3 >> 20));
}

/* ---- threads ---- */

enum { LEAST_STACK = 256 << 10, SPARE = 4 /* threads beside OpenMP's: leases, reader, writer */ };

int sdm_usual_threads(void)
{
    SdmGrant grant;
    sdm_grant_read("", &grant);
    int n = omp_get_num_procs();
    n = omp_get_max_threads() < n ? omp_get_max_threads() : n; /* OMP_NUM_THREADS */
    n = grant.processors < n ? (int)ceil(grant.processors) : n;
    return n < 1 ? 1 : n;
}

/* The process that called first: it may have OpenMP's threads; 0: none yet. */
static atomic_long caller;

/* A process that was forked after a call has the records of OpenMP's threads, but not the threads: the
 * runtime of gcc would wait for them for ever. */
static bool is_fork_of_caller(void)
{
    long first = 0;
    const long me = (long)getpid();
    return !atomic_compare_exchange_strong(&caller, &first, me) && first != me;
}

static atomic_int calls; /* at work in the caller */

void sdm_calls_add(int count)
{
    if (atomic_load(&caller) == (long)getpid())
        atomic_fetch_add(&calls, count);
}

/* Bytes of "64K", in units of 1024 without a letter, as OpenMP has it; 0: not set, or no size. */
static int64_t stack_of(const char *variable)
{
    const char *const text = getenv(variable);
    char *end = NULL;
    const long long n = text ? strtoll(text, &end, 10) : 0;
    if (n <= 0 || n > 1 << 20)
        return 0;
    while (isspace((unsigned char)*end))
        end++;
    const char letter = (char)toupper((unsigned char)*end);
    return letter == 'B' ? n : letter == 'M' ? n << 20 : letter == 'G' ? n << 30 : n << 10;
}

static SdmStatus check_stack(SdmContext *ctx)
{
    static const char *const variables[] = {"OMP_STACKSIZE", "GOMP_STACKSIZE"};
    pthread_attr_t usual;
    size_t bytes = LEAST_STACK;
    for (int i = 0; i < 2; i++) {
        const int64_t given = stack_of(variables[i]);
        if (given > 0 && given < LEAST_STACK)
            return sdm_fail(ctx, SDM_ERR_USAGE,
                            "%s=%s in the environment: threads need a stack of at least %d KiB; unset it",
                            variables[i], getenv(variables[i]), LEAST_STACK >> 10);
        if (given > 0)
            return SDM_OK;
    }
    if (pthread_attr_init(&usual) == 0) {
        pthread_attr_getstacksize(&usual, &bytes);
        pthread_attr_destroy(&usual);
    }
    return bytes == 0 || bytes >= LEAST_STACK /* 0: what the program's file says, 2 MiB on Windows */
               ? SDM_OK
               : sdm_fail(ctx, SDM_ERR_USAGE,
                          "the limit of the stack is %zu KiB: threads need at least %d KiB; "
                          "raise it (ulimit -s 8192)",
                          bytes >> 10, LEAST_STACK >> 10);
}

static void *pass(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

/* Start `count` threads for a moment; returns how many the system started.  OpenMP's runtime would end the
 * process where one cannot be started. */
static int try_threads(int count)
{
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t *const thread = malloc((size_t)count * sizeof *thread);
    int made = 0;
    pthread_mutex_lock(&gate);
    while (thread && made < count && pthread_create(&thread[made], NULL, pass, &gate) == 0)
        made++;
    pthread_mutex_unlock(&gate);
    for (int i = 0; i < made; i++)
        pthread_join(thread[i], NULL);
    free(thread);
    pthread_mutex_destroy(&gate);
    return made;
}

SdmStatus sdm_threads_check(SdmContext *ctx)
{
    const bool fork = is_fork_of_caller();
    if (fork && atomic_load(&calls) > 0)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "the process was forked while a call of the library was at work in another thread, "
                        "whose locks nobody opens here; fork between calls, or start processes by spawn");
    if (fork) {
        ctx->threads = ctx->threads_most = 1;
        sdm_log(ctx, SDM_LOG_INFO, 0,
                "1 thread is used: the process was forked after a call of the library, and threads do not "
                "outlive a fork; for more, start processes by spawn, or fork before the first call");
        return SDM_OK;
    }
    PASS(check_stack(ctx));
    const int wanted = sdm_threads(ctx), others = wanted > 1 ? try_threads(wanted - 1 + SPARE) - SPARE : 0;
    if (others < wanted - 1) {
        ctx->threads = ctx->threads_most = others > 0 ? others + 1 : 1;
        sdm_log(ctx, SDM_LOG_WARNING, 0,
                "%d of %d threads are used: the system starts no more (limit of processes: ulimit -u, "
                "pids.max of a control group; or of memory)",
                ctx->threads, wanted);
    }
    return SDM_OK;
}

enum { MOST_THREADS = 4 /* for each processor */, LEAST_UNITS = 1 << 20 /* of work for each thread */ };

int sdm_threads(const SdmContext *ctx)
{
    /* more threads would only take turns, each with buffers of its own */
    const int wanted = ctx->threads, limit = MOST_THREADS * omp_get_num_procs(),
              most = wanted < limit ? wanted : limit;
    return ctx->thread_limit > 0 && ctx->thread_limit < most ? ctx->thread_limit : most;
}

int sdm_thread_limit_begin(SdmContext *ctx, int64_t units)
{
    const int before = ctx->thread_limit;
    const int64_t threads = units / LEAST_UNITS;
    ctx->thread_limit = threads < 1 ? 1 : threads < INT_MAX ? (int)threads : INT_MAX;
    return before;
}

void sdm_thread_limit_end(SdmContext *ctx, int before)
{
    ctx->thread_limit = before;
}

int sdm_thread(void)
{
    return omp_get_thread_num();
}
