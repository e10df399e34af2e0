/* Open a job folder; its files: names, marks, removal. */
// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"
#include "core/machine.h"

#include <dirent.h>
#include <gdal.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the job ---- */

/* Options as planned: those that a task does not decide on itself. */
static SdmStatus take_planned_options(SdmContext *ctx, SdmJob *job)
{
    SdmStatus st = SDM_OK;
    int input = 0;
    for (const SdmOptionSpec *o = sdm_option_table; o->name; o++) {
        if (!sdm_plan_has_option(o))
            continue;
        sdm_plan_copy_option(o, &job->plan->options, &job->options);
        if (!(o->commands & SDM_NAMES_INPUT))
            continue;
        const SdmPlanPlace *const place = &job->plan->input[input];
        char *const path = job->input[input++];
        if (!place->path)
            continue;
        TRY(sdm_job_find(ctx, job, place, path));
        TRY(sdm_option_set(ctx, o, &job->options, path));
    }
done:
    return st;
}

SdmStatus sdm_job_start(SdmContext *ctx, const char *folder, const SdmOptions *caller, SdmPlan **plan,
                        SdmJob *job)
{
    SdmStatus st = SDM_OK;
    *job = (SdmJob){.ctx = ctx, .plan = *plan, .options = *caller, .cache_before = GDALGetCacheMax64()};
    *plan = NULL;
    job->budget_before = sdm_set_memory_budget(ctx, caller->memory_bytes);
    TRY(sdm_format(ctx, job->folder, sizeof job->folder, "%s", folder));
    TRY(take_planned_options(ctx, job));
    TRY(sdm_options_check(ctx, &job->options));
    sdm_memory_check(ctx, job->options.memory_bytes);
    (void)sdm_set_memory_budget(ctx, job->options.memory_bytes);
    GDALSetCacheMax64(sdm_cache_bytes(job->options.memory_bytes));
done:
    if (st != SDM_OK)
        sdm_job_close(job);
    return st;
}

SdmStatus sdm_job_open(SdmContext *ctx, const char *folder, const SdmOptions *caller, SdmJob *job)
{
    SdmPlan *plan = NULL;
    *job = (SdmJob){.plan = NULL};
    const SdmStatus st = sdm_plan_read(ctx, folder, &plan);
    return st != SDM_OK ? st : sdm_job_start(ctx, folder, caller, &plan, job);
}

void sdm_job_close(SdmJob *job)
{
    if (job->plan) {
        GDALSetCacheMax64(job->cache_before);
        (void)sdm_set_memory_budget(job->ctx, job->budget_before);
    }
    sdm_plan_close(&job->plan);
}

/* ---- files ---- */

SdmStatus sdm_job_file(SdmContext *ctx, const SdmJob *job, SdmJobFile kind, int64_t n,
                       char out[SDM_PATH_SIZE])
{
    static const char *const end[] = {"sdm", "merged", "merging", "err", "sdm", "err", "run"};
    const bool is_unit = kind >= SDM_JOB_UNIT;
    const SdmPlanScene *const s = &job->plan->scene[is_unit ? sdm_plan_scene_of(job->plan, n) : n];
    return is_unit ? sdm_format(ctx, out, SDM_PATH_SIZE, "%s/unit_%s_%06lld.%s", job->folder, s->key,
                                (long long)(n - s->first_unit), end[kind])
                   : sdm_format(ctx, out, SDM_PATH_SIZE, "%s/scene_%s.%s", job->folder, s->key, end[kind]);
}

SdmStatus sdm_job_find(SdmContext *ctx, const SdmJob *job, const SdmPlanPlace *place, char out[SDM_PATH_SIZE])
{
    return place->full ? sdm_format(ctx, out, SDM_PATH_SIZE, "%s", place->absolute)
                       : sdm_path_find(ctx, job->folder, place->path, place->absolute, out);
}

SdmStatus sdm_job_read_prepared(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene,
                                SdmPrepared *out, double stage_s[SDM_UNIT_STAGES])
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE];
    *out = (SdmPrepared){0};
    TRY(sdm_job_file(ctx, job, SDM_JOB_PREPARED, scene->number, path));
    TRY(sdm_prepared_read(ctx, path, scene->fingerprint, out, stage_s));
    TRY(sdm_prepared_kernels(ctx, &job->options, out));
