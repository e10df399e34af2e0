/* Leases: exclusive files that are kept fresh. */
// SPDX-License-Identifier: Apache-2.0
#include "core/lease.h"
#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 8, TEXT = 320, STACK_BYTES = 1 << 17 };
static const struct timespec POLL = {.tv_nsec = 200000000};

struct SdmLease {
    char path[SDM_PATH_SIZE + 32], text[TEXT];
    pthread_t thread; /* renews it */
    bool has_thread, over;
    pthread_mutex_t mutex;
    pthread_cond_t end;
};

/* ---- holders ---- */

/* A process: where its number counts (machine and, in a container, name space), its number, and its start. */
typedef struct Holder {
    char place[160];
    long process;             /* 0: the file is not written yet, or nothing that we wrote */
    unsigned long long began; /* ticks since the machine started; 0 = unknown */
} Holder;

/* Field 22 of /proc/PID/stat: tells a process from a later one of the same number.  state: field 3, as it is where the
 * file cannot be read. */
static unsigned long long began_at(long process, char *state)
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
    if (at && at[1] == ' ')
        *state = at[2];
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at && sscanf(at, "%llu", &ticks) == 1 ? ticks : 0;
}

static Holder myself(void)
{
    char state = ' ';
    Holder me = {.process = (long)getpid(), .began = began_at((long)getpid(), &state)};
    char host[80] = "", space[64] = "";
    if (gethostname(host, sizeof host - 1) != 0)
        snprintf(host, sizeof host, "unknown");
    if (readlink("/proc/self/ns/pid", space, sizeof space - 1) < 0)
        space[0] = '\0';
    for (char *c = host; *c; c++)
        *c = *c == ' ' || *c == '\n' ? '_' : *c;
    snprintf(me.place, sizeof me.place, "%s/%s", host, space);
    return me;
}

static bool is_here(const Holder *h, const Holder *me)
{
    return h->process > 0 && strcmp(h->place, me->place) == 0;
}

/* The rule of liveness.  silent_s: for how long the file has not changed. */
static bool is_dead(const Holder *h, const Holder *me, double silent_s)
{
    if (!is_here(h, me))
        return silent_s > SDM_LEASE_SILENT_S;
    if (kill((pid_t)h->process, 0) != 0 && errno == ESRCH)
        return true;
    char state = ' ';
    const unsigned long long began = began_at(h->process, &state);
    if (state == 'Z' || state == 'X') /* ended, but nobody has waited for it */
        return true;
    return h->began && began && h->began != began;
}

/* ---- the file ---- */

typedef struct Look {
    char text[TEXT];
    Holder holder;
    struct timespec changed;
} Look;

/* What the file says now; false when there is none.  Opened anew each time: a network file system asks its
 * server then. */
static bool look_at(const char *path, Look *out)
{
    struct stat s = {0};
    FILE *const f = fopen(path, "r");
    Holder *const h = &out->holder;
    *h = (Holder){.process = 0};
    if (!f)
        return false;
    const size_t n = fread(out->text, 1, TEXT - 1, f);
    if (fstat(fileno(f), &s) != 0)
        s.st_mtim.tv_sec = time(NULL);
    fclose(f);
    out->changed = s.st_mtim;
    out->text[n] = '\0';
    if (sscanf(out->text, "%159s %ld %llu", h->place, &h->process, &h->began) != 3)
        h->process = 0;
    return true;
}

static double seconds_of(struct timespec t)
{
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The clock of the file system, by a file that is made and removed. */
static double clock_beside(const char *path)
{
    char name[SDM_PATH_SIZE + 96];
    struct stat s;
    double now = (double)time(NULL);
    if (sdm_file_temporary_name(NULL, path, name, sizeof name) != SDM_OK)
        return now;
    const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return now;
    if (fstat(fd, &s) == 0)
        now = seconds_of(s.st_mtim);
    close(fd);
    unlink(name);
    return now;
}

double sdm_lease_clock_s(const char *folder)
{
    char path[SDM_PATH_SIZE + 32];
    snprintf(path, sizeof path, "%.*s/clock", SDM_PATH_SIZE, folder);
    return clock_beside(path);
}

bool sdm_lease_is_live(const char *path, double now_s)
{
    Look seen;
    const Holder me = myself();
    return look_at(path, &seen) && !is_dead(&seen.holder, &me, now_s - seconds_of(seen.changed));
}

/* Put the file of a dead lease out of the way; another process that does the same may be faster. */
static void clear(const char *path, const char *text)
{
    char away[SDM_PATH_SIZE + 64];
    Look found;
    snprintf(away, sizeof away, "%s-%ld", path, (long)getpid());
    if (rename(path, away) != 0)
        return;
    if (look_at(away, &found) && strcmp(found.text, text) != 0)
        (void)!link(away, path); /* it was a new one by now: give it back */
    unlink(away);
}

/* Make the file exclusively.  0, then *made tells whether it is ours or was there already; else the errno
 * that says why it cannot be made. */
static int make(const char *path, const char *text, bool *made)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    const ssize_t n = (ssize_t)strlen(text);
    *made = false;
    if (fd < 0)
        return errno == EEXIST ? 0 : errno;
    int why = write(fd, text, (size_t)n) != n ? (errno ? errno : ENOSPC) : 0;
    if (close(fd) != 0 && !why)
        why = errno;
    if (why)
        unlink(path);
    *made = !why;
    return why;
}

