/* The commands of the library; a command and its options, set by name, with a context; its result. */
// SPDX-License-Identifier: Apache-2.0
#include "api/face.h"
#include "core/machine.h"
#include "geo/gdal_scope.h"
#include "product/fields.h"

#include <cpl_error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the commands ---- */

static const SdmCommandOptions commands[] = {
    {"run", SDM_CMD_RUN, NULL},
    {"info", SDM_CMD_INFO, NULL},
    {"compare", SDM_CMD_COMPARE, sdm_compare_options},
    {"stack", SDM_CMD_STACK, sdm_stack_options},
    {"match", SDM_CMD_MATCH, sdm_disparity_options},
};

const SdmCommandOptions *sdm_command_options(const char *name)
{
    for (size_t i = 0; name && i < sizeof commands / sizeof *commands; i++)
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    return NULL;
}

void sdm_command_defaults(const SdmCommandOptions *command, SdmCommandValues *values)
{
    memset(values, 0, sizeof *values);
    sdm_options_default(&values->common);
    values->common.memory_bytes = sdm_usual_memory();
    switch (command ? command->bit : 0) {
    case SDM_CMD_COMPARE:
        sdm_compare_default(&values->own.compare);
        break;
    case SDM_CMD_STACK:
        sdm_stack_default(&values->own.stack);
        break;
    case SDM_CMD_MATCH:
        sdm_disparity_default(&values->own.match);
    }
}

static void add_choices(cJSON *to, const char *choices)
{
    cJSON *const list = cJSON_AddArrayToObject(to, "choices");
    while (*choices) {
        char word[64];
        const size_t n = strcspn(choices, "|");
        snprintf(word, sizeof word, "%.*s", (int)n, choices);
        cJSON_AddItemToArray(list, cJSON_CreateString(word));
        choices += n + (choices[n] == '|');
    }
}

cJSON *sdm_option_json(const SdmOptionSpec *spec)
{
    static const char *const type[] = {"switch", "integer", "number", "bytes",
                                       "text",   "choice",  "choice", "pairs"};
    const bool is_number =
        spec->type == SDM_OPT_INT || spec->type == SDM_OPT_REAL || spec->type == SDM_OPT_BYTES;
    char text[320];
    cJSON *const o = cJSON_CreateObject();
    sdm_option_plain_name(spec, text, sizeof text);
    SDM_JSON(o, SDM_FIELD("name", text), SDM_FIELD("type", type[spec->type]),
             SDM_FIELD("metavar", spec->metavar));
    if (spec->commands & SDM_NAMES_INPUT)
        cJSON_AddTrueToObject(o, "input");
    if (spec->commands & SDM_NAMES_AREAS)
        cJSON_AddTrueToObject(o, "areas");
    sdm_option_range(spec, text, sizeof text);
    cJSON_AddStringToObject(o, "range", text);
    if (is_number && isfinite(spec->lo))
        cJSON_AddNumberToObject(o, "lowest", spec->lo);
    if (is_number && isfinite(spec->hi))
        cJSON_AddNumberToObject(o, "highest", spec->hi);
    if (spec->choices)
        add_choices(o, spec->choices);
    SDM_JSON(o, SDM_FIELD("default", spec->fallback ? spec->fallback : "none"),
             SDM_FIELD("help", spec->help));
    return o;
}

/* ---- a context ---- */

static void free_face(void *data)
{
    SdmFace *const f = data;
    sdm_face_remove_rasters(f);
    sdm_texts_free(&f->texts);
    sdm_texts_free(&f->rasters);
    cJSON_Delete(f->result);
    cJSON_free(f->result_text);
    cJSON_free(f->options_text);
    free(f);
}

SdmStatus sdm_context_open(SdmContext **out, const char *command)
{
    SdmFace *const f = calloc(1, sizeof *f);
    *out = NULL;
    if (!f || sdm_open(out, NULL) != SDM_OK) {
        free(f);
        sdm_close(out);
        return SDM_ERR_MEMORY;
    }
    (*out)->face = f;
    (*out)->free_face = free_face;
    (*out)->plain_names = true;
    (*out)->numbers = sdm_system_locale();
    if (!(*out)->numbers)
        return sdm_fail(*out, SDM_ERR_MEMORY, "out of memory: a locale");
    f->command = sdm_command_options(command);
    if (!f->command)
        return sdm_fail(*out, SDM_ERR_USAGE,
                        "found the command '%.100s', expected run, info, compare, stack or match",
                        command ? command : "");
    sdm_command_defaults(f->command, &f->values);
    f->sets[0] = (SdmOptionSet){f->command->own_table, &f->values.own, 0};
    f->sets[1] = (SdmOptionSet){sdm_option_table, &f->values.common, 0};
    return SDM_OK;
}

void sdm_context_close(SdmContext **ctx)
{
    sdm_close(ctx);
}

/* ---- options ---- */

/* The i-th option; those of the screen are left out, since the caller gets log and progress. */
static SdmFoundOption option_at(SdmFace *f, int i)
{
    SdmFoundOption found = {.spec = NULL};
    for (int k = 0; i >= 0 && (found = sdm_option_at(f->sets, f->command->bit, k)).spec; k++)
        i -= !(found.spec->commands & SDM_OF_SCREEN);
    return found;
}

static SdmStatus find_option(SdmContext *ctx, SdmFace *f, const char *name, SdmFoundOption *out)
{
    char plain[64] = "";
    *out = sdm_option_find(f->sets, f->command->bit, name);
    if (out->spec && !(out->spec->commands & SDM_OF_SCREEN))
        return SDM_OK;
    const SdmOptionSpec *const nearest = sdm_option_nearest(f->sets, f->command->bit, SDM_OF_SCREEN, name);
    if (nearest)
        sdm_option_plain_name(nearest, plain, sizeof plain);
    return sdm_fail(ctx, SDM_ERR_USAGE, "%s has no option '%.100s'%s%s%s", f->command->name, name,
                    nearest ? ", did you mean " : "", plain, nearest ? "?" : "");
}

