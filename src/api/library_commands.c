/* The commands, on files or on images and cameras in memory; a DEM, a stack or disparities into either. */
// SPDX-License-Identifier: Apache-2.0
#include "api/face.h"
#include "api/command_options.h"
#include "geo/vertical_datum.h"
#include "job/job_commands.h"
#include "scene/scene.h"
#include "views/run_views.h"

#include <string.h>

static SdmStatus need_output(SdmContext *ctx, const char *output)
{
    return output ? SDM_OK
                  : sdm_fail(ctx, SDM_ERR_USAGE, "output: not set, expected the name of the file to write");
}

static SdmStatus need_names(SdmContext *ctx, const char *first, const char *second, const char *what)
{
    return first && *first && second && *second
               ? SDM_OK
               : sdm_fail(ctx, SDM_ERR_USAGE, "a name is missing; give %s", what);
}

/* ---- images and cameras ---- */

static SdmStatus check_side(SdmContext *ctx, SdmSide side, bool needs_image)
{
    const SdmFace *const f = ctx->face;
    if (side != SDM_LEFT && side != SDM_RIGHT)
        return sdm_fail(ctx, SDM_ERR_USAGE, "found view %d, expected SDM_LEFT or SDM_RIGHT", (int)side);
    if (needs_image && !f->image[side].samples)
        return sdm_fail(ctx, SDM_ERR_USAGE, "the %s view has no image yet", side ? "right" : "left");
    return SDM_OK;
}

SdmStatus sdm_set_image(SdmContext *ctx, SdmSide side, SdmSampleType type, const void *samples, int64_t width,
                        int64_t height, int64_t row_bytes)
{
    const SdmImageArray image = {
        .type = type, .samples = samples, .width = width, .height = height, .row_bytes = row_bytes};
    PASS(check_side(ctx, side, false));
    PASS(sdm_array_check(ctx, side ? "right image" : "left image", &image));
    ((SdmFace *)ctx->face)->image[side] = image;
    return SDM_OK;
}

SdmStatus sdm_set_image_nodata(SdmContext *ctx, SdmSide side, double nodata)
{
    SdmFace *const f = ctx->face;
    PASS(check_side(ctx, side, true));
    f->image[side].has_nodata = true;
    f->image[side].nodata = nodata;
    return SDM_OK;
}

SdmStatus sdm_set_image_mask(SdmContext *ctx, SdmSide side, const uint8_t *mask, int64_t row_bytes)
{
    SdmFace *const f = ctx->face;
    PASS(check_side(ctx, side, true));
    if (mask && row_bytes != 0 && row_bytes < f->image[side].width)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "mask of the %s image: rows of %lld bytes, expected 0 or at least %lld",
                        side ? "right" : "left", (long long)row_bytes, (long long)f->image[side].width);
    f->image[side].mask = mask;
    f->image[side].mask_row_bytes = row_bytes;
    return SDM_OK;
}

SdmStatus sdm_set_rpc(SdmContext *ctx, SdmSide side, const SdmRpc *rpc)
{
    SdmFace *const f = ctx->face;
    PASS(check_side(ctx, side, false));
    f->has_rpc[side] = rpc != NULL;
    if (rpc)
        f->rpc[side] = *rpc;
    return SDM_OK;
}

/* Open the scene of files, or, where no name is given, of images and cameras in memory. */
static SdmStatus open_scene(SdmContext *ctx, SdmFace *face, const char *left, const char *right,
                            SdmScene **out)
{
    SdmViewInput view[2];
    if (left || right || (!face->image[0].samples && !face->image[1].samples))
        return sdm_scene_open(ctx, &face->values.common, left, right, out);
    for (int k = 0; k < 2; k++) {
        PASS(check_side(ctx, k ? SDM_RIGHT : SDM_LEFT, true));
        view[k] = (SdmViewInput){.image = face->image[k], .rpc = face->has_rpc[k] ? &face->rpc[k] : NULL};
    }
    return sdm_scene_open_arrays(ctx, &face->values.common, view, out);
}

/* ---- a DEM ---- */

