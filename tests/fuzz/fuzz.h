/* A fuzz target: takes any bytes, must neither crash nor leak nor hang; aborts on a wrong answer, too.
 * With clang it is libFuzzer's entry, with other compilers driver.c calls it. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char fuzz_folder[] = "/tmp/stereodem_fuzz_XXXXXX", fuzz_path[64];

static inline void fuzz_leave(void)
{
    remove(fuzz_path);
    rmdir(fuzz_folder);
}

/* The path of a file with that name in a folder of its own; both go when the program ends. */
static inline const char *fuzz_file(const char *name)
{
    if (*fuzz_path)
        return fuzz_path;
    if (!mkdtemp(fuzz_folder))
        abort();
    snprintf(fuzz_path, sizeof fuzz_path, "%s/%s", fuzz_folder, name);
    atexit(fuzz_leave);
    return fuzz_path;
}

/* Put the input into a file. */
static inline void fuzz_write(const char *path, const uint8_t *data, size_t size)
{
    FILE *const f = fopen(path, "wb");
    if (!f || fwrite(data, 1, size, f) != size || fclose(f) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A target that is given a context of default options. */
#define FUZZ_IN(ctx)                                                                                         \
    static void fuzz_in(SdmContext *ctx, const uint8_t *data, size_t size);                                  \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)                                             \
    {                                                                                                        \
        SdmContext *made = NULL;                                                                             \
        if (sdm_open(&made, NULL) == SDM_OK)                                                                 \
            fuzz_in(made, data, size);                                                                       \
        sdm_close(&made);                                                                                    \
        return 0;                                                                                            \
    }                                                                                                        \
    static void fuzz_in(SdmContext *ctx, const uint8_t *data, size_t size)
