/* Names of files, or arrays in memory -> the kind of scene, by content -> opened scene. */
// SPDX-License-Identifier: Apache-2.0
#define _LARGEFILE64_SOURCE 1 /* GDAL's VSIStatBufL is a struct stat64 */
#include "core/math.h"
#include "core/path.h"
#include "geo/geodesy.h"
#include "geo/gdal_scope.h"
#include "input/aster_files.h"
#include "input/camera.h"
#include "input/image.h"
#include "input/rpc_find.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- ranges of a file on the network, one after the other, into a file on the disk ---- */

enum { PART = 1 << 20, MOST_TRIES = 5 /* without a byte more */ };
static const double WAIT_S = 0.2; /* before the first of them; then twice as long each */

typedef struct Fetch {
    SdmContext *ctx;
    const char *address, *path;
    FILE *to;
    int64_t size, done; /* bytes */
    char *part;
} Fetch;

/* Accepts "", sets "". */
static void remove_fetched(char path[SDM_PATH_SIZE])
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
    SDM_CLOSED_BY(sdm_vsi_close) VSILFILE *const from = VSIFOpenL(f->address, "rb");
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
    return st;
}

static SdmStatus take_all(Fetch *f)
{
    double wait_s = WAIT_S;
    for (int tries = 0; f->done < f->size && tries < MOST_TRIES;) {
        const int64_t before = f->done;
        PASS(take(f));
        tries = f->done > before ? 0 : tries + 1;
        wait_s = f->done > before ? WAIT_S : 2.0 * wait_s;
        if (f->done >= f->size)
            break;
        sdm_log(f->ctx, SDM_LOG_VERBOSE, 1, "%s: broke off after %lld of %lld bytes", f->address,
                (long long)f->done, (long long)f->size);
        nanosleep(&(struct timespec){(time_t)wait_s, (long)(1e9 * (wait_s - (double)(time_t)wait_s))}, NULL);
    }
    if (f->done != f->size)
        return sdm_fail(
            f->ctx, SDM_ERR_INPUT,
            "%s: breaks off after %lld of %lld bytes (%.300s); give the same command again later, "
            "or fetch the file first",
            f->address, (long long)f->done, (long long)f->size, sdm_gdal_reason());
    return SDM_OK;
}

/* Copy a file of GDAL's network file systems (/vsicurl/, /vsis3/ ...) into a folder of its own under GDAL's
 * CPL_TMPDIR, else TMPDIR, under its own name.  A connection that breaks off is taken up where it was.
 * Logins are those of GDAL: --config, ~/.netrc.  out: its name, for remove_fetched(); "" after a failure.
 * SDM_ERR_INPUT where it cannot be had whole, SDM_ERR_IO where it cannot be kept. */
static SdmStatus fetch_file(SdmContext *ctx, const char *address, char out[SDM_PATH_SIZE])
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
        remove_fetched(out);
    return st;
}

/* ---- a pair of unlike pixels: the finer view is binned ---- */

/* The coarser view's pixels to the bins of the finer one: such pairs gave the best heights. */
static const double BINS_FINER = 1.5;

/* The ground sample distance at the middle of a view, m: the root of a pixel's area. */
static double measure_gsd_m(const SdmView *v)
{
    double image[3][3], ground[3][3], p[3][3], side[2][3], cross[3];
    for (int k = 0; k < 3; k++) { /* a pixel, the next of its row, and of its column */
        image[k][0] = floor(0.5 * (double)v->image->width) + (k == 1);
        image[k][1] = floor(0.5 * (double)v->image->height) + (k == 2);
        image[k][2] = 0.5 * (v->camera->hmin_m + v->camera->hmax_m);
    }
    sdm_camera_locate(v->camera, 3, image[0], ground[0]);
    for (int k = 0; k < 3; k++)
        sdm_geodetic_to_ecef(ground[k][0], ground[k][1], ground[k][2], p[k]);
    for (int i = 0; i < 6; i++)
        side[i / 3][i % 3] = p[1 + i / 3][i % 3] - p[0][i % 3];
    sdm_cross3(side[0], side[1], cross);
    return sqrt(sqrt(sdm_dot3(cross, cross)));
}

