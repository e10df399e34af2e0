/* What every stage uses: errors, memory, log, files.  Internal; not installed. */
#ifndef SDM_CORE_H
#define SDM_CORE_H

#include "stereodem/stereodem.h"

#include <stdarg.h>
#include <stdio.h>

/* Record why (one sentence: file or option, what was found, what was expected, what to do), return what.
 * Called once, where the failure is found; callers only pass it on.  ctx may be NULL. */
SdmStatus sdm_fail(SdmContext *ctx, SdmStatus st, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Pass a failure on: functions that use it have `SdmStatus st = SDM_OK;` and a `done:` label. */
#define TRY(call)                    \
    do {                             \
        if ((st = (call)) != SDM_OK) \
            goto done;               \
    } while (0)

const SdmOptions *sdm_options(const SdmContext *ctx);
/* Other options from now on (borrowed strings), checked as sdm_open() does. */
SdmStatus sdm_set_options(SdmContext *ctx, const SdmOptions *opt);
/* A context for work on another thread: options as the parent's are now, memory charged to its account;
 * error and clocks are the child's own.  To be closed before the parent; what was allocated through it may
 * stay.  What it logs, at most 16 lines, waits for sdm_child_tell(): the sink is the parent's thread's. */
SdmStatus sdm_open_child(SdmContext *parent, SdmContext **out);
/* What the child logged since the last call goes to the parent's sink; once the child's thread has ended. */
void sdm_child_tell(SdmContext *parent, SdmContext *child);
int sdm_threads(const SdmContext *ctx); /* >= 1 */
/* From here to sdm_team_leave(ctx, what enter gave): the work has `units`, each of about a nanosecond (a
 * pixel at one disparity), and sdm_threads() is no more than have enough of it, since it takes microseconds
 * to wake a thread and to wait for it. */
int sdm_team_enter(SdmContext *ctx, int64_t units);
void sdm_team_leave(SdmContext *ctx, int before);
enum { SDM_PASS_UNITS = 16 }; /* of a pixel of a level: one pass over it, warp and filters included */
int sdm_thread(void);                   /* number of this thread in its team, from 0 */

/* ---- memory: aligned to 64 bytes, zeroed, charged to the account of ctx, sizes checked for overflow ---- */

/* *out = count x size bytes; SDM_ERR_MEMORY with a sentence when it cannot.  `what` names it in the sentence.
 */
SdmStatus sdm_alloc(SdmContext *ctx, void *out /* T ** */, size_t count, size_t size, const char *what);
/* The same, contents undefined: for what is written as a whole, by the threads that read it. */
SdmStatus sdm_alloc_raw(SdmContext *ctx, void *out /* T ** */, size_t count, size_t size, const char *what);
/* Free *p and set it to NULL.  Accepts pointer to NULL.  Thread-safe, as sdm_alloc is. */
void sdm_free(void *p /* T ** */);
int64_t sdm_memory_peak(const SdmContext *ctx); /* bytes, most that was charged at once */
/* Return the freed blocks that the context caches to the system. */
void sdm_cache_release(SdmContext *ctx);
/* Tests: let the n-th allocation from now fail (n >= 1; 0 = never).  Process-wide. */
void sdm_alloc_fail_at(int64_t n);

/* ---- stop, progress, log ---- */

/* SDM_ERR_STOPPED with a sentence after sdm_cancel() of the context or of its parent, or sdm_stop(). */
SdmStatus sdm_check_stop(SdmContext *ctx);

typedef enum SdmLogLevel { SDM_LOG_ERROR, SDM_LOG_WARNING, SDM_LOG_INFO, SDM_LOG_VERBOSE } SdmLogLevel;
/* The library never prints: the sink (set by src/cli, NULL = drop) gets every line without newline. */
typedef void sdm_log_fn(void *user, SdmLogLevel level, int stage, const char *text);
/* done in 0..1 of the whole run; what: a phrase such as "match block 3 of 12" */
typedef void sdm_progress_fn(void *user, int stage, double done, const char *what);
void sdm_set_sinks(SdmContext *ctx, sdm_log_fn *log, sdm_progress_fn *progress, void *user);
/* stage: 1..9 as in docs/chain.md, 0 = none */
void sdm_log(SdmContext *ctx, SdmLogLevel level, int stage, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void sdm_progress(SdmContext *ctx, int stage, double done, const char *what);

/* ---- timings per stage, for the report ---- */
double sdm_now_s(void); /* monotonic clock */
/* The clock of `stage` (0..9) runs from here on, that of the stage around it stands still, so each second
 * counts once. Inside stage 2 the clock stays there: matching for the pointing is pointing.  Not from several
 * threads at once.
 * @return what sdm_stage_leave() must get */
int sdm_stage_enter(SdmContext *ctx, int stage);
void sdm_stage_leave(SdmContext *ctx, int around);
void sdm_stage_add(SdmContext *ctx, int stage, double seconds); /* work that another process did */
double sdm_stage_time(const SdmContext *ctx, int stage); /* seconds so far */
extern const char *const sdm_stage_names[10]; /* "", "read", "point" ... "write" */

/* ---- text ---- */
/* Bytes of the UTF-8 character that text begins with (its first byte is not 0); 0 where that is none. */
int sdm_utf8_length(const char *text);
/* snprintf that fails with SDM_ERR_USAGE when the text does not fit. */
SdmStatus sdm_format(SdmContext *ctx, char *out, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- crashes: a damaged file can bring down the library that reads it ---- */

/* What the program is told, so that a crash can be blamed on the file that is being read and cleaned up after. */
typedef struct SdmCrashHook {
    void (*reading)(const char *input); /* this thread begins to open or read `input`; NULL: it has finished.  Calls may
                                         * be nested. */
    void (*leftover)(const char *file, const char *folder); /* to remove after a crash: a file, and a folder if it is
                                                             * empty; NULL: nothing */
} SdmCrashHook;
void sdm_set_crash_hook(SdmContext *ctx, const SdmCrashHook *hook); /* borrowed; NULL: none */
void sdm_reading_begin(SdmContext *ctx, const char *input);
void sdm_reading_end(SdmContext *ctx);
void sdm_crash_leftover(SdmContext *ctx, const char *file, const char *folder);

#endif
