/* Leases: exclusive files that are kept fresh. */
// SPDX-License-Identifier: Apache-2.0
#include "core/lease.h"
#include "core/file.h"
#include "core/system.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 8, LOOKS = 5, TEXT = 320, STACK_BYTES = 1 << 17 };
static const struct timespec POLL = {.tv_nsec = 200000000};

struct SdmLease {
    char path[SDM_PATH_SIZE + 32], text[TEXT];
    pthread_t thread; /* renews it */
    bool has_thread, over;
    bool lost; /* another process took it over, or its file is gone */
    pthread_mutex_t mutex;
    pthread_cond_t end;
};

/* ---- holders ---- */

/* A process: where its number counts (machine, name space in a container, boot), its number, and its
 * start. */
typedef struct Holder {
    char place[160];
    long process;             /* 0: the file is not written yet, or nothing that we wrote */
    unsigned long long began; /* ticks since the machine started; 0 = unknown */
} Holder;

static Holder myself(void)
{
    char state = ' ';
    Holder me = {.process = (long)getpid(), .began = sdm_system_began((long)getpid(), &state)};
    sdm_system_place(me.place, sizeof me.place);
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
    if (sdm_system_is_gone(h->process))
        return true;
    char state = ' ';
    const unsigned long long began = sdm_system_began(h->process, &state);
    if (state == 'Z' || state == 'X') /* ended, but its parent has not waited for it */
        return true;
    return h->began && began && h->began != began;
}

/* ---- the file ---- */

typedef struct Look {
    char text[TEXT];
    Holder holder;
    struct timespec changed;
} Look;

/* Read the file.  Returns 0, ENOENT when there is none, or the errno of a failed read.  The file is opened
 * anew each time: a network file system asks its server then.  own: renew the file when this is its text;
 * NULL: never. */
static int look_at(const char *path, const char *own, Look *out)
{
    struct stat s = {0};
    FILE *const f = fopen(path, "r");
    Holder *const h = &out->holder;
    *h = (Holder){.process = 0};
    if (!f)
        return errno;
    const size_t n = fread(out->text, 1, TEXT - 1, f);
    const int why = ferror(f) ? EIO : 0;
    out->changed = (struct timespec){.tv_sec = time(NULL)};
    if (fstat(fileno(f), &s) == 0)
        out->changed = sdm_system_changed(&s);
    out->text[n] = '\0';
    if (own && strcmp(out->text, own) == 0)
        (void)sdm_system_touch(fileno(f)); /* of this very file */
    fclose(f);
    if (sscanf(out->text, "%159s %ld %llu", h->place, &h->process, &h->began) != 3)
        h->process = 0;
    return why;
}

static bool is_same(const Look *a, const Look *b)
{
    return strcmp(a->text, b->text) == 0 && a->changed.tv_sec == b->changed.tv_sec &&
           a->changed.tv_nsec == b->changed.tv_nsec;
}

static double seconds_of(struct timespec t)
{
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The clock of the file system, by a file that is made and removed; this machine's where none can be. */
static double clock_beside(const char *path)
{
    char name[SDM_PATH_SIZE + 96];
    struct stat s;
    double now_s = (double)time(NULL);
    const bool named = sdm_file_temporary_name(NULL, path, name, sizeof name) == SDM_OK;
    const int fd = named ? sdm_system_create(name) : -1;
    if (fd < 0)
        return now_s;
    if (fstat(fd, &s) == 0)
        now_s = seconds_of(sdm_system_changed(&s));
    close(fd);
    unlink(name);
    return now_s;
}

/* Undo the rename.  A new file that another process has made meanwhile stays. */
static int give_back(const char *away, const char *path)
{
    if (sdm_system_link(away, path) != 0 && errno != EEXIST)
        return sdm_system_rename(away, path) == 0 ? 0 : errno; /* a file system without hard links */
    unlink(away);
    return 0;
}

/* Remove the file of a dead lease.  Returns 0, also when it was renewed or removed meanwhile; else errno. */
static int take_away(const char *path, const Look *dead)
{
    char away[SDM_PATH_SIZE + 96];
    Look found;
    int why = look_at(path, NULL, &found);
    if (why || !is_same(&found, dead))
        return why == ENOENT ? 0 : why;
    if (sdm_file_temporary_name(NULL, path, away, sizeof away) != SDM_OK)
        return ENAMETOOLONG;
    if (sdm_system_rename(path, away) != 0)
        return errno == ENOENT ? 0 : errno;
    why = look_at(away, NULL, &found);
    if (why == ENOENT)
        return 0;
    if (why || !is_same(&found, dead))
        return give_back(away, path);
    return unlink(away) == 0 || errno == ENOENT ? 0 : errno;
}

/* Make the file exclusively.  Returns 0 or errno; *made: false where the file was there already. */
static int make(const char *path, const char *text, bool *made)
{
    const int fd = sdm_system_create(path);
    const ssize_t n = (ssize_t)strlen(text);
    *made = false;
    if (fd < 0)
        return errno == EEXIST ? 0 : errno;
    int why = write(fd, text, (unsigned)n) != n ? (errno ? errno : ENOSPC) : 0;
    if (close(fd) != 0 && !why)
        why = errno;
    if (why)
        unlink(path);
    *made = !why;
    return why;
}

/* ---- a lease that is held ---- */

/* Renew the file if it is still ours.  Returns 0; ENOENT: no file; EBUSY: *seen is another process's; else
 * the errno of a failed read. */
static int renew_once(const SdmLease *l, Look *seen)
{
    for (int i = 0; i < 2; i++) { /* again with the new time stamp, which is no dead process's */
        const int why = look_at(l->path, l->text, seen);
        if (why)
            return why;
        if (strcmp(seen->text, l->text) != 0)
            return EBUSY;
    }
    return 0;
}

static void *renew(void *user)
{
    SdmLease *const l = user;
    Look seen;
    pthread_mutex_lock(&l->mutex);
    while (!l->over && !l->lost) {
        struct timespec next;
        clock_gettime(CLOCK_MONOTONIC, &next); /* goes on where the clock of the day is set back */
        next.tv_sec += SDM_LEASE_PERIOD_S;
        if (pthread_cond_timedwait(&l->end, &l->mutex, &next) == ETIMEDOUT && !l->over)
            l->lost = renew_once(l, &seen) == EBUSY;
    }
    pthread_mutex_unlock(&l->mutex);
    return NULL;
}

/* Returns 0 or errno. */
static int start_thread(SdmLease *l)
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
    const int why = pthread_create(&l->thread, &small, renew, l);
    l->has_thread = why == 0;
    pthread_attr_destroy(&small);
    return why;
}

