/* Scenes, given or listed, and options -> plan; what a plan says of its units and files. */
// SPDX-License-Identifier: Apache-2.0
#include "job/plan.h"
#include "core/list_file.h"
#include "core/system.h"
#include "scene/scene.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* ---- a plan ---- */

enum { TEXT_BYTES = 1 << 14 };

/* Strings of a plan, in blocks. */
struct SdmPlanText {
    struct SdmPlanText *next;
    size_t used, size;
    char bytes[];
};

SdmStatus sdm_plan_new(SdmContext *ctx, int count, SdmPlan **out)
{
    SDM_CLOSED_BY(sdm_plan_close) SdmPlan *p = NULL;
    *out = NULL;
    PASS(sdm_alloc(ctx, &p, 1, sizeof *p, "the plan"));
    PASS(sdm_alloc(ctx, &p->scene, (size_t)count, sizeof *p->scene, "the plan"));
    p->count = count;
    sdm_options_default(&p->options);
    *out = p;
    p = NULL;
    return SDM_OK;
}

void sdm_plan_close(SdmPlan **out)
{
    SdmPlan *const p = out ? *out : NULL;
    if (!p)
        return;
    for (int s = 0; s < p->count; s++)
        SDM_FREE(&p->scene[s].file, &p->scene[s].tile);
    sdm_free(&p->scene);
    while (p->text) {
        struct SdmPlanText *const next = p->text->next;
        sdm_free(&p->text);
        p->text = next;
    }
    sdm_free(out);
}

SdmStatus sdm_plan_keep(SdmContext *ctx, SdmPlan *plan, const char *text, const char **out)
{
    *out = NULL;
    if (!text)
        return SDM_OK;
    const size_t n = strlen(text) + 1;
    if (!plan->text || plan->text->size - plan->text->used < n) {
        struct SdmPlanText *block;
        const size_t size = n > TEXT_BYTES ? n : TEXT_BYTES;
        PASS(sdm_alloc(ctx, &block, sizeof *block + size, 1, "the plan"));
        block->next = plan->text;
        block->size = size;
        plan->text = block;
    }
    char *const to = plan->text->bytes + plan->text->used;
    memcpy(to, text, n);
    plan->text->used += n;
    *out = to;
    return SDM_OK;
}

/* ---- options ---- */

bool sdm_plan_has_option(const SdmOptionSpec *o)
{
    return (o->commands & SDM_CMD_PLAN) && !(o->commands & SDM_CMD_TILE) && o->type != SDM_OPT_BOOL;
}

/* path -> where it lies, seen from the job folder. */
static SdmStatus place_of(SdmContext *ctx, SdmPlan *plan, const char *folder, const char *path,
                          SdmPlanPlace *out)
{
    char rel[SDM_PATH_SIZE], absolute[SDM_PATH_SIZE];
    PASS(sdm_path_split(ctx, folder, path, rel, absolute));
    PASS(sdm_plan_keep(ctx, plan, rel, &out->path));
    PASS(sdm_plan_keep(ctx, plan, *absolute ? absolute : NULL, &out->absolute));
    out->full = sdm_system_is_absolute(path) && *absolute;
    return SDM_OK;
}

static SdmStatus keep_option(SdmContext *ctx, SdmPlan *plan, const SdmOptionSpec *o)
{
    const char **text = (const char **)(void *)((char *)&plan->options + o->offset);
    if (o->type == SDM_OPT_TEXT || o->type == SDM_OPT_CHOICE)
        return sdm_plan_keep(ctx, plan, *text, text);
    for (; o->type == SDM_OPT_KEY_VALUES && *text; text++)
        PASS(sdm_plan_keep(ctx, plan, *text, text));
    return SDM_OK;
}

