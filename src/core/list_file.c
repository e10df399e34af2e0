/* Text file -> lines. */
// SPDX-License-Identifier: Apache-2.0
#include "core/list_file.h"
#include "core/system.h"
#include "core/text.h"

#include <errno.h>
#include <string.h>

static const size_t MAX_BYTES = (size_t)1 << 28;

/* All that the stream holds -> list->text, with a 0 behind it. */
static SdmStatus read_all(SdmContext *ctx, FILE *f, SdmListFile *list)
{
    SdmText text = {.ctx = ctx};
    char part[4096];
    size_t got = 1;
    while (got > 0 && text.size < MAX_BYTES && text.st == SDM_OK) {
        got = fread(part, 1, sizeof part, f);
        sdm_text_raw(&text, part, got);
    }
    list->text = text.data;
    list->size = text.size;
    return text.st;
}

SdmStatus sdm_list_file_open(SdmContext *ctx, const char *option, const char *path, const char *expected,
                             SdmListFile *out)
{
    *out = (SdmListFile){.text = NULL};
    PASS(sdm_format(ctx, out->folder, sizeof out->folder, "%s", path));
    char *const slash = sdm_system_slash(out->folder);
    out->folder[slash ? slash - out->folder + (slash == out->folder) : 0] = '\0';
    FILE *const f = fopen(path, "r");
    if (!f)
        return sdm_fail(ctx, SDM_ERR_INPUT, "%s %s: cannot be opened (%s); expected a text file with %s",
                        option, path, strerror(errno), expected);
    errno = 0;
    SdmStatus st = read_all(ctx, f, out);
    if (!st && ferror(f))
        st = sdm_fail(ctx, SDM_ERR_INPUT, "%s %s: cannot be read (%s); expected a text file with %s", option,
                      path, strerror(errno), expected);
    else if (!st && out->size >= MAX_BYTES)
        st = sdm_fail(ctx, SDM_ERR_INPUT, "%s %s: is larger than 256 MiB; expected a text file with %s",
                      option, path, expected);
    fclose(f);
    PASS(st);
    out->lines = 1;
    for (size_t i = 0; i < out->size; i++)
        out->lines += out->text[i] == '\n';
    out->next = out->text + (strncmp(out->text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0);
    return SDM_OK;
}

void sdm_list_file_close(SdmListFile *list)
{
    sdm_free(&list->text);
    list->next = NULL;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

char *sdm_list_file_next(SdmListFile *list)
{
    while (list->next) {
        char *line = list->next;
        char *end = memchr(line, '\n', (size_t)(list->text + list->size - line));
        list->next = end ? end + 1 : NULL;
        list->line++;
        end = end ? end : list->text + list->size;
        while (line < end && is_blank(*line))
            line++;
        while (end > line && is_blank(end[-1]))
            end--;
        *end = '\0';
        if (line == end || *line == '#')
            continue;
        list->has_control = false;
        for (const char *c = line; c < end; c++)
            list->has_control |= ((unsigned char)*c < 0x20 && *c != '\t') || *c == 0x7f;
        return line;
    }
    return NULL;
}

char *sdm_list_file_unquote(char *entry)
{
    const size_t n = strlen(entry);
    if (n <= 2 || entry[0] != '"' || entry[n - 1] != '"')
        return entry;
    entry[n - 1] = '\0';
    return entry + 1;
}
