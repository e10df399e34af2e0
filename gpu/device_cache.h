/* Programs that the driver of a device built, kept for the next process in files of
 * $XDG_CACHE_HOME/stereodem or ~/.cache/stereodem.  Internal; not installed. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_GPU_DEVICE_CACHE_H
#define SDM_GPU_DEVICE_CACHE_H

#include "core/core.h"

/* key: text that tells what the data depend on (device, driver, options, source); the whole of it is
 * compared.  *out (sdm_free) is NULL where there is no file of that key, or a damaged one. */
void sdm_cache_read(SdmContext *ctx, const char *key, char **out, size_t *bytes);
/* Written to a temporary file that is renamed, so that several processes may write at the same time; a file
 * that cannot be written is skipped. */
void sdm_cache_write(SdmContext *ctx, const char *key, const void *data, size_t bytes);

#endif