static SdmStatus take_options(SdmContext *ctx, SdmPlan *plan, const char *folder, const SdmOptions *from)
{
    int input = 0;
    for (const SdmOptionSpec *o = sdm_option_table; o->name; o++) {
        if (!sdm_plan_has_option(o))
            continue;
        sdm_option_copy(o, from, &plan->options);
        PASS(keep_option(ctx, plan, o));
        if (!(o->commands & SDM_NAMES_INPUT))
            continue;
        assert(input < SDM_PLAN_INPUTS);
        const char *const path = *(const char *const *)(const void *)((const char *)from + o->offset);
        if (path)
            PASS(place_of(ctx, plan, folder, path, &plan->input[input]));
        input++;
    }
    if (strcmp(plan->options.device, "auto") == 0)
        plan->options.device = "cpu"; /* as it will be on every machine */
    return SDM_OK;
}

/* ---- fingerprints ---- */

static uint64_t hash_option(uint64_t h, const SdmOptionSpec *o, const SdmOptions *options)
{
    char value[64];
    const char *const *text = (const char *const *)(const void *)((const char *)options + o->offset);
    h = sdm_hash_text(h, o->name);
    if (o->commands & SDM_NAMES_INPUT) /* what the file holds is told by the scene's inputs */
        return sdm_hash_text(h, *text ? "given" : "");
    if (o->type == SDM_OPT_TEXT || o->type == SDM_OPT_CHOICE)
        return sdm_hash_text(h, *text);
    if (o->type == SDM_OPT_KEY_VALUES) {
        for (; *text; text++)
            h = sdm_hash_text(h, *text);
        return h;
    }
    sdm_option_print(o, options, value, sizeof value);
    return sdm_hash_text(h, value);
}

/* Continue h by every option that has the flag. */
static uint64_t hash_options(uint64_t h, const SdmOptions *options, unsigned flag)
{
    for (const SdmOptionSpec *o = sdm_option_table; o->name; o++)
        if (o->commands & flag)
            h = hash_option(h, o, options);
    return h;
}

/* Name, size and time of each file.  Not: where it lies, unless that is all that is known. */
static uint64_t hash_files(uint64_t h, const SdmPlanScene *s)
{
    char text[64];
    for (int i = 0; i < s->file_count; i++) {
        const SdmPlanFile *const f = &s->file[i];
        const char *const slash = f->at.path ? sdm_system_slash(f->at.path) : NULL;
        snprintf(text, sizeof text, "%" PRId64 " %" PRId64, f->size_bytes, f->mtime_us);
        h = sdm_hash_text(sdm_hash_text(h, slash && f->has_stamp ? slash + 1 : f->at.path),
                          f->has_stamp ? text : "");
    }
    return h;
}

/* Copies of one scene get keys of their own, by their order. */
static SdmStatus part_copies(SdmContext *ctx, SdmPlan *plan)
{
    SDM_CLOSED_BY(sdm_table_close) SdmTable before = {0};
    char number[16];
    PASS(sdm_table_open(ctx, (size_t)plan->count, &before));
    for (int n = 0; n < plan->count; n++) {
        char *const key = plan->scene[n].key;
        int *const copies = sdm_table_at(&before, sdm_hash_text(0, key));
        snprintf(number, sizeof number, "%d", *copies);
        if ((*copies)++)
            snprintf(key, sizeof plan->scene->key, "%016" PRIx64,
                     sdm_hash_text(sdm_hash_text(3, key), number));
    }
    return SDM_OK;
}

SdmStatus sdm_plan_complete(SdmContext *ctx, SdmPlan *plan)
{
    for (int n = 0; n < plan->count; n++) {
        SdmPlanScene *const s = &plan->scene[n];
        const uint64_t h = hash_files(sdm_hash_text(1, s->right.path ? "pair" : "scene"), s);
        const uint64_t unplanned = sdm_hash_text(sdm_hash_text(2, s->left.path ? s->left.path : ""),
                                                 s->right.path ? s->right.path : "");
        snprintf(s->key, sizeof s->key, "%016" PRIx64, s->error ? unplanned : h);
        s->fingerprint = hash_options(sdm_hash(h, plan->options.move_deg, sizeof plan->options.move_deg),
                                      &plan->options, SDM_CHANGES_BLOCKS);
        s->product_fingerprint = hash_options(s->fingerprint, &plan->options, SDM_CHANGES_PRODUCTS);
        for (int64_t i = 0; i < s->tile_count; i++)
            for (int k = 0; k < 2; k++) {
                const int64_t end = s->tile[i].cells[k] + s->tile[i].cells[2 + k];
                s->tiles_end[k] = end > s->tiles_end[k] ? end : s->tiles_end[k];
            }
    }
    return part_copies(ctx, plan);
}

