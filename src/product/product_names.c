/* -o -> the names of all products, checks before any work, and the renames at the end. */
// SPDX-License-Identifier: Apache-2.0
#include "product/product_inside.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const suffix[SDM_FILES] = {".html", ".png", ".json", "_qa.tif", "_ortho.tif", ".tif"};
static const char *const kind[SDM_FILES] = {"html", "png", "json", "qa", "ortho", "dem"};

/* Length of the output's name without .tif or .tiff. */
static size_t stem_length(const char *output)
{
    static const char *const known[] = {".tif", ".tiff", ".gtiff"};
    const size_t n = strlen(output);
    for (int i = 0; i < 3; i++) {
        const size_t k = strlen(known[i]);
        if (n > k && output[n - k - 1] != '/' && !strcasecmp(output + n - k, known[i]))
            return n - k;
    }
    return n;
}

/* A name that says that the file is of another format, or standard output: a GeoTIFF under it misleads. */
static bool is_misleading(const char *base)
{
    static const char *const other[] = {".png", ".jpg", ".html", ".json", ".vrt", ".img", ".jp2", ".asc",
                                        ".hdf", ".nc",  ".zip",  ".gpkg", ".las", ".laz", ".xyz"};
    const char *const dot = strrchr(base, '.');
    if (!strcmp(base, "-"))
        return true;
    for (size_t i = 0; dot && i < sizeof other / sizeof *other; i++)
        if (!strcasecmp(dot, other[i]))
            return true;
    return false;
}

SdmStatus sdm_names_make(SdmContext *ctx, SdmNames *names)
{
    SdmStatus st = SDM_OK;
    const char *const output = sdm_options(ctx)->output;
    if (!output || !*output)
        return sdm_fail(ctx, SDM_ERR_USAGE, "no output named; give -o DEM.tif");
    const char *const slash = strrchr(output, '/'), *const base = slash ? slash + 1 : output;
    if (!*base)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "-o %s is a folder; give the name of a file in it, such as %sdem.tif", output,
                        output);
    if (is_misleading(base))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "-o %s: a DEM is a GeoTIFF, in a file; give a name such as dem.tif", output);
    const int stem = (int)stem_length(output);
    for (int i = 0; i < SDM_FILES; i++) {
        names->made[i] = true;
        TRY(sdm_format(ctx, names->path[i], SDM_PATH, "%.*s%s", stem, output, suffix[i]));
        TRY(sdm_format(ctx, names->part[i], SDM_PATH, "%s.part-%s", output, kind[i]));
        TRY(sdm_format(ctx, names->raw[i], SDM_PATH, "%s.part-raw-%s", output, kind[i]));
    }
    TRY(sdm_format(ctx, names->path[SDM_FILE_DEM], SDM_PATH, "%s", output));
    TRY(sdm_format(ctx, names->naming, SDM_PATH, "%s.part-naming", output));
    if (slash)
        TRY(sdm_format(ctx, names->folder, SDM_PATH, "%.*s", slash == output ? 1 : (int)(slash - output),
                       output));
    else
        TRY(sdm_format(ctx, names->folder, SDM_PATH, "."));
    TRY(sdm_format(ctx, names->prefix, SDM_PATH, "%s.part-", base));
done:
    return st;
}

/* "part-dem", "part-raw-ortho-typed" and what GDAL appends (".ovr.tmp"); nothing else that may begin alike.
 */
static bool is_aside(const SdmNames *names, const char *base)
{
    const size_t n = strlen(names->prefix);
    if (strncmp(base, names->prefix, n) != 0)
        return false;
    const char *rest = base + n;
    if (!strcmp(rest, "naming") ||
        !strncmp(rest, "owner-", 6)) /* "owner" itself belongs to src/core/output_lock.c */
        return true;
    if (!strncmp(rest, "raw-", 4))
        rest += 4;
    for (int i = 0; i < SDM_FILES; i++) {
        const size_t k = strlen(kind[i]);
        if (!strncmp(rest, kind[i], k) && (!rest[k] || rest[k] == '.' || rest[k] == '-'))
            return true;
    }
    return false;
}

void sdm_names_sweep(const SdmNames *names)
{
    DIR *const dir = opendir(names->folder);
    if (!dir)
        return;
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
        if (is_aside(names, e->d_name))
            unlinkat(dirfd(dir), e->d_name, 0);
    closedir(dir);
}

static bool exists(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0;
}

void sdm_names_recover(const SdmNames *names)
{
    if (!exists(names->naming) || !exists(names->part[SDM_FILE_DEM]))
        return;
    for (int i = 0; i < SDM_FILES; i++)
        if (i != SDM_FILE_DEM && !exists(names->part[i]))
            unlink(names->path[i]);
}

bool sdm_product_finished(SdmContext *ctx, uint64_t job)
{
    SdmNames *names = NULL;
    uint64_t found = 0;
    bool all =
        sdm_alloc(ctx, &names, 1, sizeof *names, "names") == SDM_OK && sdm_names_make(ctx, names) == SDM_OK;
    FILE *const f = all ? fopen(names->naming, "r") : NULL;
    all = f && fscanf(f, "%" SCNx64, &found) == 1 && found == job;
    if (f)
        fclose(f);
    for (int i = 0; i < SDM_FILES && all; i++)
        all = exists(names->path[i]) && !exists(names->part[i]);
    sdm_free(&names);
    return all;
}

