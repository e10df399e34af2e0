/* The processor or devices, for the windows of a scene. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/worker.h"

#include "gpu/chain_device.h"
#include "gpu/choose.h"

#include <pthread.h>
#include <string.h>

enum { A_DEVICE = 2 /* windows at a time */ };
_Static_assert(SDM_MOST_LANES >= A_DEVICE * SDM_MOST_DEVICES, "a lane for every device");

/* A window in work on a device. */
typedef struct Lane {
    int index;         /* of the device among those of its API */
    SdmDevice *device; /* its own queues and memory; NULL: not opened yet, or lost */
    int64_t memory;    /* that buffers of the device may take, for all its lanes */
    bool busy, on_thread;
    pthread_t thread;
    SdmContext *ctx; /* of the thread */
    SdmWorkerCall call;
    SdmStatus st;
    char why[512]; /* it failed */
} Lane;

struct SdmWorker {
    SdmChoice choice;
    int lane_count;
    Lane *lane; /* SDM_MOST_LANES: each device once, then each once more; NULL: the processor */
};

/* ---- open, close ---- */

static int lanes_of(const SdmWorker *w, int index)
{
    int n = 0;
    for (int i = 0; i < w->lane_count; i++)
        n += w->lane[i].index == index;
    return n > 0 ? n : 1;
}

/* Open a lane's device where it is not; the lanes of a device share its memory. */
static SdmStatus need_device(SdmContext *ctx, const SdmWorker *w, Lane *lane)
{
    SdmStatus st = SDM_OK;
    if (lane->device)
        return SDM_OK;
    TRY(sdm_device_open(ctx, w->choice.api, lane->index, &lane->device));
    lane->memory = sdm_device_budget(lane->device);
    sdm_device_set_budget(lane->device, lane->memory / lanes_of(w, lane->index));
done:
    return st;
}

SdmStatus sdm_worker_open(SdmContext *ctx, const char *device, SdmWorker **out)
{
    SdmStatus st = SDM_OK;
    SdmWorker *w = NULL;
    *out = NULL;
    TRY(sdm_alloc(ctx, &w, 1, sizeof *w, "a device"));
    TRY(sdm_choose_devices(ctx, device, &w->choice));
    w->lane_count = 1;
    if (!w->choice.cpu) {
        TRY(sdm_alloc(ctx, &w->lane, SDM_MOST_LANES, sizeof *w->lane, "devices"));
        for (int i = 0; i < A_DEVICE * w->choice.count; i++)
            w->lane[i].index = w->choice.all[i % w->choice.count];
        TRY(need_device(ctx, w, &w->lane[0]));
    }
    *out = w;
    w = NULL;
done:
    sdm_worker_close(&w);
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
    SdmWorker *const w = worker ? *worker : NULL;
    if (!w)
        return;
    for (int i = 0; w->lane && i < SDM_MOST_LANES; i++) {
        if (w->lane[i].busy)
            sdm_worker_abandon(w, i);
        sdm_device_close(&w->lane[i].device);
    }
    sdm_free(&w->lane);
    sdm_free(worker);
}

void sdm_worker_expect(SdmWorker *w, int64_t windows)
{
    const int most = w->choice.cpu ? 1 : A_DEVICE * w->choice.count,
              count = windows < 1 ? 1 : windows < most ? (int)windows : most;
    if (count == w->lane_count)
        return;
    w->lane_count = count;
    for (int i = 0; w->lane && i < SDM_MOST_LANES; i++) /* its memory is shared otherwise now */
        if (i >= count)
            sdm_device_close(&w->lane[i].device);
        else if (w->lane[i].device)
            sdm_device_set_budget(w->lane[i].device, w->lane[i].memory / lanes_of(w, w->lane[i].index));
}

int sdm_worker_lanes(const SdmWorker *worker)
{
    return worker->lane_count;
}

/* ---- a window ---- */

static int free_lane(const SdmWorker *w)
{
    int i = 0;
    while (i + 1 < w->lane_count && w->lane[i].busy)
        i++;
    return i;
}

bool sdm_worker_has_room(SdmContext *ctx, SdmWorker *worker, const SdmMatchSettings *set, int64_t w,
                         int64_t h, int64_t win_w, int64_t win_h)
{
    Lane *const lane = worker->lane ? &worker->lane[free_lane(worker)] : NULL;
    if (!lane || need_device(ctx, worker, lane) != SDM_OK) /* the window will say why */
        return true;
    return sdm_device_chain_bytes(lane->device, set, w, h, 2 * win_w * win_h) <=
           sdm_device_budget(lane->device);
}

