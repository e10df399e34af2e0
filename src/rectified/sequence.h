/* A name with a number in it -> the files of a sequence of images. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/file.h"

/* "left_%04d.png" -> before "left_", digits 4, after ".png"; a plain name has digits 0 and stands in before.
 * "%%" is a percent sign. */
typedef struct SdmPattern {
    char before[SDM_PATH_SIZE], after[SDM_PATH_SIZE];
    int digits; /* 0: plain; 1: %d; n: %0nd */
} SdmPattern;

/* option: for the sentence, such as "LEFT" or "-o".  Errors: SDM_ERR_USAGE. */
SdmStatus sdm_pattern_parse(SdmContext *ctx, const char *option, const char *text, SdmPattern *out);
/* The name with a number; SDM_ERR_USAGE where it is too long. */
SdmStatus sdm_pattern_name(SdmContext *ctx, const SdmPattern *p, int number, char out[SDM_PATH_SIZE]);
/* Numbers of the files that a pattern names, ascending, first..last (-1: any).  *numbers: owned by the caller
 * (sdm_free).  Errors: SDM_ERR_INPUT where there is none, SDM_ERR_MEMORY. */
SdmStatus sdm_pattern_numbers(SdmContext *ctx, const SdmPattern *p, int first, int last, int **numbers,
                              int *count);
