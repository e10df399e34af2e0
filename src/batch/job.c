/* Units of a job: find what is done, wait, prepare, compute, write. */
// SPDX-License-Identifier: Apache-2.0
#include "batch/job.h"
#include "batch/tiling.h"

#include <errno.h>
#include <gdal.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

SdmStatus sdm_job_file(SdmContext *ctx, const SdmJob *job, SdmJobFile kind, int64_t n,
                       char out[SDM_PATH_SIZE])
{
    static const char *const form[][2] = {{"scene", "sdm"}, {"scene", "merged"}, {"scene", "merging"},
                                          {"scene", "err"}, {"unit", "sdm"},     {"unit", "err"},
                                          {"unit", "run"}};
    return sdm_format(ctx, out, SDM_PATH_SIZE, "%s/%s_%06lld.%s", job->folder, form[kind][0], (long long)n,
                      form[kind][1]);
}

SdmStatus sdm_job_start(SdmContext *ctx, const char *folder, SdmPlan **plan, SdmJob *job)
{
    SdmStatus st = SDM_OK;
    SdmOptions opt = *sdm_options(ctx);
    *job = (SdmJob){.number = -1, .before = opt, .plan = *plan};
    *plan = NULL;
    TRY(sdm_format(ctx, job->folder, sizeof job->folder, "%s", folder));
    TRY(sdm_alloc(ctx, &job->made, (size_t)job->plan->units + 1, 1, "the units"));
    TRY(sdm_plan_options(ctx, job->plan, folder, &job->paths, &opt));
    TRY(sdm_set_options(ctx, &opt));
    GDALSetCacheMax64(sdm_cache_bytes(opt.memory_bytes));
done:
    if (st != SDM_OK)
        sdm_job_close(ctx, job);
    return st;
}

SdmStatus sdm_job_open(SdmContext *ctx, const char *folder, SdmJob *job)
{
    SdmPlan *plan = NULL;
    *job = (SdmJob){.number = -1};
    const SdmStatus st = sdm_plan_read(ctx, folder, &plan);
    return st != SDM_OK ? st : sdm_job_start(ctx, folder, &plan, job);
}

static void leave_scene(SdmJob *job)
{
    if (job->is_prepared)
        sdm_prepared_free(&job->prepared);
    job->prepared = (SdmPrepared){0};
    job->is_prepared = false;
    sdm_scene_close(&job->open);
    job->number = -1;
}

void sdm_job_close(SdmContext *ctx, SdmJob *job)
{
    leave_scene(job);
    if (job->plan)
        (void)sdm_set_options(ctx, &job->before);
    sdm_free(&job->made);
    sdm_block_free(&job->kept);
    sdm_plan_close(&job->plan);
    sdm_worker_close(&job->worker);
}

SdmStatus sdm_job_use(SdmContext *ctx, SdmJob *job, int number)
{
    if (job->number == number)
        return SDM_OK;
    leave_scene(job);
    const SdmStatus st = sdm_plan_scene(ctx, job->plan, sdm_options(ctx), number, &job->scene);
    job->number = st == SDM_OK ? number : -1;
    return st;
}

SdmStatus sdm_job_tile(SdmContext *ctx, const SdmPlanScene *scene, int64_t unit, int64_t cells[4],
                       uint64_t *fingerprint)
{
    const double grid[3] = {scene->x0, scene->y0, scene->spacing};
    const SdmStatus st =
        sdm_plan_tile(ctx, scene, unit - scene->first_unit - (scene->tiled ? 1 : 0), cells, NULL);
    *fingerprint = sdm_hash(sdm_hash(scene->fingerprint, grid, sizeof grid), cells, 4 * sizeof *cells);
    return st;
}

/* ---- the scene products ---- */

static SdmStatus open_images(SdmContext *ctx, SdmJob *job, SdmDepth depth)
{
    SdmStatus st = SDM_OK;
    char name[2][SDM_PATH_SIZE];
    const SdmPlanScene *const s = &job->scene;
    if (job->open && job->open->depth >= (int)depth)
        return SDM_OK;
    sdm_scene_close(&job->open);
    TRY(sdm_path_find(ctx, job->folder, s->left[0], s->left[1], name[0]));
    if (s->right[0])
        TRY(sdm_path_find(ctx, job->folder, s->right[0], s->right[1], name[1]));
    TRY(sdm_scene_open_to(ctx, name[0], s->right[0] ? name[1] : NULL, depth, &job->open));
done:
    return st;
}

SdmStatus sdm_job_read_prepared(SdmContext *ctx, SdmJob *job)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE];
    if (job->is_prepared)
        return SDM_OK;
    TRY(sdm_job_file(ctx, job, SDM_JOB_PREPARED, job->number, path));
    TRY(sdm_prepared_read(ctx, path, job->scene.fingerprint, &job->prepared, job->prepared_s));
    job->is_prepared = true;
    TRY(sdm_prepared_kernels(ctx, &job->prepared));
done:
    return st;
}

