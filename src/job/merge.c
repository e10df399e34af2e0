/* Blocks of a scene -> its products. */
// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"
#include "job/merge_report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

/* Less than that is not a DEM but a handful of accidents. */
enum { LEAST_VALID = 100, CELLS_PER_VALID = 2000 };

typedef struct Merge {
    SdmJob *job;
    const SdmPlanScene *scene;
    SdmSceneReport report;
    SdmInputFile *files;
    int64_t cells, valid; /* of the DEM; those with a height that was matched */
    SdmQualitySums trust;
    SdmQuality doubts;
} Merge;

bool sdm_job_is_merged(const SdmJob *job, const SdmPlanScene *scene)
{
    char path[SDM_PATH_SIZE];
    uint64_t found = 0;
    if (sdm_job_file(NULL, job, SDM_JOB_MERGED, scene->number, path) != SDM_OK)
        return false;
    FILE *const f = fopen(path, "r");
    const bool same = f && fscanf(f, "%" SCNx64, &found) == 1 && found == scene->whole;
    if (f)
        fclose(f);
    return same;
}

static SdmStatus mark_merged(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *scene)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE], text[32];
    TRY(sdm_job_file(ctx, job, SDM_JOB_MERGED, scene->number, path));
    const int n = snprintf(text, sizeof text, "%016" PRIx64 "\n", scene->whole);
    TRY(sdm_file_write(ctx, path, text, (size_t)n));
done:
    return st;
}

static void count_valid(const SdmContext *ctx, Merge *m, const SdmBlock *b)
{
    const int64_t n = b->w * b->h;
    m->cells += n;
    for (int64_t i = 0; i < n; i++)
        m->valid += (b->mask[i] & SDM_QA_VALID) != 0;
    const SdmPrepared *const p = &m->job->prepared;
    sdm_quality_add(&m->trust, b, 1.0 / p->frame.gsd_m, (double)p->settings.ray_error_limit_px, sdm_threads(ctx));
}

static SdmStatus check_valid(SdmContext *ctx, const Merge *m)
{
    if (m->valid >= LEAST_VALID && m->valid >= m->cells / CELLS_PER_VALID)
        return SDM_OK;
    m->job->hopeless = true;
    return sdm_fail(
        ctx, SDM_ERR_DATA,
        "too few matches: %lld of %lld cells have a height, at least %lld are needed for a "
        "DEM of %s%s%s; %s",
        (long long)m->valid, (long long)m->cells,
        (long long)fmax((double)LEAST_VALID, (double)(m->cells / CELLS_PER_VALID)), m->report.left,
        *m->report.right ? " and " : "", m->report.right,
        sdm_few_matches_hint(sdm_options(ctx), sdm_frame_pixels(&m->job->prepared.frame)));
}

