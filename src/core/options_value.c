/* One option: its range as words, text -> field, field -> text. */
// SPDX-License-Identifier: Apache-2.0
#include "core/options.h"
#include "core/secrets.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void sdm_option_plain_name(const SdmOptionSpec *spec, char *out, size_t size)
{
    snprintf(out, size, "%s", spec->name + strlen("--"));
    for (char *c = out; *c; c++)
        if (*c == '-')
            *c = '_';
}

const char *sdm_option_short(const char *name)
{
    static const char *const spellings[][2] = {{"--output", "-o"}, {"--quiet", "-q"}, {"--verbose", "-v"}};
    for (size_t i = 0; i < sizeof spellings / sizeof *spellings; i++)
        if (strcmp(name, spellings[i][0]) == 0)
            return spellings[i][1];
    return NULL;
}

void sdm_option_copy(const SdmOptionSpec *o, const void *from, void *to)
{
    static const size_t size[] = {
        [SDM_OPT_BOOL] = sizeof(bool),   [SDM_OPT_INT] = sizeof(int),
        [SDM_OPT_REAL] = sizeof(double), [SDM_OPT_BYTES] = sizeof(int64_t),
        [SDM_OPT_TEXT] = sizeof(char *), [SDM_OPT_CHOICE] = sizeof(char *),
        [SDM_OPT_ENUM] = sizeof(int),    [SDM_OPT_KEY_VALUES] = (SDM_MAX_KEY_VALUES + 1) * sizeof(char *)};
    memcpy((char *)to + o->offset, (const char *)from + o->offset, size[o->type]);
}

/* 67108864 -> "64M"; the largest unit that divides it. */
static void print_bytes(int64_t bytes, char *out, size_t size)
{
    int unit = 0;
    for (; bytes != 0 && bytes % 1024 == 0 && unit < 4; unit++)
        bytes /= 1024;
    snprintf(out, size, "%" PRId64 "%.*s", bytes, unit > 0, &"KMGT"[unit > 0 ? unit - 1 : 0]);
}

/* "a|b|c" -> "a, b, c" */
static void print_choices(const char *choices, char *out, size_t size)
{
    size_t n = 0;
    for (; *choices && n + 3 < size; choices++) {
        out[n++] = *choices == '|' ? ',' : *choices;
        if (*choices == '|')
            out[n++] = ' ';
    }
    out[n] = '\0';
}

void sdm_option_range(const SdmOptionSpec *spec, char *out, size_t size)
{
    char word[256];
    switch (spec->type) {
    case SDM_OPT_INT:
        if (spec->choices) /* said better than by the ends */
            snprintf(out, size, "%s", spec->choices);
        else
            snprintf(out, size, "a whole number from %.0f to %.0f", spec->lo, spec->hi);
        break;
    case SDM_OPT_REAL:
        snprintf(out, size, "a number from %.9g to %.9g", spec->lo, spec->hi);
        break;
    case SDM_OPT_BYTES:
        print_bytes((int64_t)spec->lo, word, sizeof word);
        snprintf(out, size, "a size of at least %s, such as 2G", word);
        break;
    case SDM_OPT_CHOICE:
    case SDM_OPT_ENUM:
        print_choices(spec->choices, word, sizeof word);
        snprintf(out, size, strchr(spec->choices, '|') ? "one of %s" : "%s", word);
        break;
    default:
        snprintf(out, size, "%s",
                 spec->type == SDM_OPT_KEY_VALUES ? "NAME=VALUE"
                 : spec->type == SDM_OPT_TEXT     ? "a text that is not empty"
                                                  : "no value");
    }
}

/* May a choice "b[:N]" be followed by `rest`, as in the word "b:2"? */
static bool is_number_of(const char *choice, const char *rest)
{
    return strncmp(choice, "[:N]", 4) == 0 &&
           (*rest == '\0' || (*rest == ':' && rest[1] && strspn(rest + 1, "0123456789") == strlen(rest + 1) &&
                              strlen(rest + 1) < 4));
}

