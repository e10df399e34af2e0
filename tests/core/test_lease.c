/* Leases: a lost one is noticed, a live one is not taken away, and what the system refuses is an error.
 *
 * rename, link, unlink and pthread_create go through functions of this program, which refuse them or let another
 * process be faster. */
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE /* RTLD_NEXT */
#include "core/file.h"
#include "core/lease.h"
#include "tests/folder.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static const char OTHER[] = "elsewhere/pid:[1]/b 1 77 0\n";
static const char NEWER[] = "elsewhere/pid:[1]/b 2 78 1\n";
static SdmContext *ctx;

static void put(const char *name, const char *text)
{
    put_bytes(name, text, strlen(text));
}

static void expect_text(const char *name, const char *text)
{
    size_t size;
    FREED char *const found = read_all(name, &size);
    assert_string_equal(found, text);
}

static void age(const char *name, int seconds)
{
    const time_t then = time(NULL) - seconds;
    const struct timespec t[2] = {{.tv_sec = then}, {.tv_sec = then}};
    assert_int_equal(utimensat(AT_FDCWD, in_folder(name), t, 0), 0);
}

static void put_aged(const char *name, const char *text, int seconds)
{
    put(name, text);
    age(name, seconds);
}

static void drop(const char *name)
{
    assert_int_equal(unlink(in_folder(name)), 0);
}

static double age_of(const char *name)
{
    struct stat s;
    assert_int_equal(stat(in_folder(name), &s), 0);
    return difftime(time(NULL), s.st_mtim.tv_sec);
}

/* ---- calls that are refused, or come too late ---- */

static int no_thread, no_link, no_rename; /* errno to refuse with; 0: let it go through */
static const char *replace_at_unlink,
    *replace_at_rename; /* text that another process puts into "l" right before */
static int renames;

static void find(const char *name, void *function, size_t size)
{
    void *const symbol = dlsym(RTLD_NEXT, name);
    memcpy(function, &symbol, size);
}

__attribute__((visibility("default"))) int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                                          void *(*start)(void *), void *user)
{
    int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    find("pthread_create", &next, sizeof next);
    return no_thread ? no_thread : next(thread, attributes, start, user);
}

__attribute__((visibility("default"))) int link(const char *from, const char *to)
{
    int (*next)(const char *, const char *);
    find("link", &next, sizeof next);
    errno = no_link;
    return no_link ? -1 : next(from, to);
}

__attribute__((visibility("default"))) int rename(const char *from, const char *to)
{
    int (*next)(const char *, const char *);
    const char *const text = replace_at_rename;
    find("rename", &next, sizeof next);
    replace_at_rename = NULL;
    if (text)
        put("l.part-owner", text);
    renames++;
    errno = no_rename;
    return no_rename ? -1 : next(from, to);
}

__attribute__((visibility("default"))) int unlink(const char *path)
{
    int (*next)(const char *);
    const char *const text = replace_at_unlink;
    find("unlink", &next, sizeof next);
    replace_at_unlink = NULL;
    if (text)
        put("l.part-owner", text);
    return next(path);
}

static SdmLease *take(const char *output)
{
    SdmLease *l = NULL;
    (void)sdm_lease_take_output(ctx, in_folder(output), &l);
    return l;
}

/* ---- who holds what ---- */

/* The thread that renews a lease leaves another's file as it is. */
TEST(only_its_own_file_is_renewed)
{
    SdmLease *own = NULL, *lost = NULL;
    const struct timespec wait = {.tv_sec = SDM_LEASE_PERIOD_S + 1};
    own = take("own");
    lost = take("lost");
    assert_true(own && lost);
    age("own.part-owner", 100);
    put_aged("lost.part-owner", OTHER, 100);
    nanosleep(&wait, NULL);
    assert_true(age_of("own.part-owner") < 50.0);
    assert_true(age_of("lost.part-owner") > 50.0);
    sdm_lease_release(&own);
    sdm_lease_release(&lost);
    assert_int_equal(access(in_folder("own.part-owner"), F_OK), -1);
    drop("lost.part-owner");
}

TEST(without_a_thread_nothing_is_held)
{
    SdmLease *l = NULL;
    no_thread = EAGAIN;
    assert_refused(ctx, sdm_lease_take_output(ctx, in_folder("d.tif"), &l), SDM_ERR_IO,
                   "d.tif.part-owner cannot be renewed: no thread can be started");
    assert_null(l);
    assert_int_equal(access(in_folder("d.tif.part-owner"), F_OK), -1);
    assert_int_equal(sdm_lease_wait_output(ctx, in_folder("l"), "a scene", (double)INFINITY, &l), SDM_ERR_IO);
    assert_null(l);
    assert_int_equal(access(in_folder("l.part-owner"), F_OK), -1);
    no_thread = 0;
    assert_int_equal(access(in_folder("l.part-owner"), F_OK), -1);
}

