/* Tries in work -> records in the job folder -> lists of tries. */
// SPDX-License-Identifier: Apache-2.0
#include "job/tries.h"
#include "core/file.h"
#include "core/text.h"
#include "job/json_fields.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 28, LINE = 4096 };
static const char ALONE[] = ".try-", GATHERED[] = ".tries", HEX[] = "0123456789abcdef";
static const double MOST_WHOLE = 9007199254740992.0; /* 2^53: JSON's numbers are exact up to here */

static const char *const kinds[SDM_TRY_KINDS] = {"scene", "preparation", "tile", "merge"};
static const char *const states[SDM_TRY_STATES] = {"begun", "done", "failed", "stopped"};

const char *sdm_try_kind_name(int kind)
{
    return kinds[kind];
}

const char *sdm_try_state_name(int state)
{
    return states[state];
}

/* ---- a record as a line of JSON ---- */

typedef struct Number {
    const char *key;
    int64_t *value;
} Number;
enum { NUMBERS = 10 };

static void numbers_of(SdmTry *t, Number out[NUMBERS])
{
    const Number all[NUMBERS] = {{"unit", &t->unit},           {"process", &t->process},
                                 {"threads", &t->threads},     {"started_ms", &t->started_ms},
                                 {"ended_ms", &t->ended_ms},   {"wall_ms", &t->wall_ms},
                                 {"user_ms", &t->user_ms},     {"system_ms", &t->system_ms},
                                 {"waited_ms", &t->waited_ms}, {"peak_bytes", &t->peak_bytes}};
    memcpy(out, all, sizeof all);
}

/* One line; freed with cJSON_free(); NULL: no memory. */
static char *print_record(const SdmTry *record)
{
    SdmTry t = *record;
    Number number[NUMBERS];
    cJSON *const o = cJSON_CreateObject();
    numbers_of(&t, number);
    cJSON_AddStringToObject(o, "try", t.id);
    cJSON_AddStringToObject(o, "scene", t.key);
    cJSON_AddStringToObject(o, "name", t.name);
    cJSON_AddStringToObject(o, "makes", t.fingerprint);
    cJSON_AddStringToObject(o, "kind", kinds[t.kind]);
    cJSON_AddStringToObject(o, "state", states[t.state]);
    cJSON_AddStringToObject(o, "host", t.host);
    for (int i = 0; i < NUMBERS; i++)
        cJSON_AddNumberToObject(o, number[i].key, (double)*number[i].value);
    cJSON *const stages = cJSON_AddArrayToObject(o, "stage_ms");
    for (int i = 0; i < SDM_USAGE_STAGES; i++)
        cJSON_AddItemToArray(stages, cJSON_CreateNumber((double)t.stage_ms[i]));
    char *const text = cJSON_PrintUnformatted(o);
    cJSON_Delete(o);
    return text;
}

static bool read_text(const cJSON *o, const char *key, char *out, size_t size)
{
    const char *const text = sdm_json_text(o, key);
    snprintf(out, size, "%s", text ? text : "");
    return text && strlen(text) < size;
}

static bool read_digits(const cJSON *o, const char *key, char out[17])
{
    return read_text(o, key, out, 17) && strspn(out, HEX) == 16;
}

static bool read_word(const cJSON *o, const char *key, const char *const *words, int count, int *out)
{
    const char *const text = sdm_json_text(o, key);
    for (*out = 0; text && *out < count; ++*out)
        if (strcmp(text, words[*out]) == 0)
            return true;
    *out = 0;
    return false;
}