/* ---- a lease that is held ---- */

static void *renew(void *user)
{
    SdmLease *const l = user;
    pthread_mutex_lock(&l->mutex);
    while (!l->over) {
        struct timespec next;
        clock_gettime(CLOCK_MONOTONIC, &next); /* goes on where the clock of the day is set back */
        next.tv_sec += SDM_LEASE_PERIOD_S;
        if (pthread_cond_timedwait(&l->end, &l->mutex, &next) == ETIMEDOUT && !l->over)
            (void)utimensat(AT_FDCWD, l->path, NULL, 0); /* NULL: the time of the server */
    }
    pthread_mutex_unlock(&l->mutex);
    return NULL;
}

static void start_thread(SdmLease *l)
{
    pthread_condattr_t clock;
    pthread_attr_t small;
    pthread_mutex_init(&l->mutex, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&l->end, &clock);
    pthread_condattr_destroy(&clock);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK_BYTES);
    /* without a thread, only other places take the lease for dead */
    l->has_thread = pthread_create(&l->thread, &small, renew, l) == 0;
    pthread_attr_destroy(&small);
}

/* A lease that is not held yet. */
static SdmStatus prepare(SdmContext *ctx, const char *path, const char *end, const Holder *me, SdmLease **out)
{
    SdmStatus st = SDM_OK;
    SdmLease *l = NULL;
    *out = NULL;
    TRY(sdm_alloc(NULL, &l, 1, sizeof *l, "a lease"));
    TRY(sdm_format(ctx, l->path, sizeof l->path, "%s%s", path, end));
    snprintf(l->text, sizeof l->text, "%s %ld %llu\n", me->place, me->process, me->began);
    *out = l;
    l = NULL;
done:
    sdm_free(&l);
    return st == SDM_ERR_MEMORY ? sdm_fail(ctx, st, "out of memory: a lease") : st;
}

const char *sdm_lease_path(const SdmLease *lease)
{
    return lease->path;
}

void sdm_lease_release(SdmLease **lease)
{
    SdmLease *const l = lease ? *lease : NULL;
    Look found;
    if (!l)
        return;
    if (l->has_thread) {
        pthread_mutex_lock(&l->mutex);
        l->over = true;
        pthread_cond_signal(&l->end);
        pthread_mutex_unlock(&l->mutex);
        pthread_join(l->thread, NULL);
    }
    pthread_cond_destroy(&l->end);
    pthread_mutex_destroy(&l->mutex);
    if (look_at(l->path, &found) && strcmp(found.text, l->text) == 0) /* not when it was taken over */
        unlink(l->path);
    sdm_free(lease);
}

/* ---- take ---- */

static SdmStatus refuse(SdmContext *ctx, const SdmLease *l, const char *output, const Look *seen,
                        const Holder *me, double silent_s)
{
    const Holder *const h = &seen->holder;
    if (is_here(h, me))
        return sdm_fail(ctx, SDM_ERR_IO,
                        "%s is being written by another run, process %ld; wait until it is done, stop it, or "
                        "give another -o",
                        output, h->process);
    return sdm_fail(
        ctx, SDM_ERR_IO,
        "%s is being written by another run, process %ld on %.*s, which gave a sign of life %.0f s "
        "ago; wait until it is done, give another -o, or remove %s if that run is gone",
        output, h->process, (int)strcspn(h->place, "/"), h->place, silent_s, l->path);
}

