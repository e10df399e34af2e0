/* The commands plan and merge over a job folder; run is they and tile in one process. */
// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"
#include "product/product.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- plan ---- */

/* A plan that says the same stays as it is, another one is replaced only when asked for. */
static SdmStatus store_plan(SdmContext *ctx, const char *folder, const SdmPlan *plan)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE], *old = NULL;
    size_t size;
    char *const text = sdm_plan_text(plan);
    bool same = false, there = false;
    if (!text)
        return sdm_fail(ctx, SDM_ERR_MEMORY, "out of memory: the plan as text");
    TRY(sdm_path_join(ctx, folder, "plan.json", path));
    there = access(path, F_OK) == 0;
    same = there && sdm_file_read(ctx, path, (size_t)1 << 28, &old, &size) == SDM_OK && strcmp(old, text) == 0;
    if (there && !same && !sdm_options(ctx)->overwrite) {
        st = sdm_fail(ctx, SDM_ERR_USAGE,
                      "%s exists and is of another plan; give --overwrite to plan the job again, or "
                      "another -o",
                      path);
        goto done;
    }
    if (!same) {
        TRY(sdm_file_write(ctx, path, text, strlen(text)));
        if (there)
            sdm_job_renew(folder, plan->units, plan->count);
    }
done:
    sdm_free(&old);
    cJSON_free(text);
    return st;
}

static void summarise(SdmContext *ctx, const SdmPlan *plan, SdmPlanSummary *out)
{
    const cJSON *scene;
    *out = (SdmPlanSummary){.scenes = plan->count, .units = plan->units};
    cJSON_ArrayForEach(scene, cJSON_GetObjectItemCaseSensitive(plan->root, "scenes"))
    {
        const cJSON *const error = cJSON_GetObjectItemCaseSensitive(scene, "error");
        out->tiled += cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(scene, "tiled"));
        if (!error)
            continue;
        out->failed++;
        sdm_log(ctx, SDM_LOG_WARNING, 1, "not planned: %s", error->valuestring);
    }
    for (int s = 0; s < plan->count; s++)
        out->cpu_s += sdm_plan_units_s(plan, s);
}

SdmStatus sdm_plan(SdmContext *ctx, const SdmPlanRequest *q, SdmPlanSummary *out)
{
    SdmStatus st = SDM_OK;
    SdmPlanInput *input = NULL;
    SdmPlan *plan = NULL;
    int count = 1;
    if (!q->job || !*q->job)
        return sdm_fail(ctx, SDM_ERR_USAGE, "no job folder; give -o JOB");
    if ((q->list != NULL) == (q->left != NULL))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "found %s, expected a scene, a left and a right image, or --list FILE",
                        q->list ? "both scenes and --list" : "no scene");
    if (q->list) {
        TRY(sdm_plan_list(ctx, q->list, &input, &count));
    } else {
        TRY(sdm_alloc(ctx, &input, 1, sizeof *input, "the scene"));
        TRY(sdm_format(ctx, input->left, sizeof input->left, "%s", q->left));
        if (q->right)
            TRY(sdm_format(ctx, input->right, sizeof input->right, "%s", q->right));
    }
    TRY(sdm_file_make_folder(ctx, q->job));
    TRY(sdm_plan_make(ctx, q->job, input, count, &plan));
    TRY(store_plan(ctx, q->job, plan));
    summarise(ctx, plan, out);
done:
    if (st != SDM_OK && q->job)
        rmdir(q->job); /* only when empty */
    sdm_free(&input);
    sdm_plan_close(&plan);
    return st;
}

/* ---- merge ---- */

typedef struct Merging {
    SdmJob job;
    const SdmMergeRequest *q;
    SdmMergeSummary *out;
    int64_t *missing, missing_count;
    char first[1024]; /* why the first scene failed that does not only miss units */
} Merging;