/* Seconds of the stages since `before`. */
static void stages_since(const SdmContext *ctx, const double before[SDM_UNIT_STAGES],
                         double out[SDM_UNIT_STAGES])
{
    for (int i = 0; i < SDM_UNIT_STAGES; i++)
        out[i] = sdm_stage_time(ctx, i) - before[i];
}

static SdmStatus prepare_now(SdmContext *ctx, SdmJob *job)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE];
    double before[SDM_UNIT_STAGES], empty[SDM_UNIT_STAGES] = {0};
    stages_since(ctx, empty, before);
    TRY(open_images(ctx, job, SDM_DEPTH_WHOLE));
    sdm_progress(ctx, 2, 0.02, "coarse surface and pointing");
    job->prepared = (SdmPrepared){0};
    job->is_prepared = true; /* to be freed, whatever comes */
    st = sdm_prepare(ctx, job->open, &job->prepared);
    if (st == SDM_OK)
        st = sdm_refine_pointing(ctx, job->open, &job->prepared);
    if (st == SDM_OK) {
        stages_since(ctx, before, job->prepared_s);
        st = sdm_job_file(ctx, job, SDM_JOB_PREPARED, job->number, path);
    }
    if (st == SDM_OK)
        st = sdm_prepared_write(ctx, path, job->scene.fingerprint, &job->prepared, job->prepared_s,
                                !job->alone);
    if (st != SDM_OK) {
        sdm_prepared_free(&job->prepared);
        job->prepared = (SdmPrepared){0};
        job->is_prepared = false;
    }
done:
    return st;
}

/* The scene products, from their file, from somebody who is at them, or made here. */
static SdmStatus need_prepared(SdmContext *ctx, SdmJob *job, int64_t unit)
{
    SdmStatus st = SDM_OK;
    char beat[SDM_PATH_SIZE], path[SDM_PATH_SIZE];
    SdmBeat *mine = NULL;
    const int64_t first = job->scene.first_unit;
    const bool other = unit != first; /* another unit is the preparation */
    if (sdm_job_read_prepared(ctx, job) == SDM_OK)
        goto open;
    if (other && !job->alone) {
        TRY(sdm_job_file(ctx, job, SDM_JOB_BEAT, first, beat));
        TRY(sdm_job_file(ctx, job, SDM_JOB_PREPARED, job->number, path));
        TRY(sdm_beat_wait(ctx, beat, path, job->wait_s, unit - first));
        if (sdm_job_read_prepared(ctx, job) == SDM_OK)
            goto open;
        sdm_log(ctx, SDM_LOG_INFO, 0, "nobody has prepared %s: done here", job->scene.name);
        mine = sdm_beat_begin(beat);
    }
    st = prepare_now(ctx, job);
    sdm_beat_end(&mine);
    TRY(st);
open:
    TRY(open_images(ctx, job, SDM_DEPTH_WINDOWS));
    for (int i = 0; i < 2; i++)
        sdm_image_set_radiometry(job->open->view[i].image, &job->prepared.radiometry[i]);
done:
    return st;
}

/* ---- a tile ---- */

/* Its part of the DEM's grid.  Tiles at the rim of the planned grid take what lies outside it. */
static void place_block(const SdmJob *job, const int64_t cells[4], SdmBlock *b)
{
    const SdmGrid *const g = &job->prepared.grid;
    const SdmPlanScene *const s = &job->scene;
    const int64_t at[2] = {llround((s->x0 - g->x0) / g->spacing), llround((g->y0 - s->y0) / g->spacing)};
    const int64_t size[2] = {g->cols, g->rows};
    int64_t end[2] = {0, 0}, from[2], to[2]; /* of the planned grid */
    const cJSON *tile;
    cJSON_ArrayForEach(tile, s->tiles)
        for (int k = 0; k < 2; k++) {
            const double e = cJSON_GetObjectItemCaseSensitive(tile, k ? "row" : "col")->valuedouble +
                             cJSON_GetObjectItemCaseSensitive(tile, k ? "rows" : "cols")->valuedouble;
            end[k] = (int64_t)e > end[k] ? (int64_t)e : end[k];
        }
    for (int k = 0; k < 2; k++) {
        from[k] = cells[k] == 0 ? 0 : at[k] + cells[k];
        to[k] = cells[k] + cells[2 + k] == end[k] ? size[k] : at[k] + cells[k] + cells[2 + k];
        from[k] = from[k] < 0 ? 0 : from[k] > size[k] ? size[k] : from[k];
        to[k] = to[k] < from[k] ? from[k] : to[k] > size[k] ? size[k] : to[k];
    }
    *b = (SdmBlock){.col0 = from[0], .row0 = from[1], .w = to[0] - from[0], .h = to[1] - from[1]};
}

/* The unit after which run merges: nobody reads its file, except after a stop. */
static bool is_last(const SdmJob *job, int64_t unit)
{
    return job->alone && unit == job->scene.first_unit + job->scene.unit_count - 1;
}

