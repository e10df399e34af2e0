/* A job in use: its plan, a scene at a time, the scene's products. */
// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"

#include <gdal.h>
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
    sdm_job_abandon(job);
    leave_scene(job);
    if (job->plan)
        (void)sdm_set_options(ctx, &job->before);
    sdm_free(&job->made);
    sdm_block_free(&job->kept);
    sdm_plan_close(&job->plan);
    sdm_match_queue_close(&job->worker);
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
    TRY(sdm_scene_open_to(ctx, sdm_options(ctx), name[0], s->right[0] ? name[1] : NULL, depth, &job->open));
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
    TRY(sdm_prepared_kernels(ctx, sdm_options(ctx), &job->prepared));
done:
    return st;
}

void sdm_job_stages_since(const SdmContext *ctx, const double before[SDM_UNIT_STAGES],
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
    sdm_job_stages_since(ctx, empty, before);
    TRY(open_images(ctx, job, SDM_DEPTH_WHOLE));
    sdm_progress(ctx, 2, 0.02, "coarse surface and pointing");
    job->prepared = (SdmPrepared){0};
    job->is_prepared = true; /* to be freed, whatever comes */
    st = sdm_scene_prepare(ctx, job->open, &job->prepared);
    if (st == SDM_OK) {
        sdm_job_stages_since(ctx, before, job->prepared_s);
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

SdmStatus sdm_job_need_prepared(SdmContext *ctx, SdmJob *job, int64_t unit)
{
    SdmStatus st = SDM_OK;
    char beat[SDM_PATH_SIZE], path[SDM_PATH_SIZE];
    SdmLease *mine = NULL;
    const int64_t first = job->scene.first_unit;
    const bool other = unit != first; /* another unit is the preparation */
    if (sdm_job_read_prepared(ctx, job) == SDM_OK)
        goto open;
    if (other && !job->alone) {
        TRY(sdm_job_file(ctx, job, SDM_JOB_HEARTBEAT, first, beat));
        TRY(sdm_job_file(ctx, job, SDM_JOB_PREPARED, job->number, path));
        TRY(sdm_lease_wait_result(ctx, beat, path, job->wait_s, unit - first));
        if (sdm_job_read_prepared(ctx, job) == SDM_OK)
            goto open;
        sdm_log(ctx, SDM_LOG_INFO, 0, "nobody has prepared %s: done here", job->scene.name);
        mine = sdm_lease_announce(beat);
    }
    st = prepare_now(ctx, job);
    sdm_lease_release(&mine);
    TRY(st);
open:
    TRY(open_images(ctx, job, SDM_DEPTH_WINDOWS));
    for (int i = 0; i < 2; i++)
        sdm_image_set_radiometry(job->open->view[i].image, &job->prepared.radiometry[i]);
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
