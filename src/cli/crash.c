/* A library that a file's content brings down (HDF4's reads what tables say, unchecked) gets its sentence,
 * too. */
// SPDX-License-Identifier: Apache-2.0
#define _DEFAULT_SOURCE /* sigaltstack */
#include "cli/cli.h"
#include "core/core.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

/* GDAL tells its failures in one message, but a damaged file lets the library print 25 lines beside it. */
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

#ifdef __SANITIZE_ADDRESS__ /* whose report says more */

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

/* Only calls that are safe in a signal handler.  Not while a file is read: the default action, by coming
 * back. */
static void on_crash(int number)
{
    const char *file, *folder;
    (void)number;
    if (!sdm_reading[0])
        return;
    say("stereodem ");
    say(running);
    say(": ");
    say(sdm_reading);
    say(": the library that reads it crashed on what is in it; the file is damaged, fetch it again\n");
    sdm_crash_leftover(&file, &folder);
    unlink(file);
    rmdir(folder);
    _exit(1);
}

void sdm_crash_guard(const char *command)
{
    static const int number[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    static char stack[64 << 10]; /* the other one may have run over */
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
