/* The command merge: finished units of a job folder -> the products of its scenes. */
// SPDX-License-Identifier: Apache-2.0
#include "core/lease.h"
#include "job/build_products.h"
#include "job/json_fields.h"
#include "job/tries.h"
#include "product/output_files.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Merge {
    const SdmMergeRequest *q;
    SdmMergeSummary *out;
    SdmJob job;
    bool again;              /* --overwrite was given: merged scenes are merged again */
    bool is_file;            /* the output is the name of the only scene's DEM, not a folder */
    int64_t *missing, count; /* units of all scenes that are not there */
    char first[1024];        /* why the first scene failed that does not only miss units */
    char doubt[2048];        /* the first doubt of the first scene that has one */
} Merge;

/* A scene of it. */
typedef struct SceneMerge {
    const SdmJob *job;
    const SdmPlanScene *scene;
    SdmOptions options; /* of its products: output, overwrite */
    bool again, is_elsewhere;
    SdmLease *turn, *output; /* held: of the scene, and of the products where these lie elsewhere */
    SdmPrepared prepared;
    double prepared_s[SDM_UNIT_STAGES];
    int64_t *missing, count; /* its units that are not there */
    bool already;            /* nothing was to be done */
    SdmUsage mark;           /* what was used before is not this scene's */
    SdmTryWork attempt;      /* what it uses */
} SceneMerge;

/* ---- one scene ---- */

/* A file that is there but cannot be used. */
static void tell_unusable(SdmContext *ctx, const char *path)
{
    if (access(path, F_OK) == 0)
        sdm_log(ctx, SDM_LOG_VERBOSE, 9, "%s", sdm_error(ctx));
}

static SdmStatus find_missing_unit(SdmContext *ctx, SceneMerge *m, int64_t unit)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE];
    TRY(sdm_check_stop(ctx));
    TRY(sdm_job_file(ctx, m->job, SDM_JOB_UNIT, unit, path));
    if (sdm_unit_check(ctx, path, sdm_plan_unit_fingerprint(m->scene, unit)) == SDM_OK)
        goto done;
    tell_unusable(ctx, path);
    if (m->count == 0 || m->missing[m->count - 1] != unit)
        m->missing[m->count++] = unit;
done:
    return st;
}

/* Did every unit that is missing fail so that another try would, too, or the preparation?  Then the sentence
 * of the first. */
static bool is_permanent_failure(const SceneMerge *m, char *why, size_t size)
{
    bool all = m->count > 0, is_final;
    char other[16];
    for (int64_t i = 0; i < m->count && all; i++) {
        (void)sdm_job_read_failure(m->job, SDM_JOB_ERROR, m->missing[i], i ? other : why,
                                   i ? sizeof other : size, &is_final);
        if (is_final && m->scene->tiled && m->missing[i] == m->scene->first_unit)
            return true;
        all = is_final;
    }
    return all;
}

/* Read the prepared scene; list the units that are missing, damaged, or of another plan or build. */
static SdmStatus find_missing(SdmContext *ctx, SceneMerge *m)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE], why[1024];
    const SdmPlanScene *const s = m->scene;
    m->count = 0;
    sdm_prepared_free(&m->prepared);
    if (sdm_job_read_prepared(ctx, m->job, s, &m->prepared, m->prepared_s) != SDM_OK) {
        m->missing[m->count++] = s->first_unit;
        if (sdm_job_file(NULL, m->job, SDM_JOB_PREPARED, s->number, path) == SDM_OK)
            tell_unusable(ctx, path);
    }
    for (int64_t unit = s->first_unit + s->tiled; unit < s->first_unit + s->unit_count; unit++)
        TRY(find_missing_unit(ctx, m, unit));
    if (is_permanent_failure(m, why, sizeof why)) {
        m->count = 0; /* none that could be computed */
        TRY(sdm_fail(ctx, SDM_ERR_DATA, "%s: %s", s->name, why));
    }
    if (m->count > 0)
        st = sdm_fail(ctx, SDM_ERR_DATA, "%s: %lld of %lld units are missing or damaged", s->name,
                      (long long)m->count, (long long)s->unit_count);
