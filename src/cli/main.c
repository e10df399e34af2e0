/* The program: signals, GDAL's set-up, and one call from its arguments to its exit code. */
// SPDX-License-Identifier: Apache-2.0
#include "cli/cli.h"
#include "core/file.h"
#include "core/machine.h"
#include "core/system.h"
#include "geo/gdal_scope.h"
#include "input/source.h"
#include "scene/scene.h"

#include <cpl_conv.h>
#include <cpl_error.h>
#include <errno.h>
#include <gdal.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Threads that wait for others sleep after a tenth of a millisecond, unless the user's environment says
 * otherwise.  By default OpenMP's threads spin for longer: 8 % of the processor time of a full scene on idle
 * cores, and half of it where other programs run.  If they sleep at once, as OMP_WAIT_POLICY=passive alone
 * asks, waking them takes 2 % of the wall time.  The runtime reads the environment in a constructor of its
 * own, which CMakeLists.txt links into the program for this: a constructor of the program runs after those of
 * shared libraries. */
__attribute__((constructor(101))) static void let_waiting_threads_sleep(void)
{
    if (getenv("OMP_WAIT_POLICY"))
        return;
    sdm_system_set("OMP_WAIT_POLICY", "passive");
    sdm_system_set("GOMP_SPINCOUNT", "2000"); /* gcc's runtime */
    sdm_system_set("KMP_BLOCKTIME", "100us"); /* clang's */
}

/* Keep freed memory for the next allocation.  By default the C library returns blocks of some 100 KB and more
 * to the system, which clears every page again. */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 8 << 20);
    mallopt(M_TRIM_THRESHOLD, 32 << 20);
#endif
}

static volatile sig_atomic_t signalled; /* a signal may come before the context is open */

/* The first signal asks to stop, the second INT or TERM ends at once.  Others may come again meanwhile: HUP
 * from the terminal and from the shell, XCPU every second. */
