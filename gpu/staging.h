/* Large copies through page-locked memory: a device reaches ordinary memory of the host only by way of such
 * memory, which drivers fill with one thread, one piece at a time.  Ours do it with several, while the pieces
 * before are on their way.  Internal; not installed. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_GPU_STAGING_H
#define SDM_GPU_STAGING_H

#include "device.h"

enum { SDM_STAGE_SLOTS = 4, SDM_STAGE_BYTES = 4 << 20, SDM_STAGE_LEAST = 1 << 20 };

/* Pieces of page-locked memory that take turns; taken at the first copy that is large enough. */
typedef struct SdmStaging {
    bool wanted; /* the device has use for it; false from the first time on that the memory cannot be had */
    char *data;  /* SLOTS x BYTES; NULL: not taken yet */
    void *handle; /* of the back end */
    int next;
    struct {
        void *mark; /* of the back end: after the copy that uses it */
        bool busy;  /* that may still run */
    } slot[SDM_STAGE_SLOTS];
} SdmStaging;

/* Is a copy of that size to go this way?  Takes the memory; where it cannot be had, no, and the log says so.
 */
bool sdm_staging_takes(SdmContext *ctx, SdmDevice *d, int64_t bytes);
/* As sdm_upload(), sdm_download(), which always waits.  The range is checked. */
SdmStatus sdm_staging_upload(SdmContext *ctx, SdmBuffer *to, int64_t offset, const void *from, int64_t bytes,
                           int queue, bool wait);
SdmStatus sdm_staging_download(SdmContext *ctx, const SdmBuffer *from, int64_t offset, void *to,
                               int64_t bytes, int queue);
/* Nothing is in the queues any more. */
void sdm_staging_close(SdmDevice *d);

#endif