/* Bin the pixels of a view that are much finer than the other view's; bins stay somewhat finer than the
 * other view's pixels.  The log says so. */
static SdmStatus bin_finer_view(SdmContext *ctx, SdmScene *scene)
{
    const double gsd_m[2] = {measure_gsd_m(&scene->view[0]), measure_gsd_m(&scene->view[1])};
    const int finer = gsd_m[1] < gsd_m[0];
    const double ratio = gsd_m[!finer] / gsd_m[finer];
    SdmView *const v = &scene->view[finer];
    const int64_t side = v->image->width < v->image->height ? v->image->width : v->image->height;
    const long bin = lround(ratio / BINS_FINER);
    if (!(bin > 1)) /* or a camera that is refused later */
        return SDM_OK;
    if (side < bin * SDM_IMAGE_MIN_PX)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: its %lld x %lld pixels of %.3g m are few of the %.3g m of %s, expected at least "
                        "%d of these a side; give a larger image",
                        v->name, (long long)v->image->width, (long long)v->image->height, gsd_m[finer],
                        gsd_m[!finer], scene->view[!finer].name, (int)SDM_IMAGE_MIN_PX);
    v->note.bin = v->image->bin = v->camera->bin = (int)bin;
    v->image->width /= bin; /* a remainder at its ends is not used */
    v->image->height /= bin;
    if (scene->depth == SDM_DEPTH_WHOLE)
        sdm_log(ctx, SDM_LOG_INFO, 1,
                "%s has pixels of %.3g m, %s of %.3g m: the mean of %d x %d of the former is matched",
                v->name, gsd_m[finer], scene->view[!finer].name, gsd_m[!finer], v->note.bin, v->note.bin);
    return SDM_OK;
}

/* ---- two rasters with RPC, or, where the options give base_height, two georeferenced ones ---- */

static SdmStatus open_rpc(SdmContext *ctx, const char *name, SdmScene *scene, SdmView *view)
{
    SdmFoundRpc found;
    const double *const move_deg = scene->options->move_deg[view - scene->view];
    PASS(sdm_rpc_find(ctx, name, view->image->dataset, &found));
    found.rpc.long_off += move_deg[0];
    found.rpc.lat_off += move_deg[1];
    if (*found.path)
        PASS(sdm_scene_add_file(ctx, scene, found.path));
    PASS(sdm_rpc_judge(ctx, name, view->image, &found, &view->camera, &view->note));
    if (scene->depth == SDM_DEPTH_WHOLE)
        sdm_log(ctx, *found.path ? SDM_LOG_INFO : SDM_LOG_VERBOSE, 1, "%s: camera from %s", name,
                view->note.source);
    return SDM_OK;
}

static SdmStatus open_parallel(SdmContext *ctx, const char *name, GDALDatasetH ds, double shift,
                               SdmCamera **out)
{
    SdmParallel in = {.wkt = GDALGetProjectionRef(ds), .shift = shift};
    if (!in.wkt || !*in.wkt || GDALGetGeoTransform(ds, in.geotransform) != CE_None)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: not georeferenced, but --base-height needs a georeferenced pair; leave the "
                        "option out for a pair with RPC",
                        name);
    const double turn =
        atan2(fabs(in.geotransform[4]), fabs(in.geotransform[1])); /* of the rows on the map */
    if (turn > 1e-3)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: its rows lie at %.1f deg to the x axis of its map; --base-height needs rows, "
                        "which are the epipolar lines, along that axis: georeference both images so",
                        name, turn * 57.29577951308232);
    return sdm_camera_open_parallel(ctx, name, &in, out);
}

/* Acquisition time from GDAL's IMAGERY domain, which its drivers fill from suppliers' files. */
static void take_time(SdmContext *ctx, const char *name, GDALDatasetH ds, char time_utc[32])
{
    const char *const text = GDALGetMetadataItem(ds, "ACQUISITIONDATETIME", "IMAGERY");
    if (!text || (strlen(text) >= 19 && sdm_time_read(text, text + 11, time_utc)))
        return;
    sdm_log(
        ctx, SDM_LOG_WARNING, 1,
        "%s: its metadata give %.40s as the time of acquisition, which is not a time; it is taken as unknown",
        name, text);
}

