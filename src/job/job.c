/* Open a job folder; its files: names, marks, removal. */
// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"
#include "core/machine.h"
#include "core/path.h"
#include "core/system.h"
#include "geo/grid.h"

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
    int input = 0;
    for (const SdmOptionSpec *o = sdm_option_table; o->name; o++) {
        if (!sdm_plan_has_option(o))
            continue;
        sdm_option_copy(o, &job->plan->options, &job->options);
        if (!(o->commands & SDM_NAMES_INPUT))
            continue;
        const SdmPlanPlace *const place = &job->plan->input[input];
        char *const path = job->input[input++];
        if (!place->path)
            continue;
        PASS(sdm_job_find(ctx, job, place, path));
        PASS(sdm_option_set(ctx, o, &job->options, path));
    }
    return SDM_OK;
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

/* KIND_KEY.END, or for a unit KIND_KEY_000000.END. */
static SdmStatus name_file(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *s, const char *kind,
                           int64_t unit, const char *end, char out[SDM_PATH_SIZE])
{
    char number[32] = "";
    if (unit >= 0)
        snprintf(number, sizeof number, "_%06lld", (long long)(unit - s->first_unit));
    return sdm_format(ctx, out, SDM_PATH_SIZE, "%s/%s_%s%s.%s", job->folder, kind, s->key, number, end);
}

SdmStatus sdm_job_unit(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene, SdmUnitKind kind,
                       int64_t unit, SdmUnitName *out)
{
    static const char *const word[] = {
        [SDM_UNIT_BLOCK] = "unit", [SDM_UNIT_PREPARED] = "scene", [SDM_UNIT_RECORD] = "product"};
    out->kind = kind;
    out->fingerprint = kind == SDM_UNIT_BLOCK    ? sdm_plan_unit_fingerprint(scene, unit)
                       : kind == SDM_UNIT_RECORD ? scene->product_fingerprint
                                                 : scene->fingerprint;
    return name_file(ctx, job, scene, word[kind], kind == SDM_UNIT_BLOCK ? unit : -1, "sdm", out->path);
}

SdmStatus sdm_job_unit_of(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene, int64_t unit,
                          SdmUnitName *out)
{
    return sdm_job_unit(ctx, job, scene, sdm_plan_tile_of(scene, unit) ? SDM_UNIT_BLOCK : SDM_UNIT_PREPARED,
                        unit, out);
}

SdmStatus sdm_job_find(SdmContext *ctx, const SdmJob *job, const SdmPlanPlace *place, char out[SDM_PATH_SIZE])
{
    return place->full ? sdm_format(ctx, out, SDM_PATH_SIZE, "%s", place->absolute)
                       : sdm_path_find(ctx, job->folder, place->path, place->absolute, out);
}

SdmStatus sdm_job_read_prepared(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene,
                                SdmPrepared *out, SdmUsage *usage)
{
    SdmStatus st = SDM_OK;
    SdmUnitName name;
    *out = (SdmPrepared){0};
    TRY(sdm_job_unit(ctx, job, scene, SDM_UNIT_PREPARED, 0, &name));
    TRY(sdm_unit_read(ctx, &name, out, usage));
    TRY(sdm_prepared_kernels(ctx, &job->options, out));
    out->part = out->grid;
    TRY(sdm_part_cut(ctx, &job->options, false, &out->part));
done:
    if (st != SDM_OK) {
        sdm_prepared_free(out);
        *out = (SdmPrepared){0};
    }
    return st;
}

static const char FINAL[] = "\nanother try would end so, too\n";

/* False: the file cannot be read to its end. */
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

/* True if this machine can read the inputs of the scene and they are as planned; false for inputs on the
 * network, which have no time stamp, and for a VRT, whose sources may be missing here alone. */
static bool sees_inputs(const SdmJob *job, const SdmPlanScene *scene)
{
    char path[SDM_PATH_SIZE];
    uint64_t hash;
    bool good = sdm_plan_check_files(NULL, job->folder, scene, true) == SDM_OK;
    for (int i = 0; good && i < scene->file_count; i++)
        good = scene->file[i].has_stamp && sdm_job_find(NULL, job, &scene->file[i].at, path) == SDM_OK &&
               !sdm_path_ends_in(path, ".vrt") && hash_file(path, &hash);
    return good;
}

bool sdm_job_is_final(const SdmJob *job, const SdmPlanScene *scene, SdmStatus st)
{
    return st == SDM_ERR_DATA || st == SDM_ERR_BUDGET || (st == SDM_ERR_INPUT && sees_inputs(job, scene));
}

static SdmStatus name_failure(const SdmJob *job, const SdmPlanScene *scene, int64_t unit,
                              char out[SDM_PATH_SIZE])
{
    return name_file(NULL, job, scene, unit < 0 ? "scene" : "unit", unit, "err", out);
}

void sdm_job_keep_failure(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene, int64_t unit,
                          SdmStatus st)
{
    char path[SDM_PATH_SIZE], text[2048];
    if (st == SDM_ERR_STOPPED || name_failure(job, scene, unit, path) != SDM_OK)
        return;
    if (st == SDM_OK) {
        unlink(path);
        return;
    }
    const int n = snprintf(text, sizeof text, "%.1900s%s", sdm_error(ctx),
                           sdm_job_is_final(job, scene, st) ? FINAL : "\n");
    (void)sdm_file_write(NULL, path, text, (size_t)n);
}

