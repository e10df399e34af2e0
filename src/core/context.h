/* The inside of SdmContext; for src/core only. */
#ifndef SDM_CONTEXT_H
#define SDM_CONTEXT_H

#include "core/core.h"

enum { SDM_STAGES = 10 };

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
};

#endif
