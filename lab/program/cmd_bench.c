/* stereodem-lab bench: timings of the kernels and of the papers' workloads. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"
#include "program/lab.h"

#include <string.h>

static void add_json(const SdmBench *b, cJSON *summary)
{
    cJSON_AddBoolToObject(summary, "quick", b->opt->quick);
    cJSON *const list = cJSON_AddArrayToObject(summary, "cases");
    for (int i = 0; i < b->count; i++) {
        const SdmBenchCase *const c = &b->cases[i];
        cJSON *const item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "what", c->name);
        cJSON_AddStringToObject(item, "level", c->level);
        cJSON_AddNumberToObject(item, "threads", c->threads);
        cJSON_AddNumberToObject(item, "seconds", c->seconds);
        cJSON_AddNumberToObject(item, "ns_per_output", 1e9 * c->seconds / c->outputs);
        cJSON_AddItemToArray(list, item);
    }
}

/* --tune: the row on standard output, candidates in the log. */
static SdmStatus tune(SdmCall *call, SdmBench *b)
{
    SdmStatus st = SDM_OK;
    SdmBenchTuned tuned;
    TRY(sdm_bench_tune(b, &tuned));
    sdm_screen_print(&call->screen, "%s", tuned.row);
    if (call->summary) {
        cJSON_AddStringToObject(call->summary, "row", tuned.row);
        cJSON_AddItemToObject(call->summary, "seconds_before", cJSON_CreateDoubleArray(tuned.before, 3));
        cJSON_AddItemToObject(call->summary, "seconds", cJSON_CreateDoubleArray(tuned.after, 3));
    }
done:
    return st;
}

SdmStatus sdm_command_bench(SdmCall *call)
{
    SdmStatus st = SDM_OK;
    const SdmBenchOptions *const opt = call->line.sets[1].opts;
    SdmBench *b = NULL;
    const char *const what = call->line.count ? call->line.positional[0] : "all";
    const bool curve = strcmp(what, "curve") == 0;
    if (curve && !opt->tsukuba)
        return sdm_fail(call->ctx, SDM_ERR_USAGE,
                        "bench curve: needs the images of Tsukuba; give their folder with --tsukuba");
    TRY(sdm_bench_check(call->ctx, opt));
    if (opt->tsukuba)
        TRY(sdm_bench_curve_check(call->ctx, opt->tsukuba));
    TRY(sdm_alloc(call->ctx, &b, 1, sizeof *b, "bench"));
    TRY(sdm_bench_open(call->ctx, &call->options, opt, b));
    if (opt->tune) {
        st = tune(call, b);
        goto done;
    }
    if (!curve)
        TRY(sdm_bench_add_named(b, what));
    TRY(sdm_bench_run(b));
    TRY(sdm_bench_write(b));
    if (!call->screen.json && !call->screen.quiet) {
        sdm_screen_close(&call->screen);
        sdm_bench_print_text(b, stdout);
        if (opt->tsukuba)
            TRY(sdm_bench_curve_of(call->ctx, opt->tsukuba, call->options.cpu_level, stdout));
    }
    if (call->summary)
        add_json(b, call->summary);
done:
    if (st == SDM_ERR_STOPPED)
        st = sdm_fail(call->ctx, st, "stopped on request; nothing was written");
    if (b)
        sdm_bench_close(b);
    sdm_free(&b);
    return st;
}
