/* A report -> its JSON text. */
// SPDX-License-Identifier: Apache-2.0
#include "product/report_write.h"

#include <cJSON.h>
#include <math.h>
#include <stdlib.h>

/* As few digits as read back to the same number. */
static cJSON *number(double value)
{
    char text[40] = "null";
    for (int digits = 15; digits <= 17 && isfinite(value); digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    return cJSON_CreateRaw(text);
}

static cJSON *convert(const SdmReportItem *item);

static cJSON *convert_children(const SdmReportItem *of, cJSON *to)
{
    for (const SdmReportItem *item = of->first; item; item = item->next) {
        if (of->kind == SDM_REPORT_LIST)
            cJSON_AddItemToArray(to, convert(item));
        else if (item->key)
            cJSON_AddItemToObject(to, item->key, convert(item));
    }
    return to;
}

static cJSON *convert(const SdmReportItem *item)
{
    cJSON *array;
    switch (item->kind) {
    case SDM_REPORT_NUMBER:
        return number(item->number);
    case SDM_REPORT_TEXT:
        return cJSON_CreateString(item->text);
    case SDM_REPORT_FLAG:
        return cJSON_CreateBool(item->number != 0.0);
    case SDM_REPORT_NUMBERS:
        array = cJSON_CreateArray();
        for (int i = 0; i < item->count; i++)
            cJSON_AddItemToArray(array, number(item->numbers[i]));
        return array;
    case SDM_REPORT_LIST:
        return convert_children(item, cJSON_CreateArray());
    default:
        return convert_children(item, cJSON_CreateObject());
    }
}

/* Names of files may hold bytes that are no UTF-8; JSON allows none, so they are replaced. */
static void add_utf8(SdmText *out, const char *json)
{
    const char *from = json;
    while (*json) {
        const int n = sdm_utf8_length(json);
        json += n ? n : 1;
        if (n && *json)
            continue;
        sdm_text_raw(out, from, (size_t)(json - from) - (n ? 0 : 1));
        if (!n)
            sdm_text_raw(out, "\\ufffd", 6);
        from = json;
    }
    sdm_text_raw(out, "\n", 1);
}

SdmStatus sdm_report_json(const SdmReport *r, SdmText *out)
{
    if (r->st)
        return r->st;
    cJSON *const root = convert(r->root);
    char *const json = cJSON_Print(root);
    cJSON_Delete(root);
    if (!json)
        return sdm_fail(out->ctx, SDM_ERR_MEMORY, "out of memory while the report was written");
    add_utf8(out, json);
    cJSON_free(json);
    return out->st;
}