uint64_t sdm_plan_unit_fingerprint(const SdmPlanScene *s, int64_t unit)
{
    char text[256];
    const SdmPlanTile *const t = sdm_plan_tile_of(s, unit);
    if (!t)
        return s->fingerprint;
    snprintf(text, sizeof text, "%.17g %.17g %.17g %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64, s->x0,
             s->y0, s->spacing, t->cells[0], t->cells[1], t->cells[2], t->cells[3]);
    return sdm_hash_text(s->fingerprint, text);
}

/* ---- units ---- */

int sdm_plan_scene_of(const SdmPlan *plan, int64_t unit)
{
    int lo = 0, hi = plan->count; /* first unit of lo <= unit < first unit of hi */
    while (hi - lo > 1) {
        const int mid = lo + (hi - lo) / 2;
        if (plan->scene[mid].first_unit <= unit)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

const SdmPlanTile *sdm_plan_tile_of(const SdmPlanScene *s, int64_t unit)
{
    const int64_t i = unit - s->first_unit - (s->tiled ? 1 : 0);
    assert(i < s->tile_count);
    return i < 0 ? NULL : &s->tile[i];
}

double sdm_plan_unit_s(const SdmPlanScene *s, int64_t unit)
{
    const SdmPlanTile *const t = sdm_plan_tile_of(s, unit);
    return fmax(t ? t->cpu_s : s->prepare_s, 0.0);
}

double sdm_plan_prepared_share(const SdmPlanScene *s, int64_t tiles)
{
    static const double ALONE = 1.5; /* threads share the preparation less well, and read the images in it */
    double match_s = s->tiled ? 0.0 : -s->prepare_s; /* which the time of an untiled scene holds */
    for (int64_t i = 0; i < tiles && i < s->tile_count; i++)
        match_s += s->tile[i].cpu_s;
    const double prepare_s = ALONE * fmax(s->prepare_s, 0.01);
    return prepare_s / (prepare_s + fmax(match_s, 0.01));
}

/* ---- input files ---- */

bool sdm_plan_stamp(const char *path, int64_t *size_bytes, int64_t *mtime_us)
{
    struct stat s;
    const bool there = stat(path, &s) == 0;
    const struct timespec t = there ? sdm_system_changed(&s) : (struct timespec){0};
    *size_bytes = there ? (int64_t)s.st_size : 0;
    *mtime_us = (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
    return there;
}

void sdm_plan_print_time(int64_t us, char out[40])
{
    const time_t t = (time_t)(us / 1000000);
    struct tm tm;
    char text[32] = "?";
    if (gmtime_r(&t, &tm))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm);
    if (us % 1000000)
        snprintf(out, 40, "%s.%06dZ", text, (int)(us % 1000000));
    else
        snprintf(out, 40, "%sZ", text);
}

static SdmStatus check_file(SdmContext *ctx, const char *folder, const SdmPlanFile *f, bool needed)
{
    char path[SDM_PATH_SIZE], then[40], now[40];
    int64_t bytes, is;
    PASS(sdm_path_find(ctx, folder, f->at.path, f->at.absolute, path));
    const bool there = sdm_plan_stamp(path, &bytes, &is);
    if (!there && !needed)
        return SDM_OK;
    if (!there && errno != ENOENT && errno != ENOTDIR)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s cannot be read here: %s; the job was planned with it: let this machine and user "
                        "read it, then give the same command again",
                        path, strerror(errno));
    if (!there)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: no such file here, but the job was planned with it; put it back, or mount its "
                        "file system, or plan the job again with --overwrite",
                        path);
    const int64_t was = f->mtime_us;
    /* copies keep the time to the second at least; what they drop is 0 */
    if (f->size_bytes == bytes &&
        (was == is || (was / 1000000 == is / 1000000 && (was % 1000000 == 0 || is % 1000000 == 0))))
        return SDM_OK;
    sdm_plan_print_time(was, then);
    sdm_plan_print_time(is, now);
    return sdm_fail(
        ctx, SDM_ERR_INPUT,
        "%s has changed since the job was planned: then %lld bytes of %s, now %lld bytes of %s; put "
        "the old file back, or plan the job again with --overwrite",
        path, (long long)f->size_bytes, then, (long long)bytes, now);
}

