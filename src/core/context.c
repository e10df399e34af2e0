/* A context is opened and closed; children of it, for other threads; requests to stop. */
// SPDX-License-Identifier: Apache-2.0
#include "core/context.h"
#include "core/machine.h"
#include "core/options.h"

#include <stdlib.h>

/* Number of calls of sdm_stop(); a signal handler may do no more than change it.  A context compares it with
 * the count at its opening, so contexts that are opened later run. */
static volatile sig_atomic_t stop_requests;

const char *sdm_version(void)
{
    return SDM_VERSION;
}

int sdm_abi_number(void)
{
    return SDM_ABI;
}

SdmStatus sdm_open(SdmContext **out, const SdmOptions *opt)
{
    SdmContext *const ctx = *out = calloc(1, sizeof *ctx);
    if (!ctx)
        return SDM_ERR_MEMORY;
    ctx->calling = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    ctx->started_s = sdm_now_s();
    ctx->part = (SdmProgressPart){ctx, 0.0, 1.0};
    ctx->stop_requests = stop_requests;
    return sdm_use_options(ctx, opt);
}

SdmStatus sdm_use_options(SdmContext *ctx, const SdmOptions *opt)
{
    if (opt)
        ctx->options = *opt;
    else
        sdm_options_default(&ctx->options);
    ctx->threads = ctx->options.threads > 0 ? ctx->options.threads : sdm_usual_threads();
    if (ctx->threads_most > 0 && ctx->threads > ctx->threads_most)
        ctx->threads = ctx->threads_most;
    ctx->memory_bytes = ctx->options.memory_bytes;
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
    ctx->calling = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    ctx->options = parent->options;
    ctx->threads = parent->threads;
    ctx->threads_most = parent->threads_most;
    ctx->memory_bytes = parent->memory_bytes;
    ctx->account = parent->account ? parent->account : parent;
    ctx->started_s = parent->started_s;
    ctx->part = (SdmProgressPart){ctx, 0.0, 1.0};
    ctx->numbers = parent->numbers;
    ctx->lines = lines;
    sdm_set_log(ctx, keep_line, lines);
    return SDM_OK;
}

void sdm_forward_log(SdmContext *parent, SdmContext *child)
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
    if ((*ctx)->free_face)
        (*ctx)->free_face((*ctx)->face);
    sdm_cache_release(*ctx);
    if (!(*ctx)->account && (*ctx)->numbers)
        sdm_system_free_locale((*ctx)->numbers);
    pthread_mutex_destroy(&(*ctx)->calling);
    free((*ctx)->lines);
    free(*ctx);
    *ctx = NULL;
}

const SdmOptions *sdm_options(const SdmContext *ctx)
{
    return &ctx->options;
}

int64_t sdm_set_memory_budget(SdmContext *ctx, int64_t bytes)
{
    const int64_t before = ctx->memory_bytes;
    ctx->memory_bytes = bytes;
    return before;
}

/* ---- stop ---- */

void sdm_stop(void)
{
    stop_requests = stop_requests == SIG_ATOMIC_MAX ? 0 : stop_requests + 1;
}

void sdm_cancel(SdmContext *ctx)
{
    __atomic_store_n(&ctx->cancelled, 1, __ATOMIC_RELAXED);
}

/* Ask the program whether to stop. */
static void ask(SdmContext *ctx)
{
    if (!ctx->cancel)
        return;
    pthread_mutex_lock(&ctx->calling);
    if (ctx->cancel(ctx->cancel_user))
        sdm_cancel(ctx);
    pthread_mutex_unlock(&ctx->calling);
}

SdmStatus sdm_check_stop(SdmContext *ctx)
{
    SdmContext *const root = ctx->account ? ctx->account : ctx;
    ask(root);
    if (root->stop_requests == stop_requests && !__atomic_load_n(&root->cancelled, __ATOMIC_RELAXED) &&
        !__atomic_load_n(&ctx->cancelled, __ATOMIC_RELAXED))
        return SDM_OK;
    return sdm_fail(ctx, SDM_ERR_STOPPED, "stopped on request; give the same command again");
}
