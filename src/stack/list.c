/* --list -> paths of DEMs. */
// SPDX-License-Identifier: Apache-2.0
#include "stack/layer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 4096 };

/* The line without blanks around it, "" for a comment; NULL when it is not text. */
static const char *trim(char *line)
{
    size_t n = strlen(line);
    while (n && strchr(" \t\r\n", line[n - 1]))
        line[--n] = '\0';
    line += strspn(line, " \t");
    for (const char *c = line; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return NULL;
    return *line == '#' ? "" : line;
}

static SdmStatus append(SdmContext *ctx, const char *folder, int folder_length, const char *name, char ***paths,
                        int *count)
{
    SdmStatus st = SDM_OK;
    const size_t size = (size_t)folder_length + strlen(name) + 1;
    const int used = *name == '/' ? 0 : folder_length;
    if ((*count & (*count - 1)) == 0 && *count >= 16) { /* full at each power of two from 16 on */
        char **bigger = NULL;
        TRY(sdm_alloc(ctx, &bigger, 2 * (size_t)*count, sizeof *bigger, "list of DEMs"));
        memcpy(bigger, *paths, (size_t)*count * sizeof *bigger);
        sdm_free(paths);
        *paths = bigger;
    } else if (*count == 0) {
        TRY(sdm_alloc(ctx, paths, 16, sizeof **paths, "list of DEMs"));
    }
    TRY(sdm_alloc(ctx, &(*paths)[*count], size, 1, "list of DEMs"));
    snprintf((*paths)[(*count)++], size, "%.*s%s", used, folder, name);
done:
    return st;
}

SdmStatus sdm_stack_list(SdmContext *ctx, const char *list, char ***paths, int *count)
{
    SdmStatus st = SDM_OK;
    char *line = NULL;
    size_t room = 0;
    int number = 0;
    const int before = *count;
    const char *const slash = strrchr(list, '/');
    FILE *const f = fopen(list, "r");
    if (!f)
        return sdm_fail(ctx, SDM_ERR_INPUT, "--list %s: cannot be opened (%s); expected a text file with one DEM a line",
                        list, strerror(errno));
    errno = 0;
    for (ssize_t n = getline(&line, &room, f); n >= 0; n = getline(&line, &room, f)) {
        const char *const name = strlen(line) == (size_t)n && n < LONGEST ? trim(line) : NULL;
        number++;
        if (!name) {
            st = sdm_fail(ctx, SDM_ERR_INPUT, "--list %s: line %d is no file name; expected text with one DEM a line",
                          list, number);
            goto done;
        }
        if (*name)
            TRY(append(ctx, list, slash ? (int)(slash - list) + 1 : 0, name, paths, count));
    }
    if (ferror(f))
        st = sdm_fail(ctx, SDM_ERR_INPUT, "--list %s: cannot be read (%s); expected a text file with one DEM a line",
                      list, strerror(errno));
    else if (*count == before)
        st = sdm_fail(ctx, SDM_ERR_INPUT, "--list %s: names no DEM; expected one a line", list);
done:
    free(line);
    fclose(f);
    return st;
}
