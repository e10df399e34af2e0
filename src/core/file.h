/* Files written whole or not at all, files read whole, folders. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

enum { SDM_PATH_SIZE = 1024 };

/* A file that is being written under a temporary name beside its own, which it gets when it is whole: readers
 * see the old file or the new one, and two writers of the same name do no harm. */
typedef struct SdmFileWriter {
    FILE *f;                  /* NULL: not open */
    char path[SDM_PATH_SIZE]; /* the name to get */
    char temporary[SDM_PATH_SIZE + 32];
    bool failed; /* a write failed, `error` says why (errno) */
    int error;
} SdmFileWriter;

/* Open the temporary file.  SDM_ERR_IO with a sentence. */
SdmStatus sdm_file_create(SdmContext *ctx, const char *path, SdmFileWriter *out);
/* Write bytes; a failure is kept for sdm_file_commit(). */
void sdm_file_put(SdmFileWriter *w, const void *data, size_t size);
/* Close the file and give it its name; after a failure it is removed instead, and SDM_ERR_IO says why and
 * what to do.  sync: down to the disk first, so that a full one or a quota is met here and the file survives
 * the machine. */
SdmStatus sdm_file_commit(SdmContext *ctx, SdmFileWriter *w, bool sync);
/* The two steps of sdm_file_commit(), for a writer that checks its lease between them; where the lease is
 * lost, it discards the temporary file. */
SdmStatus sdm_file_close(SdmContext *ctx, SdmFileWriter *w, bool sync);
SdmStatus sdm_file_rename(SdmContext *ctx, SdmFileWriter *w);
void sdm_file_discard(SdmFileWriter *w);

/* All of it in one call, with sync. */
SdmStatus sdm_file_write(SdmContext *ctx, const char *path, const void *data, size_t size);
/* Does a regular file, no link, hold the text at that place? */
bool sdm_file_holds(const char *path, size_t at, const char *text);
/* Whole file with a 0 behind it, at most `most` bytes; *out is freed by the caller with sdm_free().
 * SDM_ERR_INPUT with a sentence. */
SdmStatus sdm_file_read(SdmContext *ctx, const char *path, size_t most, char **out, size_t *size);

/* The folder of path: the part before its last slash, "." without one. */
void sdm_file_folder(const char *path, char out[SDM_PATH_SIZE]);
/* A number that no other process on any machine draws. */
uint64_t sdm_file_draw(void);
/* A name beside path that no other process on any machine uses: path.part-<16 digits>. */
SdmStatus sdm_file_temporary_name(SdmContext *ctx, const char *path, char *out, size_t size);
/* Remove what sdm_file_temporary_name() named beside path and a process that is gone has left; for the holder
 * of the file's lease. */
void sdm_file_sweep(const char *path);
/* Remove a file of a folder that was listed. */
void sdm_file_remove_in(const char *folder, const char *name);
/* Is `name` that of the file `path`, or of one that sdm_file_temporary_name() made for it? */
bool sdm_file_is_named(const char *name, const char *path);
/* Before any work: is the name one of a file, in a folder that can be written into?  Touches nothing.
 * option: for the sentence, "-o".  SDM_ERR_USAGE, SDM_ERR_IO. */
SdmStatus sdm_file_check_output(SdmContext *ctx, const char *option, const char *path);
/* Make the folder, unless it is there. */
SdmStatus sdm_file_make_folder(SdmContext *ctx, const char *path);
