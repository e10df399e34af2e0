/* The commands on files. */
// SPDX-License-Identifier: Apache-2.0
#include "api/face.h"
#include "api/results.h"
#include "job/job_commands.h"
#include "scene/scene.h"
#include "views/run_views.h"

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

/* Several views, or the left and the right one of a pair. */
static SdmStatus run(SdmContext *ctx, const char *const *views, int count, bool several)
{
    SDM_CLOSED_BY(sdm_face_end) SdmFaceCall call = {.began = false};
    SDM_CLOSED_BY(sdm_dem_result_free) SdmDemResult found = {.known = false};
    PASS(sdm_face_begin(ctx, "run", &call));
    const char *const output = call.face->values.common.output;
    PASS(need_output(ctx, output));
    PASS(several ? sdm_run_several(ctx, views, count, NULL, &found)
                 : sdm_run_scene(ctx, views[0], views[1], &found));
    PASS(sdm_check_doubts(ctx, output, found.doubt, found.doubts));
    call.result = cJSON_CreateObject();
    sdm_result_run(ctx, output, &found, call.result);
    return SDM_OK;
}

SdmStatus sdm_run(SdmContext *ctx, const char *left, const char *right)
{
    return run(ctx, (const char *[]){left, right}, 2, false);
}

SdmStatus sdm_run_views(SdmContext *ctx, const char *const *views, int count)
{
    return run(ctx, views, count, true);
}

SdmStatus sdm_info(SdmContext *ctx, const char *left, const char *right)
{
    SDM_CLOSED_BY(sdm_face_end) SdmFaceCall call = {.began = false};
    SDM_CLOSED_BY(sdm_scene_close) SdmScene *scene = NULL;
    SDM_OWNED SdmSceneInfo *info = NULL;
    PASS(sdm_face_begin(ctx, "info", &call));
    PASS(sdm_face_open_scene(ctx, call.face, left, right, &scene));
    PASS(sdm_alloc(ctx, &info, 1, sizeof *info, "scene description"));
    PASS(sdm_scene_describe(ctx, scene, info));
    call.result = cJSON_CreateObject();
    sdm_result_info(info, call.result);
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

SdmStatus sdm_stack(SdmContext *ctx, const char *const *dems, int count)
{
    SDM_CLOSED_BY(sdm_face_end) SdmFaceCall call = {.began = false};
    SDM_CLOSED_BY(sdm_stack_free) SdmStackResult found = {.dems = NULL};
    PASS(sdm_face_begin(ctx, "stack", &call));
    const SdmOptions *const options = &call.face->values.common;
    PASS(need_output(ctx, options->output));
    PASS(sdm_face_check_names(ctx, dems, count));
    PASS(sdm_stack_dems(ctx, options, &call.face->values.own.stack, dems, count, NULL, &found));
    PASS(sdm_check_doubts(ctx, options->output, found.doubt, found.report.doubts));
    call.result = cJSON_CreateObject();
    sdm_result_stack(ctx, options->output, &found.report, call.result);
    return SDM_OK;
}

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