/* False: it is no record. */
static bool parse_record(const char *line, SdmTry *out)
{
    Number number[NUMBERS];
    *out = (SdmTry){.kind = 0};
    numbers_of(out, number);
    cJSON *const o = cJSON_Parse(line);
    bool good = read_digits(o, "try", out->id) && read_digits(o, "scene", out->key) &&
                read_digits(o, "makes", out->fingerprint) &&
                read_text(o, "name", out->name, sizeof out->name) &&
                read_text(o, "host", out->host, sizeof out->host) &&
                read_word(o, "kind", kinds, SDM_TRY_KINDS, &out->kind) &&
                read_word(o, "state", states, SDM_TRY_STATES, &out->state);
    for (int i = 0; i < NUMBERS; i++) {
        *number[i].value = sdm_json_whole(o, number[i].key, MOST_WHOLE / 1024.0);
        good = good && *number[i].value >= 0;
    }
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(o, "stage_ms");
    good = good && cJSON_GetArraySize(item) == SDM_USAGE_STAGES;
    item = good ? item->child : NULL;
    for (int i = 0; item && i < SDM_USAGE_STAGES; i++, item = item->next) {
        const double v = cJSON_IsNumber(item) ? item->valuedouble : -1.0;
        good = good && v >= 0.0 && v <= MOST_WHOLE / 1024.0;
        out->stage_ms[i] = good ? (int64_t)v : 0;
    }
    cJSON_Delete(o);
    return good;
}

/* ---- a try in work ---- */

static int64_t clock_ms(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t to_ms(double s)
{
    return s > 0.0 ? (int64_t)(s * 1e3 + 0.5) : 0;
}

/* Not down to the disk: a record may be lost with the machine, and another file to wait for would cost every
 * unit. */
static SdmStatus write_record(const SdmJob *job, const SdmTry *t)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE];
    SdmFileWriter w;
    char *const text = print_record(t);
    if (!text)
        return SDM_ERR_MEMORY;
    if (t->kind == SDM_TRY_MERGE)
        TRY(sdm_format(NULL, path, sizeof path, "%s/scene_%s%s%s", job->folder, t->key, ALONE, t->id));
    else
        TRY(sdm_format(NULL, path, sizeof path, "%s/unit_%s_%06lld%s%s", job->folder, t->key,
                       (long long)t->unit, ALONE, t->id));
    TRY(sdm_file_create(NULL, path, &w));
    sdm_file_put(&w, text, strlen(text));
    sdm_file_put(&w, "\n", 1);
    TRY(sdm_file_commit(NULL, &w, false));
done:
    cJSON_free(text);
    return st;
}

void sdm_try_begin(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene, int64_t unit,
                   SdmTryWork *out)
{
    const bool merge = unit < 0;
    *out = (SdmTryWork){.record = {.kind = merge                            ? SDM_TRY_MERGE
                                           : !sdm_plan_tile_of(scene, unit) ? SDM_TRY_PREPARATION
                                           : scene->tiled                   ? SDM_TRY_TILE
                                                                            : SDM_TRY_SCENE,
                                   .unit = merge ? 0 : unit - scene->first_unit,
                                   .process = (int64_t)getpid(),
                                   .threads = sdm_threads(ctx),
                                   .started_ms = clock_ms()}};
    SdmTry *const t = &out->record;
    snprintf(t->id, sizeof t->id, "%016" PRIx64, sdm_file_draw());
    memcpy(t->key, scene->key, sizeof t->key);
    snprintf(t->name, sizeof t->name, "%s", scene->name);
    snprintf(t->fingerprint, sizeof t->fingerprint, "%016" PRIx64,
             merge ? scene->product_fingerprint : sdm_plan_unit_fingerprint(scene, unit));
    if (gethostname(t->host, sizeof t->host - 1) != 0)
        snprintf(t->host, sizeof t->host, "unknown");
    (void)write_record(job, t);
}

void sdm_try_charge(const SdmContext *ctx, SdmUsage *mark, SdmTryWork *work)
{
    sdm_usage_add(ctx, mark, &work->used);
}