static SdmStatus add_files(SdmContext *ctx, const char *name, GDALDatasetH ds, SdmScene *scene)
{
    SDM_CLOSED_BY(sdm_string_list_free) char **const list = GDALGetFileList(ds);
    PASS(sdm_scene_add_file(ctx, scene, name));
    for (int i = 0; list && list[i]; ++i)
        PASS(sdm_scene_add_file(ctx, scene, list[i]));
    return SDM_OK;
}

static SdmStatus open_file_view(SdmContext *ctx, int k, const char *name, SdmScene *scene)
{
    const double base_height = scene->options->base_height;
    SdmView *const view = &scene->view[k];
    const SdmImageSource src = {.scene = scene, .view = k, .name = name};
    PASS(sdm_format(ctx, view->name, sizeof view->name, "%s", name));
    PASS(sdm_image_open(ctx, &src, &view->image));
    const GDALDatasetH ds = view->image->dataset;
    PASS(add_files(ctx, name, ds, scene));
    take_time(ctx, name, ds, k ? scene->right_time_utc : scene->time_utc);
    return isnan(base_height) ? open_rpc(ctx, name, scene, view)
                              : open_parallel(ctx, name, ds, k ? base_height : 0.0, &view->camera);
}

static SdmStatus open_pair(SdmContext *ctx, const char *left, const char *right, SdmScene *scene)
{
    const SdmOptions *const opt = scene->options;
    const bool parallel = !isnan(opt->base_height);
    const char *const base = sdm_path_base(left), *const dot = strrchr(base, '.');
    if (parallel && (!isfinite(opt->base_height) || opt->base_height == 0.0))
        return sdm_fail(ctx, SDM_ERR_USAGE, "--base-height %g: expected a finite number other than 0",
                        opt->base_height);
    scene->sensor = parallel ? SDM_SENSOR_PARALLEL : SDM_SENSOR_RPC;
    snprintf(scene->kind, sizeof scene->kind, "%s",
             parallel ? "georeferenced parallel pair" : "pair with RPC");
    snprintf(scene->id, sizeof scene->id, "%.*s",
             (int)(dot && dot > base ? dot - base : (ptrdiff_t)strlen(base)), base);
    PASS(open_file_view(ctx, 0, left, scene));
    PASS(open_file_view(ctx, 1, right, scene));
    if (opt->band > 1 && scene->view[0].image->single && scene->view[1].image->single)
        return sdm_fail(ctx, SDM_ERR_USAGE, "--band %d: %s and %s have 1 band; leave the option out",
                        opt->band, left, right);
    return SDM_OK;
}

/* ---- the kind of a scene, by the content of its files ---- */

typedef enum Content {
    CONTENT_FOLDER,
    CONTENT_ZIP,
    CONTENT_HDF4,
    CONTENT_TAR,
    CONTENT_PACKED,
    CONTENT_HTML,
    CONTENT_OTHER
} Content;

static const char *const content_name[] = {"a folder",      "a zip archive",     "an HDF4 file",
                                           "a tar archive", "a compressed file", "a web page"};

/* An address that leads to nothing. */
static SdmStatus refuse_address(SdmContext *ctx, const char *path)
{
    SDM_CLOSED_BY(sdm_string_list_free) char **const prefixes = VSIGetFileSystemsPrefixes();
    bool known = false;
    for (int i = 0; prefixes && prefixes[i]; ++i)
        known = known || strncmp(path, prefixes[i], strlen(prefixes[i])) == 0;
    const char *const code = strrchr(sdm_gdal_reason(), ' ');
    if (code && (strcmp(code, " 401") == 0 || strcmp(code, " 403") == 0))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: the server asks for a login (HTTP%s); put name and password of its host into "
                        "~/.netrc, or \"Authorization: Bearer TOKEN\" into a file that --config "
                        "GDAL_HTTP_HEADER_FILE=FILE names",
                        path, code);
    return known ? sdm_fail(ctx, SDM_ERR_INPUT,
                            "%s: nothing can be read there (%.300s); check the address, and that it can be "
                            "reached from here",
                            path, sdm_gdal_reason())
                 : sdm_fail(
                       ctx, SDM_ERR_UNSUPPORTED,
                       "%s: this GDAL (%s) was built without that virtual file system; fetch the file first",
                       path, GDALVersionInfo("RELEASE_NAME"));
}