static SdmStatus merge_scene(SdmContext *ctx, Merging *m, int s)
{
    SdmStatus st = SDM_OK;
    char output[SDM_PATH_SIZE];
    int64_t count = 0;
    bool already = false;
    const char *const folder = m->q->folder;
    TRY(sdm_job_use(ctx, &m->job, s));
    TRY(sdm_format(ctx, output, sizeof output, "%s%s/%s.tif", folder ? folder : m->job.folder,
                   folder ? "" : "/dem", m->job.scene.name));
    st = sdm_job_merge(ctx, &m->job, s, output, m->missing + m->missing_count, &count, &already);
    m->missing_count += count;
    if (st == SDM_OK) {
        m->out->merged++;
        m->out->already += already;
        sdm_log(ctx, SDM_LOG_INFO, 9, "%s: %s", output, already ? "was merged already" : "done");
    } else if (st != SDM_ERR_STOPPED) {
        m->out->failed += count == 0;
        m->out->incomplete += count > 0;
        sdm_log(ctx, SDM_LOG_WARNING, 9, "%s", sdm_error(ctx));
        if (count == 0 && !m->first[0])
            snprintf(m->first, sizeof m->first, "%s", sdm_error(ctx));
        st = SDM_OK;
    }
done:
    return st;
}

/* Units that are missing, as a sentence and as a file, one a line. */
static SdmStatus tell_missing(SdmContext *ctx, Merging *m)
{
    SdmStatus st = SDM_OK;
    char ranges[400], path[SDM_PATH_SIZE], list[2 * SDM_PATH_SIZE], job[2 * SDM_PATH_SIZE], *text = NULL;
    const int left = m->out->failed + m->out->incomplete;
    size_t n = 0;
    TRY(sdm_path_join(ctx, m->job.folder, "missing.txt", path));
    if (!m->missing_count)
        unlink(path);
    if (!left)
        return SDM_OK;
    if (m->missing_count) {
        TRY(sdm_alloc(ctx, &text, (size_t)m->missing_count, 24, "the missing units"));
        for (int64_t i = 0; i < m->missing_count; i++)
            n += (size_t)snprintf(text + n, 24, "%lld\n", (long long)m->missing[i]);
        TRY(sdm_file_write(ctx, path, text, n));
    }
    sdm_job_ranges(m->missing, m->missing_count, ranges, sizeof ranges);
    sdm_path_quote(path, list, sizeof list);
    sdm_path_quote(m->job.folder, job, sizeof job);
    if (!m->missing_count)
        st =
            sdm_fail(ctx, SDM_ERR_DATA, "%d of %d scenes cannot be merged, the first because of this: %.700s",
                     left, m->out->scenes, m->first);
    else if (strstr(ranges, "..."))
        st = sdm_fail(ctx, SDM_ERR_DATA,
                      "%d of %d scenes cannot be merged: %lld units are missing or damaged, %s; run xargs "
                      "-a %s -n 1 stereodem tile %s",
                      left, m->out->scenes, (long long)m->missing_count, ranges, list, job);
    else
        st = sdm_fail(ctx, SDM_ERR_DATA,
                      "%d of %d scenes cannot be merged: units %s are missing or damaged; run stereodem "
                      "tile %s %s",
                      left, m->out->scenes, ranges, job, ranges);
done:
    sdm_free(&text);
    return st;
}

