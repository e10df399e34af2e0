/* To be preloaded: the process dies, as by SIGKILL, right before the n-th call that renames or removes a
 * file. SDM_STOP_AT=N; without it every call goes through. */
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void count_call(void)
{
    static long calls;
    const char *const at = getenv("SDM_STOP_AT");
    if (at && ++calls == strtol(at, NULL, 10))
        raise(SIGKILL);
}

static void find(const char *name, void *function, size_t size)
{
    void *const symbol = dlsym(RTLD_NEXT, name);
    memcpy(function, &symbol, size);
}

__attribute__((visibility("default"))) int rename(const char *from, const char *to)
{
    int (*next)(const char *, const char *);
    find("rename", &next, sizeof next);
    count_call();
    return next(from, to);
}

__attribute__((visibility("default"))) int unlinkat(int folder, const char *name, int flags)
{
    int (*next)(int, const char *, int);
    find("unlinkat", &next, sizeof next);
    count_call();
    return next(folder, name, flags);
}

__attribute__((visibility("default"))) int rmdir(const char *name)
{
    int (*next)(const char *);
    find("rmdir", &next, sizeof next);
    count_call();
    return next(name);
}
