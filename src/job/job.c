/* Open a job folder; its files: names, marks, removal. */
// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"
#include "scene/scene.h"

#include <dirent.h>
#include <gdal.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
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
    static const char *const form[][2] = {{"scene", "sdm"}, {"scene", "merged"}, {"scene", "merging"},
                                          {"scene", "err"}, {"unit", "sdm"},     {"unit", "err"},
                                          {"unit", "run"}};
    return sdm_format(ctx, out, SDM_PATH_SIZE, "%s/%s_%06lld.%s", job->folder, form[kind][0], (long long)n,
                      form[kind][1]);
}

SdmStatus sdm_job_find(SdmContext *ctx, const SdmJob *job, const SdmPlanPlace *place, char out[SDM_PATH_SIZE])
{
    return sdm_path_find(ctx, job->folder, place->path, place->absolute, out);
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

SdmStatus sdm_job_mark_merged(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE], text[32];
    TRY(sdm_job_file(ctx, job, SDM_JOB_MERGED, scene->number, path));
    const int n = snprintf(text, sizeof text, "%016" PRIx64 "\n", scene->product_fingerprint);
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
    int64_t number;
    const char *end; /* "sdm", "err", "run" */
} TaskFile;

/* False when the name, or the one that it is temporary for, is no file of a task. */
static bool read_name(const char *name, TaskFile *out)
{
    static const char *const end[] = {"sdm", "err", "run"};
    char *rest = NULL, stem[64];
    const bool unit = strncmp(name, "unit_", strlen("unit_")) == 0;
    if (!unit && strncmp(name, "scene_", strlen("scene_")) != 0)
        return false;
    const long long number = strtoll(strchr(name, '_') + 1, &rest, 10);
    for (int i = 0; i < (unit ? 3 : 2); i++) {
        snprintf(stem, sizeof stem, "%s_%06lld.%s", unit ? "unit" : "scene", number, end[i]);
        *out = (TaskFile){.name = name, .is_unit = unit, .number = number, .end = end[i]};
        if (sdm_file_is_named(name, stem))
            return true;
    }
    return false;
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
    const SdmPlanScene *const s = user;
    return f->is_unit ? f->number >= s->first_unit && f->number < s->first_unit + s->unit_count
                      : f->number == s->number;
}

void sdm_job_sweep(const char *folder, const SdmPlanScene *scene)
{
    SdmPlanScene copy = *scene;
    visit_files(folder, is_of_scene, &copy);
}

static bool is_old(const TaskFile *f, void *user)
{
    const int64_t *const count = user; /* scenes, units */
    return strcmp(f->end, "err") == 0 || f->number >= count[f->is_unit];
}

void sdm_job_renew(const char *folder, int64_t units, int64_t scenes)
{
    int64_t count[2] = {scenes, units};
    visit_files(folder, is_old, count);
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
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir))
        if (sdm_file_is_named(e->d_name, "scene_000000.merged") || sdm_file_is_named(e->d_name, "plan.json"))
            unlinkat(dirfd(dir), e->d_name, 0);
    closedir(dir);
    rmdir(folder);
}
