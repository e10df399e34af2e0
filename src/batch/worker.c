/* The processor or a device, for the windows of a scene. */
// SPDX-License-Identifier: Apache-2.0
#include "batch/worker.h"

#include "gpu/chain_device.h"
#include "gpu/choose.h"

struct SdmWorker {
    SdmChoice choice;
    SdmDevice *device; /* NULL: lost, or the processor */
};

SdmStatus sdm_worker_open(SdmContext *ctx, const char *device, SdmWorker **out)
{
    SdmStatus st = SDM_OK;
    SdmWorker *w = NULL;
    *out = NULL;
    TRY(sdm_alloc(ctx, &w, 1, sizeof *w, "a device"));
    TRY(sdm_choose_device(ctx, device, &w->choice));
    if (!w->choice.cpu)
        TRY(sdm_device_open(ctx, w->choice.api, w->choice.index, &w->device));
    *out = w;
    w = NULL;
done:
    sdm_free(&w);
    return st;
}

const char *sdm_worker_name(const SdmWorker *worker)
{
    return worker->choice.text;
}

void sdm_worker_tell(SdmContext *ctx, const SdmWorker *worker)
{
    sdm_choice_tell(ctx, &worker->choice);
}

void sdm_worker_close(SdmWorker **worker)
{
    if (worker && *worker)
        sdm_device_close(&(*worker)->device);
    sdm_free(worker);
}

bool sdm_worker_has_room(const SdmWorker *worker, const SdmMatchSettings *set, int64_t w, int64_t h,
                         int64_t win_w, int64_t win_h)
{
    return !worker->device || sdm_device_chain_bytes(worker->device, set, w, h, 2 * win_w * win_h) <=
                                  sdm_device_budget(worker->device);
}

SdmStatus sdm_worker_fine(SdmContext *ctx, SdmWorker *worker, const SdmChainInput *in,
                          const SdmSurface *coarse, const SdmWindow *win, const SdmWindow *need,
                          SdmFineResult *out)
{
    SdmStatus st = SDM_OK;
    char why[512];
    if (worker->choice.cpu)
        return sdm_chain_fine(ctx, in, coarse, win, need, out);
    for (int again = 0; again < 2; again++) {
        if (!worker->device)
            st = sdm_device_open(ctx, worker->choice.api, worker->choice.index, &worker->device);
        if (st == SDM_OK)
            st = sdm_device_chain_fine(ctx, worker->device, in, coarse, win, need, out);
        if (st != SDM_ERR_DEVICE && st != SDM_ERR_MEMORY)
            return st;
        snprintf(why, sizeof why, "%s", sdm_error(ctx));
        sdm_device_close(&worker->device);
        if (again == 0) {
            sdm_log(ctx, SDM_LOG_WARNING, 5, "%s; the device is opened anew and asked once more", why);
            st = SDM_OK;
        }
    }
    return sdm_fail(ctx, st, "%s; finished blocks are kept: give the same command to go on, or --device cpu",
                    why);
}
