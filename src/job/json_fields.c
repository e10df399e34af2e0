/* JSON object and key -> text, whole number. */
// SPDX-License-Identifier: Apache-2.0
#include "job/json_fields.h"

#include <math.h>

cJSON *sdm_json_read(SdmContext *ctx, const char *path)
{
    char *text = NULL;
    size_t size = 0;
    cJSON *report = NULL;
    FILE *const f = fopen(path, "rb");
    if (!f)
        return NULL;
    if (fseek(f, 0, SEEK_END) == 0 && (size = (size_t)ftell(f)) < ((size_t)1 << 30) &&
        fseek(f, 0, SEEK_SET) == 0 && sdm_alloc(ctx, &text, size + 1, 1, "the report") == SDM_OK &&
        fread(text, 1, size, f) == size)
        report = cJSON_Parse(text);
    fclose(f);
    sdm_free(&text);
    return report;
}

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
