/* The command run with three views or more: checks, pairs, DEMs, fusion, in one process that can be stopped
 * and taken up. */
// SPDX-License-Identifier: Apache-2.0
#include "core/run_log.h"
#include "input/source.h"
#include "core/system.h"
#include "product/product.h"
#include "views/views.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Options that belong to one pair. */
static SdmStatus check_options(const SdmViews *v)
{
    const SdmOptions *const o = &v->options;
    const char *const option = !isnan(o->base_height) ? "--base-height"
                               : o->mask_left         ? "--mask-left"
                               : o->mask_right        ? "--mask-right"
                               : o->reference         ? "--reference"
                                                      : NULL;
    return option ? sdm_fail(v->ctx, SDM_ERR_USAGE,
                             "%s: is for one pair, but %d views are given; leave it out%s", option, v->count,
                             strncmp(option, "--mask", 6) == 0
                                 ? ", and set the pixels not to be used to the nodata value"
                                 : "")
                  : SDM_OK;
}

/* A view given twice would be a pair with itself. */
static SdmStatus check_twice(const SdmViews *v)
{
    char name[SDM_MAX_VIEWS][1024];
    for (int i = 0; i < v->count; i++) {
        PASS(sdm_product_find(v->ctx, v->path[i], name[i], sizeof name[i]));
        for (int j = 0; j < i; j++)
            if (strcmp(name[i], name[j]) == 0 || sdm_system_is_same(name[i], name[j]))
                return sdm_fail(v->ctx, SDM_ERR_USAGE,
                                "%s: given twice (also as %s), expected %d different views", v->path[i],
                                v->path[j], v->count);
    }
    return SDM_OK;
}

static SdmStatus check(SdmViews *v)
{
    if (!v->options.output && !v->keep)
        return sdm_fail(v->ctx, SDM_ERR_USAGE, "no output; give -o DEM.tif");
    for (int i = 0; i < v->count; i++)
        if (!v->path[i] || !*v->path[i])
            return sdm_fail(v->ctx, SDM_ERR_USAGE,
                            "view %d has no name; give images with RPC, or folders of products", i + 1);
    PASS(check_options(v));
    if (!v->keep)
        PASS(sdm_product_check(v->ctx, &v->options, v->path, v->count));
    return check_twice(v);
}

/* Take the output and make the folder; in memory, too, the DEMs of pairs lie in files until they are
 * fused. */
static SdmStatus begin(SdmViews *v)
{
    char folder[SDM_PATH_SIZE];
    const char *const given = getenv("TMPDIR"), *const top = given && *given ? given : "/tmp";
    if (v->keep) {
        PASS(sdm_format(v->ctx, folder, sizeof folder, "%s/stereodem-views-XXXXXX", top));
        if (!sdm_system_make_own_folder(folder))
            return sdm_fail(v->ctx, SDM_ERR_IO,
                            "%s: no folder for the DEMs of the pairs can be made there: %s; name another one "
                            "in TMPDIR",
                            top, strerror(errno));
    } else {
        PASS(sdm_lease_take_output(v->ctx, v->options.output, &v->lease));
        v->has_log = sdm_run_log_begin(v->ctx, v->options.output, "run");
        PASS(sdm_format(v->ctx, folder, sizeof folder, "%s.views", v->options.output));
        PASS(sdm_file_make_folder(v->ctx, folder));
    }
    memcpy(v->folder, folder, sizeof folder);
    return SDM_OK;
}

/* After a failure: keep DEMs and blocks that the next call can take up. */
static SdmStatus leave_failed(SdmViews *v, SdmStatus st)
{
    bool kept = false;
    if (!*v->folder || sdm_lease_check(NULL, v->lease) != SDM_OK)
        return st;
    if (v->keep || st == SDM_ERR_DATA || st == SDM_ERR_INPUT || st == SDM_ERR_USAGE ||
        st == SDM_ERR_UNSUPPORTED)
        sdm_views_remove(v);
    for (int k = 0; k < v->chosen_count; k++)
        kept = kept || (v->chosen[k]->has_dem && !v->keep);
    rmdir(v->folder); /* only when empty */
    if (st == SDM_ERR_STOPPED && kept)
        (void)sdm_fail(
            v->ctx, st,
            "stopped on request; DEMs of finished pairs are kept in %s, give the same command to go on",
            v->folder);
    return st;
}

static void close_views(SdmViews **v)
{
    for (int k = 0; k < (*v)->pairs; k++)
        sdm_dem_result_free(&(*v)->pair[k].result);
    sdm_lease_release(&(*v)->lease);
    sdm_free(v);
}

SdmStatus sdm_run_several(SdmContext *ctx, const char *const *views, int count, SdmKeptProduct *keep,
                          SdmDemResult *result)
{
    SdmStatus st = SDM_OK;
    SdmViews *v = NULL;
    *result = (SdmDemResult){.known = false};
    if (count < 3)
        return sdm_fail(ctx, SDM_ERR_USAGE, "found %d view%s, expected 3 to %d; give two as a pair", count,
                        count == 1 ? "" : "s", (int)SDM_MAX_VIEWS);
    if (count > SDM_MAX_VIEWS)
        return sdm_fail(
            ctx, SDM_ERR_USAGE,
            "found %d views, expected at most %d; give the best ones, or stack the DEMs of several runs",
            count, (int)SDM_MAX_VIEWS);
    TRY(sdm_alloc(ctx, &v, 1, sizeof *v, "views"));
    *v = (SdmViews){.ctx = ctx, .options = *sdm_options(ctx), .started_s = sdm_now_s(), .count = count};
    v->keep = keep;
    if (keep)
        v->options.output = NULL;
    memcpy(v->path, views, (size_t)count * sizeof *views);
    sdm_log_once(ctx, true);
    TRY(check(v));
    TRY(sdm_views_look(v));
    TRY(sdm_views_choose(v));
    TRY(begin(v));
    TRY(sdm_views_make_dems(v));
    TRY(sdm_views_fuse(v, result));
    if (keep || !v->options.keep_job)
        sdm_views_remove(v);
    sdm_progress(ctx, 9, 1.0, "done");
done:
    sdm_log_once(ctx, false);
    if (v && st != SDM_OK)
        st = leave_failed(v, st);
    if (v && v->has_log)
        sdm_run_log_end(ctx, st);
    if (v)
        close_views(&v);
    return st;
}