SdmStatus sdm_plan_check_files(SdmContext *ctx, const char *folder, const SdmPlanScene *scene, bool needed)
{
    for (int i = 0; i < scene->file_count; i++)
        if (scene->file[i].has_stamp)
            PASS(check_file(ctx, folder, &scene->file[i], needed));
    return SDM_OK;
}

static SdmStatus add_file(SdmContext *ctx, SdmPlan *plan, const char *folder, const char *path,
                          SdmPlanScene *to)
{
    SdmPlanFile *const f = &to->file[to->file_count++];
    f->has_stamp = sdm_plan_stamp(path, &f->size_bytes, &f->mtime_us);
    return place_of(ctx, plan, folder, path, &f->at);
}

/* The scene's own files, the prior DEM, the reference and its masks. */
static SdmStatus add_files(SdmContext *ctx, SdmPlan *plan, const char *folder, const SdmOptions *options,
                           const SdmScene *scene, SdmPlanScene *to)
{
    enum { MORE = 5 };
    const char *const more[MORE] = {options->dem, options->reference, options->reference_mask,
                                    options->exclude, options->area};
    PASS(sdm_alloc(ctx, &to->file, (size_t)scene->file_count + MORE, sizeof *to->file, "list of inputs"));
    for (int i = 0; i < scene->file_count; i++)
        PASS(add_file(ctx, plan, folder, scene->files[i].path, to));
    for (int i = 0; i < MORE; i++)
        if (more[i])
            PASS(add_file(ctx, plan, folder, more[i], to));
    return SDM_OK;
}

/* ---- a list of scenes -> what to plan: a scene, or a left and a right image, a line ---- */

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
static void hint_blanks(SdmContext *ctx, const char *path, const char *folder, int number, const char *entry)
{
    char full[SDM_PATH_SIZE];
    struct stat s;
    if (sdm_path_join(ctx, folder, entry, full) == SDM_OK && stat(full, &s) == 0)
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

/* The names of a line: none, of a comment and of hidden files; one, or two. */
static SdmStatus take_line(SdmContext *ctx, const char *path, const SdmListFile *list, char *line,
                           char name[2][SDM_PATH_SIZE], int *names)
{
    char word[3][SDM_PATH_SIZE];
    int n = 0, got = 1;
    const char *const entry = line;
    *names = 0;
    while (n < 3 && (got = take_word(&line, word[n])) > 0)
        n++;
    if (got < 0 || n > 2)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "%s: line %d holds %s, expected a scene, or a left and a right image; put names "
                        "with blanks into quotes",
                        path, list->line,
                        got == WORD_TOO_LONG      ? "a name that is too long"
                        : got == WORD_WITHOUT_END ? "a quote that has no end"
                                                  : "more than two names");
    if (n > 1)
        hint_blanks(ctx, path, list->folder, list->line, entry);
    for (int k = 0; k < n; k++) {
        const char *const base = sdm_path_base(word[k]); /* "._x.hdf"; not ".." */
        if (strstr(word[k], "__MACOSX/") || (base[strspn(base, ".")] && sdm_path_is_hidden(base))) {
            sdm_log(ctx, SDM_LOG_WARNING, 1,
                    "%s: line %d names %s, a hidden file (a rest of a transfer, or macOS's); it is left out",
                    path, list->line, word[k]);
            return SDM_OK;
        }
    }
    for (int k = 0; k < n; k++) {
        PASS(sdm_path_join(ctx, list->folder, word[k], name[k]));
        tidy(name[k]);
    }
    *names = n;
    return SDM_OK;
}