/* The kind of a file by its first 512 bytes, the last of which is 0. */
static Content content_of(const unsigned char *head)
{
    static const struct {
        const char *bytes;
        int at, count;
        Content content;
    } mark[] = {{"PK\3\4", 0, 4, CONTENT_ZIP},
                {"\x0e\x03\x13\x01", 0, 4, CONTENT_HDF4},
                {"ustar", 257, 5, CONTENT_TAR},
                {"\x1f\x8b", 0, 2, CONTENT_PACKED}, /* gzip */
                {"BZh", 0, 3, CONTENT_PACKED},      /* bzip2 */
                {"\xfd"
                 "7zXZ",
                 0, 5, CONTENT_PACKED}, /* xz */
                {"7z\xbc\xaf", 0, 4, CONTENT_PACKED},
                {"Rar!", 0, 4, CONTENT_PACKED}};
    for (size_t i = 0; i < sizeof mark / sizeof *mark; ++i)
        if (memcmp(head + mark[i].at, mark[i].bytes, (size_t)mark[i].count) == 0)
            return mark[i].content;
    const char *const text = (const char *)head;
    const char *const first = text + strspn(text, "\xef\xbb\xbf \t\r\n");
    for (const char *at = first; *first == '<' && at; at = strchr(at + 1, '<'))
        if (EQUALN(at, "<html", 5) || EQUALN(at, "<!doctype html", 14))
            return CONTENT_HTML;
    return CONTENT_OTHER;
}

/* The kind of a file; fails where it is missing or empty. */
static SdmStatus detect_content(SdmContext *ctx, const char *path, Content *out)
{
    VSIStatBufL at;
    unsigned char head[512] = {0};
    *out = CONTENT_OTHER;
    CPLErrorReset();
    errno = 0;
    if (VSIStatExL(path, &at,
                   VSI_STAT_EXISTS_FLAG | VSI_STAT_NATURE_FLAG | VSI_STAT_SIZE_FLAG |
                       VSI_STAT_SET_ERROR_FLAG) != 0) {
        if (strncmp(path, "/vsi", 4) == 0)
            return refuse_address(ctx, path);
        if (strchr(path, ':')) /* perhaps the name of a subdataset, which GDAL knows */
            return SDM_OK;
        if (errno && errno != ENOENT && errno != ENOTDIR)
            return sdm_fail(ctx, SDM_ERR_INPUT,
                            "%s cannot be read: %s; check its permissions and its folder's", path,
                            strerror(errno));
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s: no such file or folder; check the name", path);
    }
    if (VSI_ISDIR(at.st_mode)) {
        *out = CONTENT_FOLDER;
        return SDM_OK;
    }
    if (at.st_size == 0)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: the file is empty, expected an image or an ASTER scene; fetch it again", path);
    SDM_CLOSED_BY(sdm_vsi_close) VSILFILE *const file = VSIFOpenL(path, "rb");
    if (!file)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s: cannot be opened for reading; check its permissions", path);
    /* of a shorter file: zeros behind its end; of a server that gives files whole, nothing: GDAL says why */
    (void)VSIFReadL(head, 1, sizeof head - 1, file);
    *out = content_of(head);
    return SDM_OK;
}

/* GDAL's name of an archive's content; braces mark the end of an archive's name that does not end in
 * ".zip". */
static SdmStatus name_inside_zip(SdmContext *ctx, const char *path, char *out, size_t size)
{
    /* GDAL takes a name that begins with vsi for one of its own */
    const char *const here = strncmp(path, "vsi", 3) == 0 ? "./" : "";
    if (sdm_path_ends_in(path, ".zip"))
        return sdm_format(ctx, out, size, "/vsizip/%s%s", here, path);
    if (strpbrk(path, "{}"))
        return sdm_fail(
            ctx, SDM_ERR_UNSUPPORTED,
            "%s: a zip archive with braces in its name and without .zip at its end, which GDAL cannot open; "
            "rename it",
            path);
    return sdm_format(ctx, out, size, "/vsizip/{%s%s}", here, path);
}

