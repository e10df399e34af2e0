/* Timings -> CSV, a table. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Time at the level below by that of case i, both by output, since cases may differ in size; NaN for the
 * lowest level. */
static double ratio_to_below(const SdmBench *b, int i)
{
    const SdmBenchCase *const c = &b->cases[i];
    if (i == 0 || strcmp(c[-1].name, c->name) != 0)
        return (double)NAN;
    return c[-1].seconds / c[-1].outputs / (c->seconds / c->outputs);
}

static void print_csv(const SdmBench *b, FILE *to)
{
    fprintf(to, "what,level,threads,output,outputs,seconds,best_seconds,cpu_seconds,ns_per_output,"
                "ratio_to_level_below,published,quick\n");
    for (int i = 0; i < b->count; i++) {
        const SdmBenchCase *const c = &b->cases[i];
        fprintf(to, "\"%s\",%s,%d,%s,%.0f,%.9g,%.9g,%.9g,%.5g,%.4g,\"%s\",%s\n", c->name, c->level,
                c->threads, c->output, c->outputs, c->seconds, c->best, c->cpu, 1e9 * c->seconds / c->outputs,
                ratio_to_below(b, i), c->published ? c->published : "", b->opt->quick ? "yes" : "no");
    }
}

void sdm_bench_print_text(const SdmBench *b, FILE *to)
{
    fprintf(to, "%s, %d threads; median of %d\n", b->machine, sdm_threads(b->ctx), b->opt->repeats);
    if (b->opt->quick)
        fprintf(to, "--quick: small images, these figures mean nothing.\n");
    fprintf(to, "\n%-53s %-14s %2s %9s %9s %-7s %6s  %s\n", "what", "level", "t", "ms", "ns", "per", "ratio",
            "published");
    for (int i = 0; i < b->count; i++) {
        const SdmBenchCase *const c = &b->cases[i];
        const double ratio = ratio_to_below(b, i);
        char text[16] = "";
        if (!isnan(ratio))
            snprintf(text, sizeof text, "%.2f", ratio);
        fprintf(to, "%-53s %-14s %2d %9.3g %9.3g %-7s %6s  %s\n", c->name, c->level, c->threads,
                1e3 * c->seconds, 1e9 * c->seconds / c->outputs, c->output, text,
                c->missing     ? c->missing
                : c->published ? c->published
                               : "");
    }
}

SdmStatus sdm_bench_write_csv(const SdmBench *b)
{
    if (!b->opt->csv)
        return SDM_OK;
    FILE *const f = fopen(b->opt->csv, "w");
    bool bad = !f;
    if (f) {
        print_csv(b, f);
        bad = ferror(f) != 0;
        bad |= fclose(f) != 0;
    }
    if (bad)
        return sdm_fail(b->ctx, SDM_ERR_IO, "%s: cannot be written: %s", b->opt->csv, strerror(errno));
    return SDM_OK;
}