const char *sdm_lease_path(const SdmLease *lease)
{
    return lease->path;
}

/* Fail with the reason for which the lease was lost. */
static SdmStatus tell_lost(SdmContext *ctx, const SdmLease *l, const Look *seen)
{
    const Holder *const h = &seen->holder;
    if (h->process > 0)
        return sdm_fail(
            ctx, SDM_ERR_IO,
            "%s is held by another run now, process %ld on %.*s, which took it over while this one gave no "
            "sign of life for %d s (suspended, or cut off from the file system); this one stops and "
            "leaves the files to that run",
            l->path, h->process, (int)strcspn(h->place, "/"), h->place, SDM_LEASE_SILENT_S);
    return sdm_fail(
        ctx, SDM_ERR_IO,
        "%s was removed while this run worked: another run may have taken over and finished; this one stops, "
        "give the same command again",
        l->path);
}

SdmStatus sdm_lease_check(SdmContext *ctx, SdmLease *l)
{
    Look seen = {.text = ""};
    if (!l)
        return SDM_OK;
    pthread_mutex_lock(&l->mutex);
    int why = renew_once(l, &seen);
    for (int i = 0; why == ENOENT && i < LOOKS; i++) { /* a process that judges it may have renamed it:
                                                        * take_away() */
        nanosleep(&POLL, NULL);
        why = renew_once(l, &seen);
    }
    l->lost = l->lost || why == EBUSY || why == ENOENT;
    const bool lost = l->lost;
    pthread_mutex_unlock(&l->mutex);
    if (lost)
        return tell_lost(ctx, l, &seen);
    if (why)
        return sdm_fail(
            ctx, SDM_ERR_IO,
            "%s cannot be read: %s; without it nothing tells whether another run has taken over, so this "
            "one stops; give the same command again",
            l->path, strerror(why));
    return SDM_OK;
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
        pthread_cond_destroy(&l->end);
        pthread_mutex_destroy(&l->mutex);
    }
    /* not when it was taken over */
    if (look_at(l->path, l->text, &found) == 0 && strcmp(found.text, l->text) == 0)
        unlink(l->path);
    sdm_free(lease);
}

/* ---- take ---- */

static SdmStatus refuse(SdmContext *ctx, const char *output, const Look *seen, double silent_s)
{
    const Holder *const h = &seen->holder;
    const Holder me = myself();
    if (is_here(h, &me))
        return sdm_fail(ctx, SDM_ERR_IO,
                        "%s is being written by another run, process %ld; wait until it is done, stop it, or "
                        "give another -o",
                        output, h->process);
    return sdm_fail(
        ctx, SDM_ERR_IO,
        "%s is being written by another run, process %ld on %.*s, which gave a sign of life %.0f s "
        "ago; wait until it is done, give another -o, or, if that run is gone, give the same command again "
        "after %.0f s (or remove %s.part-owner)",
        output, h->process, (int)strcspn(h->place, "/"), h->place, silent_s,
        ceil(SDM_LEASE_SILENT_S + 1.0 - silent_s), output);
}

