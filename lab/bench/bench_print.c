/* Timings -> CSV, tables. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* The time of the level below by that of a case, both by output; the bound. */
typedef struct Ratios {
    double below, bound_s; /* 0 = none */
    const char *bound_by;
} Ratios;

static Ratios ratios_of(const SdmBench *b, int i)
{
    const SdmBenchCase *const c = &b->cases[i], *const below = sdm_bench_below(b, i);
    Ratios r = {.bound_by = ""};
    r.below = below ? below->seconds / below->outputs / (c->seconds / c->outputs) : 0.0;
    r.bound_s = sdm_bench_bound_s(b, c, &r.bound_by);
    return r;
}

static void print_csv(const SdmBench *b, FILE *to)
{
    fprintf(to,
            "what,level,threads,output,outputs,seconds,best_seconds,cpu_seconds,ns_per_output,"
            "cycles_per_output,ratio_to_level_below,bound_seconds,bound_by,published,quick\n");
    for (int i = 0; i < b->count; i++) {
        const SdmBenchCase *const c = &b->cases[i];
        const Ratios r = ratios_of(b, i);
        const double each = c->seconds / c->outputs;
        fprintf(to, "\"%s\",%s,%d,%s,%.0f,%.9g,%.9g,%.9g,%.5g,%.5g,%.4g,%.4g,%s,\"%s\",%s\n", c->name,
                c->level, c->threads, c->output, c->outputs, c->seconds, c->best, c->cpu, 1e9 * each,
                each * b->clock_hz * c->threads, r.below, r.bound_s, r.bound_by,
                c->published ? c->published : "", b->opt->quick ? "yes" : "no");
    }
}

static void print_kernel(const SdmBench *b, int i, FILE *to)
{
    const SdmBenchCase *const c = &b->cases[i];
    const Ratios r = ratios_of(b, i);
    const double each = c->seconds / c->outputs;
    char time[32];
    if (isnan(c->seconds))
        snprintf(time, sizeof time, "%s", c->missing ? c->missing : "none");
    else
        snprintf(time, sizeof time, "%.3g", 1e9 * each);
    fprintf(to, "%-28s %-10s %2d %9s %-6s %9.3g", c->name, c->level, c->threads, time, c->output,
            each * b->clock_hz * c->threads);
    if (r.below > 0.0)
        fprintf(to, " %6.2f", r.below);
    if (r.bound_s > 0.0)
        fprintf(to, "%s %.0f %% %s", r.below > 0.0 ? "" : "       ", 100.0 * r.bound_s / c->seconds,
                r.bound_by);
    fputc('\n', to);
}

static void print_workload(const SdmBenchCase *c, FILE *to)
{
    char time[32];
    if (isnan(c->seconds))
        snprintf(time, sizeof time, "%s", c->missing ? c->missing : "none");
    else
        snprintf(time, sizeof time, c->seconds < 0.1 ? "%.3g ms" : "%.3g s",
                 c->seconds < 0.1 ? 1e3 * c->seconds : c->seconds);
    fprintf(to, "%-53s %-8s %2d %10s %s\n", c->name, c->level, c->threads, time, c->published);
}

void sdm_bench_print_text(const SdmBench *b, FILE *to)
{
    bool begun[2] = {false, false};
    fprintf(to,
            "%s, %.2f GHz (estimated), %d threads; triad %.1f GB/s with one thread, %.1f GB/s with all; "
            "median of %d\n",
            b->machine, 1e-9 * b->clock_hz, sdm_threads(b->ctx), 1e-9 * b->bandwidth, 1e-9 * b->bandwidth_all,
            b->opt->repeats);
    if (b->opt->quick)
        fprintf(to, "--quick: small images, these figures mean nothing.\n");
    for (int paper = 0; paper < 2; paper++)
        for (int i = 0; i < b->count; i++) {
            if ((b->cases[i].published != NULL) != (paper == 1))
                continue;
            if (!begun[paper])
                fprintf(to, paper ? "\n%-53s %-8s %2s %10s %s\n" : "\n%-28s %-10s %2s %9s %-6s %9s %6s %s\n",
                        paper ? "workload of a paper" : "kernel", "level", "t", paper ? "here" : "ns",
                        paper ? "published" : "per", "cycles", "ratio", "of bound");
            begun[paper] = true;
            if (paper)
                print_workload(&b->cases[i], to);
            else
                print_kernel(b, i, to);
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
