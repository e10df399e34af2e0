/* --list -> paths of DEMs. */
// SPDX-License-Identifier: Apache-2.0
#include "coreg/stack_layer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 4096 };

/* The line without blanks and quotes around it, "" for a comment; NULL when it is not text. */
static const char *trim(char *line)
{
    size_t n = strlen(line);
    while (n && strchr(" \t\r\n", line[n - 1]))
        line[--n] = '\0';
    line += strspn(line, " \t");
    n = strlen(line);
    if (n > 2 && line[0] == '"' && line[n - 1] == '"') {
        line[n - 1] = '\0';
        line++;
    }
    for (const char *c = line; *c; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return NULL;
    return *line == '#' ? "" : line;
}

SdmStatus sdm_paths_add(SdmContext *ctx, SdmPaths *paths, const char *folder, int length, const char *name)
{
    SdmStatus st = SDM_OK;
    const size_t size = (size_t)length + strlen(name) + 1;
    if (paths->count == paths->room) {
        char **more = NULL;
        TRY(sdm_alloc(ctx, &more, 2 * (size_t)paths->room + 16, sizeof *more, "list of DEMs"));
        if (paths->count)
            memcpy(more, paths->path, (size_t)paths->count * sizeof *more);
        sdm_free(&paths->path);
        paths->path = more;
        paths->room = 2 * paths->room + 16;
    }
    TRY(sdm_alloc(ctx, &paths->path[paths->count], size, 1, "list of DEMs"));
    snprintf(paths->path[paths->count++], size, "%.*s%s", *name == '/' ? 0 : length, folder, name);
done:
    return st;
}

void sdm_paths_free(SdmPaths *paths)
{
    for (int i = 0; i < paths->count; i++)
        sdm_free(&paths->path[i]);
    sdm_free(&paths->path);
}

SdmStatus sdm_stack_list(SdmContext *ctx, const char *list, SdmPaths *paths)
{
    SdmStatus st = SDM_OK;
    char *line = NULL;
    size_t room = 0;
    int number = 0;
    const int before = paths->count;
    const char *const slash = strrchr(list, '/');
    FILE *const f = fopen(list, "r");
    if (!f)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "--list %s: cannot be opened (%s); expected a text file with one DEM a line", list,
                        strerror(errno));
    errno = 0;
    for (ssize_t n = getline(&line, &room, f); n >= 0; n = getline(&line, &room, f)) {
        const int mark = !number && strncmp(line, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; /* UTF-8 by some editors */
        const char *const name = strlen(line) == (size_t)n && n < LONGEST ? trim(line + mark) : NULL;
        number++;
        if (!name) {
            st = sdm_fail(ctx, SDM_ERR_INPUT,
                          "--list %s: line %d is no file name; expected text with one DEM a line", list,
                          number);
            goto done;
        }
        if (*name)
            TRY(sdm_paths_add(ctx, paths, list, slash ? (int)(slash - list) + 1 : 0, name));
    }
    if (ferror(f))
        st = sdm_fail(ctx, SDM_ERR_INPUT,
                      "--list %s: cannot be read (%s); expected a text file with one DEM a line", list,
                      strerror(errno));
    else if (paths->count == before)
        st = sdm_fail(ctx, SDM_ERR_INPUT, "--list %s: names no DEM; expected one a line", list);
done:
    free(line);
    fclose(f);
    return st;
}
