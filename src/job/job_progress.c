/* What a job folder holds -> done, running, failed and missing units of each scene.  Computes and changes
 * nothing. */
// SPDX-License-Identifier: Apache-2.0
#include "core/lease.h"
#include "job/job.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEEN_FILE = 1, SEEN_RUNNING = 2, SEEN_ERROR = 4, SEEN_PREPARED = 1, SEEN_MERGED = 2, SEEN_FAILURE = 4,
       SEEN_MERGING = 8 };

struct SdmJobProgress {
    SdmJob job;
    uint8_t *unit, *scene; /* what was seen of each */
    double now_s;          /* of the file system */
    double done_cpu_s, done_expected_s, left_expected_s;
    int running;
};

static void note_file(SdmJobProgress *r, const SdmJobKeys *keys, const char *name)
{
    static const char *const end[2][4] = {{".sdm", ".merged", ".err", ".merging"},
                                          {".sdm", ".run", ".err", "-"}};
    const char *rest;
    int64_t unit;
    const SdmPlanScene *const s = sdm_job_keys_find(keys, name, &unit, &rest);
    for (int i = 0; s && i < 4; i++)
        if (strcmp(rest, end[unit >= 0][i]) == 0)
            *(unit >= 0 ? &r->unit[unit] : &r->scene[s->number]) |= (uint8_t)(1 << i);
}

SdmStatus sdm_job_progress_open(SdmContext *ctx, const char *folder, SdmJobProgress **out)
{
    SdmStatus st = SDM_OK;
    SdmJobProgress *r = NULL;
    SdmJobKeys keys = {.count = 0};
    DIR *dir = NULL;
    *out = NULL;
    TRY(sdm_alloc(ctx, &r, 1, sizeof *r, "the progress of the job"));
    TRY(sdm_job_open(ctx, folder, sdm_options(ctx), &r->job));
    TRY(sdm_alloc(ctx, &r->unit, (size_t)r->job.plan->units + 1, 1, "the progress of the job"));
    TRY(sdm_alloc(ctx, &r->scene, (size_t)r->job.plan->count, 1, "the progress of the job"));
    TRY(sdm_job_keys_open(ctx, r->job.plan, &keys));
    dir = opendir(folder);
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir))
        note_file(r, &keys, e->d_name);
    r->now_s = sdm_lease_clock_s(folder);
    *out = r;
    r = NULL;
done:
    sdm_job_keys_close(&keys);
    if (dir)
        closedir(dir);
    sdm_job_progress_close(&r);
    return st;
}

void sdm_job_progress_close(SdmJobProgress **out)
{
    SdmJobProgress *const r = out ? *out : NULL;
    if (!r)
        return;
    sdm_job_close(&r->job);
    sdm_free(&r->unit);
    sdm_free(&r->scene);
    sdm_free(out);
}

int sdm_job_progress_scenes(const SdmJobProgress *r)
{
    return r->job.plan->count;
}

/* Is a process at work on unit or scene n? */
static bool is_live(const SdmJobProgress *r, SdmJobFile kind, int64_t n)
{
    char path[SDM_PATH_SIZE];
    return sdm_job_file(NULL, &r->job, kind, n, path) == SDM_OK && sdm_lease_is_live(path, r->now_s);
}

static bool is_done(const SdmJobProgress *r, const SdmPlanScene *s, int64_t unit, double *took_s)
{
    char path[SDM_PATH_SIZE];
    double stage_s[SDM_UNIT_STAGES];
    const bool preparation = !sdm_plan_tile_of(s, unit);
    *took_s = 0.0;
    if (!(preparation ? r->scene[s->number] & SEEN_PREPARED : r->unit[unit] & SEEN_FILE))
        return false;
    if (sdm_job_file(NULL, &r->job, preparation ? SDM_JOB_PREPARED : SDM_JOB_UNIT,
                     preparation ? s->number : unit, path) != SDM_OK ||
        !sdm_unit_peek(path, sdm_plan_unit_fingerprint(s, unit), preparation, stage_s))
        return false;
    for (int i = 0; i < SDM_UNIT_STAGES; i++)
        *took_s += stage_s[i];
    return true;
}

