/* Who is at work on what, told through a file that changes: no clocks of other machines, no locks. */
// SPDX-License-Identifier: Apache-2.0
#include "job/job.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const double PERIOD_S = 5.0; /* between beats */
static const double SILENT_S = 30.0; /* without one: whoever it was has died */

struct SdmHeartbeat {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t end;
    bool over, keep; /* keep: the file is another's, only its time stamp changes */
    char path[SDM_PATH_SIZE];
};

static void beat_once(const char *path, unsigned count)
{
    char text[64];
    const int n = snprintf(text, sizeof text, "%ld %u\n", (long)getpid(), count);
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    if (write(fd, text, (size_t)n) != n)
        (void)errno; /* a full disk: the unit's own file will tell */
    close(fd);
}

static void beat_again(const SdmHeartbeat *b, unsigned count)
{
    if (b->keep)
        (void)utimensat(AT_FDCWD, b->path, NULL, 0);
    else
        beat_once(b->path, count);
}

static void *beat_on(void *user)
{
    SdmHeartbeat *const b = user;
    pthread_mutex_lock(&b->mutex);
    for (unsigned count = 1; !b->over; count++) {
        struct timespec next;
        clock_gettime(CLOCK_MONOTONIC, &next); /* goes on where the clock of the day is set back */
        next.tv_sec += (time_t)PERIOD_S;
        if (pthread_cond_timedwait(&b->end, &b->mutex, &next) == ETIMEDOUT && !b->over)
            beat_again(b, count);
    }
    pthread_mutex_unlock(&b->mutex);
    return NULL;
}

static SdmHeartbeat *begin(const char *path, bool keep)
{
    SdmHeartbeat *const b = calloc(1, sizeof *b);
    pthread_condattr_t clock;
    if (!b || strlen(path) >= sizeof b->path) {
        free(b);
        return NULL;
    }
    memcpy(b->path, path, strlen(path) + 1);
    b->keep = keep;
    pthread_mutex_init(&b->mutex, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&b->end, &clock);
    pthread_condattr_destroy(&clock);
    beat_again(b, 0);
    if (pthread_create(&b->thread, NULL, beat_on, b) == 0)
        return b;
    if (!keep)
        unlink(path);
    free(b);
    return NULL;
}

SdmHeartbeat *sdm_heartbeat_begin(const char *path)
{
    return begin(path, false);
}

SdmHeartbeat *sdm_heartbeat_keep(const char *path)
{
    return begin(path, true);
}

void sdm_heartbeat_end(SdmHeartbeat **out)
{
    SdmHeartbeat *const b = out ? *out : NULL;
    if (!b)
        return;
    pthread_mutex_lock(&b->mutex);
    b->over = true;
    pthread_cond_signal(&b->end);
    pthread_mutex_unlock(&b->mutex);
    pthread_join(b->thread, NULL);
    pthread_cond_destroy(&b->end);
    pthread_mutex_destroy(&b->mutex);
    if (!b->keep)
        unlink(b->path);
    free(b);
    *out = NULL;
}

/* Opened anew each time, so that a network file system asks its server. */
static bool read_beat(const char *path, char out[64])
{
    memset(out, 0, 64);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    const ssize_t n = read(fd, out, 63);
    close(fd);
    return n >= 0;
}

SdmStatus sdm_heartbeat_wait(SdmContext *ctx, const char *path, const char *result, double wait_s, int64_t order)
{
    SdmStatus st = SDM_OK;
    const double start = sdm_now_s();
    const double turn_s = 0.5 * (double)(order < 10 ? order : 10); /* while nobody has been seen at it */
    double heard = start;
    char last[64] = "", now[64];
    bool seen = false, told = false;
    for (;;) {
        const double t = sdm_now_s();
        const bool there = read_beat(path, now);
        if (access(result, F_OK) == 0 || t - start >= wait_s)
            break;
        if (there && memcmp(now, last, sizeof now) != 0) {
            memcpy(last, now, sizeof last);
            heard = t;
            seen = true;
        }
        if (there ? t - heard >= SILENT_S : seen || t - start >= turn_s)
            break;
        if (there && !told)
            sdm_log(ctx, SDM_LOG_INFO, 0, "waiting while another task prepares the scene");
        told = told || there;
        TRY(sdm_check_stop(ctx));
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    }
done:
    return st;
}
