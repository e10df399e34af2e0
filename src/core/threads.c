/* Number of threads for a piece of work. */
// SPDX-License-Identifier: Apache-2.0
#include "core/context.h"

#include <limits.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { MOST_THREADS = 4 /* a processor */, TEAM_UNITS = 1 << 20 /* of a thread, at least */ };

int sdm_threads(const SdmContext *ctx)
{
#ifdef _OPENMP
    const int processors = omp_get_num_procs(), wanted = ctx->threads;
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
