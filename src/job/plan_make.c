/* Scenes and options -> plan.  Opens each scene as far as its cameras and reads no pixel. */
// SPDX-License-Identifier: Apache-2.0
#include "job/plan.h"
#include "job/unit_file.h"
#include "scene/scene.h"
#include "core/options.h"

#include <ctype.h>
#include <string.h>
#include <sys/stat.h>

/* ---- the list ---- */

struct Seen { /* of an input */
    uint64_t hash;
    int line;
};

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
static void hint_blanks(SdmContext *ctx, const char *path, const char *folder, int number, const char *line)
{
    char name[SDM_PATH_SIZE], full[SDM_PATH_SIZE];
    struct stat s;
    while (isspace((unsigned char)*line))
        line++;
    size_t n = strcspn(line, "\r\n");
    while (n > 0 && isspace((unsigned char)line[n - 1]))
        n--;
    if (n == 0 || n >= sizeof name)
        return;
    memcpy(name, line, n);
    name[n] = '\0';
    if (sdm_path_join(ctx, folder, name, full) == SDM_OK && stat(full, &s) == 0)
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

static SdmStatus take_line(SdmContext *ctx, const char *path, const char *folder, int number, char *line,
                           SdmPlanInput *out, int *count)
{
    SdmStatus st = SDM_OK;
    char word[3][SDM_PATH_SIZE];
    int n = 0, got = 1;
    char *const whole = line;
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
        hint_blanks(ctx, path, folder, number, whole);
    out[*count] = (SdmPlanInput){.left = ""}; /* what was dropped may lie there */
    TRY(sdm_path_join(ctx, folder, word[0], out[*count].left));
    if (n == 2)
        TRY(sdm_path_join(ctx, folder, word[1], out[*count].right));
    tidy(out[*count].left);
    if (n == 2)
        tidy(out[*count].right);
    ++*count;
done:
    return st;
}

/* A scene that the list has already is taken once.  number: line of the last input. */
static void drop_repeated(SdmContext *ctx, const char *path, int number, const SdmPlanInput *in, int *count,
                          struct Seen *seen)
{
    const int last = *count - 1;
    seen[last] = (struct Seen){.hash = sdm_hash(sdm_hash(1, in[last].left, strlen(in[last].left)),
                                                in[last].right, strlen(in[last].right)),
                               .line = number};
    for (int i = 0; i < last; i++)
        if (seen[i].hash == seen[last].hash && strcmp(in[i].left, in[last].left) == 0 &&
            strcmp(in[i].right, in[last].right) == 0) {
            sdm_log(ctx, SDM_LOG_WARNING, 1, "%s: line %d names %s, as line %d does; it is taken once", path,
                    number, in[i].left, seen[i].line);
            --*count;
            return;
        }
}

SdmStatus sdm_plan_list(SdmContext *ctx, const char *path, SdmPlanInput **out, int *count)
{
    SdmStatus st = SDM_OK;
    char *text = NULL, folder[SDM_PATH_SIZE];
    struct Seen *seen = NULL;
    size_t size = 0, lines = 1;
    *out = NULL;
    *count = 0;
    TRY(sdm_format(ctx, folder, sizeof folder, "%s", path));
    char *const slash = strrchr(folder, '/');
    folder[slash ? slash - folder + (slash == folder) : 0] = '\0';
    TRY(sdm_file_read(ctx, path, 1 << 28, &text, &size));
    if (memchr(text, '\0', size)) {
        st = sdm_fail(ctx, SDM_ERR_USAGE,
                      "%s is no text in UTF-8: it holds a zero byte; expected a scene, or a left and a right "
                      "image, a line",
                      path);
        goto done;
    }
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    TRY(sdm_alloc(ctx, out, lines, sizeof **out, "the list of scenes"));
    TRY(sdm_alloc(ctx, &seen, lines, sizeof *seen, "the list of scenes"));
    int number = 1;
    const size_t mark = strncmp(text, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0; /* some editors begin UTF-8 with it */
    for (char *line = text + mark, *next; line; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        const int before = *count;
        TRY(take_line(ctx, path, folder, number, line, *out, count));
        if (*count > before)
            drop_repeated(ctx, path, number, *out, count, seen);
    }
    if (*count == 0)
        st = sdm_fail(ctx, SDM_ERR_USAGE, "%s: no scenes in it; give one scene or pair a line", path);
done:
    sdm_free(&seen);
    sdm_free(&text);
    return st;
}

/* ---- the plan ---- */

/* Options as text; device and cost as they will be on every machine. */
static SdmStatus add_options(SdmContext *ctx, const char *folder, cJSON *root)
{
    const SdmOptions *const o = sdm_options(ctx);
    cJSON *const to = cJSON_AddObjectToObject(root, "options");
    const struct {
        const char *name, *path;
    } files[] = {{"dem", o->dem}, {"mask-left", o->mask_left}, {"mask-right", o->mask_right}};
    char value[4096];
    for (const SdmOptionSpec *s = sdm_option_table; s->name; s++) {
        if (!(s->commands & SDM_CMD_PLAN) || (s->commands & SDM_CMD_TILE) || s->type == SDM_OPT_BOOL)
            continue; /* a task decides itself on those that it has, too */
        sdm_option_print(s, o, value, sizeof value);
        if (s->type == SDM_OPT_KEY_VALUES) {
            cJSON *const list = cJSON_AddArrayToObject(to, s->name + 2);
            for (const char *const *p = (const char *const *)(const void *)((const char *)o + s->offset); *p;
                 p++)
                cJSON_AddItemToArray(list, cJSON_CreateString(*p));
        } else if (s->offset == offsetof(SdmOptions, device) && strcmp(o->device, "auto") == 0) {
            cJSON_AddStringToObject(to, s->name + 2, "cpu");
        } else if (*value && !(s->type == SDM_OPT_INT && strcmp(value, "0") == 0) &&
                   !(s->offset == offsetof(SdmOptions, tr) && o->tr == 0.0)) {
            cJSON_AddStringToObject(to, s->name + 2, value);
        }
    }
    for (int i = 0; i < 3; i++) { /* by where they lie */
        cJSON_DeleteItemFromObject(to, files[i].name);
        cJSON *const path = files[i].path ? sdm_plan_path(ctx, folder, files[i].path) : NULL;
        if (files[i].path && !path)
            return SDM_ERR_INPUT;
        if (path)
            cJSON_AddItemToObject(to, files[i].name, path);
    }
    return SDM_OK;
}

static SdmStatus add_files(SdmContext *ctx, const char *folder, const SdmScene *scene, cJSON *to)
{
    cJSON *const list = cJSON_AddArrayToObject(to, "inputs");
    const char *const dem = sdm_options(ctx)->dem;
    for (int i = 0; i < scene->file_count + (dem ? 1 : 0); i++) {
        cJSON *const file = sdm_plan_file(ctx, folder, i < scene->file_count ? scene->files[i].path : dem);
        if (!file)
            return SDM_ERR_INPUT;
        cJSON_AddItemToArray(list, file);
    }
    return SDM_OK;
}

static void add_tile(cJSON *to, const SdmTile *t)
{
    const double window[4] = {(double)t->u0, (double)t->v0, (double)t->u1, (double)t->v1};
    cJSON *const tile = cJSON_CreateObject();
    cJSON_AddNumberToObject(tile, "col", (double)t->col0);
    cJSON_AddNumberToObject(tile, "row", (double)t->row0);
    cJSON_AddNumberToObject(tile, "cols", (double)t->w);
    cJSON_AddNumberToObject(tile, "rows", (double)t->h);
    cJSON_AddItemToObject(tile, "frame_window", cJSON_CreateDoubleArray(window, 4));
    cJSON_AddNumberToObject(tile, "memory_bytes", (double)t->cost.bytes);
    cJSON_AddNumberToObject(tile, "cpu_seconds", (double)(int64_t)(t->cost.cpu_s * 100.0) / 100.0);
    cJSON_AddItemToArray(to, tile);
}

/* A small scene is prepared and matched in one task. */
static void add_tiles(SdmContext *ctx, const SdmTiling *t, cJSON *to)
{
    const int64_t budget = sdm_options(ctx)->memory_bytes;
    const double prepare_s = (double)(int64_t)(t->prepare.cpu_s * 100.0) / 100.0;
    SdmTile tile;
    cJSON_AddBoolToObject(to, "tiled", t->tiled);
    if (t->tiled) {
        cJSON *const prepare = cJSON_AddObjectToObject(to, "preparation");
        cJSON_AddNumberToObject(prepare, "memory_bytes", (double)t->prepare.bytes);
        cJSON_AddNumberToObject(prepare, "cpu_seconds", prepare_s);
    }
    cJSON *const tiles = cJSON_AddArrayToObject(to, "tiles");
    for (int64_t i = 0; i < t->across * t->down; i++) {
        sdm_tiling_tile(t, i, &tile);
        if (tile.cost.bytes > budget)
            tile.cost.bytes = budget; /* computed in parts, then */
        add_tile(tiles, &tile);
    }
}

static SdmStatus add_scene(SdmContext *ctx, const char *folder, const SdmPlanInput *in, cJSON *to)
{
    SdmStatus st = SDM_OK;
    SdmScene *scene = NULL;
    SdmTiling t = {.edge = 0};
    TRY(sdm_scene_open_to(ctx, sdm_options(ctx), in->left, *in->right ? in->right : NULL, SDM_DEPTH_CAMERAS, &scene));
    TRY(sdm_tiling_find(ctx, scene, &t));
    cJSON_AddStringToObject(to, "id", scene->id);
    cJSON_AddStringToObject(to, "kind", scene->kind);
    cJSON_AddStringToObject(to, "time_utc", scene->time_utc);
    cJSON_AddStringToObject(to, "cost", sdm_cost_for(sdm_options(ctx)->cost, t.frame.gsd_m));
    cJSON *const frame = cJSON_AddObjectToObject(to, "frame");
    cJSON_AddNumberToObject(frame, "cols", (double)t.frame.width);
    cJSON_AddNumberToObject(frame, "rows", (double)t.frame.height);
    cJSON_AddNumberToObject(frame, "spacing_m", t.frame.gsd_m);
    cJSON *const grid = cJSON_AddObjectToObject(to, "grid");
    cJSON_AddNumberToObject(grid, "x0", t.grid.x0);
    cJSON_AddNumberToObject(grid, "y0", t.grid.y0);
    cJSON_AddNumberToObject(grid, "spacing", t.grid.spacing);
    cJSON_AddNumberToObject(grid, "cols", (double)t.grid.cols);
    cJSON_AddNumberToObject(grid, "rows", (double)t.grid.rows);
    TRY(add_files(ctx, folder, scene, to));
    add_tiles(ctx, &t, to);
done:
    sdm_tiling_free(&t);
    sdm_scene_close(&scene);
    return st;
}

/* A scene that cannot be opened costs itself alone. */
static SdmStatus plan_scene(SdmContext *ctx, const char *folder, const SdmPlanInput *in, cJSON *scenes,
                            int64_t *units, SdmStatus *bad)
{
    cJSON *const item = cJSON_CreateObject(), *const side = sdm_plan_path(ctx, folder, in->left);
    cJSON_AddItemToArray(scenes, item);
    cJSON_AddItemToObject(item, "left", side ? side : cJSON_CreateObject());
    if (*in->right) {
        cJSON *const right = sdm_plan_path(ctx, folder, in->right);
        cJSON_AddItemToObject(item, "right", right ? right : cJSON_CreateObject());
    }
    const SdmStatus st = add_scene(ctx, folder, in, item);
    if (st == SDM_ERR_STOPPED || st == SDM_ERR_MEMORY)
        return st;
    const cJSON *const tiles = cJSON_GetObjectItemCaseSensitive(item, "tiles");
    const bool tiled = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "tiled"));
    const int64_t n = st != SDM_OK ? 0 : tiled ? cJSON_GetArraySize(tiles) + 1 : 1;
    if (st != SDM_OK) {
        const char *const slash = strrchr(in->left, '/');
        cJSON_DeleteItemFromObject(item, "id");
        cJSON_AddStringToObject(item, "id", slash && slash[1] ? slash + 1 : in->left);
        cJSON_AddStringToObject(item, "error", sdm_error(ctx));
        *bad = st;
    }
    cJSON_AddNumberToObject(item, "first_unit", (double)*units);
    cJSON_AddNumberToObject(item, "unit_count", (double)n);
    *units += n;
    return SDM_OK;
}

