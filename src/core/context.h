/* The fields of SdmContext; for src/core only. */
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>

enum { SDM_STAGES = 10, SDM_CACHED_BLOCKS = 16 };

/* A freed large block, kept for later allocations. */
typedef struct SdmCachedBlock {
    char *block; /* NULL: none */
    size_t bytes;
} SdmCachedBlock;

/* Log lines of a child context, kept until sdm_forward_log(). */
enum { SDM_MOST_LINES = 16 };
typedef struct SdmLines {
    int count;
    struct {
        SdmLogLevel level;
        int stage;
        char text[1024];
    } line[SDM_MOST_LINES];
} SdmLines;

struct SdmContext {
    SdmOptions options;         /* of the work; changed by sdm_use_options() alone */
    int64_t memory_bytes;       /* budget of the process: see sdm_set_memory_budget() */
    int threads;                /* as asked for, or the usual number */
    int threads_most;           /* that sdm_threads_check() found can be used; 0: any number */
    int cancelled;              /* set atomically */
    sig_atomic_t stop_requests; /* calls of sdm_stop() before the context was opened */
    SdmContext *account;        /* of a child: the context whose account is charged for memory; else NULL */
    SdmLines *lines;            /* of a child, owned; else NULL */
    char error[1024];
    sdm_log_fn *log;
    FILE *file_log; /* see run_log.h; NULL: none */
    sdm_progress_fn *progress;
    SdmProgressPart part; /* current part of the whole */
    sdm_cancel_fn *cancel;
    bool once; /* see sdm_log_once() */
    int said_count;
    uint64_t said[64]; /* hashes of warnings */
    void *log_user, *progress_user, *cancel_user;
    pthread_mutex_t calling; /* one of these functions is being called */
    SdmLocale numbers;       /* "C", with a decimal point; (SdmLocale)0: as the thread has it; of a child its
                              * parent's */
    bool plain_names;        /* sentences name options as sdm_set() takes them */
    void *face;              /* what src/api keeps with the context, freed by free_face; or NULL */
    void (*free_face)(void *face);
    double stage_s[SDM_STAGES];
    double stage_added_s[SDM_STAGES]; /* of stage_s, by sdm_stage_add() */
    int stage;                        /* the clock that runs, 0 = none */
    double stage_since_s;
    double started_s;
    int thread_limit;              /* see sdm_thread_limit_begin(); 0: none */
    int64_t bytes_now, bytes_peak; /* updated atomically */
    int64_t resident_before;       /* bytes: the most that was resident before the mark was set back */
    SdmCachedBlock cached[SDM_CACHED_BLOCKS]; /* the newest first; in critical(sdm_block_cache); see
                                               * block_cache.c */
};

/* Large blocks, aligned to large pages and multiples of them (sdm_large_bytes() rounds up).  *cleared: the
 * memory is fresh, all 0. */
size_t sdm_large_bytes(size_t bytes);
char *sdm_large_take(SdmContext *ctx, size_t bytes, bool *cleared); /* NULL: out of memory */
void sdm_large_give(SdmContext *ctx, char *block, size_t bytes);

void sdm_log_to_file(SdmContext *ctx, SdmLogLevel level, int stage, const char *text);
