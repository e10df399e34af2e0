/* Tables that declare each option once; they drive parsing, --help, ranges and the run report.  options.c has
 * the common table; commands with options of their own have a *_options.c in their folder. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"
#include "core/optimizer_limits.h"

typedef enum SdmOptionType {
    SDM_OPT_BOOL,      /* bool: present or not */
    SDM_OPT_INT,       /* int, lo..hi */
    SDM_OPT_REAL,      /* double, lo..hi, NaN refused */
    SDM_OPT_BYTES,     /* int64_t, with K, M, G (powers of 1024) */
    SDM_OPT_TEXT,      /* const char * */
    SDM_OPT_CHOICE,    /* const char *, one of `choices` */
    SDM_OPT_ENUM,      /* int, index into `choices` */
    SDM_OPT_KEY_VALUES /* const char *[SDM_MAX_KEY_VALUES + 1], NAME=VALUE, may be given again */
} SdmOptionType;

enum { /* which commands take an option */
       SDM_CMD_RUN = 1,
       SDM_CMD_INFO = 2,
       SDM_CMD_COMPARE = 4,
       SDM_CMD_OTHER = 8, /* a command of another program (lab/) */
       SDM_CMD_MATCH = 16,
       SDM_CMD_OTHER_MATCH = 32, /* the same, which matches */
       SDM_CMD_PLAN = 64,
       SDM_CMD_TILE = 128,
       SDM_CMD_STACK = 256,
       SDM_CMD_MERGE = 512,
       SDM_CMD_STATUS = 1024,
       SDM_CMD_DEVICES = 2048
};

/* Effects of an option on the DEM: flags beside those of the commands.  Finished work is taken up only where
 * the options that it depends on are the same; see src/job. */
enum {
    SDM_CHANGES_BLOCKS = 1 << 16,   /* the cells' values, up to the finished block */
    SDM_CHANGES_PRODUCTS = 1 << 17, /* products of finished blocks, not the blocks */
    SDM_NAMES_INPUT = 1 << 18,      /* the value is the name of a file that is read */
    SDM_NAMES_AREAS = 1 << 19,      /* the file holds polygons, or may be a raster */
    SDM_SHOWN_FIRST = 1 << 20,      /* --help shows it before the heading "More options" */
    SDM_OF_SCREEN = 1 << 21         /* not of the library, and not taken from the report of an earlier run */
};

typedef struct SdmOptionSpec {
    const char *name;    /* "--tr"; field's name in reports is this without dashes, '-' as '_' */
    const char *metavar; /* "METRES", NULL for bool */
    SdmOptionType type;
    size_t offset; /* of the field in the options struct of the command */
    double lo, hi;
    const char *choices;  /* "zncc|census" */
    const char *fallback; /* default, as text for --help */
    unsigned commands;    /* SDM_CMD_*, and the flags above where they hold */
    const char *help;     /* with units */
} SdmOptionSpec;

#define SDM_NO_RANGE 0.0, 0.0, NULL /* lo, hi and choices of an option that has none */

extern const SdmOptionSpec sdm_option_table[]; /* fields of SdmOptions; every table ends with name == NULL */

/* Check every field of `opts` against its table; the first bad one is named.  A number at its default is
 * good, NaN elsewhere is not.  defaults: a struct of the same type. */
SdmStatus sdm_options_check_table(SdmContext *ctx, const SdmOptionSpec *table, const void *opts,
                                  const void *defaults);
/* Check SdmOptions against its table, and what several fields must satisfy together. */
SdmStatus sdm_options_check(SdmContext *ctx, const SdmOptions *opt);
/* Refuse options of an optimizer that is not the one asked for.  given: bit i for option i of
 * sdm_option_table. */
SdmStatus sdm_options_check_optimizer(SdmContext *ctx, const SdmOptions *opt, uint64_t given);

/* ---- one option ---- */

/* The name as sdm_set() and reports have it: "--dem-vertical" -> "dem_vertical". */
void sdm_option_plain_name(const SdmOptionSpec *spec, char *out, size_t size);
/* Short spelling of an option name ("--output" -> "-o"), NULL if it has none. */
const char *sdm_option_short(const char *name);
/* Permitted values of an option, for sentences and help: "a number from 0.01 to 5", "one of zncc, census". */
void sdm_option_range(const SdmOptionSpec *spec, char *out, size_t size);
/* Set the field of `spec` in `opts` from text, which is borrowed where the field is a string; pairs are
 * appended.  text is ignored for a bool.
 * @return SDM_OK or SDM_ERR_USAGE: option, what was found, what was expected */