done:
    return st;
}

static void end_try(SdmContext *ctx, SceneMerge *m, SdmStatus st)
{
    sdm_try_charge(ctx, &m->mark, &m->attempt);
    sdm_try_end(ctx, m->job, &m->attempt, st);
}

/* The products are there: mark that, gather what all tries used, and remove what the products were made from.
 * The try ends here, so that its record is gathered, too. */
static SdmStatus leave(SdmContext *ctx, SceneMerge *m)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_lease_check(ctx, m->turn));
    TRY(sdm_job_mark_merged(ctx, m->job, m->scene, m->options.output));
    end_try(ctx, m, SDM_OK);
    sdm_tries_gather(m->job, m->scene);
    if (!m->options.keep_job)
        sdm_job_sweep(m->job->folder, m->scene);
done:
    return st;
}

static SdmStatus build(SdmContext *ctx, SceneMerge *m)
{
    SdmStatus st = SDM_OK;
    SdmProduct *product = NULL;
    bool no_dem;
    const SdmBuildInput in = {.job = m->job,
                              .scene = m->scene,
                              .prepared = &m->prepared,
                              .prepared_s = m->prepared_s,
                              .started_s = sdm_now_s(),
                              .lease = m->output ? m->output : m->turn};
    TRY(sdm_build_products(ctx, &in, &m->options, &product, &no_dem));
    TRY(leave(ctx, m));
    sdm_lease_release(&m->output); /* before the last trace of a finished merge goes */
done:
    sdm_product_close(&product);
    return st;
}

/* A merge that was stopped after all products had got their names: only tidying is left. */
static SdmStatus tidy(SdmContext *ctx, SceneMerge *m)
{
    SdmStatus st = SDM_OK;
    TRY(leave(ctx, m));
    sdm_lease_release(&m->output);
    sdm_product_tidy(ctx, m->options.output, m->scene->product_fingerprint);
done:
    return st;
}

/* The scene was merged before, and at the output's name lies a file: is it that DEM? */
static SdmStatus take_file(SdmContext *ctx, SceneMerge *m)
{
    m->already = !m->is_elsewhere || !sdm_job_is_other_dem(m->job, m->scene, m->options.output);
    if (!m->already)
        return sdm_fail(
            ctx, SDM_ERR_IO,
            "%s was merged before, but %s is not the DEM that was written then; move it away, or merge "
            "with --overwrite to make the DEM again in its place",
            m->scene->name, m->options.output);
    if (!m->is_elsewhere && sdm_job_is_other_dem(m->job, m->scene, m->options.output))
        sdm_log(ctx, SDM_LOG_WARNING, 9, "%s was changed since it was merged; it is left as it is",
                m->options.output);
    return SDM_OK;
}

/* A scene that was merged before: `already` when that is all, else it is to be merged again. */
static SdmStatus take_merged(SdmContext *ctx, SceneMerge *m)
{
    char path[SDM_PATH_SIZE];
    const char *const output = m->options.output;
    const bool exists = access(output, F_OK) == 0;
    if (exists && !m->again)
        return take_file(ctx, m);
    const bool there = exists && !sdm_job_is_other_dem(m->job, m->scene, output);
    const SdmStatus st = find_missing(ctx, m);
    if (st == SDM_OK || st == SDM_ERR_STOPPED)
        return st;
    if (!there && m->again && sdm_job_file(NULL, m->job, SDM_JOB_MERGED, m->scene->number, path) == SDM_OK) {
        (void)sdm_file_write(NULL, path, "0\n", 2); /* tile computes its units again; what lies there is still
                                                     * the scene's own */
        return st;
    }
    m->count = 0;
    if (!there && m->is_elsewhere)
        return sdm_fail(
            ctx, SDM_ERR_DATA,
            "%s was merged before and its units are removed, but %s is not there; copy the DEM from "
            "where it is, or merge with --overwrite, which tells the units to compute again",
            m->scene->name, output);
    if (!there)
        sdm_log(
            ctx, SDM_LOG_WARNING, 9,
            "%s was merged before, but is not there now; if it was not moved away, merge with --overwrite",
            output);
    m->already = true;
    return SDM_OK;
}