done:
    if (st != SDM_OK) {
        sdm_prepared_free(out);
        *out = (SdmPrepared){0};
    }
    return st;
}

static const char FINAL[] = "\nanother try would end so, too\n";

/* Can every byte be read? */
static bool can_read(const char *path)
{
    char piece[SDM_UNIT_PIECE];
    FILE *const f = fopen(path, "rb");
    while (f && fread(piece, 1, sizeof piece, f) == sizeof piece)
        ;
    const bool good = f && !ferror(f);
    if (f)
        fclose(f);
    return good;
}

/* Does this machine see the inputs of the scene as they were planned?  Not of those on the network, which
 * have no stamp. */
static bool sees_inputs(const SdmJob *job, const SdmPlanScene *scene)
{
    char path[SDM_PATH_SIZE];
    bool good = sdm_plan_check_files(NULL, job->folder, scene, true) == SDM_OK;
    for (int i = 0; good && i < scene->file_count; i++)
        good = scene->file[i].has_stamp && sdm_job_find(NULL, job, &scene->file[i].at, path) == SDM_OK &&
               can_read(path);
    return good;
}

bool sdm_job_is_final(const SdmJob *job, const SdmPlanScene *scene, SdmStatus st)
{
    return st == SDM_ERR_DATA || st == SDM_ERR_BUDGET || (st == SDM_ERR_INPUT && sees_inputs(job, scene));
}

void sdm_job_keep_failure(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene, const char *path,
                          SdmStatus st)
{
    char text[2048];
    const int n =
        snprintf(text, sizeof text, "%.1900s%s", sdm_error(ctx),
                 sdm_job_is_final(job, scene, st) ? FINAL : "\n");
    (void)sdm_file_write(NULL, path, text, (size_t)n);
}

bool sdm_job_read_failure(const SdmJob *job, SdmJobFile kind, int64_t n, char *out, size_t size,
                          bool *is_final)
{
    char path[SDM_PATH_SIZE], text[2048];
    *out = '\0';
    *is_final = false;
    FILE *const f = sdm_job_file(NULL, job, kind, n, path) == SDM_OK ? fopen(path, "r") : NULL;
    if (!f)
        return false;
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    fclose(f);
    *is_final = strstr(text, FINAL) != NULL;
    text[strcspn(text, "\n")] = '\0';
    for (char *c = text; *c; c++)
        *c = (unsigned char)*c < ' ' ? ' ' : *c;
    snprintf(out, size, "%s", text);
    return true;
}

bool sdm_job_is_merged(const SdmJob *job, const SdmPlanScene *scene)
{
    char path[SDM_PATH_SIZE];
    uint64_t found = 0;
    if (sdm_job_file(NULL, job, SDM_JOB_MERGED, scene->number, path) != SDM_OK)
        return false;
    FILE *const f = fopen(path, "r");
    const bool same = f && fscanf(f, "%" SCNx64, &found) == 1 && found == scene->product_fingerprint;
    if (f)
        fclose(f);
    return same;
}

/* What a DEM is known by; size_bytes -1: it cannot be read. */
typedef struct DemMark {
    int64_t size_bytes, mtime_us;
    uint64_t hash;
} DemMark;

static DemMark mark_of(const char *path)
{
    struct stat s;
    DemMark mark = {.size_bytes = -1};
    if (stat(path, &s) == 0 && S_ISREG(s.st_mode))
        mark = (DemMark){.size_bytes = (int64_t)s.st_size,
                         .mtime_us = (int64_t)s.st_mtim.tv_sec * 1000000 + s.st_mtim.tv_nsec / 1000};
    return mark;
}

static bool hash_file(const char *path, uint64_t *out)
{
    unsigned char piece[SDM_UNIT_PIECE];
    size_t n;
    FILE *const f = fopen(path, "rb");
    *out = 0;
    while (f && (n = fread(piece, 1, sizeof piece, f)) > 0)
        *out = sdm_hash(*out, piece, n);
    const bool good = f && !ferror(f);
    if (f)
        fclose(f);
    return good;
}

