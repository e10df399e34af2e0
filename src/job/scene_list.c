/* A list of scenes -> what to plan: a scene, or a left and a right image, a line. */
// SPDX-License-Identifier: Apache-2.0
#include "core/list_file.h"
#include "job/plan.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

enum { WORD_TOO_LONG = -1, WORD_WITHOUT_END = -2 };

/* Next word of *at into out; 1, 0 at the end of the line, or what is wrong with it. */
static int take_word(char **at, char out[SDM_PATH_SIZE])
{
    while (isspace((unsigned char)**at))
        ++*at;
    if (!**at || **at == '#')
        return 0;
    const bool quoted = **at == '"';
    *at += quoted;
    const size_t n = quoted ? strcspn(*at, "\"") : strcspn(*at, " \t\r\n\f\v");
    if (n >= SDM_PATH_SIZE)
        return WORD_TOO_LONG;
    if (quoted && !(*at)[n])
        return WORD_WITHOUT_END;
    memcpy(out, *at, n);
    out[n] = '\0';
    *at += n + quoted;
    return 1;
}

/* Two names that are one: a file whose name holds blanks, without quotes. */
static void hint_blanks(SdmContext *ctx, const char *path, const char *folder, int number, const char *entry)
{
    char full[SDM_PATH_SIZE];
    struct stat s;
    if (sdm_path_join(ctx, folder, entry, full) == SDM_OK && stat(full, &s) == 0)
        sdm_log(ctx, SDM_LOG_WARNING, 1,
                "%s: line %d is read as two names, but together they are one file: put it in quotes", path,
                number);
}

/* "./a//b/" -> "a/b", so that two spellings of one file are seen to be one; names of GDAL's own stay. */
static void tidy(char *path)
{
    char *to = path;
    const char *from = path;
    if (strchr(path, ':') || strncmp(path, "/vsi", 4) == 0)
        return;
    while (*from) {
        const bool starts = to == path || to[-1] == '/'; /* a part of it */
        if (starts && from[0] == '.' && from[1] == '/')
            from += 1 + strspn(from + 1, "/");
        else if (starts && to > path && *from == '/')
            from++;
        else
            *to++ = *from++;
    }
    while (to > path + 1 && to[-1] == '/')
        to--;
    if (to == path)
        *to++ = '.';
    *to = '\0';
}

/* True for names of hidden files such as "._x.hdf" or "__MACOSX/x.hdf"; false for "..". */
static bool is_hidden(const char *name)
{
    const char *const base = sdm_path_base(name);
    return strstr(name, "__MACOSX/") || (base[strspn(base, ".")] && sdm_path_is_hidden(base));
}

static SdmStatus take_line(SdmContext *ctx, const char *path, const char *folder, int number, char *line,
                           SdmPlanInput *out, int *count)
{
    char word[3][SDM_PATH_SIZE];
    int n = 0, got = 1;
    const char *const entry = line;
    while (n < 3 && (got = take_word(&line, word[n])) > 0)
        n++;
    if (got < 0 || n > 2)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "%s: line %d holds %s, expected a scene, or a left and a right image; put names "
                        "with blanks into quotes",
                        path, number,
                        got == WORD_TOO_LONG      ? "a name that is too long"
                        : got == WORD_WITHOUT_END ? "a quote that has no end"
                                                  : "more than two names");
    if (n == 0)
        return SDM_OK;
    if (n > 1)
        hint_blanks(ctx, path, folder, number, entry);
    out[*count] = (SdmPlanInput){.left = ""}; /* what was dropped may lie there */
    for (int k = 0; k < n; k++)
        if (is_hidden(word[k])) {
            sdm_log(ctx, SDM_LOG_WARNING, 1,
                    "%s: line %d names %s, a hidden file (a rest of a transfer, or macOS's); it is left out",
                    path, number, word[k]);
            return SDM_OK;
        }
    PASS(sdm_path_join(ctx, folder, word[0], out[*count].left));
    if (n == 2)
        PASS(sdm_path_join(ctx, folder, word[1], out[*count].right));
    tidy(out[*count].left);
    if (n == 2)
        tidy(out[*count].right);
    ++*count;
    return SDM_OK;
}

/* A scene that the list has already is taken once.  number: line of the last input. */
static void drop_repeated(SdmContext *ctx, const char *path, int number, const SdmPlanInput *in, int *count,
                          SdmTable *seen)
{
    const SdmPlanInput *const last = &in[*count - 1];
    int *const line = sdm_table_at(seen, sdm_hash_text(sdm_hash_text(1, last->left), last->right));
    if (!*line) {
        *line = number;
        return;
    }
    sdm_log(ctx, SDM_LOG_WARNING, 1, "%s: line %d names %s, as line %d does; it is taken once", path, number,
            last->left, *line);
    --*count;
}

SdmStatus sdm_plan_list(SdmContext *ctx, const char *path, SdmPlanInput **out, int *count)
{
    SDM_CLOSED_BY(sdm_list_file_close) SdmListFile list = {0};
    SDM_CLOSED_BY(sdm_table_close) SdmTable seen = {0};
    *out = NULL;
    *count = 0;
    PASS(sdm_list_file_open(ctx, "--list", path, "a scene, or a left and a right image, a line", &list));
    PASS(sdm_alloc(ctx, out, (size_t)list.lines, sizeof **out, "the list of scenes"));
    PASS(sdm_table_open(ctx, (size_t)list.lines, &seen));
    for (char *line = sdm_list_file_next(&list); line; line = sdm_list_file_next(&list)) {
        const int before = *count;
        if (list.has_control)
            return sdm_fail(
                ctx, SDM_ERR_USAGE,
                "%s is no text in UTF-8: line %d holds a zero byte or another control character; expected "
                "a scene, or a left and a right image, a line",
                path, list.line);
        PASS(take_line(ctx, path, list.folder, list.line, line, *out, count));
        if (*count > before)
            drop_repeated(ctx, path, list.line, *out, count, &seen);
    }
    if (*count == 0)
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s: no scenes in it; give one scene or pair a line", path);
    return SDM_OK;
}

SdmStatus sdm_plan_single(SdmContext *ctx, const char *left, const char *right, SdmPlanInput **out)
{
    PASS(sdm_alloc(ctx, out, 1, sizeof **out, "the scene"));
    PASS(sdm_format(ctx, (*out)->left, sizeof(*out)->left, "%s", left));
    if (right)
        PASS(sdm_format(ctx, (*out)->right, sizeof(*out)->right, "%s", right));
    return SDM_OK;
}
