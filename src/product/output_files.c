/* Name of the DEM -> the files of a product: their names, checks before any work, renames at the end. */
// SPDX-License-Identifier: Apache-2.0
#include "product/output_files.h"
#include "core/path.h"
#include "core/system.h"
#include "geo/gdal_scope.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const suffix[SDM_FILES] = {".html",       ".png",    ".json",       ".stac.json",
                                              ".qml",        "_qa.qml", "_change.qml", "_trend.qml",
                                              "_reason.vrt", "_qa.tif", "_ortho.tif",  "_change.tif",
                                              "_trend.tif",  ".las",    ".laz",        ".tif"};
/* of OUTPUT.part-KIND-RUN */
static const char *const kind[SDM_FILES] = {
    "html",   "png", "json",  "stac",   "style", "qa-style", "change-style", "trend-style",
    "reason", "qa",  "ortho", "change", "trend", "las",      "laz",          "dem"};

/* Not every run has them: a reference makes them, or --trend, or --points. */
static bool is_optional(int i)
{
    return i == SDM_FILE_CHANGE || i == SDM_FILE_CHANGE_STYLE || i == SDM_FILE_TREND ||
           i == SDM_FILE_TREND_STYLE || i == SDM_FILE_LAS || i == SDM_FILE_LAZ;
}

/* A point cloud of that name that this program did not write, as its header says (LAS 1.4, generating
 * software), is the user's: it is touched where one was asked for alone. */
static bool is_left(const SdmOutputFiles *files, int i)
{
    enum { SOFTWARE = 58 };
    return (i == SDM_FILE_LAS || i == SDM_FILE_LAZ) && !files->made[i] &&
           !sdm_file_holds(files->path[i], SOFTWARE, "stereodem ");
}

SdmStatus sdm_output_files_name(SdmContext *ctx, const char *output, SdmOutputFiles *files)
{
    if (!output || !*output)
        return sdm_fail(ctx, SDM_ERR_USAGE, "no output named; give -o DEM.tif");
    struct stat at;
    const char *const base = sdm_path_base(output);
    if (!*base || (stat(output, &at) == 0 && S_ISDIR(at.st_mode)))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "-o %s is a folder; give the name of a file in it, such as %s%sdem.tif", output,
                        output, *base ? "/" : "");
    const int stem = (int)sdm_path_stem(output);
    if (!output[stem])
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "-o %s: a DEM is a GeoTIFF, in a file; give a name that ends in .tif, such as %s.tif",
                        output, strcmp(base, "-") ? output : "dem");
    snprintf(files->run, sizeof files->run, "%08x", (unsigned)(sdm_file_draw() >> 32 ^ sdm_file_draw()));
    files->is_lost = false;
    for (int i = 0; i < SDM_FILES; i++) {
        files->made[i] = i != SDM_FILE_LAS && i != SDM_FILE_LAZ;
        PASS(sdm_format(ctx, files->path[i], SDM_PATH_SIZE, "%.*s%s", stem, output, suffix[i]));
        PASS(sdm_format(ctx, files->part[i], SDM_PATH_SIZE, "%s.part-%s-%s", output, kind[i], files->run));
        PASS(sdm_format(ctx, files->raw[i], SDM_PATH_SIZE, "%s.part-raw-%s-%s", output, kind[i], files->run));
    }
    PASS(sdm_format(ctx, files->path[SDM_FILE_DEM], SDM_PATH_SIZE, "%s", output));
    PASS(sdm_format(ctx, files->marker, SDM_PATH_SIZE, "%s.part-naming", output));
    sdm_file_folder(output, files->folder);
    return sdm_format(ctx, files->prefix, SDM_PATH_SIZE, "%s.part-", base);
}

/* A name that a run makes and removes: "DEM.tif.part-dem-1f3a90c2", "DEM.tif.part-raw-ortho-1f3a90c2-typed",
 * also with GDAL's endings (".ovr.tmp"); no other name that begins alike. */