/* An HDF file; of one on the network, whose fields are many small pieces, a copy that lives as long as the
 * scene. */
static SdmStatus open_hdf(SdmContext *ctx, const char *path, SdmScene *scene)
{
    if (!sdm_is_virtual(path))
        return sdm_aster_open_hdf(ctx, path, path, scene);
    char why[1024];
    PASS(fetch_file(ctx, path, scene->fetched));
    const SdmStatus st = sdm_aster_open_hdf(ctx, path, scene->fetched, scene);
    const size_t n = strlen(scene->fetched);
    snprintf(why, sizeof why, "%s", st == SDM_OK ? "" : sdm_error(ctx));
    return strncmp(why, scene->fetched, n) == 0 ? sdm_fail(ctx, st, "%s%s", path, why + n) : st;
}

static SdmStatus open_aster(SdmContext *ctx, Content content, const char *path, SdmScene *scene)
{
    char inside[1024], trimmed[1024];
    if (!isnan(scene->options->base_height))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--base-height: is for a georeferenced pair, but %s is an ASTER scene; leave the "
                        "option out",
                        path);
    if (scene->options->band)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--band: is for plain images, but %s is an ASTER scene, which has only 3N and 3B; "
                        "leave the option out",
                        path);
    if (content == CONTENT_HDF4)
        return open_hdf(ctx, path, scene);
    PASS(sdm_format(ctx, trimmed, sizeof trimmed, "%s", path));
    for (size_t n = strlen(trimmed); n > 1 && trimmed[n - 1] == '/'; --n)
        trimmed[n - 1] = '\0';
    if (content == CONTENT_ZIP)
        PASS(name_inside_zip(ctx, path, inside, sizeof inside));
    return sdm_aster_open_folder(ctx, trimmed, content == CONTENT_ZIP ? inside : trimmed, scene);
}

/* Refuse packed files and pages of the archive's site. */
static SdmStatus check_wrapping(SdmContext *ctx, Content content, const char *path)
{
    if (content == CONTENT_HTML)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: is a web page (of a login, or of an error) saved under that name, expected an "
                        "image or an ASTER scene; log in to the archive, then fetch it again",
                        path);
    if (content == CONTENT_TAR || content == CONTENT_PACKED)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: is %s; unpack it, then give the scene's file or folder, or the images", path,
                        content_name[content]);
    return SDM_OK;
}

/* The two images of an ASTER scene, without the tables of their cameras. */
static SdmStatus check_telescopes(SdmContext *ctx, const char *const path[2])
{
    int telescopes = 0;
    for (int k = 0; k < 2; ++k)
        telescopes |= strstr(sdm_path_base(path[k]), "Band3N")   ? 1
                      : strstr(sdm_path_base(path[k]), "Band3B") ? 2
                                                                 : 0;
    SDM_CLOSED_BY(sdm_dataset_close) GDALDatasetH const ds = telescopes == 3 ? sdm_gdal_open(path[0]) : NULL;
    if (!ds || GDALGetMetadata(ds, "RPC"))
        return SDM_OK;
    const bool delivered = strstr(sdm_path_base(path[0]), ".VNIR_Band3");
    return sdm_fail(ctx, SDM_ERR_USAGE,
                    "%s and %s: the images of an ASTER scene, whose cameras are not in them; give %s",
                    path[0], path[1],
                    delivered ? "the folder in which they lie with their tables"
                              : "the AST_L1A file, folder or zip that they were made from");
}

static SdmStatus refuse_single(SdmContext *ctx, const char *path)
{
    SDM_CLOSED_BY(sdm_dataset_close) GDALDatasetH const ds = sdm_gdal_open(path);
    char reason[320];
    if (!ds)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: neither an ASTER scene nor an image that GDAL can read (%s); give an AST_L1A "
                        "file, folder or zip, or two images",
                        path, sdm_open_reason(path, reason));
    const char *const other = sdm_aster_product_of(GDALGetMetadata(ds, NULL), path);
    if (other)
        return sdm_aster_refuse(ctx, path, other);
    return sdm_fail(ctx, SDM_ERR_USAGE,
                    "%s: is a single image; give the right image of the pair too, or an ASTER level 1A scene "
                    "(its HDF file, folder or zip)",
                    path);
}

