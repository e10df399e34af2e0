/* Fuzz the command line: lines of the input are its words. */
// SPDX-License-Identifier: Apache-2.0
#include "core/options.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_WORDS = 128, LONGEST = 4096 };

/* What was accepted must pass the check field by field, and print as something that is accepted again. */
static void expect_round_trip(SdmContext *ctx, const SdmOptions *opt)
{
    SdmOptions again;
    char text[8192];
    sdm_options_default(&again);
    for (const SdmOptionSpec *spec = sdm_option_table; spec->name; spec++) {
        sdm_option_print(spec, opt, text, sizeof text);
        const bool unset = !*text || strcmp(text, "0") == 0 || strcmp(text, "false") == 0;
        if (spec->type != SDM_OPT_KEY_VALUES && !unset && sdm_option_set(ctx, spec, &again, text) != SDM_OK)
            abort();
    }
    if (sdm_options_check(ctx, opt) != SDM_OK && !strstr(sdm_error(ctx), "--hmin") &&
        !strstr(sdm_error(ctx), "contradict"))
        abort();
}

FUZZ_IN(ctx)
{
    char text[LONGEST + 1], *words[MOST_WORDS];
    int count = 0;
    SdmOptions opt;
    SdmCommandLine line = {.name = "run", .command = SDM_CMD_RUN, .max = 2};
    if (size == 0 || size > LONGEST)
        return;
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *word = text; word && count < MOST_WORDS;) {
        words[count++] = word;
        word = strchr(word, '\n');
        if (word)
            *word++ = '\0';
    }
    sdm_options_default(&opt);
    line.sets[0] = (SdmOptionSet){.table = sdm_option_table, .opts = &opt};
    const SdmStatus st = sdm_options_parse(ctx, &line, count, words);
    if (st != SDM_OK && (st != SDM_ERR_USAGE || !*sdm_error(ctx)))
        abort();
    if (st == SDM_OK)
        expect_round_trip(ctx, &opt);
}
