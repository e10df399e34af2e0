/* plan.json <-> tree; what a scene of it says. */
// SPDX-License-Identifier: Apache-2.0
#include "job/plan.h"
#include "job/unit_file.h"
#include "core/options.h"

#include <math.h>
#include <string.h>

enum { FORMAT = 1, LONGEST = 1 << 28, MOST_UNITS = 100000000 };
static const double MOST_CELLS = 2e9, FARTHEST = 1e9;
static const char *const CELLS[4] = {"col", "row", "cols", "rows"}; /* of a tile */

void sdm_plan_close(SdmPlan **out)
{
    SdmPlan *const p = out ? *out : NULL;
    if (!p)
        return;
    cJSON_Delete(p->root);
    sdm_free(&p->scene);
    sdm_free(&p->first_unit);
    sdm_free(out);
}

static SdmStatus damaged(SdmContext *ctx, const char *name, const char *what)
{
    return sdm_fail(ctx, SDM_ERR_INPUT, "%s is damaged: %s; plan the job again with --overwrite", name, what);
}

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) && item->valuestring ? item->valuestring : NULL;
}

/* A whole number of 0..most, else -1. */
static int64_t whole_of(const cJSON *object, const char *key, double most)
{
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(object, key);
    const double v = cJSON_IsNumber(item) ? item->valuedouble : -1.0;
    return v >= 0.0 && v <= most && v == floor(v) ? (int64_t)v : -1;
}

static double real_of(const cJSON *object, const char *key)
{
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

/* Has every tile its place and size? */
static bool has_cells(const cJSON *tiles)
{
    const cJSON *tile;
    cJSON_ArrayForEach(tile, tiles)
        for (int k = 0; k < 4; k++)
            if (whole_of(tile, CELLS[k], MOST_CELLS) < 0)
                return false;
    return true;
}

SdmStatus sdm_plan_index(SdmContext *ctx, const char *name, SdmPlan *plan)
{
    SdmStatus st = SDM_OK;
    const cJSON *const scenes = cJSON_GetObjectItemCaseSensitive(plan->root, "scenes");
    cJSON *item;
    if (!cJSON_IsArray(scenes) || cJSON_GetArraySize(scenes) < 1)
        return damaged(ctx, name, "it lists no scenes");
    plan->count = cJSON_GetArraySize(scenes);
    TRY(sdm_alloc(ctx, &plan->scene, (size_t)plan->count, sizeof *plan->scene, "the plan"));
    TRY(sdm_alloc(ctx, &plan->first_unit, (size_t)plan->count + 1, sizeof *plan->first_unit, "the plan"));
    int s = 0;
    cJSON_ArrayForEach(item, scenes)
    {
        const bool bad = text_of(item, "error") != NULL;
        const int64_t first = whole_of(item, "first_unit", MOST_UNITS),
                      n = whole_of(item, "unit_count", MOST_UNITS);
        const cJSON *const list = cJSON_GetObjectItemCaseSensitive(item, "tiles");
        const int tiles = cJSON_GetArraySize(list);
        const bool tiled = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "tiled"));
        if (first != plan->units || n != (bad ? 0 : tiled ? tiles + 1 : 1) || (!bad && !tiled && tiles != 1))
            return damaged(ctx, name, "its units are not numbered through");
        if (!has_cells(list))
            return damaged(ctx, name, "a tile of it has no place or size");
        plan->scene[s] = item;
        plan->first_unit[s++] = first;
        plan->units += n;
    }
    plan->first_unit[s] = plan->units;
    if (plan->units != whole_of(plan->root, "unit_count", MOST_UNITS))
        return damaged(ctx, name, "its number of units does not fit");
done:
    return st;
}

SdmStatus sdm_plan_read(SdmContext *ctx, const char *folder, SdmPlan **out)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE], *text = NULL;
    size_t size = 0;
    SdmPlan *p = NULL;
    *out = NULL;
    TRY(sdm_path_join(ctx, folder, "plan.json", path));
    TRY(sdm_file_read(ctx, path, LONGEST, &text, &size));
    TRY(sdm_alloc(ctx, &p, 1, sizeof *p, "the plan"));
    p->root = cJSON_ParseWithLength(text, size);
    const char *const version = text_of(p->root, "version"), *const program = text_of(p->root, "program");
    if (!p->root || !version || !program || strcmp(program, "stereodem") != 0) {
        st = damaged(ctx, path, "it is not what stereodem plan writes");
        goto done;
    }
    if (strcmp(version, SDM_VERSION) != 0 || whole_of(p->root, "format", 1e6) != FORMAT) {
        st = sdm_fail(ctx, SDM_ERR_INPUT,
                      "%s was made by stereodem %s, this is %s; use that version, or plan the job "
                      "again with --overwrite",
                      path, version, SDM_VERSION);
        goto done;
    }
    TRY(sdm_plan_index(ctx, path, p));
    *out = p;
    p = NULL;
done:
    sdm_free(&text);
    sdm_plan_close(&p);
    return st;
}

