/* Fields of JSON objects that this program has written. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_JSON_FIELDS_H
#define SDM_JSON_FIELDS_H

#include "core/core.h"

#include <cJSON.h>
#include <stdint.h>

/* The object of a file; NULL: it cannot be read.  cJSON_Delete() it. */
cJSON *sdm_json_read(SdmContext *ctx, const char *path);
/* A text; NULL: none. */
const char *sdm_json_text(const cJSON *object, const char *key);
/* A whole number of 0..most; -1: none. */
int64_t sdm_json_whole(const cJSON *object, const char *key, double most);
/* The member `a`, or the member `b` of that; NULL: none. */
const cJSON *sdm_json_member(const cJSON *object, const char *a, const char *b);
/* The number there; NaN: none. */
double sdm_json_number_at(const cJSON *object, const char *a, const char *b);

#endif
