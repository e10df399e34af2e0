/* Timings -> CSV, a table, Markdown. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"
#include "core/file.h"

#include <errno.h>
#include <math.h>
#include <string.h>

SdmStatus sdm_bench_check(SdmContext *ctx, const SdmBenchOptions *opt)
{
    SdmStatus st = SDM_OK;
    if (opt->csv)
        TRY(sdm_file_check_output(ctx, "--csv", opt->csv));
    if (opt->markdown)
        TRY(sdm_file_check_output(ctx, "--markdown", opt->markdown));
done:
    return st;
}

static void print_csv(const SdmBench *b, FILE *to)
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

/* ---- tables: padded for people, or Markdown ---- */

enum { MOST_COLUMNS = 8, CELL_SIZE = 256 };

typedef struct Column {
    const char *brief, *heading; /* for people, for Markdown */
    int width;                   /* for people; < 0: left-aligned */
} Column;

typedef struct Table {
    int count;
    Column column[MOST_COLUMNS];
} Table;

static const Table kernel_table = {8,
                                   {{"kernel", "kernel", -28},
                                    {"level", "level", -10},
                                    {"t", "threads", 2},
                                    {"ns", "ns", 9},
                                    {"per", "per", -6},
                                    {"cycles", "cycles", 9},
                                    {"ratio", "ratio to the level below", 6},
                                    {"of bound", "of the bound", -1}}},
                   paper_table = {5,
                                  {{"workload of a paper", "workload of a paper", -53},
                                   {"level", "level", -8},
                                   {"t", "threads", 2},
                                   {"here", "here", 10},
                                   {"published", "published", -1}}};

static void print_cells(FILE *to, bool markdown, const Table *t, char cell[][CELL_SIZE])
{
    for (int i = 0; i < t->count; i++)
        if (markdown)
            fprintf(to, "| %s%s", cell[i], i + 1 < t->count ? " " : " |\n");
        else
            fprintf(to, "%*s%s", t->column[i].width, cell[i], i + 1 < t->count ? " " : "\n");
}

static void print_head(FILE *to, bool markdown, const Table *t)
{
    char cell[MOST_COLUMNS][CELL_SIZE], rule[MOST_COLUMNS][CELL_SIZE];
    for (int i = 0; i < t->count; i++) {
        snprintf(cell[i], CELL_SIZE, "%s", markdown ? t->column[i].heading : t->column[i].brief);
        snprintf(rule[i], CELL_SIZE, "---");
    }
    fputc('\n', to);
    print_cells(to, markdown, t, cell);
    if (markdown)
        print_cells(to, markdown, t, rule);
}

static void fill_kernel(const SdmBench *b, int i, char cell[][CELL_SIZE])
{
    const SdmBenchCase *const c = &b->cases[i], *const below = sdm_bench_below(b, i);
    const double each = c->seconds / c->outputs;
    const char *limit = "";
    const double bound = sdm_bench_bound_s(b, c, &limit);
    snprintf(cell[3], CELL_SIZE, "%.3g", 1e9 * each);
    snprintf(cell[4], CELL_SIZE, "%s", c->output);
    snprintf(cell[5], CELL_SIZE, "%.3g", each * b->clock_hz * c->threads);
    cell[6][0] = cell[7][0] = '\0';
    if (below) /* by output: cases may differ in size */
        snprintf(cell[6], CELL_SIZE, "%.2f", below->seconds / below->outputs / each);
    if (bound > 0.0)
        snprintf(cell[7], CELL_SIZE, "%.0f %% %s", 100.0 * bound / c->seconds, limit);
}

/* The cases that have published times, or the others; nothing where there are none. */
static void print_table(const SdmBench *b, FILE *to, bool markdown, bool published)
{
    const Table *const t = published ? &paper_table : &kernel_table;
    bool begun = false;
    for (int i = 0; i < b->count; i++) {
        const SdmBenchCase *const c = &b->cases[i];
        char cell[MOST_COLUMNS][CELL_SIZE];
        if ((c->published != NULL) != published)
            continue;
        if (!begun)
            print_head(to, markdown, t);
        begun = true;
        snprintf(cell[0], CELL_SIZE, "%s", c->name);
        snprintf(cell[1], CELL_SIZE, "%s", c->level);
        snprintf(cell[2], CELL_SIZE, "%d", c->threads);
        if (published) {
            snprintf(cell[3], CELL_SIZE, c->seconds < 0.1 ? "%.3g ms" : "%.3g s",
                     c->seconds < 0.1 ? 1e3 * c->seconds : c->seconds);
            snprintf(cell[4], CELL_SIZE, "%s", c->published);
        } else {
            fill_kernel(b, i, cell);
        }
        if (isnan(c->seconds)) {
            snprintf(cell[3], CELL_SIZE, "%s", c->missing ? c->missing : "none");
            for (int k = 5; k < t->count; k++)
                cell[k][0] = '\0';
        }
        print_cells(to, markdown, t, cell);
    }
}

static void print_tables(const SdmBench *b, FILE *to, bool markdown)
{
    print_machine(b, to);
    print_table(b, to, markdown, false);
    print_table(b, to, markdown, true);
}

void sdm_bench_print_text(const SdmBench *b, FILE *to)
{
    print_tables(b, to, false);
}

static void print_markdown(const SdmBench *b, FILE *to)
{
    print_tables(b, to, true);
}

/* What stood there is replaced. */
static SdmStatus write_file(const SdmBench *b, const char *path, void (*print)(const SdmBench *b, FILE *to))
{
    if (!path)
        return SDM_OK;
    FILE *const f = fopen(path, "w");
    bool bad = !f;
    if (f) {
        print(b, f);
        bad = ferror(f) != 0;
        bad |= fclose(f) != 0;
    }
    return bad ? sdm_fail(b->ctx, SDM_ERR_IO, "%s: cannot be written: %s", path, strerror(errno)) : SDM_OK;
}

SdmStatus sdm_bench_write(const SdmBench *b)
{
    const SdmStatus st = write_file(b, b->opt->csv, print_csv);
    return st ? st : write_file(b, b->opt->markdown, print_markdown);
}