/* Position of `word` in "a|b|c", -1 if absent. */
static int find_choice(const char *choices, const char *word)
{
    const size_t length = strlen(word);
    int i = 0;
    for (const char *p = choices; p; i++) {
        const size_t n = strcspn(p, "|[");
        const char end = p[n];
        if (length > 0 && strncmp(p, word, n) == 0 && length >= n &&
            (end == '[' ? is_number_of(p + n, word + n) : length == n))
            return i;
        p = strchr(p, '|');
        p = p ? p + 1 : NULL;
    }
    return -1;
}

/* The beginning of a text as a finite decimal number; *rest: the text behind it. */
static bool read_number(const char *text, double *value, const char **rest)
{
    char *end = NULL;
    const char *const digits = text + (*text == '-' || *text == '+');
    if (!(isdigit((unsigned char)*digits) || *digits == '.') || digits[1] == 'x' || digits[1] == 'X')
        return false; /* blanks, nan, inf and hexadecimal are not what anybody means */
    *value = strtod(text, &end);
    *rest = end;
    return end != text && isfinite(*value);
}

static bool read_bytes(const char *text, double *value)
{
    static const char units[] = "KMGT";
    const char *rest;
    if (!read_number(text, value, &rest))
        return false;
    if (*rest) {
        const char *const unit = strchr(units, toupper((unsigned char)*rest));
        if (!unit)
            return false;
        *value = ldexp(*value, 10 * ((int)(unit - units) + 1));
        rest += rest[1] == 'i' ? 2 : 1;
        rest += *rest == 'B';
    }
    return *rest == '\0' && *value < 0x1p62;
}

static bool read_value(const SdmOptionSpec *spec, const char *text, double *value)
{
    const char *rest = NULL;
    if (spec->type == SDM_OPT_ENUM) {
        *value = find_choice(spec->choices, text);
        return *value >= 0.0;
    }
    if (spec->type == SDM_OPT_BYTES ? !read_bytes(text, value) : !read_number(text, value, &rest) || *rest)
        return false;
    if (spec->type == SDM_OPT_INT && *value != floor(*value))
        return false;
    return *value >= spec->lo && *value <= spec->hi;
}

static void store_number(const SdmOptionSpec *spec, void *field, double value)
{
    if (spec->type == SDM_OPT_REAL) {
        memcpy(field, &value, sizeof value);
    } else if (spec->type == SDM_OPT_BYTES) {
        const int64_t bytes = (int64_t)value;
        memcpy(field, &bytes, sizeof bytes);
    } else {
        const int number = (int)value;
        memcpy(field, &number, sizeof number);
    }
}

static SdmStatus append_pair(SdmContext *ctx, const SdmOptionSpec *spec, const char **pairs, const char *text)
{
    const char *const equals = strchr(text, '=');
    if (!equals || equals == text)
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s: found '%s', expected NAME=VALUE", spec->name, text);
    for (int i = 0; i < SDM_MAX_KEY_VALUES; i++)
        if (!pairs[i]) {
            pairs[i] = text;
            pairs[i + 1] = NULL;
            return SDM_OK;
        }
    return sdm_fail(ctx, SDM_ERR_USAGE, "%s: given more than %d times", spec->name, SDM_MAX_KEY_VALUES);
}

SdmStatus sdm_option_set(SdmContext *ctx, const SdmOptionSpec *spec, void *opts, const char *text)
{
    char *const field = (char *)opts + spec->offset;
    double value;
    char range[320];
    bool good = false;
    switch (spec->type) {
    case SDM_OPT_BOOL:
        *(bool *)(void *)field = true;
        return SDM_OK;
    case SDM_OPT_KEY_VALUES:
        return append_pair(ctx, spec, (const char **)(void *)field, text);
    case SDM_OPT_TEXT:
    case SDM_OPT_CHOICE:
        good = spec->type == SDM_OPT_TEXT ? *text != '\0' : find_choice(spec->choices, text) >= 0;
        if (good)
            memcpy(field, &text, sizeof text);
        break;
    default:
        good = read_value(spec, text, &value);
        if (good)
            store_number(spec, field, value);
    }
    if (good)
        return SDM_OK;
    sdm_option_range(spec, range, sizeof range);
    return sdm_fail(ctx, SDM_ERR_USAGE, "%s: found '%.200s', expected %s", spec->name, text, range);
}

