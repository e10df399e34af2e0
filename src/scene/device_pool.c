/* Processor or devices for the windows of a scene: opening, one retry after a failure, then the processor. */
// SPDX-License-Identifier: Apache-2.0
#include "scene/scene.h"

#include "gpu/gpu_backend.h"
#include "gpu/choose.h"

#include <pthread.h>
#include <string.h>

enum {
    DEVICE_SLOTS = 2,            /* windows in work on a device */
    ON_PROCESSOR = SDM_MAX_SLOTS /* number of a window that the processor has matched */
};
_Static_assert(SDM_MAX_SLOTS >= DEVICE_SLOTS * SDM_MOST_DEVICES, "slots for every device");

/* A device and the window in work on it. */
typedef struct Slot {
    int index;         /* of the device among those of its API */
    SdmDevice *device; /* its own queues and memory; NULL: not opened yet, or lost */
    int64_t memory;    /* that buffers of the device may take, in all its slots */
    bool busy, on_thread;
    pthread_t thread;
    SdmContext *ctx; /* of the thread */
    SdmMatchCall call;
    SdmFineResult *out;
    SdmStatus st;
    char error[512];
} Slot;

struct SdmDevicePool {
    SdmChoice choice;
    bool automatic;        /* --device auto: the processor replaces a device that cannot be opened */
    bool opening, closing; /* the thread chooses and opens a device, or closes all */
    bool tell;             /* log the back end when it is open */
    pthread_t thread;
    SdmContext *opener; /* of the thread that opens */
    SdmStatus opened;   /* its result */
    bool lost;          /* a device failed twice: the processor matches the remaining windows */
    int slot_count;
    Slot *slot;     /* SDM_MAX_SLOTS: each device once, then each a second time; NULL: the processor */
    char why[1024]; /* why a device was left; "" */
};

/* ---- threads of slots ---- */

static void keep_error(SdmContext *ctx, Slot *slot)
{
    if (slot->st != SDM_OK)
        snprintf(slot->error, sizeof slot->error, "%s", sdm_error(ctx));
}

/* Wait for the thread of a slot and pass on its log. */
static void join(SdmContext *ctx, Slot *slot)
{
    if (slot->on_thread) {
        pthread_join(slot->thread, NULL);
        sdm_forward_log(ctx, slot->ctx);
    }
    slot->on_thread = false;
    sdm_close(&slot->ctx);
}

/* ---- open, close ---- */

/* Open the device of a slot unless it is open; the slots of a device share its memory. */
static SdmStatus need_device(SdmContext *ctx, const SdmDevicePool *pool, Slot *slot)
{
    int sharing = 0;
    if (!slot->device) {
        PASS(sdm_device_open(ctx, pool->choice.api, slot->index, &slot->device));
        slot->memory = sdm_device_budget(slot->device);
    }
    for (int i = 0; i < pool->slot_count; i++)
        sharing += pool->slot[i].index == slot->index;
    sdm_device_set_budget(slot->device, slot->memory / (sharing > 0 ? sharing : 1));
    return SDM_OK;
}

/* Open the first of the devices that were chosen.  An auto device must pass the self test exactly. */
static SdmStatus open_first(SdmContext *ctx, SdmDevicePool *pool)
{
    PASS(need_device(ctx, pool, &pool->slot[0]));
    const SdmDeviceInfo *const info = sdm_device_info(pool->slot[0].device);
    pool->choice.exact = info->exact;
    if (pool->automatic && !info->exact)
        return sdm_fail(ctx, SDM_ERR_DEVICE, "%s does not round as the processor does (%s)", info->name,
                        info->differs);
    return SDM_OK;
}

/* Choose devices, make a slot for each, and open the first. */
static SdmStatus open_chosen(SdmContext *ctx, const char *device, SdmDevicePool *pool)
{
    SdmChoice *const choice = &pool->choice;
    PASS(sdm_choose_devices(ctx, device, choice));
    if (choice->cpu)
        return SDM_OK;
    PASS(sdm_alloc(ctx, &pool->slot, SDM_MAX_SLOTS, sizeof *pool->slot, "devices"));
    for (int i = 0; i < DEVICE_SLOTS * choice->count; i++)
        pool->slot[i] = (Slot){.index = choice->all[i % choice->count]};
    return open_first(ctx, pool);
}

/* st: the status of opening.  Where the device cannot be used, auto takes the processor. */
static SdmStatus settle(SdmContext *ctx, SdmDevicePool *pool, SdmStatus st)
{
    if (st == SDM_OK || !pool->automatic || pool->choice.cpu || st == SDM_ERR_STOPPED)
        return st;
    snprintf(pool->why, sizeof pool->why, "%s cannot be used: %s", pool->choice.text, sdm_error(ctx));
    sdm_log(ctx, SDM_LOG_WARNING, 0, "%s", pool->why);
    if (pool->slot)
        sdm_device_close(&pool->slot[0].device);
    sdm_free(&pool->slot);
    return sdm_choose_device(ctx, "cpu", &pool->choice);
}

