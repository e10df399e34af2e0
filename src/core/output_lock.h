/* One run at a time writes an output: the marker OUTPUT.part-owner. */
#ifndef SDM_OUTPUT_LOCK_H
#define SDM_OUTPUT_LOCK_H

#include "core/core.h"

typedef struct SdmOutputLock {
    char path[4096];
    bool held;
} SdmOutputLock;

/* Take the output, or say who has it (SDM_ERR_IO).  The marker is made exclusively, which works on network
 * disks where locks do not.  One that was left by a process that is gone is taken over: on this machine when
 * that process does not live any more, on another when it has not been touched for an hour. */
SdmStatus sdm_output_lock_take(SdmContext *ctx, const char *output, SdmOutputLock *out);
/* Take the marker `path` itself, and wait while another has it (log line: at `what`).  The holder must touch
 * it every few seconds; one of another machine that does not for 30 s is taken for gone. */
SdmStatus sdm_output_lock_wait(SdmContext *ctx, const char *path, const char *what, SdmOutputLock *out);
/* A sign of life, at least every few minutes. */
void sdm_output_lock_touch(const SdmOutputLock *owner);
/* Remove the marker; nothing when it is not held. */
void sdm_output_lock_release(SdmOutputLock *owner);

#endif
