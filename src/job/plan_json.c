/* Plan <-> plan.json.  Nothing else in src/job knows JSON. */
// SPDX-License-Identifier: Apache-2.0
#include "core/text.h"
#include "job/plan.h"

#include <cJSON.h>
#include <math.h>
#include <string.h>

enum { FORMAT = 1, LONGEST = 1 << 28, MOST_UNITS = 100000000 };
static const double MOST_CELLS = 2e9, FARTHEST = 1e9;
static const double MOST_WHOLE = 9007199254740992.0; /* 2^53: JSON's numbers are exact up to here */
static const char *const CELLS[4] = {"col", "row", "cols", "rows"}; /* of a tile */

/* ---- read ---- */

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) && item->valuestring ? item->valuestring : NULL;
}

static int64_t whole_number(const cJSON *item, double most)
{
    const double v = cJSON_IsNumber(item) ? item->valuedouble : -1.0;
    return v >= 0.0 && v <= most && v == floor(v) ? (int64_t)v : -1;
}

/* A whole number of 0..most, else -1. */
static int64_t whole_of(const cJSON *object, const char *key, double most)
{
    return whole_number(cJSON_GetObjectItemCaseSensitive(object, key), most);
}

/* A whole number of either sign; 0: none. */
static int64_t signed_number(const cJSON *item)
{
    const double v = cJSON_IsNumber(item) ? item->valuedouble : 0.0;
    return fabs(v) <= MOST_WHOLE && v == floor(v) ? (int64_t)v : 0;
}

/* NaN: none. */
static double real_of(const cJSON *object, const char *key)
{
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static bool flag_of(const cJSON *object, const char *key)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, key));
}

typedef struct Reader {
    SdmContext *ctx;
    SdmPlan *plan;
    const char *name; /* of the file, for sentences */
} Reader;

static SdmStatus damaged(const Reader *r, const char *what)
{
    return sdm_fail(r->ctx, SDM_ERR_INPUT, "%s is damaged: %s; plan the job again with --overwrite", r->name,
                    what);
}

static SdmStatus incomplete(const Reader *r, int scene)
{
    return sdm_fail(r->ctx, SDM_ERR_INPUT,
                    "%s is damaged: scene %d is not complete; plan the job again with --overwrite", r->name,
                    scene);
}

static SdmStatus keep(const Reader *r, const cJSON *object, const char *key, const char **out)
{
    return sdm_plan_keep(r->ctx, r->plan, text_of(object, key), out);
}

static SdmStatus read_place(const Reader *r, const cJSON *object, SdmPlanPlace *out)
{
    SdmStatus st = SDM_OK;
    TRY(keep(r, object, "path", &out->path));
    TRY(keep(r, object, "absolute", &out->absolute));
done:
    return st;
}

static SdmStatus read_files(const Reader *r, const cJSON *list, SdmPlanScene *s)
{
    SdmStatus st = SDM_OK;
    const cJSON *item;
    const int count = cJSON_GetArraySize(list);
    if (count < 1)
        return SDM_OK;
    TRY(sdm_alloc(r->ctx, &s->file, (size_t)count, sizeof *s->file, "list of inputs"));
    cJSON_ArrayForEach(item, list)
    {
        SdmPlanFile *const f = &s->file[s->file_count++];
        TRY(read_place(r, item, &f->at));
        if (!f->at.path)
            TRY(incomplete(r, s->number));
        f->size_bytes = whole_of(item, "size_bytes", MOST_WHOLE);
        f->mtime_us = whole_of(item, "mtime_us", MOST_WHOLE);
        f->has_stamp = f->size_bytes >= 0 && f->mtime_us >= 0;
    }
done:
    return st;
}

