/* Command line -> option structs and positional arguments. */
// SPDX-License-Identifier: Apache-2.0
#include "core/options.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { LONGEST_WORD = 64 };

static int least(int a, int b)
{
    return a < b ? a : b;
}

int sdm_edit_distance(const char *a, const char *b)
{
    int row[LONGEST_WORD + 1];
    const size_t n = strlen(a), m = strlen(b);
    if (n > LONGEST_WORD || m > LONGEST_WORD)
        return 99;
    for (int j = 0; j <= (int)m; j++)
        row[j] = j;
    for (int i = 1; i <= (int)n; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= (int)m; j++) {
            const int changed = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            row[j] = least(changed, 1 + least(row[j], row[j - 1]));
        }
    }
    return row[m];
}

SdmFoundOption sdm_option_at(SdmOptionSet *sets, unsigned command, int i)
{
    for (int s = 0; s < SDM_OPTION_SETS; s++)
        for (const SdmOptionSpec *spec = sets[s].table; spec && spec->name; spec++)
            if ((spec->commands & command) && i-- == 0) {
                assert(spec - sets[s].table < 64);
                return (SdmFoundOption){&sets[s], spec, UINT64_C(1) << (spec - sets[s].table)};
            }
    return (SdmFoundOption){.spec = NULL};
}

static bool same_name(const char *a, const char *b)
{
    while (*a && (*a == *b || (*a == '_' && *b == '-') || (*a == '-' && *b == '_')))
        a++, b++;
    return !*a && !*b;
}

SdmFoundOption sdm_option_find(SdmOptionSet *sets, unsigned command, const char *name)
{
    SdmFoundOption found;
    for (int i = 0; (found = sdm_option_at(sets, command, i)).spec; i++)
        if (same_name(name, found.spec->name + strlen("--")))
            break;
    return found;
}

/* The option that `word` (length n, without "=value") names for this command; spec NULL if there is none. */
static SdmFoundOption find_option(SdmCommandLine *line, const char *word, size_t n)
{
    SdmFoundOption found;
    for (int i = 0; (found = sdm_option_at(line->sets, line->command, i)).spec; i++) {
        const char *const name[] = {found.spec->name, sdm_option_short(found.spec->name)};
        for (int k = 0; k < 2; k++)
            if (name[k] && strlen(name[k]) == n && strncmp(name[k], word, n) == 0)
                return found;
    }
    return found;
}

/* A name without dashes, its words with "-" between them. */
static void plain_name(const char *name, char out[LONGEST_WORD + 1])
{
    while (*name == '-')
        name++;
    snprintf(out, LONGEST_WORD + 1, "%s", name);
    for (char *c = out; *c; c++)
        *c = *c == '_' ? '-' : *c;
}

/* Distance of an option's name from the typed one: 0 for a name of other programs, 1 where one begins with
 * the other, else 1 + number of edits; 99: too far for "did you mean". */
static int name_distance(const char *typed, const char *name)
{
    /* names in other programs of the field */
    static const char *const other[][2] = {{"tr", " res resolution spacing gsd pixel-size "},
                                           {"t-srs", " srs crs epsg proj "},
                                           {"output", " out output-file dest "},
                                           {"threads", " jobs cpus workers processes "},
                                           {"memory", " ram mem max-memory "},
                                           {"device", " gpu cuda "},
                                           {"overwrite", " force clobber "},
                                           {"reference", " refdem "},
                                           {"vertical", " geoid "},
                                           {"hmin", " min-height "},
                                           {"hmax", " max-height "},
                                           {"bounds", " roi bbox te projwin t-projwin extent "},
                                           {"area", " cutline aoi "},
                                           {"log", " json "}};
    char a[LONGEST_WORD + 1], b[LONGEST_WORD + 1], word[LONGEST_WORD + 3];
    plain_name(typed, a);
    plain_name(name, b);
    snprintf(word, sizeof word, " %s ", a);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (strcmp(b, other[i][0]) == 0 && strstr(other[i][1], word))
            return 0;
    const size_t n = strlen(a);
    if (strcmp(a, b) == 0)
        return 0;
    if (n >= 3 && (strncmp(a, b, n) == 0 || (strncmp(a, b, strlen(b)) == 0 && a[strlen(b)] == '-')))
        return 1; /* the beginning of it, or more than it */
    const int edits = sdm_edit_distance(a, b);
    return edits < (3 < strlen(typed) / 3 ? 3 : (int)(strlen(typed) / 3) + 1) ? 1 + edits : 99;
}

const SdmOptionSpec *sdm_option_nearest(SdmOptionSet *sets, unsigned command, unsigned without,
                                        const char *typed)
{
    const SdmOptionSpec *nearest = NULL;
    SdmFoundOption at;
    int best = 99;
    for (int i = 0; (at = sdm_option_at(sets, command, i)).spec; i++) {
        const int edits = at.spec->commands & without ? 99 : name_distance(typed, at.spec->name);
        if (edits < best) {
            best = edits;
            nearest = at.spec;
        }
    }
    return nearest;
}

static SdmStatus refuse_unknown(SdmContext *ctx, SdmCommandLine *line, const char *word, size_t n)
{
    char name[LONGEST_WORD + 1] = "";
    if (n <= LONGEST_WORD)
        memcpy(name, word, n);
    const SdmOptionSpec *const nearest = sdm_option_nearest(line->sets, line->command, 0, name);
    if (nearest)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "unknown option %.*s, did you mean %s? (stereodem %s --help lists all)", (int)n, word,
                        nearest->name, line->name);
    return sdm_fail(ctx, SDM_ERR_USAGE, "unknown option %.*s; stereodem %s --help lists all",
                    n > 200 ? 200 : (int)n, word, line->name);
}