SdmStatus sdm_plan_list(SdmContext *ctx, const char *path, SdmPlanInput **out, int *count)
{
    SDM_CLOSED_BY(sdm_list_file_close) SdmListFile list = {0};
    SDM_CLOSED_BY(sdm_table_close) SdmTable seen = {0}; /* line of each scene */
    *out = NULL;
    *count = 0;
    PASS(sdm_list_file_open(ctx, "--list", path, "a scene, or a left and a right image, a line", &list));
    const size_t most = (size_t)list.lines;
    PASS(sdm_alloc(ctx, out, most, sizeof **out + 2 * SDM_PATH_SIZE, "the list of scenes"));
    char(*const name)[2][SDM_PATH_SIZE] = (void *)(*out + most); /* behind the pointers to them */
    PASS(sdm_table_open(ctx, most, &seen));
    for (char *line = sdm_list_file_next(&list); line; line = sdm_list_file_next(&list)) {
        char *const left = name[*count][0], *const right = name[*count][1];
        int names;
        if (list.has_control)
            return sdm_fail(
                ctx, SDM_ERR_USAGE,
                "%s is no text in UTF-8: line %d holds a zero byte or another control character; expected "
                "a scene, or a left and a right image, a line",
                path, list.line);
        PASS(take_line(ctx, path, &list, line, name[*count], &names));
        if (names == 0)
            continue;
        int *const before =
            sdm_table_at(&seen, sdm_hash_text(sdm_hash_text(1, left), names == 2 ? right : ""));
        if (*before) {
            sdm_log(ctx, SDM_LOG_WARNING, 1, "%s: line %d names %s, as line %d does; it is taken once", path,
                    list.line, left, *before);
            continue;
        }
        *before = list.line;
        (*out)[(*count)++] = (SdmPlanInput){left, names == 2 ? right : NULL};
    }
    return *count ? SDM_OK
                  : sdm_fail(ctx, SDM_ERR_USAGE, "%s: no scenes in it; give one scene or pair a line", path);
}

/* ---- planning ---- */

/* Estimates are kept to a hundredth of a second. */
static double hundredths(double s)
{
    return (double)(int64_t)(s * 100.0) / 100.0;
}

static SdmStatus add_tiles(SdmContext *ctx, const SdmTiling *t, int64_t budget, SdmPlanScene *to)
{
    const int64_t count = t->across * t->down;
    PASS(sdm_alloc(ctx, &to->tile, (size_t)count, sizeof *to->tile, "the tiles"));
    to->tile_count = count;
    to->tiled = t->tiled;
    to->prepare_bytes = t->prepare.bytes;
    to->prepare_s = hundredths(t->prepare.cpu_s);
    for (int64_t i = 0; i < count; i++) {
        SdmTile p;
        sdm_tiling_tile(t, i, &p);
        to->tile[i] = (SdmPlanTile){.cells = {p.col0, p.row0, p.w, p.h},
                                    .window = {p.u0, p.v0, p.u1, p.v1},
                                    /* what needs more is computed in parts */
                                    .memory_bytes = p.cost.bytes > budget ? budget : p.cost.bytes,
                                    .cpu_s = hundredths(p.cost.cpu_s)};
    }
    return SDM_OK;
}

static SdmStatus plan_opened(SdmContext *ctx, SdmPlan *plan, const SdmPlanSource *from, const SdmScene *scene,
                             SdmPlanScene *to)
{
    SDM_CLOSED_BY(sdm_tiling_free) SdmTiling t = {.edge = 0};
    PASS(sdm_tiling_find(ctx, scene, &t));
    PASS(sdm_plan_keep(ctx, plan, scene->id, &to->id));
    PASS(sdm_plan_keep(ctx, plan, scene->kind, &to->kind));
    PASS(sdm_plan_keep(ctx, plan, scene->time_utc, &to->time_utc));
    PASS(sdm_plan_keep(ctx, plan, sdm_cost_for(from->options->cost, t.frame.gsd_m), &to->cost));
    to->frame_cols = t.frame.width;
    to->frame_rows = t.frame.height;
    to->frame_spacing_m = t.frame.gsd_m;
    to->x0 = t.grid.x0;
    to->y0 = t.grid.y0;
    to->spacing = t.grid.spacing;
    to->cols = t.grid.cols;
    to->rows = t.grid.rows;
    PASS(add_files(ctx, plan, from->folder, from->options, scene, to));
    return add_tiles(ctx, &t, from->options->memory_bytes, to);
}