/* A lease that another process may have. */
typedef struct Watch {
    Look seen;
    double heard_s, silent_s; /* when it changed last; for how long it has not changed */
    bool looked, held;        /* held: it is ours */
} Watch;

/* Set a time stamp that lies in the future to now.  A living holder renews it within seconds. */
static void set_back(const char *path)
{
    FILE *const f = fopen(path, "r");
    if (f) {
        (void)sdm_system_touch(fileno(f));
        fclose(f);
    }
}

/* Measure for how long the file has not changed: at first by the clock of the file system, then by that of
 * this process alone.  Returns 0 or the errno of look_at(). */
static int look_again(const char *path, Watch *w)
{
    const struct timespec before = w->seen.changed;
    const int why = look_at(path, NULL, &w->seen);
    const struct timespec now = w->seen.changed;
    if (why)
        return why;
    if (!w->looked) {
        const double now_s = clock_beside(path);
        if (now_s - seconds_of(now) < -SDM_LEASE_PERIOD_S) /* no clock of this file system's: from now on it
                                                            * counts */
            set_back(path);
        w->heard_s = sdm_now_s() - fmax(now_s - seconds_of(now), 0.0);
    } else if (now.tv_sec != before.tv_sec || now.tv_nsec != before.tv_nsec) {
        w->heard_s = sdm_now_s();
    }
    w->looked = true;
    w->silent_s = sdm_now_s() - w->heard_s;
    return 0;
}

/* Take the lease unless it is alive. */
static SdmStatus try_take(SdmContext *ctx, const SdmLease *l, Watch *w)
{
    const Holder me = myself();
    for (int i = 0; i < ROUNDS; i++) {
        int why = make(l->path, l->text, &w->held);
        if (why)
            return sdm_fail(ctx, SDM_ERR_IO,
                            "%.*s cannot be written: its folder takes no new file (%s); make room, or give "
                            "an -o in another folder",
                            (int)(strlen(l->path) - strlen(".part-owner")), l->path, strerror(why));
        if (w->held)
            return SDM_OK;
        why = look_again(l->path, w);
        if (!why && !is_dead(&w->seen.holder, &me, w->silent_s))
            return SDM_OK;
        w->looked = false;
        if (!why)
            why = take_away(l->path, &w->seen);
        if (why && why != ENOENT)
            return sdm_fail(
                ctx, SDM_ERR_IO,
                "%s was left by a process that is gone, and cannot be taken away: %s; remove it, or let its "
                "folder be written",
                l->path, strerror(why));
    }
    return SDM_OK;
}

/* Wait until the lease is ours, or as long as sdm_lease_wait_output() says. */
static SdmStatus take(SdmContext *ctx, const char *output, const char *what, double wait_s, Watch *w,
                      SdmLease **out)
{
    const Holder me = myself();
    const double start = sdm_now_s();
    SDM_CLOSED_BY(sdm_lease_release) SdmLease *l = NULL;
    bool told = false;
    *out = NULL;
    *w = (Watch){.held = false};
    if (sdm_alloc(NULL, &l, 1, sizeof *l, "a lease") != SDM_OK)
        return sdm_fail(ctx, SDM_ERR_MEMORY, "out of memory: a lease");
    snprintf(l->text, sizeof l->text, "%s %ld %llu %016llx\n", me.place, me.process, me.began,
             (unsigned long long)sdm_file_draw());
    PASS(sdm_format(ctx, l->path, sizeof l->path, "%s.part-owner", output));
    for (;;) {
        PASS(try_take(ctx, l, w));
        if (w->held)
            break;
        if (isfinite(wait_s) && (sdm_now_s() - start >= wait_s || w->silent_s > SDM_LEASE_SILENT_S))
            return SDM_OK;
        if (!told)
            sdm_log(ctx, SDM_LOG_INFO, 0, "waiting while another process is at %s", what);
        told = true;
        PASS(sdm_check_stop(ctx));
        nanosleep(&POLL, NULL);
    }
    const int why = start_thread(l);
    if (why)
        return sdm_fail(ctx, SDM_ERR_IO,
                        "%s cannot be renewed: no thread can be started (%s); allow more processes or memory "
                        "and give the same command again",
                        l->path, strerror(why));
    *out = l;
    l = NULL;
    return SDM_OK;
}

SdmStatus sdm_lease_wait_output(SdmContext *ctx, const char *output, const char *what, double wait_s,
                                SdmLease **out)
{
    Watch w;
    return take(ctx, output, what, wait_s, &w, out);
}

SdmStatus sdm_lease_take_output(SdmContext *ctx, const char *output, SdmLease **out)
{
    Watch w;
    const SdmStatus st = take(ctx, output, "", 0.0, &w, out);
    return st != SDM_OK || *out ? st : refuse(ctx, output, &w.seen, w.silent_s);
}
