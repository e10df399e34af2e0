/* --help and --version: the tables as text of 80 columns, or as JSON. */
// SPDX-License-Identifier: Apache-2.0
#include "api/command_options.h"
#include "cli/cli.h"

#include <gdal.h>
#include <proj.h>
#include <string.h>

enum { WIDTH = 80, INDENT = 8 };

/* Print text in lines of at most WIDTH columns, each indented. */
static void print_wrapped(FILE *to, int indent, const char *text)
{
    int column = 0;
    while (*text) {
        const int n = (int)strcspn(text, " ");
        if (column > 0 && column + 1 + n > WIDTH) {
            fputc('\n', to);
            column = 0;
        }
        column += fprintf(to, "%*s%.*s", column ? 1 : indent, "", n, text);
        text += n;
        text += *text == ' ';
    }
    fputc('\n', to);
}

static void print_option(FILE *to, const SdmOptionSpec *spec)
{
    char text[768], range[320];
    const char *const brief = sdm_option_short(spec->name);
    const bool free =
        spec->type == SDM_OPT_BOOL || spec->type == SDM_OPT_TEXT || spec->type == SDM_OPT_KEY_VALUES;
    const char *const usual = spec->fallback ? spec->fallback : spec->type == SDM_OPT_BOOL ? "off" : "none";
    fprintf(to, "  %s%s%s%s%s\n", brief ? brief : "", brief ? ", " : "", spec->name, spec->metavar ? " " : "",
            spec->metavar ? spec->metavar : "");
    print_wrapped(to, INDENT, spec->help);
    sdm_option_range(spec, range, sizeof range);
    snprintf(text, sizeof text, "[%s%sdefault: %s]", free ? "" : range, free ? "" : "; ", usual);
    print_wrapped(to, INDENT, text);
}

/* Print the options of the command that have all, or none, of the flags. */
static void print_table(FILE *to, const SdmOptionSpec *table, unsigned bit, unsigned flags, bool all)
{
    for (; table && table->name; table++)
        if ((table->commands & bit) && ((table->commands & flags) == flags) == all)
            print_option(to, table);
}

static void print_synopsis(FILE *to, const SdmCommand *command)
{
    const char *lead = "Usage:", *line = command->synopsis;
    while (line) {
        const int n = (int)strcspn(line, "\n");
        fprintf(to, "%-6s %s %s %.*s\n", lead, sdm_program.name, command->name, n, line);
        line = line[n] ? line + n + 1 : NULL;
        lead = "";
    }
}

void sdm_help_command(FILE *to, const SdmCommand *command)
{
    print_synopsis(to, command);
    fputc('\n', to);
    print_wrapped(to, 0, command->description);
    fprintf(to, "\nOptions:\n");
    print_table(to, command->own_table, command->bit, 0, true);
    print_table(to, sdm_option_table, command->bit, SDM_SHOWN_FIRST, true);
    fprintf(to, "\nMore options:\n");
    print_table(to, sdm_option_table, command->bit, SDM_SHOWN_FIRST, false);
    fprintf(to, "  -h, --help\n%*sPrint this and stop.\n", INDENT, "");
}

void sdm_help_json(FILE *to, const SdmCommand *command)
{
    const SdmOptionSpec *const tables[] = {command->own_table, sdm_option_table};
    cJSON *const root = cJSON_CreateObject();
    SDM_JSON(root, SDM_FIELD("command", command->name), SDM_FIELD("version", SDM_VERSION),
             SDM_FIELD("synopsis", command->synopsis), SDM_FIELD("summary", command->summary),
             SDM_FIELD("description", command->description), SDM_FIELD("least_arguments", command->least),
             SDM_FIELD("most_arguments", command->most));
    cJSON *const list = cJSON_AddArrayToObject(root, "options");
    for (int t = 0; t < 2; t++)
        for (const SdmOptionSpec *spec = tables[t]; spec && spec->name; spec++)
            if (spec->commands & command->bit) {
                cJSON *const o = sdm_option_json(spec);
                SDM_JSON(o, SDM_FIELD("flag", spec->name), SDM_FIELD("short", sdm_option_short(spec->name)));
                cJSON_AddItemToArray(list, o);
            }
    char *const text = cJSON_PrintUnformatted(root);
    if (text)
        fprintf(to, "%s\n", text);
    cJSON_free(text);
    cJSON_Delete(root);
}

void sdm_help_program(FILE *to)
{
    const char *const name = sdm_program.name;
    fprintf(to, "%s %s: %s\n\nUsage: %s COMMAND ARGUMENTS [options]\n\nCommands:\n", name, SDM_VERSION,
            sdm_program.summary, name);
    for (const SdmCommand *command = sdm_program.commands; command->name; command++)
        fprintf(to, "  %-10s %s\n", command->name, command->summary);
    fprintf(to,
            "\n  %s COMMAND --help   options of a command, with units, ranges and defaults\n"
            "  %s COMMAND --help --log json   the same for programs\n"
            "  %s --version        versions of %s, GDAL and PROJ\n\n%s",
            name, name, name, name, sdm_program.closing);
}

void sdm_help_version(FILE *to)
{
    fprintf(to, "%s %s\nGDAL %s\nPROJ %s\n", sdm_program.name, SDM_VERSION, GDALVersionInfo("RELEASE_NAME"),
            proj_info().version);
}
