/* Plan <-> plan.json. */
// SPDX-License-Identifier: Apache-2.0
#include "core/text.h"
#include "job/plan.h"

#include <cJSON.h>
#include <math.h>
#include <string.h>

enum { FORMAT = 1, LONGEST = 1 << 28, MOST_UNITS = 100000000 };
static const double MOST_CELLS = 2e9, FARTHEST = 1e9;
static const double MOST_WHOLE = 9007199254740992.0; /* 2^53: JSON's numbers are exact up to here */

/* ---- fields, named once for reading and writing ---- */

/* A text; NULL: none. */
static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) && item->valuestring ? item->valuestring : NULL;
}

/* A whole number of 0..most; -1: none. */
static int64_t whole_of(const cJSON *object, const char *key, double most)
{
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(object, key);
    const double v = cJSON_IsNumber(item) ? item->valuedouble : -1.0;
    return v >= 0.0 && v <= most && v == floor(v) ? (int64_t)v : -1;
}

/* The plan on its way. */
typedef struct Mover {
    SdmContext *ctx;
    SdmPlan *plan;
    bool reading;     /* else writing */
    const char *name; /* of the file that is read, for sentences */
    int scene;        /* number of the scene that is read */
} Mover;

static SdmStatus damaged(const Mover *m, const char *what)
{
    return sdm_fail(m->ctx, SDM_ERR_INPUT,
                    "%s is damaged, or of another build of stereodem: %s; plan the job again with "
                    "--overwrite",
                    m->name, what);
}

static SdmStatus incomplete(const Mover *m)
{
    char what[64];
    snprintf(what, sizeof what, "scene %d is not complete", m->scene);
    return damaged(m, what);
}

static cJSON *move_object(const Mover *m, cJSON *o, const char *key)
{
    return m->reading ? cJSON_GetObjectItemCaseSensitive(o, key) : cJSON_AddObjectToObject(o, key);
}

static SdmStatus move_text(const Mover *m, cJSON *o, const char *key, const char **text)
{
    if (m->reading)
        return sdm_plan_keep(m->ctx, m->plan, text_of(o, key), text);
    if (*text)
        cJSON_AddStringToObject(o, key, *text);
    return SDM_OK;
}

static void move_whole(const Mover *m, cJSON *o, const char *key, int64_t *value, double most)
{
    if (m->reading)
        *value = whole_of(o, key, most);
    else
        cJSON_AddNumberToObject(o, key, (double)*value);
}

