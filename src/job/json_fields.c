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

const cJSON *sdm_json_member(const cJSON *of, const char *a, const char *b)
{
    const cJSON *const first = cJSON_GetObjectItemCaseSensitive(of, a);
    return b ? cJSON_GetObjectItemCaseSensitive(first, b) : first;
}

double sdm_json_number_at(const cJSON *of, const char *a, const char *b)
{
    const cJSON *const found = sdm_json_member(of, a, b);
    return cJSON_IsNumber(found) ? found->valuedouble : (double)NAN;
}
