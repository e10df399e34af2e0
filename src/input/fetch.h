/* A file on the network -> a copy on the disk, for readers that take many small pieces of it. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/path.h"

/* Copy a file of GDAL's network file systems (/vsicurl/, /vsis3/ ...) into a folder of its own under GDAL's
 * CPL_TMPDIR, else TMPDIR, under its own name.  A connection that breaks off is taken up where it was.
 * Logins are those of GDAL: --config, ~/.netrc.  out: its name, for sdm_fetch_remove(); "" after a failure.
 * SDM_ERR_INPUT where it cannot be had whole, SDM_ERR_IO where it cannot be kept. */
SdmStatus sdm_fetch_file(SdmContext *ctx, const char *address, char out[SDM_PATH_SIZE]);
void sdm_fetch_remove(char path[SDM_PATH_SIZE]); /* accepts "", sets "" */
