/* The inside of SdmContext; for src/core only. */
#ifndef SDM_CONTEXT_H
#define SDM_CONTEXT_H

#include "core/core.h"

enum { SDM_STAGES = 10, SDM_SPARES = 16 };

/* A large block that was given back, kept for the next ones: fresh memory costs its clearing. */
typedef struct SdmSpare {
    char *block; /* NULL: none */
    size_t bytes;
} SdmSpare;

struct SdmContext {
    SdmOptions options;
    SdmContext *account; /* of a child: who is charged for memory; else NULL */
    char error[1024];
    sdm_log_fn *log;
    sdm_progress_fn *progress;
    void *user;
    double stage_s[SDM_STAGES];
    int stage;             /* whose clock runs, 0 = none */
    double stage_since_s;
    double started_s;
    int64_t bytes_now, bytes_peak; /* updated atomically */
    SdmSpare spare[SDM_SPARES];    /* in critical(sdm_spare); see room_for_spares() */
};

/* Large blocks, multiples of a large page (sdm_large_bytes() rounds up), aligned to one.  *cleared: it is
 * fresh memory, all 0. */
size_t sdm_large_bytes(size_t bytes);
char *sdm_large_take(SdmContext *ctx, size_t bytes, bool *cleared); /* NULL: out of memory */
void sdm_large_give(SdmContext *ctx, char *block, size_t bytes);

#endif
