/* Names of files as a job folder keeps them: relative to the folder, with where they lay when it was planned.
 */
#ifndef SDM_PATH_H
#define SDM_PATH_H

#include "core/core.h"

enum { SDM_PATH_SIZE = 1024 };

/* rel as seen from here: folder/rel without needless "..", or rel itself when it is absolute. */
SdmStatus sdm_path_join(SdmContext *ctx, const char *folder, const char *rel, char out[SDM_PATH_SIZE]);

/* path -> its name relative to the folder (which exists) and its absolute name.  What is no file (a name that
 * GDAL alone understands) stays as it is, absolute = "". */
SdmStatus sdm_path_split(SdmContext *ctx, const char *folder, const char *path, char rel[SDM_PATH_SIZE],
                         char absolute[SDM_PATH_SIZE]);

/* The file that was stored as rel and absolute: the first of the two that exists, else rel's; rel as it is
 * without the other. */
SdmStatus sdm_path_find(SdmContext *ctx, const char *folder, const char *rel, const char *absolute,
                        char out[SDM_PATH_SIZE]);

/* A name beside path that no other process on any machine uses: path.part-<16 digits>. */
SdmStatus sdm_path_temporary(SdmContext *ctx, const char *path, char *out, size_t size);

/* Write text aside, name it path. */
SdmStatus sdm_path_put(SdmContext *ctx, const char *path, const char *text, size_t size);

/* Whole file as text with a final 0, at most `most` bytes; freed by the caller.  SDM_ERR_INPUT with a
 * sentence. */
SdmStatus sdm_path_get(SdmContext *ctx, const char *path, size_t most, char **out, size_t *size);

/* path as one word of a shell's command line: in quotes where it needs them.  out: room
 * for it; a longer name is cut. */
void sdm_path_quote(const char *path, char *out, size_t size);

/* What to do about an errno that a write met: "make room", "remove what is there", ... */
const char *sdm_path_advice(int error);

SdmStatus sdm_path_make_folder(SdmContext *ctx, const char *path); /* there already is well, too */

#endif