/* The first member of an archive that is an image -> its name inside; "" if none is. */
static void find_member(const char *archive, char *out, size_t size)
{
    SDM_CLOSED_BY(sdm_string_list_free) char **const members = VSIReadDirRecursive(archive);
    *out = '\0';
    for (int i = 0; members && members[i] && !*out; i++) {
        char name[2048];
        snprintf(name, sizeof name, "%s/%s", archive, members[i]);
        if (!sdm_path_is_hidden(sdm_path_base(name)) &&
            GDALIdentifyDriverEx(name, GDAL_OF_RASTER, NULL, NULL))
            snprintf(out, size, "%s", members[i]);
    }
}

/* An archive as an image of a pair. */
static SdmStatus refuse_zip(SdmContext *ctx, const char *path, const char *side)
{
    char inside[1024], member[1024];
    PASS(name_inside_zip(ctx, path, inside, sizeof inside));
    find_member(inside, member, sizeof member);
    return sdm_fail(
        ctx, SDM_ERR_USAGE,
        "%s: is a zip archive, expected the %s image of a pair; give the image in it, %s/%s, or an "
        "ASTER scene alone",
        path, side, inside, *member ? member : "NAME.tif");
}

/* Two images of a pair, by their kinds. */
static SdmStatus open_images(SdmContext *ctx, const char *const path[2], const Content content[2],
                             SdmScene *scene)
{
    static const char *const side[2] = {"left", "right"};
    for (int k = 0; k < 2; ++k)
        if (content[k] == CONTENT_ZIP)
            PASS(refuse_zip(ctx, path[k], side[k]));
        else if (content[k] != CONTENT_OTHER)
            return sdm_fail(ctx, SDM_ERR_USAGE,
                            "%s: is %s, expected the %s image of a pair; an ASTER scene holds both views, "
                            "give it alone",
                            path[k], content_name[content[k]], side[k]);
    if (isnan(scene->options->base_height))
        PASS(check_telescopes(ctx, path));
    if (strcmp(path[0], path[1]) == 0)
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s: given as left and right image; give two different images",
                        path[0]);
    PASS(open_pair(ctx, path[0], path[1], scene));
    return bin_finer_view(ctx, scene);
}

/* right: NULL, or of a pair. */
static SdmStatus open_by_content(SdmContext *ctx, const char *left, const char *right, SdmScene *scene)
{
    SDM_QUIET;
    Content content[2];
    char name[2][1024];
    const char *path[2] = {left, right};
    for (int k = 0; k < 2 && path[k]; ++k) {
        if (right)
            PASS(sdm_product_find(ctx, path[k], name[k], sizeof name[k]));
        path[k] = right ? name[k] : left;
        PASS(detect_content(ctx, path[k], &content[k]));
    }
    for (int k = 0; k < 2 && path[k]; ++k)
        PASS(check_wrapping(ctx, content[k], path[k]));
    PASS(right                         ? open_images(ctx, path, content, scene)
         : content[0] == CONTENT_OTHER ? refuse_single(ctx, left)
                                       : open_aster(ctx, content[0], left, scene));
    const char *const masks[2] = {scene->options->mask_left, scene->options->mask_right};
    for (int k = 0; k < 2; ++k)
        if (masks[k])
            PASS(sdm_scene_add_file(ctx, scene, masks[k]));
    return SDM_OK;
}

SdmStatus sdm_scene_open(SdmContext *ctx, const SdmOptions *options, const char *left, const char *right,
                         SdmScene **out)
{
    return sdm_scene_open_to(ctx, options, left, right, SDM_DEPTH_WHOLE, out);
}