/* Four numbers, and nothing else. */
static bool read_four(const char *text, double out[4])
{
    int count = 0;
    for (text += strspn(text, ", "); *text; text += strspn(text, ", "), count++)
        if (count == 4 || !read_number(text, &out[count], &text) || (*text && !strchr(", ", *text)))
            return false;
    return count == 4;
}

SdmStatus sdm_option_bounds(SdmContext *ctx, const char *text, double out[4], bool *is_degrees)
{
    if (!read_four(text, out))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--bounds: found '%.200s', expected the four numbers W S E N: west, south, east and "
                        "north, in units of the output CRS or in degrees",
                        text);
    *is_degrees =
        fabs(out[0]) <= 180.0 && fabs(out[2]) <= 180.0 && fabs(out[1]) <= 90.0 && fabs(out[3]) <= 90.0;
    if (*is_degrees && out[0] > 0.0 && out[2] < 0.0 && out[2] + 360.0 - out[0] < 180.0)
        out[2] += 360.0;
    if (!(out[0] < out[2]))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--bounds: west is %.10g and east %.10g, expected W S E N with west below east (or "
                        "degrees that cross longitude 180)",
                        out[0], out[2]);
    if (!(out[1] < out[3]))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "--bounds: south is %.10g and north %.10g, expected W S E N with south below north",
                        out[1], out[3]);
    return SDM_OK;
}

void sdm_print_real(double value, int digits, char *out, size_t size)
{
    bool same = false;
    for (; digits <= 17 && !same; digits++) {
        snprintf(out, size, "%.*g", digits, value);
        same = strtod(out, NULL) == value;
    }
}

static void print_choice(const char *choices, int index, char *out, size_t size)
{
    const char *p = choices;
    for (int i = 0; p && i < index; i++) {
        p = strchr(p, '|');
        p = p ? p + 1 : NULL;
    }
    if (index < 0 || !p)
        snprintf(out, size, "%d", index);
    else
        snprintf(out, size, "%.*s", (int)strcspn(p, "|"), p);
}

static void print_pairs(const char *const *pairs, bool hide, char *out, size_t size)
{
    size_t n = 0;
    *out = '\0';
    for (; *pairs && n < size; pairs++) {
        (void)snprintf(out + n, size - n, "%s%s", n ? " " : "", *pairs);
        if (hide)
            sdm_hide_secrets(out + n + (n > 0), true);
        n += strlen(out + n);
    }
}

static void print_value(const SdmOptionSpec *spec, const void *opts, bool hide, char *out, size_t size)
{
    const void *const field = (const char *)opts + spec->offset;
    switch (spec->type) {
    case SDM_OPT_BOOL:
        snprintf(out, size, "%s", *(const bool *)field ? "true" : "false");
        break;
    case SDM_OPT_INT:
        snprintf(out, size, "%d", *(const int *)field);
        break;
    case SDM_OPT_REAL:
        *out = '\0'; /* of NaN */
        if (!isnan(*(const double *)field))
            sdm_print_real(*(const double *)field, 6, out, size);
        break;
    case SDM_OPT_BYTES:
        print_bytes(*(const int64_t *)field, out, size);
        break;
    case SDM_OPT_ENUM:
        print_choice(spec->choices, *(const int *)field, out, size);
        break;
    case SDM_OPT_KEY_VALUES:
        print_pairs((const char *const *)field, hide, out, size);
        break;
    default:
        snprintf(out, size, "%s", *(const char *const *)field ? *(const char *const *)field : "");
        if (hide)
            sdm_hide_secrets(out, false);
    }
}

void sdm_option_print(const SdmOptionSpec *spec, const void *opts, char *out, size_t size)
{
    print_value(spec, opts, false, out, size);
}

bool sdm_option_show_other(const SdmOptionSpec *spec, const void *opts, const void *other, char *out,
                           size_t size)
{
    char text[4096];
    print_value(spec, opts, true, out, size);
    print_value(spec, other, true, text, sizeof text);
    return strcmp(out, text) != 0;
}
