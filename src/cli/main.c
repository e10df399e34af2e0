/* The program: command table, signals, and one call from its arguments to its exit code. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"
#include "scene/tiling.h"

#include <cpl_conv.h>
#include <cpl_error.h>
#include <errno.h>
#include <gdal.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

const SdmCommand sdm_commands[] = {
    {"run", SDM_CMD_RUN, 1, 2, "the scene, or the left and the right image",
     "SCENE -o DEM.tif [options]\nLEFT RIGHT -o DEM.tif [options]",
     "make a DEM from a scene or a pair of images",
     "Make a DEM. SCENE is an ASTER level 1A scene: an .hdf file (V004), or the folder or .zip of V003. LEFT "
     "and RIGHT are two images with RPC cameras, or with --base-height a georeferenced epipolar pair. A run "
     "that was interrupted goes on where it stopped when the same command is given again.",
     NULL, sdm_command_run},
    {"info", SDM_CMD_INFO, 1, 2, "the scene, or the left and the right image",
     "SCENE [options]\nLEFT RIGHT [options]", "describe a scene: sensor, cameras, overlap, expected cost",
     "Print what a scene is and what its DEM would be: sensor, cameras, overlap, base/height ratio, height "
     "range, expected memory and time. Matches nothing and writes nothing.",
     NULL, sdm_command_info},
    {"compare", SDM_CMD_COMPARE, 2, 2, "the DEM and the reference", "DEM REFERENCE [options]",
     "hold a DEM against a reference: bias, NMAD, RMSE, LE90",
     "Print the errors of a DEM against a reference in metres: bias (median), NMAD, RMSE and LE90, as it is "
     "and after co-registration by Nuth & Kaab (2011), and the share of cells that it covers.",
     sdm_compare_options, sdm_command_compare},
    {"stack", SDM_CMD_STACK, 0, SDM_MAX_POSITIONAL, "",
     "DEM DEM ... -o STACKED.tif [options]\n"
     "--list DEMS.txt -o STACKED.tif [options]",
     "make one DEM from DEMs of one place: median, NMAD, count",
     "Put DEMs of one place together, such as run makes of several scenes: each is shifted to the others "
     "over stable cells, then a cell takes the median of what is there. NAME_qa.tif holds NMAD and count of "
     "each cell and a mask.",
     sdm_stack_options, sdm_command_stack},
    {"simulate", SDM_CMD_SIMULATE, 0, 0, "", "-o FOLDER [options]",
     "make a stereo pair with exact cameras over known terrain",
     "Write a simulated stereo pair with exact cameras over known terrain, together with the true heights, "
     "to judge a DEM by.",
     sdm_simulate_options, sdm_command_simulate},
    {"plan", SDM_CMD_PLAN, 0, 2, "",
     "SCENE -o JOB [options]\nLEFT RIGHT -o JOB [options]\n--list SCENES.txt -o JOB [options]",
     "plan a job: units of work of one or many scenes",
     "Write a job folder: inputs with sizes and time stamps, all parameters, and the units of work of one or "
     "many scenes, numbered from 0, for tile to compute on any machine. A scene within the memory budget is "
     "one unit; a larger one is its preparation and its tiles. Reads cameras, no pixels.",
     sdm_plan_options_table, sdm_command_plan},
    {"tile", SDM_CMD_TILE, 1, 2, "the job folder", "JOB I [options]\nJOB --index-env NAME [options]",
     "compute units of a job",
     "Compute task I of a job: unit I, or with --count K the units I x K to I x K + K - 1; or a list of "
     "units such as 4,7-9. A unit that is there, whole and of this plan is left as it is; a damaged one is "
     "computed again. Parameters are those of the plan.",
     sdm_tile_options_table, sdm_command_tile},
    {"merge", SDM_CMD_MERGE, 1, 2, "the job folder", "JOB [SCENE] [options]", "units of a job to DEMs",
     "Build the DEM of every scene of a job, or of the scene with this number, with all companions, and say "
     "which units are missing and how to compute them. A scene that is merged already is left as it is.",
     sdm_merge_options_table, sdm_command_merge},
    {"status", SDM_CMD_STATUS, 1, 1, "the job folder", "JOB [options]", "how far a job is",
     "Print for each scene of a job how many units are done, running, failed and missing, the last error, "
     "and the time left.",
     NULL, sdm_command_status},
    {"match", SDM_CMD_MATCH, 2, 2, "the left and the right image",
     "LEFT RIGHT -o DISPARITY.tif [options]\nl_%04d.png r_%04d.png -o d_%04d.tif [options]",
     "match a rectified pair: disparities of its left image",
     "Match two images whose rows are epipolar lines, or sequences of them. Writes for each pixel x of the "
     "left image the disparity d of its match, x_right = x_left - d. Any images that GDAL reads: 8-bit, grey "
     "or colour, or wider ones; nodata, masks and NaN are left out.",
     sdm_disparity_options, sdm_command_match},
    {"bench", SDM_CMD_BENCH, 0, 1, "", "[kernels | papers | curve | all] [options]",
     "time the kernels and the workloads of papers on this machine",
     "Time every kernel at every instruction set, the matching of pairs, and the workloads of the papers "
     "that this program follows, beside the figures that they publish. Reads no files.",
     sdm_bench_options, sdm_command_bench},
    {"devices", SDM_CMD_DEVICES, 0, 0, "", "[options]", "list what this machine can match on, and why not",
     "Print the instruction sets of the processor, the OpenCL platforms and devices and the CUDA devices "
     "that are here, each as --device names it, with what it can run and why not.",
     NULL, sdm_command_devices},
    {.name = NULL},
};

static volatile sig_atomic_t signalled; /* a signal may come before the context is open that it concerns */

