/* Ranges of a file on the network, one after the other, into a file on the disk. */
// SPDX-License-Identifier: Apache-2.0
#define _LARGEFILE64_SOURCE 1 /* GDAL's VSIStatBufL is a struct stat64 */
#include "input/fetch.h"
#include "input/source.h"

#include <cpl_conv.h>
#include <cpl_vsi.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PART = 1 << 20, MOST_TRIES = 5 /* without a byte more */ };
static const double WAIT_S = 0.2; /* before the first of them; then twice as long each */

typedef struct Fetch {
    SdmContext *ctx;
    const char *address, *path;
    FILE *to;
    int64_t size, done; /* bytes */
    char *part;
} Fetch;

void sdm_fetch_remove(char path[SDM_PATH_SIZE])
{
    char folder[SDM_PATH_SIZE];
    if (!*path)
        return;
    unlink(path);
    sdm_file_folder(path, folder);
    rmdir(folder);
    *path = '\0';
}

/* FOLDER/NAME, NAME as in the address up to a question mark, or in /vsicurl?url=ADDRESS an
 * ampersand. */
static SdmStatus make_folder(SdmContext *ctx, const char *address, char out[SDM_PATH_SIZE])
{
    static const char options[] = "/vsicurl?";
    const char *const folder = CPLGenerateTempFilename("stereodem"), *base;
    char name[SDM_PATH_SIZE];
    const bool has_options = strncmp(address, options, strlen(options)) == 0;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(address, has_options ? "&" : "?"), address);
    base = sdm_path_base(name);
    if (sdm_system_make_folder(folder, 0700) != 0)
        return sdm_fail(ctx, SDM_ERR_IO,
                        "%s cannot be made for the copy of %s: %s; let TMPDIR name a folder that can be "
                        "written",
                        folder, address, strerror(errno));
    return sdm_format(ctx, out, SDM_PATH_SIZE, "%s/%s", folder, base);
}

/* One connection: as much as comes by it. */
static SdmStatus take(Fetch *f)
{
    SdmStatus st = SDM_OK;
    size_t n = 1;
    VSICurlPartialClearCache(f->address); /* of the connection that broke off */
    VSILFILE *const from = VSIFOpenL(f->address, "rb");
    if (!from || VSIFSeekL(from, (vsi_l_offset)f->done, SEEK_SET) != 0)
        n = 0;
    while (n > 0 && f->done < f->size && st == SDM_OK) {
        n = VSIFReadL(f->part, 1, PART, from);
        st = fwrite(f->part, 1, n, f->to) == n
                 ? sdm_check_stop(f->ctx)
                 : sdm_fail(f->ctx, SDM_ERR_IO, "%s cannot be written: %s; let TMPDIR name another folder",
                            f->path, strerror(errno));
        f->done += (int64_t)n;
    }
    if (from)
        VSIFCloseL(from);
    return st;
}

static SdmStatus take_all(Fetch *f)
{
    SdmStatus st = SDM_OK;
    double wait_s = WAIT_S;
    for (int tries = 0; f->done < f->size && tries < MOST_TRIES;) {
        const int64_t before = f->done;
        TRY(take(f));
        tries = f->done > before ? 0 : tries + 1;
        wait_s = f->done > before ? WAIT_S : 2.0 * wait_s;
        if (f->done >= f->size)
            break;
        sdm_log(f->ctx, SDM_LOG_VERBOSE, 1, "%s: broke off after %lld of %lld bytes", f->address,
                (long long)f->done, (long long)f->size);
        nanosleep(&(struct timespec){(time_t)wait_s, (long)(1e9 * (wait_s - (double)(time_t)wait_s))}, NULL);
    }
    if (f->done != f->size)
        st = sdm_fail(f->ctx, SDM_ERR_INPUT,
                      "%s: breaks off after %lld of %lld bytes (%.300s); give the same command again later, "
                      "or fetch the file first",
                      f->address, (long long)f->done, (long long)f->size, sdm_gdal_reason());
done:
    return st;
}

SdmStatus sdm_fetch_file(SdmContext *ctx, const char *address, char out[SDM_PATH_SIZE])
{
    SdmStatus st = SDM_OK;
    VSIStatBufL at;
    Fetch f = {.ctx = ctx, .address = address, .path = out};
    *out = '\0';
    if (VSIStatL(address, &at) != 0)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s: nothing can be read there (%.300s)", address,
                        sdm_gdal_reason());
    f.size = (int64_t)at.st_size;
    TRY(make_folder(ctx, address, out));
    TRY(sdm_alloc(ctx, &f.part, PART, 1, "part of a file"));
    f.to = fopen(out, "wb");
    if (!f.to)
        TRY(sdm_fail(ctx, SDM_ERR_IO, "%s cannot be written: %s", out, strerror(errno)));
    sdm_log(ctx, SDM_LOG_INFO, 1, "fetching %s, %.1f MB", address, 1e-6 * (double)f.size);
    TRY(take_all(&f));
    const bool closed = fclose(f.to) == 0;
    f.to = NULL;
    if (!closed || VSIStatL(out, &at) != 0 || (int64_t)at.st_size != f.size)
        st = sdm_fail(ctx, SDM_ERR_IO, "%s cannot be written whole: %s; let TMPDIR name a folder with room",
                      out, strerror(errno));
done:
    if (f.to)
        fclose(f.to);
    sdm_free(&f.part);
    if (st != SDM_OK)
        sdm_fetch_remove(out);
    return st;
}