void sdm_product_tidy(SdmContext *ctx)
{
    SdmNames *names = NULL;
    if (sdm_alloc(ctx, &names, 1, sizeof *names, "names") == SDM_OK && sdm_names_make(ctx, names) == SDM_OK)
        sdm_names_sweep(names);
    sdm_free(&names);
}

static SdmStatus begin_naming(SdmContext *ctx, const SdmNames *names, uint64_t job)
{
    FILE *const f = fopen(names->naming, "w");
    bool bad = !f || fprintf(f, "%" PRIx64 "\n", job) < 0;
    if (f)
        bad |= fclose(f) != 0;
    return bad ? sdm_fail_write(ctx, names->naming, strerror(errno)) : SDM_OK;
}

SdmStatus sdm_names_rename(SdmContext *ctx, const SdmNames *names, uint64_t job)
{
    static const char *const stale[] = {".aux.xml", ".ovr", ".msk"};
    SdmStatus st = SDM_OK;
    char path[SDM_PATH + 16];
    TRY(begin_naming(ctx, names, job));
    for (int i = 0; i < SDM_FILES; i++) {
        if (!names->made[i])
            unlink(names->path[i]);
        else if (rename(names->part[i], names->path[i])) {
            st = sdm_fail(ctx, SDM_ERR_IO, "%s: cannot give the finished file its name: %s", names->path[i],
                          strerror(errno));
            sdm_names_recover(names);
            goto done;
        }
        for (int k = 0; k < 3; k++) { /* side files of what stood there before would speak of other heights */
            snprintf(path, sizeof path, "%s%s", names->path[i], stale[k]);
            unlink(path);
        }
    }
done:
    return st;
}

static SdmStatus check_folder(SdmContext *ctx, const SdmNames *names)
{
    struct stat s;
    const char *const output = sdm_options(ctx)->output;
    if (stat(names->folder, &s))
        return sdm_fail(ctx, SDM_ERR_IO, "-o %s: folder %s: %s; make it first", output, names->folder,
                        strerror(errno));
    if (!S_ISDIR(s.st_mode))
        return sdm_fail(ctx, SDM_ERR_IO, "-o %s: %s is a file, not a folder", output, names->folder);
    if (access(names->folder, W_OK | X_OK))
        return sdm_fail(ctx, SDM_ERR_IO, "-o %s: cannot write into folder %s: %s", output, names->folder,
                        strerror(errno));
    return SDM_OK;
}

/* mine: what stands there was left by a run that did not end. */
static SdmStatus check_file(SdmContext *ctx, const char *path, bool mine)
{
    struct stat s;
    if (lstat(path, &s)) {
        if (errno == ENOENT)
            return SDM_OK;
        return sdm_fail(ctx, SDM_ERR_IO, "%s: cannot be written: %s", path, strerror(errno));
    }
    if (stat(path, &s))
        return sdm_fail(ctx, SDM_ERR_IO, "%s is a link that leads nowhere; remove it or give another -o",
                        path);
    if (S_ISDIR(s.st_mode))
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s is a folder; -o expects the name of a file", path);
    if (!S_ISREG(s.st_mode))
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s is not a regular file; -o expects the name of a file", path);
    if (!sdm_options(ctx)->overwrite && !mine)
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s exists; give --overwrite or another -o", path);
    return SDM_OK;
}

static SdmStatus check_input(SdmContext *ctx, const SdmNames *names, const char *input)
{
    struct stat a, b;
    char folder[SDM_PATH];
    if (!input || stat(input, &a))
        return SDM_OK;
    for (int i = 0; i < SDM_FILES; i++)
        if (!stat(names->path[i], &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
            return sdm_fail(ctx, SDM_ERR_USAGE, "%s would overwrite the input %s; give another -o",
                            names->path[i], input);
    snprintf(folder, sizeof folder, "%s", input);
    char *const slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder ? 1 : 0] = '\0';
    if (is_aside(names, slash ? input + (slash - folder) + 1 : input) && !stat(slash ? folder : ".", &a) &&
        !stat(names->folder, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "%s has a name under which -o %s is written aside; give another -o", input,
                        names->path[SDM_FILE_DEM]);
    return SDM_OK;
}

SdmStatus sdm_product_check(SdmContext *ctx, const char *const *inputs, int input_count)
{
    SdmStatus st = SDM_OK;
    SdmNames *names = NULL;
    SdmGeoid *geoid = NULL;
    const SdmOptions *const opt = sdm_options(ctx);
    const char *const more[] = {opt->dem, opt->mask_left, opt->mask_right};
    TRY(sdm_alloc(ctx, &names, 1, sizeof *names, "names"));
    TRY(sdm_names_make(ctx, names));
    TRY(check_folder(ctx, names));
    for (int i = 0; i < input_count; i++)
        TRY(check_input(ctx, names, inputs[i]));
    for (int i = 0; i < 3; i++)
        TRY(check_input(ctx, names, more[i]));
    const bool naming = exists(names->naming);
    for (int i = SDM_FILES - 1; i >= 0; i--)
        TRY(check_file(ctx, names->path[i],
                       naming && !exists(names->part[i]) && (i != SDM_FILE_DEM || !inputs)));
    TRY(sdm_grid_check_srs(ctx));
    TRY(sdm_cog_check(ctx));
    if (opt->vertical != SDM_ELLIPSOID)
        TRY(sdm_geoid_open(ctx, opt->vertical, &geoid));
done:
    sdm_geoid_close(&geoid);
    sdm_free(&names);
    return st;
}
