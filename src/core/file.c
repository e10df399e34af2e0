/* Files written under a temporary name, checked and renamed; files read whole; folders made. */
// SPDX-License-Identifier: Apache-2.0
#include "core/file.h"
#include "core/system.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char TEMPORARY[] = ".part-";
enum {
    DRAWN = 16, /* digits behind it */
    ASIDE = 40  /* most bytes that names of temporary files and leases add to an output's */
};

uint64_t sdm_file_draw(void)
{
    struct timespec now = {0};
    uint64_t noise = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t word = ((uint64_t)getpid() << 32) ^ (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30;
    if (sdm_system_random(&noise))
        word ^= noise;
    return word;
}

SdmStatus sdm_file_temporary_name(SdmContext *ctx, const char *path, char *out, size_t size)
{
    return sdm_format(ctx, out, size, "%s%s%016" PRIx64, path, TEMPORARY, sdm_file_draw());
}

void sdm_file_remove_in(const char *folder, const char *name)
{
    char path[2 * SDM_PATH_SIZE];
    const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (n > 0 && (size_t)n < sizeof path)
        unlink(path);
}

void sdm_file_sweep(const char *path)
{
    char folder[SDM_PATH_SIZE];
    const char *const slash = sdm_system_slash(path), *const base = slash ? slash + 1 : path;
    const size_t n = strlen(base), k = strlen(TEMPORARY);
    sdm_file_folder(path, folder);
    DIR *const dir = opendir(folder);
    if (!dir)
        return;
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
        if (strncmp(e->d_name, base, n) == 0 && strncmp(e->d_name + n, TEMPORARY, k) == 0 &&
            strspn(e->d_name + n + k, "0123456789abcdef") == DRAWN)
            sdm_file_remove_in(folder, e->d_name);
    closedir(dir);
}

bool sdm_file_is_named(const char *name, const char *path)
{
    const size_t n = strlen(path);
    return strncmp(name, path, n) == 0 && (!name[n] || strncmp(name + n, TEMPORARY, strlen(TEMPORARY)) == 0);
}

/* Advice for an errno of a failed write. */
static const char *advice(int error)
{
    switch (error) {
    case EISDIR:
    case ENOTDIR:
    case ENOTEMPTY:
    case EEXIST:
        return "remove what is in the way";
    case EACCES:
    case EPERM:
    case EROFS:
        return "let its folder be written";
    case ENAMETOOLONG:
    case ENOENT:
        return "choose another name";
    default:
        return "make room";
    }
}

static SdmStatus refuse(SdmContext *ctx, const char *path, int error)
{
    return sdm_fail(ctx, SDM_ERR_IO, "%s cannot be written: %s; %s and give the same command again", path,
                    strerror(error), advice(error));
}

SdmStatus sdm_file_create(SdmContext *ctx, const char *path, SdmFileWriter *w)
{
    *w = (SdmFileWriter){.f = NULL};
    PASS(sdm_format(ctx, w->path, sizeof w->path, "%s", path));
    PASS(sdm_file_temporary_name(ctx, path, w->temporary, sizeof w->temporary));
    const int fd = sdm_system_create(w->temporary);
    w->f = fd >= 0 ? fdopen(fd, "wb") : NULL;
    return w->f ? SDM_OK : refuse(ctx, path, errno);
}

static void note_failure(SdmFileWriter *w, bool failed)
{
    if (failed && !w->failed) {
        w->failed = true;
        w->error = errno ? errno : EIO;
    }
}

void sdm_file_put(SdmFileWriter *w, const void *data, size_t size)
{
    errno = 0;
    note_failure(w, size > 0 && fwrite(data, 1, size, w->f) != size);
}

/* SDM_OK unless something failed; then the temporary file goes. */
static SdmStatus end_writing(SdmContext *ctx, SdmFileWriter *w)
{
    if (!w->failed)
        return SDM_OK;
    sdm_file_discard(w);
    return refuse(ctx, w->path, w->error);
}

SdmStatus sdm_file_close(SdmContext *ctx, SdmFileWriter *w, bool sync)
{
    errno = 0;
    note_failure(w, fflush(w->f) != 0);
    note_failure(w, sync && sdm_system_sync(fileno(w->f)) != 0);
    note_failure(w, fclose(w->f) != 0);
    w->f = NULL;
    return end_writing(ctx, w);
}

SdmStatus sdm_file_rename(SdmContext *ctx, SdmFileWriter *w)
{
    errno = 0;
    note_failure(w, sdm_system_rename(w->temporary, w->path) != 0);
    return end_writing(ctx, w);
}

void sdm_file_discard(SdmFileWriter *w)
{
    remove(w->temporary);
}

SdmStatus sdm_file_commit(SdmContext *ctx, SdmFileWriter *w, bool sync)
{
    const SdmStatus st = sdm_file_close(ctx, w, sync);
    return st == SDM_OK ? sdm_file_rename(ctx, w) : st;
}

SdmStatus sdm_file_write(SdmContext *ctx, const char *path, const void *data, size_t size)
{
    SdmFileWriter w;
    PASS(sdm_file_create(ctx, path, &w));
    sdm_file_put(&w, data, size);
    return sdm_file_commit(ctx, &w, true);
}

bool sdm_file_holds(const char *path, size_t at, const char *text)
{
    char found[128];
    struct stat s;
    const size_t n = strlen(text);
    FILE *const f = sdm_system_look(path, &s) == 0 && S_ISREG(s.st_mode) ? fopen(path, "rb") : NULL;
    const bool holds = f && fread(found, 1, at + n, f) == at + n && memcmp(found + at, text, n) == 0;
    if (f)
        fclose(f);
    return holds;
}

SdmStatus sdm_file_read(SdmContext *ctx, const char *path, size_t most, char **out, size_t *size)
{
    SdmStatus st = SDM_OK;
    struct stat s;
    *out = NULL;
    const bool is_other = stat(path, &s) == 0 && !S_ISREG(s.st_mode); /* opening a pipe would wait for a
                                                                       * writer */
    FILE *const f = is_other ? NULL : fopen(path, "rb");
    if (!f || fstat(fileno(f), &s) != 0 || !S_ISREG(s.st_mode))
        TRY(sdm_fail(ctx, SDM_ERR_INPUT, "%s cannot be read: %s", path,
                     f || is_other ? "it is not a file" : strerror(errno)));
    if ((uint64_t)s.st_size > most)
        TRY(sdm_fail(ctx, SDM_ERR_INPUT, "%s is damaged: it has %lld bytes, at most %zu were expected", path,
                     (long long)s.st_size, most));
    TRY(sdm_alloc(ctx, out, (size_t)s.st_size + 1, 1, "a text file"));
    errno = 0;
    *size = fread(*out, 1, (size_t)s.st_size, f);
    (*out)[*size] = '\0';
    if (ferror(f)) {
        st = sdm_fail(ctx, SDM_ERR_INPUT, "%s cannot be read: %s", path, strerror(errno ? errno : EIO));
        sdm_free(out);
    }
done:
    if (f)
        fclose(f);
    return st;
}

void sdm_file_folder(const char *path, char out[SDM_PATH_SIZE])
{
    const char *const slash = sdm_system_slash(path);
    snprintf(out, SDM_PATH_SIZE, "%.*s",
             !slash          ? 1
             : slash == path ? 1
                             : (int)(slash - path),
             slash ? path : ".");
}

/* Names of GDAL's virtual file systems, and addresses. */
static SdmStatus check_on_disk(SdmContext *ctx, const char *option, const char *path)
{
    if (strncmp(path, "/vsi", 4) != 0 && !strstr(path, "://"))
        return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_USAGE,
                    "%s %s: GDAL's virtual file systems and addresses are read from, not written to; give a "
                    "name on a disk, and copy from there",
                    option, path);
}

