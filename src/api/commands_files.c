/* The commands on files. */
// SPDX-License-Identifier: Apache-2.0
#include "api/face.h"
#include "api/results.h"
#include "job/job_commands.h"
#include "scene/scene.h"
#include "views/run_views.h"

/* End the call; after a failure it has no result. */
static SdmStatus finish(SdmFaceCall *call, SdmStatus st, cJSON *result)
{
    if (st != SDM_OK) {
        cJSON_Delete(result);
        result = NULL;
    }
    sdm_face_end(call, result);
    return st;
}

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
    SdmStatus st = SDM_OK;
    SdmFaceCall call;
    cJSON *result = NULL;
    SdmDemResult found = {.known = false};
    TRY(sdm_face_begin(ctx, "run", &call));
    const char *const output = call.face->values.common.output;
    TRY(need_output(ctx, output));
    TRY(several ? sdm_run_several(ctx, views, count, NULL, &found)
                : sdm_run_scene(ctx, views[0], views[1], &found));
    result = cJSON_CreateObject();
    sdm_result_run(ctx, output, &found, result);
    TRY(sdm_result_check(ctx, output, &found));
done:
    sdm_dem_result_free(&found);
    return finish(&call, st, result);
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
    SdmStatus st = SDM_OK;
    SdmFaceCall call;
    SdmScene *scene = NULL;
    SdmSceneInfo *info = NULL;
    cJSON *result = NULL;
    TRY(sdm_face_begin(ctx, "info", &call));
    TRY(sdm_face_open_scene(ctx, call.face, left, right, &scene));
    TRY(sdm_alloc(ctx, &info, 1, sizeof *info, "scene description"));
    TRY(sdm_scene_describe(ctx, scene, info));
    result = cJSON_CreateObject();
    sdm_result_info(info, result);
done:
    sdm_free(&info);
    sdm_scene_close(&scene);
    return finish(&call, st, result);
}

SdmStatus sdm_compare(SdmContext *ctx, const char *dem, const char *reference)
{
    SdmStatus st = SDM_OK;
    SdmFaceCall call;
    SdmCompareResult found;
    cJSON *result = NULL;
    TRY(sdm_face_begin(ctx, "compare", &call));
    TRY(need_names(ctx, dem, reference, "the DEM and the reference"));
    SdmCompareOptions *const own = &call.face->values.own.compare;
    own->memory_bytes = call.face->values.common.memory_bytes;
    own->overwrite = call.face->values.common.overwrite;
    TRY(sdm_compare_dems(ctx, dem, reference, own, &found));
    result = cJSON_CreateObject();
    sdm_compare_json(&found, result);
done:
    return finish(&call, st, result);
}

SdmStatus sdm_stack(SdmContext *ctx, const char *const *dems, int count)
{
    SdmStatus st = SDM_OK;
    SdmFaceCall call;
    SdmStackResult found = {.dems = NULL};
    cJSON *result = NULL;
    TRY(sdm_face_begin(ctx, "stack", &call));
    const SdmOptions *const options = &call.face->values.common;
    TRY(need_output(ctx, options->output));
    TRY(sdm_face_check_names(ctx, dems, count));
    TRY(sdm_stack_dems(ctx, options, &call.face->values.own.stack, dems, count, NULL, &found));
    result = cJSON_CreateObject();
    sdm_result_stack(ctx, options->output, &found.report, result);
done:
    sdm_stack_free(&found);
    return finish(&call, st, result);
}

SdmStatus sdm_match(SdmContext *ctx, const char *left, const char *right)
{
    SdmStatus st = SDM_OK;
    SdmFaceCall call;
    SdmDisparityResult found;
    cJSON *result = NULL;
    TRY(sdm_face_begin(ctx, "match", &call));
    const SdmDisparityOptions *const own = &call.face->values.own.match;
    const SdmOptions *const options = &call.face->values.common;
    TRY(need_output(ctx, own->output));
    TRY(need_names(ctx, left, right, "the left and the right image"));
    TRY(sdm_disparity_run(ctx, left, right, options, own, &found));
    result = cJSON_CreateObject();
    sdm_result_match(ctx, options, own->output, &found, result);
done:
    return finish(&call, st, result);
}