static SdmStatus read_tile(const Reader *r, const cJSON *item, SdmPlanTile *t)
{
    const cJSON *const window = cJSON_GetObjectItemCaseSensitive(item, "frame_window");
    for (int k = 0; k < 4; k++) {
        t->cells[k] = whole_of(item, CELLS[k], MOST_CELLS);
        if (t->cells[k] < 0)
            return damaged(r, "a tile of it has no place or size");
        t->window[k] = signed_number(cJSON_GetArrayItem(window, k));
    }
    t->memory_bytes = whole_of(item, "memory_bytes", MOST_WHOLE);
    t->cpu_s = real_of(item, "cpu_seconds");
    return SDM_OK;
}

static SdmStatus read_tiles(const Reader *r, const cJSON *list, SdmPlanScene *s)
{
    SdmStatus st = SDM_OK;
    const cJSON *item;
    const int count = cJSON_GetArraySize(list);
    if (count < 1)
        return SDM_OK;
    TRY(sdm_alloc(r->ctx, &s->tile, (size_t)count, sizeof *s->tile, "the tiles"));
    cJSON_ArrayForEach(item, list)
        TRY(read_tile(r, item, &s->tile[s->tile_count++]));
done:
    return st;
}

/* The grid, the frame, the inputs and the tiles of a scene that was planned. */
static SdmStatus read_planned(const Reader *r, const cJSON *item, SdmPlanScene *s)
{
    SdmStatus st = SDM_OK;
    const cJSON *const grid = cJSON_GetObjectItemCaseSensitive(item, "grid"),
                *const frame = cJSON_GetObjectItemCaseSensitive(item, "frame"),
                *const prepare = cJSON_GetObjectItemCaseSensitive(item, "preparation"),
                *const files = cJSON_GetObjectItemCaseSensitive(item, "inputs"),
                *const tiles = cJSON_GetObjectItemCaseSensitive(item, "tiles");
    s->x0 = real_of(grid, "x0");
    s->y0 = real_of(grid, "y0");
    s->spacing = real_of(grid, "spacing");
    s->cols = whole_of(grid, "cols", MOST_WHOLE);
    s->rows = whole_of(grid, "rows", MOST_WHOLE);
    s->frame_cols = whole_of(frame, "cols", MOST_WHOLE);
    s->frame_rows = whole_of(frame, "rows", MOST_WHOLE);
    s->frame_spacing_m = real_of(frame, "spacing_m");
    s->tiled = flag_of(item, "tiled");
    s->prepare_bytes = whole_of(prepare, "memory_bytes", MOST_WHOLE);
    s->prepare_s = real_of(prepare, "cpu_seconds");
    if (!s->left.path || !s->id || !s->kind || !s->time_utc || !(fabs(s->x0) <= FARTHEST) ||
        !(fabs(s->y0) <= FARTHEST) || !(s->spacing > 0.0) || !cJSON_IsArray(files) || !cJSON_IsArray(tiles))
        return incomplete(r, s->number);
    TRY(read_files(r, files, s));
    TRY(read_tiles(r, tiles, s));
done:
    return st;
}

static SdmStatus read_scene(const Reader *r, const cJSON *item, SdmPlanScene *s)
{
    SdmStatus st = SDM_OK;
    SdmPlan *const plan = r->plan;
    TRY(keep(r, item, "name", &s->name));
    TRY(keep(r, item, "id", &s->id));
    TRY(keep(r, item, "kind", &s->kind));
    TRY(keep(r, item, "time_utc", &s->time_utc));
    TRY(keep(r, item, "cost", &s->cost));
    TRY(keep(r, item, "error", &s->error));
    TRY(read_place(r, cJSON_GetObjectItemCaseSensitive(item, "left"), &s->left));
    TRY(read_place(r, cJSON_GetObjectItemCaseSensitive(item, "right"), &s->right));
    if (!s->name || !*s->name || strchr(s->name, '/'))
        TRY(incomplete(r, s->number));
    if (!s->error)
        TRY(read_planned(r, item, s));
    s->first_unit = whole_of(item, "first_unit", MOST_UNITS);
    s->unit_count = whole_of(item, "unit_count", MOST_UNITS);
    const int64_t expected = s->error ? 0 : s->tile_count + s->tiled;
    if (s->first_unit != plan->units || s->unit_count != expected ||
        (!s->error && !s->tiled && s->tile_count != 1))
        TRY(damaged(r, "its units are not numbered through"));
    plan->units += s->unit_count;
done:
    return st;
}

