/* stereodem-lab bench: timings of the kernels and of the papers' workloads. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"
#include "program/lab.h"

#include <stdlib.h>

SdmStatus sdm_command_bench(SdmCall *call)
{
    const char *const what = call->line.count ? call->line.positional[0] : "all";
    char *tables = NULL; /* printed when the progress is closed */
    size_t size = 0;
    FILE *const to = open_memstream(&tables, &size);
    SdmStatus st = sdm_bench(call->ctx, &call->options, call->line.sets[1].opts, what, to);
    if (to)
        fclose(to);
    if (st == SDM_ERR_STOPPED)
        st = sdm_fail(call->ctx, st, "stopped on request; nothing was written");
    if (st == SDM_OK && tables && !call->screen.json && !call->screen.quiet) {
        sdm_screen_close(&call->screen);
        fputs(tables, stdout);
    }
    free(tables);
    return st;
}
