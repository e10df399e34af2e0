/* The processor or a device, for the windows of a scene. */
// SPDX-License-Identifier: Apache-2.0
#include "batch/worker.h"

#include "gpu/chain_device.h"
#include "gpu/choose.h"

struct SdmWorker {
    SdmChoice choice;
    SdmDevice *device; /* NULL: lost */
};

SdmStatus sdm_worker_open(SdmContext *ctx, const char *device, SdmWorker **out)
{
    SdmStatus st = SDM_OK;
    SdmChoice choice;
    SdmWorker *w = NULL;
    *out = NULL;
    TRY(sdm_choose_device(ctx, device, &choice));
    if (choice.cpu)
        return SDM_OK;
    TRY(sdm_alloc(ctx, &w, 1, sizeof *w, "a device"));
    w->choice = choice;
    TRY(sdm_device_open(ctx, choice.api, choice.index, &w->device));
    *out = w;
    w = NULL;
done:
    sdm_free(&w);
    return st;
}

const char *sdm_worker_name(const SdmWorker *worker)
{
    return worker ? worker->choice.text : "cpu";
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
    return !worker || !worker->device ||
           sdm_device_chain_bytes(set, w, h, 2 * win_w * win_h) <= sdm_device_budget(worker->device);
}

SdmStatus sdm_worker_fine(SdmContext *ctx, SdmWorker *worker, const SdmChainInput *in,
                          const SdmSurface *coarse, const SdmWindow *win, const SdmWindow *need,
                          SdmFineResult *out)
{
    SdmStatus st = SDM_OK;
    char why[512];
    if (!worker)
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
