/* ASTER level 1A deliveries (HDF, folder, zip) -> scene. */
// SPDX-License-Identifier: Apache-2.0
#include "input/aster_files.h"
#include "core/system.h"
#include "input/image.h"

#include <cpl_string.h>
#include <math.h>
#include <string.h>

static const char *const TELESCOPE[2] = {"3N", "3B"};

SdmStatus sdm_aster_open_tables(SdmContext *ctx, const char *base_path, const char *telescope,
                                SdmCamera **out)
{
    SdmAsterBand band;
    *out = NULL;
    SdmStatus st = sdm_aster_read_text(ctx, base_path, telescope, false, NULL, &band);
    if (st == SDM_OK)
        st = sdm_aster_open_camera(ctx, &band, telescope, out);
    sdm_aster_band_free(&band);
    return st;
}

/* The lattice must cover the image, and no more than that. */
static SdmStatus check_cover(SdmContext *ctx, const SdmAsterBand *band, const SdmImage *im)
{
    const double *const first = band->lattice_px;
    const double *const last = band->lattice_px + 2 * ((size_t)band->nrow * (size_t)band->ncol - 1);
    const double dc = (last[0] - first[0]) / (band->ncol - 1), dr = (last[1] - first[1]) / (band->nrow - 1);
    const double w = (double)im->width, h = (double)im->height;
    if (fabs(first[0]) <= dc && fabs(last[0] - w) <= dc && fabs(first[1]) <= 1.5 * dr &&
        fabs(last[1] - h) <= 2.5 * dr)
        return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_INPUT,
                    "%s: the image has %lld columns x %lld rows, but the lattice of %s spans columns %g to "
                    "%g, rows %g to %g; the files are of different bands or scenes (3N and 3B exchanged?), "
                    "fetch the scene again",
                    im->name, (long long)im->width, (long long)im->height, band->source, first[0], last[0],
                    first[1], last[1]);
}

/* unpacked: samples of the image, or NULL. */
static SdmStatus open_view(SdmContext *ctx, int k, SdmAsterBand *band, SdmUnpackedBand *unpacked,
                           SdmScene *scene)
{
    const SdmOptions *const opt = scene->options;
    SdmView *const view = &scene->view[k];
    const SdmImageSource src = {.name = band->image,
                                .label = band->label,
                                .mask = k ? opt->mask_right : opt->mask_left,
                                .option = k ? "--mask-right" : "--mask-left",
                                .table = band->radiometry,
                                .table_lines = band->radiometry_lines,
                                .table_name = band->table,
                                .depth = scene->depth,
                                .unpacked = unpacked};
    PASS(sdm_format(ctx, view->name, sizeof view->name, "%s", band->label));
    PASS(sdm_image_open(ctx, &src, &view->image));
    if (scene->depth == SDM_DEPTH_WHOLE && strncmp(band->image, "/vsizip/", 8) == 0)
        PASS(sdm_check_packed(ctx, band->image));
    PASS(check_cover(ctx, band, view->image));
    band->once_more = scene->depth != SDM_DEPTH_WHOLE;
    return sdm_aster_open_camera(ctx, band, TELESCOPE[k], &view->camera);
}

/* A scene that was taken at night, or with the VNIR telescopes off. */
static SdmStatus fail_bands(SdmContext *ctx, const char *path, const char *bands)
{
    return sdm_fail(ctx, SDM_ERR_INPUT,
                    "%s: an ASTER scene with %s, but without VNIR_Band3N and VNIR_Band3B, from which a DEM "
                    "is made (taken at night, or with these telescopes off); take another scene of the place",
                    path, bands);
}

/* The file is HDF4 but lacks the two telescopes: say which product it is, and what to order. */
static SdmStatus refuse_hdf(SdmContext *ctx, const SdmHdf4 *hdf, const char *path)
{
    bool n3 = false, b3 = false, resampled = false;
    const char *bands = NULL, *swath, *field;
    for (int i = 0; sdm_hdf4_field(hdf, i, &swath, &field); ++i) {
        const bool image = strcmp(field, "ImageData") == 0;
        bands = bands ? bands : sdm_aster_bands_of(swath);
        n3 = n3 || (image && strcmp(swath, "VNIR_Band3N") == 0);
        b3 = b3 || (image && strcmp(swath, "VNIR_Band3B") == 0);
        resampled = resampled || strcmp(swath, "VNIR_Swath") == 0;
    }
    if (n3 && b3)
        return SDM_OK;
    const char *const other = sdm_aster_product_of((CSLConstList)sdm_hdf4_metadata(hdf), path);
    if (other || resampled)
        return sdm_aster_refuse(ctx, path, other ? other : "an ASTER level 1B or 1T scene");
    if (n3 || b3)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: holds VNIR_Band%s but no VNIR_Band%s (that telescope was off, or its data are "
                        "lost), and a DEM needs both; take another scene of the place",
                        path, n3 ? "3N" : "3B", n3 ? "3B" : "3N");
    if (bands)
        return fail_bands(ctx, path, bands);
    return sdm_fail(ctx, SDM_ERR_INPUT,
                    "%s: an HDF4 file without VNIR_Band3N and VNIR_Band3B, expected an ASTER level 1A scene; "
                    "it is damaged or of another kind, order AST_L1A V004",
                    path);
}

