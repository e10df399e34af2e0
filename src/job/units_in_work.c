/* Units of a job in work: find what is done, begin, end, write. */
// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

int sdm_job_flights(const SdmJob *job)
{
    return job->flights;
}

bool sdm_job_is_full(const SdmJob *job, int64_t unit)
{
    return job->flights > 0 && (!job->worker || job->flights >= sdm_match_queue_slots(job->worker) ||
                                sdm_plan_scene_of(job->plan, unit) != job->number);
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

/* The worker, made ready for what will come. */
static SdmStatus need_worker(SdmContext *ctx, SdmJob *job)
{
    SdmStatus st = SDM_OK;
    if (!job->worker)
        TRY(sdm_match_queue_open(ctx, sdm_options(ctx)->device, &job->worker));
    if (job->flights == 0)
        sdm_match_queue_expect(job->worker, job->expected);
done:
    return st;
}

static SdmStatus begin_tile(SdmContext *ctx, SdmJob *job, const int64_t cells[4], SdmFlight *f)
{
    SdmStatus st = SDM_OK;
    double before[SDM_UNIT_STAGES], empty[SDM_UNIT_STAGES] = {0};
    SdmBlock *const b = &f->work.block;
    TRY(need_worker(ctx, job));
    TRY(sdm_job_need_prepared(ctx, job, f->unit));
    sdm_job_stages_since(ctx, empty, before);
    place_block(job, cells, b);
    const SdmPrepared *const p = &job->prepared;
    const int64_t cell_bytes = SDM_BLOCK_CELL_BYTES * b->w * b->h;
    const int64_t room =
        sdm_block_room(ctx, job->open, p) / sdm_match_queue_slots(job->worker) - cell_bytes;
    f->is_block = true;
    TRY(sdm_block_begin(ctx, job->open, p, job->worker, room > 1 ? room : 1, &f->work));
    sdm_job_stages_since(ctx, before, f->took_s);
done:
    return st;
}

static SdmStatus end_tile(SdmContext *ctx, SdmJob *job, SdmFlight *f)
{
    SdmStatus st = SDM_OK;
    SdmBlock *const b = &f->work.block;
    char path[SDM_PATH_SIZE];
    double before[SDM_UNIT_STAGES], took[SDM_UNIT_STAGES], empty[SDM_UNIT_STAGES] = {0};
    sdm_job_stages_since(ctx, empty, before);
    TRY(sdm_block_end(ctx, job->worker, &f->work));
    sdm_job_stages_since(ctx, before, took);
    for (int i = 0; i < SDM_UNIT_STAGES; i++)
        f->took_s[i] += took[i];
    if (is_last(job, f->unit) && !sdm_options(ctx)->keep_job) {
        job->kept = *b;
        job->is_kept = true;
        memcpy(job->kept_s, f->took_s, sizeof job->kept_s);
        *b = (SdmBlock){0};
    } else {
        TRY(sdm_job_file(ctx, job, SDM_JOB_UNIT, f->unit, path));
        TRY(sdm_unit_write(ctx, path, f->fingerprint, b, f->took_s, !job->alone));
    }
done:
    sdm_block_free(b);
    return st;
}

/* ---- any unit ---- */

static SdmStatus begin_unit(SdmContext *ctx, SdmJob *job, SdmFlight *f)
{
    SdmStatus st = SDM_OK;
    int64_t cells[4] = {0};
    char path[SDM_PATH_SIZE];
    const bool preparation = job->scene.tiled && f->unit == job->scene.first_unit;
    TRY(sdm_plan_check_files(ctx, job->folder, &job->scene, true));
    if (!preparation)
        TRY(sdm_job_tile(ctx, &job->scene, f->unit, cells, &f->fingerprint));
    f->resumed = is_done(ctx, job, f->unit, preparation, f->fingerprint);
    job->resumed += f->resumed;
    if (f->resumed)
        goto done;
    if (access(job->folder, W_OK | X_OK) != 0)
        return sdm_fail(ctx, SDM_ERR_IO,
                        "the job folder %s cannot be written: %s; let it be written, or move it", job->folder,
                        strerror(errno));
    TRY(sdm_job_file(ctx, job, SDM_JOB_HEARTBEAT, f->unit, path));
    f->at_work = sdm_lease_announce(path);
    TRY(preparation ? sdm_job_need_prepared(ctx, job, f->unit) : begin_tile(ctx, job, cells, f));
done:
    if (st != SDM_OK)
        sdm_lease_release(&f->at_work);
    return st;
}

/* Keep a unit's failure beside it, or remove that of the try before. */
static SdmStatus note(SdmContext *ctx, const SdmJob *job, int64_t unit, SdmStatus st)
{
    char path[SDM_PATH_SIZE];
    const SdmStatus named = sdm_job_file(NULL, job, SDM_JOB_ERROR, unit, path);
    if (named == SDM_OK && st == SDM_OK)
        unlink(path);
    else if (named == SDM_OK && st != SDM_ERR_STOPPED && !job->alone)
        (void)sdm_file_write(NULL, path, sdm_error(ctx),
                           strlen(sdm_error(ctx))); /* the sentence that counts is told */
    return st;
}

SdmStatus sdm_job_begin(SdmContext *ctx, SdmJob *job, int64_t unit)
{
    SdmStatus st = SDM_OK;
    if (unit < 0 || unit >= job->plan->units)
        return sdm_fail(ctx, SDM_ERR_USAGE, "unit %lld does not exist; %s has %lld units, from 0 to %lld",
                        (long long)unit, job->folder, (long long)job->plan->units,
                        (long long)job->plan->units - 1);
    TRY(sdm_check_stop(ctx));
    TRY(sdm_job_use(ctx, job, sdm_plan_scene_of(job->plan, unit)));
    if (!job->flight)
        TRY(sdm_alloc(ctx, &job->flight, SDM_MOST_FLIGHTS, sizeof *job->flight, "the units in work"));
    SdmFlight *const f = &job->flight[(job->first_flight + job->flights) % SDM_MOST_FLIGHTS];
    *f = (SdmFlight){.unit = unit, .work = {.slot = -1}, .started_s = sdm_now_s()};
    st = begin_unit(ctx, job, f);
    if (st == SDM_OK)
        job->flights++;
    else
        (void)note(ctx, job, unit, st);
done:
    return st;
}

SdmStatus sdm_job_end(SdmContext *ctx, SdmJob *job, SdmJobDone *done)
{
    SdmFlight *const f = &job->flight[job->first_flight];
    job->first_flight = (job->first_flight + 1) % SDM_MOST_FLIGHTS;
    job->flights--;
    const SdmStatus st = f->is_block ? end_tile(ctx, job, f) : SDM_OK;
    if (st == SDM_OK && !f->resumed)
        job->made[f->unit] = 1;
    sdm_lease_release(&f->at_work);
    *done =
        (SdmJobDone){.unit = f->unit, .resumed = f->resumed, .seconds = sdm_now_s() - f->started_s};
    return note(ctx, job, f->unit, st);
}

SdmStatus sdm_job_save_others(SdmContext *ctx, SdmJob *job, SdmStatus st)
{
    SdmJobDone done;
    char why[1024];
    snprintf(why, sizeof why, "%s", sdm_error(ctx));
    while (st != SDM_ERR_STOPPED && sdm_job_flights(job) > 0)
        (void)sdm_job_end(ctx, job, &done);
    return sdm_fail(ctx, st, "%s", why);
}

void sdm_job_abandon(SdmJob *job)
{
    for (; job->flights > 0; job->flights--) {
        SdmFlight *const f = &job->flight[job->first_flight];
        sdm_block_abandon(job->worker, &f->work);
        sdm_lease_release(&f->at_work);
        job->first_flight = (job->first_flight + 1) % SDM_MOST_FLIGHTS;
    }
    sdm_free(&job->flight);
}