/* Several views, or the left and the right one of a pair, into files or *out. */
static SdmStatus run(SdmContext *ctx, const char *const *views, int count, bool several, SdmDem **out)
{
    SDM_CLOSED_BY(sdm_face_end) SdmFaceCall call = {.began = false};
    SDM_CLOSED_BY(sdm_dem_result_free) SdmDemResult found = {.known = false};
    SDM_CLOSED_BY(sdm_dem_close) SdmDem *dem = NULL;
    SDM_CLOSED_BY(sdm_scene_close) SdmScene *scene = NULL;
    if (out)
        *out = NULL;
    PASS(sdm_face_begin(ctx, "run", &call));
    const SdmOptions *const options = &call.face->values.common;
    const char *const output = out ? NULL : options->output;
    PASS(out ? sdm_dem_open(ctx, options->vertical, &dem) : need_output(ctx, output));
    SdmKeptProduct *const keep = dem ? &dem->kept : NULL;
    if (keep && !several)
        PASS(open_scene(ctx, call.face, views[0], views[1], &scene));
    PASS(several ? sdm_run_several(ctx, views, count, keep, &found)
                 : sdm_run_scene(ctx, views[0], views[1], scene, keep, &found));
    PASS(sdm_check_doubts(ctx, out ? "the DEM" : output, found.doubt, found.doubts));
    call.result = cJSON_CreateObject();
    sdm_result_run(ctx, output, &found, call.result);
    if (out)
        *out = dem;
    dem = NULL;
    return SDM_OK;
}

SdmStatus sdm_run(SdmContext *ctx, const char *left, const char *right)
{
    return run(ctx, (const char *[]){left, right}, 2, false, NULL);
}

SdmStatus sdm_run_views(SdmContext *ctx, const char *const *views, int count)
{
    return run(ctx, views, count, true, NULL);
}

SdmStatus sdm_make_dem(SdmContext *ctx, const char *left, const char *right, SdmDem **out)
{
    return run(ctx, (const char *[]){left, right}, 2, false, out);
}

SdmStatus sdm_make_dem_views(SdmContext *ctx, const char *const *views, int count, SdmDem **out)
{
    return run(ctx, views, count, true, out);
}

/* ---- information, a comparison ---- */

SdmStatus sdm_info(SdmContext *ctx, const char *left, const char *right)
{
    SDM_CLOSED_BY(sdm_face_end) SdmFaceCall call = {.began = false};
    SDM_CLOSED_BY(sdm_scene_close) SdmScene *scene = NULL;
    SdmSceneInfo info;
    PASS(sdm_face_begin(ctx, "info", &call));
    PASS(open_scene(ctx, call.face, left, right, &scene));
    PASS(sdm_scene_describe(ctx, scene, &info));
    call.result = cJSON_CreateObject();
    sdm_result_info(scene, &info, call.result);
    return SDM_OK;
}

SdmStatus sdm_compare(SdmContext *ctx, const char *dem, const char *reference)
{
    SDM_CLOSED_BY(sdm_face_end) SdmFaceCall call = {.began = false};
    SdmCompareResult found;
    PASS(sdm_face_begin(ctx, "compare", &call));
    PASS(need_names(ctx, dem, reference, "the DEM and the reference"));
    SdmCompareOptions *const own = &call.face->values.own.compare;
    own->memory_bytes = call.face->values.common.memory_bytes;
    own->overwrite = call.face->values.common.overwrite;
    PASS(sdm_compare_dems(ctx, dem, reference, own, &found));
    call.result = cJSON_CreateObject();
    sdm_compare_json(&found, call.result);
    return SDM_OK;
}

/* ---- a stack ---- */

