/* Completion of the command line for bash, zsh and fish, from the tables of commands and options. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"

#include <string.h>

/* Called for each option of a command. */
typedef void print_option_fn(FILE *to, const SdmCommand *command, const SdmOptionSpec *spec);

static void for_options(FILE *to, const SdmCommand *command, print_option_fn *print)
{
    const SdmOptionSpec *const tables[] = {command->own_table, sdm_option_table};
    for (int t = 0; t < 2; t++)
        for (const SdmOptionSpec *spec = tables[t]; spec && spec->name; spec++)
            if (spec->commands & command->bit)
                print(to, command, spec);
}

/* "auto|cuda[:N]" -> "auto cuda"; false: the option takes no choice. */
static bool print_choices(FILE *to, const SdmOptionSpec *spec)
{
    if (spec->type != SDM_OPT_CHOICE && spec->type != SDM_OPT_ENUM)
        return false;
    for (const char *c = spec->choices; *c; c++) {
        if (*c == '[')
            c += strlen("[:N");
        else
            fputc(*c == '|' ? ' ' : *c, to);
    }
    return true;
}

/* The first sentence of the help, without what the shells take for something else. */
static void print_brief(FILE *to, const SdmOptionSpec *spec)
{
    const char *const end = strstr(spec->help, ". ");
    const size_t n = end ? (size_t)(end - spec->help) : strlen(spec->help) - 1;
    for (size_t i = 0; i < n; i++)
        if (!strchr("'\"[]:`$\\", spec->help[i]))
            fputc(spec->help[i], to);
}

/* Values of these options are names of files. */
static bool is_file(const SdmOptionSpec *spec)
{
    static const char *const names[] = {"FILE", "FILE.tif", "FILE.png", "FILE.html", "FOLDER", "JOB"};
    for (size_t i = 0; spec->metavar && i < sizeof names / sizeof *names; i++)
        if (strcmp(spec->metavar, names[i]) == 0)
            return true;
    return false;
}

/* ---- bash ---- */

static void bash_name(FILE *to, const SdmCommand *command, const SdmOptionSpec *spec)
{
    (void)command;
    fprintf(to, " %s", spec->name);
}

static void bash_values(FILE *to, const SdmCommand *command, const SdmOptionSpec *spec)
{
    if (!spec->metavar || is_file(spec))
        return;
    fprintf(to, "    '%s %s') words='", command->name, spec->name);
    print_choices(to, spec);
    fputs("' ;;\n", to);
}

static void print_bash(FILE *to)
{
    fputs("# bash completion of stereodem; made by scripts/generate.\n# SPDX-License-"
          "Identifier: Apache-2.0\n"
          "_stereodem() {\n    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} "
          "words=-\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n        words='help",
          to);
    for (const SdmCommand *command = sdm_program.commands; command->name; command++)
        fprintf(to, " %s", command->name);
    fputs("'\n    fi\n    case \"${COMP_WORDS[1]} $before\" in\n", to);
    for (const SdmCommand *command = sdm_program.commands; command->name; command++)
        for_options(to, command, bash_values);
    fputs(
        "    esac\n    if [ \"$words\" = - ] && [[ $word == -* ]]; then\n        case ${COMP_WORDS[1]} in\n",
        to);
    for (const SdmCommand *command = sdm_program.commands; command->name; command++) {
        fprintf(to, "        %s) words='--help", command->name);
        for_options(to, command, bash_name);
        fputs("' ;;\n", to);
    }
    fputs("        esac\n    fi\n    if [ \"$words\" = - ]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
          "    else\n        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n    fi\n}\n"
          "complete -o filenames -F _stereodem stereodem\n", to);
}

/* ---- zsh ---- */

static void zsh_option(FILE *to, const SdmCommand *command, const SdmOptionSpec *spec)
{
    (void)command;
    fprintf(to, " \\\n            '%s%s[", spec->type == SDM_OPT_KEY_VALUES ? "*" : "", spec->name);
    print_brief(to, spec);
    fputc(']', to);
    if (spec->metavar) {
        fprintf(to, ":%s:", spec->metavar);
        if (is_file(spec))
            fputs("_files", to);
        else if (spec->type == SDM_OPT_CHOICE || spec->type == SDM_OPT_ENUM) {
            fputc('(', to);
            print_choices(to, spec);
            fputc(')', to);
        }
    }
    fputc('\'', to);
}

static void print_zsh(FILE *to)
{
    fputs("#compdef stereodem\n# zsh completion of stereodem; made by scripts/generate.\n"
          "# SPDX-License-" "Identifier: Apache-2.0\n_stereodem() {\n    if ((CURRENT == 2)); then\n"
          "        local -a commands=(", to);
    for (const SdmCommand *command = sdm_program.commands; command->name; command++) {
        fprintf(to, "\n            '%s:", command->name);
        for (const char *c = command->summary; *c; c++)
            fputc(*c == ':' ? ',' : *c, to);
        fputc('\'', to);
    }
    fputs(")\n        _describe command commands\n        return\n    fi\n    case $words[2] in\n", to);
    for (const SdmCommand *command = sdm_program.commands; command->name; command++) {
        fprintf(to,
                "    %s)\n        shift words\n        ((CURRENT--))\n        _arguments '--help[Print the "
                "options]'",
                command->name);
        for_options(to, command, zsh_option);
        fputs(" \\\n            '*:file:_files'\n        ;;\n", to);
    }
    fputs("    esac\n}\n_stereodem \"$@\"\n", to);
}

/* ---- fish ---- */

static void fish_option(FILE *to, const SdmCommand *command, const SdmOptionSpec *spec)
{
    fprintf(to, "complete -c stereodem -n '__fish_seen_subcommand_from %s' -l %s", command->name,
            spec->name + strlen("--"));
    if (sdm_option_short(spec->name))
        fprintf(to, " -s %s", sdm_option_short(spec->name) + 1);
    if (spec->type == SDM_OPT_CHOICE || spec->type == SDM_OPT_ENUM) {
        fputs(" -x -a '", to);
        print_choices(to, spec);
        fputc('\'', to);
    } else if (spec->metavar) {
        fputs(is_file(spec) ? " -r -F" : " -x", to);
    }
    fputs(" -d '", to);
    print_brief(to, spec);
    fputs("'\n", to);
}

static void print_fish(FILE *to)
{
    fputs("# fish completion of stereodem; made by scripts/generate.\n# SPDX-License-"
          "Identifier: Apache-2.0\n",
          to);
    for (const SdmCommand *command = sdm_program.commands; command->name; command++)
        fprintf(to, "complete -c stereodem -n __fish_use_subcommand -f -a %s -d '%s'\n", command->name,
                command->summary);
    for (const SdmCommand *command = sdm_program.commands; command->name; command++)
        for_options(to, command, fish_option);
}

bool sdm_help_completion(FILE *to, const char *shell)
{
    if (strcmp(shell, "bash") == 0)
        print_bash(to);
    else if (strcmp(shell, "zsh") == 0)
        print_zsh(to);
    else if (strcmp(shell, "fish") == 0)
        print_fish(to);
    else
        return false;
    return true;
}
