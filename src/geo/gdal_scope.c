/* GDAL as this program uses it: its data and those of PROJ are found beside program or library; its errors
 * while a file is written become one sentence. */
// SPDX-License-Identifier: Apache-2.0
#define _LARGEFILE64_SOURCE 1 /* GDAL's VSIStatBufL is a struct stat64 */
#include "geo/gdal_scope.h"
#include "core/address.h"
#include "core/file.h"
#include "core/system.h"

#include <cpl_conv.h>
#include <cpl_error.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <gdal_utils.h>
#include <ogr_srs_api.h>
#include <string.h>

/* ---- the folders beside program or library in which PROJ and GDAL find their data ---- */

/* PREFIX/share/NAME, where the program or library lies in a folder of PREFIX; false: no `content` in it. */
static bool find_share(const char *name, const char *content, char out[SDM_PATH_SIZE])
{
    char module[SDM_PATH_SIZE], inside[SDM_PATH_SIZE];
    VSIStatBufL at;
    if (!sdm_system_module(module, sizeof module))
        return false;
    for (int k = 0; k < 2; k++) { /* take off its name, then its folder */
        char *const slash = sdm_system_slash(module);
        if (!slash)
            return false;
        *slash = '\0';
    }
    const int n = snprintf(out, SDM_PATH_SIZE, "%s/share/%s", module, name);
    const int m = n < SDM_PATH_SIZE ? snprintf(inside, sizeof inside, "%s/%s", out, content) : SDM_PATH_SIZE;
    return m < SDM_PATH_SIZE && VSIStatL(inside, &at) == 0;
}

char **sdm_own_proj_folders(void)
{
    static const char *const variables[] = {"PROJ_DATA", "PROJ_LIB"};
    char own[SDM_PATH_SIZE];
    if (!find_share("proj", "proj.db", own))
        return NULL;
    char **list = CSLAddString(NULL, own);
    for (int k = 0; k < 2; k++) {
        const char *const given = CPLGetConfigOption(variables[k], "");
        char **const folders = CSLTokenizeString2(given, sdm_system_list_separator, 0);
        list = CSLInsertStrings(list, -1, folders);
        CSLDestroy(folders);
    }
    return list;
}

#ifdef SDM_CA_BUNDLES
/* A curl that is part of the program knows no certificates: those of the system lie in one of these files. */
static void find_certificates(void)
{
    static const char *const variables[] = {"GDAL_CURL_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE"};
    static const char *const files[] = {"/etc/ssl/certs/ca-certificates.crt", /* Debian, Alpine, Arch */
                                        "/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora, RHEL */
                                        "/etc/ssl/ca-bundle.pem"};            /* SUSE */
    VSIStatBufL at;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        if (CPLGetConfigOption(variables[i], NULL))
            return;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (VSIStatL(files[i], &at) == 0) {
            CPLSetConfigOption(variables[0], files[i]);
            return;
        }
}
#endif

void sdm_gdal_register(void)
{
    char own[SDM_PATH_SIZE];
    char **const wanted = sdm_own_proj_folders(), **const set = OSRGetPROJSearchPaths();
    if (wanted && (!set || !*set || strcmp(*set, *wanted) != 0))
        OSRSetPROJSearchPaths((const char *const *)wanted);
    if (find_share("gdal", "", own) && strcmp(CPLGetConfigOption("GDAL_DATA", ""), own) != 0)
        CPLSetConfigOption("GDAL_DATA", own);
    CSLDestroy(set);
    CSLDestroy(wanted);
#ifdef SDM_CA_BUNDLES
    find_certificates();
#endif
    GDALAllRegister();
}

/* ---- errors that GDAL reports while a file is written -> one sentence ---- */

static void CPL_STDCALL catch_error(CPLErr level, CPLErrorNum number, const char *text)
{
    SdmGdalErrors *const errors = CPLGetErrorHandlerUserData();
    (void)number;
    if (level < CE_Warning || errors->failed)
        return;
    errors->failed = level >= CE_Failure;
    snprintf(errors->text, sizeof errors->text, "%s", text);
}

void sdm_gdal_errors_begin(SdmGdalErrors *errors)
{
    *errors = (SdmGdalErrors){0};
    CPLPushErrorHandlerEx(catch_error, errors);
}

void sdm_gdal_errors_end(SdmGdalErrors *errors)
{
    (void)errors;
    CPLPopErrorHandler();
}

SdmStatus sdm_fail_write(SdmContext *ctx, const char *path, const char *why)
{
    char folder[SDM_PATH_SIZE], room[96] = "";
    sdm_file_folder(path, folder);
    const double bytes = sdm_system_free_bytes(folder);
    if (bytes >= 0.0)
        snprintf(room, sizeof room, "; its folder has %.1f MB free", bytes * 1e-6);
    const char *const end = strstr(path, ".part-"); /* name the product, not its temporary file */
    return sdm_fail(ctx, SDM_ERR_IO, "%.*s cannot be written (%s)%s; nothing half-written was left behind",
                    end ? (int)(end - path) : (int)strlen(path), path, why && *why ? why : "no reason given",
                    room);
}

