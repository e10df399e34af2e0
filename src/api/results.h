/* Results of the commands -> fields of a JSON object. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coreg/stack.h"
#include "product/dem_result.h"
#include "rectified/disparity.h"
#include "scene/scene.h"

#include <cJSON.h>

/* output, of each command: NULL for a result in memory. */
void sdm_result_run(SdmContext *ctx, const char *output, const SdmDemResult *result, cJSON *to);
void sdm_result_info(const SdmScene *scene, const SdmSceneInfo *info, cJSON *to);
void sdm_result_stack(const SdmContext *ctx, const char *output, const SdmStackResult *report, cJSON *to);
void sdm_result_match(const SdmContext *ctx, const SdmOptions *options, const char *output,
                      const SdmDisparityResult *result, cJSON *to);
