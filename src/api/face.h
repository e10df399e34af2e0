/* The state of the library that a context holds, and the begin and end of every call. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/command_options.h"
#include "core/context.h"
#include "input/source.h"
#include "product/product.h"

#include <cJSON.h>

typedef struct SdmFace {
    const SdmCommandOptions *command;
    SdmCommandValues values;
    SdmOptionSet sets[SDM_OPTION_SETS]; /* of the command alone, and common ones, as fields of values */
    SdmTexts texts;                     /* values of options that are texts */
    cJSON *result;                      /* of the last call; NULL: none */
    char *result_text, *options_text;
    SdmImageArray image[2]; /* samples NULL: none */
    SdmRpc rpc[2];
    bool has_rpc[2];
    SdmTexts rasters; /* names of sdm_add_raster() */
} SdmFace;

void sdm_face_remove_rasters(SdmFace *face);

/* One call of the library, from begin to end. */
typedef struct SdmFaceCall {
    SdmFace *face;
    SdmGdalConfig config; /* --config of the options holds until the end */
    bool began;
    SdmLocale around; /* of the thread, outside of the call; (SdmLocale)0: not changed */
    cJSON *result;    /* which the end takes over; NULL after a failure */
} SdmFaceCall;

/* Check that the context was opened for this command and that the options fit together; clear the result.
 * call->face is set even so.  Every begin has its end. */
SdmStatus sdm_face_begin(SdmContext *ctx, const char *command, SdmFaceCall *call);
void sdm_face_end(SdmFaceCall *call);

/* A DEM in memory: a product that was not written. */
struct SdmDem {
    SdmKeptProduct kept;
    int vertical; /* SdmVertical, or SDM_VERTICAL_UNKNOWN */
};
SdmStatus sdm_dem_open(SdmContext *ctx, int vertical, SdmDem **out);
