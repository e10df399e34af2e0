/* A folder of the test program's own, and the files in it. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/case.h"

#include <dirent.h>

static char folder[] = "/tmp/sdm_test_XXXXXX"; /* make_folder() gives it its name */

FIXTURE(make_folder)
{
    return mkdtemp(folder) ? 0 : -1;
}

FIXTURE(remove_folder)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

/* The path of a file in it; eight at a time. */
static inline const char *in_folder(const char *name)
{
    static char path[8][512];
    static int last;
    last = (last + 1) % 8;
    snprintf(path[last], sizeof path[last], "%s/%s", folder, name);
    return path[last];
}

static inline void put_bytes(const char *name, const void *bytes, size_t size)
{
    FILE *const f = fopen(in_folder(name), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

/* A whole file, wherever it lies, with a 0 behind it; the caller frees it. */
static inline void *read_path(const char *path, size_t *size)
{
    FILE *const f = fopen(path, "rb");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    char *const data = malloc(*size + 1);
    assert_int_equal(fread(data, 1, *size, f), *size);
    data[*size] = '\0';
    fclose(f);
    return data;
}

static inline void *read_all(const char *name, size_t *size)
{
    return read_path(in_folder(name), size);
}

/* Files whose name starts with one text and contains another. */
static inline int count_parts(const char *start, const char *part)
{
    int n = 0;
    DIR *const d = opendir(folder);
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        n += e->d_name[0] != '.' && !strncmp(e->d_name, start, strlen(start)) && strstr(e->d_name, part);
    closedir(d);
    return n;
}

static inline int count_files(const char *start)
{
    return count_parts(start, "");
}

static inline void empty_folder(void)
{
    char path[512];
    DIR *const d = opendir(folder);
    for (const struct dirent *e = readdir(d); e; e = readdir(d))
        if (snprintf(path, sizeof path, "%s/%s", folder, e->d_name) > 0) /* not in_folder(): it keeps eight */
            unlink(path);
    closedir(d);
}
