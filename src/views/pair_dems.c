/* Chosen pairs -> the DEM of each, by run's own chain, in the folder OUTPUT.views; finished ones are taken
 * up. */
// SPDX-License-Identifier: Apache-2.0
#include "core/hash.h"
#include "job/job.h"
#include "product/output_files.h"
#include "sdm_build.h"
#include "views/views.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static SdmStatus name_dem(const SdmViews *v, int number, char out[SDM_PATH_SIZE])
{
    return sdm_format(v->ctx, out, SDM_PATH_SIZE, "%s/pair_%d.tif", v->folder, number);
}

/* DEM.done: the fingerprint of what a finished DEM is made of. */
static SdmStatus name_done(const SdmViews *v, const char *dem, char out[SDM_PATH_SIZE])
{
    return sdm_format(v->ctx, out, SDM_PATH_SIZE, "%s.done", dem);
}

/* ---- files ---- */

static void remove_dem(const SdmViews *v, int number, SdmOutputFiles *files)
{
    char dem[SDM_PATH_SIZE], path[SDM_PATH_SIZE];
    if (name_dem(v, number, dem) != SDM_OK || sdm_output_files_name(NULL, dem, files) != SDM_OK)
        return;
    for (int i = 0; i < SDM_FILES; i++)
        unlink(files->path[i]);
    sdm_output_files_sweep(files);
    if (name_done(v, dem, path) == SDM_OK)
        unlink(path);
    if (sdm_format(NULL, path, sizeof path, "%s.job", dem) == SDM_OK)
        sdm_job_remove(path);
}

void sdm_views_remove(const SdmViews *v)
{
    SdmOutputFiles *files = NULL;
    if (!*v->folder || sdm_alloc(NULL, &files, 1, sizeof *files, "names") != SDM_OK)
        return;
    for (int number = 1; number <= SDM_MAX_VIEW_PAIRS; number++)
        remove_dem(v, number, files);
    sdm_free(&files);
    rmdir(v->folder);
}

/* ---- one pair ---- */

/* What the DEM of a pair depends on: its files, options, and this build. */
static SdmStatus find_fingerprint(const SdmViews *v, const SdmViewPair *p, const SdmOptions *options,
                                  uint64_t *out)
{
    SdmStatus st = SDM_OK;
    SdmPlanInput *input = NULL;
    SdmPlan *plan = NULL;
    char build[32];
    TRY(sdm_plan_single(v->ctx, v->path[p->left], v->path[p->right], &input));
    TRY(sdm_plan_make(v->ctx, options, v->folder, input, 1, NULL, &plan));
    snprintf(build, sizeof build, "%016" PRIx64, (uint64_t)SDM_BUILD_HASH);
    *out = sdm_hash_text(plan->scene[0].product_fingerprint, build);
done:
    sdm_plan_close(&plan);
    sdm_free(&input);
    return st;
}

static bool is_finished(const SdmViews *v, const char *dem, uint64_t fingerprint)
{
    char path[SDM_PATH_SIZE], *text = NULL;
    size_t size;
    uint64_t found = 0;
    if (access(dem, F_OK) == 0 && name_done(v, dem, path) == SDM_OK &&
        sdm_file_read(NULL, path, 64, &text, &size) == SDM_OK && sscanf(text, "%" SCNx64, &found) != 1)
        found = 0;
    sdm_free(&text);
    return found != 0 && found == fingerprint;
}

static SdmStatus mark_finished(const SdmViews *v, const char *dem, uint64_t fingerprint)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE], text[32];
    TRY(name_done(v, dem, path));
    const int n = snprintf(text, sizeof text, "%016" PRIx64 "\n", fingerprint);
    st = sdm_file_write(v->ctx, path, text, (size_t)n);
done:
    return st;
}

