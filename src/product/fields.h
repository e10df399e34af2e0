/* Named values -> fields of a JSON object or of a report, several in one call. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/text.h"

struct cJSON;

/* A number (NaN and infinity become null), a text (in a JSON object NULL: left out), or true or false. */
typedef struct SdmField {
    const char *key;
    enum { SDM_FIELD_NUMBER, SDM_FIELD_TEXT, SDM_FIELD_FLAG } kind;
    double number;
    const char *text;
} SdmField;

SdmField sdm_field_number(const char *key, double value);
SdmField sdm_field_whole(const char *key, int64_t value);
SdmField sdm_field_text(const char *key, const char *value);
SdmField sdm_field_flag(const char *key, bool value);
/* The kind follows from the type of the value; a comparison or !x is a number, unless it is cast to bool. */
#define SDM_FIELD(key, value)                                                                                \
    _Generic((value), char *                                                                                 \
             : sdm_field_text, const char *                                                                  \
             : sdm_field_text, bool                                                                          \
             : sdm_field_flag, int64_t                                                                       \
             : sdm_field_whole, default                                                                      \
             : sdm_field_number)(key, value)

/* Add fields, SDM_FIELD(key, value) each, to a JSON object. */
#define SDM_JSON(to, ...) sdm_json_add(to, SDM_EACH(const SdmField, __VA_ARGS__))
void sdm_json_add(struct cJSON *to, const SdmField *field, size_t count);

/* Add JSON, for people or on one line, with a line end; bytes that are no UTF-8, as names of files may hold,
 * are replaced.  Failures stay in out->st. */
void sdm_text_json(SdmText *out, const struct cJSON *root, bool one_line);
