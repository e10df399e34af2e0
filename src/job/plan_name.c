/* Ids of scenes -> names of their products, each once in a job. */
// SPDX-License-Identifier: Apache-2.0
#include "job/plan.h"
#include "job/unit_file.h"

#include <string.h>

/* A file's name has up to 255 letters, and companions are written aside under longer names. */
enum { NAME = 320, LONGEST = 200 };

/* Names that are taken, by their hashes: open addressing. */
typedef struct Names {
    uint64_t *hash; /* 0: free */
    int *next;      /* of a name: the number that its next namesake tries first */
    size_t mask;
} Names;

static size_t find(const Names *names, uint64_t hash)
{
    size_t at = (size_t)hash & names->mask;
    while (names->hash[at] && names->hash[at] != hash)
        at = (at + 1) & names->mask;
    return at;
}

static uint64_t hash_name(const char *name, const char *end)
{
    char whole[NAME + 8];
    const int n = snprintf(whole, sizeof whole, "%s%s", name, end);
    const uint64_t h = sdm_hash(1, whole, (size_t)n);
    return h ? h : 1;
}

/* Take a name with what lies beside NAME.tif and is a raster, too: no product may be called so. */
static bool take(Names *names, const char *name)
{
    static const char *const end[] = {"", "_qa", "_ortho"};
    for (int i = 0; i < 3; i++)
        if (names->hash[find(names, hash_name(name, end[i]))])
            return false;
    for (int i = 0; i < 3; i++) {
        const uint64_t h = hash_name(name, end[i]);
        names->hash[find(names, h)] = h;
    }
    return true;
}

static void name_scene(cJSON *item, Names *names)
{
    const cJSON *const id = cJSON_GetObjectItemCaseSensitive(item, "id");
    const char *const base = cJSON_IsString(id) && *id->valuestring ? id->valuestring : "scene";
    char stem[LONGEST + 1], name[NAME];
    snprintf(stem, sizeof stem, "%.*s", LONGEST, base);
    for (char *c = stem; *c; c++)
        *c = *c == '/' ? '_' : *c;
    snprintf(name, sizeof name, "%s", stem);
    bool taken = take(names, name);
    const size_t at = find(names, hash_name(stem, ""));
    names->hash[at] = hash_name(stem, ""); /* also where it cannot be taken: its number stands here */
    for (int n = names->next[at] < 2 ? 2 : names->next[at]; !taken; n++) {
        snprintf(name, sizeof name, "%s_%d", stem, n);
        taken = take(names, name);
        names->next[at] = n + 1;
    }
    cJSON_AddStringToObject(item, "name", name);
}

SdmStatus sdm_plan_name_scenes(SdmContext *ctx, cJSON *scenes, int count)
{
    SdmStatus st = SDM_OK;
    Names names = {.mask = 15};
    cJSON *item;
    while (names.mask < 8 * (size_t)count) /* at most four of each: half full */
        names.mask = 2 * names.mask + 1;
    TRY(sdm_alloc(ctx, &names.hash, names.mask + 1, sizeof *names.hash, "names of scenes"));
    TRY(sdm_alloc(ctx, &names.next, names.mask + 1, sizeof *names.next, "names of scenes"));
    cJSON_ArrayForEach(item, scenes)
        name_scene(item, &names);
done:
    sdm_free(&names.next);
    sdm_free(&names.hash);
    return st;
}