/* One line for the DEM, whatever there is to say. */
static void tell_doubts(SdmContext *ctx, const SdmQuality *d)
{
    char text[SDM_MAX_WARNINGS * sizeof d->text[0]] = "";
    for (int i = 0, n = 0; i < d->count; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%s", i ? "; " : "", d->text[i]);
    if (d->count)
        sdm_log(ctx, SDM_LOG_WARNING, 9, "%s is doubtful: %s", sdm_options(ctx)->output, text);
}

static SdmStatus judge(SdmContext *ctx, Merge *m)
{
    const SdmStatus st =
        sdm_quality_assess(ctx, sdm_options(ctx), &m->trust, &m->job->prepared, m->report.left, m->report.right, &m->doubts);
    m->job->hopeless |= st != SDM_OK;
    m->report.quality = &m->doubts;
    return st;
}

/* The work of other processes counts for the report, too. */
static void add_times(SdmContext *ctx, const SdmJob *job, int64_t unit, const double stage_s[SDM_UNIT_STAGES],
                      double *wall_s)
{
    for (int i = 0; i < SDM_UNIT_STAGES && !job->made[unit]; i++) {
        sdm_stage_add(ctx, i, stage_s[i]);
        *wall_s += stage_s[i];
    }
}

static SdmStatus read_block(SdmContext *ctx, Merge *m, int64_t unit, SdmBlock *b)
{
    SdmStatus st = SDM_OK;
    int64_t cells[4];
    uint64_t fingerprint;
    char path[SDM_PATH_SIZE];
    double stage_s[SDM_UNIT_STAGES];
    TRY(sdm_job_tile(ctx, m->scene, unit, cells, &fingerprint));
    TRY(sdm_job_file(ctx, m->job, SDM_JOB_UNIT, unit, path));
    TRY(sdm_unit_read(ctx, path, fingerprint, b, stage_s));
    add_times(ctx, m->job, unit, stage_s, &m->report.work.wall_s);
done:
    return st;
}

static SdmStatus write_block(SdmContext *ctx, Merge *m, SdmProduct *product, const SdmBlock *b)
{
    count_valid(ctx, m, b);
    return b->w > 0 && b->h > 0 ? sdm_product_write(ctx, product, b) : SDM_OK;
}

static SdmStatus write_blocks(SdmContext *ctx, Merge *m, SdmProduct *product)
{
    SdmStatus st = SDM_OK;
    SdmJob *const job = m->job;
    SdmBlock b = {0};
    const int64_t first = m->scene->first_unit, end = first + m->scene->unit_count;
    for (int64_t unit = first + (m->scene->tiled ? 1 : 0); unit < end; unit++) {
        const bool kept = job->is_kept && unit == end - 1;
        TRY(sdm_check_stop(ctx));
        if (!kept)
            TRY(read_block(ctx, m, unit, &b));
        m->report.work.blocks_resumed += !job->made[unit];
        TRY(write_block(ctx, m, product, kept ? &job->kept : &b));
        sdm_block_free(&b);
    }
    TRY(check_valid(ctx, m));
    TRY(judge(ctx, m));
done:
    sdm_block_free(&b);
    return st;
}

/* Units of the scene that are not there, or not whole, or of another plan. */
static SdmStatus find_missing(SdmContext *ctx, SdmJob *job, const SdmPlanScene *s, int64_t *missing,
                              int64_t *count)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE];
    *count = 0;
    if (sdm_job_read_prepared(ctx, job) != SDM_OK)
        missing[(*count)++] = s->first_unit;
    const int64_t end = job->alone ? 0 : s->first_unit + s->unit_count; /* run has just seen to them all */
    for (int64_t unit = s->first_unit + (s->tiled ? 1 : 0); unit < end; unit++) {
        int64_t cells[4];
        uint64_t fingerprint;
        TRY(sdm_check_stop(ctx));
        TRY(sdm_job_tile(ctx, s, unit, cells, &fingerprint));
        TRY(sdm_job_file(ctx, job, SDM_JOB_UNIT, unit, path));
        if (sdm_unit_check(NULL, path, fingerprint) != SDM_OK && !(*count > 0 && missing[*count - 1] == unit))
            missing[(*count)++] = unit;
    }
    if (*count > 0)
        st = sdm_fail(ctx, SDM_ERR_DATA, "%s: %lld of %lld units are missing or damaged", s->name,
                      (long long)*count, (long long)s->unit_count);
done:
    return st;
}

static SdmStatus check_output(SdmContext *ctx, const Merge *m)
{
    const char *paths[64];
    int n = 0;
    for (; n < m->report.file_count && n < 64; n++)
        paths[n] = m->files[n].path;
    return sdm_product_check(ctx, sdm_options(ctx), paths, n);
}

SdmStatus sdm_job_check_output(SdmContext *ctx, const SdmJob *job)
{
    Merge m = {.scene = &job->scene};
    SdmStatus st = sdm_merge_inputs(ctx, job, m.scene, &m.files, &m.report.file_count);
    if (st == SDM_OK)
        st = check_output(ctx, &m);
    sdm_free(&m.files);
    return st;
}

/* The products are there: mark that, and remove what they were made from. */
static SdmStatus leave_job(SdmContext *ctx, const SdmJob *job, const SdmPlanScene *s)
{
    SdmStatus st = SDM_OK;
    const bool keep = sdm_options(ctx)->keep_job;
    if (!job->alone)
        TRY(mark_merged(ctx, job, s));
    if (!keep && job->alone)
        sdm_job_remove(job->folder);
    else if (!keep)
        sdm_job_sweep(ctx, job, s);
done:
    return st;
}

static SdmStatus build(SdmContext *ctx, SdmJob *job, const SdmPlanScene *s)
{
    SdmStatus st = SDM_OK;
    SdmProduct *product = NULL;
    Merge m = {.job = job, .scene = s};
    const double t0 = sdm_now_s();
    sdm_progress(ctx, 9, 0.87, "writing");
    TRY(sdm_merge_report(ctx, job, s, &m.report));
    TRY(sdm_merge_inputs(ctx, job, s, &m.files, &m.report.file_count));
    m.report.files = m.files;
    TRY(check_output(ctx, &m));
    add_times(ctx, job, s->first_unit, job->prepared_s, &m.report.work.wall_s);
    TRY(sdm_scene_product_open(ctx, sdm_options(ctx), &job->prepared.grid, &m.report, &product));
    TRY(write_blocks(ctx, &m, product));
    m.report.work.wall_s += sdm_now_s() - (job->alone ? job->started_s : t0);
    TRY(sdm_scene_product_finish(ctx, product, &m.report));
    tell_doubts(ctx, &m.doubts);
    /* before the product is closed: till then a merge that is stopped can tell that it was done */
    TRY(leave_job(ctx, job, s));
done:
    if (st == SDM_OK)
        sdm_lease_release(&job->lease); /* before the last trace of a finished run goes */
    sdm_product_close(&product);
    sdm_free(&m.files);
    return st;
}