bool sdm_job_is_other_dem(const SdmJob *job, const SdmPlanScene *scene, const char *path)
{
    char name[SDM_PATH_SIZE];
    DemMark then = {.size_bytes = -1};
    uint64_t fingerprint;
    if (sdm_job_file(NULL, job, SDM_JOB_MERGED, scene->number, name) != SDM_OK)
        return false;
    FILE *const f = fopen(name, "r");
    const int n = f ? fscanf(f, "%" SCNx64 " %" SCNd64 " %" SCNd64 " %" SCNx64, &fingerprint,
                             &then.size_bytes, &then.mtime_us, &then.hash)
                    : 0;
    if (f)
        fclose(f);
    if (n != 4 || then.size_bytes < 0)
        return false;
    DemMark now = mark_of(path);
    if (now.size_bytes != then.size_bytes)
        return true;
    return now.mtime_us != then.mtime_us && hash_file(path, &now.hash) && now.hash != then.hash;
}

SdmStatus sdm_job_mark_merged(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene, const char *dem)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE], text[96];
    DemMark mark = mark_of(dem);
    TRY(sdm_job_file(ctx, job, SDM_JOB_MERGED, scene->number, path));
    if (!hash_file(dem, &mark.hash))
        mark.size_bytes = -1;
    const int n = snprintf(text, sizeof text, "%016" PRIx64 " %" PRId64 " %" PRId64 " %016" PRIx64 "\n",
                           scene->product_fingerprint, mark.size_bytes, mark.mtime_us, mark.hash);
    TRY(sdm_file_write(ctx, path, text, (size_t)n));
done:
    return st;
}

void sdm_job_ranges(const int64_t *number, int64_t count, char *out, size_t size)
{
    size_t n = 0;
    *out = '\0';
    for (int64_t i = 0; i < count;) {
        int64_t last = i;
        char text[64];
        while (last + 1 < count && number[last + 1] == number[last] + 1)
            last++;
        const int k = last > i ? snprintf(text, sizeof text, "%s%lld-%lld", i ? "," : "",
                                          (long long)number[i], (long long)number[last])
                               : snprintf(text, sizeof text, "%s%lld", i ? "," : "", (long long)number[i]);
        if (n + (size_t)k + 5 > size) {
            snprintf(out + n, size - n, "...");
            return;
        }
        memcpy(out + n, text, (size_t)k + 1);
        n += (size_t)k;
        i = last + 1;
    }
}

/* ---- the folder as a whole ---- */

/* A file that tasks write, of a scene or of a unit. */
typedef struct TaskFile {
    const char *name;
    bool is_unit;
    char key[17];
    int64_t number;  /* of a unit in its scene */
    const char *end; /* "sdm", "err", "run" */
} TaskFile;

/* Of a name, what stands before its ending: "scene_KEY", "unit_KEY_000000"; returns the ending, or NULL. */
static const char *read_stem(const char *name, TaskFile *out)
{
    static const char digits[] = "0123456789abcdef";
    *out = (TaskFile){.name = name, .is_unit = strncmp(name, "unit_", 5) == 0};
    if (!out->is_unit && strncmp(name, "scene_", 6) != 0)
        return NULL;
    const char *rest = name + (out->is_unit ? 5 : 6);
    if (strspn(rest, digits) != 16)
        return NULL;
    memcpy(out->key, rest, 16);
    rest += 16;
    if (out->is_unit) {
        char *end = NULL;
        if (*rest != '_' || strspn(rest + 1, "0123456789") < 6)
            return NULL;
        out->number = strtoll(rest + 1, &end, 10);
        rest = end;
    }
    return *rest == '.' ? rest : NULL;
}

const char *sdm_job_ending(const char *name, char key[17])
{
    TaskFile file;
    const char *const end = read_stem(name, &file);
    if (end)
        memcpy(key, file.key, sizeof file.key);
    return end;
}

/* False when the name, or the one that it is temporary for, is no file of a task.  What tells of a merged
 * scene stays; its temporary names are those of merges that were killed. */
static bool read_name(const char *name, TaskFile *out)
{
    static const struct {
        const char *end;
        bool of_scene, of_unit, kept; /* kept: the temporary files alone */
    } known[] = {{"sdm", true, true, false},
                 {"err", true, true, false},
                 {"run", false, true, false},
                 {"merged", true, false, true},
                 {"tries", true, false, true}};
    const char *const rest = read_stem(name, out);
    for (size_t i = 0; rest && i < sizeof known / sizeof *known; i++) {
        out->end = known[i].end;
        if ((out->is_unit ? known[i].of_unit : known[i].of_scene) && sdm_file_is_named(rest + 1, out->end) &&
            !(known[i].kept && strcmp(rest + 1, out->end) == 0))
            return true;
    }
    return false;
}

