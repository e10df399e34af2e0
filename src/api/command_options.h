/* The name of a command -> its options: their tables and defaults; its result as JSON. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "coreg/compare.h"
#include "coreg/stack.h"
#include "product/dem_report.h"
#include "rectified/disparity.h"
#include "scene/scene.h"

#include <cJSON.h>

/* The values of all options of one command. */
typedef struct SdmCommandValues {
    SdmOptions common;
    union {
        SdmCompareOptions compare;
        SdmStackOptions stack;
        SdmDisparityOptions match;
    } own;
} SdmCommandValues;

/* Texts that values of options, and callers, point to. */
typedef struct SdmTexts {
    char **item; /* owned */
    int count;
} SdmTexts;
/* A copy in the list; NULL: out of memory. */
const char *sdm_texts_keep(SdmTexts *list, const char *text);
void sdm_texts_free(SdmTexts *list);

typedef struct SdmCommandOptions {
    const char *name;
    unsigned bit;                   /* SDM_CMD_* */
    const SdmOptionSpec *own_table; /* options of the command alone, fields of SdmCommandValues.own; or
                                     * NULL */
} SdmCommandOptions;

/* NULL: the library has no such command. */
const SdmCommandOptions *sdm_command_options(const char *name);
/* command NULL: of one that the library does not have, the common options alone. */
void sdm_command_defaults(const SdmCommandOptions *command, SdmCommandValues *values);

/* The table's entry of an option, for programs: name, type, metavar (FILE.tif,
 * FILE.png: a file to write), input (a file to read), range, lowest, highest, choices, default, help; a
 * field that does not apply is left out.  The caller's, for cJSON_Delete(). */
cJSON *sdm_option_json(const SdmOptionSpec *spec);

/* ---- results.c: results of the commands -> fields of a JSON object ---- */

/* output, of each command: NULL for a result in memory. */
void sdm_result_run(SdmContext *ctx, const char *output, const SdmDemResult *result, cJSON *to);
void sdm_result_info(const SdmScene *scene, const SdmSceneInfo *info, cJSON *to);
void sdm_result_stack(const SdmContext *ctx, const char *output, const SdmStackResult *report, cJSON *to);
void sdm_result_match(const SdmContext *ctx, const SdmOptions *options, const char *output,
                      const SdmDisparityResult *result, cJSON *to);
