/* Two rasters with RPC, or two georeferenced ones with a base/height ratio -> scene. */
// SPDX-License-Identifier: Apache-2.0
#include "input/aster_files.h"
#include "input/image.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <math.h>
#include <string.h>

/* The RPC of an image, or of its first tile, which begins where the image does: some products have it there
 * alone.  To be freed with CSLDestroy(). */
static char **find_rpc(GDALDatasetH ds)
{
    char **domain = CSLDuplicate(GDALGetMetadata(ds, "RPC"));
    char **const list = domain ? NULL : GDALGetFileList(ds);
    for (int i = 0; list && list[i] && !domain; i++) {
        const GDALDatasetH tile = strstr(sdm_path_base(list[i]), "_R1C1") ? sdm_gdal_open(list[i]) : NULL;
        domain = tile ? CSLDuplicate(GDALGetMetadata(tile, "RPC")) : NULL;
        if (tile)
            GDALClose(tile);
    }
    CSLDestroy(list);
    return domain;
}

static SdmStatus open_rpc(SdmContext *ctx, const char *name, GDALDatasetH ds, SdmCamera **out)
{
    char **const domain = find_rpc(ds);
    GDALRPCInfoV2 info;
    SdmRpc rpc;
    const bool known = domain && *domain, complete = known && GDALExtractRPCInfoV2(domain, &info);
    CSLDestroy(domain);
    if (!known)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: no RPC camera with it (neither metadata in the file nor _RPC.TXT, .RPB or the "
                        "like beside it%s); fetch the image with its RPC, or give --base-height for a "
                        "georeferenced epipolar pair",
                        name,
                        EQUAL(CPLGetConfigOption("GDAL_DISABLE_READDIR_ON_OPEN", ""), "EMPTY_DIR")
                            ? ", where GDAL_DISABLE_READDIR_ON_OPEN=EMPTY_DIR keeps GDAL from looking"
                            : "");
    if (!complete)
        return sdm_fail(ctx, SDM_ERR_INPUT,
                        "%s: its RPC is incomplete (%.300s); fetch the image with its RPC again", name,
                        sdm_gdal_reason());
    rpc = (SdmRpc){.line_off = info.dfLINE_OFF,
                   .samp_off = info.dfSAMP_OFF,
                   .lat_off = info.dfLAT_OFF,
                   .long_off = info.dfLONG_OFF,
                   .height_off = info.dfHEIGHT_OFF,
                   .line_scale = info.dfLINE_SCALE,
                   .samp_scale = info.dfSAMP_SCALE,
                   .lat_scale = info.dfLAT_SCALE,
                   .long_scale = info.dfLONG_SCALE,
                   .height_scale = info.dfHEIGHT_SCALE};
    memcpy(rpc.line_num, info.adfLINE_NUM_COEFF, sizeof rpc.line_num);
    memcpy(rpc.line_den, info.adfLINE_DEN_COEFF, sizeof rpc.line_den);
    memcpy(rpc.samp_num, info.adfSAMP_NUM_COEFF, sizeof rpc.samp_num);
    memcpy(rpc.samp_den, info.adfSAMP_DEN_COEFF, sizeof rpc.samp_den);
    return sdm_camera_open_rpc(ctx, name, &rpc, out);
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
    SdmStatus st = SDM_OK;
    char **const list = GDALGetFileList(ds);
    TRY(sdm_scene_add_file(ctx, scene, name));
    for (int i = 0; list && list[i]; ++i)
        TRY(sdm_scene_add_file(ctx, scene, list[i]));
done:
    CSLDestroy(list);
    return st;
}

static SdmStatus open_view(SdmContext *ctx, int k, const char *name, SdmScene *scene)
{
    SdmStatus st = SDM_OK;
    const SdmOptions *const opt = scene->options;
    const bool parallel = !isnan(opt->base_height);
    SdmView *const view = &scene->view[k];
    const SdmImageSource src = {.name = name,
                                .mask = k ? opt->mask_right : opt->mask_left,
                                .option = k ? "--mask-right" : "--mask-left",
                                .band = opt->band,
                                .depth = scene->depth};
    TRY(sdm_format(ctx, view->name, sizeof view->name, "%s", name));
    TRY(sdm_image_open(ctx, &src, &view->image));
    const GDALDatasetH ds = view->image->dataset;
    TRY(add_files(ctx, name, ds, scene));
    take_time(ctx, name, ds, k ? scene->right_time_utc : scene->time_utc);
    TRY(parallel ? open_parallel(ctx, name, ds, k ? opt->base_height : 0.0, &view->camera)
                 : open_rpc(ctx, name, ds, &view->camera));
done:
    return st;
}

SdmStatus sdm_pair_open(SdmContext *ctx, const char *left, const char *right, SdmScene *scene)
{
    SdmStatus st = SDM_OK;
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
    TRY(open_view(ctx, 0, left, scene));
    TRY(open_view(ctx, 1, right, scene));
done:
    return st;
}
