/* The table of stereodem-lab's commands. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"
#include "program/lab.h"
#include "simulate/simulate.h"

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

static const SdmCommand commands[] = {
    {"simulate", SDM_CMD_OTHER, 0, 0, "", "-o FOLDER [options]",
     "make a stereo pair with exact cameras over known terrain",
     "Write a simulated stereo pair with exact cameras over known terrain, together with the true heights.",
     sdm_simulate_options, default_simulate, sdm_command_simulate},
    {"bench", SDM_CMD_OTHER_MATCH, 0, 1, "", "[kernels | papers | all] [options]",
     "time the kernels and the workloads of papers on this machine",
     "Time every kernel at every instruction set, the matching of pairs, and the workloads of the papers "
     "that this program follows, beside their published times. Reads no files.",
     sdm_bench_options, default_bench, sdm_command_bench},
    {.name = NULL},
};

const SdmProgram sdm_program = {
    "stereodem-lab", "simulated scenes with their truth, and times of kernels",
    "Exit codes: 0 done, 1 failed, 2 wrong usage.\nExample: stereodem-lab simulate -o scene\n", commands};