static void *run_open(void *data)
{
    SdmDevicePool *const pool = data;
    sdm_thread_begin(pool->opener);
    pool->opened = open_chosen(pool->opener, "auto", pool);
    return NULL;
}

/* Where there may be a card, auto opens it on a thread of its own while the scene is read and prepared: a
 * driver takes a tenth of a second, or seconds where nothing keeps it awake.  A named device is opened here,
 * so that the user learns at once why it cannot run. */
static bool open_beside(SdmContext *ctx, SdmDevicePool *pool)
{
    if (!pool->automatic || !sdm_may_have_card() || sdm_open_child(ctx, &pool->opener) != SDM_OK)
        return false;
    pool->opening = pthread_create(&pool->thread, NULL, run_open, pool) == 0;
    if (!pool->opening)
        sdm_close(&pool->opener);
    return pool->opening;
}

SdmStatus sdm_device_pool_open(SdmContext *ctx, const char *device, SdmDevicePool **out)
{
    SDM_CLOSED_BY(sdm_device_pool_close) SdmDevicePool *pool = NULL;
    *out = NULL;
    PASS(sdm_alloc(ctx, &pool, 1, sizeof *pool, "a device"));
    pool->slot_count = 1;
    pool->automatic = strcmp(device, "auto") == 0;
    if (!open_beside(ctx, pool))
        PASS(settle(ctx, pool, open_chosen(ctx, device, pool)));
    *out = pool;
    pool = NULL;
    return SDM_OK;
}

/* Wait for the thread that opens, and pass on its log. */
static void join_opener(SdmContext *ctx, SdmDevicePool *pool)
{
    if (pool->opening) {
        pthread_join(pool->thread, NULL);
        sdm_forward_log(ctx, pool->opener);
    }
    pool->opening = false;
}

SdmStatus sdm_device_pool_ready(SdmContext *ctx, SdmDevicePool *pool)
{
    if (!pool->opening)
        return SDM_OK;
    join_opener(ctx, pool);
    const SdmStatus st = pool->opened;
    if (st != SDM_OK)
        (void)sdm_fail(ctx, st, "%s", sdm_error(pool->opener));
    sdm_close(&pool->opener);
    PASS(settle(ctx, pool, st));
    if (pool->tell)
        sdm_device_pool_log(ctx, pool);
    return SDM_OK;
}

const char *sdm_device_pool_name(const SdmDevicePool *pool)
{
    return pool->opening ? "auto" : pool->choice.text;
}

const char *sdm_device_pool_why(const SdmDevicePool *pool)
{
    return pool->why[0] ? pool->why : pool->choice.expected ? pool->choice.why_not : "";
}

void sdm_device_pool_log(SdmContext *ctx, SdmDevicePool *pool)
{
    pool->tell = pool->opening;
    if (!pool->opening)
        sdm_choice_tell(ctx, &pool->choice);
}

/* Wait for the windows in work and close the devices. */
static void *close_devices(void *data)
{
    SdmDevicePool *const pool = data;
    for (int i = 0; pool->slot && i < SDM_MAX_SLOTS; i++) {
        join(NULL, &pool->slot[i]);
        sdm_device_close(&pool->slot[i].device);
    }
    return NULL;
}

void sdm_device_pool_finish(SdmDevicePool *pool)
{
    if (pool && pool->slot && !pool->opening && !pool->closing)
        pool->closing = pthread_create(&pool->thread, NULL, close_devices, pool) == 0;
}

void sdm_device_pool_close(SdmDevicePool **pool)
{
    SdmDevicePool *const p = pool ? *pool : NULL;
    if (!p)
        return;
    join_opener(NULL, p);
    sdm_close(&p->opener);
    if (p->closing)
        pthread_join(p->thread, NULL);
    (void)close_devices(p);
    sdm_free(&p->slot);
    sdm_free(pool);
}

void sdm_device_pool_expect(SdmDevicePool *pool, int64_t windows)
{
    const int most = !pool->slot || pool->lost ? 1 : DEVICE_SLOTS * pool->choice.count,
              count = windows < 1      ? 1
                      : windows < most ? (int)windows
                                       : most;
    pool->slot_count = count;
    for (int i = count; pool->slot && i < SDM_MAX_SLOTS; i++)
        sdm_device_close(&pool->slot[i].device);
}

int sdm_device_pool_slots(const SdmDevicePool *pool)
{
    return pool->slot_count;
}

/* ---- a window ---- */

bool sdm_device_pool_on_device(const SdmDevicePool *pool)
{
    return pool->slot && !pool->lost;
}

static int free_slot(const SdmDevicePool *pool)
{
    int i = 0;
    while (i + 1 < pool->slot_count && pool->slot[i].busy)
        i++;
    return i;
}