/* NaN: none. */
static void move_real(const Mover *m, cJSON *o, const char *key, double *value)
{
    if (!m->reading) {
        cJSON_AddNumberToObject(o, key, *value);
        return;
    }
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(o, key);
    *value = cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

static SdmStatus move_place(const Mover *m, cJSON *o, SdmPlanPlace *place)
{
    PASS(move_text(m, o, "path", &place->path));
    return move_text(m, o, "absolute", &place->absolute);
}

typedef SdmStatus move_element(const Mover *m, cJSON *o, void *element);

/* A list of *count elements of `size` bytes; reading allocates it. */
static SdmStatus move_list(const Mover *m, cJSON *list, void *array /* T ** */, int64_t *count, size_t size,
                           move_element *move)
{
    char *elements;
    cJSON *item = list ? list->child : NULL;
    const int64_t n = m->reading ? cJSON_GetArraySize(list) : *count;
    if (m->reading && n > 0)
        PASS(sdm_alloc(m->ctx, array, (size_t)n, size, "a list of the plan"));
    memcpy(&elements, array, sizeof elements);
    for (*count = 0; *count < n; ++*count, item = item ? item->next : NULL) {
        cJSON *const o = m->reading ? item : cJSON_CreateObject();
        if (!m->reading)
            cJSON_AddItemToArray(list, o);
        PASS(move(m, o, elements + (size_t)*count * size));
    }
    return SDM_OK;
}

static SdmStatus move_file(const Mover *m, cJSON *o, void *element)
{
    char when[40];
    SdmPlanFile *const f = element;
    PASS(move_place(m, o, &f->at));
    if (!f->at.path)
        PASS(incomplete(m));
    if (m->reading || f->has_stamp) {
        move_whole(m, o, "size_bytes", &f->size_bytes, MOST_WHOLE);
        move_whole(m, o, "mtime_us", &f->mtime_us, MOST_WHOLE);
    }
    if (m->reading) {
        f->has_stamp = f->size_bytes >= 0 && f->mtime_us >= 0;
    } else if (f->has_stamp) {
        sdm_plan_print_time(f->mtime_us, when);
        cJSON_AddStringToObject(o, "mtime_utc", when);
    }
    return SDM_OK;
}

static SdmStatus move_tile(const Mover *m, cJSON *o, void *element)
{
    static const char *const cells[4] = {"col", "row", "cols", "rows"}, key[] = "frame_window";
    SdmPlanTile *const t = element;
    for (int k = 0; k < 4; k++) {
        move_whole(m, o, cells[k], &t->cells[k], MOST_CELLS);
        if (m->reading && t->cells[k] < 0)
            return damaged(m, "a tile of it has no place or size");
    }
    cJSON *const window =
        m->reading ? cJSON_GetObjectItemCaseSensitive(o, key) : cJSON_AddArrayToObject(o, key);
    for (int k = 0; k < 4; k++)
        if (m->reading) {
            const double v = cJSON_GetNumberValue(cJSON_GetArrayItem(window, k));
            t->window[k] = fabs(v) <= MOST_WHOLE && v == floor(v) ? (int64_t)v : 0; /* NaN: none */
        } else
            cJSON_AddItemToArray(window, cJSON_CreateNumber((double)t->window[k]));
    move_whole(m, o, "memory_bytes", &t->memory_bytes, MOST_WHOLE);
    move_real(m, o, "cpu_seconds", &t->cpu_s);
    return SDM_OK;
}

/* Lists of inputs and tiles; NULL where what is read lacks one. */
static cJSON *array_of(const Mover *m, cJSON *o, const char *key)
{
    if (!m->reading)
        return cJSON_AddArrayToObject(o, key);
    cJSON *const list = cJSON_GetObjectItemCaseSensitive(o, key);
    return cJSON_IsArray(list) ? list : NULL;
}

/* Frame, grid, inputs and tiles of a scene that could be planned. */
static SdmStatus move_planned(const Mover *m, cJSON *o, SdmPlanScene *s)
{
    int64_t files = s->file_count;
    PASS(move_text(m, o, "kind", &s->kind));
    PASS(move_text(m, o, "time_utc", &s->time_utc));
    PASS(move_text(m, o, "cost", &s->cost));
    cJSON *const frame = move_object(m, o, "frame");
    move_whole(m, frame, "cols", &s->frame_cols, MOST_WHOLE);
    move_whole(m, frame, "rows", &s->frame_rows, MOST_WHOLE);
    move_real(m, frame, "spacing_m", &s->frame_spacing_m);
    cJSON *const grid = move_object(m, o, "grid");
    move_real(m, grid, "x0", &s->x0);
    move_real(m, grid, "y0", &s->y0);
    move_real(m, grid, "spacing", &s->spacing);
    move_whole(m, grid, "cols", &s->cols, MOST_WHOLE);
    move_whole(m, grid, "rows", &s->rows, MOST_WHOLE);
    cJSON *const inputs = array_of(m, o, "inputs");
    if (m->reading && (!inputs || !s->left.path || !s->id || !s->kind || !s->time_utc ||
                       !(fabs(s->x0) <= FARTHEST) || !(fabs(s->y0) <= FARTHEST) || !(s->spacing > 0.0)))
        PASS(incomplete(m));
    const SdmStatus st = move_list(m, inputs, &s->file, &files, sizeof *s->file, move_file);
    s->file_count = (int)files;
    PASS(st);
    if (m->reading)
        s->tiled = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "tiled"));
    else
        cJSON_AddBoolToObject(o, "tiled", s->tiled);
    if (s->tiled) {
        cJSON *const prepare = move_object(m, o, "preparation");
        move_whole(m, prepare, "memory_bytes", &s->prepare_bytes, MOST_WHOLE);
        move_real(m, prepare, "cpu_seconds", &s->prepare_s);
    }
    cJSON *const tiles = array_of(m, o, "tiles");
    if (m->reading && !tiles)
        PASS(incomplete(m));
    return move_list(m, tiles, &s->tile, &s->tile_count, sizeof *s->tile, move_tile);
}