/* A scene that cannot be planned is left out: *bad gets the reason.  An error that ends the whole plan is
 * returned. */
static SdmStatus plan_scene(SdmContext *ctx, SdmPlan *plan, const SdmPlanSource *from, const SdmPlanInput *in,
                            SdmPlanScene *to, SdmStatus *bad)
{
    SDM_CLOSED_BY(sdm_scene_close) SdmScene *scene = NULL;
    const char *const slash = sdm_system_slash(in->left);
    if (place_of(ctx, plan, from->folder, in->left, &to->left) == SDM_OK && in->right)
        (void)place_of(ctx, plan, from->folder, in->right, &to->right); /* opening them says what is wrong */
    SdmStatus one =
        from->scene ? SDM_OK
                    : sdm_scene_open_to(ctx, from->options, in->left, in->right, SDM_DEPTH_CAMERAS, &scene);
    if (one == SDM_OK)
        one = plan_opened(ctx, plan, from, from->scene ? from->scene : scene, to);
    if (one == SDM_ERR_STOPPED || one == SDM_ERR_MEMORY)
        return one;
    to->first_unit = plan->units;
    to->unit_count = one == SDM_OK ? to->tile_count + to->tiled : 0;
    plan->units += to->unit_count;
    if (one == SDM_OK)
        return SDM_OK;
    *bad = one;
    PASS(sdm_plan_keep(ctx, plan, slash && slash[1] ? slash + 1 : in->left, &to->id));
    return sdm_plan_keep(ctx, plan, sdm_error(ctx), &to->error);
}

/* ---- names of products ---- */

/* A file's name has up to 255 letters, and companions are written aside under longer names. */
enum { NAME = 320, LONGEST = 200 };

/* The number that goes with NAME and an ending; 0: no scene has taken it. */
static int *number_of(SdmTable *names, const char *name, const char *end)
{
    return sdm_table_at(names, sdm_hash_text(sdm_hash_text(1, name), end));
}

/* Reserve a name with those of the rasters beside NAME.tif; false: one of them is taken. */
static bool take(SdmTable *names, const char *name)
{
    static const char *const end[] = {"", "_qa", "_ortho"};
    char whole[3][NAME + 8];
    for (int i = 0; i < 3; i++) {
        snprintf(whole[i], sizeof whole[i], "%s%s", name, end[i]);
        if (*number_of(names, whole[i], ""))
            return false;
    }
    for (int i = 0; i < 3; i++)
        *number_of(names, whole[i], "") = 1;
    return true;
}

/* Name the scene by its id, with a number behind it where that name, or one of a raster beside its DEM, is
 * taken. */
static SdmStatus name_scene(SdmContext *ctx, SdmPlan *plan, SdmPlanScene *s, SdmTable *names)
{
    char stem[LONGEST + 1], name[NAME];
    if (s->name) /* since a former plan */
        return SDM_OK;
    snprintf(stem, sizeof stem, "%.*s", LONGEST, s->id && *s->id ? s->id : "scene");
    for (char *c = stem; *c; c++)
        *c = *c == '/' ? '_' : *c;
    snprintf(name, sizeof name, "%s", stem);
    int *const last = number_of(names, stem, "number"); /* of the scenes with this id */
    while (!take(names, name)) {
        *last = *last < 2 ? 2 : *last + 1;
        snprintf(name, sizeof name, "%s_%d", stem, *last);
    }
    return sdm_plan_keep(ctx, plan, name, &s->name);
}