/* The first signal asks to stop, the second ends at once. */
static void on_signal(int number)
{
    signalled = 1;
    sdm_stop();
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    (void)number;
}

static void install_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is a failed write, with its sentence */
    signal(SIGPIPE, SIG_IGN); /* a reader that leaves must not cost the DEM; the exit code tells */
}

static void CPL_STDCALL on_gdal_error(CPLErr kind, CPLErrorNum number, const char *text)
{
    (void)number;
    if (kind != CE_Debug)
        sdm_screen_log(CPLGetErrorHandlerUserData(), SDM_LOG_VERBOSE, 0, text);
}

/* Set GDAL up for the process: its options, its block cache within the memory budget, its messages to the screen.
 * Only the program does; the library restores what it changes. */
static void open_gdal(SdmCall *call)
{
    for (const char *const *entry = call->options.config; *entry; entry++) {
        const size_t n = strcspn(*entry, "=");
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)n, *entry);
        CPLSetConfigOption(name, *entry + n + 1);
    }
    CPLSetErrorHandlerEx(on_gdal_error, &call->screen);
    GDALSetCacheMax64(sdm_cache_bytes(call->options.memory_bytes));
    GDALAllRegister();
    sdm_hdf5_quiet();
}

/* Was JSON asked for, even if the line cannot be parsed? */
static bool wants_json(int argc, char *const *argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--log=json") == 0 ||
            (i + 1 < argc && strcmp(argv[i], "--log") == 0 && strcmp(argv[i + 1], "json") == 0))
            return true;
    return false;
}

static void set_defaults(SdmCall *call)
{
    sdm_options_default(&call->options);
    call->line = (SdmCommandLine){
        .name = call->command->name, .command = call->command->bit, .max = call->command->most};
    call->line.sets[0] = (SdmOptionSet){.table = sdm_option_table, .opts = &call->options};
    call->line.sets[1] = (SdmOptionSet){.table = call->command->own_table, .opts = &call->own};
    if (call->command->bit == SDM_CMD_COMPARE)
        call->own.compare = (SdmCompareOptions){.dem_vertical = "auto", .reference_vertical = "auto"};
    else if (call->command->bit == SDM_CMD_STACK)
        call->own.stack = (SdmStackOptions){.align = "z", .bias = "auto", .dem_vertical = "auto"};
    else if (call->command->bit == SDM_CMD_SIMULATE)
        sdm_simulate_default(&call->own.simulate);
    else if (call->command->bit == SDM_CMD_MATCH)
        sdm_disparity_default(&call->own.match);
    else if (call->command->bit == SDM_CMD_BENCH)
        sdm_bench_default(&call->own.bench);
    else if (call->command->bit != SDM_CMD_RUN && call->command->bit != SDM_CMD_INFO &&
             call->command->bit != SDM_CMD_STATUS && call->command->bit != SDM_CMD_DEVICES)
        sdm_job_options_default(&call->own.job);
}

/* Arguments -> options; opens the context of the call, in which a failure is told too. */
static SdmStatus read_arguments(SdmCall *call, int argc, char *const *argv)
{
    SdmStatus st = SDM_OK;
    TRY(sdm_open(&call->ctx, NULL));
    TRY(sdm_options_parse(call->ctx, &call->line, argc, argv));
    if (call->line.help)
        goto done;
    if (call->line.count < call->command->least) {
        st = sdm_fail(call->ctx, SDM_ERR_USAGE,
                      "found %d argument%s, expected %s; stereodem %s --help says more", call->line.count,
                      call->line.count == 1 ? "" : "s", call->command->wanted, call->command->name);
        goto done;
    }
    sdm_close(&call->ctx);
    TRY(sdm_open(&call->ctx, &call->options));
    if (signalled)
        sdm_cancel(call->ctx);
done:
    return st;
}