SdmStatus sdm_scene_open_to(SdmContext *ctx, const SdmOptions *options, const char *left, const char *right,
                            SdmDepth depth, SdmScene **out)
{
    SdmStatus st = SDM_OK;
    *out = NULL;
    if (!left || !*left || (right && !*right))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "no input; give an ASTER level 1A scene, or the left and right image of a pair");
    SdmGdalConfig config;
    char name[2][1024];
    SDM_STAGE(ctx, 1);
    TRY(sdm_gdal_config_begin(ctx, options, &config));
    TRY(sdm_gdal_name(ctx, left, name[0], sizeof name[0]));
    TRY(sdm_gdal_name(ctx, right ? right : "", name[1], sizeof name[1]));
    TRY(sdm_alloc(ctx, out, 1, sizeof **out, "scene"));
    (*out)->options = options;
    (*out)->depth = (int)depth;
    sdm_gdal_register();
    st = open_by_content(ctx, name[0], right ? name[1] : NULL, *out);
done:
    sdm_gdal_config_end(&config);
    if (st != SDM_OK)
        sdm_scene_close(out);
    return st;
}

/* Options that name or describe files. */
static SdmStatus check_no_file_options(SdmContext *ctx, const SdmOptions *o)
{
    const char *const option = o->band                  ? "--band"
                               : o->mask_left           ? "--mask-left"
                               : o->mask_right          ? "--mask-right"
                               : !isnan(o->base_height) ? "--base-height"
                                                        : NULL;
    return option ? sdm_fail(ctx, SDM_ERR_USAGE,
                             "%s: is for image files; images in memory have their mask and camera with them, "
                             "leave the option out",
                             option)
                  : SDM_OK;
}

static SdmStatus open_array_view(SdmContext *ctx, int k, SdmViewInput *in, SdmScene *scene)
{
    SdmView *const view = &scene->view[k];
    const char *const name = in->image.name ? in->image.name : k ? "right image" : "left image";
    const SdmImageSource src = {.scene = scene, .view = k, .name = name, .array = &in->image};
    view->camera = in->camera;
    in->camera = NULL;
    PASS(sdm_format(ctx, view->name, sizeof view->name, "%s", name));
    PASS(sdm_image_open(ctx, &src, &view->image));
    if (!view->camera && !in->rpc)
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s: has no camera; give RPC coefficients or a camera", name);
    if (!view->camera)
        PASS(sdm_camera_open_rpc(ctx, name, in->rpc, &view->camera));
    return SDM_OK;
}

SdmStatus sdm_scene_open_arrays(SdmContext *ctx, const SdmOptions *options, SdmViewInput view[2],
                                SdmScene **out)
{
    SdmStatus st = SDM_OK;
    SdmScene *scene = NULL;
    SDM_STAGE(ctx, 1);
    TRY(check_no_file_options(ctx, options));
    TRY(sdm_alloc(ctx, &scene, 1, sizeof *scene, "scene"));
    scene->options = options;
    scene->depth = SDM_DEPTH_WHOLE;
    sdm_gdal_register();
    for (int k = 0; k < 2; ++k)
        TRY(open_array_view(ctx, k, &view[k], scene));
    const char *const camera = scene->view[0].camera->kind;
    scene->sensor = strcmp(camera, "aster") == 0 ? SDM_SENSOR_ASTER
                    : strcmp(camera, "rpc") == 0 ? SDM_SENSOR_RPC
                                                 : SDM_SENSOR_PARALLEL;
    snprintf(scene->id, sizeof scene->id, "%.255s", scene->view[0].name);
    snprintf(scene->kind, sizeof scene->kind, "images in memory");
    TRY(bin_finer_view(ctx, scene));
done:
    for (int k = 0; k < 2; ++k)
        sdm_camera_close(&view[k].camera);
    if (st != SDM_OK)
        sdm_scene_close(&scene);
    *out = scene;
    return st;
}

void sdm_scene_close(SdmScene **scene)
{
    if (!scene || !*scene)
        return;
    for (int k = 0; k < 2; ++k) {
        sdm_image_close(&(*scene)->view[k].image);
        sdm_camera_close(&(*scene)->view[k].camera);
    }
    remove_fetched((*scene)->fetched);
    sdm_free(&(*scene)->files);
    sdm_free(scene);
}
