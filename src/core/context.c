/* Context: options, error text, log and progress sinks, timings, stop flag. */
// SPDX-License-Identifier: Apache-2.0
#include "core/context.h"
#include "core/options.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef _OPENMP
#include <omp.h>
#endif

__thread char sdm_reading[1024];
static char undo[2][4096]; /* a file and a folder; not on the stack, which a crash may have run over */
static volatile sig_atomic_t stop_asked; /* the one global that a signal handler needs */

void sdm_crash_undo(const char *file, const char *folder)
{
#pragma omp critical(sdm_undo)
    {
        snprintf(undo[0], sizeof undo[0], "%s", file ? file : "");
        snprintf(undo[1], sizeof undo[1], "%s", folder ? folder : "");
    }
}

void sdm_crash_leftover(const char **file, const char **folder)
{
    *file = undo[0];
    *folder = undo[1];
}

int sdm_exit_code(SdmStatus st)
{
    return st == SDM_OK ? 0 : st == SDM_ERR_USAGE ? 2 : 1;
}

SdmStatus sdm_open(SdmContext **out, const SdmOptions *opt)
{
    SdmContext *const ctx = *out = calloc(1, sizeof *ctx);
    if (!ctx)
        return SDM_ERR_MEMORY;
    if (opt)
        ctx->options = *opt;
    else
        sdm_options_default(&ctx->options);
    ctx->started_s = sdm_now_s();
    return sdm_options_check(ctx, &ctx->options);
}

static void keep_line(void *user, SdmLogLevel level, int stage, const char *text)
{
    SdmLines *const l = user;
    if (l->count == SDM_MOST_LINES)
        return;
    l->line[l->count].level = level;
    l->line[l->count].stage = stage;
    snprintf(l->line[l->count++].text, sizeof l->line[0].text, "%s", text);
}

SdmStatus sdm_open_child(SdmContext *parent, SdmContext **out)
{
    SdmContext *const ctx = *out = calloc(1, sizeof *ctx);
    SdmLines *const lines = calloc(1, sizeof *lines);
    if (!ctx || !lines) {
        free(ctx);
        free(lines);
        *out = NULL;
        return sdm_fail(parent, SDM_ERR_MEMORY, "out of memory: a context");
    }
    ctx->options = parent->options;
    ctx->account = parent->account ? parent->account : parent;
    ctx->started_s = parent->started_s;
    ctx->lines = lines;
    sdm_set_sinks(ctx, keep_line, NULL, lines);
    return SDM_OK;
}

void sdm_child_tell(SdmContext *parent, SdmContext *child)
{
    SdmLines *const l = child->lines;
    for (int i = 0; i < l->count; i++)
        sdm_log(parent, l->line[i].level, l->line[i].stage, "%s", l->line[i].text);
    l->count = 0;
}

void sdm_close(SdmContext **ctx)
{
    if (!ctx || !*ctx)
        return;
    sdm_spares_free(*ctx);
    free((*ctx)->lines);
    free(*ctx);
    *ctx = NULL;
}

SdmStatus sdm_fail(SdmContext *ctx, SdmStatus st, const char *fmt, ...)
{
    if (ctx) {
        va_list ap;
        va_start(ap, fmt);
#ifdef _OPENMP
#pragma omp critical(sdm_error)
#endif
        vsnprintf(ctx->error, sizeof ctx->error, fmt, ap);
        va_end(ap);
    }
    return st;
}

const char *sdm_error(const SdmContext *ctx)
{
    return ctx ? ctx->error : "";
}

const SdmOptions *sdm_options(const SdmContext *ctx)
{
    return &ctx->options;
}

SdmStatus sdm_set_options(SdmContext *ctx, const SdmOptions *opt)
{
    ctx->options = *opt;
    return sdm_options_check(ctx, opt);
}

enum { MOST_THREADS = 4 /* a processor */, TEAM_UNITS = 1 << 20 /* of a thread, at least */ };