SdmStatus sdm_set(SdmContext *ctx, const char *name, const char *value)
{
    SdmFace *const f = ctx->face;
    SdmFoundOption option;
    if (!f->command || !name)
        return sdm_fail(ctx, SDM_ERR_USAGE, "no %s to set", f->command ? "option" : "options");
    PASS(find_option(ctx, f, name, &option));
    const bool off = value && option.spec->type == SDM_OPT_BOOL && strcmp(value, "false") == 0;
    if (!value || off) {
        SdmCommandValues usual;
        sdm_command_defaults(f->command, &usual);
        sdm_option_copy(option.spec, option.set == f->sets ? (void *)&usual.own : &usual.common,
                        option.set->opts);
        option.set->given &= ~option.bit;
        return SDM_OK;
    }
    if (option.spec->type == SDM_OPT_BOOL && strcmp(value, "true") != 0)
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s: found '%.200s', expected true or false", option.spec->name,
                        value);
    const char *const text = sdm_texts_keep(&f->texts, value);
    if (!text)
        return sdm_fail(ctx, SDM_ERR_MEMORY, "out of memory: an option");
    const SdmLocale around = sdm_system_use_locale(ctx->numbers);
    const SdmStatus st = sdm_option_set(ctx, option.spec, option.set->opts, text);
    (void)sdm_system_use_locale(around);
    PASS(st);
    option.set->given |= option.bit;
    return SDM_OK;
}

SdmStatus sdm_options_json(SdmContext *ctx, const char **json)
{
    SdmFace *const f = ctx->face;
    cJSON *const list = f->options_text ? NULL : cJSON_CreateArray();
    SdmFoundOption option;
    const SdmLocale around = sdm_system_use_locale(ctx->numbers);
    for (int i = 0; list && f->command && (option = option_at(f, i)).spec; i++)
        cJSON_AddItemToArray(list, sdm_option_json(option.spec));
    if (list)
        f->options_text = cJSON_PrintUnformatted(list);
    (void)sdm_system_use_locale(around);
    cJSON_Delete(list);
    *json = f->options_text ? f->options_text : "[]";
    return f->options_text ? SDM_OK : sdm_fail(ctx, SDM_ERR_MEMORY, "out of memory: the options as JSON");
}

/* ---- a call ---- */

static void CPL_STDCALL on_gdal_error(CPLErr kind, CPLErrorNum number, const char *text)
{
    (void)number;
    if (kind != CE_Debug)
        sdm_log(CPLGetErrorHandlerUserData(), SDM_LOG_VERBOSE, 0, "%s", text);
}

SdmStatus sdm_face_begin(SdmContext *ctx, const char *command, SdmFaceCall *call)
{
    SdmFace *const f = ctx->face;
    SdmCommandValues usual;
    *call = (SdmFaceCall){.face = f, .around = sdm_system_use_locale(ctx->numbers)};
    cJSON_Delete(f->result);
    cJSON_free(f->result_text);
    f->result = NULL;
    f->result_text = NULL;
    if (!f->command || strcmp(f->command->name, command) != 0)
        return sdm_fail(ctx, SDM_ERR_USAGE, "the context was opened for %s, expected %s",
                        f->command ? f->command->name : "no command", command);
    sdm_command_defaults(f->command, &usual);
    PASS(sdm_use_options(ctx, &f->values.common));
    if (f->command->own_table)
        PASS(sdm_options_check_table(ctx, f->command->own_table, &f->values.own, &usual.own));
    PASS(sdm_options_check_optimizer(ctx, &f->values.common, f->sets[1].given));
    PASS(sdm_check_stop(ctx));
    PASS(sdm_threads_check(ctx));
    sdm_gdal_register();
    PASS(sdm_gdal_config_begin(ctx, &f->values.common, &call->config));
    CPLPushErrorHandlerEx(on_gdal_error, ctx);
    sdm_calls_add(1);
    call->began = true;
    return SDM_OK;
}

void sdm_face_end(SdmFaceCall *call)
{
    if (call->began) {
        sdm_calls_add(-1);
        CPLPopErrorHandler();
        sdm_gdal_config_end(&call->config);
    }
    call->face->result = call->result;
    call->face->result_text = call->result ? cJSON_PrintUnformatted(call->result) : NULL;
    (void)sdm_system_use_locale(call->around);
}

/* ---- the result ---- */

const char *sdm_result_json(const SdmContext *ctx)
{
    const SdmFace *const f = ctx->face;
    return f->result_text ? f->result_text : "{}";
}

SdmStatus sdm_result_number(SdmContext *ctx, const char *path, double *value)
{
    const SdmFace *const f = ctx->face;
    const cJSON *at = f->result;
    char word[128];
    for (const char *from = path; at;) {
        const size_t n = strcspn(from, ".");
        snprintf(word, sizeof word, "%.*s", (int)n, from);
        at = cJSON_IsArray(at) ? cJSON_GetArrayItem(at, atoi(word))
                               : cJSON_GetObjectItemCaseSensitive(at, word);
        if (!from[n])
            break;
        from += n + 1;
    }
    if (!cJSON_IsNumber(at) && !cJSON_IsNull(at))
        return sdm_fail(ctx, SDM_ERR_USAGE, "the result has no number '%.200s'", path);
    *value = cJSON_IsNumber(at) ? at->valuedouble : NAN;
    return SDM_OK;
}
