/* The command merge: finished units of a job folder -> the products of its scenes. */
// SPDX-License-Identifier: Apache-2.0
#include "core/lease.h"
#include "core/run_log.h"
#include "job/job_commands.h"
#include "product/output_files.h"
#include "product/product.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Merge {
    const char *output; /* as it was given, or NULL */
    SdmMergeSummary *out;
    SdmJob job;
    bool again;                 /* --overwrite was given: merged scenes are merged again */
    bool is_file;               /* the output is the name of the only scene's DEM, not a folder */
    char folder[SDM_PATH_SIZE]; /* of the products; "" for a file */
    int64_t *missing, count;    /* units of all scenes that are not there */
    char first[1024];           /* why the first scene failed that does not only miss units */
    char doubt[2048];           /* the first doubt of the first scene that has one */
} Merge;

/* A scene of it. */
typedef struct SceneMerge {
    const Merge *all;
    const SdmPlanScene *scene;
    SdmOptions options; /* of its products: output, overwrite */
    SdmLease *lease;    /* of the products */
    SdmPrepared prepared;
    SdmUsage prepared_used, used; /* used: by the merge */
    int64_t *missing, count;      /* its units that are not there */
    bool already;                 /* nothing was to be done */
    SdmUnitName name;             /* of the record */
    SdmProductRecord record;      /* of its products: of a merge before, or of this one */
} SceneMerge;

/* ---- one scene ---- */

/* A file that is there but cannot be used. */
static void tell_unusable(SdmContext *ctx, const char *path)
{
    if (access(path, F_OK) == 0)
        sdm_log(ctx, SDM_LOG_VERBOSE, 9, "%s", sdm_error(ctx));
}

