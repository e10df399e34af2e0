/* A crash inside a library that reads a damaged file -> a sentence and exit code 1 (HDF4's library trusts the
 * offsets that a file holds). */
// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE /* sigaltstack */
#include "cli/cli.h"
#include "core/core.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* GDAL reports a failure in one message; the HDF5 library prints 25 lines of its own beside it. */
void sdm_hdf5_quiet(void)
{
    typedef int Report(int64_t stack, void *data);
    int (*set_report)(int64_t stack, Report *report, void *data);
    void *const program = dlopen(NULL, RTLD_LAZY); /* with all the libraries that it was started with */
    void *const found = program ? dlsym(program, "H5Eset_auto2") : NULL;
    memcpy(&set_report, &found, sizeof found);
    if (found)
        set_report(0, NULL, NULL); /* H5E_DEFAULT: this thread's, which opens the files */
    if (program)
        dlclose(program);
}

/* What this thread reads, "" = nothing, and how deep its calls are nested. */
static __thread char reading[1024];
static __thread int depth;
static char leftover[2][4096]; /* a file and a folder; not on the stack, which a crash may have run over */

static void note_reading(const char *input)
{
    depth += input ? 1 : -1;
    if (input && depth == 1)
        snprintf(reading, sizeof reading, "%s", input);
    else if (depth == 0)
        reading[0] = '\0';
}

static void note_leftover(const char *file, const char *folder)
{
#pragma omp critical(sdm_leftover)
    {
        snprintf(leftover[0], sizeof leftover[0], "%s", file ? file : "");
        snprintf(leftover[1], sizeof leftover[1], "%s", folder ? folder : "");
    }
}

const SdmCrashHook sdm_crash_hook = {note_reading, note_leftover};

#ifdef __SANITIZE_ADDRESS__ /* the sanitizer's report says more */

void sdm_crash_guard(const char *command)
{
    (void)command;
}

#else

static const char *running = "";

static void say(const char *text)
{
    if (write(STDERR_FILENO, text, strlen(text)) < 0)
        return;
}

/* Only calls that are safe in a signal handler.  When no file is being read it returns, and the default
 * action of the signal follows. */
static void on_crash(int number)
{
    (void)number;
    if (!reading[0])
        return;
    say(sdm_program.name);
    say(" ");
    say(running);
    say(": ");
    say(reading);
    say(": the library that reads it crashed on what is in it; the file is damaged, fetch it again\n");
    unlink(leftover[0]);
    rmdir(leftover[1]);
    _exit(1);
}

void sdm_crash_guard(const char *command)
{
    static const int number[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static char stack[64 << 10]; /* stack of the handler: the crash may be an overflow of the thread's own */
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = on_crash, .sa_flags = (int)(SA_ONSTACK | SA_RESETHAND)};
    running = command;
    sigemptyset(&action.sa_mask);
    if (sigaltstack(&other, NULL) != 0)
        return;
    for (size_t i = 0; i < sizeof number / sizeof *number; i++)
        sigaction(number[i], &action, NULL);
}

#endif
