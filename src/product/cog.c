/* A raw raster -> a Cloud-Optimised GeoTIFF with overviews, by GDAL's COG driver. */
// SPDX-License-Identifier: Apache-2.0
#include "product/product_inside.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Threads that compress: GDAL holds some 20 MB for each. */
static int cog_threads(const SdmContext *ctx)
{
    const int64_t fit = sdm_options(ctx)->memory_bytes / (INT64_C(256) << 20);
    const int threads = sdm_threads(ctx);
    return fit < 1 ? 1 : fit < threads ? (int)fit : threads;
}

static char **cog_options(SdmContext *ctx, int file, GDALDataType type)
{
    char threads[16], **co = NULL;
    snprintf(threads, sizeof threads, "%d", cog_threads(ctx));
    co = CSLSetNameValue(co, "COMPRESS", "DEFLATE");
    co = CSLSetNameValue(co, "LEVEL", file == SDM_FILE_DEM ? "4" : "1");
    co = CSLSetNameValue(co, "PREDICTOR", type == GDT_Float32 ? "3" : "2");
    co = CSLSetNameValue(co, "NUM_THREADS", threads);
    co = CSLSetNameValue(co, "BIGTIFF", "IF_SAFER");
    co = CSLSetNameValue(co, "OVERVIEW_RESAMPLING", file == SDM_FILE_QA ? "NEAREST" : "AVERAGE");
    if (file == SDM_FILE_DEM)
        for (const char *const *o = sdm_options(ctx)->co; *o; o++) {
            char *name = NULL;
            const char *const value = CPLParseNameValue(*o, &name);
            if (name && value) {
                co = CSLSetNameValue(co, name, value);
                if (EQUAL(name, "COMPRESS") &&
                    !EQUAL(value, "DEFLATE")) { /* LEVEL, PREDICTOR were ours for DEFLATE */
                    co = CSLSetNameValue(co, "LEVEL", NULL);
                    if (!EQUAL(value, "LZW") && !EQUAL(value, "ZSTD"))
                        co = CSLSetNameValue(co, "PREDICTOR", NULL);
                }
            }
            CPLFree(name);
        }
    return co;
}

/* A DEM of 64 x 64 cells in memory: tells now what would otherwise fail after hours. */
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

SdmStatus sdm_cog_check(SdmContext *ctx)
{
    static const char *const fixed[] = {"TILING_SCHEME", "TARGET_SRS",     "RES",
                                        "EXTENT",        "ALIGNED_LEVELS", "ADD_ALPHA"};
    SdmStatus st = SDM_OK;
    SdmGdalErrors trap;
    char **co = NULL;
    GDALAllRegister();
    GDALDriverH driver = GDALGetDriverByName("COG");
    if (!driver)
        return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                        "this GDAL (%s) has no COG driver; version 3.1 or newer is needed",
                        GDALVersionInfo("RELEASE_NAME"));
    if (!sdm_options(ctx)->co[0])
        return SDM_OK; /* deflate is always there */
    sdm_gdal_errors_begin(&trap);
    for (const char *const *o = sdm_options(ctx)->co; *o; o++) {
        if (!strchr(*o, '=')) {
            st = sdm_fail(ctx, SDM_ERR_USAGE, "--co %s: expected NAME=VALUE", *o);
            goto done;
        }
        for (int i = 0; i < 6; i++)
            if (!strncasecmp(*o, fixed[i], strlen(fixed[i])) && (*o)[strlen(fixed[i])] == '=') {
                st = sdm_fail(ctx, SDM_ERR_USAGE,
                              "--co %s would change the grid of the DEM; use --t_srs and --tr", *o);
                goto done;
            }
    }
    co = cog_options(ctx, SDM_FILE_DEM, GDT_Float32);
    co = CSLSetNameValue(co, "NUM_THREADS", NULL); /* what goes wrong is said in this thread, then */
    if (!GDALValidateCreationOptions(driver, co) || !try_small(co) || trap.failed)
        st = sdm_fail(ctx, SDM_ERR_USAGE, "--co: GDAL's COG driver cannot write a DEM with these options: %s",
                      trap.text);
done:
    CSLDestroy(co);
    sdm_gdal_errors_end(&trap);
    return st;
}

static int CPL_STDCALL go_on(double done, const char *text, void *ctx)
{
    (void)done;
    (void)text;
    return sdm_check_stop(ctx) == SDM_OK;
}

/* What sits in the system's buffers may still meet a full disk or quota: ask for it on the disk. */
static SdmStatus sync_file(SdmContext *ctx, const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const int bad = fd < 0 || (fsync(fd) != 0 && errno != EINVAL && errno != EROFS);
    const SdmStatus st = bad ? sdm_fail_write(ctx, path, strerror(errno)) : SDM_OK;
    if (fd >= 0)
        close(fd);
    return st;
}

SdmStatus sdm_cog_write(SdmContext *ctx, SdmProduct *p, int file)
{
    SdmStatus st = SDM_OK;
    SdmGdalErrors trap;
    const char *const path = p->names->part[file];
    char **co = cog_options(ctx, file, GDALGetRasterDataType(GDALGetRasterBand(p->raw[file], 1)));
    sdm_gdal_errors_begin(&trap);
    GDALDatasetH cog = NULL;
    if (file != SDM_FILE_DEM || !sdm_options(ctx)->co[0]) /* --co may ask for others */
        st = sdm_overviews_build(ctx, p, file);
    if (st == SDM_OK)
        cog = GDALCreateCopy(GDALGetDriverByName("COG"), path, p->raw[file], FALSE, co, go_on, ctx);
    GDALClose(cog);
    sdm_gdal_errors_end(&trap);
    CSLDestroy(co);
    TRY(st);
    TRY(sdm_check_stop(ctx));
    if (!cog || trap.failed)
        st = sdm_fail_write(ctx, path, trap.text);
    else
        TRY(sync_file(ctx, path));
done:
    return st;
}