/* The value of an option of several words (metavar "W S E N"), of which argv[*i] is the first; one word that
 * holds all, in quotes or with commas, is taken as it is. */
static SdmStatus join_words(SdmContext *ctx, SdmCommandLine *line, const SdmOptionSpec *spec, int argc,
                            char *const *argv, int *i, const char **value)
{
    size_t n = 0;
    if (!strchr(spec->metavar, ' ') || strpbrk(argv[*i], ", "))
        return SDM_OK;
    for (const char *c = spec->metavar; c; c = strchr(c + 1, ' '), ++*i) {
        if (*i == argc)
            return sdm_fail(ctx, SDM_ERR_USAGE, "%s: needs the values %s, found the end of the command",
                            spec->name, spec->metavar);
        PASS(sdm_format(ctx, line->words + n, sizeof line->words - n, "%s%s", n ? " " : "", argv[*i]));
        n += strlen(line->words + n);
    }
    --*i;
    *value = line->words;
    return SDM_OK;
}

/* Take the option at argv[*i]; moves *i on to its value when that is a word of its own. */
static SdmStatus take_option(SdmContext *ctx, SdmCommandLine *line, int argc, char *const *argv, int *i)
{
    const char *const word = argv[*i];
    const size_t n = strcspn(word, "=");
    const char *value = word[n] == '=' ? word + n + 1 : NULL;
    const SdmFoundOption found = find_option(line, word, n);
    if (!found.spec)
        return refuse_unknown(ctx, line, word, n);
    if ((found.set->given & found.bit) && found.spec->type != SDM_OPT_KEY_VALUES)
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s: given twice, expected once", found.spec->name);
    found.set->given |= found.bit;
    if (found.spec->type == SDM_OPT_BOOL) {
        if (value)
            return sdm_fail(ctx, SDM_ERR_USAGE, "%s: found the value '%.200s', expected none",
                            found.spec->name, value);
        return sdm_option_set(ctx, found.spec, found.set->opts, "");
    }
    if (!value && *i + 1 < argc) {
        value = argv[++*i];
        if (value[0] == '-' && find_option(line, value, strcspn(value, "=")).spec)
            return sdm_fail(ctx, SDM_ERR_USAGE, "%s: needs a value %s, found the option %s instead",
                            found.spec->name, found.spec->metavar, value);
        PASS(join_words(ctx, line, found.spec, argc, argv, i, &value));
    }
    if (!value)
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s: needs a value %s, found none", found.spec->name,
                        found.spec->metavar);
    return sdm_option_set(ctx, found.spec, found.set->opts, value);
}

/* ---- a file of options ---- */

SdmStatus sdm_options_fill(SdmContext *ctx, SdmCommandLine *line, const char *name, const char *text,
                           bool is_report)
{
    const SdmFoundOption found = sdm_option_find(line->sets, line->command, name + strspn(name, "-"));
    const SdmOptionSpec *const spec = found.spec;
    if (!spec)
        return is_report ? SDM_OK : refuse_unknown(ctx, line, name, strlen(name));
    const bool is_number = spec->type == SDM_OPT_INT || spec->type == SDM_OPT_REAL;
    if (!text || (found.set->given & found.bit) ||
        (is_report && ((spec->commands & SDM_OF_SCREEN) || strcmp(spec->name, "--overwrite") == 0)))
        return SDM_OK;
    if (is_report && (!*text || (is_number && spec->lo > 0.0 && strcmp(text, "0") == 0)))
        return SDM_OK;
    if (is_report && strstr(text, "***"))
        return sdm_fail(ctx, SDM_ERR_USAGE, "the report hides a secret in %s %.200s; give %s yourself",
                        spec->name, text, spec->name);
    if (spec->type == SDM_OPT_BOOL && strcmp(text, "false") == 0)
        return SDM_OK;
    if (spec->type == SDM_OPT_BOOL && strcmp(text, "true") != 0)
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s: found '%.200s', expected true or false", spec->name, text);
    return sdm_option_set(ctx, spec, found.set->opts, text);
}

SdmStatus sdm_options_parse(SdmContext *ctx, SdmCommandLine *line, int argc, char *const *argv)
{
    bool options = true;
    line->count = 0;
    line->help = false;
    for (int s = 0; s < SDM_OPTION_SETS; s++)
        line->sets[s].given = 0;
    for (int i = 1; i < argc; i++) {
        const char *const word = argv[i];
        if (options && strcmp(word, "--") == 0) {
            options = false;
        } else if (options && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)) {
            line->help = true;
            break;
        } else if (options && word[0] == '-' && word[1] != '\0') {
            PASS(take_option(ctx, line, argc, argv, &i));
        } else if (!*word) {
            return sdm_fail(ctx, SDM_ERR_USAGE, "an argument is empty, expected a file name");
        } else if (line->count == line->max) {
            return sdm_fail(ctx, SDM_ERR_USAGE, "unexpected argument '%.200s'; %s takes at most %d", word,
                            line->name, line->max);
        } else {
            line->positional[line->count++] = word;
        }
    }
    for (int s = 0; s < SDM_OPTION_SETS && !line->help; s++)
        if (line->sets[s].table == sdm_option_table)
            PASS(sdm_options_check_optimizer(ctx, line->sets[s].opts, line->sets[s].given));
    return SDM_OK;
}
