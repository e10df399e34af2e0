/* Programs that a driver built, kept on disk for the next process: a file of key, data and their sum. */
// SPDX-License-Identifier: Apache-2.0
#include "device_inside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 1024 };
static const char magic[16] = "stereodem prog1";

typedef struct Head { /* then the key, then the data */
    char magic[16];
    uint64_t key_bytes, data_bytes, sum;
} Head;

uint64_t sdm_hash64(const void *data, size_t bytes, uint64_t seed)
{
    const unsigned char *const c = data;
    uint64_t h = 0xcbf29ce484222325u ^ seed;
    for (size_t i = 0; i < bytes; i++)
        h = (h ^ c[i]) * 0x100000001b3u;
    return h;
}

/* Make the folder and those above it that belong to it; name it.  False: there is no place for a cache. */
static bool folder_of(char out[PATH_SIZE], bool make)
{
    const char *const cache = getenv("XDG_CACHE_HOME"), *const home = getenv("HOME");
    int n;
    if (cache && cache[0] == '/')
        n = snprintf(out, PATH_SIZE, "%s", cache);
    else if (home && home[0] == '/')
        n = snprintf(out, PATH_SIZE, "%s/.cache", home);
    else
        return false;
    if (n < 0 || n > PATH_SIZE - 64)
        return false;
    if (make && mkdir(out, 0700) != 0 && errno != EEXIST)
        return false;
    strcat(out, "/stereodem");
    return !make || mkdir(out, 0700) == 0 || errno == EEXIST;
}

static bool name_of(const char *key, bool make, char out[PATH_SIZE])
{
    const size_t n = strlen(key);
    if (!folder_of(out, make))
        return false;
    const size_t at = strlen(out);
    snprintf(out + at, PATH_SIZE - at, "/%016llx%016llx.bin", (unsigned long long)sdm_hash64(key, n, 0),
             (unsigned long long)sdm_hash64(key, n, 0x5bd1e995u));
    return true;
}

/* The rest of a file whose head was read; false: damaged, or of another key. */
static bool read_rest(SdmContext *ctx, FILE *f, const Head *head, const char *key, unsigned char **out)
{
    const size_t n = strlen(key), most = (size_t)256 << 20;
    if (memcmp(head->magic, magic, sizeof magic) != 0 || head->key_bytes != n || head->data_bytes == 0 ||
        head->data_bytes > most)
        return false;
    char *found = NULL;
    bool good = sdm_alloc(ctx, &found, n + 1, 1, "a built program") == SDM_OK && fread(found, 1, n, f) == n &&
                memcmp(found, key, n) == 0;
    sdm_free(&found);
    good = good && sdm_alloc(ctx, out, head->data_bytes, 1, "a built program") == SDM_OK &&
           fread(*out, 1, head->data_bytes, f) == head->data_bytes &&
           sdm_hash64(*out, head->data_bytes, 0) == head->sum;
    if (!good)
        sdm_free(out);
    return good;
}

void sdm_cache_read(SdmContext *ctx, const char *key, unsigned char **out, size_t *bytes)
{
    char path[PATH_SIZE];
    Head head;
    *out = NULL;
    *bytes = 0;
    struct stat is;
    FILE *const f = name_of(key, false, path) && stat(path, &is) == 0 && S_ISREG(is.st_mode) /* no pipe */
                        ? fopen(path, "rb")
                        : NULL;
    if (!f)
        return;
    if (fread(&head, sizeof head, 1, f) == 1 && read_rest(ctx, f, &head, key, out))
        *bytes = head.data_bytes;
    fclose(f);
}

void sdm_cache_write(SdmContext *ctx, const char *key, const void *data, size_t bytes)
{
    char path[PATH_SIZE], aside[PATH_SIZE + 32];
    const size_t n = strlen(key);
    Head head = {.key_bytes = n, .data_bytes = bytes, .sum = sdm_hash64(data, bytes, 0)};
    memcpy(head.magic, magic, sizeof magic);
    if (!name_of(key, true, path)) {
        sdm_log(ctx, SDM_LOG_VERBOSE, 0,
                "no folder for a cache in $XDG_CACHE_HOME or ~/.cache, so kernels are built each time");
        return;
    }
    snprintf(aside, sizeof aside, "%s.%ld", path, (long)getpid());
    FILE *const f = fopen(aside, "wb");
    if (!f) {
        sdm_log(ctx, SDM_LOG_VERBOSE, 0, "%s: cannot be written (%s), so kernels are built each time", aside,
                strerror(errno));
        return;
    }
    bool good = fwrite(&head, sizeof head, 1, f) == 1 && fwrite(key, 1, n, f) == n &&
                fwrite(data, 1, bytes, f) == bytes;
    good = (fclose(f) == 0) && good;
    if (!good || rename(aside, path) != 0)
        unlink(aside);
}
