/* Log lines -> NAME.log. */
// SPDX-License-Identifier: Apache-2.0
#include "core/run_log.h"
#include "core/context.h"
#include "core/file.h"
#include "core/options.h"
#include "core/path.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char FIRST[] = "# stereodem log of ";

bool sdm_run_log_find(const char *output, char *out, size_t size)
{
    return sdm_format(NULL, out, size, "%.*s.log", (int)sdm_path_stem(output), output) == SDM_OK &&
           sdm_file_holds(out, 0, FIRST);
}

/* Write the options that differ from their defaults, in the form that --options reads. */
static void put_options(FILE *f, const SdmOptions *o)
{
    SdmOptions usual;
    char value[4096];
    sdm_options_default(&usual);
    for (const SdmOptionSpec *s = sdm_option_table; s->name; s++) {
        const bool again = s[1].name && strcmp(s[1].name, s->name) == 0;
        if (!again && sdm_option_show_other(s, o, &usual, value, sizeof value))
            fprintf(f, "# %s %s\n", s->name, value);
    }
}

bool sdm_run_log_begin(SdmContext *ctx, const char *output, const char *command)
{
    char path[SDM_PATH_SIZE], when[24];
    struct stat s;
    if (ctx->file_log)
        return false;
    if (!sdm_run_log_find(output, path, sizeof path) && sdm_system_look(path, &s) == 0) {
        sdm_log(ctx, SDM_LOG_INFO, 0, "%s is no log of stereodem, and is left as it is", path);
        return false;
    }
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    ctx->file_log = file < 0 ? NULL : fdopen(file, "w");
    if (!ctx->file_log)
        return false;
    setvbuf(ctx->file_log, NULL, _IOLBF, BUFSIZ);
    sdm_time_now(when);
    fprintf(ctx->file_log, "%s%s, version %s, %s\n", FIRST, command, sdm_version(), when);
    put_options(ctx->file_log, &ctx->options);
    return true;
}

void sdm_run_log_end(SdmContext *ctx, SdmStatus st)
{
    char text[1200] = "done";
    if (!ctx->file_log)
        return;
    if (st != SDM_OK)
        snprintf(text, sizeof text, "failed: %s", ctx->error);
    sdm_log_to_file(ctx, SDM_LOG_INFO, 0, text);
    fclose(ctx->file_log);
    ctx->file_log = NULL;
}
