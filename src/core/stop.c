/* Requests to stop: of one context, or of every context that is open. */
// SPDX-License-Identifier: Apache-2.0
#include "core/context.h"

/* Number of calls of sdm_stop(); a signal handler may do no more than change it.  A context compares it with
 * the count at its opening, so contexts that are opened later run. */
static volatile sig_atomic_t stop_requests;

sig_atomic_t sdm_stop_requests(void)
{
    return stop_requests;
}

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
