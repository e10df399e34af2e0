/* The operating system: Linux and others of POSIX. */
// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE /* dladdr */
#include "core/system.h"
#ifndef _WIN32

#include <dlfcn.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif

const char sdm_system_list_separator[] = ":";
const char sdm_system_cuda[] = "libcuda.so.1", sdm_system_opencl[] = "libOpenCL.so.1";
const char sdm_system_laszip[] = "liblaszip.so.8";

/* ---- names of files ---- */

char *sdm_system_slash(const char *path)
{
    return strrchr(path, '/');
}
bool sdm_system_is_absolute(const char *path)
{
    return *path == '/';
}

bool sdm_system_real_path(const char *path, char *out, size_t size)
{
    char real[PATH_MAX];
    return realpath(path, real) && strlen(real) < size && snprintf(out, size, "%s", real) > 0;
}

bool sdm_system_link_target(const char *path, char *out, size_t size)
{
    const ssize_t n = readlink(path, out, size - 1);
    out[n > 0 ? n : 0] = '\0';
    return n >= 0;
}

bool sdm_system_is_same(const char *a, const char *b)
{
    struct stat s, t;
    return stat(a, &s) == 0 && stat(b, &t) == 0 && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

long sdm_system_longest_name(const char *folder)
{
    return pathconf(folder, _PC_NAME_MAX);
}

bool sdm_system_module(char *out, size_t size)
{
    static const char inside = 0;
    Dl_info own = {0};
    const char *path = dladdr(&inside, &own) ? own.dli_fname : NULL;
#ifdef __linux__ /* of the program dladdr only gives the name that it was called by */
    Dl_info program = {0};
    if (path && dladdr((const void *)(uintptr_t)getauxval(AT_PHDR), &program) &&
        program.dli_fbase == own.dli_fbase)
        path = "/proc/self/exe";
#endif
    return path && sdm_system_real_path(path, out, size);
}

/* ---- files ---- */

int sdm_system_make_folder(const char *path, unsigned mode)
{
    return mkdir(path, (mode_t)mode);
}
bool sdm_system_make_own_folder(char *path)
{
    return mkdtemp(path) != NULL;
}
int sdm_system_create(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}
int sdm_system_rename(const char *from, const char *to)
{
    return rename(from, to);
}
int sdm_system_link(const char *from, const char *to)
{
    return link(from, to);
}
int sdm_system_look(const char *path, struct stat *out)
{
    return lstat(path, out);
}
int sdm_system_sync(int descriptor)
{
    return fsync(descriptor);
}

int sdm_system_sync_path(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const int bad = fd < 0 || (fsync(fd) != 0 && errno != EINVAL && errno != EROFS), why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    return bad ? -1 : 0;
}

int sdm_system_touch(int descriptor)
{
    return futimens(descriptor, NULL);
}
struct timespec sdm_system_changed(const struct stat *s)
{
    return s->st_mtim;
}

double sdm_system_free_bytes(const char *folder)
{
    struct statvfs s;
    return statvfs(folder, &s) == 0 ? (double)s.f_bavail * (double)s.f_frsize : -1.0;
}

bool sdm_system_random(uint64_t *out)
{
    const int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    const bool good = fd >= 0 && read(fd, out, sizeof *out) == (ssize_t)sizeof *out;
    if (fd >= 0)
        close(fd);
    return good;
}

/* ---- processes ---- */

/* Field 22 of /proc/PID/stat.  state: field 3, as it is where the file cannot be read. */
unsigned long long sdm_system_began(long process, char *state)
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

bool sdm_system_is_gone(long process)
{
    return kill((pid_t)process, 0) != 0 && errno == ESRCH;
}

void sdm_system_host(char *out, size_t size)
{
    memset(out, 0, size);
    if (gethostname(out, size - 1) != 0)
        snprintf(out, size, "unknown");
}

/* The boot of this machine, after which numbers and starts of processes repeat; "" where the system does not
 * tell. */
static void read_boot(char *out, int size)
{
    FILE *const f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (!f || !fgets(out, size, f))
        *out = '\0';
    if (f)
        fclose(f);
    out[strcspn(out, " \n")] = '\0';
}

void sdm_system_place(char *out, size_t size)
{
    char host[64], space[40] = "", boot[40] = "";
    sdm_system_host(host, sizeof host);
    if (readlink("/proc/self/ns/pid", space, sizeof space - 1) < 0)
        space[0] = '\0';
    read_boot(boot, sizeof boot);
    for (char *c = host; *c; c++)
        *c = *c == ' ' || *c == '\n' ? '_' : *c;
    snprintf(out, size, "%s/%s/%s", host, space, boot);
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

void sdm_system_times(double *user_s, double *system_s)
{
    struct rusage used = {.ru_maxrss = 0};
    (void)getrusage(RUSAGE_SELF, &used);
    *user_s = seconds(used.ru_utime);
    *system_s = seconds(used.ru_stime);
}

int64_t sdm_system_memory(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && bytes > 0 ? (int64_t)pages * bytes : INT64_MAX;
}

int64_t sdm_system_resident(void)
{
    long long kib = 0;
    char line[128];
    FILE *const f = fopen("/proc/self/status", "r");
    while (f && kib <= 0 && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %lld kB", &kib) != 1)
            kib = 0;
    if (f)
        fclose(f);
    return kib > 0 ? (int64_t)kib * 1024 : 0;
}

void sdm_system_resident_restart(void)
{
    FILE *const f = fopen("/proc/self/clear_refs", "w");
    if (f) {
        fputs("5\n", f); /* proc(5): sets the mark back to the memory that is resident now */
        fclose(f);
    }
}

bool sdm_system_limits_addresses(void)
{
    struct rlimit most;
    return getrlimit(RLIMIT_AS, &most) == 0 && most.rlim_cur != RLIM_INFINITY;
}

void sdm_system_arguments(int *argc, char ***argv)
{
    (void)argc, (void)argv;
}

void sdm_system_on_stop(void (*handler)(int))
{
    /* a closed terminal, and what schedulers send before the time is over */
    static const int warnings[] = {SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};
    struct sigaction action = {.sa_handler = handler}, before;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    for (size_t i = 0; i < sizeof warnings / sizeof *warnings; i++)
        if (sigaction(warnings[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) /* nohup ignores it */
            sigaction(warnings[i], &action, NULL);
    signal(SIGXFSZ, SIG_IGN); /* a file beyond the size limit is then a failed write with a sentence */
    signal(SIGPIPE, SIG_IGN); /* a closed pipe must not end the run; the exit code reports it */
}

/* ---- the rest ---- */

void *sdm_system_aligned(size_t alignment, size_t bytes)
{
    return aligned_alloc(alignment, bytes);
}
void sdm_system_aligned_free(void *block)
{
    free(block);
}
void *sdm_system_library(const char *name)
{
    return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

void *sdm_system_symbol(void *library, const char *name)
{
    void *const all = library ? NULL : dlopen(NULL, RTLD_LAZY);
    void *const found = library || all ? dlsym(library ? library : all, name) : NULL;
    if (all)
        dlclose(all);
    return found;
}

void sdm_system_set(const char *variable, const char *value)
{
    (void)setenv(variable, value, 0);
}

int sdm_system_columns(void)
{
    struct winsize size;
    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

SdmLocale sdm_system_locale(void)
{
    return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}
SdmLocale sdm_system_use_locale(SdmLocale locale)
{
    return uselocale(locale);
}
void sdm_system_free_locale(SdmLocale locale)
{
    freelocale(locale);
}

#endif