/* Everything of a line but the scenes, then each scene on a line of its own: for grep and for people. */
char *sdm_plan_text(const SdmPlan *plan)
{
    cJSON *const scenes = cJSON_DetachItemFromObjectCaseSensitive(plan->root, "scenes");
    char *head = cJSON_PrintUnformatted(plan->root), *all = NULL, **line = NULL;
    size_t n = head ? strlen(head) : 0, room = n + 64;
    line = cJSON_malloc((size_t)plan->count * sizeof *line);
    bool good = head && line;
    for (int s = 0; line && s < plan->count; s++) {
        line[s] = cJSON_PrintUnformatted(plan->scene[s]);
        good = good && line[s];
        room += line[s] ? strlen(line[s]) + 2 : 0;
    }
    all = good ? cJSON_malloc(room) : NULL;
    if (all) {
        char *p = all + sprintf(all, "%.*s,\"scenes\":[\n", (int)n - 1, head);
        for (int s = 0; s < plan->count; s++)
            p += sprintf(p, "%s%s\n", line[s], s + 1 < plan->count ? "," : "");
        memcpy(p, "]}\n", 4);
    }
    for (int s = 0; line && s < plan->count; s++)
        cJSON_free(line[s]);
    cJSON_free(line);
    cJSON_free(head);
    cJSON_AddItemToObject(plan->root, "scenes", scenes);
    return all;
}

SdmStatus sdm_plan_write(SdmContext *ctx, const char *folder, const SdmPlan *plan)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE];
    char *const text = sdm_plan_text(plan);
    if (!text)
        return sdm_fail(ctx, SDM_ERR_MEMORY, "out of memory: the plan as text");
    TRY(sdm_path_join(ctx, folder, "plan.json", path));
    TRY(sdm_file_write(ctx, path, text, strlen(text)));
done:
    cJSON_free(text);
    return st;
}

static SdmStatus set_pairs(SdmContext *ctx, const SdmOptionSpec *spec, const cJSON *list, SdmOptions *opt)
{
    SdmStatus st = SDM_OK;
    const cJSON *pair;
    memset((char *)opt + spec->offset, 0, sizeof(const char *));
    cJSON_ArrayForEach(pair, list)
        TRY(sdm_option_set(ctx, spec, opt, cJSON_IsString(pair) ? pair->valuestring : ""));
done:
    return st;
}

/* A file that an option names: as it is found from here. */
static SdmStatus set_path(SdmContext *ctx, const char *folder, const cJSON *value, char out[SDM_PATH_SIZE],
                          const char **field)
{
    const char *const rel = text_of(value, "path");
    *field = NULL;
    if (!rel)
        return SDM_OK;
    *field = out;
    return sdm_path_find(ctx, folder, rel, text_of(value, "absolute"), out);
}

SdmStatus sdm_plan_options(SdmContext *ctx, const SdmPlan *plan, const char *folder, SdmPlanPaths *paths,
                           SdmOptions *opt)
{
    SdmStatus st = SDM_OK;
    const cJSON *const from = cJSON_GetObjectItemCaseSensitive(plan->root, "options");
    if (!cJSON_IsObject(from))
        return damaged(ctx, folder, "its plan.json has no options");
    for (const SdmOptionSpec *s = sdm_option_table; s->name; s++) {
        const cJSON *const value = cJSON_GetObjectItemCaseSensitive(from, s->name + 2);
        if (!value || cJSON_IsObject(value))
            continue;
        if (s->type == SDM_OPT_KEY_VALUES)
            TRY(set_pairs(ctx, s, value, opt));
        else if (!cJSON_IsString(value))
            TRY(damaged(ctx, folder, "an option of its plan.json is no text"));
        else if (s->type == SDM_OPT_BOOL)
            continue;
        else
            TRY(sdm_option_set(ctx, s, opt, value->valuestring));
    }
    TRY(set_path(ctx, folder, cJSON_GetObjectItemCaseSensitive(from, "dem"), paths->dem, &opt->dem));
    TRY(set_path(ctx, folder, cJSON_GetObjectItemCaseSensitive(from, "mask-left"), paths->mask[0],
                 &opt->mask_left));
    TRY(set_path(ctx, folder, cJSON_GetObjectItemCaseSensitive(from, "mask-right"), paths->mask[1],
                 &opt->mask_right));
done:
    return st;
}

static uint64_t hash_text(uint64_t h, const char *text)
{
    return sdm_hash(h + 1, text ? text : "", text ? strlen(text) : 0);
}

/* Everything that the blocks' bytes depend on: version, inputs, parameters.  Not: where the files lie,
 * threads, memory. */