SdmStatus sdm_plan_make(SdmContext *ctx, const char *folder, const SdmPlanInput *input, int count,
                        SdmPlan **out)
{
    SdmStatus st = SDM_OK;
    const SdmOptions before = *sdm_options(ctx);
    SdmOptions single = before; /* pieces of work are too small to share */
    single.threads = 1;
    SdmPlan *p = NULL;
    int64_t units = 0;
    SdmStatus bad = SDM_OK;
    char what[64];
    *out = NULL;
    TRY(sdm_set_options(ctx, &single));
    TRY(sdm_alloc(ctx, &p, 1, sizeof *p, "the plan"));
    p->root = cJSON_CreateObject();
    cJSON_AddStringToObject(p->root, "program", "stereodem");
    cJSON_AddStringToObject(p->root, "version", SDM_VERSION);
    cJSON_AddNumberToObject(p->root, "format", 1);
    TRY(add_options(ctx, folder, p->root));
    cJSON *const scenes = cJSON_CreateArray();
    for (int i = 0; i < count && st == SDM_OK; i++) {
        st = sdm_check_stop(ctx);
        snprintf(what, sizeof what, "scene %d of %d", i + 1, count);
        if (count > 1)
            sdm_progress(ctx, 1, (double)i / count, what);
        if (st == SDM_OK)
            st = plan_scene(ctx, folder, &input[i], scenes, &units, &bad);
    }
    if (st == SDM_OK)
        st = sdm_plan_name_scenes(ctx, scenes, count);
    cJSON_AddNumberToObject(p->root, "scene_count", count);
    cJSON_AddNumberToObject(p->root, "unit_count", (double)units);
    cJSON_AddItemToObject(p->root, "scenes", scenes);
    TRY(st);
    if (units == 0) { /* the sentence is that of the only scene, or of the last */
        st = bad;
        goto done;
    }
    TRY(sdm_plan_index(ctx, "the plan", p));
    *out = p;
    p = NULL;
done:
    if (sdm_options(ctx)->threads != before.threads)
        (void)sdm_set_options(ctx, &before);
    sdm_plan_close(&p);
    return st;
}