/* Into files or *out. */
static SdmStatus stack(SdmContext *ctx, const char *const *dems, int count, SdmDem **out)
{
    SDM_CLOSED_BY(sdm_face_end) SdmFaceCall call = {.began = false};
    SDM_CLOSED_BY(sdm_stack_free) SdmStackResult found = {.dems = NULL};
    SDM_CLOSED_BY(sdm_dem_close) SdmDem *dem = NULL;
    if (out)
        *out = NULL;
    PASS(sdm_face_begin(ctx, "stack", &call));
    SdmOptions options = call.face->values.common;
    options.output = out ? NULL : options.output;
    PASS(out ? sdm_dem_open(ctx, options.vertical, &dem) : need_output(ctx, options.output));
    if (count < 0 || (count > 0 && !dems))
        return sdm_fail(ctx, SDM_ERR_USAGE, "found %d names of DEMs%s, expected an array of them", count,
                        dems ? "" : " at NULL");
    for (int i = 0; i < count; i++)
        if (!dems[i] || !*dems[i])
            return sdm_fail(ctx, SDM_ERR_USAGE, "the name of DEM %d of %d is missing; give names of DEMs",
                            i + 1, count);
    PASS(sdm_stack_dems(ctx, &options, &call.face->values.own.stack, dems, count, dem ? &dem->kept : NULL,
                        &found));
    PASS(sdm_check_doubts(ctx, out ? "the DEM" : options.output, found.doubt, found.doubts));
    call.result = cJSON_CreateObject();
    sdm_result_stack(ctx, options.output, &found, call.result);
    if (!out)
        return SDM_OK;
    sdm_progress(ctx, 9, 1.0, "done");
    if (found.datum_unknown)
        dem->vertical = SDM_VERTICAL_UNKNOWN;
    *out = dem;
    dem = NULL;
    return SDM_OK;
}

SdmStatus sdm_stack(SdmContext *ctx, const char *const *dems, int count)
{
    return stack(ctx, dems, count, NULL);
}

SdmStatus sdm_make_stack(SdmContext *ctx, const char *const *dems, int count, SdmDem **out)
{
    return stack(ctx, dems, count, out);
}

/* ---- disparities ---- */

SdmStatus sdm_match(SdmContext *ctx, const char *left, const char *right)
{
    SDM_CLOSED_BY(sdm_face_end) SdmFaceCall call = {.began = false};
    SdmDisparityResult found;
    PASS(sdm_face_begin(ctx, "match", &call));
    const SdmDisparityOptions *const own = &call.face->values.own.match;
    const SdmOptions *const options = &call.face->values.common;
    PASS(need_output(ctx, own->output));
    PASS(need_names(ctx, left, right, "the left and the right image"));
    PASS(sdm_disparity_run(ctx, left, right, options, own, &found));
    call.result = cJSON_CreateObject();
    sdm_result_match(ctx, options, own->output, &found, call.result);
    return SDM_OK;
}

SdmStatus sdm_match_images(SdmContext *ctx, float *disparity, int64_t row_bytes)
{
    SDM_CLOSED_BY(sdm_face_end) SdmFaceCall call = {.began = false};
    SdmDisparityResult found;
    SDM_OWNED float *all = NULL;
    PASS(sdm_face_begin(ctx, "match", &call));
    const SdmOptions *const options = &call.face->values.common;
    for (int k = 0; k < 2; k++) {
        PASS(check_side(ctx, k ? SDM_RIGHT : SDM_LEFT, true));
        if (call.face->image[k].mask)
            return sdm_fail(
                ctx, SDM_ERR_USAGE,
                "the %s image has a mask, which match does not take; give its pixels a nodata value",
                k ? "right" : "left");
    }
    const int64_t row =
        call.face->image[0].width / call.face->values.own.match.downscale * (int64_t)sizeof(float);
    const int64_t pitch = row_bytes ? row_bytes : row;
    if (!disparity || pitch < row)
        return sdm_fail(ctx, SDM_ERR_USAGE,
                        "disparities with rows of %lld bytes, expected 0 or at least %lld bytes",
                        (long long)row_bytes, (long long)row);
    PASS(sdm_disparity_arrays(ctx, call.face->image, options, &call.face->values.own.match, &found, &all));
    for (int64_t r = 0; r < found.height; r++)
        memcpy((char *)disparity + r * pitch, all + r * found.width, (size_t)found.width * sizeof *all);
    sdm_progress(ctx, 9, 1.0, "done");
    call.result = cJSON_CreateObject();
    sdm_result_match(ctx, options, NULL, &found, call.result);
    return SDM_OK;
}
