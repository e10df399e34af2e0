/* The table that declares every option once: it drives parsing, --help, ranges and the run report. */
#ifndef SDM_OPTIONS_H
#define SDM_OPTIONS_H

#include "core/core.h"

typedef enum SdmOptionType {
    SDM_OPT_BOOL,   /* bool: present or not */
    SDM_OPT_INT,    /* int, lo..hi */
    SDM_OPT_REAL,   /* double, lo..hi, NaN refused */
    SDM_OPT_BYTES,  /* int64_t, with K, M, G (powers of 1024) */
    SDM_OPT_TEXT,   /* const char * */
    SDM_OPT_CHOICE, /* const char *, one of `choices` */
    SDM_OPT_ENUM,   /* int, index into `choices` */
    SDM_OPT_PAIRS   /* const char *[SDM_MAX_PAIRS + 1], NAME=VALUE, may be given again */
} SdmOptionType;

enum { /* which commands take an option */
    SDM_CMD_RUN = 1, SDM_CMD_INFO = 2, SDM_CMD_COMPARE = 4, SDM_CMD_SIMULATE = 8
};

typedef struct SdmOptionSpec {
    const char *name;     /* "--tr"; field's name in reports is this without dashes, '-' as '_' */
    const char *metavar;  /* "METRES", NULL for bool */
    SdmOptionType type;
    size_t offset;        /* of the field in the options struct of the command */
    double lo, hi;
    const char *choices;  /* "zncc|census|sad" */
    const char *fallback; /* default, as text for --help */
    unsigned commands;    /* SDM_CMD_* */
    const char *help;     /* with units */
} SdmOptionSpec;

extern const SdmOptionSpec sdm_option_table[]; /* ends with name == NULL */

/* Check every field; the first bad one is named.  NaN fails where a number is needed. */
SdmStatus sdm_options_check(SdmContext *ctx, const SdmOptions *opt);

/* Parse argv[1..] of `command` against `table` into `opts` (the struct the offsets belong to).
 * Positional arguments go to positional[0..max-1], their number to *count.  "--" ends options; both
 * "--name value" and "--name=value" work.  @return SDM_OK or SDM_ERR_USAGE with a sentence. */
SdmStatus sdm_options_parse(SdmContext *ctx, const SdmOptionSpec *table, unsigned command, int argc, char **argv,
                            void *opts, const char **positional, int max, int *count);

/* Print one value as text (for the report and plan.json). */
void sdm_option_print(const SdmOptionSpec *spec, const void *opts, char *out, size_t size);

#endif
