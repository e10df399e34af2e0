/* Two rasters with RPC, or two georeferenced ones with a base/height ratio -> scene. */
// SPDX-License-Identifier: Apache-2.0
#include "input/aster_files.h"
#include "input/image.h"
#include "input/rpc_find.h"

#include <cpl_string.h>
#include <math.h>
#include <string.h>

static SdmStatus open_rpc(SdmContext *ctx, const char *name, SdmScene *scene, SdmView *view)
{
    SdmFoundRpc found;
    const double *const move_deg = scene->options->move_deg[view - scene->view];
    PASS(sdm_rpc_find(ctx, name, view->image->dataset, &found));
    found.rpc.long_off += move_deg[0];
    found.rpc.lat_off += move_deg[1];
    if (*found.path)
        PASS(sdm_scene_add_file(ctx, scene, found.path));
    PASS(sdm_rpc_judge(ctx, name, view->image, &found, &view->camera, &view->note));
    if (scene->depth == SDM_DEPTH_WHOLE)
        sdm_log(ctx, *found.path ? SDM_LOG_INFO : SDM_LOG_VERBOSE, 1, "%s: camera from %s", name,
                view->note.source);
    return SDM_OK;
}

static SdmStatus open_parallel(SdmContext *ctx, const char *name, GDALDatasetH ds, double shift,
                               SdmCamera **out)
{
    SdmParallel in = {.wkt = GDALGetProjectionRef(ds), .shift = shift};
    if (!in.wkt || !*in.wkt || GDALGetGeoTransform(ds, in.geotransform) != CE_None)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: not georeferenced, but --base-height needs a georeferenced pair; leave the "
                        "option out for a pair with RPC",
                        name);
    const double turn =
        atan2(fabs(in.geotransform[4]), fabs(in.geotransform[1])); /* of the rows on the map */
    if (turn > 1e-3)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: its rows lie at %.1f deg to the x axis of its map; --base-height needs rows, "
                        "which are the epipolar lines, along that axis: georeference both images so",
                        name, turn * 57.29577951308232);
    return sdm_camera_open_parallel(ctx, name, &in, out);
}

/* Acquisition time from GDAL's IMAGERY domain, which its drivers fill from suppliers' files. */
static void take_time(SdmContext *ctx, const char *name, GDALDatasetH ds, char time_utc[32])
{
    const char *const text = GDALGetMetadataItem(ds, "ACQUISITIONDATETIME", "IMAGERY");
    if (!text || (strlen(text) >= 19 && sdm_time_read(text, text + 11, time_utc)))
        return;
    sdm_log(
        ctx, SDM_LOG_WARNING, 1,
        "%s: its metadata give %.40s as the time of acquisition, which is not a time; it is taken as unknown",
        name, text);
}

static SdmStatus add_files(SdmContext *ctx, const char *name, GDALDatasetH ds, SdmScene *scene)
{
    SDM_CLOSED_BY(sdm_string_list_free) char **const list = GDALGetFileList(ds);
    PASS(sdm_scene_add_file(ctx, scene, name));
    for (int i = 0; list && list[i]; ++i)
        PASS(sdm_scene_add_file(ctx, scene, list[i]));
    return SDM_OK;
}

static SdmStatus open_view(SdmContext *ctx, int k, const char *name, SdmScene *scene)
{
    const double base_height = scene->options->base_height;
    SdmView *const view = &scene->view[k];
    const SdmImageSource src = {.scene = scene, .view = k, .name = name};
    PASS(sdm_format(ctx, view->name, sizeof view->name, "%s", name));
    PASS(sdm_image_open(ctx, &src, &view->image));
    const GDALDatasetH ds = view->image->dataset;
    PASS(add_files(ctx, name, ds, scene));
    take_time(ctx, name, ds, k ? scene->right_time_utc : scene->time_utc);
    return isnan(base_height) ? open_rpc(ctx, name, scene, view)
                              : open_parallel(ctx, name, ds, k ? base_height : 0.0, &view->camera);
}

SdmStatus sdm_pair_open(SdmContext *ctx, const char *left, const char *right, SdmScene *scene)
{
    const SdmOptions *const opt = scene->options;
    const bool parallel = !isnan(opt->base_height);
    const char *const base = sdm_path_base(left), *const dot = strrchr(base, '.');
    if (parallel && (!isfinite(opt->base_height) || opt->base_height == 0.0))
        return sdm_fail(ctx, SDM_ERR_USAGE, "--base-height %g: expected a finite number other than 0",
                        opt->base_height);
    scene->sensor = parallel ? SDM_SENSOR_PARALLEL : SDM_SENSOR_RPC;
    snprintf(scene->kind, sizeof scene->kind, "%s",
             parallel ? "georeferenced parallel pair" : "pair with RPC");
    snprintf(scene->id, sizeof scene->id, "%.*s",
             (int)(dot && dot > base ? dot - base : (ptrdiff_t)strlen(base)), base);
    PASS(open_view(ctx, 0, left, scene));
    PASS(open_view(ctx, 1, right, scene));
    if (opt->band > 1 && scene->view[0].image->single && scene->view[1].image->single)
        return sdm_fail(ctx, SDM_ERR_USAGE, "--band %d: %s and %s have 1 band; leave the option out",
                        opt->band, left, right);
    return SDM_OK;
}
