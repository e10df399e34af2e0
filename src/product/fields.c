/* Fields -> cJSON -> text. */
// SPDX-License-Identifier: Apache-2.0
#include "product/fields.h"

#include <cJSON.h>
#include <math.h>

SdmField sdm_field_number(const char *key, double value)
{
    return (SdmField){.key = key, .kind = SDM_FIELD_NUMBER, .number = value};
}

SdmField sdm_field_whole(const char *key, int64_t value)
{
    return sdm_field_number(key, (double)value);
}

SdmField sdm_field_text(const char *key, const char *value)
{
    return (SdmField){.key = key, .kind = SDM_FIELD_TEXT, .text = value};
}

SdmField sdm_field_flag(const char *key, bool value)
{
    return (SdmField){.key = key, .kind = SDM_FIELD_FLAG, .number = value};
}

void sdm_json_add(cJSON *to, const SdmField *field, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (field[i].kind == SDM_FIELD_TEXT)
            cJSON_AddStringToObject(to, field[i].key, field[i].text);
        else if (field[i].kind == SDM_FIELD_FLAG)
            cJSON_AddBoolToObject(to, field[i].key, field[i].number > 0.0);
        else if (isfinite(field[i].number))
            cJSON_AddNumberToObject(to, field[i].key, field[i].number);
        else
            cJSON_AddNullToObject(to, field[i].key);
}

void sdm_text_json(SdmText *out, const cJSON *root, bool one_line)
{
    char *const json = one_line ? cJSON_PrintUnformatted(root) : cJSON_Print(root);
    const char *from = json;
    if (!json && out->st == SDM_OK)
        out->st = sdm_fail(out->ctx, SDM_ERR_MEMORY, "out of memory while JSON was written");
    for (const char *at = json; at && *at;) {
        const int n = sdm_utf8_length(at);
        at += n ? n : 1;
        if (n && *at)
            continue;
        sdm_text_raw(out, from, (size_t)(at - from) - (n ? 0 : 1));
        if (!n)
            sdm_text_raw(out, "\\ufffd", 6);
        from = at;
    }
    sdm_text_raw(out, "\n", 1);
    cJSON_free(json);
}
