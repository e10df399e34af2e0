/* Errors that GDAL reports while a file is written -> one sentence. */
// SPDX-License-Identifier: Apache-2.0
#include "geo/gdal_errors.h"
#include "core/file.h"
#include "core/system.h"

#include <cpl_error.h>
#include <string.h>

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
