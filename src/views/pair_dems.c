/* Chosen pairs -> the DEM of each, by run's own chain, in the folder OUTPUT.views; finished ones are taken
 * up. */
// SPDX-License-Identifier: Apache-2.0
#include "core/hash.h"
#include "core/run_log.h"
#include "job/job.h"
#include "job/job_commands.h"
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

/* pair_N.sdm: the record of a finished DEM, with the fingerprint of what it is made of. */
static SdmStatus name_record(const SdmViews *v, int number, uint64_t fingerprint, SdmUnitName *out)
{
    *out = (SdmUnitName){.fingerprint = fingerprint, .kind = SDM_UNIT_RECORD};
    return sdm_format(v->ctx, out->path, SDM_PATH_SIZE, "%s/pair_%d.sdm", v->folder, number);
}

/* ---- files ---- */

static void remove_dem(const SdmViews *v, int number)
{
    SDM_OWNED SdmOutputFiles *files = NULL;
    char dem[SDM_PATH_SIZE], path[SDM_PATH_SIZE];
    if (name_dem(v, number, dem) || sdm_alloc(NULL, &files, 1, sizeof *files, "names") ||
        sdm_output_files_name(NULL, dem, files))
        return;
    for (int i = 0; i < SDM_FILES; i++)
        unlink(files->path[i]);
    sdm_output_files_sweep(files);
    if (sdm_run_log_find(dem, path, sizeof path)) /* in memory no log of the whole run took its place */
        unlink(path);
    SdmUnitName record;
    if (name_record(v, number, 0, &record) == SDM_OK)
        unlink(record.path);
    if (sdm_format(NULL, path, sizeof path, "%s.job", dem) == SDM_OK)
        sdm_job_remove(path);
}

void sdm_views_remove(const SdmViews *v)
{
    if (!*v->folder)
        return;
    for (int number = 1; number <= SDM_MAX_VIEW_PAIRS; number++)
        remove_dem(v, number);
    rmdir(v->folder);
}

/* ---- one pair ---- */

/* Hash of all that the DEM of a pair depends on: its files, the options, this build. */
static SdmStatus find_fingerprint(const SdmViews *v, const SdmViewPair *p, const SdmOptions *options,
                                  uint64_t *out)
{
    SDM_CLOSED_BY(sdm_plan_close) SdmPlan *plan = NULL;
    char build[32];
    const SdmPlanInput input = {v->path[p->left], v->path[p->right]};
    PASS(sdm_plan_make(v->ctx,
                       &(SdmPlanSource){.options = options, .folder = v->folder, .input = &input, .count = 1},
                       &plan));
    snprintf(build, sizeof build, "%016" PRIx64, (uint64_t)SDM_BUILD_HASH);
    *out = sdm_hash_text(plan->scene[0].product_fingerprint, build);
    return SDM_OK;
}

/* Take the result of a finished DEM of the pair that has this fingerprint. */
static bool find_finished(SdmViewPair *p, const SdmUnitName *name)
{
    SdmProductRecord record;
    if (access(p->dem, F_OK) != 0 || sdm_unit_read(NULL, name, &record, NULL) != SDM_OK)
        return false;
    p->result = record.result;
    return true;
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
    o.co[0] = "COMPRESS=NONE";    /* read once */
    o.co[1] = "OVERVIEWS=NONE";
    o.rasters_alone = true;
    o.overwrite = true; /* in the folder */
    o.keep_job = false;
    o.points = "none";
    memcpy(o.move_deg[0], v->move_deg[p->left], sizeof o.move_deg[0]);
    memcpy(o.move_deg[1], v->move_deg[p->right], sizeof o.move_deg[1]);
    return o;
}

static SdmStatus make_dem(SdmViews *v, SdmViewPair *p)
{
    uint64_t fingerprint;
    SdmUnitName name;
    PASS(name_dem(v, p->number, p->dem));
    SdmOptions options = options_of(v, p);
    PASS(find_fingerprint(v, p, &options, &fingerprint)); /* refuses bounds that lie outside */
    options.bounds = options.area = NULL; /* moves and votes of a part are those of the whole DEMs */
    v->fingerprint = sdm_hash(v->fingerprint, &fingerprint, sizeof fingerprint);
    PASS(name_record(v, p->number, fingerprint, &name));
    p->has_dem = find_finished(p, &name);
    sdm_log(v->ctx, SDM_LOG_INFO, 1, "pair %d of %d: %s and %s%s", p->number, v->chosen_count,
            sdm_view_name(v, p->left), sdm_view_name(v, p->right), p->has_dem ? " was finished before" : "");
    for (int i = 0; i < 2 && !p->result.known; i++) { /* once more where it was only tidied up */
        PASS(sdm_use_options(v->ctx, &options));
        const SdmStatus ran =
            sdm_run_scene(v->ctx, v->path[p->left], v->path[p->right], NULL, NULL, &p->result);
        (void)sdm_use_options(v->ctx, &v->options);
        PASS(ran);
    }
    if (!p->has_dem) {
        const SdmProductRecord record = {.result = p->result, .dem_bytes = -1};
        PASS(sdm_unit_write(v->ctx, &name, &record, NULL, true, v->lease));
    }
    p->has_dem = true;
    return SDM_OK;
}

/* A pair that makes no DEM costs itself alone: another one takes its place. */
static void leave_out(SdmViews *v, SdmViewPair *p)
{
    const char *const sentence = sdm_error(v->ctx);
    if (!*v->failure)
        snprintf(v->failure, sizeof v->failure, "%s", sentence);
    sdm_view_pair_refuse(p, sentence);
    sdm_log(v->ctx, SDM_LOG_WARNING, 9, "%s and %s are left out: %s", sdm_view_name(v, p->left),
            sdm_view_name(v, p->right), p->why);
    remove_dem(v, p->number);
    SdmViewPair *const spare = sdm_views_spare(v);
    if (spare)
        sdm_log(v->ctx, SDM_LOG_INFO, 1, "%s and %s take their place", sdm_view_name(v, spare->left),
                sdm_view_name(v, spare->right));
}

SdmStatus sdm_views_make_dems(SdmViews *v)
{
    double done = 0.0; /* share of the run */
    for (int k = 0; k < v->chosen_count; k++) {
        PASS(sdm_check_stop(v->ctx));
        PASS(sdm_lease_check(v->ctx, v->lease));
        const double end = done + (SDM_VIEWS_FUSING - done) / (v->chosen_count - k);
        SDM_PROGRESS(v->ctx, done, end);
        const SdmStatus made = make_dem(v, v->chosen[k]);
        done = end;
        if (made == SDM_ERR_DATA)
            leave_out(v, v->chosen[k]);
        else
            PASS(made);
    }
    return sdm_views_check_left(v, true);
}