/* Take the lease unless it is alive.  0 or an errno, as make(); *seen, *silent_s: whose it is. */
static int take(SdmLease *l, const Holder *me, bool *held, Look *seen, double *silent_s)
{
    int why = 0;
    *held = false;
    for (int i = 0; i < ROUNDS && !*held && !why; i++) {
        why = make(l->path, l->text, held);
        if (why || *held || !look_at(l->path, seen))
            continue;
        *silent_s = clock_beside(l->path) - seconds_of(seen->changed);
        if (!is_dead(&seen->holder, me, *silent_s))
            break;
        clear(l->path, seen->text);
    }
    return why;
}

SdmStatus sdm_lease_take_output(SdmContext *ctx, const char *output, SdmLease **out)
{
    SdmStatus st = SDM_OK;
    const Holder me = myself();
    SdmLease *l = NULL;
    Look seen = {.text = ""};
    double silent_s = 0.0;
    bool held;
    *out = NULL;
    TRY(prepare(ctx, output, ".part-owner", &me, &l));
    const int why = take(l, &me, &held, &seen, &silent_s);
    if (why)
        st =
            sdm_fail(ctx, SDM_ERR_IO,
                     "%s cannot be written: its marker %s cannot be made (%s); make room, or give an -o in a "
                     "folder that can be written",
                     output, l->path, strerror(why));
    else if (!held)
        st = refuse(ctx, l, output, &seen, &me, silent_s);
    TRY(st);
    start_thread(l);
    *out = l;
    l = NULL;
done:
    sdm_free(&l);
    return st;
}

SdmLease *sdm_lease_announce(const char *path)
{
    const Holder me = myself();
    SdmLease *l = NULL;
    Look seen;
    double silent_s;
    bool held = false;
    if (prepare(NULL, path, "", &me, &l) != SDM_OK)
        return NULL;
    if (take(l, &me, &held, &seen, &silent_s) == 0 && held)
        start_thread(l);
    else
        sdm_free(&l);
    return l;
}

/* For how long a file that is looked at repeatedly has not changed, by the clock of this process alone. */
typedef struct Watch {
    struct timespec changed;
    double heard_s;
    bool seen;
} Watch;

static double silence_of(Watch *w, const Look *now)
{
    if (!w->seen || now->changed.tv_sec != w->changed.tv_sec || now->changed.tv_nsec != w->changed.tv_nsec)
        w->heard_s = sdm_now_s();
    w->changed = now->changed;
    w->seen = true;
    return sdm_now_s() - w->heard_s;
}

SdmStatus sdm_lease_wait(SdmContext *ctx, const char *path, const char *what, SdmLease **out)
{
    SdmStatus st = SDM_OK;
    const Holder me = myself();
    SdmLease *l = NULL;
    Watch watch = {.seen = false};
    Look seen;
    bool held = false, told = false;
    *out = NULL;
    TRY(prepare(ctx, path, "", &me, &l));
    while (!held) {
        const int why = make(path, l->text, &held);
        if (why) {
            st = sdm_fail(ctx, SDM_ERR_IO, "%s cannot be made: %s; make room, or let its folder be written",
                          path, strerror(why));
            goto done;
        }
        if (held)
            break;
        if (look_at(path, &seen)) {
            if (is_dead(&seen.holder, &me, silence_of(&watch, &seen))) {
                clear(path, seen.text);
            } else if (!told) {
                sdm_log(ctx, SDM_LOG_INFO, 0, "waiting while another process is at %s", what);
                told = true;
            }
        }
        TRY(sdm_check_stop(ctx)); /* also where the file can neither be read nor removed */
        nanosleep(&POLL, NULL);
    }
    start_thread(l);
    *out = l;
    l = NULL;
done:
    sdm_free(&l);
    return st;
}

SdmStatus sdm_lease_wait_result(SdmContext *ctx, const char *path, const char *result, double wait_s,
                                int64_t order)
{
    SdmStatus st = SDM_OK;
    const Holder me = myself();
    const double start = sdm_now_s(), turn_s = 0.5 * (double)(order < 10 ? order : 10);
    Watch watch = {.seen = false};
    Look seen;
    bool told = false;
    for (;;) {
        const double waited_s = sdm_now_s() - start;
        const bool there = look_at(path, &seen);
        if (access(result, F_OK) == 0 || waited_s >= wait_s)
            break;
        if (there ? is_dead(&seen.holder, &me, silence_of(&watch, &seen)) : watch.seen || waited_s >= turn_s)
            break;
        if (there && !told)
            sdm_log(ctx, SDM_LOG_INFO, 0, "waiting while another task prepares the scene");
        told = told || there;
        TRY(sdm_check_stop(ctx));
        nanosleep(&POLL, NULL);
    }
done:
    return st;
}
