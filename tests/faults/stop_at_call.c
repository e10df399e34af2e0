/* To be preloaded: the process dies, as by SIGKILL, right before the n-th call that renames or removes a
 * file. SDM_STOP_AT=N; without it every call goes through.  SDM_CRASH_AT=N: the n-th reading of pixels goes
 * as on a file that brings its library down, by SIGSEGV. */
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

__attribute__((visibility("default"))) int GDALRasterIO(void *band, int way, int x, int y, int w, int h,
                                                        void *data, int cols, int rows, int type, int pixel,
                                                        int line)
{
    static long calls;
    const char *const at = getenv("SDM_CRASH_AT");
    int (*next)(void *, int, int, int, int, int, void *, int, int, int, int, int);
    find("GDALRasterIO", &next, sizeof next);
    if (at && way == 0 && __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) == strtol(at, NULL, 10))
        raise(SIGSEGV);
    return next(band, way, x, y, w, h, data, cols, rows, type, pixel, line);
}