static SdmStatus move_scene(const Mover *m, cJSON *o, SdmPlanScene *s)
{
    PASS(move_place(m, move_object(m, o, "left"), &s->left));
    if (m->reading || s->right.path)
        PASS(move_place(m, move_object(m, o, "right"), &s->right));
    PASS(move_text(m, o, "id", &s->id));
    PASS(move_text(m, o, "error", &s->error));
    if (!s->error)
        PASS(move_planned(m, o, s));
    move_whole(m, o, "first_unit", &s->first_unit, MOST_UNITS);
    move_whole(m, o, "unit_count", &s->unit_count, MOST_UNITS);
    PASS(move_text(m, o, "name", &s->name));
    if (!m->reading)
        cJSON_AddStringToObject(o, "key", s->key);
    return SDM_OK;
}

/* ---- read ---- */

static SdmStatus read_scene(const Mover *m, cJSON *item, SdmPlanScene *s)
{
    PASS(move_scene(m, item, s));
    if (!s->name || !*s->name || strchr(s->name, '/'))
        PASS(incomplete(m));
    const int64_t expected = s->error ? 0 : s->tile_count + s->tiled;
    if (s->first_unit != m->plan->units || s->unit_count != expected ||
        (!s->error && !s->tiled && s->tile_count != 1))
        PASS(damaged(m, "its units are not numbered through"));
    m->plan->units += s->unit_count;
    return SDM_OK;
}

static SdmStatus read_option(const Mover *m, const SdmOptionSpec *o, const cJSON *value)
{
    const cJSON *item;
    const char *text;
    SdmOptions *const to = &m->plan->options;
    if (o->type == SDM_OPT_KEY_VALUES) {
        cJSON_ArrayForEach(item, value)
        {
            PASS(sdm_plan_keep(m->ctx, m->plan, cJSON_IsString(item) ? item->valuestring : "", &text));
            PASS(sdm_option_set(m->ctx, o, to, text));
        }
        return SDM_OK;
    }
    if (!cJSON_IsString(value))
        return damaged(m, "an option of it is no text");
    PASS(sdm_plan_keep(m->ctx, m->plan, value->valuestring, &text));
    return sdm_option_set(m->ctx, o, to, text);
}

static SdmStatus read_options(const Mover *m, const cJSON *from)
{
    int input = 0;
    if (!cJSON_IsObject(from))
        return damaged(m, "it has no options");
    for (const SdmOptionSpec *o = sdm_option_table; o->name; o++) {
        cJSON *const value = cJSON_GetObjectItemCaseSensitive(from, o->name + strlen("--"));
        if (!sdm_plan_has_option(o))
            continue;
        SdmPlanPlace *const place = o->commands & SDM_NAMES_INPUT ? &m->plan->input[input++] : NULL;
        if (!value)
            continue;
        if (!place) {
            PASS(read_option(m, o, value));
            continue;
        }
        PASS(move_place(m, value, place));
        if (!place->path)
            PASS(damaged(m, "an option of it names no file"));
        PASS(sdm_option_set(m->ctx, o, &m->plan->options, place->path));
    }
    return sdm_options_check(m->ctx, &m->plan->options);
}

static SdmStatus read_tree(Mover *m, const cJSON *root, SdmPlan **out)
{
    cJSON *item, *const scenes = cJSON_GetObjectItemCaseSensitive(root, "scenes");
    const char *const version = text_of(root, "version"), *const program = text_of(root, "program");
    if (!version || !program || strcmp(program, "stereodem") != 0)
        return damaged(m, "it is not what stereodem plan writes");
    if (strcmp(version, SDM_VERSION) != 0 || whole_of(root, "format", 1e6) != FORMAT)
        return sdm_fail(
            m->ctx, SDM_ERR_INPUT,
            "%s was made by stereodem %s, this is %s; use that version, or plan the job again with "
            "--overwrite",
            m->name, version, SDM_VERSION);
    if (!cJSON_IsArray(scenes) || cJSON_GetArraySize(scenes) < 1)
        return damaged(m, "it lists no scenes");
    PASS(sdm_plan_new(m->ctx, cJSON_GetArraySize(scenes), &m->plan));
    PASS(read_options(m, cJSON_GetObjectItemCaseSensitive(root, "options")));
    cJSON_ArrayForEach(item, scenes)
    {
        m->plan->scene[m->scene].number = m->scene;
        PASS(read_scene(m, item, &m->plan->scene[m->scene]));
        m->scene++;
    }
    if (m->plan->units != whole_of(root, "unit_count", MOST_UNITS))
        return damaged(m, "its number of units does not fit");
    PASS(sdm_plan_complete(m->ctx, m->plan));
    *out = m->plan;
    m->plan = NULL;
    return SDM_OK;
}