SdmStatus sdm_option_set(SdmContext *ctx, const SdmOptionSpec *spec, void *opts, const char *text);
/* Copy the field of `spec`.  Strings are borrowed. */
void sdm_option_copy(const SdmOptionSpec *spec, const void *from, void *to);
/* The value of --bounds: four numbers separated by blanks or commas -> W S E N.  *is_degrees: all four can be
 * degrees; then east is beyond 180 where it was less than west.  SDM_ERR_USAGE with one sentence. */
SdmStatus sdm_option_bounds(SdmContext *ctx, const char *text, double out[4], bool *is_degrees);
/* The shortest decimal of `digits` or more that reads back as the same number. */
void sdm_print_real(double value, int digits, char *out, size_t size);
/* The value of the field as text that sdm_option_set takes back (report, plan.json): "" for none (NULL, NaN),
 * "true" or "false" for a bool, pairs separated by blanks. */
void sdm_option_print(const SdmOptionSpec *spec, const void *opts, char *out, size_t size);
/* The same for a file that is passed on: passwords, tokens and keys are hidden, see core/secrets.h.
 * @return false: the value is that of the other options, such as the defaults */
bool sdm_option_show_other(const SdmOptionSpec *spec, const void *opts, const void *other, char *out,
                           size_t size);

/* ---- a command line ---- */

enum { SDM_OPTION_SETS = 2, SDM_MAX_POSITIONAL = 4096 };

typedef struct SdmOptionSet {
    const SdmOptionSpec *table; /* NULL: no set; at most 64 options */
    void *opts;                 /* the struct that its offsets belong to, filled with defaults */
    uint64_t given;             /* set by the parser: bit i for option i of the table */
} SdmOptionSet;

typedef struct SdmFoundOption {
    SdmOptionSet *set;
    const SdmOptionSpec *spec; /* NULL: none */
    uint64_t bit;              /* in set->given */
} SdmFoundOption;
/* The i-th of the options of SDM_OPTION_SETS sets that a command takes. */
SdmFoundOption sdm_option_at(SdmOptionSet *sets, unsigned command, int i);
/* The one whose name is nearest to the typed one, for "did you mean", without those that have one of the
 * flags; NULL: none is near. */
const SdmOptionSpec *sdm_option_nearest(SdmOptionSet *sets, unsigned command, unsigned without,
                                        const char *typed);
/* That of a name without dashes before it, with "_" or "-" between its words. */
SdmFoundOption sdm_option_find(SdmOptionSet *sets, unsigned command, const char *name);

typedef struct SdmCommandLine {
    const char *name; /* "run", for sentences */
    unsigned command; /* SDM_CMD_*: options of other commands are refused */
    SdmOptionSet sets[SDM_OPTION_SETS];
    int max;   /* positional arguments that the command takes, <= SDM_MAX_POSITIONAL */
    int count; /* set by the parser, as all below */
    const char *positional[SDM_MAX_POSITIONAL];
    bool help;       /* --help or -h was met; parsing ended there */
    char words[256]; /* the value of an option that takes several words, "W S E N" */
} SdmCommandLine;

/* Parse argv[1..argc-1]; argv[0] is the command.  "--" ends options; both "--name value" and "--name=value"
 * work; an option may be given once (pairs: up to SDM_MAX_KEY_VALUES times).  Strings of argv are borrowed.
 * @return SDM_OK or SDM_ERR_USAGE with one sentence, which suggests the nearest name for a misspelt one. */
SdmStatus sdm_options_parse(SdmContext *ctx, SdmCommandLine *line, int argc, char *const *argv);

/* Set the option of that name (with or without dashes, "_" or "-" between words) from a file, unless the
 * command line gave it; text NULL: only look whether there is one.  is_report: an empty text, or 0 below the
 * range, says that it was not given, and options of other commands are passed over.  Strings are borrowed.
 * SDM_ERR_USAGE with one sentence. */
SdmStatus sdm_options_fill(SdmContext *ctx, SdmCommandLine *line, const char *name, const char *text,
                           bool is_report);

/* Number of single-letter edits between two words (Levenshtein), capped at 99; for "did you mean". */
int sdm_edit_distance(const char *a, const char *b);