static bool is_temporary(const SdmOutputFiles *files, const char *base)
{
    const size_t n = strlen(files->prefix);
    if (strncmp(base, files->prefix, n) != 0)
        return false;
    const char *rest = base + n;
    /* "owner" itself is the lease's */
    if (sdm_file_is_named(rest, "naming") || !strncmp(rest, "owner.part-", 11))
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

/* run: in the names of the files to remove; "": all. */
static void remove_temporary(const SdmOutputFiles *files, const char *run)
{
    DIR *const dir = opendir(files->folder);
    if (!dir)
        return;
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
        if (is_temporary(files, e->d_name) && strstr(e->d_name + strlen(files->prefix), run))
            sdm_file_remove_in(files->folder, e->d_name);
    closedir(dir);
}

void sdm_output_files_sweep(const SdmOutputFiles *files)
{
    remove_temporary(files, "");
}

static bool exists(const char *path)
{
    struct stat s;
    return sdm_system_look(path, &s) == 0;
}

/* Content of the marker: the run whose renames it covers. */
typedef struct Marker {
    uint64_t job; /* fingerprint */
    char run[12];
} Marker;

static bool read_marker(const SdmOutputFiles *files, Marker *out)
{
    FILE *const f = fopen(files->marker, "r");
    const bool read = f && fscanf(f, "%" SCNx64 " %11s", &out->job, out->run) == 2;
    if (f)
        fclose(f);
    return read;
}

/* Has file i of the marker's run not got its name yet? */
static bool is_aside(const SdmOutputFiles *files, const Marker *marker, int i)
{
    char path[SDM_PATH_SIZE + 32];
    snprintf(path, sizeof path, "%s.part-%s-%s", files->path[SDM_FILE_DEM], kind[i], marker->run);
    return exists(path);
}

void sdm_output_files_leave(const SdmOutputFiles *files)
{
    Marker marker;
    const bool is_ours = read_marker(files, &marker) && strcmp(marker.run, files->run) == 0;
    if (is_ours && files->is_lost)
        return; /* what is there tells the new holder which files were renamed: sdm_output_files_recover() */
    remove_temporary(files, files->run);
    if (is_ours)
        unlink(files->marker);
}

void sdm_output_files_recover(const SdmOutputFiles *files)
{
    Marker marker;
    if (!read_marker(files, &marker) || !is_aside(files, &marker, SDM_FILE_DEM))
        return;
    for (int i = 0; i < SDM_FILES; i++)
        if (i != SDM_FILE_DEM && !is_left(files, i) && !is_aside(files, &marker, i))
            unlink(files->path[i]);
}

bool sdm_output_files_finished(const SdmOutputFiles *files, uint64_t job)
{
    Marker marker;
    bool all = read_marker(files, &marker) && marker.job == job;
    for (int i = 0; i < SDM_FILES && all; i++)
        all = (exists(files->path[i]) || is_optional(i)) && !is_aside(files, &marker, i);
    return all;
}

void sdm_output_files_forget(const SdmOutputFiles *files, uint64_t job)
{
    Marker marker;
    if (!read_marker(files, &marker) || marker.job != job)
        return;
    remove_temporary(files, marker.run);
    unlink(files->marker);
}

/* Give file i its name, or remove an earlier one of that name when the product has no such file. */
static SdmStatus rename_one(SdmContext *ctx, const SdmOutputFiles *files, int i)
{
    static const char *const stale[] = {".aux.xml", ".ovr", ".msk"};
    char path[SDM_PATH_SIZE + 16];
    if (is_left(files, i))
        return SDM_OK;
    if (!files->made[i])
        unlink(files->path[i]);
    else if (sdm_system_rename(files->part[i], files->path[i]))
        return sdm_fail(ctx, SDM_ERR_IO, "%s: cannot give the finished file its name: %s%s", files->path[i],
                        strerror(errno),
                        errno == EACCES ? "; close it in another program, or let its folder be written" : "");
    for (int k = 0; k < 3; k++) { /* side files of an earlier DEM of that name */
        snprintf(path, sizeof path, "%s%s", files->path[i], stale[k]);
        unlink(path);
    }
    return SDM_OK;
}

SdmStatus sdm_output_files_rename(SdmContext *ctx, SdmOutputFiles *files, uint64_t job, SdmLease *lease)
{
    SdmStatus st = SDM_OK;
    char marker[64];
    const int n = snprintf(marker, sizeof marker, "%" PRIx64 " %s\n", job, files->run);
    PASS(sdm_lease_check(ctx, lease));
    PASS(sdm_file_write(ctx, files->marker, marker, (size_t)n));
    for (int i = 0; i < SDM_FILES && st == SDM_OK; i++) {
        st = sdm_lease_check(ctx, lease);
        files->is_lost = st != SDM_OK;
        if (st == SDM_OK && (st = rename_one(ctx, files, i)) != SDM_OK)
            sdm_output_files_recover(files);
    }
    return st;
}

/* replace: the file may be there, by --overwrite or since a run of its own was stopped. */
static SdmStatus check_file(SdmContext *ctx, const char *path, bool replace)
{
    struct stat s;
    if (sdm_system_look(path, &s)) {
        if (errno == ENOENT)
            return SDM_OK;
        return sdm_fail(ctx, SDM_ERR_IO, "%s: cannot be written: %s", path, strerror(errno));
    }
    const bool is_link = S_ISLNK(s.st_mode);
    if (stat(path, &s))
        return sdm_fail(ctx, SDM_ERR_IO, "%s is a link that leads nowhere; remove it or give another -o",
                        path);
    if (S_ISDIR(s.st_mode))
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s is a folder; -o expects the name of a file", path);
    if (!S_ISREG(s.st_mode))
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s is not a regular file; -o expects the name of a file", path);
    if (is_link)
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s is a link, which would be replaced; remove it", path);
    if (!replace)
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s exists; give --overwrite or another -o", path);
    return SDM_OK;
}

SdmStatus sdm_output_files_check_input(SdmContext *ctx, const SdmOutputFiles *files, const char *input)
{
    struct stat at;
    char folder[SDM_PATH_SIZE];
    if (!input || stat(input, &at) != 0)
        return SDM_OK;
    for (int i = 0; i < SDM_FILES; i++)
        if (!is_left(files, i) && sdm_system_is_same(input, files->path[i]))
            return sdm_fail(ctx, SDM_ERR_USAGE, "%s would overwrite the input %s; give another -o",
                            files->path[i], input);
    sdm_file_folder(input, folder);
    if (is_temporary(files, sdm_path_base(input)) && sdm_system_is_same(folder, files->folder))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "%s has a name that -o %s uses for its temporary files; give another -o", input,
                        files->path[SDM_FILE_DEM]);
    return SDM_OK;
}

SdmStatus sdm_output_files_check(SdmContext *ctx, const SdmOutputFiles *files, bool overwrite,
                                 bool may_be_own)
{
    Marker marker;
    const bool stopped = read_marker(files, &marker);
    PASS(sdm_file_check_output(ctx, "-o", files->path[SDM_FILE_DEM]));
    for (int i = SDM_FILES - 1; i >= 0; i--) {
        if (is_left(files, i))
            continue;
        const bool own = stopped && !is_aside(files, &marker, i) && (i != SDM_FILE_DEM || may_be_own);
        PASS(check_file(ctx, files->path[i], overwrite || own));
    }
    return SDM_OK;
}
