/* The commands of the library and their options. */
// SPDX-License-Identifier: Apache-2.0
#include "api/command_options.h"
#include "core/machine.h"
#include "product/fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void default_compare(SdmCommandValues *values)
{
    sdm_compare_default(&values->own.compare);
}

static void default_stack(SdmCommandValues *values)
{
    sdm_stack_default(&values->own.stack);
}

static void default_match(SdmCommandValues *values)
{
    sdm_disparity_default(&values->own.match);
}

static const SdmCommandOptions commands[] = {
    {"run", SDM_CMD_RUN, NULL, NULL},
    {"info", SDM_CMD_INFO, NULL, NULL},
    {"compare", SDM_CMD_COMPARE, sdm_compare_options, default_compare},
    {"stack", SDM_CMD_STACK, sdm_stack_options, default_stack},
    {"match", SDM_CMD_MATCH, sdm_disparity_options, default_match},
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
    if (command && command->set_defaults)
        command->set_defaults(values);
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

const char *sdm_texts_keep(SdmTexts *list, const char *text)
{
    char **const more = realloc(list->item, (size_t)(list->count + 1) * sizeof *more);
    if (!more)
        return NULL;
    list->item = more;
    char *const copy = strdup(text);
    if (copy)
        list->item[list->count++] = copy;
    return copy;
}

void sdm_texts_free(SdmTexts *list)
{
    for (int i = 0; i < list->count; i++)
        free(list->item[i]);
    free(list->item);
}