static void on_signal(int number)
{
    signalled = 1;
    sdm_stop();
    if (number != SIGINT && number != SIGTERM)
        return;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

static void CPL_STDCALL on_gdal_error(CPLErr kind, CPLErrorNum number, const char *text)
{
    (void)number;
    if (kind != CE_Debug)
        sdm_screen_log(CPLGetErrorHandlerUserData(), SDM_LOG_VERBOSE, 0, text);
}

/* GDAL reports a failure in one message; the HDF5 library prints 25 lines of its own beside it. */
static void quiet_hdf5(void)
{
    typedef int Report(int64_t stack, void *data);
    int (*set_report)(int64_t stack, Report * report, void *data);
    void *const found = sdm_system_symbol(NULL, "H5Eset_auto2");
    memcpy(&set_report, &found, sizeof found);
    if (found)
        set_report(0, NULL, NULL); /* H5E_DEFAULT: this thread's, which opens the files */
}

/* Set GDAL up for the process: its options, its block cache within the memory budget, its messages to the
 * screen.  Only the program does; the library restores what it changes. */
static void open_gdal(SdmCall *call)
{
    sdm_gdal_steady(CPLSetConfigOption);
    for (const char *const *entry = call->options.config; *entry; entry++) {
        const size_t n = strcspn(*entry, "=");
        char name[128];
        snprintf(name, sizeof name, "%.*s", (int)n, *entry);
        CPLSetConfigOption(name, *entry + n + 1);
    }
    CPLSetErrorHandlerEx(on_gdal_error, &call->screen);
    GDALSetCacheMax64(sdm_cache_bytes(call->options.memory_bytes));
    sdm_gdal_register();
    quiet_hdf5();
}

/* ---- --options FILE: a JSON object of names and values, or the report NAME.json of an earlier run -> the
 * options that the command line does not give, and inputs where it has none ---- */

enum { LARGEST = 64 << 20 };

/* The value as text, kept with the tree: [w, s, e, n] as "w,s,e,n"; NULL: an object, or no memory. */
static const char *text_of(cJSON *value)
{
    if (cJSON_IsObject(value) || value->valuestring)
        return cJSON_IsObject(value) ? NULL : value->valuestring;
    value->valuestring = cJSON_PrintUnformatted(value);
    for (char *c = value->valuestring; c && cJSON_IsArray(value) && *c; c++)
        *c = strchr("[]\"", *c) ? ' ' : *c;
    return value->valuestring;
}

/* Put before the sentence of a failure that --options met. */
static SdmStatus fail_in(SdmCall *call, SdmStatus st, const char *file)
{
    char why[1024];
    snprintf(why, sizeof why, "%s", sdm_error(call->ctx));
    return sdm_fail(call->ctx, st, "--options %s%s%.900s", file, *file ? ": " : "", why);
}

static SdmStatus take_value(SdmCall *call, const char *file, cJSON *value, bool is_report)
{
    SdmStatus st = SDM_OK;
    const SdmOptionSpec *const spec =
        sdm_option_find(call->line.sets, call->line.command, value->string + strspn(value->string, "-")).spec;
    const bool several = cJSON_IsArray(value) && spec && spec->type == SDM_OPT_KEY_VALUES;
    for (cJSON *item = several ? value->child : value; item; item = several ? item->next : NULL) {
        const bool none = cJSON_IsNull(item);
        const char *const text = none ? NULL : text_of(item);
        if (!text && !none)
            return sdm_fail(call->ctx, SDM_ERR_USAGE,
                            "--options %s: %s is neither a text, a number, true, false nor a list of these",
                            file, value->string);
        st = sdm_options_fill(call->ctx, &call->line, value->string, text, is_report);
        if (st != SDM_OK)
            return fail_in(call, st, file);
    }
    return st;
}

static void take_input(SdmCall *call, const cJSON *path)
{
    if (cJSON_IsString(path) && *path->valuestring && !strstr(path->valuestring, "***") &&
        call->line.count < call->line.max)
        call->line.positional[call->line.count++] = path->valuestring;
}

/* The DEMs of a stack, or the images of a run, where the report is of one. */
static void take_inputs(SdmCall *call, const cJSON *root)
{
    const bool is_stack = call->line.command == SDM_CMD_STACK;
    const cJSON *const of = cJSON_GetObjectItemCaseSensitive(root, is_stack ? "stack" : "scene"),
                       *view = NULL;
    if (call->line.command == SDM_CMD_COMPARE)
        return;
    take_input(call, cJSON_GetObjectItemCaseSensitive(of, "left"));
    take_input(call, cJSON_GetObjectItemCaseSensitive(of, "right"));
    cJSON_ArrayForEach(view, cJSON_GetObjectItemCaseSensitive(of, is_stack ? "dems" : "views"))
        take_input(call, cJSON_GetObjectItemCaseSensitive(view, "path"));
}

static SdmStatus read_options_file(SdmCall *call)
{
    const char *const file = call->options.options;
    SDM_OWNED char *text = NULL;
    size_t size;
    if (!file)
        return SDM_OK;
    const SdmStatus st = sdm_file_read(call->ctx, file, LARGEST, &text, &size);
    if (st != SDM_OK)
        return fail_in(call, st, "");
    call->file = cJSON_ParseWithOpts(text, NULL, true);
    cJSON *const given = cJSON_GetObjectItemCaseSensitive(call->file, "options"),
                 *const program = cJSON_GetObjectItemCaseSensitive(call->file, "program");
    const bool is_report = cJSON_IsObject(given) && cJSON_IsString(program);
    cJSON *const from = is_report ? given : call->file;
    if (!cJSON_IsObject(from))
        return sdm_fail(call->ctx, SDM_ERR_USAGE,
                        "--options %s: expected JSON, an object of names and values such as {\"tr\": 10}, or "
                        "NAME.json of an earlier run",
                        file);
    for (cJSON *value = from->child; value; value = value->next) {
        if (cJSON_GetObjectItemCaseSensitive(from, value->string) != value)
            return sdm_fail(call->ctx, SDM_ERR_USAGE, "--options %s: %s is given twice, expected once", file,
                            value->string);
        PASS(take_value(call, file, value, is_report));
    }
    if (is_report && call->line.count == 0)
        take_inputs(call, call->file);
    return SDM_OK;
}

/* ---- a call ---- */

/* True if the command line asks for JSON, even where it cannot be parsed. */
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
    SdmCommandValues usual;
    const SdmCommandOptions *const library = sdm_command_options(call->command->name);
    sdm_command_defaults(library, &usual);
    call->options = usual.common;
    memcpy(&call->own, &usual.own, sizeof usual.own);
    call->line = (SdmCommandLine){
        .name = call->command->name, .command = call->command->bit, .max = call->command->most};
    call->line.sets[0] = (SdmOptionSet){.table = sdm_option_table, .opts = &call->options};
    call->line.sets[1] = (SdmOptionSet){.table = call->command->own_table, .opts = &call->own};
    if (call->command->set_defaults)
        call->command->set_defaults(call);
}