/* Name without folder and ending; acquisition time from it. */
static void name_scene(const char *base, size_t length, SdmScene *scene)
{
    snprintf(scene->id, sizeof scene->id, "%.*s", (int)(length < 255 ? length : 255), base);
    sdm_granule_time(scene->id, scene->time_utc);
}

/* The same of a file's name: its own, or where that says nothing of a scene, that of the file that it is a
 * link to. */
static void name_by_file(const char *path, SdmScene *scene)
{
    char real[4096];
    const bool known = sdm_system_real_path(path, real, sizeof real);
    for (int k = 0; k < 2 && !scene->time_utc[0]; ++k) {
        const char *const base = sdm_path_base(k && known ? real : path), *const dot = strrchr(base, '.');
        if (k == 0 || (known && strstr(base, "AST_L1A_")))
            name_scene(base, dot && dot > base ? (size_t)(dot - base) : strlen(base), scene);
    }
}

/* Name and time as the metadata of real scenes give them, where they do. */
static void name_from_metadata(SdmContext *ctx, char **metadata, const char *path, SdmScene *scene)
{
    const char *const granule = CSLFetchNameValue(metadata, "LOCALGRANULEID");
    const char *const date = CSLFetchNameValue(metadata, "CALENDARDATE");
    const char *const time = CSLFetchNameValue(metadata, "TIMEOFDAY");
    char time_utc[32];
    const size_t length = granule ? strlen(granule) : 0;
    if (granule && strncmp(granule, "AST_L1A_", 8) == 0 && !strchr(granule, '/'))
        name_scene(granule, sdm_path_ends_in(granule, ".hdf") ? length - 4 : length, scene);
    if (!date || !time)
        return;
    if (sdm_time_read(date, time, time_utc))
        memcpy(scene->time_utc, time_utc, sizeof time_utc);
    else
        sdm_log(ctx, SDM_LOG_WARNING, 1,
                "%s: its metadata give %.40s %.40s as the time of acquisition, which is not a time; %s", path,
                date, time,
                scene->time_utc[0] ? "that in its name is taken" : "the time is taken as unknown");
}

static SdmStatus open_hdf(SdmContext *ctx, const char *path, SdmHdf4 *hdf, SdmScene *scene)
{
    SdmStatus st = SDM_OK;
    SdmAsterBand band;
    SdmUnpackedBand unpacked[2] = {{.sample = NULL}};
    TRY(refuse_hdf(ctx, hdf, path));
    name_by_file(path, scene);
    name_from_metadata(ctx, sdm_hdf4_metadata(hdf), path, scene);
    TRY(sdm_hdf4_images(ctx, hdf, (const char *const[2]){"VNIR_Band3N", "VNIR_Band3B"},
                        scene->depth != SDM_DEPTH_CAMERAS, unpacked));
    for (int k = 0; k < 2; ++k) {
        TRY(sdm_aster_read_hdf(ctx, hdf, path, TELESCOPE[k], &band));
        st = open_view(ctx, k, &band, &unpacked[k], scene);
        sdm_aster_band_free(&band);
        TRY(st);
    }
done:
    for (int k = 0; k < 2; ++k)
        sdm_free(&unpacked[k].sample);
    return st;
}

SdmStatus sdm_aster_open_hdf(SdmContext *ctx, const char *path, const char *gdal_path, SdmScene *scene)
{
    SdmStatus st = SDM_OK;
    SdmHdf4 *hdf = NULL;
    if (scene->depth == SDM_DEPTH_WHOLE && strncmp(gdal_path, "/vsizip/", 8) == 0)
        TRY(sdm_check_packed(ctx, gdal_path));
    TRY(sdm_hdf4_open(ctx, gdal_path, &hdf));
    scene->sensor = SDM_SENSOR_ASTER;
    const bool v003 = strncmp(sdm_path_base(gdal_path), "AST_L1A_003", 11) == 0;
    snprintf(scene->kind, sizeof scene->kind, "ASTER L1A V00%d (HDF)", v003 ? 3 : 4);
    TRY(sdm_scene_add_file(ctx, scene, path));
    TRY(open_hdf(ctx, gdal_path, hdf, scene));
done:
    sdm_hdf4_close(&hdf);
    return st;
}

