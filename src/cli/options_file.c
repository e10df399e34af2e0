/* --options FILE: a JSON object of names and values, or the report NAME.json of an earlier run -> the options
 * that the command line does not give, and inputs where it has none. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"
#include "core/file.h"

#include <string.h>

enum { LARGEST = 64 << 20 };

/* The value as text, kept with the tree: [w, s, e, n] as "w,s,e,n"; NULL: an object, or no memory. */
static const char *text_of(cJSON *value)
{
    if (cJSON_IsObject(value) || value->valuestring)
        return cJSON_IsObject(value) ? NULL : value->valuestring;
    value->valuestring = cJSON_PrintUnformatted(value);
    for (char *c = value->valuestring; c && cJSON_IsArray(value) && *c; c++)
        *c = strchr("[]\"", *c) ? ' ' : *c;
    return value->valuestring;
}

/* Put before the sentence of a failure that --options met. */
static SdmStatus fail_in(SdmCall *call, SdmStatus st, const char *file)
{
    char why[1024];
    snprintf(why, sizeof why, "%s", sdm_error(call->ctx));
    return sdm_fail(call->ctx, st, "--options %s%s%.900s", file, *file ? ": " : "", why);
}

static SdmStatus take_value(SdmCall *call, const char *file, cJSON *value, bool is_report)
{
    SdmStatus st = SDM_OK;
    const SdmOptionSpec *const spec =
        sdm_option_find(call->line.sets, call->line.command, value->string + strspn(value->string, "-")).spec;
    const bool several = cJSON_IsArray(value) && spec && spec->type == SDM_OPT_KEY_VALUES;
    for (cJSON *item = several ? value->child : value; item; item = several ? item->next : NULL) {
        const bool none = cJSON_IsNull(item);
        const char *const text = none ? NULL : text_of(item);
        if (!text && !none)
            return sdm_fail(call->ctx, SDM_ERR_USAGE,
                            "--options %s: %s is neither a text, a number, true, false nor a list of these",
                            file, value->string);
        st = sdm_options_fill(call->ctx, &call->line, value->string, text, is_report);
        if (st != SDM_OK)
            return fail_in(call, st, file);
    }
    return st;
}

static void take_input(SdmCall *call, const cJSON *path)
{
    if (cJSON_IsString(path) && *path->valuestring && !strstr(path->valuestring, "***") &&
        call->line.count < call->line.max)
        call->line.positional[call->line.count++] = path->valuestring;
}

/* The DEMs of a stack, or the images of a run, where the report is of one. */
static void take_inputs(SdmCall *call, const cJSON *root)
{
    const bool is_stack = call->line.command == SDM_CMD_STACK;
    const cJSON *const of = cJSON_GetObjectItemCaseSensitive(root, is_stack ? "stack" : "scene"),
                       *view = NULL;
    if (call->line.command == SDM_CMD_COMPARE)
        return;
    take_input(call, cJSON_GetObjectItemCaseSensitive(of, "left"));
    take_input(call, cJSON_GetObjectItemCaseSensitive(of, "right"));
    cJSON_ArrayForEach(view, cJSON_GetObjectItemCaseSensitive(of, is_stack ? "dems" : "views"))
        take_input(call, cJSON_GetObjectItemCaseSensitive(view, "path"));
}

SdmStatus sdm_options_file(SdmCall *call)
{
    const char *const file = call->options.options;
    SDM_OWNED char *text = NULL;
    size_t size;
    if (!file)
        return SDM_OK;
    const SdmStatus st = sdm_file_read(call->ctx, file, LARGEST, &text, &size);
    if (st != SDM_OK)
        return fail_in(call, st, "");
    call->file = cJSON_ParseWithOpts(text, NULL, true);
    cJSON *const given = cJSON_GetObjectItemCaseSensitive(call->file, "options"),
                 *const program = cJSON_GetObjectItemCaseSensitive(call->file, "program");
    const bool is_report = cJSON_IsObject(given) && cJSON_IsString(program);
    cJSON *const from = is_report ? given : call->file;
    if (!cJSON_IsObject(from))
        return sdm_fail(call->ctx, SDM_ERR_USAGE,
                        "--options %s: expected JSON, an object of names and values such as {\"tr\": 10}, or "
                        "NAME.json of an earlier run",
                        file);
    for (cJSON *value = from->child; value; value = value->next) {
        if (cJSON_GetObjectItemCaseSensitive(from, value->string) != value)
            return sdm_fail(call->ctx, SDM_ERR_USAGE, "--options %s: %s is given twice, expected once", file,
                            value->string);
        PASS(take_value(call, file, value, is_report));
    }
    if (is_report && call->line.count == 0)
        take_inputs(call, call->file);
    return SDM_OK;
}