/* ---- the file of a dead holder ---- */

static void put_dead(void)
{
    put_aged("l.part-owner", OTHER, SDM_LEASE_SILENT_S + 10);
}

/* Renewed, or taken by a third process, while this one judged it. */
TEST(a_live_lease_is_not_taken_away)
{
    static const int refused[] = {0, EPERM, EOPNOTSUPP}; /* file systems without hard links */
    SdmLease *l = NULL;
    for (int i = 0; i < 3; i++) {
        no_link = refused[i];
        put_dead();
        replace_at_rename = NEWER; /* between the look and the rename */
        l = take("l");
        assert_null(l);
        expect_text("l.part-owner", NEWER);
    }
    no_link = 0;
    put_dead();
    replace_at_rename = OTHER; /* the same holder: it woke up and renewed it */
    assert_null(take("l"));
    expect_text("l.part-owner", OTHER);
    put_dead();
    renames = 0;
    replace_at_unlink = NEWER; /* before: this process has asked the clock of the file system */
    assert_null(take("l"));
    expect_text("l.part-owner", NEWER);
    assert_int_equal(renames, 0);
    put_dead();
    l = take("l");
    assert_non_null(l);
    sdm_lease_release(&l);
    assert_int_equal(access(in_folder("l.part-owner"), F_OK), -1);
}

TEST(a_dead_lease_that_stays_is_an_error)
{
    SdmLease *l = NULL;
    no_rename = EACCES;
    put_dead();
    assert_refused(ctx, sdm_lease_wait_output(ctx, in_folder("l"), "a scene", (double)INFINITY, &l),
                   SDM_ERR_IO, "was left by a process that is gone, and cannot be taken away");
    put_aged("d.tif.part-owner", OTHER, SDM_LEASE_SILENT_S + 10);
    assert_refused(ctx, sdm_lease_take_output(ctx, in_folder("d.tif"), &l), SDM_ERR_IO,
                   "cannot be taken away: Permission denied");
    no_rename = 0;
    drop("l.part-owner");
    drop("d.tif.part-owner");
}

/* ---- who is alive ---- */

/* After a boot, numbers of processes begin anew: a lease of an earlier one is another place's. */
TEST(a_boot_is_another_place)
{
    char text[400] = "", boot[64] = "";
    SDM_CLOSED_BY(sdm_lease_release) SdmLease *l = take("l");
    assert_non_null(l);
    FILE *const f = fopen(in_folder("l.part-owner"), "r"), *const b =
                                                               fopen("/proc/sys/kernel/random/boot_id", "r");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    sdm_lease_release(&l);
    const bool told = b && fgets(boot, sizeof boot, b);
    if (b)
        fclose(b);
    if (!told)
        return; /* this system names no boot */
    boot[strcspn(boot, "\n")] = '\0';
    char *const at = strstr(text, boot);
    assert_non_null(at);
    put_aged("l.part-owner", text, 1000);
    assert_null(take("l")); /* this process lives */
    *at = *at == 'f' ? 'e' : 'f';
    put("l.part-owner", text);
    assert_null(take("l"));
    age("l.part-owner", 1000);
    l = take("l");
    assert_non_null(l);
}

/* A process that is stopped lives, but is not waited for once it has been silent. */
FIRST_TEST(a_stopped_process_is_not_waited_for)
{
    SdmLease *l = NULL;
    int status;
    const pid_t child = fork();
    if (child == 0) {
        l = take("l");
        raise(SIGSTOP);
        _exit(l ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    assert_true(WIFSTOPPED(status));
    age("l.part-owner", SDM_LEASE_SILENT_S - 5);
    double start = sdm_now_s();
    assert_int_equal(sdm_lease_wait_output(ctx, in_folder("l"), "a scene", 1.0, &l), SDM_OK);
    assert_true(sdm_now_s() - start >= 1.0);
    age("l.part-owner", SDM_LEASE_SILENT_S + 5);
    start = sdm_now_s();
    assert_int_equal(sdm_lease_wait_output(ctx, in_folder("l"), "a scene", 60.0, &l), SDM_OK);
    assert_true(sdm_now_s() - start < 10.0 && !l);
    assert_null(take("l")); /* what it holds alone stays its own */
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    drop("l.part-owner");
}

FIXTURE(set_up)
{
    ctx = default_context();
    return make_folder(state);
}

/* The folder must be empty: nothing may be left aside. */
FIXTURE(tear_down)
{
    sdm_close(&ctx);
    return rmdir(folder);
}

RUN_TESTS(set_up, tear_down)
