/* Services of every stage: errors, threads, memory, stop, log, clocks, text.  Internal; not installed. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/system.h"
#include "core/types.h"

#include <stdarg.h>
#include <stdio.h>

/* Record the sentence of a failure (file or option, what was found, what was expected, what to do) and return
 * st.  Called once, where the failure is found; callers only pass the status on.  ctx may be NULL. */
SdmStatus sdm_fail(SdmContext *ctx, SdmStatus st, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Pass a failure on; variables that are SDM_OWNED or SDM_CLOSED_BY are released on the way. */
#define PASS(call)                                                                                           \
    do {                                                                                                     \
        const SdmStatus passed_st = (call);                                                                  \
        if (passed_st != SDM_OK)                                                                             \
            return passed_st;                                                                                \
    } while (0)
/* The same in a function with `SdmStatus st = SDM_OK;` and a `done:` label, where more must be done at the
 * end than to release variables. */
#define TRY(call)                                                                                            \
    do {                                                                                                     \
        if ((st = (call)) != SDM_OK)                                                                         \
            goto done;                                                                                       \
    } while (0)
/* A variable that is closed when its scope ends, by a function that takes a pointer to it and accepts one
 * that is not open; initialise it. */
#define SDM_CLOSED_BY(close) __attribute__((cleanup(close)))
/* A pointer to memory of sdm_alloc() that is freed when its scope ends. */
#define SDM_OWNED SDM_CLOSED_BY(sdm_free)

/* The options that the context was opened with.  For public functions, which hand them down; nothing below
 * asks. */
const SdmOptions *sdm_options(const SdmContext *ctx);
/* Change the budget, bytes, by which freed blocks are cached; a job runs within the budget that was planned.
 * @return the budget before */
int64_t sdm_set_memory_budget(SdmContext *ctx, int64_t bytes);
/* A context for work on another thread.  It has the parent's options and charges memory to the parent's
 * account; error and clocks are its own.  Close it before the parent; memory allocated through it may live
 * on.  Its log lines, at most 16, are kept until sdm_forward_log(), since the sink belongs to the parent's
 * thread. */
SdmStatus sdm_open_child(SdmContext *parent, SdmContext **out);
/* Send the lines that the child kept to the parent's sink.  Call it when the child's thread has ended. */
void sdm_forward_log(SdmContext *parent, SdmContext *child);

/* ---- threads ---- */

int sdm_threads(const SdmContext *ctx); /* number to use for parallel work, >= 1 */
int sdm_thread(void);                   /* number of the calling thread in its parallel region, from 0 */
/* Until sdm_thread_limit_end(), limit sdm_threads() so that each thread gets enough of the `units` of work
 * (about 1 ns each: a pixel at one disparity), since it takes microseconds to wake a thread.
 * @return what sdm_thread_limit_end() needs */
int sdm_thread_limit_begin(SdmContext *ctx, int64_t units);
void sdm_thread_limit_end(SdmContext *ctx, int before);
enum { SDM_PASS_UNITS = 16 }; /* units of one matching pass over a pixel, warp and filters included */

/* ---- memory: aligned to 64 bytes, zeroed, charged to the account of ctx, sizes checked for overflow ---- */

/* Allocate count x size bytes for *out, or fail with SDM_ERR_MEMORY.  `what` names the memory in the
 * sentence. */
SdmStatus sdm_alloc(SdmContext *ctx, void *out /* T ** */, size_t count, size_t size, const char *what);
/* The same, contents undefined. */
SdmStatus sdm_alloc_raw(SdmContext *ctx, void *out /* T ** */, size_t count, size_t size, const char *what);
/* The same for several arrays, SDM_ARRAY(pointer, count) each, in their order. */
typedef struct SdmArray {
    void *out; /* T ** */
    size_t count, size;
} SdmArray;
SdmStatus sdm_alloc_each(SdmContext *ctx, const SdmArray *array, size_t arrays, bool zeroed,
                         const char *what);
#define SDM_ARRAY(pointer, count)                                                                            \
    {                                                                                                        \
        &(pointer), count, sizeof *(pointer)                                                                 \
    }
#define SDM_EACH(type, ...) (type[]){__VA_ARGS__}, sizeof((type[]){__VA_ARGS__}) / sizeof(type)
#define SDM_ALLOC(ctx, what, ...) sdm_alloc_each(ctx, SDM_EACH(const SdmArray, __VA_ARGS__), true, what)
#define SDM_ALLOC_RAW(ctx, what, ...) sdm_alloc_each(ctx, SDM_EACH(const SdmArray, __VA_ARGS__), false, what)
/* Free *p and set it to NULL.  Accepts pointer to NULL.  Thread-safe, as sdm_alloc is. */
void sdm_free(void *p /* T ** */);
#define SDM_FREE(...) sdm_free_each(SDM_EACH(void *const, __VA_ARGS__))
void sdm_free_each(void *const *p /* T ** each */, size_t count);
int64_t sdm_memory_peak(const SdmContext *ctx); /* bytes: the most that was allocated at once */
/* Bytes: the most memory that the process has held at once (resident), for reports; where
 * the system does not say, the most that was allocated at once. */
int64_t sdm_memory_resident(const SdmContext *ctx);
/* The same since sdm_memory_resident_restart(), or where the system cannot set its mark back, since the
 * process began. */
int64_t sdm_memory_resident_since(const SdmContext *ctx);
void sdm_memory_resident_restart(SdmContext *ctx);
/* Return the freed blocks that the context caches to the system. */
void sdm_cache_release(SdmContext *ctx);
/* Tests: let the n-th allocation from now fail (n >= 1; 0 = never).  Process-wide. */
void sdm_alloc_fail_at(int64_t n);

/* ---- stop, progress, log ---- */

/* SDM_ERR_STOPPED with a sentence after sdm_cancel() of the context or of its parent, or sdm_stop(). */
SdmStatus sdm_check_stop(SdmContext *ctx);

/* stage: 1..9 as in docs/chain.md, 0 = none */
void sdm_log(SdmContext *ctx, SdmLogLevel level, int stage, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* once: from now on a warning that was said is not said again, for runs that read a file more than once; it
 * goes to NAME.log each time. */
void sdm_log_once(SdmContext *ctx, bool once);
/* done: 0..1 of the current part of the whole. */
void sdm_progress(SdmContext *ctx, int stage, double done, const char *what);
/* Map the progress that follows to from..to, 0..1, of the current part.
 * @return the current part, for sdm_progress_leave() */
typedef struct SdmProgressPart {
    SdmContext *ctx;
    double from, to;
} SdmProgressPart;
SdmProgressPart sdm_progress_enter(SdmContext *ctx, double from, double to);
void sdm_progress_leave(const SdmProgressPart *around);
/* The same until the scope ends. */
#define SDM_PROGRESS(ctx, from, to)                                                                          \
    __attribute__((unused)) SDM_CLOSED_BY(sdm_progress_leave) const SdmProgressPart in_part =                \
        sdm_progress_enter(ctx, from, to)

/* ---- timings per stage, for the report ---- */
double sdm_now_s(void);          /* monotonic clock */
void sdm_time_now(char out[24]); /* UTC, ISO 8601 */
/* Start the clock of `stage` (0..9) and stop that of the enclosing stage, so that each second counts once.
 * Inside stage 2 the clock stays there: matching for the pointing correction is part of it.  Not from several
 * threads at once.
 * @return what sdm_stage_leave() needs */
int sdm_stage_enter(SdmContext *ctx, int stage);
void sdm_stage_leave(SdmContext *ctx, int around);
/* The same until the scope ends. */
typedef struct SdmStage {
    SdmContext *ctx;
    int around;
} SdmStage;
void sdm_stage_close(const SdmStage *stage);
#define SDM_STAGE(ctx, stage)                                                                                \
    __attribute__((unused)) SDM_CLOSED_BY(sdm_stage_close)                                                   \
        const SdmStage in_stage = {ctx, sdm_stage_enter(ctx, stage)}
void sdm_stage_add(SdmContext *ctx, int stage, double seconds); /* time of another process */
double sdm_stage_time(const SdmContext *ctx, int stage);        /* seconds so far */
extern const char *const sdm_stage_names[10];                   /* "", "read", "point" ... "write" */

/* ---- text ---- */
/* To be called first by a thread that works with ctx and prints, parses or names: it gets the locale "C"
 * where the program has set one with a comma, or with other letters.  A thread of OpenMP's, which outlives
 * ctx, gives back what it had. */
SdmLocale sdm_thread_begin(const SdmContext *ctx);
void sdm_thread_end(SdmLocale around);
/* Bytes of the UTF-8 character that text (not empty) begins with; 0 where it is not valid. */
int sdm_utf8_length(const char *text);
/* snprintf that fails with SDM_ERR_USAGE when the text does not fit. */
SdmStatus sdm_format(SdmContext *ctx, char *out, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
