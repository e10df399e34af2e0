/* The operating system: Windows.  Names are UTF-8, of any length, whatever the code page is: the linker lets
 * the C library's fopen, stat ... of all parts (GDAL's, too) come here, where a name becomes UTF-16. */
// SPDX-License-Identifier: Apache-2.0
#include "core/system.h"
#ifdef _WIN32

#include <dirent.h>
#include <io.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
/* after windows.h */
#include <ntsecapi.h>
#include <psapi.h>
#include <shellapi.h>

const char sdm_system_list_separator[] = ";";
const char sdm_system_cuda[] = "nvcuda.dll", sdm_system_opencl[] = "OpenCL.dll";
const char sdm_system_laszip[] = "laszip3.dll";

/* errno of the last call. */
static int fail(void)
{
    switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_PATHNAME:
        errno = ENOENT;
        break;
    case ERROR_ALREADY_EXISTS:
    case ERROR_FILE_EXISTS:
        errno = EEXIST;
        break;
    case ERROR_DIR_NOT_EMPTY:
        errno = ENOTEMPTY;
        break;
    case ERROR_DIRECTORY:
        errno = ENOTDIR;
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

static uint64_t ticks(FILETIME t) /* of 100 ns */
{
    return (uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime;
}

/* ---- names of files ---- */

enum { WIDE = 2048 };           /* characters of a path */
enum { TRIES = 50 };            /* of a rename, in a second */
enum { PLAIN = MAX_PATH - 12 }; /* longest path that needs no prefix, also for a folder */
enum { SHARED = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE };

/* The absolute path in UTF-16, with the prefix that lifts the limit of 260 characters; "": there is none. */
static const wchar_t *wide(const char *path, wchar_t out[WIDE])
{
    wchar_t given[WIDE], full[WIDE];
    *out = L'\0';
    if (!MultiByteToWideChar(CP_UTF8, 0, path, -1, given, WIDE))
        return out;
    const DWORD n = GetFullPathNameW(given, WIDE, full, NULL);
    if (n == 0 || n >= WIDE - 8)
        return out;
    const bool share = full[0] == L'\\' && full[1] == L'\\';
    const bool prefixed = share && (full[2] == L'?' || full[2] == L'.');
    const bool plain = n < PLAIN || prefixed;
    wcscpy(out, plain ? L"" : share ? L"\\\\?\\UNC" : L"\\\\?\\");
    wcscat(out, full + (!plain && share));
    return out;
}

/* UTF-16 -> UTF-8; false: too long. */
static bool narrow(const wchar_t *text, char *out, size_t size)
{
    return WideCharToMultiByte(CP_UTF8, 0, text, -1, out, (int)size, NULL, NULL) > 0;
}

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
    wchar_t name[WIDE];
    return CreateFileW(wide(path, name), 0, SHARED, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
}

bool sdm_system_real_path(const char *path, char *out, size_t size)
{
    static const char shares[] = "\\\\?\\UNC\\", long_path[] = "\\\\?\\";
    char real[4 * WIDE];
    wchar_t found[WIDE];
    const HANDLE file = open_for_questions(path);
    if (file == INVALID_HANDLE_VALUE)
        return false;
    const DWORD n = GetFinalPathNameByHandleW(file, found, WIDE, FILE_NAME_NORMALIZED);
    CloseHandle(file);
    const bool told = n > 0 && n < WIDE; /* some file systems do not: then links stay in it */
    if (!narrow(told ? found : wide(path, found), real, sizeof real))
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
    wchar_t path[WIDE];
    char name[4 * WIDE];
    const DWORD how = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
    if (!GetModuleHandleExW(how, (const wchar_t *)&inside, &own))
        return false;
    const DWORD n = GetModuleFileNameW(own, path, WIDE);
    return n > 0 && n < WIDE && narrow(path, name, sizeof name) && sdm_system_real_path(name, out, size);
}

/* ---- what the linker puts into the place of the C library's ---- */

int __wrap_open(const char *path, int flags, ...);
FILE *__wrap_fopen(const char *path, const char *mode);
int __wrap_access(const char *path, int mode);
int __wrap_unlink(const char *path);
int __wrap_remove(const char *path);
int __wrap_rmdir(const char *path);
int __wrap_mkdir(const char *path);
DIR *__wrap_opendir(const char *path);
struct dirent *__wrap_readdir(DIR *dir);
int __wrap_closedir(DIR *dir);
static int look(const char *path, struct stat *out);
int (*__wrap___imp__stat64)(const char *, struct stat *) = look; /* stat, by the table of imports */

/* Like the C library's, but others may rename and remove the file meanwhile, as leases ask for. */
int __wrap_open(const char *path, int flags, ...)
{
    static const DWORD rights[] = {GENERIC_READ, GENERIC_WRITE, GENERIC_READ | GENERIC_WRITE};
    wchar_t name[WIDE];
    const DWORD how = flags & O_CREAT   ? flags & O_EXCL    ? CREATE_NEW
                                          : flags & O_TRUNC ? CREATE_ALWAYS
                                                            : OPEN_ALWAYS
                      : flags & O_TRUNC ? TRUNCATE_EXISTING
                                        : OPEN_EXISTING;
    SECURITY_ATTRIBUTES inherit = {.nLength = sizeof inherit, .bInheritHandle = !(flags & O_NOINHERIT)};
    const HANDLE file =
        CreateFileW(wide(path, name), rights[flags & 3], SHARED, &inherit, how, FILE_ATTRIBUTE_NORMAL, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return fail();
    const int fd = _open_osfhandle((intptr_t)file, flags & (O_APPEND | O_NOINHERIT | O_TEXT));
    if (fd < 0)
        CloseHandle(file);
    return fd;
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
    const bool both = strchr(mode, '+') != NULL;
    const int how = *mode == 'r' ? 0 : O_CREAT | (*mode == 'a' ? O_APPEND : O_TRUNC);
    const int fd = __wrap_open(path, how |
                                         (both           ? O_RDWR
                                          : *mode == 'r' ? O_RDONLY
                                                         : O_WRONLY) |
                                         (strchr(mode, 'b') ? O_BINARY : O_TEXT) |
                                         (strchr(mode, 'x') ? O_EXCL : 0) | O_NOINHERIT);
    char plain[5] = {*mode, strchr(mode, 'b') ? 'b' : 't', both ? '+' : '\0'};
    return fd < 0 ? NULL : _fdopen(fd, plain);
}

static int look(const char *path, struct stat *out)
{
    wchar_t name[WIDE];
    WIN32_FILE_ATTRIBUTE_DATA found;
    if (!GetFileAttributesExW(wide(path, name), GetFileExInfoStandard, &found))
        return fail();
    const bool folder = found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
    const int mode = found.dwFileAttributes & FILE_ATTRIBUTE_READONLY ? 0555 : 0777;
    *out = (struct stat){.st_mode = (unsigned short)((folder ? S_IFDIR : S_IFREG) | mode),
                         .st_nlink = 1,
                         .st_size = (int64_t)((uint64_t)found.nFileSizeHigh << 32 | found.nFileSizeLow),
                         .st_mtime = (time_t)(ticks(found.ftLastWriteTime) / 10000000 - 11644473600)};
    return 0;
}

int __wrap_access(const char *path, int mode)
{
    struct stat s;
    if (look(path, &s) != 0)
        return -1;
    if (!(mode & W_OK) || s.st_mode & S_IWUSR || S_ISDIR(s.st_mode))
        return 0;
    errno = EACCES;
    return -1;
}

int __wrap_unlink(const char *path)
{
    wchar_t name[WIDE];
    return DeleteFileW(wide(path, name)) ? 0 : fail();
}

int __wrap_remove(const char *path)
{
    return __wrap_unlink(path);
}

int __wrap_rmdir(const char *path)
{
    wchar_t name[WIDE];
    return RemoveDirectoryW(wide(path, name)) ? 0 : fail();
}

int __wrap_mkdir(const char *path)
{
    wchar_t name[WIDE];
    return CreateDirectoryW(wide(path, name), NULL) ? 0 : fail();
}

typedef struct Folder {
    HANDLE search;
    WIN32_FIND_DATAW found;
    bool has_found; /* an entry that readdir has not given yet */
    struct dirent entry;
} Folder;

DIR *__wrap_opendir(const char *path)
{
    wchar_t pattern[WIDE + 2];
    Folder *const f = calloc(1, sizeof *f);
    if (!f)
        return NULL;
    wide(path, pattern);
    const size_t n = wcslen(pattern);
    wcscat(pattern, n > 0 && pattern[n - 1] == L'\\' ? L"*" : L"\\*");
    f->search = FindFirstFileW(pattern, &f->found);
    f->has_found = f->search != INVALID_HANDLE_VALUE;
    if (f->has_found)
        return (DIR *)f;
    (void)fail();
    free(f);
    return NULL;
}

/* A name of more than 259 bytes is none of ours: it is left out. */
struct dirent *__wrap_readdir(DIR *dir)
{
    Folder *const f = (Folder *)dir;
    while (f->has_found) {
        const bool fits = narrow(f->found.cFileName, f->entry.d_name, sizeof f->entry.d_name);
        f->has_found = FindNextFileW(f->search, &f->found);
        if (fits)
            return &f->entry;
    }
    return NULL;
}

int __wrap_closedir(DIR *dir)
{
    Folder *const f = (Folder *)dir;
    FindClose(f->search);
    free(f);
    return 0;
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
    wchar_t name[2][WIDE];
    wide(from, name[0]);
    wide(to, name[1]);
    for (int i = 0; !MoveFileExW(name[0], name[1], MOVEFILE_REPLACE_EXISTING); i++) {
        if (fail() && (errno != EACCES || i == TRIES))
            return -1;
        Sleep(20); /* scanners for viruses and others hold a file for a moment */
    }
    return 0;
}

int sdm_system_link(const char *from, const char *to)
{
    wchar_t name[2][WIDE];
    return CreateHardLinkW(wide(to, name[1]), wide(from, name[0]), NULL) ? 0 : fail();
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
    const HANDLE file = ReOpenFile((HANDLE)_get_osfhandle(descriptor), FILE_WRITE_ATTRIBUTES, SHARED, 0);
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
    wchar_t name[WIDE];
    return GetDiskFreeSpaceExW(wide(folder, name), &bytes, NULL, NULL) ? (double)bytes.QuadPart : -1.0;
}

bool sdm_system_random(uint64_t *out)
{
    return RtlGenRandom(out, sizeof *out);
}

/* ---- processes ---- */

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
    static bool asked;
    const bool key = event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT, again = asked;
    asked = true;
    stop_handler(key ? SIGINT : SIGTERM);
    if (!key)
        Sleep(INFINITE); /* the system ends the process when this returns; it gives some seconds */
    return !again;       /* a second time: the system ends it */
}

void sdm_system_arguments(int *argc, char ***argv)
{
    wchar_t **const given = CommandLineToArgvW(GetCommandLineW(), argc);
    char **const out = calloc((size_t)*argc + 1, sizeof *out);
    for (int i = 0; out && i < *argc; i++) {
        const size_t size = 4 * wcslen(given[i]) + 1;
        out[i] = malloc(size);
        if (!out[i] || !narrow(given[i], out[i], size))
            return;
    }
    *argv = out ? out : *argv;
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
