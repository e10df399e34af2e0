/* The operating system: Windows.  Texts are UTF-8, which the program's manifest makes the code page. */
// SPDX-License-Identifier: Apache-2.0
#include "core/system.h"
#ifdef _WIN32

#include <io.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utime.h>
#include <windows.h>
/* after windows.h */
#include <ntsecapi.h>
#include <psapi.h>

const char sdm_system_list_separator[] = ";";
const char sdm_system_cuda[] = "nvcuda.dll", sdm_system_opencl[] = "OpenCL.dll";
const char sdm_system_laszip[] = "laszip3.dll";

/* errno of the last call. */
static int fail(void)
{
    switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
        errno = ENOENT;
        break;
    case ERROR_ALREADY_EXISTS:
    case ERROR_FILE_EXISTS:
        errno = EEXIST;
        break;
    case ERROR_DISK_FULL:
        errno = ENOSPC;
        break;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION:
        errno = EACCES;
        break;
    default:
        errno = EIO;
    }
    return -1;
}

/* ---- names of files ---- */

char *sdm_system_slash(const char *path)
{
    char *const slash = strrchr(path, '/'), *const back = strrchr(path, '\\');
    return !slash || (back && back > slash) ? back : slash;
}

bool sdm_system_is_absolute(const char *path)
{
    const bool drive = ((*path | 32) >= 'a' && (*path | 32) <= 'z') && path[1] == ':';
    return *path == '/' || *path == '\\' || (drive && (path[2] == '/' || path[2] == '\\'));
}

/* A handle of a file or folder for questions about it. */
static HANDLE open_for_questions(const char *path)
{
    return CreateFileA(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING,
                       FILE_FLAG_BACKUP_SEMANTICS, NULL);
}

bool sdm_system_real_path(const char *path, char *out, size_t size)
{
    static const char shares[] = "\\\\?\\UNC\\", long_path[] = "\\\\?\\";
    char real[4096];
    const HANDLE file = open_for_questions(path);
    if (file == INVALID_HANDLE_VALUE)
        return false;
    const DWORD n = GetFinalPathNameByHandleA(file, real, sizeof real, FILE_NAME_NORMALIZED);
    CloseHandle(file);
    if (n == 0 || n >= sizeof real)
        return false;
    const bool share = strncmp(real, shares, sizeof shares - 1) == 0;
    const bool prefixed = strncmp(real, long_path, sizeof long_path - 1) == 0;
    const char *const plain = real + (share      ? sizeof shares - 2 /* its last backslash */
                                      : prefixed ? sizeof long_path - 1
                                                 : 0);
    const int length = snprintf(out, size, "%s%s", share ? "\\" : "", plain);
    for (char *c = out; *c; c++)
        *c = *c == '\\' ? '/' : *c;
    return length > 0 && (size_t)length < size;
}

bool sdm_system_link_target(const char *path, char *out, size_t size)
{
    (void)path, (void)out, (void)size;
    return false;
}

bool sdm_system_is_same(const char *a, const char *b)
{
    BY_HANDLE_FILE_INFORMATION of[2];
    const char *const path[2] = {a, b};
    bool known = true;
    for (int k = 0; k < 2; k++) {
        const HANDLE file = open_for_questions(path[k]);
        known = known && file != INVALID_HANDLE_VALUE && GetFileInformationByHandle(file, &of[k]);
        if (file != INVALID_HANDLE_VALUE)
            CloseHandle(file);
    }
    return known && of[0].dwVolumeSerialNumber == of[1].dwVolumeSerialNumber &&
           of[0].nFileIndexHigh == of[1].nFileIndexHigh && of[0].nFileIndexLow == of[1].nFileIndexLow;
}

long sdm_system_longest_name(const char *folder)
{
    (void)folder;
    return 255;
}

bool sdm_system_module(char *out, size_t size)
{
    static const char inside = 0;
    HMODULE own;
    char path[4096];
    const DWORD how = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    if (!GetModuleHandleExA(how, &inside, &own))
        return false;
    const DWORD n = GetModuleFileNameA(own, path, sizeof path);
    return n > 0 && n < sizeof path && sdm_system_real_path(path, out, size);
}

/* ---- files ---- */

int sdm_system_make_folder(const char *path, unsigned mode)
{
    (void)mode;
    return mkdir(path);
}

bool sdm_system_make_own_folder(char *path)
{
    return _mktemp(path) && mkdir(path) == 0;
}

int sdm_system_create(const char *path)
{
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_BINARY | O_NOINHERIT, 0666);
}

int sdm_system_rename(const char *from, const char *to)
{
    return MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING) ? 0 : fail();
}

int sdm_system_link(const char *from, const char *to)
{
    return CreateHardLinkA(to, from, NULL) ? 0 : fail();
}
int sdm_system_look(const char *path, struct stat *out)
{
    return stat(path, out);
}
int sdm_system_sync(int descriptor)
{
    return _commit(descriptor);
}

int sdm_system_sync_path(const char *path)
{
    const int fd = open(path, O_RDWR | O_BINARY | O_NOINHERIT);
    const int bad = fd < 0 || _commit(fd) != 0, why = errno;
    if (fd >= 0)
        close(fd);
    errno = why;
    return bad ? -1 : 0;
}

