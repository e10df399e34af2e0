/* GDAL as this program uses it: its data and those of PROJ are found beside program or library; its errors
 * while a file is written become one sentence. */
// SPDX-License-Identifier: Apache-2.0
#define _LARGEFILE64_SOURCE 1 /* GDAL's VSIStatBufL is a struct stat64 */
#include "geo/gdal_scope.h"
#include "core/file.h"
#include "core/system.h"

#include <cpl_conv.h>
#include <cpl_error.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <gdal.h>
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