int sdm_threads(const SdmContext *ctx)
{
#ifdef _OPENMP
    const int processors = omp_get_num_procs(), wanted = ctx->options.threads;
    /* more would only take turns, each with buffers of its own */
    const int most = wanted <= 0                          ? processors
                     : wanted < MOST_THREADS * processors ? wanted
                                                          : MOST_THREADS * processors;
    return ctx->team > 0 && ctx->team < most ? ctx->team : most;
#else
    (void)ctx;
    return 1;
#endif
}

int sdm_team_enter(SdmContext *ctx, int64_t units)
{
    const int before = ctx->team;
    const int64_t threads = units / TEAM_UNITS;
    ctx->team = threads < 1 ? 1 : threads < INT_MAX ? (int)threads : INT_MAX;
    return before;
}

void sdm_team_leave(SdmContext *ctx, int before)
{
    ctx->team = before;
}

int sdm_thread(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

void sdm_stop(void)
{
    stop_asked = 1;
}

SdmStatus sdm_check_stop(SdmContext *ctx)
{
    if (!stop_asked)
        return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_STOPPED,
                    "stopped on request; give the same command again");
}

void sdm_set_sinks(SdmContext *ctx, sdm_log_fn *log, sdm_progress_fn *progress, void *user)
{
    ctx->log = log;
    ctx->progress = progress;
    ctx->user = user;
}

void sdm_log(SdmContext *ctx, SdmLogLevel level, int stage, const char *fmt, ...)
{
    if (!ctx || !ctx->log)
        return;
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ctx->log(ctx->user, level, stage, text);
}

void sdm_progress(SdmContext *ctx, int stage, double done, const char *what)
{
    if (ctx && ctx->progress)
        ctx->progress(ctx->user, stage, done, what);
}

const char *const sdm_stage_names[10] = {"",      "read",   "point",       "frame", "pyramid",
                                         "match", "filter", "interpolate", "grid",  "write"};

double sdm_now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void sdm_stage_leave(SdmContext *ctx, int around)
{
    if (!ctx || around < 0 || around >= SDM_STAGES)
        return;
    const double now = sdm_now_s();
    ctx->stage_s[ctx->stage] += ctx->stage_since_s > 0.0 ? now - ctx->stage_since_s : 0.0;
    ctx->stage = around;
    ctx->stage_since_s = now;
}

int sdm_stage_enter(SdmContext *ctx, int stage)
{
    enum { POINT = 2 };
    const int around = ctx ? ctx->stage : 0;
    sdm_stage_leave(ctx, around == POINT ? POINT : stage);
    return around;
}

void sdm_stage_add(SdmContext *ctx, int stage, double seconds)
{
    if (stage > 0 && stage < SDM_STAGES)
        ctx->stage_s[stage] += seconds;
}

double sdm_stage_time(const SdmContext *ctx, int stage)
{
    if (stage < 0 || stage >= SDM_STAGES)
        return 0.0;
    return ctx->stage_s[stage] + (stage > 0 && stage == ctx->stage ? sdm_now_s() - ctx->stage_since_s : 0.0);
}

SdmStatus sdm_format(SdmContext *ctx, char *out, size_t size, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const int n = vsnprintf(out, size, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= size)
        return sdm_fail(ctx, SDM_ERR_USAGE, "name too long (%d bytes, at most %zu): %.80s...", n, size - 1,
                        out);
    return SDM_OK;
}

int sdm_utf8_length(const char *text)
{
    const unsigned char *const c = (const unsigned char *)text;
    const int n = c[0] < 0x80 ? 1 : c[0] < 0xC2 ? 0 : c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : c[0] < 0xF5 ? 4 : 0;
    for (int i = 1; i < n; i++)
        if ((c[i] & 0xC0) != 0x80) /* the final 0 too */
            return 0;
    const bool bad = (c[0] == 0xE0 && c[1] < 0xA0) ||
                     (c[0] == 0xED && c[1] > 0x9F) || /* too long, surrogates, */
                     (c[0] == 0xF0 && c[1] < 0x90) || (c[0] == 0xF4 && c[1] > 0x8F); /* beyond the last */
    return n > 1 && bad ? 0 : n;
}