/* Keep the failure of a scene for status, or remove that of the try before. */
static SdmStatus record(SdmContext *ctx, const SceneMerge *m, SdmStatus st)
{
    char path[SDM_PATH_SIZE];
    if (sdm_lease_check(NULL, m->turn) != SDM_OK)
        /* the reason for whatever failed */
        return st == SDM_ERR_STOPPED ? st : sdm_lease_check(ctx, m->turn);
    if (sdm_job_file(NULL, m->job, SDM_JOB_FAILURE, m->scene->number, path) != SDM_OK)
        return st;
    if (st == SDM_OK)
        unlink(path);
    else if (st != SDM_ERR_STOPPED)
        sdm_job_keep_failure(ctx, m->job, m->scene, path, st);
    return st;
}

/* Build, and keep what that used. */
static SdmStatus build_recorded(SdmContext *ctx, SceneMerge *m)
{
    sdm_memory_resident_restart(ctx);
    sdm_try_begin(ctx, m->job, m->scene, -1, &m->attempt);
    const SdmStatus st = build(ctx, m);
    end_try(ctx, m, st);
    return st;
}

/* Merge a scene whose lease is held. */
static SdmStatus merge_held(SdmContext *ctx, SceneMerge *m)
{
    SdmStatus st = SDM_OK;
    sdm_usage_now(ctx, &m->mark);
    if (sdm_product_finished(ctx, m->options.output, m->scene->product_fingerprint)) {
        m->already = true;
        return tidy(ctx, m);
    }
    if (sdm_job_is_merged(m->job, m->scene)) {
        TRY(take_merged(ctx, m));
        if (m->already)
            return SDM_OK;
    }
    TRY(sdm_plan_check_files(ctx, m->job->folder, m->scene, false));
    TRY(find_missing(ctx, m));
    st = record(ctx, m, build_recorded(ctx, m));
done:
    return st;
}

/* Several merges of one job at once take turns at a scene; the second finds it merged. */
static SdmStatus merge_in_turn(SdmContext *ctx, SceneMerge *m)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE];
    if (!m->again && access(m->options.output, F_OK) == 0 && sdm_job_is_merged(m->job, m->scene) &&
        !sdm_product_finished(ctx, m->options.output, m->scene->product_fingerprint))
        return take_file(ctx, m);
    TRY(sdm_job_file(ctx, m->job, SDM_JOB_MERGING, m->scene->number, path));
    TRY(sdm_lease_wait(ctx, path, m->scene->name, &m->turn));
    if (m->is_elsewhere) /* another job may merge into that folder, too */
        TRY(sdm_lease_take_output(ctx, m->options.output, &m->output));
    st = merge_held(ctx, m);
done:
    sdm_lease_release(&m->output);
    sdm_lease_release(&m->turn);
    return st;
}

/* ---- all scenes ---- */

/* Does the report of a merged scene have doubts? */
static void count_doubts(SdmContext *ctx, Merge *m, const char *output)
{
    SdmOutputFiles *files = NULL;
    cJSON *report = NULL;
    if (sdm_alloc(ctx, &files, 1, sizeof *files, "names") != SDM_OK ||
        sdm_output_files_name(ctx, output, files) != SDM_OK)
        goto done;
    report = sdm_json_read(ctx, files->path[SDM_FILE_JSON]);
    const char *const doubt =
        cJSON_GetStringValue(cJSON_GetArrayItem(sdm_json_member(report, "trust", "warnings"), 0));
    if (doubt && m->out->doubtful++ == 0)
        snprintf(m->doubt, sizeof m->doubt, "%.800s: %.1200s", output, doubt);
done:
    cJSON_Delete(report);
    sdm_free(&files);
}

