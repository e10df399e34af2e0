/* Names in a delivery -> its ASTER product: level 1A makes a DEM, others are refused by name. */
// SPDX-License-Identifier: Apache-2.0
#include "input/aster_files.h"

#include <cpl_string.h>
#include <string.h>

/* Longer names first, since L1B is in L1BE. */
static const char *const product[][2] = {{"L1AE", "AST_L1AE (expedited, without band 3B)"},
                                         {"L1BE", "AST_L1BE (expedited and resampled)"},
                                         {"L1B", "AST_L1B (resampled to a map)"},
                                         {"L1T", "AST_L1T (orthorectified, without band 3B)"}};
enum { PRODUCTS = sizeof product / sizeof *product };

const char *sdm_aster_other_product(const char *text)
{
    static const char *const before[] = {"AST_", "AST"}; /* names of granules and collections */
    char word[16];
    for (int i = 0; text && i < PRODUCTS; ++i)
        for (int k = 0; k < 2; ++k) {
            snprintf(word, sizeof word, "%s%s", before[k], product[i][0]);
            if (strstr(text, word))
                return product[i][1];
        }
    return NULL;
}

const char *sdm_aster_product_of(CSLConstList metadata, const char *path)
{
    static const char *const keys[] = {"SHORTNAME", "IDOFASTERGDSDATAGRANULE", "LOCALGRANULEID", "GRANULEID"};
    bool known = false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) {
        const char *const value = CSLFetchNameValue(metadata, keys[i]);
        const char *const other = sdm_aster_other_product(value);
        if (other)
            return other;
        known = known || (value && (strstr(value, "ASTL1A") || strstr(value, "AST_L1A")));
    }
    const char *const level = CSLFetchNameValue(metadata, "PROCESSINGLEVELID");
    for (int i = 0; level && i < PRODUCTS; ++i)
        if (strcmp(level, product[i][0] + 1) == 0)
            return product[i][1];
    return known ? NULL : sdm_aster_other_product(sdm_path_base(path));
}

/* The first answer to a name. */
typedef struct Question {
    const char *(*ask)(const char *name);
    const char *answer; /* NULL: none yet */
} Question;

static SdmWalk ask_name(void *user, const char *path, const char *name)
{
    Question *const q = user;
    (void)path;
    q->answer = q->ask(name);
    return q->answer ? SDM_WALK_END : SDM_WALK_ON;
}

static const char *ask_names(const char *folder, int depth, const char *(*ask)(const char *name))
{
    Question q = {.ask = ask};
    (void)sdm_folder_walk(folder, depth, ask_name, &q);
    return q.answer;
}

static const char *product_of_name(const char *name)
{
    const char *const found = sdm_aster_other_product(name);
    return found || !strstr(name, ".VNIR_Swath.") ? found : "an ASTER level 1B or 1T scene";
}

const char *sdm_aster_product_in(const char *folder, int depth)
{
    return ask_names(folder, depth, product_of_name);
}

const char *sdm_aster_bands_of(const char *name)
{
    return strstr(name, "VNIR_Band3")  ? NULL
           : strstr(name, "VNIR_Band") ? "VNIR bands 1 and 2"
           : strstr(name, "SWIR_Band") ? "SWIR bands"
           : strstr(name, "TIR_Band")  ? "TIR bands"
                                       : NULL;
}

const char *sdm_aster_bands_in(const char *folder, int depth)
{
    return ask_names(folder, depth, sdm_aster_bands_of);
}

SdmStatus sdm_aster_refuse(SdmContext *ctx, const char *path, const char *other)
{
    return sdm_fail(ctx, SDM_ERR_UNSUPPORTED,
                    "%s: is %s, from which no stereo DEM can be made; order the same scene as AST_L1A V004",
                    path, other);
}