/* The report of a DEM that is finished. */
static SdmStatus read_report(const SdmViews *v, SdmViewPair *p)
{
    SdmStatus st = SDM_OK;
    char path[SDM_PATH_SIZE], *text = NULL;
    size_t size;
    TRY(sdm_format(v->ctx, path, sizeof path, "%.*s.json", (int)(strlen(p->dem) - strlen(".tif")), p->dem));
    TRY(sdm_file_read(v->ctx, path, (size_t)1 << 28, &text, &size));
    p->report = cJSON_Parse(text);
    if (!p->report)
        st = sdm_fail(v->ctx, SDM_ERR_INPUT, "%s: is no JSON; remove %s and give the same command again",
                      path, v->folder);
done:
    sdm_free(&text);
    return st;
}

/* Options of a pair: the caller's, on the common grid. */
static SdmOptions options_of(const SdmViews *v, const SdmViewPair *p)
{
    SdmOptions o = v->options;
    o.output = p->dem;
    o.t_srs = v->t_srs;
    o.tr = v->grid.spacing;
    o.vertical = SDM_ELLIPSOID;
    memset(o.co, 0, sizeof o.co); /* of the DEM that is given */
    o.overwrite = true;           /* in the folder */
    o.keep_job = false;
    return o;
}

static SdmStatus make_dem(SdmViews *v, SdmViewPair *p)
{
    SdmStatus st = SDM_OK;
    uint64_t fingerprint;
    TRY(name_dem(v, p->number, p->dem));
    const SdmOptions options = options_of(v, p);
    TRY(find_fingerprint(v, p, &options, &fingerprint));
    v->fingerprint = sdm_hash(v->fingerprint, &fingerprint, sizeof fingerprint);
    sdm_log(v->ctx, SDM_LOG_INFO, 1, "pair %d of %d: %s and %s%s", p->number, v->chosen_count,
            sdm_view_name(v, p->left), sdm_view_name(v, p->right),
            is_finished(v, p->dem, fingerprint) ? " was finished before" : "");
    if (!is_finished(v, p->dem, fingerprint)) {
        TRY(sdm_use_options(v->ctx, &options));
        st = sdm_run_scene(v->ctx, v->path[p->left], v->path[p->right]);
        (void)sdm_use_options(v->ctx, &v->options);
        TRY(st);
        TRY(mark_finished(v, p->dem, fingerprint));
    }
    TRY(read_report(v, p));
    p->has_dem = true;
done:
    return st;
}

/* A pair that makes no DEM costs itself alone: another one takes its place. */
static void leave_out(SdmViews *v, SdmViewPair *p)
{
    SdmOutputFiles *files = NULL;
    const char *const sentence = sdm_error(v->ctx);
    if (!*v->failure)
        snprintf(v->failure, sizeof v->failure, "%s", sentence);
    sdm_view_pair_refuse(p, sentence);
    sdm_log(v->ctx, SDM_LOG_WARNING, 9, "%s and %s are left out: %s", sdm_view_name(v, p->left),
            sdm_view_name(v, p->right), p->why);
    if (sdm_alloc(NULL, &files, 1, sizeof *files, "names") == SDM_OK)
        remove_dem(v, p->number, files);
    sdm_free(&files);
    SdmViewPair *const spare = sdm_views_spare(v);
    if (spare)
        sdm_log(v->ctx, SDM_LOG_INFO, 1, "%s and %s take their place", sdm_view_name(v, spare->left),
                sdm_view_name(v, spare->right));
}

SdmStatus sdm_views_make_dems(SdmViews *v)
{
    SdmStatus st = SDM_OK;
    double done = 0.0; /* share of the run */
    for (int k = 0; k < v->chosen_count; k++) {
        TRY(sdm_check_stop(v->ctx));
        TRY(sdm_lease_check(v->ctx, v->lease));
        const double end = done + (SDM_VIEWS_FUSING - done) / (v->chosen_count - k);
        const SdmProgressPart around = sdm_progress_enter(v->ctx, done, end);
        st = make_dem(v, v->chosen[k]);
        sdm_progress_leave(v->ctx, around);
        done = end;
        if (st == SDM_ERR_DATA) {
            leave_out(v, v->chosen[k]);
            st = SDM_OK;
        }
        TRY(st);
    }
    TRY(sdm_views_check_left(v, true));
done:
    return st;
}