static uint64_t fingerprint_of(const SdmPlanScene *s, const SdmOptions *o)
{
    char text[512];
    const cJSON *file;
    uint64_t h = sdm_hash(1, SDM_VERSION, sizeof SDM_VERSION);
    cJSON_ArrayForEach(file, s->files)
    {
        const char *const path = text_of(file, "path"), *const slash = path ? strrchr(path, '/') : NULL;
        const int64_t at[2] = {whole_of(file, "size_bytes", 1e18), whole_of(file, "mtime_us", 1e18)};
        h = hash_text(h, slash ? slash + 1 : path);
        h = sdm_hash(h, at, sizeof at);
    }
    const char *const words[] = {o->t_srs,
                                 o->cost,
                                 o->optimizer,
                                 o->dem_vertical,
                                 s->right[0] ? "pair" : "scene",
                                 o->dem ? "dem" : "",
                                 o->mask_left ? "left" : "",
                                 o->mask_right ? "right" : ""};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        h = hash_text(h, words[i]);
    const int n = snprintf(text, sizeof text, "%.17g %.17g %.17g %.17g %d %d %d %s %d %d %d %d %d", o->tr,
                           o->hmin_m, o->hmax_m, o->base_height, o->band, o->p1, o->p2, o->paths,
                           o->bp_weight, o->bp_truncation, o->bp_outer, o->bp_inner, o->bp_tile);
    return sdm_hash(h, text, (size_t)n);
}

SdmStatus sdm_plan_scene(SdmContext *ctx, const SdmPlan *plan, const SdmOptions *opt, int s,
                         SdmPlanScene *out)
{
    const cJSON *const from = plan->scene[s], *const grid = cJSON_GetObjectItemCaseSensitive(from, "grid");
    const cJSON *const left = cJSON_GetObjectItemCaseSensitive(from, "left");
    const cJSON *const right = cJSON_GetObjectItemCaseSensitive(from, "right");
    *out = (SdmPlanScene){.number = s,
                          .name = text_of(from, "name"),
                          .id = text_of(from, "id"),
                          .kind = text_of(from, "kind"),
                          .time_utc = text_of(from, "time_utc"),
                          .error = text_of(from, "error"),
                          .first_unit = plan->first_unit[s],
                          .unit_count = plan->first_unit[s + 1] - plan->first_unit[s],
                          .left = {text_of(left, "path"), text_of(left, "absolute")},
                          .right = {text_of(right, "path"), text_of(right, "absolute")},
                          .tiled = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(from, "tiled")),
                          .x0 = real_of(grid, "x0"),
                          .y0 = real_of(grid, "y0"),
                          .spacing = real_of(grid, "spacing"),
                          .files = cJSON_GetObjectItemCaseSensitive(from, "inputs"),
                          .tiles = cJSON_GetObjectItemCaseSensitive(from, "tiles")};
    const bool complete = out->left[0] && out->id && out->kind && out->time_utc &&
                          fabs(out->x0) <= FARTHEST && fabs(out->y0) <= FARTHEST && out->spacing > 0.0 &&
                          cJSON_IsArray(out->files) && cJSON_IsArray(out->tiles);
    if (!out->name || !*out->name || strchr(out->name, '/') || (!out->error && !complete))
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "plan.json is damaged: scene %d is not complete; plan the job again with "
                        "--overwrite",
                        s);
    out->fingerprint = fingerprint_of(out, opt);
    uint64_t h = sdm_hash(out->fingerprint, &opt->vertical, sizeof opt->vertical);
    for (const char *const *pair = opt->co; *pair; pair++)
        h = sdm_hash(h, *pair, strlen(*pair) + 1);
    out->whole = h;
    return SDM_OK;
}

int sdm_plan_scene_of(const SdmPlan *plan, int64_t unit)
{
    int lo = 0, hi = plan->count; /* first_unit[lo] <= unit < first_unit[hi] */
    while (hi - lo > 1) {
        const int mid = lo + (hi - lo) / 2;
        if (plan->first_unit[mid] <= unit)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

SdmStatus sdm_plan_tile(SdmContext *ctx, const SdmPlanScene *scene, int64_t i, int64_t cells[4],
                        double *cpu_s)
{
    const cJSON *const tile = cJSON_GetArrayItem(scene->tiles, (int)i);
    for (int k = 0; k < 4; k++) {
        cells[k] = whole_of(tile, CELLS[k], MOST_CELLS);
        if (cells[k] < 0)
            return sdm_fail(ctx, SDM_ERR_INPUT,
                            "plan.json is damaged: tile %lld of scene %d has no %s; plan the job again "
                            "with --overwrite",
                            (long long)i, scene->number, CELLS[k]);
    }
    if (cpu_s)
        *cpu_s = real_of(tile, "cpu_seconds");
    return SDM_OK;
}

double sdm_plan_prepare_s(const SdmPlan *plan, int s)
{
    const double v = real_of(cJSON_GetObjectItemCaseSensitive(plan->scene[s], "preparation"), "cpu_seconds");
    return v > 0.0 ? v : 0.0;
}

double sdm_plan_units_s(const SdmPlan *plan, int s)
{
    double sum = sdm_plan_prepare_s(plan, s);
    const cJSON *tile;
    cJSON_ArrayForEach(tile, cJSON_GetObjectItemCaseSensitive(plan->scene[s], "tiles"))
        sum += fmax(real_of(tile, "cpu_seconds"), 0.0);
    return sum;
}
