/* GDAL's errors while a file is written -> one sentence. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/gdal_errors.h"

#include <cpl_error.h>
#include <string.h>
#include <sys/statvfs.h>

enum { PATH_BYTES = 4096 };

static void CPL_STDCALL catch_error(CPLErr level, CPLErrorNum number, const char *text)
{
    SdmGdalErrors *const trap = CPLGetErrorHandlerUserData();
    (void)number;
    if (level < CE_Warning || trap->failed)
        return;
    trap->failed = level >= CE_Failure;
    snprintf(trap->text, sizeof trap->text, "%s", text);
}

void sdm_gdal_errors_begin(SdmGdalErrors *trap)
{
    *trap = (SdmGdalErrors){0};
    CPLPushErrorHandlerEx(catch_error, trap);
}

void sdm_gdal_errors_end(SdmGdalErrors *trap)
{
    (void)trap;
    CPLPopErrorHandler();
}

SdmStatus sdm_fail_write(SdmContext *ctx, const char *path, const char *why)
{
    char folder[PATH_BYTES], room[96] = "";
    struct statvfs s;
    snprintf(folder, sizeof folder, "%s", path);
    char *const slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder ? 1 : 0] = '\0';
    if (!statvfs(slash ? folder : ".", &s))
        snprintf(room, sizeof room, "; its folder has %.1f MB free",
                 (double)s.f_bavail * (double)s.f_frsize * 1e-6);
    const char *const end = strstr(path, ".part-"); /* name the product, not what is written aside */
    return sdm_fail(ctx, SDM_ERR_IO, "%.*s cannot be written (%s)%s; nothing half-written was left behind",
                    end ? (int)(end - path) : (int)strlen(path), path, why && *why ? why : "no reason given",
                    room);
}
