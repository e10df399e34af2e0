/* Failures as one sentence and a status, log lines and progress, and text of a bounded size. */
// SPDX-License-Identifier: Apache-2.0
#include "core/address.h"
#include "core/context.h"
#include "core/hash.h"
#include "core/secrets.h"

#include <ctype.h>
#include <string.h>

enum { MAX_TEXT = 2048 }; /* of sentences and log lines, with the zero at the end */

int sdm_exit_code(SdmStatus st)
{
    return st == SDM_OK ? 0 : st == SDM_ERR_USAGE ? 2 : 1;
}

SdmLocale sdm_thread_begin(const SdmContext *ctx)
{
    return ctx && ctx->numbers ? sdm_system_use_locale(ctx->numbers) : (SdmLocale)0;
}

void sdm_thread_end(SdmLocale around)
{
    if (around)
        (void)sdm_system_use_locale(around);
}

/* "--mask-left FILE" -> "mask_left FILE", "-o" -> "output": names of options as sdm_set() takes them, in a
 * text with room for size bytes, at most MAX_TEXT. */
static void plain_names(char *text, size_t size)
{
    char before[MAX_TEXT], *to = text;
    bool begins = true, inside = false;
    memcpy(before, text, strlen(text) + 1);
    for (const char *from = before; *from && to + sizeof "output" < text + size; from++) {
        if (begins && from[0] == '-' && from[1] == 'o' && !isalnum((unsigned char)from[2])) {
            memcpy(to, "output", strlen("output"));
            to += strlen("output");
            from++;
            begins = false;
            continue;
        }
        if (begins && from[0] == '-' && from[1] == '-' && islower((unsigned char)from[2])) {
            from += 2;
            inside = true;
        }
        inside = inside &&
                 (isalnum((unsigned char)*from) || (strchr("-_", *from) && isalnum((unsigned char)from[1])));
        *to++ = inside && *from == '-' ? '_' : *from;
        begins = strchr(" '(\"", *from) != NULL;
    }
    *to = '\0';
}

/* A sentence: vsnprintf() with a decimal point, on any thread; names as its reader knows them. */
static void print(const SdmContext *ctx, char *out, size_t size, const char *fmt, va_list ap)
{
    const SdmLocale around = sdm_thread_begin(ctx);
    vsnprintf(out, size, fmt, ap);
    sdm_thread_end(around);
    sdm_address_show(out);
    if (ctx->plain_names)
        plain_names(out, size);
}

SdmStatus sdm_fail(SdmContext *ctx, SdmStatus st, const char *fmt, ...)
{
    if (ctx) {
        va_list ap;
        va_start(ap, fmt);
#pragma omp critical(sdm_error)
        {
            print(ctx, ctx->error, sizeof ctx->error, fmt, ap);
        }
        va_end(ap);
    }
    return st;
}

const char *sdm_error(const SdmContext *ctx)
{
    return ctx ? ctx->error : "";
}

void sdm_set_log(SdmContext *ctx, sdm_log_fn *log, void *user)
{
    ctx->log = log;
    ctx->log_user = user;
}

void sdm_set_progress(SdmContext *ctx, sdm_progress_fn *progress, void *user)
{
    ctx->progress = progress;
    ctx->progress_user = user;
}

void sdm_set_cancel(SdmContext *ctx, sdm_cancel_fn *cancel, void *user)
{
    ctx->cancel = cancel;
    ctx->cancel_user = user;
}

void sdm_log_to_file(SdmContext *ctx, SdmLogLevel level, int stage, const char *text)
{
    static const char *const word[] = {"error: ", "warning: ", "", ""};
    char place[32] = "";
    if (stage > 0 && stage < SDM_STAGES)
        snprintf(place, sizeof place, "[%s] ", sdm_stage_names[stage]);
    char shown[MAX_TEXT];
    snprintf(shown, sizeof shown, "%s", text);
    sdm_hide_secrets(shown, false);
    fprintf(ctx->file_log, "%8.2f s  %s%s%s\n", sdm_now_s() - ctx->started_s, place, word[level], shown);
}

void sdm_log_once(SdmContext *ctx, bool once)
{
    ctx->once = once;
    ctx->said_count = 0;
}

static bool was_said(SdmContext *ctx, const char *text)
{
    const uint64_t hash = sdm_hash_text(0, text);
    for (int i = 0; i < ctx->said_count; i++)
        if (ctx->said[i] == hash)
            return true;
    if (ctx->said_count < (int)(sizeof ctx->said / sizeof *ctx->said))
        ctx->said[ctx->said_count++] = hash;
    return false;
}

void sdm_log(SdmContext *ctx, SdmLogLevel level, int stage, const char *fmt, ...)
{
    if (!ctx || (!ctx->log && !ctx->file_log))
        return;
    char text[MAX_TEXT];
    va_list ap;
    va_start(ap, fmt);
    print(ctx, text, sizeof text, fmt, ap);
    va_end(ap);
    pthread_mutex_lock(&ctx->calling);
    if (ctx->file_log)
        sdm_log_to_file(ctx, level, stage, text);
    if (ctx->log && !(ctx->once && level == SDM_LOG_WARNING && was_said(ctx, text)))
        ctx->log(ctx->log_user, level, stage, text);
    pthread_mutex_unlock(&ctx->calling);
}

void sdm_progress(SdmContext *ctx, int stage, double done, const char *what)
{
    if (!ctx || !ctx->progress)
        return;
    enum { POINT = 2 };
    const double of_whole = ctx->part.from + done * (ctx->part.to - ctx->part.from);
    pthread_mutex_lock(&ctx->calling);
    ctx->progress(ctx->progress_user, ctx->stage == POINT ? POINT : stage, of_whole, what);
    pthread_mutex_unlock(&ctx->calling);
}

SdmProgressPart sdm_progress_enter(SdmContext *ctx, double from, double to)
{
    const SdmProgressPart around = {ctx, ctx->part.from, ctx->part.to};
    const double length = around.to - around.from;
    ctx->part = (SdmProgressPart){ctx, around.from + from * length, around.from + to * length};
    return around;
}

void sdm_progress_leave(const SdmProgressPart *around)
{
    around->ctx->part = *around;
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