static void keep_why(SdmContext *ctx, Lane *lane)
{
    if (lane->st != SDM_OK)
        snprintf(lane->why, sizeof lane->why, "%s", sdm_error(ctx));
}

static void match(SdmContext *ctx, Lane *lane)
{
    const SdmWorkerCall *const c = &lane->call;
    const SdmDeviceCall call = {.in = c->in, .coarse = c->coarse, .win = c->win, .need = c->need,
                                .gridding = c->gridding, .block = c->block};
    lane->st = sdm_device_chain(ctx, lane->device, &call, c->out);
    keep_why(ctx, lane);
}

static void *run_lane(void *data)
{
    Lane *const lane = data;
    match(lane->ctx, lane);
    return NULL;
}

bool sdm_worker_makes_levels(const SdmWorker *worker, const SdmMatchSettings *set)
{
    return worker->lane && sdm_device_makes_levels(set);
}

SdmStatus sdm_worker_begin(SdmContext *ctx, SdmWorker *worker, const SdmWorkerCall *call, int *number)
{
    const int i = *number = worker->lane ? free_lane(worker) : 0;
    *call->out = (SdmFineResult){.ray_error_px = NULL};
    if (!worker->lane)
        return sdm_chain_fine(ctx, call->in, call->coarse, call->win, call->need, call->out);
    Lane *const lane = &worker->lane[i];
    lane->call = *call;
    lane->st = need_device(ctx, worker, lane);
    keep_why(ctx, lane);
    lane->busy = true;
    if (lane->st != SDM_OK)
        return SDM_OK; /* its end looks after it */
    if (worker->lane_count > 1 && sdm_open_child(ctx, &lane->ctx) == SDM_OK)
        lane->on_thread = pthread_create(&lane->thread, NULL, run_lane, lane) == 0;
    if (!lane->on_thread)
        match(ctx, lane);
    return SDM_OK;
}

/* The lane's thread is over; what it said is handed on. */
static void join(SdmContext *ctx, Lane *lane)
{
    if (lane->on_thread) {
        pthread_join(lane->thread, NULL);
        sdm_child_tell(ctx, lane->ctx);
    }
    lane->on_thread = false;
    sdm_close(&lane->ctx);
}

/* Close the device of every lane that has it: a driver may lose it for all of them at once. */
static void let_go(SdmContext *ctx, SdmWorker *w, int index)
{
    for (int i = 0; i < w->lane_count; i++)
        if (w->lane[i].index == index) {
            join(ctx, &w->lane[i]);
            sdm_device_close(&w->lane[i].device);
        }
}

static SdmStatus end_lane(SdmContext *ctx, SdmWorker *worker, Lane *lane)
{
    join(ctx, lane);
    if (lane->st != SDM_ERR_DEVICE && lane->st != SDM_ERR_MEMORY)
        return lane->st == SDM_OK ? SDM_OK : sdm_fail(ctx, lane->st, "%s", lane->why);
    sdm_log(ctx, SDM_LOG_WARNING, 5, "%s; the device is opened anew and asked once more", lane->why);
    let_go(ctx, worker, lane->index);
    lane->st = need_device(ctx, worker, lane);
    keep_why(ctx, lane);
    if (lane->st == SDM_OK)
        match(ctx, lane);
    if (lane->st == SDM_OK || lane->st == SDM_ERR_STOPPED)
        return lane->st;
    let_go(ctx, worker, lane->index);
    return sdm_fail(ctx, lane->st,
                    "%s; finished blocks are kept: give the same command to go on, or --device cpu",
                    lane->why);
}

SdmStatus sdm_worker_end(SdmContext *ctx, SdmWorker *worker, int number)
{
    if (!worker->lane)
        return SDM_OK;
    Lane *const lane = &worker->lane[number];
    const int around = sdm_stage_enter(ctx, 5);
    const SdmStatus st = end_lane(ctx, worker, lane);
    sdm_stage_leave(ctx, around);
    lane->busy = false;
    return st;
}

void sdm_worker_abandon(SdmWorker *worker, int number)
{
    if (!worker->lane)
        return;
    Lane *const lane = &worker->lane[number];
    join(NULL, lane);
    lane->busy = false;
}
