/* Bands of disparities from the threads that match -> the thread that writes them, in order. */
// SPDX-License-Identifier: Apache-2.0
#ifndef SDM_ROW_QUEUE_H
#define SDM_ROW_QUEUE_H

#include "rectified/pair.h"

/* What the writing thread does, on a context of its own.  An error of open or write ends the work. */
typedef struct SdmRowWriter {
    SdmStatus (*open)(SdmContext *ctx, void *user);
    /* (y1 - y0) x width */
    SdmStatus (*write)(SdmContext *ctx, void *user, int y0, int y1, const float *rows);
    /* good: all rows have been written; else what was written is to be removed. */
    SdmStatus (*close)(SdmContext *ctx, void *user, bool good);
    void *user;
} SdmRowWriter;

typedef struct SdmRowQueue SdmRowQueue;
/* A queue for height x width disparities; its sink is for sdm_pair_match_rows().  Few bands are in memory at
 * a time.  writer: borrowed.  Errors: SDM_ERR_MEMORY. */
SdmStatus sdm_row_queue_open(SdmContext *ctx, int width, int height, const SdmRowWriter *writer,
                             SdmRowQueue **out);
SdmPairSink sdm_row_queue_sink(SdmRowQueue *queue);
/* Wait until all is written, with `matched` SDM_OK; else end without the rest.  Returns what `matched` says
 * or why writing failed.  queue may be NULL, and is set so. */
SdmStatus sdm_row_queue_close(SdmRowQueue **queue, SdmStatus matched);

#endif