static void look_at_unit(SdmJobProgress *r, const SdmPlanScene *s, int64_t unit, SdmSceneProgress *out)
{
    double took_s;
    const double expected = sdm_plan_unit_s(s, unit);
    if (is_done(r, s, unit, &took_s)) {
        out->done++;
        r->done_cpu_s += took_s;
        r->done_expected_s += expected;
        return;
    }
    r->left_expected_s += expected;
    if ((r->unit[unit] & SEEN_RUNNING) && is_live(r, SDM_JOB_RUNNING, unit)) {
        out->running++;
        r->running++;
    } else if (r->unit[unit] & SEEN_ERROR) {
        bool is_final;
        (void)sdm_job_read_failure(&r->job, SDM_JOB_ERROR, unit, out->error, sizeof out->error, &is_final);
        out->is_permanent = is_final && (out->is_permanent || out->failed == 0);
        out->failed++;
        out->error_unit = unit;
    } else {
        out->missing++;
    }
}

static bool is_final_failure(const SdmJobProgress *r, int64_t unit)
{
    char text[16];
    bool is_final;
    return sdm_job_read_failure(&r->job, SDM_JOB_ERROR, unit, text, sizeof text, &is_final) && is_final;
}

SdmStatus sdm_job_progress_scene(SdmContext *ctx, SdmJobProgress *r, int i, SdmSceneProgress *out)
{
    *out = (SdmSceneProgress){.number = i, .error_unit = -1};
    if (i < 0 || i >= r->job.plan->count)
        return sdm_fail(ctx, SDM_ERR_USAGE, "scene %d does not exist; %s has %d scenes", i, r->job.folder,
                        r->job.plan->count);
    const SdmPlanScene *const s = &r->job.plan->scene[i];
    snprintf(out->name, sizeof out->name, "%s", s->name);
    out->first_unit = s->first_unit;
    out->units = s->unit_count;
    if (s->error) {
        out->state = "not planned";
        out->is_permanent = true;
        snprintf(out->error, sizeof out->error, "%s", s->error);
        return SDM_OK;
    }
    if ((r->scene[i] & SEEN_MERGED) && sdm_job_is_merged(&r->job, s)) {
        out->state = "merged";
        out->done = out->units;
        return SDM_OK;
    }
    for (int64_t unit = s->first_unit; unit < s->first_unit + s->unit_count; unit++)
        look_at_unit(r, s, unit, out);
    if (r->scene[i] & SEEN_FAILURE && out->error_unit < 0)
        (void)sdm_job_read_failure(&r->job, SDM_JOB_FAILURE, i, out->error, sizeof out->error,
                                   &out->is_permanent);
    const bool unprepared = s->tiled && !(r->scene[i] & SEEN_PREPARED) && out->failed &&
                            is_final_failure(r, s->first_unit);
    out->is_permanent = (out->is_permanent && !out->running && !out->missing) || unprepared;
    const bool merging = (r->scene[i] & SEEN_MERGING) && is_live(r, SDM_JOB_MERGING, i);
    out->state = merging && out->done      ? "merging"
                 : out->done == out->units ? (*out->error ? "merge failed" : "ready to merge")
                 : out->running            ? "running"
                 : out->failed             ? "failed"
                 : out->done               ? "begun"
                                           : "not begun";
    return SDM_OK;
}

/* Expected seconds, put right by what the units done took, shared by those at work. */
double sdm_job_progress_left_s(const SdmJobProgress *r)
{
    const double ratio =
        r->done_expected_s > 0.0 && r->done_cpu_s > 0.0 ? r->done_cpu_s / r->done_expected_s : 1.0;
    return r->running || r->left_expected_s == 0.0 ? r->left_expected_s * ratio / fmax(r->running, 1.0) : NAN;
}

double sdm_job_progress_work_s(const SdmJobProgress *r)
{
    const double ratio =
        r->done_expected_s > 0.0 && r->done_cpu_s > 0.0 ? r->done_cpu_s / r->done_expected_s : 1.0;
    return r->left_expected_s * ratio;
}