static SdmStatus execute(SdmCall *call)
{
    sdm_screen_open(&call->screen, call->command->name, &call->options);
    if (call->screen.json)
        call->summary = cJSON_CreateObject();
    sdm_set_sinks(call->ctx, sdm_screen_log, sdm_screen_progress, &call->screen);
    sdm_set_crash_hook(call->ctx, &sdm_crash_hook);
    if (call->options.threads > sdm_threads(call->ctx))
        sdm_log(call->ctx, SDM_LOG_VERBOSE, 0, "--threads %d: %d are used, four a processor",
                call->options.threads, sdm_threads(call->ctx));
    open_gdal(call);
    return call->command->run(call);
}

static void finish(SdmCall *call, SdmStatus st)
{
    sdm_screen_close(&call->screen);
    if (st != SDM_OK) {
        const char *const sentence = call->ctx ? sdm_error(call->ctx) : "out of memory";
        sdm_screen_error(&call->screen, st, *sentence ? sentence : sdm_status_name(st));
    }
    if (call->screen.json) {
        cJSON *const last = call->summary ? call->summary : cJSON_CreateObject();
        cJSON_AddStringToObject(last, "status", sdm_status_name(st));
        cJSON_AddNumberToObject(last, "exit_code", sdm_exit_code(st));
        sdm_screen_json(&call->screen, "summary", last);
    }
    CPLSetErrorHandler(CPLQuietErrorHandler);
    sdm_close(&call->ctx);
}

static int call_command(const SdmCommand *command, int argc, char *const *argv)
{
    SdmCall call = {.command = command};
    sdm_crash_guard(command->name);
    set_defaults(&call);
    sdm_screen_open(&call.screen, command->name, &call.options);
    call.screen.json = wants_json(argc, argv);
    SdmStatus st = read_arguments(&call, argc, argv);
    if (st == SDM_OK && call.line.help) {
        sdm_help_command(stdout, command);
        sdm_close(&call.ctx);
        return 0;
    }
    if (st == SDM_OK)
        st = execute(&call);
    finish(&call, st);
    return sdm_exit_code(st);
}

static int refuse_command(const char *word)
{
    const char *nearest = NULL;
    int best = 3;
    for (const SdmCommand *command = sdm_commands; command->name; command++) {
        const int edits = sdm_edit_distance(word, command->name);
        if (edits < best) {
            best = edits;
            nearest = command->name;
        }
    }
    fprintf(stderr, "stereodem: unknown command '%.100s'%s%s%s (stereodem --help lists all)\n", word,
            nearest ? ", did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    return 2;
}

static const SdmCommand *find_command(const char *name)
{
    for (const SdmCommand *command = sdm_commands; command->name; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

static int dispatch(int argc, char **argv)
{
    const char *const word = argc > 1 ? argv[1] : "";
    const bool help = strcmp(word, "help") == 0;
    if (argc < 2) {
        fprintf(stderr, "stereodem: no command given; stereodem --help lists all\n");
        return 2;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0) {
        sdm_help_version(stdout);
    } else if (strcmp(word, "help-man") == 0) { /* for the build: stereodem.1 */
        sdm_help_manual(stdout);
    } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (help && argc == 2)) {
        sdm_help_program(stdout);
    } else {
        const char *const name = help ? argv[2] : word;
        const SdmCommand *const command = find_command(name);
        if (!command)
            return refuse_command(name);
        if (!help)
            return call_command(command, argc - 1, argv + 1);
        sdm_help_command(stdout, command);
    }
    return 0;
}

/* GDAL may bring OpenBLAS along, whose threads look for room for ever where a limit of addresses leaves none;
 * exit() would wait for them. */
static int leave(int code)
{
    struct rlimit most;
    if (getrlimit(RLIMIT_AS, &most) == 0 && most.rlim_cur != RLIM_INFINITY)
        _exit(code);
    return code;
}

int main(int argc, char **argv)
{
    install_signals();
    const int code = dispatch(argc, argv);
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return leave(code);
    if (errno && errno != EPIPE)
        fprintf(stderr, "stereodem: cannot write to standard output: %s\n", strerror(errno));
    return leave(code ? code : 1);
}