SdmStatus sdm_merge(SdmContext *ctx, const SdmMergeRequest *q, SdmMergeSummary *out)
{
    SdmStatus st = SDM_OK;
    Merging m = {.q = q, .out = out};
    char path[SDM_PATH_SIZE], what[64];
    bool made = false;
    *out = (SdmMergeSummary){0};
    TRY(sdm_job_open(ctx, q->job, &m.job));
    const int count = m.job.plan->count;
    const int first = q->scene >= 0 ? q->scene : 0, end = q->scene >= 0 ? q->scene + 1 : count;
    if (first >= count) {
        st = sdm_fail(ctx, SDM_ERR_USAGE, "scene %d does not exist; %s has %d scenes, from 0 to %d", first,
                      q->job, count, count - 1);
        goto done;
    }
    out->scenes = end - first;
    m.job.redo = sdm_options(ctx)->overwrite;
    m.job.elsewhere = q->folder != NULL;
    TRY(sdm_alloc(ctx, &m.missing, (size_t)m.job.plan->units + 1, sizeof *m.missing, "the missing units"));
    if (!q->folder) { /* products there are this job's own */
        SdmOptions opt = *sdm_options(ctx);
        opt.overwrite = true;
        TRY(sdm_set_options(ctx, &opt));
        TRY(sdm_path_join(ctx, q->job, "dem", path));
        TRY(sdm_file_make_folder(ctx, path));
    }
    if (q->folder) { /* for the markers of its products */
        made = access(q->folder, F_OK) != 0;
        TRY(sdm_file_make_folder(ctx, q->folder));
    }
    for (int s = first; s < end; s++) {
        TRY(sdm_check_stop(ctx));
        snprintf(what, sizeof what, "scene %d of %d", s - first + 1, end - first);
        if (end - first > 1)
            sdm_progress(ctx, 9, (double)(s - first) / (end - first), what);
        TRY(merge_scene(ctx, &m, s));
    }
    out->missing = m.missing_count;
    TRY(tell_missing(ctx, &m));
done:
    if (made)
        rmdir(q->folder); /* only when nothing came into it */
    sdm_free(&m.missing);
    sdm_job_close(ctx, &m.job);
    return st;
}

/* ---- run ---- */

static SdmStatus do_units(SdmContext *ctx, SdmJob *job)
{
    SdmStatus st = SDM_OK;
    const int64_t n = job->plan->units;
    char what[64];
    SdmJobDone done;
    job->expected = n;
    for (int64_t i = 0; i < n; i++) {
        snprintf(what, sizeof what, "unit %lld of %lld", (long long)(i + 1), (long long)n);
        if (i > 0)
            sdm_progress(ctx, 5, 0.3 + 0.55 * (double)i / (double)n, what);
        while (sdm_job_is_full(job, i))
            TRY(sdm_job_end(ctx, job, &done));
        TRY(sdm_job_begin(ctx, job, i));
        if (job->resumed == 1 && i == 0)
            sdm_log(ctx, SDM_LOG_INFO, 2, "going on from %s", job->folder);
    }
    while (sdm_job_flights(job) > 0)
        TRY(sdm_job_end(ctx, job, &done));
done:
    return st == SDM_OK ? st : sdm_job_save_others(ctx, job, st);
}

static SdmStatus run_plan(SdmContext *ctx, SdmJob *job)
{
    SdmStatus st = SDM_OK;
    int64_t *missing = NULL, missing_count = 0;
    bool already = false;
    const char *const output = sdm_options(ctx)->output;
    TRY(sdm_job_use(ctx, job, 0));
    TRY(sdm_alloc(ctx, &missing, (size_t)job->plan->units + 1, sizeof *missing, "the missing units"));
    if (!sdm_product_finished(ctx, sdm_options(ctx)->output, job->scene.whole)) {
        TRY(sdm_job_check_output(ctx, job));
        TRY(sdm_plan_write(ctx, job->folder, job->plan));
        TRY(do_units(ctx, job));
    }
    TRY(sdm_job_merge(ctx, job, 0, output, missing, &missing_count, &already));
    if (already)
        sdm_log(ctx, SDM_LOG_INFO, 9, "%s was finished already", output);
done:
    sdm_free(&missing);
    return st;
}

/* The device that the whole run takes, "auto" or not: so the plan says. */
static SdmStatus pin_device(SdmContext *ctx, SdmMatchQueue **worker)
{
    SdmStatus st = SDM_OK;
    SdmOptions opt = *sdm_options(ctx);
    TRY(sdm_match_queue_open(ctx, opt.device, worker));
    opt.device = sdm_match_queue_name(*worker);
    TRY(sdm_set_options(ctx, &opt));
done:
    return st;
}

