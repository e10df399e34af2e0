/* The manual page stereodem.1 from the tables of commands and options. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include <string.h>

/* Print text for troff: escape backslashes, dashes, and dots and quotes at the start of a line. */
static void print_troff(FILE *to, const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", to);
    for (; *text; text++) {
        if (*text == '-')
            fputs("\\-", to);
        else if (*text == '\\')
            fputs("\\e", to);
        else
            fputc(*text, to);
    }
    fputc('\n', to);
}

static void print_option(FILE *to, const SdmOptionSpec *spec)
{
    char text[768];
    sdm_help_heading(spec, text, sizeof text);
    fputs(".TP\n.B ", to);
    print_troff(to, text);
    print_troff(to, spec->help);
    sdm_help_limits(spec, text, sizeof text);
    print_troff(to, text);
}

static void print_synopsis(FILE *to, const SdmCommand *command)
{
    const char *line = command->synopsis;
    while (line) {
        char text[256];
        const int n = (int)strcspn(line, "\n");
        snprintf(text, sizeof text, "stereodem %s %.*s", command->name, n, line);
        print_troff(to, text);
        line = line[n] ? line + n + 1 : NULL;
        fputs(line ? ".br\n" : "", to);
    }
}

static void print_command(FILE *to, const SdmCommand *command)
{
    fprintf(to, ".SS stereodem %s\n", command->name);
    print_troff(to, command->description);
    for (const SdmOptionSpec *spec = command->own_table; spec && spec->name; spec++)
        print_option(to, spec);
}

/* Options of the common table are described once; an option of only some commands lists them. */
static void print_common(FILE *to)
{
    for (const SdmOptionSpec *spec = sdm_option_table; spec->name; spec++) {
        char text[128] = "For:";
        print_option(to, spec);
        for (const SdmCommand *command = sdm_program.commands; command->name; command++)
            if (spec->commands & command->bit) {
                const size_t n = strlen(text);
                snprintf(text + n, sizeof text - n, " %s", command->name);
            }
        strncat(text, ".", sizeof text - strlen(text) - 1);
        print_troff(to, text);
    }
}

void sdm_help_manual(FILE *to)
{
    fprintf(to,
            ".TH STEREODEM 1 \"\" \"stereodem %s\" \"User commands\"\n.SH NAME\n"
            "stereodem \\- a stereo pair of satellite images in, a georeferenced DEM out\n.SH SYNOPSIS\n",
            SDM_VERSION);
    for (const SdmCommand *command = sdm_program.commands; command->name; command++) {
        print_synopsis(to, command);
        fputs(".br\n", to);
    }
    fputs(".SH COMMANDS\n", to);
    for (const SdmCommand *command = sdm_program.commands; command->name; command++)
        print_command(to, command);
    fputs(".SH COMMON OPTIONS\n", to);
    print_common(to);
    fputs(".SH FILES\n.TP\n.I NAME.tif\nThe DEM: Float32 Cloud\\-Optimised GeoTIFF, nodata \\-9999.\n"
          ".TP\n.I NAME_qa.tif\nScore, ray intersection error in metres, spread in metres, point count, mask "
          "bits and reason of each cell.\n"
          ".TP\n.I NAME_reason.vrt\nThe reasons with colours and words.\n"
          ".TP\n.IR NAME.qml \", \" NAME_qa.qml \", \" NAME_change.qml\nLayer styles for QGIS.\n"
          ".TP\n.I NAME_ortho.tif\nThe left image on the grid of the DEM.\n"
          ".TP\n.I NAME.json, NAME.html, NAME.png\nThe run report, for machines and for people.\n"
          ".TP\n.I NAME.stac.json\nThe entry for catalogues.\n.TP\n.I NAME.log\nThe log with all details.\n"
          ".TP\n.I NAME.tif.job\nFinished blocks of a run that was interrupted; the same command goes on "
          "from there.\n"
          ".SH EXIT STATUS\n0 done, 1 failed, 2 wrong usage, 3 (plan, merge, status) finished, but some "
          "scenes failed for good.\nEvery failure is one sentence on standard "
          "error.\n"
          ".SH EXAMPLES\nstereodem run AST_L1A.hdf \\-o dem.tif\n.br\n"
          "stereodem compare dem.tif reference.tif\n",
          to);
}