SdmStatus sdm_plan_parse(SdmContext *ctx, const char *name, const char *text, size_t size, SdmPlan **out)
{
    Mover m = {.ctx = ctx, .reading = true, .name = name};
    *out = NULL;
    cJSON *const root = cJSON_ParseWithLength(text, size);
    const SdmStatus st = read_tree(&m, root, out);
    sdm_plan_close(&m.plan);
    cJSON_Delete(root);
    return st;
}

SdmStatus sdm_plan_read(SdmContext *ctx, const char *folder, SdmPlan **out)
{
    SDM_OWNED char *text = NULL;
    char path[SDM_PATH_SIZE];
    size_t size = 0;
    *out = NULL;
    PASS(sdm_path_join(ctx, folder, "plan.json", path));
    PASS(sdm_file_read(ctx, path, LONGEST, &text, &size));
    return sdm_plan_parse(ctx, path, text, size, out);
}

/* ---- write ---- */

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

static void put_options(const Mover *m, cJSON *to)
{
    int input = 0;
    for (const SdmOptionSpec *o = sdm_option_table; o->name; o++) {
        if (!sdm_plan_has_option(o))
            continue;
        SdmPlanPlace *const place = o->commands & SDM_NAMES_INPUT ? &m->plan->input[input++] : NULL;
        if (place && place->path)
            (void)move_place(m, move_object(m, to, o->name + strlen("--")), place);
        else if (!place)
            put_option(to, o, &m->plan->options);
    }
}

/* The object, freed, as text but for the last `cut` bytes, and `end` behind it. */
static void add_printed(SdmText *t, cJSON *object, size_t cut, const char *end)
{
    char *const printed = cJSON_PrintUnformatted(object);
    cJSON_Delete(object);
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
    SdmPlan shallow = *plan; /* not changed by writing */
    const Mover m = {.ctx = ctx, .plan = &shallow};
    cJSON *const head = cJSON_CreateObject();
    cJSON_AddStringToObject(head, "program", "stereodem");
    cJSON_AddStringToObject(head, "version", SDM_VERSION);
    cJSON_AddNumberToObject(head, "format", FORMAT);
    put_options(&m, cJSON_AddObjectToObject(head, "options"));
    cJSON_AddNumberToObject(head, "scene_count", plan->count);
    cJSON_AddNumberToObject(head, "unit_count", (double)plan->units);
    add_printed(&t, head, strlen("}"), ",\"scenes\":[\n");
    for (int s = 0; s < plan->count && t.st == SDM_OK; s++) {
        cJSON *const scene = cJSON_CreateObject();
        (void)move_scene(&m, scene, &plan->scene[s]); /* fails in reading alone */
        add_printed(&t, scene, 0, s + 1 < plan->count ? ",\n" : "\n");
    }
    sdm_text_add(&t, "]}\n");
    *out = t.st == SDM_OK ? t.data : NULL;
    if (t.st != SDM_OK)
        sdm_text_close(&t);
    return t.st;
}

SdmStatus sdm_plan_write(SdmContext *ctx, const char *folder, const SdmPlan *plan)
{
    SDM_OWNED char *text = NULL;
    char path[SDM_PATH_SIZE];
    PASS(sdm_plan_print(ctx, plan, &text));
    PASS(sdm_path_join(ctx, folder, "plan.json", path));
    return sdm_file_write(ctx, path, text, strlen(text));
}