bool sdm_job_read_failure(const SdmJob *job, const SdmPlanScene *scene, int64_t unit, char *out, size_t size,
                          bool *is_final)
{
    char path[SDM_PATH_SIZE], text[2048];
    *out = '\0';
    *is_final = false;
    FILE *const f = name_failure(job, scene, unit, path) == SDM_OK ? fopen(path, "r") : NULL;
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
    SdmUnitName name;
    SdmUsage usage;
    return sdm_job_unit(NULL, job, scene, SDM_UNIT_RECORD, 0, &name) == SDM_OK &&
           sdm_unit_peek(&name, &usage);
}

void sdm_product_record_dem(SdmProductRecord *record, const char *dem)
{
    if (!sdm_plan_stamp(dem, &record->dem_bytes, &record->dem_mtime_us) || !hash_file(dem, &record->dem_hash))
        record->dem_bytes = -1;
}

bool sdm_product_record_is_other(const SdmProductRecord *record, const char *path)
{
    SdmProductRecord now;
    if (record->dem_bytes < 0)
        return false;
    (void)sdm_plan_stamp(path, &now.dem_bytes, &now.dem_mtime_us);
    return now.dem_bytes != record->dem_bytes ||
           (now.dem_mtime_us != record->dem_mtime_us && hash_file(path, &now.dem_hash) &&
            now.dem_hash != record->dem_hash);
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

/* A file that tasks write, or plan.json. */
typedef struct TaskFile {
    const char *name;                                  /* of the file; until the next one is read */
    bool is_unit, is_record, is_failure, is_temporary; /* a unit's, else a scene's */
    char key[17];                                      /* of the scene; "": plan.json */
    int64_t number;                                    /* of a unit in its scene */
} TaskFile;

/* Read "scene_KEY.sdm", "product_KEY.sdm", "unit_KEY_000000.sdm", the same with .err, "plan.json", or the
 * name of one that is being written.  False: another file. */
static bool read_name(const char *name, TaskFile *out)
{
    char kind[8], number[24];
    int n = 0, more = 0;
    *out = (TaskFile){.name = name, .number = -1};
    if (sdm_file_is_named(name, "plan.json"))
        return true;
    if (sscanf(name, "%7[a-z]_%16[0-9a-f]%n", kind, out->key, &n) != 2 || strlen(out->key) != 16)
        return false;
    out->is_unit = strcmp(kind, "unit") == 0;
    out->is_record = strcmp(kind, "product") == 0;
    if (out->is_unit ? sscanf(name + n, "_%23[0-9]%n", number, &more) != 1
                     : !out->is_record && strcmp(kind, "scene") != 0)
        return false;
    if (out->is_unit)
        out->number = strtoll(number, NULL, 10);
    const char *const end = name + n + more;
    out->is_failure = !out->is_record && sdm_file_is_named(end, ".err");
    out->is_temporary = strlen(end) > strlen(".sdm");
    return out->is_failure || sdm_file_is_named(end, ".sdm");
}

/* The next such file of a folder (NULL: it is not there); false: there are no more. */
static bool next_file(DIR *folder, TaskFile *out)
{
    for (const struct dirent *e = folder ? readdir(folder) : NULL; e; e = readdir(folder))
        if (read_name(e->d_name, out))
            return true;
    return false;
}

static void close_folder(DIR *const *folder)
{
    if (*folder)
        closedir(*folder);
}

void sdm_job_sweep(const char *folder, const SdmPlanScene *scene)
{
    SDM_CLOSED_BY(close_folder) DIR *const dir = opendir(folder);
    for (TaskFile f; next_file(dir, &f);)
        if (strcmp(f.key, scene->key) == 0 && (!f.is_record || f.is_temporary)) /* all but its record */
            sdm_file_remove_in(folder, f.name);
}

void sdm_job_renew(const char *folder, const SdmPlan *plan)
{
    SDM_CLOSED_BY(close_folder) DIR *const dir = opendir(folder);
    for (TaskFile f; next_file(dir, &f);) {
        bool old = f.is_failure;
        for (int s = 0; s < plan->count && !old; s++)
            old = f.number >= plan->scene[s].unit_count && strcmp(f.key, plan->scene[s].key) == 0;
        if (old)
            sdm_file_remove_in(folder, f.name);
    }
}

void sdm_job_count(const char *folder, int64_t *blocks, int64_t *prepared)
{
    SDM_CLOSED_BY(close_folder) DIR *const dir = opendir(folder);
    *prepared = *blocks = 0;
    for (TaskFile f; next_file(dir, &f);)
        *(f.is_unit ? blocks : prepared) += *f.key && !f.is_record && !f.is_failure && !f.is_temporary;
}

void sdm_job_remove(const char *folder)
{
    DIR *const dir = opendir(folder);
    for (TaskFile f; next_file(dir, &f);)
        sdm_file_remove_in(folder, f.name);
    close_folder(&dir);
    rmdir(folder);
}
