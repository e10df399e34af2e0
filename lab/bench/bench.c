/* This machine -> the instruction sets to time; options of bench. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"
#include "core/file.h"
#include "gpu/choose.h"

#include "instruction_set.h"

#include <string.h>

#define FIELD(name) offsetof(SdmBenchOptions, name)

const SdmOptionSpec sdm_bench_options[] = {
    {"--repeats", "N", SDM_OPT_INT, FIELD(repeats), 1.0, 99.0, NULL, "7", SDM_CMD_OTHER_MATCH,
     "Timings of each case, interleaved with those of the other instruction sets; their median counts. At "
     "most 3 of what takes over a second."},
    {"--csv", "FILE", SDM_OPT_TEXT, FIELD(csv), SDM_NO_RANGE, "none", SDM_CMD_OTHER_MATCH,
     "Write the figures as CSV, too."},
    {"--quick", NULL, SDM_OPT_BOOL, FIELD(quick), SDM_NO_RANGE, "off", SDM_CMD_OTHER_MATCH,
     "Small images: shows that everything works; the figures mean nothing."},
    {"--only", "TEXT", SDM_OPT_TEXT, FIELD(only), SDM_NO_RANGE, "all", SDM_CMD_OTHER_MATCH,
     "Time the rows whose name holds TEXT alone."},
    {"--tune", NULL, SDM_OPT_BOOL, FIELD(tune), SDM_NO_RANGE, "off", SDM_CMD_OTHER_MATCH,
     "Instead: measure sizes of launches on the device of --device and print the row for gpu/tuning.c."},
    {.name = NULL},
};

void sdm_bench_default(SdmBenchOptions *opt)
{
    *opt = (SdmBenchOptions){.repeats = 7};
}

/* ---- the machine ---- */

static void name_machine(char *out, size_t size)
{
    char line[256];
    snprintf(out, size, "unknown processor");
    FILE *const f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f)) {
        const char *const colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) == 0 && colon) {
            snprintf(out, size, "%.*s", (int)strcspn(colon + 2, "\n"), colon + 2);
            break;
        }
    }
    if (f)
        fclose(f);
}

/* Every level that runs here, or the one of --cpu-level. */
static SdmStatus choose_levels(SdmBench *b)
{
    const char *const wanted = b->options->cpu_level;
    const bool any = strcmp(wanted, "auto") == 0;
    for (int i = 0; i < SDM_CPU_LEVELS; i++)
        if (sdm_cpu_levels[i].here() && (any || strcmp(wanted, sdm_cpu_levels[i].name) == 0))
            b->levels[b->level_count++] = sdm_cpu_levels[i].name;
    if (b->level_count == 0)
        return sdm_fail(b->ctx, SDM_ERR_UNSUPPORTED,
                        "--cpu-level %s: this processor does not have it; it has %s", wanted,
                        sdm_kernels_name("auto"));
    return SDM_OK;
}

/* The device of --device, none for the processor (and for auto). */
static SdmStatus open_device(SdmBench *b)
{
    const char *const name = b->options->device;
    SdmChoice choice;
    if (strcmp(name, "auto") == 0 && !b->opt->tune)
        return SDM_OK;
    PASS(sdm_choose_device(b->ctx, name, &choice));
    if (choice.cpu && b->opt->tune)
        return sdm_fail(
            b->ctx, SDM_ERR_UNSUPPORTED,
            "bench --tune: found the processor, expected a device; give --device opencl or cuda%s%s",
            choice.why_not[0] ? "; " : "", choice.why_not);
    if (choice.cpu)
        return SDM_OK;
    for (int kernels = 0; kernels < 2; kernels++)
        snprintf(b->device_name[kernels], sizeof b->device_name[kernels], "%s%s", choice.text,
                 kernels ? " kernels" : "");
    PASS(sdm_device_open(b->ctx, choice.api, choice.index, &b->device));
    return sdm_gpu_open(b->ctx, b->device, 0, &b->gpu);
}

static SdmStatus open_bench(SdmBench *b)
{
    PASS(choose_levels(b));
    name_machine(b->machine, sizeof b->machine);
    return open_device(b);
}

static void close_bench(SdmBench *b)
{
    sdm_bench_scene_close(b);
    sdm_gpu_close(&b->gpu);
    sdm_device_close(&b->device); /* with the cases' buffers */
    while (b->owned_count > 0)
        sdm_free(&b->owned[--b->owned_count]);
    b->count = 0;
}

static SdmStatus add_named(SdmBench *b, const char *what)
{
    const bool all = strcmp(what, "all") == 0, kernels = strcmp(what, "kernels") == 0,
               papers = strcmp(what, "papers") == 0;
    if (!all && !kernels && !papers)
        return sdm_fail(b->ctx, SDM_ERR_USAGE, "found '%.100s', expected kernels, papers or all", what);
    if (all || kernels) {
        PASS(sdm_bench_add_kernels(b));
        PASS(sdm_bench_add_pairs(b, false));
    }
    if (all || papers) {
        PASS(sdm_bench_add_pairs(b, true));
        PASS(sdm_bench_add_scenes(b));
    }
    if (b->count == 0)
        return sdm_fail(b->ctx, SDM_ERR_USAGE, "--only: found '%.100s', which no row of %s has in its name",
                        b->opt->only ? b->opt->only : "", what);
    return SDM_OK;
}

SdmStatus sdm_bench(SdmContext *ctx, const SdmOptions *options, const SdmBenchOptions *opt, const char *what,
                    FILE *to)
{
    SdmStatus st = SDM_OK;
    SDM_OWNED SdmBench *b = NULL;
    if (opt->csv)
        TRY(sdm_file_check_output(ctx, "--csv", opt->csv));
    TRY(sdm_alloc(ctx, &b, 1, sizeof *b, "bench"));
    *b = (SdmBench){.ctx = ctx, .options = options, .opt = opt};
    TRY(open_bench(b));
    if (opt->tune) {
        st = sdm_bench_tune(b, to);
        goto done;
    }
    TRY(add_named(b, what));
    TRY(sdm_bench_run(b));
    TRY(sdm_bench_write_csv(b));
    sdm_bench_print_text(b, to);
done:
    if (b)
        close_bench(b);
    return st;
}