SdmStatus sdm_job_keys_open(SdmContext *ctx, const SdmPlan *plan, SdmJobKeys *out)
{
    SdmStatus st = SDM_OK;
    *out = (SdmJobKeys){.count = plan->count};
    TRY(sdm_alloc(ctx, &out->scene, (size_t)plan->count, sizeof *out->scene, "keys of scenes"));
    for (int i = 0; i < plan->count; i++)
        out->scene[i] = &plan->scene[i];
    qsort(out->scene, (size_t)plan->count, sizeof *out->scene, sdm_plan_compare_keys);
done:
    return st;
}

void sdm_job_keys_close(SdmJobKeys *keys)
{
    sdm_free(&keys->scene);
}

static const SdmPlanScene *find_key(const SdmJobKeys *keys, const char *key)
{
    SdmPlanScene wanted = {.number = 0};
    const SdmPlanScene *const at = &wanted;
    memcpy(wanted.key, key, sizeof wanted.key);
    const SdmPlanScene *const *const found =
        bsearch(&at, keys->scene, (size_t)keys->count, sizeof *keys->scene, sdm_plan_compare_keys);
    return found ? *found : NULL;
}

const SdmPlanScene *sdm_job_keys_find(const SdmJobKeys *keys, const char *name, int64_t *unit,
                                      const char **end)
{
    TaskFile file;
    *end = read_stem(name, &file);
    const SdmPlanScene *const s = *end ? find_key(keys, file.key) : NULL;
    if (!s || (file.is_unit && file.number >= s->unit_count))
        return NULL;
    *unit = file.is_unit ? s->first_unit + file.number : -1;
    return s;
}

/* Call `visit` for each file of a task in the folder, and remove those for which it says so. */
typedef bool visit_fn(const TaskFile *file, void *user);
static void visit_files(const char *folder, visit_fn *visit, void *user)
{
    TaskFile file;
    DIR *const dir = opendir(folder);
    if (!dir)
        return;
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
        if (read_name(e->d_name, &file) && visit(&file, user))
            unlinkat(dirfd(dir), e->d_name, 0);
    closedir(dir);
}

static bool is_of_scene(const TaskFile *f, void *user)
{
    return strcmp(f->key, user) == 0;
}

void sdm_job_sweep(const char *folder, const SdmPlanScene *scene)
{
    char key[sizeof scene->key];
    memcpy(key, scene->key, sizeof key);
    visit_files(folder, is_of_scene, key);
}

static bool is_old(const TaskFile *f, void *user)
{
    const SdmPlanScene *const s = find_key(user, f->key);
    return strcmp(f->end, "err") == 0 || (s && f->is_unit && f->number >= s->unit_count);
}

SdmStatus sdm_job_renew(SdmContext *ctx, const char *folder, const SdmPlan *plan)
{
    SdmStatus st = SDM_OK;
    SdmJobKeys keys;
    TRY(sdm_job_keys_open(ctx, plan, &keys));
    visit_files(folder, is_old, &keys);
done:
    sdm_job_keys_close(&keys);
    return st;
}

static bool count_file(const TaskFile *f, void *user)
{
    int64_t *const count = user; /* prepared scenes, blocks */
    const char *const dot = strrchr(f->name, '.');
    count[f->is_unit] += dot && strcmp(dot, ".sdm") == 0;
    return false;
}

void sdm_job_count(const char *folder, int64_t *blocks, int64_t *prepared)
{
    int64_t count[2] = {0, 0};
    visit_files(folder, count_file, count);
    *prepared = count[0];
    *blocks = count[1];
}

static bool any_file(const TaskFile *f, void *user)
{
    (void)f;
    (void)user;
    return true;
}

void sdm_job_remove(const char *folder)
{
    visit_files(folder, any_file, NULL);
    DIR *const dir = opendir(folder);
    if (!dir)
        return;
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        TaskFile file;
        const char *const end = read_stem(e->d_name, &file);
        if ((end && sdm_file_is_named(end, ".merged")) || sdm_file_is_named(e->d_name, "plan.json"))
            unlinkat(dirfd(dir), e->d_name, 0);
    }
    closedir(dir);
    rmdir(folder);
}