void sdm_try_end(SdmContext *ctx, const SdmJob *job, SdmTryWork *work, SdmStatus st)
{
    SdmTry *const t = &work->record;
    if (!*t->id)
        return;
    t->state = st == SDM_OK ? SDM_TRY_DONE : st == SDM_ERR_STOPPED ? SDM_TRY_STOPPED : SDM_TRY_FAILED;
    t->ended_ms = clock_ms();
    t->wall_ms = to_ms(work->used.wall_s);
    t->user_ms = to_ms(work->used.user_s);
    t->system_ms = to_ms(work->used.system_s);
    t->waited_ms = to_ms(work->waited_s);
    t->peak_bytes = sdm_memory_resident_since(ctx);
    for (int i = 0; i < SDM_USAGE_STAGES; i++)
        t->stage_ms[i] = to_ms(work->used.stage_s[i]);
    (void)write_record(job, t);
    *work = (SdmTryWork){.record = {.kind = 0}};
}

/* ---- gather ---- */

/* Does the file hold one record (*alone) or several?  key: set to the scene's. */
static bool is_record(const char *name, char key[17], bool *alone)
{
    const char *const end = sdm_job_ending(name, key);
    *alone = end && strncmp(end, ALONE, sizeof ALONE - 1) == 0;
    if (*alone)
        return strspn(end + sizeof ALONE - 1, HEX) == 16 &&
               !end[sizeof ALONE - 1 + 16]; /* not one that is being written */
    return end && strcmp(end, GATHERED) == 0;
}

/* Add what the file holds; false: it cannot be read. */
static bool add_file(const char *folder, const char *name, SdmText *to)
{
    char path[SDM_PATH_SIZE], *text = NULL;
    size_t size = 0;
    if (sdm_path_join(NULL, folder, name, path) != SDM_OK ||
        sdm_file_read(NULL, path, MOST_BYTES, &text, &size) != SDM_OK)
        return false;
    sdm_text_raw(to, text, size);
    if (size && text[size - 1] != '\n')
        sdm_text_raw(to, "\n", 1);
    sdm_free(&text);
    return to->st == SDM_OK;
}

/* Call `visit` for each file of the folder that holds records of the scene; NULL: of any. */
typedef bool visit_record(const char *name, bool alone, void *user);
static bool visit_records(const char *folder, const char *scene, visit_record *visit, void *user)
{
    char key[17];
    bool alone, good = true;
    DIR *const dir = opendir(folder);
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e && good; e = readdir(dir))
        if (is_record(e->d_name, key, &alone) && (!scene || strcmp(key, scene) == 0))
            good = visit(e->d_name, alone, user);
    if (dir)
        closedir(dir);
    return good;
}

/* Records that are being gathered: their text, and the names of files of one. */
typedef struct Gathering {
    const char *folder;
    SdmText text, names; /* names: one a line */
} Gathering;

static bool gather_file(const char *name, bool alone, void *user)
{
    Gathering *const g = user;
    if (alone)
        sdm_text_add(&g->names, "%s\n", name);
    return g->names.st == SDM_OK && add_file(g->folder, name, &g->text);
}

/* Remove what killed tasks left of records that they were writing. */
static void remove_temporary(const char *folder, const char *scene)
{
    char key[17];
    DIR *const dir = opendir(folder);
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        const char *const end = sdm_job_ending(e->d_name, key);
        const bool ours = end && (strncmp(end, ALONE, sizeof ALONE - 1) == 0 ||
                                  strncmp(end, GATHERED, sizeof GATHERED - 1) == 0);
        if (ours && strcmp(key, scene) == 0 && strstr(end, ".part-"))
            unlinkat(dirfd(dir), e->d_name, 0);
    }
    if (dir)
        closedir(dir);
}