void sdm_job_store_kept(SdmJob *job)
{
    const int64_t unit = job->scene.first_unit + job->scene.unit_count - 1;
    int64_t cells[4];
    uint64_t fingerprint;
    char path[SDM_PATH_SIZE];
    if (job->is_kept && sdm_job_tile(NULL, &job->scene, unit, cells, &fingerprint) == SDM_OK &&
        sdm_job_file(NULL, job, SDM_JOB_UNIT, unit, path) == SDM_OK)
        (void)sdm_unit_write(NULL, path, fingerprint, &job->kept, job->kept_s, false); /* or lost: no harm */
}

static SdmStatus compute_tile(SdmContext *ctx, SdmJob *job, int64_t unit, const int64_t cells[4],
                              uint64_t fingerprint)
{
    SdmStatus st = SDM_OK;
    SdmBlock b = {0};
    char path[SDM_PATH_SIZE];
    double before[SDM_UNIT_STAGES], took[SDM_UNIT_STAGES], empty[SDM_UNIT_STAGES] = {0};
    if (!job->worker)
        TRY(sdm_worker_open(ctx, sdm_options(ctx)->device, &job->worker));
    TRY(need_prepared(ctx, job, unit));
    stages_since(ctx, empty, before);
    place_block(job, cells, &b);
    const SdmPrepared *const p = &job->prepared;
    const int64_t room =
        sdm_unit_room(ctx, job->open, &p->frame, p->settings.coarse_level) - SDM_CELL_BYTES * b.w * b.h;
    TRY(sdm_unit_compute(ctx, job->open, p, job->worker, room > 1 ? room : 1, &b));
    stages_since(ctx, before, took);
    if (is_last(job, unit) && !sdm_options(ctx)->keep_job) {
        job->kept = b;
        job->is_kept = true;
        memcpy(job->kept_s, took, sizeof job->kept_s);
        b = (SdmBlock){0};
    } else {
        TRY(sdm_job_file(ctx, job, SDM_JOB_UNIT, unit, path));
        TRY(sdm_unit_write(ctx, path, fingerprint, &b, took, !job->alone));
    }
done:
    sdm_block_free(&b);
    return st;
}

/* Is the unit there, or was its scene merged and the unit removed? */
static bool is_done(SdmContext *ctx, SdmJob *job, int64_t unit, bool preparation, uint64_t fingerprint)
{
    char path[SDM_PATH_SIZE];
    const bool merged = !job->alone && sdm_job_is_merged(job, &job->scene);
    if (preparation)
        return sdm_job_read_prepared(ctx, job) == SDM_OK || (merged && !job->is_prepared);
    if (sdm_job_file(NULL, job, SDM_JOB_UNIT, unit, path) != SDM_OK)
        return false;
    return sdm_unit_check(NULL, path, fingerprint) == SDM_OK || (merged && access(path, F_OK) != 0);
}

static SdmStatus compute_unit(SdmContext *ctx, SdmJob *job, int64_t unit)
{
    SdmStatus st = SDM_OK;
    int64_t cells[4] = {0};
    uint64_t fingerprint = 0;
    char path[SDM_PATH_SIZE];
    SdmBeat *beat = NULL;
    const bool preparation = job->scene.tiled && unit == job->scene.first_unit;
    TRY(sdm_plan_check_files(ctx, job->folder, &job->scene, true));
    if (!preparation)
        TRY(sdm_job_tile(ctx, &job->scene, unit, cells, &fingerprint));
    if (is_done(ctx, job, unit, preparation, fingerprint)) {
        job->resumed++;
        goto done;
    }
    if (access(job->folder, W_OK | X_OK) != 0)
        return sdm_fail(ctx, SDM_ERR_IO,
                        "the job folder %s cannot be written: %s; let it be written, or move it", job->folder,
                        strerror(errno));
    TRY(sdm_job_file(ctx, job, SDM_JOB_BEAT, unit, path));
    beat = sdm_beat_begin(path);
    TRY(preparation ? need_prepared(ctx, job, unit) : compute_tile(ctx, job, unit, cells, fingerprint));
    job->made[unit] = 1;
done:
    sdm_beat_end(&beat);
    return st;
}

SdmStatus sdm_job_unit(SdmContext *ctx, SdmJob *job, int64_t unit)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE];
    if (unit < 0 || unit >= job->plan->units)
        return sdm_fail(ctx, SDM_ERR_USAGE, "unit %lld does not exist; %s has %lld units, from 0 to %lld",
                        (long long)unit, job->folder, (long long)job->plan->units,
                        (long long)job->plan->units - 1);
    TRY(sdm_check_stop(ctx));
    TRY(sdm_job_use(ctx, job, sdm_plan_scene_of(job->plan, unit)));
    TRY(sdm_job_file(ctx, job, SDM_JOB_ERROR, unit, path));
    st = compute_unit(ctx, job, unit);
    if (st == SDM_OK)
        unlink(path);
    else if (st != SDM_ERR_STOPPED && !job->alone)
        (void)sdm_path_put(NULL, path, sdm_error(ctx),
                           strlen(sdm_error(ctx))); /* the sentence that counts is told */
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