/* A merge that was stopped after it had named every product: only tidying is left. */
static SdmStatus tidy(SdmContext *ctx, SdmJob *job, const SdmPlanScene *s)
{
    SdmStatus st = SDM_OK;
    TRY(leave_job(ctx, job, s));
    sdm_lease_release(&job->lease);
    sdm_product_tidy(ctx, sdm_options(ctx)->output);
done:
    return st;
}

/* A scene that was merged before: *already when that is all, else it is to be merged again. */
static SdmStatus take_merged(SdmContext *ctx, SdmJob *job, int64_t *missing, int64_t *missing_count,
                             bool *already)
{
    char path[SDM_PATH_SIZE];
    const char *const output = sdm_options(ctx)->output;
    const bool there = access(output, F_OK) == 0;
    *already = there && !job->redo;
    const SdmStatus st = *already ? SDM_OK : find_missing(ctx, job, &job->scene, missing, missing_count);
    if (st == SDM_OK || st == SDM_ERR_STOPPED)
        return st;
    if (!there && job->redo && sdm_job_file(NULL, job, SDM_JOB_MERGED, job->scene.number, path) == SDM_OK) {
        unlink(path); /* so that tile computes its units again */
        return st;
    }
    *missing_count = 0;
    if (!there && job->elsewhere)
        return sdm_fail(
            ctx, SDM_ERR_DATA,
            "%s was merged before and its units are removed, but %s is not there; copy the DEM from "
            "where it is, or merge with --overwrite, which tells the units to compute again",
            job->scene.name, output);
    if (!there)
        sdm_log(
            ctx, SDM_LOG_WARNING, 9,
            "%s was merged before, but is not there now; if it was not moved away, merge with --overwrite",
            output);
    *already = true;
    return SDM_OK;
}

/* Merge a scene whose marker is held; its failure is kept, for status. */
static SdmStatus merge_held(SdmContext *ctx, SdmJob *job, int64_t *missing, int64_t *missing_count,
                            bool *already)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE];
    const SdmPlanScene *const s = &job->scene;
    if (sdm_product_finished(ctx, sdm_options(ctx)->output, s->whole)) {
        *already = true;
        TRY(tidy(ctx, job, s));
        goto done;
    }
    if (!job->alone && sdm_job_is_merged(job, s)) {
        TRY(take_merged(ctx, job, missing, missing_count, already));
        if (*already)
            goto done;
    }
    if (!job->alone)
        TRY(sdm_plan_check_files(ctx, job->folder, s, false));
    TRY(find_missing(ctx, job, s, missing, missing_count));
    st = build(ctx, job, s);
    if (!job->alone && sdm_job_file(NULL, job, SDM_JOB_FAILURE, s->number, path) == SDM_OK) {
        if (st == SDM_OK)
            unlink(path);
        else if (st != SDM_ERR_STOPPED)
            (void)sdm_file_write(NULL, path, sdm_error(ctx), strlen(sdm_error(ctx)));
    }
done:
    return st;
}

/* Several merges of one job at once take turns at a scene; who comes second finds it merged. */
static SdmStatus merge_in_turn(SdmContext *ctx, SdmJob *job, int64_t *missing, int64_t *missing_count,
                               bool *already)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE];
    SdmLease *turn = NULL;
    if (!job->redo && access(sdm_options(ctx)->output, F_OK) == 0 && sdm_job_is_merged(job, &job->scene) &&
        !sdm_product_finished(ctx, sdm_options(ctx)->output, job->scene.whole)) {
        *already = true;
        goto done;
    }
    TRY(sdm_job_file(ctx, job, SDM_JOB_MERGING, job->scene.number, path));
    TRY(sdm_lease_wait(ctx, path, job->scene.name, &turn));
    if (job->elsewhere) /* another job may merge into that folder, too */
        TRY(sdm_lease_take_output(ctx, sdm_options(ctx)->output, &job->lease));
    st = merge_held(ctx, job, missing, missing_count, already);
done:
    sdm_lease_release(&job->lease);
    sdm_lease_release(&turn);
    return st;
}

SdmStatus sdm_job_merge(SdmContext *ctx, SdmJob *job, int number, const char *output, int64_t *missing,
                        int64_t *missing_count, bool *already)
{
    SdmStatus st = SDM_OK;
    SdmOptions opt = *sdm_options(ctx);
    const SdmOptions before = opt;
    opt.output = output;
    *missing_count = 0;
    *already = false;
    TRY(sdm_set_options(ctx, &opt));
    TRY(sdm_job_use(ctx, job, number));
    if (job->scene.error)
        TRY(sdm_fail(ctx, SDM_ERR_INPUT, "%s", job->scene.error));
    if (job->alone)
        TRY(merge_held(ctx, job, missing, missing_count, already));
    else
        TRY(merge_in_turn(ctx, job, missing, missing_count, already));
done:
    (void)sdm_set_options(ctx, &before);
    return st;
}
