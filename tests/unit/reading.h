/* Shared by the tests of cameras and readers: where data lies, files of one's own, small rasters. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "input/scene_open.h"
#include "tests/case.h"

#include <gdal.h>
#include <sys/stat.h>

#define DATA SDM_SOURCE_DIR "/../shared/data/"

static inline bool have(const char *path)
{
    return access(path, R_OK) == 0;
}

/* Skip the running test when its data is not there. */
#define NEED(path)                                                                                           \
    do {                                                                                                     \
        if (!have(path)) {                                                                                   \
            print_message("no %s: skipped\n", (path));                                                       \
            skip();                                                                                          \
        }                                                                                                    \
    } while (0)

/* A folder of its own for the test program. */
static inline const char *scratch(void)
{
    static char folder[64];
    if (!*folder) {
        strcpy(folder, "/tmp/sdm_read_XXXXXX");
        assert_non_null(mkdtemp(folder));
    }
    return folder;
}

static inline void put_file(const char *path, const void *bytes, size_t count)
{
    FILE *const f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, count, f), count);
    fclose(f);
}

/* First `keep` bytes of a file (all when 0) to another place. */
static inline void copy_file(const char *from, const char *to, size_t keep)
{
    struct stat at;
    assert_int_equal(stat(from, &at), 0);
    const size_t size = (size_t)at.st_size, n = keep && keep < size ? keep : size;
    FREED char *const bytes = malloc(n + 1);
    FILE *const f = fopen(from, "rb");
    assert_non_null(f);
    assert_int_equal(fread(bytes, 1, n, f), n);
    fclose(f);
    put_file(to, bytes, n);
}
