/* Who matches windows: the processor, or devices, each with two windows at a time: while one is matched, the
 * next one's images are read and go up, and the last one's cells come down and are written. */
#ifndef SDM_WORKER_H
#define SDM_WORKER_H

#include "matching/gridding.h"

typedef struct SdmWorker SdmWorker;

enum { SDM_MOST_LANES = 64 };

/* device: as the option; without a number all devices of its kind. */
SdmStatus sdm_worker_open(SdmContext *ctx, const char *device, SdmWorker **out);
/* What --device takes for it: "cpu", "cuda:0", of several "cuda". */
const char *sdm_worker_name(const SdmWorker *worker);
void sdm_worker_tell(SdmContext *ctx, const SdmWorker *worker); /* log what it is */
void sdm_worker_close(SdmWorker **worker);                      /* accepts pointer to NULL */

/* How many windows will come; before the first of them. */
void sdm_worker_expect(SdmWorker *worker, int64_t windows);
/* Windows that may be in work at a time: 1 on the processor, else 2 for each device, but none without use. */
int sdm_worker_lanes(const SdmWorker *worker);

/* Can the lane that comes next take a window whose level 0 computes w x h pixels of an image window of win_w
 * x win_h? */
bool sdm_worker_has_room(SdmContext *ctx, SdmWorker *worker, const SdmMatchSettings *set, int64_t w,
                         int64_t h, int64_t win_w, int64_t win_h);

/* Does it make the levels of a window's images from the finest one by itself? */
bool sdm_worker_makes_levels(const SdmWorker *worker, const SdmMatchSettings *set);

/* What a window is matched from, as for sdm_chain_fine(); all of it must stay where it is until the end. */
typedef struct SdmWorkerCall {
    const SdmChainInput *in;
    const SdmSurface *coarse;
    const SdmWindow *win, *need;
    const SdmGridding *gridding;
    SdmBlock *block;    /* its place is set; a device that grids, too, gives it its arrays at the end */
    SdmFineResult *out; /* set at the end, where the block is not; empty after a failure */
} SdmWorkerCall;

/* sdm_chain_fine(): begun here, with a lane free; done here on the processor.  *lane: for the end. */
SdmStatus sdm_worker_begin(SdmContext *ctx, SdmWorker *worker, const SdmWorkerCall *call, int *lane);
/* Wait for it.  A device that failed is opened anew and asked once more; then the sentence says how to go on.
 */
SdmStatus sdm_worker_end(SdmContext *ctx, SdmWorker *worker, int lane);
void sdm_worker_abandon(SdmWorker *worker, int lane); /* instead of the end: wait, no more */

#endif