/* Count what became of a scene; what ends all is returned. */
static SdmStatus count_scene(SdmContext *ctx, Merge *m, const SceneMerge *one, SdmStatus st)
{
    m->count += one->count;
    if (st == SDM_ERR_STOPPED)
        return st;
    if (st == SDM_OK) {
        m->out->merged++;
        m->out->already += one->already;
        count_doubts(ctx, m, one->options.output);
        sdm_log(ctx, SDM_LOG_INFO, 9, "%s: %s", one->options.output,
                one->already ? "was merged already" : "done");
        return SDM_OK;
    }
    m->out->failed += one->count == 0;
    m->out->permanent += one->count == 0 && sdm_job_is_final(one->job, one->scene, st);
    m->out->incomplete += one->count > 0;
    sdm_log(ctx, SDM_LOG_WARNING, 9, "%s", sdm_error(ctx));
    if (one->count == 0 && !m->first[0])
        snprintf(m->first, sizeof m->first, "%s", sdm_error(ctx));
    return SDM_OK;
}

static SdmStatus merge_scene(SdmContext *ctx, Merge *m, int number)
{
    SdmStatus st = SDM_OK;
    char output[SDM_PATH_SIZE], mark[SDM_PATH_SIZE];
    const char *const folder = m->q->folder;
    SceneMerge one = {.job = &m->job,
                      .scene = &m->job.plan->scene[number],
                      .options = m->job.options,
                      .again = m->again,
                      .is_elsewhere = folder != NULL,
                      .missing = m->missing + m->count};
    if (m->is_file)
        TRY(sdm_format(ctx, output, sizeof output, "%s", folder));
    else
        TRY(sdm_format(ctx, output, sizeof output, "%s%s/%s.tif", folder ? folder : m->job.folder,
                       folder ? "" : "/dem", one.scene->name));
    one.options.output = output;
    TRY(sdm_job_file(ctx, &m->job, SDM_JOB_MERGED, number, mark));
    one.options.overwrite = m->again || (!folder && access(mark, F_OK) == 0); /* the scene's own products */
    if (one.scene->error)
        st = sdm_fail(ctx, SDM_ERR_INPUT, "%s", one.scene->error);
    else
        st = merge_in_turn(ctx, &one);
    st = count_scene(ctx, m, &one, st);
done:
    sdm_prepared_free(&one.prepared);
    return st;
}

/* missing.txt: the units that are missing, one a line. */
static SdmStatus write_missing(SdmContext *ctx, const Merge *m, const char *path)
{
    SdmStatus st = SDM_OK;
    char *text = NULL;
    size_t n = 0;
    if (!m->count)
        unlink(path);
    if (!m->count)
        return SDM_OK;
    TRY(sdm_alloc(ctx, &text, (size_t)m->count, 24, "the missing units"));
    for (int64_t i = 0; i < m->count; i++)
        n += (size_t)snprintf(text + n, 24, "%lld\n", (long long)m->missing[i]);
    TRY(sdm_file_write(ctx, path, text, n));
done:
    sdm_free(&text);
    return st;
}

/* The sentence that tells which units are missing, and how to run them. */
static SdmStatus tell_missing(SdmContext *ctx, const Merge *m)
{
    SdmStatus st = SDM_OK;
    char ranges[400], path[SDM_PATH_SIZE], list[2 * SDM_PATH_SIZE], job[2 * SDM_PATH_SIZE];
    const int left = m->out->failed + m->out->incomplete;
    TRY(sdm_path_join(ctx, m->job.folder, "missing.txt", path));
    TRY(write_missing(ctx, m, path));
    if (!left)
        return SDM_OK;
    sdm_job_ranges(m->missing, m->count, ranges, sizeof ranges);
    sdm_path_quote(path, list, sizeof list);
    sdm_path_quote(m->job.folder, job, sizeof job);
    if (!m->count)
        return sdm_fail(ctx, SDM_ERR_DATA,
                        "%d of %d scenes cannot be merged, the first because of this: %.700s", left,
                        m->out->scenes, m->first);
    if (strstr(ranges, "..."))
        return sdm_fail(
            ctx, SDM_ERR_DATA,
            "%d of %d scenes cannot be merged: %lld units are missing or damaged, %s; run xargs -a %s "
            "-n 1 stereodem tile %s",
            left, m->out->scenes, (long long)m->count, ranges, list, job);
    return sdm_fail(
        ctx, SDM_ERR_DATA,
        "%d of %d scenes cannot be merged: units %s are missing or damaged; run stereodem tile %s %s", left,
        m->out->scenes, ranges, job, ranges);
done:
    return st;
}