int sdm_system_touch(int descriptor)
{
    FILETIME now;
    const HANDLE file = ReOpenFile((HANDLE)_get_osfhandle(descriptor), FILE_WRITE_ATTRIBUTES,
                                   FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, 0);
    GetSystemTimeAsFileTime(&now);
    const bool good = file != INVALID_HANDLE_VALUE && SetFileTime(file, NULL, NULL, &now);
    const int result = good ? 0 : fail();
    if (file != INVALID_HANDLE_VALUE)
        CloseHandle(file);
    return result;
}

struct timespec sdm_system_changed(const struct stat *s)
{
    return (struct timespec){.tv_sec = s->st_mtime};
}

double sdm_system_free_bytes(const char *folder)
{
    ULARGE_INTEGER bytes;
    return GetDiskFreeSpaceExA(folder, &bytes, NULL, NULL) ? (double)bytes.QuadPart : -1.0;
}

bool sdm_system_random(uint64_t *out)
{
    return RtlGenRandom(out, sizeof *out);
}

/* ---- processes ---- */

static uint64_t ticks(FILETIME t) /* of 100 ns */
{
    return (uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime;
}

unsigned long long sdm_system_began(long process, char *state)
{
    FILETIME began = {0}, ended = {0}, kernel, user;
    const HANDLE p = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)process);
    if (!p || !GetProcessTimes(p, &began, &ended, &kernel, &user))
        began = (FILETIME){0};
    if (ticks(ended) != 0)
        *state = 'Z';
    if (p)
        CloseHandle(p);
    return ticks(began);
}

bool sdm_system_is_gone(long process)
{
    const HANDLE p = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, (DWORD)process);
    if (!p)
        return GetLastError() == ERROR_INVALID_PARAMETER;
    DWORD code = STILL_ACTIVE;
    GetExitCodeProcess(p, &code);
    CloseHandle(p);
    return code != STILL_ACTIVE;
}

void sdm_system_host(char *out, size_t size)
{
    DWORD n = (DWORD)size;
    if (!GetComputerNameExA(ComputerNameDnsHostname, out, &n))
        snprintf(out, size, "unknown");
}

void sdm_system_place(char *out, size_t size) /* starts of processes are times of day: no boot is needed */
{
    char host[64];
    sdm_system_host(host, sizeof host);
    for (char *c = host; *c; c++)
        *c = *c == ' ' ? '_' : *c;
    snprintf(out, size, "%s/windows/", host);
}

void sdm_system_times(double *user_s, double *system_s)
{
    FILETIME began, ended, kernel = {0}, user = {0};
    (void)GetProcessTimes(GetCurrentProcess(), &began, &ended, &kernel, &user);
    *user_s = 1e-7 * (double)ticks(user);
    *system_s = 1e-7 * (double)ticks(kernel);
}

int64_t sdm_system_memory(void)
{
    MEMORYSTATUSEX s = {.dwLength = sizeof s};
    return GlobalMemoryStatusEx(&s) ? (int64_t)s.ullTotalPhys : INT64_MAX;
}

int64_t sdm_system_resident(void)
{
    PROCESS_MEMORY_COUNTERS s = {.cb = sizeof s};
    return GetProcessMemoryInfo(GetCurrentProcess(), &s, sizeof s) ? (int64_t)s.PeakWorkingSetSize : 0;
}

void sdm_system_resident_restart(void)
{
}

bool sdm_system_limits_addresses(void)
{
    return false;
}

static void (*stop_handler)(int);

static BOOL WINAPI on_event(DWORD event) /* Ctrl-C, Ctrl-Break, a closed window; a thread of its own */
{
    stop_handler(event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT ? SIGINT : SIGTERM);
    return TRUE;
}

void sdm_system_on_stop(void (*handler)(int))
{
    stop_handler = handler;
    SetConsoleCtrlHandler(on_event, TRUE);
}

/* ---- the rest ---- */

void *sdm_system_aligned(size_t alignment, size_t bytes)
{
    return _aligned_malloc(bytes, alignment);
}
void sdm_system_aligned_free(void *block)
{
    _aligned_free(block);
}
void *sdm_system_library(const char *name)
{
    return (void *)LoadLibraryA(name);
}

void *sdm_system_symbol(void *library, const char *name)
{
    void *found;
    const FARPROC function = GetProcAddress(library ? library : GetModuleHandleA(NULL), name);
    memcpy(&found, &function, sizeof found);
    return found;
}

void sdm_system_set(const char *variable, const char *value)
{
    if (!getenv(variable))
        (void)_putenv_s(variable, value);
}

int sdm_system_columns(void)
{
    CONSOLE_SCREEN_BUFFER_INFO s;
    const HANDLE screen = GetStdHandle(STD_ERROR_HANDLE);
    return GetConsoleScreenBufferInfo(screen, &s) ? s.srWindow.Right - s.srWindow.Left + 1 : 0;
}

SdmLocale sdm_system_locale(void) /* nothing sets another than "C" in this C library */
{
    static char c;
    return &c;
}

SdmLocale sdm_system_use_locale(SdmLocale locale)
{
    (void)locale;
    return NULL;
}

void sdm_system_free_locale(SdmLocale locale)
{
    (void)locale;
}

#endif
