/* Who matches windows: the processor, or a device. */
#ifndef SDM_WORKER_H
#define SDM_WORKER_H

#include "match/chain.h"

typedef struct SdmWorker SdmWorker;

/* device: as the option. */
SdmStatus sdm_worker_open(SdmContext *ctx, const char *device, SdmWorker **out);
/* What --device takes for it: "cpu", "cuda:0". */
const char *sdm_worker_name(const SdmWorker *worker);
void sdm_worker_tell(SdmContext *ctx, const SdmWorker *worker); /* log what it is */
void sdm_worker_close(SdmWorker **worker);                      /* accepts pointer to NULL */

/* Can it take a window whose level 0 computes w x h pixels of an image window of win_w x win_h? */
bool sdm_worker_has_room(const SdmWorker *worker, const SdmMatchSettings *set, int64_t w, int64_t h,
                         int64_t win_w, int64_t win_h);

/* sdm_chain_fine().  A device that fails is opened anew and asked once more; then the sentence says how to go
 * on. */
SdmStatus sdm_worker_fine(SdmContext *ctx, SdmWorker *worker, const SdmChainInput *in,
                          const SdmSurface *coarse, const SdmWindow *win, const SdmWindow *need,
                          SdmFineResult *out);

#endif
