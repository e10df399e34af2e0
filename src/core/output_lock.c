/* The marker beside an output that says who writes it: place, process, start. */
// SPDX-License-Identifier: Apache-2.0
#include "core/output_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SILENT_S = 3600, UNHEARD_S = 30, WRITING_S = 10, ROUNDS = 8, TEXT = 320 };

/* A process: where its number counts (machine and, in a container, name space), its number, and when it
 * began. */
typedef struct Who {
    char place[160];
    long process;
    unsigned long long began; /* ticks since the machine started; 0 = unknown */
} Who;

/* Field 22 of /proc/PID/stat: tells a process from a later one of the same number. */
static unsigned long long began_at(long process)
{
    char path[64], text[1024];
    unsigned long long ticks = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    FILE *const f = fopen(path, "r");
    if (!f)
        return 0;
    const size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    const char *at = strrchr(text, ')'); /* the name before may hold anything */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at && sscanf(at, "%llu", &ticks) == 1 ? ticks : 0;
}

static Who myself(void)
{
    Who who = {.process = (long)getpid(), .began = began_at((long)getpid())};
    char host[80] = "", space[64] = "";
    if (gethostname(host, sizeof host - 1) != 0)
        snprintf(host, sizeof host, "unknown");
    if (readlink("/proc/self/ns/pid", space, sizeof space - 1) < 0)
        space[0] = '\0';
    for (char *c = host; *c; c++)
        *c = *c == ' ' || *c == '\n' ? '_' : *c;
    snprintf(who.place, sizeof who.place, "%s/%s", host, space);
    return who;
}

/* What the marker says, and when it was touched; false when there is none. */
static bool look(const char *path, char text[TEXT], Who *who, struct timespec *touched)
{
    struct stat s = {0};
    FILE *const f = fopen(path, "r");
    *who = (Who){.process = 0};
    if (!f)
        return false;
    const size_t n = fread(text, 1, TEXT - 1, f);
    if (fstat(fileno(f), &s) != 0)
        s.st_mtim.tv_sec = time(NULL);
    *touched = s.st_mtim;
    fclose(f);
    text[n] = '\0';
    if (sscanf(text, "%159s %ld %llu", who->place, &who->process, &who->began) != 3)
        who->process = 0;
    return true;
}

/* limit_s: silence after which a process of another machine is taken for gone. */
static bool is_gone(const Who *who, const Who *me, double silent_s, double limit_s)
{
    if (who->process <= 0) /* not written yet, or nothing that we wrote */
        return silent_s > WRITING_S;
    if (strcmp(who->place, me->place) != 0)
        return silent_s > limit_s;
    if (kill((pid_t)who->process, 0) != 0 && errno == ESRCH)
        return true;
    const unsigned long long began = began_at(who->process);
    return who->began && began && who->began != began;
}

/* Put a marker of a process that is gone out of the way; another that does the same may be faster. */
static void clear(const char *path, const char *text)
{
    char aside[4200], found[TEXT];
    Who who;
    struct timespec touched;
    snprintf(aside, sizeof aside, "%s-%ld", path, (long)getpid());
    if (rename(path, aside) != 0)
        return;
    if (look(aside, found, &who, &touched) && strcmp(found, text) != 0)
        (void)!link(aside, path); /* it was a new one by now: give it back */
    unlink(aside);
}

/* 0, then *made tells whether it is ours or was there already; else the errno that says why it cannot be
 * made.
 */
static int make(const char *path, const Who *me, bool *made)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    char text[TEXT];
    *made = false;
    if (fd < 0)
        return errno == EEXIST ? 0 : errno;
    const int n = snprintf(text, sizeof text, "%s %ld %llu\n", me->place, me->process, me->began);
    int why = write(fd, text, (size_t)n) != n ? errno : 0;
    if (close(fd) != 0 && !why)
        why = errno;
    if (why)
        unlink(path);
    *made = !why;
    return why;
}

static SdmStatus refuse(SdmContext *ctx, const char *path, const char *output, const Who *who, const Who *me,
                        double silent_s)
{
    if (who->process > 0 && strcmp(who->place, me->place) == 0)
        return sdm_fail(ctx, SDM_ERR_IO,
                        "%s is being written by another run, process %ld; wait until it is done, stop it, or "
                        "give another -o",
                        output, who->process);
    return sdm_fail(ctx, SDM_ERR_IO,
                    "%s is being written by another run, process %ld on %.*s, which gave a sign of life %.0f "
                    "min ago; wait until it is done, give another -o, or remove %s if that run is gone",
                    output, who->process, (int)strcspn(who->place, "/"), who->place, silent_s / 60.0, path);
}

SdmStatus sdm_output_lock_take(SdmContext *ctx, const char *output, SdmOutputLock *out)
{
    SdmStatus st = SDM_OK;
    const Who me = myself();
    Who who = {.process = 0};
    struct timespec touched;
    double silent_s = 0.0;
    char text[TEXT];
    out->held = false;
    TRY(sdm_format(ctx, out->path, sizeof out->path, "%s.part-owner", output));
    for (int i = 0; i < ROUNDS && !out->held; i++) {
        const int why = make(out->path, &me, &out->held);
        if (why)
            return sdm_fail(ctx, SDM_ERR_IO,
                            "%s cannot be written: its marker %s cannot be made (%s); make room, or give an "
                            "-o in a folder that can be written",
                            output, out->path, strerror(why));
        if (out->held || !look(out->path, text, &who, &touched))
            continue;
        silent_s = difftime(time(NULL), touched.tv_sec);
        if (!is_gone(&who, &me, silent_s, SILENT_S))
            break;
        clear(out->path, text);
    }
    if (!out->held)
        st = refuse(ctx, out->path, output, &who, &me, silent_s);
done:
    return st;
}

SdmStatus sdm_output_lock_wait(SdmContext *ctx, const char *path, const char *what, SdmOutputLock *out)
{
    SdmStatus st = SDM_OK;
    const Who me = myself();
    Who who = {.process = 0};
    struct timespec touched, before = {.tv_sec = -1};
    char text[TEXT];
    double heard_s = sdm_now_s();
    bool told = false;
    out->held = false;
    TRY(sdm_format(ctx, out->path, sizeof out->path, "%s", path));
    while (!out->held) {
        const int why = make(path, &me, &out->held);
        if (why)
            return sdm_fail(ctx, SDM_ERR_IO, "%s cannot be made: %s; make room, or let its folder be written",
                            path, strerror(why));
        if (out->held || !look(path, text, &who, &touched))
            continue;
        if (touched.tv_sec != before.tv_sec || touched.tv_nsec != before.tv_nsec)
            heard_s = sdm_now_s(); /* no clock of another machine is asked */
        before = touched;
        if (is_gone(&who, &me, sdm_now_s() - heard_s, UNHEARD_S)) {
            clear(path, text);
            continue;
        }
        if (!told)
            sdm_log(ctx, SDM_LOG_INFO, 0, "waiting while another process is at %s", what);
        told = true;
        TRY(sdm_check_stop(ctx));
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    }
done:
    return st;
}

void sdm_output_lock_touch(const SdmOutputLock *owner)
{
    if (owner->held)
        (void)utimensat(AT_FDCWD, owner->path, NULL, 0);
}

void sdm_output_lock_release(SdmOutputLock *owner)
{
    if (owner->held)
        unlink(owner->path);
    owner->held = false;
}
