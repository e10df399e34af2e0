/* Calls of the operating system: system_posix.c, system_windows.c.  No other file asks which
 * system it is on.  Functions that return int: 0, or -1 with errno. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#ifdef _WIN32
typedef void *SdmLocale;
#define SDM_SYSTEM_MAPS 0 /* no memory that is mapped and unmapped in pieces */
#define S_ISLNK(mode) ((void)(mode), 0)
#define O_NOFOLLOW 0
#undef PATH_MAX
#define PATH_MAX 4096
#define O_CLOEXEC O_NOINHERIT
#ifndef EDQUOT
#define EDQUOT ENOSPC
#endif
#else
typedef locale_t SdmLocale;
#define SDM_SYSTEM_MAPS 1
#endif

/* ---- names of files ---- */
/* The last character that ends a folder in a path, or NULL. */
char *sdm_system_slash(const char *path);
bool sdm_system_is_absolute(const char *path);
/* The absolute path without links; false: no such file, or too long. */
bool sdm_system_real_path(const char *path, char *out, size_t size);
/* Target of a link; false: no link. */
bool sdm_system_link_target(const char *path, char *out, size_t size);
bool sdm_system_is_same(const char *a, const char *b); /* one file or folder under two names */
long sdm_system_longest_name(const char *folder);      /* -1: not known */
/* The real path of the program or shared library that holds this code; false: unknown, or too long. */
bool sdm_system_module(char *out, size_t size);
/* Separates folders in a variable of the environment. */
extern const char sdm_system_list_separator[];

/* ---- files ---- */
int sdm_system_make_folder(const char *path, unsigned mode);
bool sdm_system_make_own_folder(char *path); /* whose XXXXXX becomes what no other has */
int sdm_system_create(const char *path); /* a file that was not there, for writing: its descriptor, or -1 */
int sdm_system_rename(const char *from, const char *to); /* which may be there */
int sdm_system_link(const char *from, const char *to);
int sdm_system_look(const char *path, struct stat *out); /* of a link itself */
int sdm_system_sync(int descriptor);
int sdm_system_sync_path(const char *path);
int sdm_system_touch(int descriptor); /* let it be changed now */
struct timespec sdm_system_changed(const struct stat *s);
double sdm_system_free_bytes(const char *folder); /* < 0: not known */
bool sdm_system_random(uint64_t *out);

/* ---- processes ---- */
/* Scope of process numbers: machine, name space, boot. */
void sdm_system_place(char *out, size_t size);
void sdm_system_host(char *out, size_t size);
/* Tells a process from a later one of the same number; 0: not known.  state: 'Z' where it has ended. */
unsigned long long sdm_system_began(long process, char *state);
bool sdm_system_is_gone(long process);
void sdm_system_times(double *user_s, double *system_s);
int64_t sdm_system_memory(void);   /* bytes that the machine has; INT64_MAX: not known */
int64_t sdm_system_resident(void); /* the most since the mark was set back; 0: not known */
void sdm_system_resident_restart(void);
bool sdm_system_limits_addresses(void);
/* Call it when the user, the terminal or a scheduler asks to stop.  A second SIGINT or SIGTERM ends at once
 * if the function gives these signals back. */
void sdm_system_on_stop(void (*handler)(int));
void sdm_system_arguments(int *argc, char ***argv); /* main's, in UTF-8; they stay */

/* ---- the rest ---- */
void *sdm_system_aligned(size_t alignment, size_t bytes);
void sdm_system_aligned_free(void *block);
extern const char sdm_system_cuda[], sdm_system_opencl[]; /* names of the drivers' libraries */
extern const char sdm_system_laszip[];
void *sdm_system_library(const char *name); /* NULL: it cannot be opened */
/* A symbol, or NULL.  library NULL: of this program and of the libraries that it has loaded. */
void *sdm_system_symbol(void *library, const char *name);
void sdm_system_set(const char *variable, const char *value); /* unless it is set */
int sdm_system_columns(void);                                 /* of the terminal; 0: not known */
/* The locale "C" for a thread.  use: returns the former locale; NULL or 0: none to restore. */
SdmLocale sdm_system_locale(void);
SdmLocale sdm_system_use_locale(SdmLocale locale);
void sdm_system_free_locale(SdmLocale locale);
