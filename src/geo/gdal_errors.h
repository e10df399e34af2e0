/* GDAL's errors while a file is written: caught, and told in one sentence. */
#ifndef SDM_GDAL_ERRORS_H
#define SDM_GDAL_ERRORS_H

#include "core/core.h"

/* GDAL's errors, caught per thread; the first failure is kept. */
typedef struct SdmGdalErrors {
    bool failed;
    char text[512]; /* first failure, else last warning */
} SdmGdalErrors;
void sdm_gdal_errors_begin(SdmGdalErrors *trap);
void sdm_gdal_errors_end(SdmGdalErrors *trap);
/* SDM_ERR_IO that names the file and says what GDAL said and how much room the folder has.  path: of the
 * file, or of what is written aside for it, FILE.part-... */
SdmStatus sdm_fail_write(SdmContext *ctx, const char *path, const char *why);

#endif