void sdm_tries_gather(const SdmJob *job, const SdmPlanScene *scene)
{
    char path[SDM_PATH_SIZE];
    Gathering g = {.folder = job->folder, .text = {.ctx = NULL}, .names = {.ctx = NULL}};
    remove_temporary(job->folder, scene->key);
    if (!visit_records(job->folder, scene->key, gather_file, &g) || !g.names.data ||
        sdm_format(NULL, path, sizeof path, "%s/scene_%s%s", job->folder, scene->key, GATHERED) != SDM_OK ||
        sdm_file_write(NULL, path, g.text.data, g.text.size) != SDM_OK)
        goto done;
    for (char *name = g.names.data, *end = strchr(name, '\n'); end;
         name = end + 1, end = strchr(name, '\n')) {
        *end = '\0';
        if (sdm_path_join(NULL, job->folder, name, path) == SDM_OK)
            unlink(path);
    }
done:
    sdm_text_close(&g.names);
    sdm_text_close(&g.text);
}

/* ---- read all ---- */

static SdmStatus add_try(SdmContext *ctx, SdmTries *to, const SdmTry *t)
{
    SdmStatus st = SDM_OK;
    SdmTry *more = NULL;
    if (to->count == to->room) {
        const int64_t room = to->room ? 2 * to->room : 64;
        TRY(sdm_alloc_raw(ctx, &more, (size_t)room, sizeof *more, "the tries of the job"));
        if (to->count)
            memcpy(more, to->item, (size_t)to->count * sizeof *more);
        sdm_free(&to->item);
        to->item = more;
        to->room = room;
    }
    to->item[to->count++] = *t;
done:
    return st;
}

typedef struct Reading {
    SdmContext *ctx;
    const char *folder;
    SdmTries *out;
    bool vanished; /* a file of one record was there, and is gathered by now */
    SdmStatus st;
} Reading;

static bool read_records(const char *name, bool alone, void *user)
{
    Reading *const r = user;
    SdmText text = {.ctx = r->ctx};
    SdmTry t;
    const bool read = add_file(r->folder, name, &text);
    r->vanished |= !read && alone;
    r->out->damaged += !read;
    for (char *line = text.data, *end; line && *line && r->st == SDM_OK; line = end) {
        end = line + strcspn(line, "\n");
        *end++ = '\0';
        if (!parse_record(line, &t))
            r->out->damaged++;
        else
            r->st = add_try(r->ctx, r->out, &t);
    }
    r->st = r->st == SDM_OK ? text.st : r->st;
    sdm_text_close(&text);
    return r->st == SDM_OK;
}

/* Of two records of one try, that of its end comes first. */
static int compare_tries(const void *a, const void *b)
{
    const SdmTry *const s = a, *const t = b;
    int order = strcmp(s->key, t->key);
    order = order ? order : s->kind - t->kind;
    order = order ? order : (s->unit > t->unit) - (s->unit < t->unit);
    order = order ? order : strcmp(s->fingerprint, t->fingerprint);
    order = order ? order : (s->started_ms > t->started_ms) - (s->started_ms < t->started_ms);
    order = order ? order : strcmp(s->id, t->id);
    return order ? order : (t->state != SDM_TRY_BEGUN) - (s->state != SDM_TRY_BEGUN);
}

SdmStatus sdm_tries_read(SdmContext *ctx, const SdmJob *job, SdmTries *out)
{
    Reading r = {.ctx = ctx, .folder = job->folder, .out = out};
    int64_t n = 0;
    *out = (SdmTries){.count = 0};
    for (int i = 0; i < 3 && r.st == SDM_OK && (i == 0 || r.vanished); i++) {
        sdm_tries_close(out);
        r.vanished = false;
        (void)visit_records(job->folder, NULL, read_records, &r);
    }
    if (r.st != SDM_OK) {
        sdm_tries_close(out);
        return r.st;
    }
    if (out->count)
        qsort(out->item, (size_t)out->count, sizeof *out->item, compare_tries);
    for (int64_t i = 0; i < out->count; i++)
        if (n == 0 || strcmp(out->item[i].id, out->item[n - 1].id) != 0)
            out->item[n++] = out->item[i];
    out->count = n;
    return SDM_OK;
}

void sdm_tries_close(SdmTries *tries)
{
    sdm_free(&tries->item);
    *tries = (SdmTries){.count = 0};
}
