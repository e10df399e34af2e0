/* `stereodem-lab bench` where GDAL is not at hand and the program cannot be built:
 *   bench_core [kernels|papers|all] [--device cuda] [--tune] and the other options of bench
 * Text on standard output, lines of the log on standard error. */
// SPDX-License-Identifier: Apache-2.0
#include "bench/bench.h"

static void log_line(void *user, SdmLogLevel level, int stage, const char *text)
{
    (void)user, (void)level, (void)stage;
    fprintf(stderr, "%s\n", text);
}

int main(int argc, char **argv)
{
    static SdmCommandLine line;
    SDM_CLOSED_BY(sdm_close) SdmContext *ctx = NULL;
    SdmOptions opt;
    SdmBenchOptions own;
    sdm_options_default(&opt);
    sdm_bench_default(&own);
    line = (SdmCommandLine){
        .name = "bench",
        .command = SDM_CMD_OTHER_MATCH,
        .sets = {{.table = sdm_option_table, .opts = &opt}, {.table = sdm_bench_options, .opts = &own}},
        .max = 1};
    SdmStatus st = sdm_open(&ctx, NULL);
    if (st == SDM_OK)
        st = sdm_options_parse(ctx, &line, argc, argv);
    if (st == SDM_OK) {
        sdm_close(&ctx);
        st = sdm_open(&ctx, &opt);
    }
    if (ctx)
        sdm_set_log(ctx, log_line, NULL);
    if (st == SDM_OK)
        st = sdm_bench(ctx, &opt, &own, line.count ? line.positional[0] : "all", stdout);
    if (st != SDM_OK)
        fprintf(stderr, "%s\n", sdm_error(ctx));
    return sdm_exit_code(st);
}
