/* A file of key, data and their hash for each thing that is kept. */
// SPDX-License-Identifier: Apache-2.0
#include "device_cache.h"

#include "core/file.h"
#include "core/hash.h"
#include "core/system.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = SDM_PATH_SIZE, MAX_BYTES = 256 << 20 };
static const char magic[16] = "stereodem prog2";

typedef struct Head { /* then the key, then the data */
    char magic[16];
    uint64_t key_bytes, data_bytes, hash;
} Head;

/* Name the folder of the cache, and make it and the one above it.  False: there is no place for a cache. */
static bool folder_of(char out[PATH_SIZE], bool make)
{
    const char *const cache = getenv("XDG_CACHE_HOME"), *const home = getenv("HOME");
    int n;
    if (cache && sdm_system_is_absolute(cache))
        n = snprintf(out, PATH_SIZE, "%s", cache);
    else if (home && sdm_system_is_absolute(home))
        n = snprintf(out, PATH_SIZE, "%s/.cache", home);
    else
        return false;
    if (n < 0 || n > PATH_SIZE - 64)
        return false;
    if (make && sdm_system_make_folder(out, 0700) != 0 && errno != EEXIST)
        return false;
    strcat(out, "/stereodem");
    return !make || sdm_system_make_folder(out, 0700) == 0 || errno == EEXIST;
}

static bool name_of(const char *key, bool make, char out[PATH_SIZE])
{
    const size_t n = strlen(key);
    if (!folder_of(out, make))
        return false;
    const size_t at = strlen(out);
    snprintf(out + at, PATH_SIZE - at, "/%016llx.bin", (unsigned long long)sdm_hash(0, key, n));
    return true;
}

/* Does the file hold the data of that key, undamaged? */
static bool is_good(const char *file, size_t size, const char *key)
{
    const size_t n = strlen(key);
    Head head;
    if (size < sizeof head + n)
        return false;
    memcpy(&head, file, sizeof head);
    return memcmp(head.magic, magic, sizeof magic) == 0 && head.key_bytes == n && head.data_bytes > 0 &&
           head.data_bytes == size - sizeof head - n && memcmp(file + sizeof head, key, n) == 0 &&
           sdm_hash(0, file + sizeof head + n, head.data_bytes) == head.hash;
}

void sdm_cache_read(SdmContext *ctx, const char *key, char **out, size_t *bytes)
{
    char path[PATH_SIZE];
    size_t size;
    const size_t before = sizeof(Head) + strlen(key);
    *out = NULL;
    *bytes = 0;
    if (!name_of(key, false, path) || access(path, R_OK) != 0 || /* not there: no failure */
        sdm_file_read(ctx, path, MAX_BYTES, out, &size) != SDM_OK)
        return;
    if (!is_good(*out, size, key)) {
        sdm_free(out);
        return;
    }
    *bytes = size - before;
    memmove(*out, *out + before, *bytes);
}

void sdm_cache_write(SdmContext *ctx, const char *key, const void *data, size_t bytes)
{
    char path[PATH_SIZE];
    SdmFileWriter w;
    Head head = {.key_bytes = strlen(key), .data_bytes = bytes, .hash = sdm_hash(0, data, bytes)};
    memcpy(head.magic, magic, sizeof magic);
    if (!name_of(key, true, path)) {
        sdm_log(ctx, SDM_LOG_VERBOSE, 0,
                "no folder for a cache in $XDG_CACHE_HOME or ~/.cache, so kernels are built each "
                "time");
        return;
    }
    if (sdm_file_create(ctx, path, &w) != SDM_OK) {
        sdm_log(ctx, SDM_LOG_VERBOSE, 0, "%s; kernels are built each time",
                sdm_error(ctx));
        return;
    }
    sdm_file_put(&w, &head, sizeof head);
    sdm_file_put(&w, key, head.key_bytes);
    sdm_file_put(&w, data, bytes);
    if (sdm_file_commit(ctx, &w, false) != SDM_OK)
        sdm_log(ctx, SDM_LOG_VERBOSE, 0, "%s; kernels are built each time",
                sdm_error(ctx));
}
