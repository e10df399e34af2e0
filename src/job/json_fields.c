/* JSON object and key -> text, whole number. */
// SPDX-License-Identifier: Apache-2.0
#include "job/json_fields.h"

#include <math.h>

const char *sdm_json_text(const cJSON *object, const char *key)
{
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) && item->valuestring ? item->valuestring : NULL;
}

int64_t sdm_json_whole(const cJSON *object, const char *key, double most)
{
    const cJSON *const item = cJSON_GetObjectItemCaseSensitive(object, key);
    const double v = cJSON_IsNumber(item) ? item->valuedouble : -1.0;
    return v >= 0.0 && v <= most && v == floor(v) ? (int64_t)v : -1;
}
