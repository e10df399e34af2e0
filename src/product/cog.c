/* A raw raster -> a Cloud-Optimised GeoTIFF, by GDAL. */
// SPDX-License-Identifier: Apache-2.0
#include "product/raster.h"
#include "core/system.h"
#include "geo/gdal_errors.h"
#include "geo/own_data.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Threads that compress: GDAL holds some 20 MB for each. */
static int cog_threads(const SdmContext *ctx, int64_t memory_bytes)
{
    const int64_t fit = memory_bytes / (INT64_C(256) << 20);
    const int threads = sdm_threads(ctx);
    return fit < 1 ? 1 : fit < threads ? (int)fit : threads;
}

/* The user's creation options over ours. */
static char **add_user_options(char **co, const char *const *user)
{
    for (const char *const *o = user; o && *o; o++) {
        char *name = NULL;
        const char *const value = CPLParseNameValue(*o, &name);
        if (name && value) {
            co = CSLSetNameValue(co, name, value);
            if (EQUAL(name, "COMPRESS") &&
                !EQUAL(value, "DEFLATE")) { /* LEVEL and PREDICTOR were for DEFLATE */
                co = CSLSetNameValue(co, "LEVEL", NULL);
                if (!EQUAL(value, "LZW") && !EQUAL(value, "ZSTD"))
                    co = CSLSetNameValue(co, "PREDICTOR", NULL);
            }
        }
        CPLFree(name);
    }
    return co;
}

/* For GDAL's drivers: COG for one band; GTiff for several, which lie apart: COG's bands side by side take a
 * third more room. */
static char **creation_options(const SdmContext *ctx, const SdmCogRequest *request, int bands,
                               GDALDataType type)
{
    static const char *const apart[] = {"COPY_SRC_OVERVIEWS=YES",
                                        "TILED=YES",
                                        "BLOCKXSIZE=512",
                                        "BLOCKYSIZE=512",
                                        "INTERLEAVE=BAND",
                                        "ZLEVEL=1",
                                        NULL};
    char threads[16], **co = bands > 1 ? CSLDuplicate((char **)(uintptr_t)apart) : NULL;
    snprintf(threads, sizeof threads, "%d", cog_threads(ctx, request->memory_bytes));
    co = CSLSetNameValue(co, "COMPRESS", "DEFLATE");
    if (bands == 1) {
        co = CSLSetNameValue(co, "LEVEL", "1");
        co = CSLSetNameValue(co, "PREDICTOR", type == GDT_Float32 ? "3" : "2");
    }
    co = CSLSetNameValue(co, "NUM_THREADS", threads);
    co = CSLSetNameValue(co, "BIGTIFF", "IF_SAFER");
    return add_user_options(co, request->co);
}

/* Write a DEM of 64 x 64 cells in memory: what fails there would fail after hours. */
static bool try_small(char **co)
{
    char name[64];
    snprintf(name, sizeof name, "/vsimem/stereodem_co_%p.tif", (void *)co);
    GDALDatasetH mem = GDALCreate(GDALGetDriverByName("MEM"), "", 64, 64, 1, GDT_Float32, NULL);
    if (mem)
        GDALSetRasterNoDataValue(GDALGetRasterBand(mem, 1), (double)SDM_NODATA);
    GDALDatasetH cog =
        mem ? GDALCreateCopy(GDALGetDriverByName("COG"), name, mem, FALSE, co, NULL, NULL) : NULL;
    const bool good = cog != NULL;
    GDALClose(cog);
    GDALClose(mem);
    VSIUnlink(name);
    return good;
}