/* True if every missing unit, or the preparation, would fail again; why: the sentence of the first. */
static bool is_permanent_failure(const SceneMerge *m, char *why, size_t size)
{
    bool all = m->count > 0, is_final;
    char other[16];
    for (int64_t i = 0; i < m->count && all; i++) {
        (void)sdm_job_read_failure(&m->all->job, m->scene, m->missing[i], i ? other : why,
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
    SdmUnitName name;
    char why[1024];
    const SdmPlanScene *const s = m->scene;
    m->count = 0;
    sdm_prepared_free(&m->prepared);
    if (sdm_job_read_prepared(ctx, &m->all->job, s, &m->prepared, &m->prepared_used) != SDM_OK) {
        m->missing[m->count++] = s->first_unit;
        if (sdm_job_unit(NULL, &m->all->job, s, SDM_UNIT_PREPARED, 0, &name) == SDM_OK)
            tell_unusable(ctx, name.path);
    }
    for (int64_t unit = s->first_unit + s->tiled; unit < s->first_unit + s->unit_count; unit++) {
        PASS(sdm_check_stop(ctx));
        PASS(sdm_job_unit(ctx, &m->all->job, s, SDM_UNIT_BLOCK, unit, &name));
        if (sdm_unit_check(ctx, &name) == SDM_OK)
            continue;
        tell_unusable(ctx, name.path);
        if (m->count == 0 || m->missing[m->count - 1] != unit)
            m->missing[m->count++] = unit;
    }
    if (is_permanent_failure(m, why, sizeof why)) {
        m->count = 0; /* none that could be computed */
        return sdm_fail(ctx, SDM_ERR_DATA, "%s: %s", s->name, why);
    }
    if (m->count > 0)
        return sdm_fail(ctx, SDM_ERR_DATA, "%s: %lld of %lld units are missing or damaged", s->name,
                        (long long)m->count, (long long)s->unit_count);
    return SDM_OK;
}

static SdmStatus build(SdmContext *ctx, SceneMerge *m)
{
    SdmStatus st = SDM_OK;
    SDM_CLOSED_BY(sdm_product_close) SdmProduct *product = NULL;
    bool no_dem, has_log = false;
    SdmUsage mark;
    sdm_memory_resident_restart(ctx);
    sdm_usage_now(ctx, &mark);
    sdm_product_record_free(&m->record);
    m->record = (SdmProductRecord){.units = 1 + m->scene->tile_count};
    TRY(sdm_alloc(ctx, &m->record.unit, (size_t)m->record.units, sizeof *m->record.unit, "what units used"));
    const SdmBuildInput in = {.job = &m->all->job,
                              .scene = m->scene,
                              .prepared = &m->prepared,
                              .prepared_used = &m->prepared_used,
                              .started_s = sdm_now_s(),
                              .lease = m->lease,
                              .used = m->record.unit};
    TRY(sdm_build_check_output(ctx, &m->all->job, m->scene, &m->options));
    has_log = sdm_run_log_begin(ctx, m->options.output, "merge");
    TRY(sdm_build_products(ctx, &in, &m->options, &product, &m->record.result, &no_dem));
    TRY(sdm_lease_check(ctx, m->lease)); /* the products are there: put that on record */
    sdm_product_record_dem(&m->record, m->options.output);
    sdm_usage_add(ctx, &mark, &m->used);
    TRY(sdm_unit_write(ctx, &m->name, &m->record, &m->used, true, m->lease));
    if (!m->options.keep_job)
        sdm_job_sweep(m->all->job.folder, m->scene);
    sdm_lease_release(&m->lease); /* before the last trace of a finished merge goes */
done:
    if (has_log)
        sdm_run_log_end(ctx, st);
    return st;
}

/* The scene was merged before, and at the output's name lies a file: is it that DEM? */
static SdmStatus take_file(SdmContext *ctx, SceneMerge *m)
{
    const bool other = sdm_product_record_is_other(&m->record, m->options.output);
    m->already = !m->all->output || !other;
    if (!m->already)
        return sdm_fail(
            ctx, SDM_ERR_IO,
            "%s was merged before, but %s is not the DEM that was written then; move it away, or merge "
            "with --overwrite to make the DEM again in its place",
            m->scene->name, m->options.output);
    if (other)
        sdm_log(ctx, SDM_LOG_WARNING, 9, "%s was changed since it was merged; it is left as it is",
                m->options.output);
    return SDM_OK;
}

/* A scene that was merged before: `already` when that is all, else it is to be merged again. */
static SdmStatus take_merged(SdmContext *ctx, SceneMerge *m)
{
    const char *const output = m->options.output;
    const bool exists = access(output, F_OK) == 0;
    if (exists && !m->all->again)
        return take_file(ctx, m);
    const bool there = exists && !sdm_product_record_is_other(&m->record, output);
    const SdmStatus st = find_missing(ctx, m);
    if (st == SDM_OK || st == SDM_ERR_STOPPED)
        return st;
    if (!there && m->all->again) {
        SdmUnitName of_none = m->name;
        of_none.fingerprint = 0; /* tile computes its units again; what lies there is still the scene's own */
        (void)sdm_unit_write(NULL, &of_none, &m->record, NULL, true, m->lease);
        return st;
    }
    m->count = 0;
    if (!there && m->all->output)
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

/* Read the record of a merge before; false: there is none. */
static bool find_record(SceneMerge *m)
{
    sdm_product_record_free(&m->record);
    return sdm_unit_read(NULL, &m->name, &m->record, NULL) == SDM_OK;
}

/* Merge a scene whose output is held. */
static SdmStatus merge_held(SdmContext *ctx, SceneMerge *m)
{
    if (find_record(m)) {
        PASS(take_merged(ctx, m));
        if (m->already) {
            if (!m->options.keep_job)
                sdm_job_sweep(m->all->job.folder, m->scene); /* stopped when that was left */
            sdm_product_tidy(ctx, m->options.output, m->scene->product_fingerprint);
            return SDM_OK;
        }
    } else if (sdm_product_finished(ctx, m->options.output, m->scene->product_fingerprint)) {
        m->options.overwrite = true; /* its own: stopped before that was on record */
    }
    PASS(sdm_plan_check_files(ctx, m->all->job.folder, m->scene, false));
    PASS(find_missing(ctx, m));
    const SdmStatus st = build(ctx, m);
    if (sdm_lease_check(NULL, m->lease) != SDM_OK) /* the reason for whatever failed */
        return st == SDM_ERR_STOPPED ? st : sdm_lease_check(ctx, m->lease);
    sdm_job_keep_failure(ctx, &m->all->job, m->scene, -1, st);
    return st;
}

/* Several merges of one job take turns at a scene; the second one finds it merged.  An output outside the job
 * folder may be held by another job: then the merge fails. */
static SdmStatus merge_in_turn(SdmContext *ctx, SceneMerge *m)
{
    if (!m->all->again && access(m->options.output, F_OK) == 0 && find_record(m) &&
        !sdm_product_finished(ctx, m->options.output, m->scene->product_fingerprint))
        return take_file(ctx, m);
    if (m->all->output)
        PASS(sdm_lease_take_output(ctx, m->options.output, &m->lease));
    else
        PASS(sdm_lease_wait_output(ctx, m->options.output, m->scene->name, (double)INFINITY, &m->lease));
    const SdmStatus st = merge_held(ctx, m);
    sdm_lease_release(&m->lease);
    return st;
}

/* ---- all scenes ---- */

/* Count what became of a scene; what ends all is returned. */
static SdmStatus count_scene(SdmContext *ctx, Merge *m, const SceneMerge *one, SdmStatus st)
{
    m->count += one->count;
    if (st == SDM_ERR_STOPPED)
        return st;
    if (st == SDM_OK) {
        m->out->merged++;
        m->out->already += one->already;
        if (one->record.result.doubts > 0 && m->out->doubtful++ == 0)
            snprintf(m->doubt, sizeof m->doubt, "%.800s: %.1200s", one->options.output,
                     one->record.result.doubt[0].text);
        sdm_log(ctx, SDM_LOG_INFO, 9, "%s: %s", one->options.output,
                one->already ? "was merged already" : "done");
        return SDM_OK;
    }
    m->out->failed += one->count == 0;
    m->out->permanent += one->count == 0 && sdm_job_is_final(&m->job, one->scene, st);
    m->out->incomplete += one->count > 0;
    sdm_log(ctx, SDM_LOG_WARNING, 9, "%s", sdm_error(ctx));
    if (one->count == 0 && !m->first[0])
        snprintf(m->first, sizeof m->first, "%s", sdm_error(ctx));
    return SDM_OK;
}

/* The name of a product of a scene in the folder of the products. */
static SdmStatus name_product(SdmContext *ctx, const Merge *m, const char *scene, const char *ending,
                              char out[SDM_PATH_SIZE])
{
    return sdm_format(ctx, out, SDM_PATH_SIZE, "%s/%s%s", m->folder, scene, ending);
}

static SdmStatus merge_scene(SdmContext *ctx, Merge *m, int number)
{
    SdmStatus st = SDM_OK;
    char output[SDM_PATH_SIZE];
    SceneMerge one = {.all = m,
                      .scene = &m->job.plan->scene[number],
                      .options = m->job.options,
                      .missing = m->missing + m->count};
    if (m->is_file)
        TRY(sdm_format(ctx, output, sizeof output, "%s", m->output));
    else
        TRY(name_product(ctx, m, one.scene->name, ".tif", output));
    one.options.output = output;
    TRY(sdm_job_unit(ctx, &m->job, one.scene, SDM_UNIT_RECORD, 0, &one.name));
    one.options.overwrite =
        m->again || (!m->output && access(one.name.path, F_OK) == 0); /* its own products */
    st = count_scene(ctx, m, &one,
                     one.scene->error ? sdm_fail(ctx, SDM_ERR_INPUT, "%s", one.scene->error)
                                      : merge_in_turn(ctx, &one));
done:
    sdm_prepared_free(&one.prepared);
    sdm_product_record_free(&one.record);
    return st;
}

/* missing.txt: the units that are missing, one a line. */
static SdmStatus write_missing(SdmContext *ctx, const Merge *m, const char *path)
{
    SDM_OWNED char *text = NULL;
    size_t n = 0;
    if (!m->count) {
        unlink(path);
        return SDM_OK;
    }
    PASS(sdm_alloc(ctx, &text, (size_t)m->count, 24, "the missing units"));
    for (int64_t i = 0; i < m->count; i++)
        n += (size_t)snprintf(text + n, 24, "%lld\n", (long long)m->missing[i]);
    return sdm_file_write(ctx, path, text, n);
}

/* The sentence that tells which units are missing, and how to run them. */
static SdmStatus tell_missing(SdmContext *ctx, const Merge *m)
{
    char ranges[400], path[SDM_PATH_SIZE], list[2 * SDM_PATH_SIZE], job[2 * SDM_PATH_SIZE];
    const int left = m->out->failed + m->out->incomplete;
    PASS(sdm_path_join(ctx, m->job.folder, "missing.txt", path));
    PASS(write_missing(ctx, m, path));
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
}

/* The catalogue of all DEMs of the job that are there. */
static SdmStatus write_collection(SdmContext *ctx, const Merge *m)
{
    SdmStacCollection all = {0};
    char path[SDM_PATH_SIZE], item[SDM_PATH_SIZE];
    if (m->is_file)
        return SDM_OK;
    PASS(name_product(ctx, m, "stac_collection", ".json", path));
    for (int i = 0; i < m->job.plan->count; i++)
        if (name_product(NULL, m, m->job.plan->scene[i].name, ".stac.json", item) == SDM_OK)
            sdm_stac_collect(&all, item);
    return sdm_stac_collection_close(ctx, &all, path);
}

SdmStatus sdm_merge(SdmContext *ctx, const char *job, const char *folder, int scene, SdmMergeSummary *out)
{
    SdmStatus st = SDM_OK;
    Merge m = {.output = folder, .out = out, .again = sdm_options(ctx)->overwrite};
    char what[64];
    bool made = false;
    *out = (SdmMergeSummary){0};
    TRY(sdm_job_open(ctx, job, sdm_options(ctx), &m.job));
    const int count = m.job.plan->count;
    const int first = scene >= 0 ? scene : 0, end = scene >= 0 ? scene + 1 : count;
    if (first >= count)
        TRY(sdm_fail(ctx, SDM_ERR_USAGE, "scene %d does not exist; %s has %d scenes, from 0 to %d", first,
                     job, count, count - 1));
    out->scenes = end - first;
    struct stat at;
    m.is_file =
        folder && sdm_path_stem(folder) < strlen(folder) && (stat(folder, &at) != 0 || !S_ISDIR(at.st_mode));
    if (m.is_file && out->scenes > 1)
        TRY(sdm_fail(ctx, SDM_ERR_USAGE,
                     "-o %s names one DEM, but %s has %d scenes; give the number of a scene behind the job, "
                     "or a folder",
                     folder, job, count));
    TRY(sdm_alloc(ctx, &m.missing, (size_t)m.job.plan->units + 1, sizeof *m.missing, "the missing units"));
    if (!m.is_file) {
        TRY(sdm_format(ctx, m.folder, sizeof m.folder, "%s%s", folder ? folder : m.job.folder,
                       folder ? "" : "/dem"));
        made = folder && access(folder, F_OK) != 0;
        TRY(sdm_file_make_folder(ctx, m.folder));
    }
    for (int s = first; s < end; s++) {
        TRY(sdm_check_stop(ctx));
        snprintf(what, sizeof what, "scene %d of %d", s - first + 1, end - first);
        if (end - first > 1)
            sdm_progress(ctx, 9, (double)(s - first) / (end - first), what);
        SDM_PROGRESS(ctx, (double)(s - first) / (end - first), (s - first + 1.0) / (end - first));
        TRY(merge_scene(ctx, &m, s));
    }
    out->missing = m.count;
    TRY(write_collection(ctx, &m));
    TRY(tell_missing(ctx, &m));
    if (sdm_options(ctx)->strict && out->doubtful)
        st = sdm_fail(ctx, SDM_ERR_DATA, "--strict: %d of %d DEMs are doubtful, the first is %s",
                      out->doubtful, out->merged, m.doubt);
done:
    if (made)
        rmdir(folder); /* only when nothing came into it */
    sdm_free(&m.missing);
    sdm_job_close(&m.job);
    return st;
}