/* ---- files and bands ---- */

GDALDatasetH sdm_open_file(const char *name, unsigned flags)
{
    char path[SDM_PATH_SIZE];
    const char *rest, *const beginning = sdm_address_split(name, &rest);
    const int n = snprintf(path, sizeof path, "%s%s", beginning, rest);
    const bool fits = n > 0 && (size_t)n < sizeof path;
    GDALDatasetH const file = fits ? GDALOpenEx(path, flags, NULL, NULL, NULL) : NULL;
    /* a server that gives no parts: GDAL's driver fetches the whole */
    return file || !*beginning ? file : GDALOpenEx(name, flags, NULL, NULL, NULL);
}

GDALDatasetH sdm_wrap_samples(const SdmSamples *s)
{
    GDALDatasetH ds = GDALCreate(GDALGetDriverByName("MEM"), "", s->width, s->height, 0, s->type, NULL);
    for (int k = 0; ds && k < s->bands; k++) {
        char at[40] = "", data[80], pixel[40], row[40];
        char *options[] = {data, pixel, row, NULL};
        CPLPrintPointer(at, (char *)(uintptr_t)s->first + k * s->band_bytes, (int)sizeof at - 1);
        snprintf(data, sizeof data, "DATAPOINTER=%s", at);
        snprintf(pixel, sizeof pixel, "PIXELOFFSET=%lld", (long long)s->pixel_bytes);
        snprintf(row, sizeof row, "LINEOFFSET=%lld", (long long)s->row_bytes);
        if (GDALAddBand(ds, s->type, options) != CE_None) {
            GDALClose(ds);
            ds = NULL;
        }
    }
    return ds;
}

GDALRasterBandH sdm_alpha_band(GDALDatasetH file, GDALRasterBandH band)
{
    const int flags = GDALGetMaskFlags(band);
    if (!(flags & (GMF_ALL_VALID | GMF_ALPHA)))
        return NULL;
    for (int b = 1; b <= GDALGetRasterCount(file); b++) {
        GDALRasterBandH const other = GDALGetRasterBand(file, b);
        if (other != band && GDALGetRasterColorInterpretation(other) == GCI_AlphaBand)
            return other;
    }
    return NULL;
}

GDALDatasetH sdm_one_band(GDALDatasetH file, int number)
{
    if (GDALGetRasterCount(file) == 1)
        return file;
    GDALRasterBandH const alpha = sdm_alpha_band(file, GDALGetRasterBand(file, number));
    char format[] = "-of", vrt[] = "VRT", band[] = "-b", one[16], mask[] = "-mask", of[16] = "auto";
    char *arguments[] = {format, vrt, band, one, mask, of, NULL};
    snprintf(one, sizeof one, "%d", number);
    if (alpha)
        snprintf(of, sizeof of, "%d", GDALGetBandNumber(alpha));
    GDALTranslateOptions *const options = GDALTranslateOptionsNew(arguments, NULL);
    GDALDatasetH const out = options ? GDALTranslate("", file, options, NULL) : NULL;
    GDALTranslateOptionsFree(options);
    return out;
}

GDALRasterBandH sdm_band_mask(GDALRasterBandH band)
{
    return GDALGetMaskFlags(band) & (GMF_ALL_VALID | GMF_NODATA) ? NULL : GDALGetMaskBand(band);
}

bool sdm_is_companion(GDALDatasetH file)
{
    const char *const of = GDALGetDescription(GDALGetRasterBand(file, 1));
    return *of && strcmp(of, "height") != 0 &&
           (GDALGetMetadataItem(file, "STEREODEM_VERSION", NULL) ||
            GDALGetMetadataItem(file, "MASK_BIT_1", NULL));
}

SdmStatus sdm_check_heights(SdmContext *ctx, const char *role, const char *path, GDALDatasetH file)
{
    GDALRasterBandH const band = GDALGetRasterBand(file, 1);
    const GDALColorInterp colour = GDALGetRasterColorInterpretation(band);
    const int bands = GDALGetRasterCount(file) - (sdm_alpha_band(file, band) != NULL);
    if (sdm_is_companion(file))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s %s: its first band is '%.60s', it lies beside a DEM of stereodem and holds no "
                        "heights; give the DEM itself",
                        role, path, GDALGetDescription(band));
    if (colour == GCI_PaletteIndex || (bands > 1 && colour >= GCI_RedBand && colour <= GCI_BlueBand))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s %s: its bands are colours, it is an image; give a raster of heights", role, path);
    if (bands > 1)
        sdm_log(ctx, SDM_LOG_WARNING, 1, "%s %s has %d bands: the first is taken for heights in metres", role,
                path, bands);
    return SDM_OK;
}