/* Does the output name a DEM? */
static bool is_dem_name(const char *output)
{
    struct stat s;
    return output && sdm_output_stem(output) < strlen(output) &&
           (stat(output, &s) != 0 || !S_ISDIR(s.st_mode));
}

/* The folder of the products.  *made: it was not there. */
static SdmStatus make_folder(SdmContext *ctx, const SdmMergeRequest *q, bool *made)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE];
    if (q->folder) {
        *made = access(q->folder, F_OK) != 0;
        return sdm_file_make_folder(ctx, q->folder);
    }
    TRY(sdm_path_join(ctx, q->job, "dem", path));
    TRY(sdm_file_make_folder(ctx, path));
done:
    return st;
}

SdmStatus sdm_merge(SdmContext *ctx, const SdmMergeRequest *q, SdmMergeSummary *out)
{
    SdmStatus st = SDM_OK;
    Merge m = {.q = q, .out = out, .again = sdm_options(ctx)->overwrite};
    char what[64];
    bool made = false;
    *out = (SdmMergeSummary){0};
    TRY(sdm_job_open(ctx, q->job, sdm_options(ctx), &m.job));
    const int count = m.job.plan->count;
    const int first = q->scene >= 0 ? q->scene : 0, end = q->scene >= 0 ? q->scene + 1 : count;
    if (first >= count) {
        st = sdm_fail(ctx, SDM_ERR_USAGE, "scene %d does not exist; %s has %d scenes, from 0 to %d", first,
                      q->job, count, count - 1);
        goto done;
    }
    out->scenes = end - first;
    m.is_file = is_dem_name(q->folder);
    if (m.is_file && out->scenes > 1) {
        st = sdm_fail(ctx, SDM_ERR_USAGE,
                      "-o %s names one DEM, but %s has %d scenes; give the number of a scene behind the job, "
                      "or a folder",
                      q->folder, q->job, count);
        goto done;
    }
    TRY(sdm_alloc(ctx, &m.missing, (size_t)m.job.plan->units + 1, sizeof *m.missing, "the missing units"));
    if (!m.is_file)
        TRY(make_folder(ctx, q, &made));
    for (int s = first; s < end; s++) {
        TRY(sdm_check_stop(ctx));
        snprintf(what, sizeof what, "scene %d of %d", s - first + 1, end - first);
        if (end - first > 1)
            sdm_progress(ctx, 9, (double)(s - first) / (end - first), what);
        const SdmProgressPart around =
            sdm_progress_enter(ctx, (double)(s - first) / (end - first), (s - first + 1.0) / (end - first));
        st = merge_scene(ctx, &m, s);
        sdm_progress_leave(ctx, around);
        TRY(st);
    }
    out->missing = m.count;
    TRY(tell_missing(ctx, &m));
    if (sdm_options(ctx)->strict && out->doubtful)
        st = sdm_fail(ctx, SDM_ERR_DATA, "--strict: %d of %d DEMs are doubtful, the first is %s",
                      out->doubtful, out->merged, m.doubt);
done:
    if (made)
        rmdir(q->folder); /* only when nothing came into it */
    sdm_free(&m.missing);
    sdm_job_close(&m.job);
    return st;
}
