/* Errors that GDAL reports while a file is written -> one sentence. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

/* GDAL's report in this thread between begin and end, instead of printing it. */
typedef struct SdmGdalErrors {
    bool failed;
    char text[512]; /* the first failure, else the last warning */
} SdmGdalErrors;
void sdm_gdal_errors_begin(SdmGdalErrors *errors); /* errors stays in use until end */
void sdm_gdal_errors_end(SdmGdalErrors *errors);
/* Returns SDM_ERR_IO with a sentence: the file, the reason, the free space of its folder.
 * path: the file, or a temporary one of it, FILE.part-...; why: reason, NULL or "" when unknown. */
SdmStatus sdm_fail_write(SdmContext *ctx, const char *path, const char *why);