/* Arguments -> options; opens the context of the call, which also holds the sentence of a failure. */
static SdmStatus read_arguments(SdmCall *call, int argc, char *const *argv)
{
    PASS(sdm_open(&call->ctx, NULL));
    PASS(sdm_options_parse(call->ctx, &call->line, argc, argv));
    if (call->line.help)
        return SDM_OK;
    PASS(read_options_file(call));
    if (call->line.count < call->command->least)
        return sdm_fail(call->ctx, SDM_ERR_USAGE, "found %d argument%s, expected %s; %s %s --help says more",
                        call->line.count, call->line.count == 1 ? "" : "s", call->command->wanted,
                        sdm_program.name, call->command->name);
    sdm_close(&call->ctx);
    PASS(sdm_open(&call->ctx, &call->options));
    if (signalled)
        sdm_cancel(call->ctx);
    return SDM_OK;
}

static SdmStatus execute(SdmCall *call)
{
    sdm_screen_open(&call->screen, call->command->name, &call->options);
    if (call->screen.json)
        call->summary = cJSON_CreateObject();
    sdm_set_log(call->ctx, sdm_screen_log, &call->screen);
    sdm_set_progress(call->ctx, sdm_screen_progress, &call->screen);
    if (call->options.threads > sdm_threads(call->ctx))
        sdm_log(call->ctx, SDM_LOG_VERBOSE, 0, "--threads %d: %d are used, four a processor",
                call->options.threads, sdm_threads(call->ctx));
    PASS(sdm_threads_check(call->ctx));
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
        SDM_JSON(last, SDM_FIELD("status", sdm_status_name(st)),
                 SDM_FIELD("exit_code", call->exit_code ? call->exit_code : sdm_exit_code(st)));
        sdm_screen_json(&call->screen, "summary", last);
    }
    CPLSetErrorHandler(CPLQuietErrorHandler);
    sdm_close(&call->ctx);
    cJSON_Delete(call->file);
}

static int call_command(const SdmCommand *command, int argc, char *const *argv)
{
    SdmCall call = {.command = command};
    set_defaults(&call);
    sdm_screen_open(&call.screen, command->name, &call.options);
    call.screen.json = wants_json(argc, argv);
    SdmStatus st = read_arguments(&call, argc, argv);
    if (st == SDM_OK && call.line.help) {
        if (call.screen.json)
            sdm_help_json(stdout, command);
        else
            sdm_help_command(stdout, command);
        sdm_close(&call.ctx);
        return 0;
    }
    if (st == SDM_OK)
        st = execute(&call);
    finish(&call, st);
    return call.exit_code ? call.exit_code : sdm_exit_code(st);
}

/* NULL: there is none, as a sentence says. */
static const SdmCommand *find_command(const char *word)
{
    const char *nearest = NULL;
    int best = 3;
    for (const SdmCommand *command = sdm_program.commands; command->name; command++) {
        const int edits = sdm_edit_distance(word, command->name);
        if (edits == 0)
            return command;
        if (edits < best) {
            best = edits;
            nearest = command->name;
        }
    }
    fprintf(stderr, "%s: unknown command '%.100s'%s%s%s (%s --help lists all)\n", sdm_program.name, word,
            nearest ? ", did you mean " : "", nearest ? nearest : "", nearest ? "?" : "", sdm_program.name);
    return NULL;
}

static int dispatch(int argc, char **argv)
{
    const char *const word = argc > 1 ? argv[1] : "";
    const bool help = strcmp(word, "help") == 0;
    if (argc < 2) {
        fprintf(stderr, "%s: no command given; %s --help lists all\n", sdm_program.name, sdm_program.name);
        return 2;
    }
    if (strcmp(word, "--version") == 0 || strcmp(word, "version") == 0) {
        sdm_help_version(stdout);
    } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (help && argc == 2)) {
        sdm_help_program(stdout);
    } else {
        const SdmCommand *const command = find_command(help ? argv[2] : word);
        if (!command)
            return 2;
        if (!help)
            return call_command(command, argc - 1, argv + 1);
        sdm_help_command(stdout, command);
    }
    return 0;
}

/* GDAL may load OpenBLAS, whose threads ask for memory for ever where addresses are limited (ulimit -v):
 * exit() would wait for them. */
static int leave(int code)
{
    if (sdm_system_limits_addresses())
        _exit(code);
    return code;
}

int main(int argc, char **argv)
{
    sdm_system_arguments(&argc, &argv);
    sdm_system_on_stop(on_signal);
    keep_freed_memory();
    const int code = dispatch(argc, argv);
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout))
        return leave(code);
    if (errno == 0) /* an earlier write failed, and why is forgotten: another one tells */
        (void)!write(STDOUT_FILENO, "\n", 1);
    if (errno && errno != EPIPE)
        fprintf(stderr, "%s: cannot write to standard output: %s\n", sdm_program.name, strerror(errno));
    return leave(code ? code : 1);
}
