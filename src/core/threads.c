/* Number of threads for a piece of work. */
// SPDX-License-Identifier: Apache-2.0
#include "core/context.h"

#include <limits.h>
#include <omp.h>

enum { MOST_THREADS = 4 /* for each processor */, LEAST_UNITS = 1 << 20 /* of work for each thread */ };

int sdm_threads(const SdmContext *ctx)
{
    /* more threads would only take turns, each with buffers of its own */
    const int wanted = ctx->threads, limit = MOST_THREADS * omp_get_num_procs(),
              most = wanted < limit ? wanted : limit;
    return ctx->thread_limit > 0 && ctx->thread_limit < most ? ctx->thread_limit : most;
}

int sdm_thread_limit_begin(SdmContext *ctx, int64_t units)
{
    const int before = ctx->thread_limit;
    const int64_t threads = units / LEAST_UNITS;
    ctx->thread_limit = threads < 1 ? 1 : threads < INT_MAX ? (int)threads : INT_MAX;
    return before;
}

void sdm_thread_limit_end(SdmContext *ctx, int before)
{
    ctx->thread_limit = before;
}

int sdm_thread(void)
{
    return omp_get_thread_num();
}