static SdmStatus read_option(const Reader *r, const SdmOptionSpec *o, const cJSON *value)
{
    SdmStatus st = SDM_OK;
    const cJSON *item;
    const char *text;
    SdmOptions *const to = &r->plan->options;
    if (o->type == SDM_OPT_KEY_VALUES) {
        cJSON_ArrayForEach(item, value)
        {
            TRY(sdm_plan_keep(r->ctx, r->plan, cJSON_IsString(item) ? item->valuestring : "", &text));
            TRY(sdm_option_set(r->ctx, o, to, text));
        }
        return SDM_OK;
    }
    if (!cJSON_IsString(value))
        return damaged(r, "an option of it is no text");
    TRY(sdm_plan_keep(r->ctx, r->plan, value->valuestring, &text));
    TRY(sdm_option_set(r->ctx, o, to, text));
done:
    return st;
}

static SdmStatus read_options(const Reader *r, const cJSON *from)
{
    SdmStatus st = SDM_OK;
    int input = 0;
    if (!cJSON_IsObject(from))
        return damaged(r, "it has no options");
    for (const SdmOptionSpec *o = sdm_option_table; o->name; o++) {
        const cJSON *const value = cJSON_GetObjectItemCaseSensitive(from, o->name + strlen("--"));
        if (!sdm_plan_has_option(o))
            continue;
        SdmPlanPlace *const place = o->commands & SDM_NAMES_INPUT ? &r->plan->input[input++] : NULL;
        if (!value)
            continue;
        if (!place) {
            TRY(read_option(r, o, value));
            continue;
        }
        TRY(read_place(r, value, place));
        if (!place->path)
            TRY(damaged(r, "an option of it names no file"));
        TRY(sdm_option_set(r->ctx, o, &r->plan->options, place->path));
    }
    TRY(sdm_options_check(r->ctx, &r->plan->options));
done:
    return st;
}

static SdmStatus read_tree(Reader *r, const cJSON *root, SdmPlan **out)
{
    SdmStatus st = SDM_OK;
    const cJSON *item, *const scenes = cJSON_GetObjectItemCaseSensitive(root, "scenes");
    const char *const version = text_of(root, "version"), *const program = text_of(root, "program");
    if (!version || !program || strcmp(program, "stereodem") != 0)
        return damaged(r, "it is not what stereodem plan writes");
    if (strcmp(version, SDM_VERSION) != 0 || whole_of(root, "format", 1e6) != FORMAT)
        return sdm_fail(
            r->ctx, SDM_ERR_INPUT,
            "%s was made by stereodem %s, this is %s; use that version, or plan the job again with "
            "--overwrite",
            r->name, version, SDM_VERSION);
    if (!cJSON_IsArray(scenes) || cJSON_GetArraySize(scenes) < 1)
        return damaged(r, "it lists no scenes");
    TRY(sdm_plan_new(r->ctx, cJSON_GetArraySize(scenes), &r->plan));
    TRY(read_options(r, cJSON_GetObjectItemCaseSensitive(root, "options")));
    int s = 0;
    cJSON_ArrayForEach(item, scenes)
    {
        r->plan->scene[s].number = s;
        TRY(read_scene(r, item, &r->plan->scene[s]));
        s++;
    }
    if (r->plan->units != whole_of(root, "unit_count", MOST_UNITS))
        TRY(damaged(r, "its number of units does not fit"));
    sdm_plan_complete(r->plan);
    *out = r->plan;
    r->plan = NULL;
done:
    sdm_plan_close(&r->plan);
    return st;
}

SdmStatus sdm_plan_parse(SdmContext *ctx, const char *name, const char *text, size_t size, SdmPlan **out)
{
    Reader r = {.ctx = ctx, .name = name};
    *out = NULL;
    cJSON *const root = cJSON_ParseWithLength(text, size);
    const SdmStatus st = read_tree(&r, root, out);
    cJSON_Delete(root);
    return st;
}

