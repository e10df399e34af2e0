/* Shared by the commands of stereodem and of stereodem-lab (lab/): the table of commands, the call in
 * progress, the screen. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/command_options.h"
#include "product/fields.h"

#include <cJSON.h>

/* Output of the program.  Text: results on stdout, everything else on stderr; JSON: one object a line on
 * stdout. */
typedef struct SdmScreen {
    const char *command;
    bool quiet, verbose, json, terminal;
    int columns;     /* width of the terminal */
    bool line_up;    /* the progress line is on the terminal */
    int stage, step; /* last stage, and tenth or hundredth, that were shown; -1 = none */
    double started_s, drawn_s;
} SdmScreen;

/* Options of plan, tile, merge and status alone (cmd_job.c). */
typedef struct SdmJobOptions {
    const char *output, *list; /* plan: the job folder; merge: the folder of the DEMs */
    int count, index_base;     /* index_base: -1 = by the name of the variable */
    const char *index_env;
    double wait_s;
    bool failed;            /* status: only what failed */
    const char *accounting; /* status: file to write; NULL: none */
} SdmJobOptions;
extern const SdmOptionSpec sdm_job_options_table[];

typedef struct SdmCall SdmCall;

typedef struct SdmCommand {
    const char *name;
    unsigned bit;                        /* SDM_CMD_* */
    int least, most;                     /* positional arguments */
    const char *wanted;                  /* what is missing when there are fewer, for the sentence */
    const char *synopsis;                /* lines after "stereodem NAME", separated by '\n' */
    const char *summary;                 /* one line */
    const char *description;             /* a paragraph */
    const SdmOptionSpec *own_table;      /* options of the command alone, fields of SdmCall.own; or NULL */
    void (*set_defaults)(SdmCall *call); /* of own_table; may set another struct as line.sets[1].opts; NULL:
                                          * there are none, or they are the library's */
    SdmStatus (*run)(SdmCall *call);
} SdmCommand;

/* The program: each that links this library defines it. */
typedef struct SdmProgram {
    const char *name;           /* "stereodem" */
    const char *summary;        /* what it does, one line */
    const char *closing;        /* last lines of --help, each with its end */
    const SdmCommand *commands; /* ends with name == NULL */
} SdmProgram;
extern const SdmProgram sdm_program;

/* One command being executed. */
struct SdmCall {
    const SdmCommand *command;
    SdmContext *ctx;
    SdmOptions options;
    union {
        SdmCompareOptions compare;
        SdmDisparityOptions match;
        SdmStackOptions stack;
        SdmJobOptions job;
    } own;
    SdmCommandLine line;
    SdmScreen screen;
    cJSON *file;    /* --options; options point into it; NULL: none */
    cJSON *summary; /* JSON mode: fields of the last line; else NULL */
    int exit_code;  /* in place of that of the status; 0: that one */
};

/* plan, merge, status: done except scenes that cannot be processed. */
enum { SDM_EXIT_PERMANENT_FAILURES = 3 };

SdmStatus sdm_command_run(SdmCall *call);
SdmStatus sdm_command_info(SdmCall *call);
SdmStatus sdm_command_compare(SdmCall *call);
SdmStatus sdm_command_match(SdmCall *call);
SdmStatus sdm_command_stack(SdmCall *call);
SdmStatus sdm_command_plan(SdmCall *call);
SdmStatus sdm_command_tile(SdmCall *call);
SdmStatus sdm_command_merge(SdmCall *call);
SdmStatus sdm_command_status(SdmCall *call);
SdmStatus sdm_command_devices(SdmCall *call);
void sdm_job_defaults(SdmCall *call); /* of plan, tile, merge and status */

/* ---- screen (screen.c) ---- */

void sdm_screen_open(SdmScreen *screen, const char *command, const SdmOptions *opt);
/* Sinks of the library; user is the SdmScreen. */
sdm_log_fn sdm_screen_log;
sdm_progress_fn sdm_screen_progress;
/* SDM_ERR_USAGE for three views or more, where a command is for a scene or a pair. */
SdmStatus sdm_screen_refuse_views(const SdmCall *call);
/* A line of results on stdout; nothing in quiet and JSON mode. */
void sdm_screen_print(SdmScreen *screen, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* One JSON object as a line on stdout with "event" first and "seconds" since the start last; frees it. */
void sdm_screen_json(const SdmScreen *screen, const char *event, cJSON *object);
/* The sentence of a failure. */
void sdm_screen_error(SdmScreen *screen, SdmStatus st, const char *sentence);
/* Erase the progress line. */
void sdm_screen_close(SdmScreen *screen);

const char *sdm_status_name(SdmStatus st); /* "ok", "usage", "input" ... */

/* ---- help (help.c) ---- */

void sdm_help_program(FILE *to);
void sdm_help_command(FILE *to, const SdmCommand *command);
/* A command and its options as a JSON object, for programs that offer them and for scripts/generate. */
void sdm_help_json(FILE *to, const SdmCommand *command);
void sdm_help_version(FILE *to);