/* Scenes of the former plan keep their names: their DEMs are called so. */
static SdmStatus keep_names(SdmContext *ctx, const SdmPlan *former, SdmPlan *plan, SdmTable *names)
{
    /* scene of each key, its number + 1 */
    SDM_CLOSED_BY(sdm_table_close) SdmTable known = {0};
    if (!former)
        return SDM_OK;
    PASS(sdm_table_open(ctx, (size_t)former->count + (size_t)plan->count, &known));
    for (int n = 0; n < former->count; n++)
        *sdm_table_at(&known, sdm_hash_text(0, former->scene[n].key)) = n + 1;
    for (int n = 0; n < plan->count; n++) {
        const int found = *sdm_table_at(&known, sdm_hash_text(0, plan->scene[n].key));
        if (found && take(names, former->scene[found - 1].name))
            PASS(sdm_plan_keep(ctx, plan, former->scene[found - 1].name, &plan->scene[n].name));
    }
    return SDM_OK;
}

/* ---- acquisitions ---- */

/* An ASTER acquisition that was delivered more than once makes a DEM each time: say so in one line. */
static SdmStatus warn_acquisitions(SdmContext *ctx, const SdmPlan *plan)
{
    const SdmPlanScene *copy = NULL, *of = NULL;
    /* scene of each time, its number + 1 */
    SDM_CLOSED_BY(sdm_table_close) SdmTable first = {0};
    int copies = 0;
    PASS(sdm_table_open(ctx, (size_t)plan->count, &first));
    for (int n = 0; n < plan->count; n++) {
        const SdmPlanScene *const s = &plan->scene[n];
        if (!s->kind || strncmp(s->kind, "ASTER", 5) != 0 || !s->time_utc || !*s->time_utc)
            continue;
        int *const at = sdm_table_at(&first, sdm_hash_text(0, s->time_utc));
        const SdmPlanScene *const other = *at ? &plan->scene[*at - 1] : s;
        const double near = 0.05 * fmin((double)s->cols, (double)s->rows) * s->spacing;
        if (!*at || fabs(s->x0 - other->x0) >= near || fabs(s->y0 - other->y0) >= near) {
            *at = n + 1; /* grids of one time and place have one CRS */
        } else if (copies++ == 0) {
            copy = s;
            of = &plan->scene[*at - 1];
        }
    }
    if (copies)
        sdm_log(ctx, SDM_LOG_WARNING, 1,
                "%d scene%s of an acquisition that is planned already (%s and %s are both of %s); each gets "
                "a DEM of its own, of which stack needs one",
                copies, copies == 1 ? " is" : "s are", of->name, copy->name, copy->time_utc);
    return SDM_OK;
}

SdmStatus sdm_plan_make(SdmContext *ctx, const SdmPlanSource *from, SdmPlan **out)
{
    SdmStatus st = SDM_OK, bad = SDM_OK;
    SDM_CLOSED_BY(sdm_plan_close) SdmPlan *p = NULL;
    SDM_CLOSED_BY(sdm_table_close) SdmTable names = {0};
    char what[64];
    const int team = sdm_thread_limit_begin(ctx, 0); /* pieces of work are too small to share */
    *out = NULL;
    TRY(sdm_plan_new(ctx, from->count, &p));
    TRY(take_options(ctx, p, from->folder, from->options));
    for (int i = 0; i < from->count; i++) {
        TRY(sdm_check_stop(ctx));
        snprintf(what, sizeof what, "scene %d of %d", i + 1, from->count);
        if (from->count > 1)
            sdm_progress(ctx, 1, (double)i / from->count, what);
        p->scene[i].number = i;
        TRY(plan_scene(ctx, p, from, &from->input[i], &p->scene[i], &bad));
    }
    st = p->units == 0 ? bad : SDM_OK; /* the sentence is that of the only scene, or of the last */
    TRY(st);
    TRY(sdm_plan_complete(ctx, p));
    TRY(sdm_table_open(ctx, 16 * (size_t)p->count, &names)); /* with those that are tried */
    TRY(keep_names(ctx, from->former, p, &names));
    for (int s = 0; s < p->count; s++)
        TRY(name_scene(ctx, p, &p->scene[s], &names));
    TRY(warn_acquisitions(ctx, p));
    *out = p;
    p = NULL;
done:
    sdm_thread_limit_end(ctx, team);
    return st;
}