bool sdm_device_pool_has_room(SdmContext *ctx, SdmDevicePool *pool, const SdmMatchSettings *set, int64_t w,
                              int64_t h, int64_t win_w, int64_t win_h)
{
    Slot *const slot =
        sdm_device_pool_on_device(pool) && !sdm_has_labels(set) ? &pool->slot[free_slot(pool)] : NULL;
    if (!slot)
        return true;
    if (need_device(ctx, pool, slot) != SDM_OK) { /* beginning the window tries again */
        sdm_log(ctx, SDM_LOG_VERBOSE, 5, "%s: another pool cannot be opened now: %s", pool->choice.text,
                sdm_error(ctx));
        return true;
    }
    return sdm_device_match_bytes(slot->device, set, w, h, 2 * win_w * win_h) <=
           sdm_device_room(slot->device);
}

static void match(SdmContext *ctx, Slot *slot)
{
    slot->st = sdm_device_match(ctx, slot->device, &slot->call, slot->out);
    keep_error(ctx, slot);
}

static void *run_slot(void *data)
{
    Slot *const slot = data;
    sdm_thread_begin(slot->ctx);
    match(slot->ctx, slot);
    return NULL;
}

bool sdm_device_pool_makes_levels(const SdmDevicePool *pool, const SdmMatchSettings *set)
{
    return sdm_has_labels(set) || (sdm_device_pool_on_device(pool) && !set->veils);
}

SdmStatus sdm_device_pool_begin(SdmContext *ctx, SdmDevicePool *pool, const SdmMatchCall *call,
                                SdmFineResult *out, int *number)
{
    const bool here = !sdm_device_pool_on_device(pool) || sdm_has_labels(call->in->settings);
    const int i = *number = here ? ON_PROCESSOR : free_slot(pool);
    *out = (SdmFineResult){.ray_error_px = NULL};
    if (i == ON_PROCESSOR)
        return sdm_match_window(ctx, call, out);
    Slot *const slot = &pool->slot[i];
    slot->call = *call;
    slot->out = out;
    slot->st = need_device(ctx, pool, slot);
    keep_error(ctx, slot);
    slot->busy = true;
    if (slot->st != SDM_OK)
        return SDM_OK; /* the end handles it */
    if (pool->slot_count > 1 && sdm_open_child(ctx, &slot->ctx) == SDM_OK)
        slot->on_thread = pthread_create(&slot->thread, NULL, run_slot, slot) == 0;
    if (!slot->on_thread)
        match(ctx, slot);
    return SDM_OK;
}

/* Close the device in every slot that has it: a driver may lose it for all of them at once. */
static void close_device(SdmContext *ctx, SdmDevicePool *pool, int index)
{
    for (int i = 0; i < pool->slot_count; i++)
        if (pool->slot[i].index == index) {
            join(ctx, &pool->slot[i]);
            sdm_device_close(&pool->slot[i].device);
        }
}

/* Open the device again, with all of its memory for this slot, and match the window once more. */
static void match_again(SdmContext *ctx, SdmDevicePool *pool, Slot *slot)
{
    sdm_log(ctx, SDM_LOG_VERBOSE, 5, "%s; the device is opened anew and asked once more", slot->error);
    slot->st = need_device(ctx, pool, slot);
    keep_error(ctx, slot);
    if (slot->st != SDM_OK)
        return;
    sdm_device_set_budget(slot->device, slot->memory);
    match(ctx, slot);
}

static SdmStatus end_slot(SdmContext *ctx, SdmDevicePool *pool, Slot *slot)
{
    join(ctx, slot);
    if (slot->st != SDM_ERR_DEVICE && slot->st != SDM_ERR_MEMORY)
        return slot->st == SDM_OK ? SDM_OK : sdm_fail(ctx, slot->st, "%s", slot->error);
    close_device(ctx, pool, slot->index);
    if (!pool->lost) {
        match_again(ctx, pool, slot);
        if (slot->st == SDM_OK || slot->st == SDM_ERR_STOPPED)
            return slot->st;
        close_device(ctx, pool, slot->index);
        snprintf(pool->why, sizeof pool->why, "%s; the processor goes on", slot->error);
        sdm_log(ctx, SDM_LOG_WARNING, 5, "%s", pool->why);
    }
    pool->lost = true;
    return sdm_fail(ctx, SDM_ERR_DEVICE, "%s", slot->error);
}

SdmStatus sdm_device_pool_end(SdmContext *ctx, SdmDevicePool *pool, int number)
{
    if (number == ON_PROCESSOR)
        return SDM_OK;
    Slot *const slot = &pool->slot[number];
    const int around = sdm_stage_enter(ctx, 5);
    const SdmStatus st = end_slot(ctx, pool, slot);
    sdm_stage_leave(ctx, around);
    slot->busy = false;
    return st;
}

void sdm_device_pool_abandon(SdmDevicePool *pool, int number)
{
    if (number == ON_PROCESSOR)
        return;
    Slot *const slot = &pool->slot[number];
    join(NULL, slot);
    slot->busy = false;
}
