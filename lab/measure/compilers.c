/* The kernels as two compilers made them, in one process: both copies of `bench kernels` in turn -> the ratio of times.
 * See compilers. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"
#include "core/stats.h"
#include "instruction_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* the functions of the other compiler: their names begin so */
SdmStatus other_sdm_open(SdmContext **out, const SdmOptions *options);
SdmStatus other_sdm_bench_add_kernels(SdmBench *b);
SdmStatus other_sdm_bench_add_pairs(SdmBench *b, bool papers);

enum { ROUNDS = 99 };
static const double SHORTEST_S = 2e-4, SECONDS = 2.0; /* of a timing; of a case, about */

static double time_s(const SdmBench *b, int i, int calls)
{
    const double begin = sdm_bench_processor_s();
    for (int k = 0; k < calls; k++)
        if (b->cases[i].call(b->ctx, b->cases[i].data) != SDM_OK)
            exit(1);
    return (sdm_bench_processor_s() - begin) / calls;
}

static void compare(const SdmBench side[2], int i)
{
    double times[2][ROUNDS], ratio[ROUNDS], once = 0.0;
    for (int k = 0; k < 2; k++)
        once += 0.5 * time_s(&side[k], i, 1);
    const int calls = once < SHORTEST_S ? (int)(SHORTEST_S / once) + 1 : 1;
    int rounds = (int)(SECONDS / (2.0 * once * calls)) | 1;
    rounds = rounds < 9 ? 9 : rounds > ROUNDS ? ROUNDS : rounds;
    for (int r = 0; r < rounds; r++) {
        for (int turn = 0; turn < 2; turn++)
            times[(r + turn) % 2][r] = time_s(&side[(r + turn) % 2], i, calls);
        ratio[r] = times[1][r] / times[0][r];
    }
    printf("%-9s %-28s %10.2f %10.2f %8.3f\n", side[0].cases[i].level, side[0].cases[i].name,
           1e6 * sdm_median_f64(times[0], rounds), 1e6 * sdm_median_f64(times[1], rounds),
           sdm_median_f64(ratio, rounds));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static SdmBench side[2];
    SdmOptions options;
    SdmBenchOptions how;
    sdm_options_default(&options);
    sdm_bench_default(&how);
    options.threads = 1;
    how.only = argc > 1 ? argv[1] : NULL;
    for (int k = 0; k < 2; k++) {
        side[k] = (SdmBench){.options = &options, .opt = &how};
        if ((k ? other_sdm_open : sdm_open)(&side[k].ctx, &options) != SDM_OK)
            return 1;
        for (int i = 1; i < SDM_CPU_LEVELS; i++) /* not `reference` */
            if (sdm_cpu_levels[i].here())
                side[k].levels[side[k].level_count++] = sdm_cpu_levels[i].name;
        if ((k ? other_sdm_bench_add_kernels : sdm_bench_add_kernels)(&side[k]) != SDM_OK)
            return 1;
        for (int papers = 0; papers <= (how.only != NULL); papers++) /* all of papers take minutes */
            if ((k ? other_sdm_bench_add_pairs : sdm_bench_add_pairs)(&side[k], papers) != SDM_OK)
                return 1;
    }
    printf("%-9s %-28s %10s %10s %8s\n", "level", "kernel", "gcc, us", "clang, us", "ratio");
    for (int i = 0; i < side[0].count; i++)
        compare(side, i);
    return 0;
}
