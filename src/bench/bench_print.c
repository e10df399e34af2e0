/* Timings -> CSV, a table, Markdown. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file that is there and can be written, or a folder that takes a new one. */
static SdmStatus check_file(SdmContext *ctx, const char *option, const char *path)
{
    struct stat s;
    char folder[4096] = ".";
    const char *const slash = strrchr(path, '/');
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    if (stat(path, &s) == 0 && S_ISDIR(s.st_mode))
        return sdm_fail(ctx, SDM_ERR_USAGE, "%s %s is a folder, expected the name of a file", option, path);
    if (stat(path, &s) == 0 ? access(path, W_OK) != 0 : access(folder, W_OK | X_OK) != 0)
        return sdm_fail(ctx, SDM_ERR_IO, "%s %s: cannot be written: %s; nothing was timed", option, path,
                        strerror(errno));
    return SDM_OK;
}

SdmStatus sdm_bench_check(SdmContext *ctx, const SdmBenchOptions *opt)
{
    SdmStatus st = SDM_OK;
    if (opt->csv)
        TRY(check_file(ctx, "--csv", opt->csv));
    if (opt->markdown)
        TRY(check_file(ctx, "--markdown", opt->markdown));
done:
    return st;
}

static void format_time(double seconds, char out[32])
{
    if (seconds < 0.1)
        snprintf(out, 32, "%.3g ms", 1e3 * seconds);
    else
        snprintf(out, 32, "%.3g s", seconds);
}

/* What a row of the kernels' table says; empty texts where there is nothing to say. */
typedef struct Row {
    char ns[32], cycles[32], ratio[32], bound[48], time[32];
} Row;

static void fill_row(const SdmBench *b, int i, Row *r)
{
    const SdmBenchCase *const c = &b->cases[i], *const below = sdm_bench_below(b, i);
    const double each = c->seconds / c->outputs;
    const char *of = "";
    *r = (Row){.ns = ""};
    snprintf(r->ns, sizeof r->ns, "%.3g", 1e9 * each);
    snprintf(r->cycles, sizeof r->cycles, "%.3g", each * b->clock_hz * c->threads);
    format_time(c->seconds, r->time);
    if (below) /* cases may differ in size: by output */
        snprintf(r->ratio, sizeof r->ratio, "%.2f", below->seconds / below->outputs / each);
    const double bound = sdm_bench_bound_s(b, c, &of);
    if (bound > 0.0)
        snprintf(r->bound, sizeof r->bound, "%.0f %% %s", 100.0 * bound / c->seconds, of);
}

static bool has_kernels(const SdmBench *b)
{
    for (int i = 0; i < b->count; i++)
        if (!b->cases[i].published)
            return true;
    return false;
}

static bool has_papers(const SdmBench *b)
{
    for (int i = 0; i < b->count; i++)
        if (b->cases[i].published)
            return true;
    return false;
}

void sdm_bench_print_csv(const SdmBench *b, FILE *to)
{
    fprintf(to,
            "what,level,threads,output,outputs,seconds,best_seconds,cpu_seconds,ns_per_output,"
            "cycles_per_output,ratio_to_level_below,bound_seconds,bound_by,published,quick\n");
    for (int i = 0; i < b->count; i++) {
        const SdmBenchCase *const c = &b->cases[i], *const below = sdm_bench_below(b, i);
        const char *of = "";
        const char *const quote = strchr(c->name, ',') ? "\"" : "";
        const double each = c->seconds / c->outputs, bound = sdm_bench_bound_s(b, c, &of);
        fprintf(to, "%s%s%s,%s,%d,%s,%.0f,%.9g,%.9g,%.9g,%.5g,%.5g,", quote, c->name, quote, c->level,
                c->threads, c->output, c->outputs, c->seconds, c->best, c->cpu, 1e9 * each,
                each * b->clock_hz * c->threads);
        if (below)
            fprintf(to, "%.4g", below->seconds / below->outputs / each);
        fprintf(to, ",");
        if (bound > 0.0)
            fprintf(to, "%.4g,%s", bound, of);
        fprintf(to, "%s,\"%s\",%s\n", bound > 0.0 ? "" : ",", c->published ? c->published : "",
                b->opt->quick ? "yes" : "no");
    }
}

static void print_machine(const SdmBench *b, FILE *to)
{
    fprintf(to,
            "%s, %.2f GHz (estimated), %d threads; triad %.1f GB/s with one thread, %.1f GB/s with all; "
            "median of %d\n",
            b->machine, 1e-9 * b->clock_hz, sdm_threads(b->ctx), 1e-9 * b->bandwidth, 1e-9 * b->bandwidth_all,
            b->opt->repeats);
    if (b->device_bandwidth > 0.0)
        fprintf(to, "device: copy %.0f GB/s", 1e-9 * b->device_bandwidth);
    if (b->device_issue > 0.0)
        fprintf(to, ", %.3g instructions a second at its highest clock", b->device_issue);
    if (b->device_bandwidth > 0.0)
        fprintf(to, "\n");
    if (b->opt->quick)
        fprintf(to, "--quick: small images, these figures mean nothing.\n");
}

void sdm_bench_print_text(const SdmBench *b, FILE *to)
{
    print_machine(b, to);
    if (has_kernels(b))
        fprintf(to, "\n%-28s %-10s %2s %9s %-6s %9s %6s  %s\n", "kernel", "level", "t", "ns", "per", "cycles",
                "ratio", "of bound");
    for (int i = 0; i < b->count; i++) {
        const SdmBenchCase *const c = &b->cases[i];
        Row r;
        if (c->published)
            continue;
        fill_row(b, i, &r);
        fprintf(to, "%-28s %-10s %2d %9s %-6s %9s %6s  %s\n", c->name, c->level, c->threads, r.ns, c->output,
                r.cycles, r.ratio, r.bound);
    }
    if (has_papers(b))
        fprintf(to, "\n%-53s %-8s %2s %10s  %s\n", "workload of a paper", "level", "t", "here", "published");
    for (int i = 0; i < b->count; i++) {
        const SdmBenchCase *const c = &b->cases[i];
        Row r;
        if (!c->published)
            continue;
        fill_row(b, i, &r);
        fprintf(to, "%-53s %-8s %2d %10s  %s\n", c->name, c->level, c->threads, r.time, c->published);
    }
}

void sdm_bench_print_markdown(const SdmBench *b, FILE *to)
{
    print_machine(b, to);
    if (has_kernels(b))
        fprintf(
            to,
            "\n| kernel | level | threads | ns | per | cycles | ratio to the level below | of the bound |\n"
            "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (int i = 0; i < b->count; i++) {
        const SdmBenchCase *const c = &b->cases[i];
        Row r;
        if (c->published)
            continue;
        fill_row(b, i, &r);
        fprintf(to, "| %s | %s | %d | %s | %s | %s | %s | %s |\n", c->name, c->level, c->threads, r.ns,
                c->output, r.cycles, r.ratio, r.bound);
    }
    if (has_papers(b))
        fprintf(to,
                "\n| workload of a paper | level | threads | here | published |\n| --- | --- | --- | --- | "
                "--- |\n");
    for (int i = 0; i < b->count; i++) {
        const SdmBenchCase *const c = &b->cases[i];
        Row r;
        if (!c->published)
            continue;
        fill_row(b, i, &r);
        fprintf(to, "| %s | %s | %d | %s | %s |\n", c->name, c->level, c->threads, r.time, c->published);
    }
}