/* Files of one kind that a walk finds. */
typedef struct Found {
    int count;
    char first[1024];
} Found;

/* Scenes by their files <base>.VNIR_Band3N.* and 3B, in letters of either case; first: path up to ".VNIR". */
static SdmWalk find_base(void *user, const char *path, const char *name)
{
    static const char mark[] = ".VNIR_Band3";
    Found *const found = user;
    for (const char *at = strchr(name, '.'); at; at = strchr(at + 1, '.')) {
        char base[1024];
        if (!EQUALN(at, mark, sizeof mark - 1))
            continue;
        snprintf(base, sizeof base, "%.*s", (int)(strlen(path) - strlen(at)), path);
        const bool another = found->count && strcmp(base, found->first) != 0;
        found->count = another ? 2 : 1;
        if (!another)
            memcpy(found->first, base, sizeof base);
        return another ? SDM_WALK_END : SDM_WALK_NOT_BELOW;
    }
    return SDM_WALK_ON;
}

static SdmWalk find_hdf(void *user, const char *path, const char *name)
{
    Found *const found = user;
    if (sdm_path_ends_in(name, ".hdf") && !found->count++)
        snprintf(found->first, sizeof found->first, "%s", path);
    return SDM_WALK_ON;
}

/* Open the HDF file of a folder or archive without the files of a V003 scene, or fail. */
static SdmStatus open_other(SdmContext *ctx, const char *path, const char *gdal_path, SdmScene *scene)
{
    Found hdf = {.count = 0};
    const bool zip = strcmp(path, gdal_path) != 0;
    const char *const kind = zip ? "zip archive" : "folder", *const bands = sdm_aster_bands_in(gdal_path, 2);
    (void)sdm_folder_walk(gdal_path, 2, find_hdf, &hdf);
    if (hdf.count == 1)
        return sdm_aster_open_hdf(ctx, zip ? path : hdf.first, hdf.first, scene); /* or says what it is */
    const char *const other = hdf.count == 0 ? sdm_aster_product_in(gdal_path, 2) : NULL;
    if (other)
        return sdm_aster_refuse(ctx, path, other);
    if (hdf.count > 0)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: a %s with %d HDF files (%s and others); give one of them itself", path, kind,
                        hdf.count, sdm_path_base(hdf.first));
    if (bands)
        return fail_bands(ctx, path, bands);
    return sdm_fail(ctx, SDM_ERR_INPUT,
                    "%s: a %s without files NAME.VNIR_Band3N.ImageData.tif and without an HDF file, expected "
                    "an ASTER scene; give the scene's own %s%s",
                    path, kind, kind, zip ? ", or images in it by GDAL's names, /vsizip/FILE/IMAGE" : "");
}

SdmStatus sdm_aster_open_folder(SdmContext *ctx, const char *path, const char *gdal_path, SdmScene *scene)
{
    SdmStatus st = SDM_OK;
    SdmAsterBand band;
    Found found = {.count = 0};
    const char *const base = found.first;
    char fault[256] = "";
    const bool zip = strcmp(path, gdal_path) != 0;
    const char *const kind = zip ? "zip archive" : "folder";
    if (zip)
        sdm_zip_fault(path, fault, sizeof fault);
    if (*fault)
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                        "%s: %s, so GDAL cannot open it inside the archive; unpack it, then give the folder",
                        path, fault);
    const bool listed = sdm_folder_walk(gdal_path, 2, find_base, &found);
    const char *const other = found.count > 0 ? sdm_aster_other_product(sdm_path_base(base)) : NULL;
    if (other)
        return sdm_aster_refuse(ctx, path, other);
    if (!listed)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s: the %s cannot be listed%s; %s", path, kind,
                        zip ? ", it is cut short or "
                              "damaged"
                            : "",
                        zip ? "fetch it again" : "check its permissions");
    if (found.count == 0)
        return open_other(ctx, path, gdal_path, scene);
    if (found.count > 1)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: a %s with more than one ASTER scene (%s and others); give one scene's own %s",
                        path, kind, sdm_path_base(base), kind);
    scene->sensor = SDM_SENSOR_ASTER;
    snprintf(scene->kind, sizeof scene->kind, "ASTER L1A V003 (%s)", zip ? "zip" : "folder");
    name_scene(sdm_path_base(base), strlen(sdm_path_base(base)), scene);
    if (zip)
        TRY(sdm_scene_add_file(ctx, scene, path));
    for (int k = 0; k < 2; ++k) {
        TRY(sdm_aster_read_text(ctx, base, TELESCOPE[k], true, zip ? NULL : scene, &band));
        st = open_view(ctx, k, &band, NULL, scene);
        sdm_aster_band_free(&band);
        TRY(st);
    }
done:
    return st;
}
