/* Names of files: their last part and ending; relative to a folder and absolute, as a job folder keeps them;
 * quoted for a shell. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/file.h"

const char *sdm_path_base(const char *path); /* behind the last slash */

/* Does the name of the file end so, in letters of either case, with more before it? */
bool sdm_path_ends_in(const char *path, const char *ending);

/* Length of the name without .tif, .tiff or .gtiff. */
size_t sdm_path_stem(const char *output);

/* Is it a file that no user made: hidden (".x", "._x", rests of a transfer), or macOS's resource forks in a
 * zip archive ("__MACOSX")?  base: name without its folder. */
bool sdm_path_is_hidden(const char *base);

/* rel as seen from here: folder/rel without needless "..", or rel itself when it is absolute. */
SdmStatus sdm_path_join(SdmContext *ctx, const char *folder, const char *rel, char out[SDM_PATH_SIZE]);

/* path -> its name relative to the folder (which exists) and its absolute name.  A name that is no file (GDAL
 * alone understands it) stays as it is, absolute = "". */
SdmStatus sdm_path_split(SdmContext *ctx, const char *folder, const char *path, char rel[SDM_PATH_SIZE],
                         char absolute[SDM_PATH_SIZE]);

/* The file that was stored as rel and absolute: the first of the two that exists, else rel's; of one file the
 * shorter name, no chain of "../"; rel as it is without absolute. */
SdmStatus sdm_path_find(SdmContext *ctx, const char *folder, const char *rel, const char *absolute,
                        char out[SDM_PATH_SIZE]);

/* path as one word of a shell's command line: in quotes where it needs them.  out: room
 * for it; a longer name is cut. */
void sdm_path_quote(const char *path, char *out, size_t size);
