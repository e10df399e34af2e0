/* The operating system: Linux and others of POSIX. */
// SPDX-License-Identifier: Apache-2.0
#ifndef _WIN32
#define _GNU_SOURCE /* dladdr */
#include "core/system.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif

const char sdm_system_list_separator[] = ":";

bool sdm_system_module(char *out, size_t size)
{
    static const char inside = 0;
    Dl_info own = {0};
    char real[PATH_MAX];
    const char *path = dladdr(&inside, &own) ? own.dli_fname : NULL;
#ifdef __linux__ /* of the program dladdr only gives the name that it was called by */
    Dl_info program = {0};
    if (path && dladdr((const void *)(uintptr_t)getauxval(AT_PHDR), &program) &&
        program.dli_fbase == own.dli_fbase)
        path = "/proc/self/exe";
#endif
    return path && realpath(path, real) && strlen(real) < size && snprintf(out, size, "%s", real) > 0;
}

#endif