SdmStatus sdm_cog_check(SdmContext *ctx, const char *const *co)
{
    static const char *const fixed[] = {"TILING_SCHEME", "TARGET_SRS",     "RES",
                                        "EXTENT",        "ALIGNED_LEVELS", "ADD_ALPHA"};
    SdmStatus st = SDM_OK;
    SdmGdalErrors errors;
    const SdmCogRequest request = {.co = co};
    char **options = NULL;
    sdm_gdal_register();
    GDALDriverH driver = GDALGetDriverByName("COG");
    if (!driver)
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                        "this GDAL (%s) has no COG driver; version 3.1 or newer is needed",
                        GDALVersionInfo("RELEASE_NAME"));
    if (!co || !co[0])
        return SDM_OK; /* DEFLATE is always there */
    sdm_gdal_errors_begin(&errors);
    for (const char *const *o = co; *o; o++) {
        if (!strchr(*o, '='))
            TRY(sdm_fail(ctx, SDM_ERR_USAGE, "--co %s: expected NAME=VALUE", *o));
        for (int i = 0; i < 6; i++)
            if (!strncasecmp(*o, fixed[i], strlen(fixed[i])) && (*o)[strlen(fixed[i])] == '=')
                TRY(sdm_fail(ctx, SDM_ERR_USAGE,
                             "--co %s would change the grid of the DEM; use --t_srs and --tr", *o));
    }
    options = creation_options(ctx, &request, 1, GDT_Float32);
    options = CSLSetNameValue(options, "NUM_THREADS", NULL); /* errors of other threads would not be caught */
    if (!GDALValidateCreationOptions(driver, options) || !try_small(options) || errors.failed)
        st = sdm_fail(ctx, SDM_ERR_USAGE, "--co: GDAL's COG driver cannot write a DEM with these options: %s",
                      errors.text);
done:
    CSLDestroy(options);
    sdm_gdal_errors_end(&errors);
    return st;
}

typedef struct Watch {
    SdmContext *ctx;
    double tell_from; /* 0: no progress */
} Watch;

static int CPL_STDCALL go_on(double done, const char *text, void *watch)
{
    const Watch *const w = watch;
    (void)text;
    if (w->tell_from > 0.0)
        sdm_progress(w->ctx, 9, w->tell_from + (1.0 - w->tell_from) * 0.99 * done, "writing");
    return sdm_check_stop(w->ctx) == SDM_OK;
}

/* Have the bytes written to the disk: those in the system's buffers may still meet a full disk or quota. */
static SdmStatus sync_file(SdmContext *ctx, const char *path)
{
    return sdm_system_sync_path(path) != 0 ? sdm_fail_write(ctx, path, strerror(errno)) : SDM_OK;
}

static SdmStatus write_by_gdal(SdmContext *ctx, const SdmRaster *from, const SdmCogRequest *request,
                               char **co, Watch *watch)
{
    SdmGdalErrors errors;
    const char *const driver = GDALGetRasterCount(from->dataset) > 1 ? "GTiff" : "COG";
    sdm_gdal_errors_begin(&errors);
    errno = 0;
    const GDALDatasetH file =
        GDALCreateCopy(GDALGetDriverByName(driver), request->path, from->dataset, FALSE, co, go_on, watch);
    GDALClose(file);
    const int why = errno; /* libtiff tells no reason */
    sdm_gdal_errors_end(&errors);
    if (file && !errors.failed)
        return SDM_OK;
    return sdm_fail_write(ctx, request->path,
                          why == ENOSPC || why == EDQUOT || why == EFBIG ? strerror(why) : errors.text);
}

SdmStatus sdm_cog_write(SdmContext *ctx, const SdmRaster *from, const SdmCogRequest *request)
{
    SdmStatus st = SDM_OK;
    Watch watch = {ctx, request->tell_from};
    char **const co = creation_options(ctx, request, GDALGetRasterCount(from->dataset),
                                       GDALGetRasterDataType(GDALGetRasterBand(from->dataset, 1)));
    (void)go_on(0.0, NULL, &watch);
    if (!CSLFetchNameValue(co, "OVERVIEW_RESAMPLING")) /* the user asks for others: GDAL makes them */
        TRY(sdm_overviews_build(ctx, from, request));
    const SdmStatus written = write_by_gdal(ctx, from, request, co, &watch);
    TRY(sdm_check_stop(ctx)); /* to GDAL a stop is a failure */
    TRY(written);
    TRY(sync_file(ctx, request->path));
done:
    CSLDestroy(co);
    return st;
}