/* What is there for the next call to go on from. */
static SdmStatus tell_stopped(SdmContext *ctx, const char *folder)
{
    const int64_t blocks = *folder ? sdm_job_blocks(folder) : 0;
    if (blocks > 0)
        return sdm_fail(
            ctx, SDM_ERR_STOPPED,
            "stopped on request; %lld finished block%s kept in %s, give the same command to go on",
            (long long)blocks, blocks > 1 ? "s are" : " is", folder);
    if (*folder && sdm_job_has_work(folder))
        return sdm_fail(
            ctx, SDM_ERR_STOPPED,
            "stopped on request before the first block was finished; coarse surface and pointing are "
            "kept in %s, give the same command to go on",
            folder);
    return sdm_fail(ctx, SDM_ERR_STOPPED,
                    "stopped on request before anything was finished; nothing is kept, give the same command "
                    "to begin again");
}

SdmStatus sdm_run(SdmContext *ctx, const char *left, const char *right)
{
    SdmStatus st = SDM_OK;
    SdmPlan *plan = NULL;
    SdmPlanInput *input = NULL;
    SdmJob job = {.number = -1};
    SdmLease *lease = NULL;
    SdmMatchQueue *worker = NULL;
    char folder[SDM_PATH_SIZE] = "", marker[SDM_PATH_SIZE] = "";
    const double started_s = sdm_now_s();
    const SdmOptions before = *sdm_options(ctx);
    const char *const output = before.output;
    if (!output)
        return sdm_fail(ctx, SDM_ERR_USAGE, "no output; give -o DEM.tif");
    if (!left || !*left || (right && !*right))
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "no input; give an ASTER level 1A scene, or the left and right image of a pair");
    TRY(sdm_product_check(ctx, sdm_options(ctx), NULL, 0));
    TRY(pin_device(ctx, &worker));
    TRY(sdm_alloc(ctx, &input, 1, sizeof *input, "the scene"));
    TRY(sdm_format(ctx, input->left, sizeof input->left, "%s", left));
    if (right)
        TRY(sdm_format(ctx, input->right, sizeof input->right, "%s", right));
    TRY(sdm_lease_take_output(ctx, output, &lease));
    TRY(sdm_format(ctx, folder, sizeof folder, "%s.job", output));
    TRY(sdm_file_make_folder(ctx, folder));
    TRY(sdm_format(ctx, marker, sizeof marker, "%s", sdm_lease_path(lease)));
    sdm_crash_leftover(ctx, marker, folder);
    TRY(sdm_plan_make(ctx, folder, input, 1, &plan));
    TRY(sdm_job_start(ctx, folder, &plan, &job));
    job.alone = true;
    sdm_match_queue_log(ctx, worker);
    job.worker = worker;
    worker = NULL;
    job.lease = lease;
    lease = NULL;
    job.started_s = started_s;
    TRY(run_plan(ctx, &job));
    sdm_progress(ctx, 9, 1.0, "done");
done:
    if (st != SDM_OK && !job.hopeless)
        sdm_job_store_kept(&job);
    if (st == SDM_ERR_STOPPED)
        (void)tell_stopped(ctx, folder);
    if (st != SDM_OK && *folder && (!sdm_job_has_work(folder) || job.hopeless))
        sdm_job_remove(folder); /* nothing that could be taken up */
    sdm_crash_leftover(ctx, NULL, NULL);
    sdm_lease_release(&lease);
    sdm_lease_release(&job.lease);
    sdm_job_close(ctx, &job);
    (void)sdm_set_options(ctx, &before);
    sdm_match_queue_close(&worker);
    sdm_plan_close(&plan);
    sdm_free(&input);
    return st;
}