SdmStatus sdm_file_check_output(SdmContext *ctx, const char *option, const char *path)
{
    char folder[SDM_PATH_SIZE], target[SDM_PATH_SIZE];
    struct stat s;
    if (check_on_disk(ctx, option, path) != SDM_OK)
        return SDM_ERR_USAGE;
    if (!*path || sdm_system_slash(path + strlen(path) - 1) || (stat(path, &s) == 0 && S_ISDIR(s.st_mode)))
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s %s is a folder, expected the name of a file", option, path);
    sdm_file_folder(path, folder);
    if (stat(folder, &s) != 0)
        return sdm_fail(ctx, SDM_ERR_IO, "%s %s: folder %s: %s; make it first", option, path, folder,
                        strerror(errno));
    if (!S_ISDIR(s.st_mode))
        return sdm_fail(ctx, SDM_ERR_IO, "%s %s: %s is a file, not a folder", option, path, folder);
    if (access(folder, W_OK | X_OK) != 0)
        return sdm_fail(ctx, SDM_ERR_IO, "%s %s: cannot write into folder %s: %s", option, path, folder,
                        strerror(errno));
    /* is there room for the names of temporary files, so that no work is done in vain? */
    const char *const slash = sdm_system_slash(path), *const base = slash ? slash + 1 : path;
    const long most = sdm_system_longest_name(folder);
    if (most >= 0 && (long)strlen(base) + ASIDE > most)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "%s %.60s...: name too long: %zu bytes, and temporary files beside it need %d more; "
                        "the folder takes %ld",
                        option, base, strlen(base), ASIDE, most);
    /* files are written beside their names and renamed: a link would be replaced, and its target kept */
    if (sdm_system_link_target(path, target, sizeof target) && stat(path, &s) == 0 && S_ISREG(s.st_mode))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "%s %s is a link to %s; give the name of that file, or remove the link", option, path,
                        target);
    return SDM_OK;
}

SdmStatus sdm_file_make_folder(SdmContext *ctx, const char *path)
{
    struct stat s;
    if (check_on_disk(ctx, "-o", path) != SDM_OK)
        return SDM_ERR_USAGE;
    const bool made = sdm_system_make_folder(path, 0777) == 0;
    if (!made && errno != EEXIST)
        return sdm_fail(ctx, SDM_ERR_IO, "the folder %s cannot be made: %s", path, strerror(errno));
    if (!made && (stat(path, &s) != 0 || !S_ISDIR(s.st_mode)))
        return sdm_fail(ctx, SDM_ERR_IO,
                        "%s is a file where a folder is needed; remove it or give another -o", path);
    return SDM_OK;
}
