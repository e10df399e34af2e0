/* The commands of stereodem-lab, for those who develop and measure: a stereo pair with exact cameras over
 * known terrain; timings of the kernels and of the workloads of papers. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"
#include "cli/cli.h"
#include "simulate/simulate.h"

#include <stdlib.h>

static void default_simulate(SdmCall *call)
{
    static SdmSimulateOptions own;
    sdm_simulate_default(&own);
    call->line.sets[1].opts = &own;
}

static void default_bench(SdmCall *call)
{
    static SdmBenchOptions own;
    sdm_bench_default(&own);
    call->line.sets[1].opts = &own;
}

static SdmStatus simulate(SdmCall *call)
{
    const SdmSimulateOptions *const opt = call->line.sets[1].opts;
    const char *const output = opt->output;
    if (!output)
        return sdm_fail(call->ctx, SDM_ERR_USAGE, "-o is missing: give the folder to make, such as -o scene");
    PASS(sdm_simulate(call->ctx, opt));
    sdm_screen_print(&call->screen, "%s: done in %.1f s", output, sdm_now_s() - call->screen.started_s);
    if (call->summary)
        cJSON_AddStringToObject(call->summary, "output", output);
    return SDM_OK;
}

static SdmStatus bench(SdmCall *call)
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

static const SdmCommand commands[] = {
    {"simulate", SDM_CMD_OTHER, 0, 0, "", "-o FOLDER [options]",
     "make a stereo pair with exact cameras over known terrain",
     "Write a simulated stereo pair with exact cameras over known terrain, together with the true heights.",
     sdm_simulate_options, default_simulate, simulate},
    {"bench", SDM_CMD_OTHER_MATCH, 0, 1, "", "[kernels | papers | all] [options]",
     "time the kernels and the workloads of papers on this machine",
     "Time every kernel at every instruction set, the matching of pairs, and the workloads of the papers "
     "that this program follows, beside their published times. Reads no files.",
     sdm_bench_options, default_bench, bench},
    {.name = NULL},
};

const SdmProgram sdm_program = {
    "stereodem-lab", "simulated scenes with their truth, and times of kernels",
    "Exit codes: 0 done, 1 failed, 2 wrong usage.\nExample: stereodem-lab simulate -o scene\n", commands};