SdmStatus sdm_plan_read(SdmContext *ctx, const char *folder, SdmPlan **out)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE], *text = NULL;
    size_t size = 0;
    *out = NULL;
    TRY(sdm_path_join(ctx, folder, "plan.json", path));
    TRY(sdm_file_read(ctx, path, LONGEST, &text, &size));
    TRY(sdm_plan_parse(ctx, path, text, size, out));
done:
    sdm_free(&text);
    return st;
}

/* ---- write ---- */

static void put_text(cJSON *to, const char *key, const char *text)
{
    if (text)
        cJSON_AddStringToObject(to, key, text);
}

static void put_whole(cJSON *to, const char *key, int64_t value)
{
    cJSON_AddNumberToObject(to, key, (double)value);
}

static cJSON *put_place(cJSON *to, const char *key, const SdmPlanPlace *place)
{
    cJSON *const object = cJSON_AddObjectToObject(to, key);
    put_text(object, "path", place->path);
    put_text(object, "absolute", place->absolute);
    return object;
}

static void put_option(cJSON *to, const SdmOptionSpec *o, const SdmOptions *options)
{
    char value[4096];
    const char *const key = o->name + strlen("--");
    if (o->type == SDM_OPT_KEY_VALUES) {
        cJSON *const list = cJSON_AddArrayToObject(to, key);
        for (const char *const *p = (const char *const *)(const void *)((const char *)options + o->offset);
             *p; p++)
            cJSON_AddItemToArray(list, cJSON_CreateString(*p));
        return;
    }
    sdm_option_print(o, options, value, sizeof value);
    const bool number = o->type == SDM_OPT_INT || o->type == SDM_OPT_REAL;
    if (*value && !(number && o->lo > 0.0 && strcmp(value, "0") == 0)) /* 0 below the range: not given */
        cJSON_AddStringToObject(to, key, value);
}

static void put_options(cJSON *to, const SdmPlan *plan)
{
    int input = 0;
    for (const SdmOptionSpec *o = sdm_option_table; o->name; o++) {
        if (!sdm_plan_has_option(o))
            continue;
        const SdmPlanPlace *const place = o->commands & SDM_NAMES_INPUT ? &plan->input[input++] : NULL;
        if (place && place->path)
            put_place(to, o->name + strlen("--"), place);
        else if (!place)
            put_option(to, o, &plan->options);
    }
}

static void put_files(cJSON *list, const SdmPlanScene *s)
{
    char when[40];
    for (int i = 0; i < s->file_count; i++) {
        const SdmPlanFile *const f = &s->file[i];
        cJSON *const to = cJSON_CreateObject();
        put_text(to, "path", f->at.path);
        put_text(to, "absolute", f->at.absolute);
        if (f->has_stamp) {
            put_whole(to, "size_bytes", f->size_bytes);
            put_whole(to, "mtime_us", f->mtime_us);
            sdm_plan_print_time(f->mtime_us, when);
            put_text(to, "mtime_utc", when);
        }
        cJSON_AddItemToArray(list, to);
    }
}

static void put_tiles(cJSON *list, const SdmPlanScene *s)
{
    for (int64_t i = 0; i < s->tile_count; i++) {
        const SdmPlanTile *const t = &s->tile[i];
        cJSON *const to = cJSON_CreateObject();
        for (int k = 0; k < 4; k++)
            put_whole(to, CELLS[k], t->cells[k]);
        cJSON *const window = cJSON_AddArrayToObject(to, "frame_window");
        for (int k = 0; k < 4; k++)
            cJSON_AddItemToArray(window, cJSON_CreateNumber((double)t->window[k]));
        put_whole(to, "memory_bytes", t->memory_bytes);
        cJSON_AddNumberToObject(to, "cpu_seconds", t->cpu_s);
        cJSON_AddItemToArray(list, to);
    }
}

