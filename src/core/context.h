/* The inside of SdmContext; for src/core only. */
#ifndef SDM_CONTEXT_H
#define SDM_CONTEXT_H

#include "core/core.h"

enum { SDM_STAGES = 10, SDM_SPARES = 8 };

/* A large block that was given back, kept for the next one of its size: fresh memory costs its clearing. */
typedef struct SdmSpare {
    char *block; /* NULL: none */
    size_t bytes;
} SdmSpare;

struct SdmContext {
    SdmOptions options;
    char error[1024];
    sdm_log_fn *log;
    sdm_progress_fn *progress;
    void *user;
    double stage_s[SDM_STAGES];
    int stage;             /* whose clock runs, 0 = none */
    double stage_since_s;
    double started_s;
    int64_t bytes_now, bytes_peak; /* updated atomically */
    SdmSpare spare[SDM_SPARES];    /* in critical(sdm_spare); together at most 1/8 of the memory budget */
};

/* Free the spare blocks. */
void sdm_spares_free(SdmContext *ctx);

#endif
