/* A text file with one entry a line -> its entries, without blanks, comments and empty lines. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/path.h"

typedef struct SdmListFile {
    char folder[SDM_PATH_SIZE]; /* of the file, "" for the current one: what relative entries start from */
    int lines;                  /* of the file: at least as many as entries */
    int line;                   /* number of the entry's line, from 1 */
    bool has_control;  /* the entry holds a zero byte or another control character: the file is no text */
    char *text, *next; /* text: owned */
    size_t size;
} SdmListFile;

/* Read a file of at most 256 MiB; a pipe will do.  A byte order mark (UTF-8) is skipped.
 * option, expected: for error sentences, such as "--list" and "one DEM a line".
 * @return SDM_OK, SDM_ERR_INPUT, _MEMORY, _USAGE (name too long); close after failure, too */
SdmStatus sdm_list_file_open(SdmContext *ctx, const char *option, const char *path, const char *expected,
                             SdmListFile *out);
void sdm_list_file_close(SdmListFile *list);

/* The next line that is neither empty nor a comment (#), without blanks around it; NULL at the end of the
 * file. Valid until the file is closed; may be overwritten.  Sets list->line and list->has_control. */
char *sdm_list_file_next(SdmListFile *list);

/* Take quotes off that stand around the whole entry. */
char *sdm_list_file_unquote(char *entry);
