/* A name with a number in it -> the files of a sequence of images. */
// SPDX-License-Identifier: Apache-2.0
#include "rectified/disparity_steps.h"
#include "core/path.h"
#include "core/system.h"
#include "geo/gdal_scope.h"

#include <cpl_vsi.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LAST = 999999999 }; /* numbers have at most nine digits */

/* "%04d", "%d" -> 4, 1 and the length of it; 0 for anything else. */
static int read_conversion(const char *text, size_t *length)
{
    if (text[1] == 'd') {
        *length = 2;
        return 1;
    }
    if (text[1] == '0' && text[2] >= '1' && text[2] <= '9' && text[3] == 'd') {
        *length = 4;
        return text[2] - '0';
    }
    return 0;
}

SdmStatus sdm_pattern_parse(SdmContext *ctx, const char *option, const char *text, SdmPattern *out)
{
    size_t n = 0;
    char *part = out->before;
    out->digits = 0;
    out->before[0] = out->after[0] = '\0';
    if (strlen(text) + 1 > SDM_PATH_SIZE)
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s: a name of %zu bytes, expected at most %d", option,
                        strlen(text), (int)SDM_PATH_SIZE - 1);
    for (const char *at = text; *at;) {
        size_t length = 0;
        const int digits = *at == '%' && at[1] != '%' ? read_conversion(at, &length) : 0;
        if (*at == '%' && at[1] != '%' && (!digits || out->digits))
            return sdm_fail(
                ctx, SDM_ERR_USAGE,
                "%s %s: found '%.8s', expected one number such as %%04d or %%d in the name, or %%%% for a "
                "percent sign",
                option, text, at);
        if (digits) {
            out->digits = digits;
            part[n] = '\0';
            part = out->after;
            n = 0;
        } else {
            length = *at == '%' ? 2 : 1;
            part[n++] = *at;
        }
        at += length;
    }
    part[n] = '\0';
    if (out->digits && strchr(out->after, '/'))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "%s %s: the number must be in the name of the file, not of its folder", option, text);
    return SDM_OK;
}

SdmStatus sdm_pattern_name(SdmContext *ctx, const SdmPattern *p, int number, char out[SDM_PATH_SIZE])
{
    if (!p->digits)
        return sdm_format(ctx, out, SDM_PATH_SIZE, "%s", p->before);
    return sdm_format(ctx, out, SDM_PATH_SIZE, "%s%0*d%s", p->before, p->digits, number, p->after);
}

/* The number in a file name that the pattern may have printed, -1 in any other name.  base: what stands
 * before the number, without folder. */
static int number_of(const SdmPattern *p, const char *base, const char *name)
{
    char printed[SDM_PATH_SIZE + 16];
    const size_t before = strlen(base);
    if (strncmp(name, base, before) != 0 || !isdigit((unsigned char)name[before]))
        return -1;
    const long number = strtol(name + before, NULL, 10);
    snprintf(printed, sizeof printed, "%s%0*ld%s", base, p->digits, number, p->after);
    return number <= LAST && strcmp(printed, name) == 0 ? (int)number : -1;
}

static int by_number(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

SdmStatus sdm_pattern_numbers(SdmContext *ctx, const SdmPattern *p, int first, int last, int **numbers,
                              int *count)
{
    char folder[SDM_PATH_SIZE];
    const char *const base = sdm_path_base(p->before);
    *count = 0;
    *numbers = NULL;
    sdm_file_folder(p->before, folder);
    SDM_CLOSED_BY(sdm_string_list_free) char **const names = VSIReadDir(folder);
    SDM_OWNED int *found = NULL;
    const int most = CSLCount(names);
    PASS(sdm_alloc(ctx, &found, (size_t)most + 1, sizeof *found, "images of the sequence"));
    for (int i = 0; i < most; i++) {
        const int number = number_of(p, base, names[i]);
        if (number >= 0 && number >= first && (last < 0 || number <= last))
            found[(*count)++] = number;
    }
    qsort(found, (size_t)*count, sizeof *found, by_number);
    if (*count == 0)
        return sdm_fail(ctx, SDM_ERR_INPUT, "LEFT: no image from %d to %d of %s%%0%dd%s in folder %s",
                        first < 0 ? 0 : first, last < 0 ? LAST : last, base, p->digits, p->after, folder);
    *numbers = found;
    found = NULL;
    return SDM_OK;
}