static void put_planned(cJSON *to, const SdmPlanScene *s)
{
    put_text(to, "kind", s->kind);
    put_text(to, "time_utc", s->time_utc);
    put_text(to, "cost", s->cost);
    cJSON *const frame = cJSON_AddObjectToObject(to, "frame");
    put_whole(frame, "cols", s->frame_cols);
    put_whole(frame, "rows", s->frame_rows);
    cJSON_AddNumberToObject(frame, "spacing_m", s->frame_spacing_m);
    cJSON *const grid = cJSON_AddObjectToObject(to, "grid");
    cJSON_AddNumberToObject(grid, "x0", s->x0);
    cJSON_AddNumberToObject(grid, "y0", s->y0);
    cJSON_AddNumberToObject(grid, "spacing", s->spacing);
    put_whole(grid, "cols", s->cols);
    put_whole(grid, "rows", s->rows);
    put_files(cJSON_AddArrayToObject(to, "inputs"), s);
    cJSON_AddBoolToObject(to, "tiled", s->tiled);
    if (s->tiled) {
        cJSON *const prepare = cJSON_AddObjectToObject(to, "preparation");
        put_whole(prepare, "memory_bytes", s->prepare_bytes);
        cJSON_AddNumberToObject(prepare, "cpu_seconds", s->prepare_s);
    }
    put_tiles(cJSON_AddArrayToObject(to, "tiles"), s);
}

static char *print_scene(const SdmPlanScene *s)
{
    cJSON *const to = cJSON_CreateObject();
    put_place(to, "left", &s->left);
    if (s->right.path)
        put_place(to, "right", &s->right);
    put_text(to, "id", s->id);
    put_text(to, "error", s->error);
    if (!s->error)
        put_planned(to, s);
    put_whole(to, "first_unit", s->first_unit);
    put_whole(to, "unit_count", s->unit_count);
    put_text(to, "name", s->name);
    char *const text = cJSON_PrintUnformatted(to);
    cJSON_Delete(to);
    return text;
}

static char *print_head(const SdmPlan *plan)
{
    cJSON *const root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "program", "stereodem");
    cJSON_AddStringToObject(root, "version", SDM_VERSION);
    put_whole(root, "format", FORMAT);
    put_options(cJSON_AddObjectToObject(root, "options"), plan);
    put_whole(root, "scene_count", plan->count);
    put_whole(root, "unit_count", plan->units);
    char *const text = cJSON_PrintUnformatted(root);
    cJSON_Delete(root);
    return text;
}

/* The first `cut` bytes less of what cJSON printed, and `end` behind it. */
static void add_printed(SdmText *t, char *printed, size_t cut, const char *end)
{
    if (printed)
        sdm_text_raw(t, printed, strlen(printed) - cut);
    else if (t->st == SDM_OK)
        t->st = sdm_fail(t->ctx, SDM_ERR_MEMORY, "out of memory: the plan as text");
    cJSON_free(printed);
    sdm_text_add(t, "%s", end);
}

/* Everything but the scenes on a line, then each scene on a line of its own: for grep and for people. */
SdmStatus sdm_plan_print(SdmContext *ctx, const SdmPlan *plan, char **out)
{
    SdmText t = {.ctx = ctx};
    add_printed(&t, print_head(plan), strlen("}"), ",\"scenes\":[\n");
    for (int s = 0; s < plan->count && t.st == SDM_OK; s++)
        add_printed(&t, print_scene(&plan->scene[s]), 0, s + 1 < plan->count ? ",\n" : "\n");
    sdm_text_add(&t, "]}\n");
    *out = t.st == SDM_OK ? t.data : NULL;
    if (t.st != SDM_OK)
        sdm_text_close(&t);
    return t.st;
}

SdmStatus sdm_plan_write(SdmContext *ctx, const char *folder, const SdmPlan *plan)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE], *text = NULL;
    TRY(sdm_plan_print(ctx, plan, &text));
    TRY(sdm_path_join(ctx, folder, "plan.json", path));
    TRY(sdm_file_write(ctx, path, text, strlen(text)));
done:
    sdm_free(&text);
    return st;
}
